package qta

// This file names the words that are values of [Params], for whoever writes them
// in Go. A constant is the field's name and the word; the fields say what is
// chosen.

// Params.Curriculum: who chooses the goals.
const (
	CurriculumQTA    = "qta"    // section 3.2
	CurriculumMEGA   = "mega"   // goals of least density
	CurriculumVDS    = "vds"    // goals of most disagreement, from all there are
	CurriculumHER    = "her"    // the environment's goal
	CurriculumRandom = "random" // achieved goals, uniformly
	CurriculumVisits = "visits" // goals visited least
	CurriculumRND    = "rnd"    // goals of most novelty
)

// Params.Uncertainty: what a goal's uncertainty is estimated with.
const (
	UncertaintyPUN       = "pun"       // section 3.1
	UncertaintyQ         = "q"         // disagreement of Q-values
	UncertaintyBootstrap = "bootstrap" // Bootstrapped Q-networks
	UncertaintyEnsemble  = "ensemble"  // Deep Ensembles
)

// Params.Replay: how minibatches are drawn.
const (
	ReplayUniform = "uniform" // all transitions alike
	ReplayPER     = "per"     // by uncertainty, section 3.3
	ReplayTD      = "td"      // by TD error
)

// Params.UncertaintyGoal: the goal fed to the critics in Equation 5.
const (
	UncertaintyGoalDesired   = "desired"   // the environment's
	UncertaintyGoalCandidate = "candidate" // the candidate itself
)

// Params.PredictiveGradient: where Equation 4's gradient goes.
const (
	PredictiveGradientJoint    = "joint"    // into the backbone, with Equation 2's
	PredictiveGradientHead     = "head"     // no further than the head
	PredictiveGradientSeparate = "separate" // into the backbone, by the heads' own optimiser
)

// Params.HeadLoss: Equation 4, or its root.
const (
	HeadLossSquared = "squared"
	HeadLossNorm    = "norm"
)

// Params.HeadTarget: what a head predicts.
const (
	HeadTargetObservation = "observation" // the next observation
	HeadTargetAchieved    = "achieved"    // the next achieved goal
)

// Params.InitialActions: who acts until InitialSteps.
const (
	InitialActionsPolicy  = "policy"
	InitialActionsUniform = "uniform" // chance
)

// Params.FirstGoalState: the state in Equation 5 for an episode's first goal.
const (
	FirstGoalStateCandidate = "candidate" // the candidate's
	FirstGoalStateStart     = "start"     // the current one
)
