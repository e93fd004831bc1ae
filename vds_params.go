package qta

// VDS returns the hyper-parameters of VDS (Zhang et al., 2020), as QTA's
// authors ran it for the paper's Figure 2, as far as this package's networks
// go. The curriculum is that of vds.go, which has its numbers and departures. A
// comment at a value names its source in VDS's public code, the name of an
// entry of DEFAULT_PARAMS in baselines/her/experiment/config.py or a file
// beside it. Values without a comment are this package's, and immaterial unless
// named below.
//
// The code's order is kept: an episode, the normalisers, the value functions,
// then 40 updates in a row and one step of the targets.
//
// Reading: QTA's authors changed none of these numbers. They evaluated every
// 2500 steps and read success one step before an episode's end; here that is as
// for every other method.
//
// Reading: there are no predictive heads in VDS, so they do not learn here; a
// single critic cannot disagree, and the disagreement that chooses goals is
// that of the value functions.
//
// Differs: weights start as PyTorch's linear layers do, VDS's by Xavier's rule
// with zero biases.
//
// Differs: in each update the critic moves before the policy asks it for a
// gradient; VDS's code takes both gradients first.
//
// Differs: an episode leaves 50 transitions, VDS's code keeps 49. Its replay
// forgets what is older than 1,000,000 transitions, which no run of the paper
// reaches; here nothing is forgotten.
//
// Differs: one pair of normalisers serves agent and value functions, where VDS
// has a pair for each; VDS clips raw inputs to ±200.
func VDS() Params {
	p := Paper()

	p.HiddenSize = 256   // hidden
	p.HiddenLayers = 3   // layers
	p.Critics = 1        // her/ddpg.py: one critic
	p.Batch = 256        // batch_size
	p.Discount = 0.98    // prepare_params: 1 - 1/T
	p.ActorRate = 1e-3   // pi_lr
	p.CriticRate = 1e-3  // Q_lr
	p.PredictiveRate = 0 // no heads
	p.PredictiveGradient = "head"
	p.Polyak = 0.95      // polyak
	p.ActionL2 = 1       // action_l2
	p.ClipReturns = true // configure_ve_ddpg: clip_return, -1/(1-gamma) to 0

	p.LearningStarts = 1        // her/vds.py: from the first episode on
	p.UpdatesPerEpisode = 40    // n_batches
	p.TargetEvery = 40          // her/vds.py: once after the n_batches
	p.GradientClip = 0          // her/ddpg.py: none
	p.InitialSteps = 0          // her/vds.py: none
	p.InitialActions = "policy" // her/vds.py
	p.ActionNoise = 0.2         // noise_eps
	p.RandomAction = 0.3        // random_eps
	p.RandomActionLater = 0.3   // random_eps
	p.Horizon = 50              // T of the environments

	p.Replay = "uniform"     // no other
	p.HindsightRatio = 4     // replay_k, with replay_strategy future
	p.NormalizerDraws = 50   // her/ddpg.py: as many as an episode has
	p.NormalizerFloor = 0.01 // norm_eps
	p.NormalizerClip = 5     // norm_clip

	p.Curriculum = "vds"
	p.VDSForm = "identity" // disagreement_fun_name, std
	return p
}
