package lab

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"qta"
)

// Code returns a digest of what the running program computes with p, for [Identity.Code].
// It trains a small agent for 200 steps, in a maze of two cells. It also shortens the waits
// that p asks for, so that most rules of the algorithm apply within these steps. A changed
// equation changes the digest; a comment or a new name does not. Code misses rules that
// only a longer run reaches, and a user's own curriculum.
func Code(p qta.Params) string {
	p.HiddenSize = min(p.HiddenSize, 8)
	p.Batch = min(p.Batch, 16)
	p.Horizon = min(p.Horizon, 10)
	p.InitialSteps = min(p.InitialSteps, 50)
	p.LearningStarts = min(p.LearningStarts, 25)
	p.Candidates = min(p.Candidates, 75)
	p.UncertaintyActions = min(p.UncertaintyActions, 8)
	if p.Curriculum == "vds" {
		p.Horizon = 100 // only two episodes, because VDS makes hundreds of updates after each
	}

	m, err := qta.ParseMaze("####\n#SG#\n####\n")
	if err != nil {
		panic(err)
	}
	a, err := qta.NewAgent(p, m.Env().Sizes(), 1)
	if err != nil {
		return "" // bad parameters
	}
	o := qta.TrainOptions{Steps: 200, EvalEvery: 100, Rollouts: 1}
	if err := a.Train(context.Background(), m.Env(), m.Env(), o); err != nil {
		return "" // numbers go wrong with these parameters
	}
	digest := sha256.Sum256(fmt.Append(nil, a.Digest(), a.Evaluations()))
	return fmt.Sprintf("%s %x", rounding(qta.KernelName()), digest[:8])
}

// rounding returns one name for all kernels that round alike.
func rounding(kernel string) string {
	if kernel == "generic" {
		return kernel
	}
	return "fused"
}

// otherCode reports whether two digests of function Code show that the programs compute
// differently. It returns false if the kernels round differently or if a digest is missing,
// because then nothing is known.
func otherCode(a, b string) bool {
	kernelA, _, _ := strings.Cut(a, " ")
	kernelB, _, _ := strings.Cut(b, " ")
	return kernelA == kernelB && a != b
}
