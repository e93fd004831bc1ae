package lab

import (
	"bytes"
	"errors"

	"qta"
)

// This file reads records from before the parameter Learner. When none of these is
// left it goes, with former_test.go.

// former are the parameters that became one, Learner; a record from before has them.
type former struct {
	LowestReturn, TargetNoise, GradientClip                            float64
	ActorOwnDraw, HeadOwnDraw, WeightDecay, SharedActions, AuthorsForm bool
	HeadLoss, HeadTarget, FirstGoalState, InitialActions               string
	UpdatesPerEpisode, TargetEvery                                     int
}

var formerPaper = former{HeadLoss: "squared", HeadTarget: "observation", FirstGoalState: "candidate",
	InitialActions: "policy", TargetEvery: 1}

// formerly has what they were for each learner.
var formerly = map[former]string{
	formerPaper: "paper",
	{LowestReturn: -150, TargetNoise: 0.2, ActorOwnDraw: true, HeadOwnDraw: true, WeightDecay: true, SharedActions: true,
		AuthorsForm: true, HeadLoss: "norm", HeadTarget: "achieved", FirstGoalState: "start",
		InitialActions: "policy", TargetEvery: 1}: "authors",
	{HeadLoss: "squared", HeadTarget: "observation", FirstGoalState: "candidate", InitialActions: "uniform",
		TargetEvery: 40, GradientClip: 5}: "mega",
	{HeadLoss: "squared", HeadTarget: "observation", FirstGoalState: "candidate", InitialActions: "policy",
		TargetEvery: 40, UpdatesPerEpisode: 40}: "vds",
}

// UnmarshalJSON reads an identity. A parameter that it does not name is of a later
// version, and what it is in Paper changed nothing until then; one that is unknown
// may have.
func (id *Identity) UnmarshalJSON(text []byte) error {
	type all Identity
	type parameters struct {
		qta.Params
		former
	}
	read := struct {
		*all
		Parameters parameters `json:"parameters"`
	}{(*all)(id), parameters{qta.Paper(), formerPaper}}
	if err := decodeStrictly(bytes.NewReader(text), &read); err != nil {
		return err
	}
	p, learner := &read.Parameters, formerly[read.Parameters.former]
	switch id.Params = p.Params; learner {
	case "":
		return errors.New("an earlier version wrote its parameters, which match no learner of this one")
	case "authors":
		id.Params.PredictiveGradient = "joint" // which was "separate"
		fallthrough
	case "mega", "vds":
		id.Params.Learner = learner
	}
	return nil
}
