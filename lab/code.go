package lab

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"qta"
)

// Code returns a digest of what the running program computes with p, for
// [Identity.Code]: it trains a small agent for a moment, in a maze so short that most
// rules are soon entered. A changed equation changes the digest; a comment or a new
// name does not. Code misses rules that only a longer run reaches, and curricula of
// the user's own.
func Code(p qta.Params) string {
	p.HiddenSize, p.Batch, p.Horizon = min(p.HiddenSize, 8), min(p.Batch, 16), min(p.Horizon, 10)
	p.InitialSteps, p.LearningStarts = min(p.InitialSteps, 50), min(p.LearningStarts, 25)
	p.Candidates, p.UncertaintyActions = min(p.Candidates, 75), min(p.UncertaintyActions, 8)
	if p.Curriculum == "vds" {
		p.Horizon = 100 // it learns much after each episode
	}
	m, err := qta.ParseMaze("####\n#SG#\n####\n")
	if err != nil {
		panic(err)
	}
	a, err := qta.NewAgent(p, m.Env().Sizes(), 1)
	if err == nil {
		err = a.Train(context.Background(), m.Env(), m.Env(), qta.TrainOptions{Steps: 200, EvalEvery: 100, Rollouts: 1})
	}
	if err != nil {
		return "" // bad parameters, or numbers that go wrong with them
	}
	digest := sha256.Sum256(fmt.Append(nil, a.Digest(), a.Evaluations()))
	return fmt.Sprintf("%s %x", rounding(qta.KernelName()), digest[:8])
}

// rounding names the kernels that round alike.
func rounding(kernel string) string {
	if kernel == "generic" {
		return kernel
	}
	return "fused"
}

// otherCode reports whether two codes are known to compute differently. Where kernels
// round differently, or a run has none, that is not known.
func otherCode(a, b string) bool {
	x, _, _ := strings.Cut(a, " ")
	y, _, _ := strings.Cut(b, " ")
	return x == y && a != b
}
