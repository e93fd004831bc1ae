package qta

// MEGA returns the hyper-parameters of MEGA (Pitis et al., 2020), as QTA's
// authors ran it for the paper's Figure 2, as far as this package's networks
// go. The curriculum is that of mega.go, which has its numbers and departures.
// A comment at a value names its source in the authors' public code, mrl:
// "config" is protoge_config in mrl/configs/continuous_off_policy.py, "script"
// is experiments/mega/train_mega.py. Values without a comment are this
// package's, and immaterial unless named below.
//
// Reading: where MEGA's authors and QTA's ran the code with different flags,
// this has QTA's: reaching a goal cuts no return off, where MEGA's authors
// have it do so (first_visit_succ), and one environment runs at a time.
//
// Reading: QTA's authors evaluated MEGA by 30 rollouts, and QTA and VDS by 20;
// here the number is that of [TrainOptions], for every method alike.
//
// Reading: there are no predictive heads in MEGA, so they do not learn here;
// a single critic cannot disagree, and nothing asks for it.
//
// Differs: the networks are of plain affine layers and ReLU. MEGA's have layer
// normalisation and GELU in every hidden layer, and start from orthogonal
// weights and zero biases.
//
// Differs: the normaliser is QTA's: one for states and one for goals, shown 50
// draws of each finished episode with their replayed goals. MEGA's is shown
// every state with the goal pursued, the moment the policy acts on it, and the
// environment's goal in the random steps; it adds 1e-8 to the variance, for
// which NormalizerFloor stands, and clips raw inputs to ±200.
//
// Differs: the running episode is in the replay. MEGA's code stores whole
// episodes, so that learning begins up to one episode later; it also counts
// target updates from the run's first step, not from the first update.
func MEGA() Params {
	p := Paper()

	p.HiddenSize = 512   // script: layers
	p.HiddenLayers = 3   // script: layers
	p.Critics = 1        // script: alg, DDPG with one critic
	p.Batch = 2000       // config: batch_size
	p.Discount = 0.98    // config: gamma
	p.ActorRate = 1e-3   // config: actor_lr
	p.CriticRate = 1e-3  // config: critic_lr
	p.PredictiveRate = 0 // no heads
	p.PredictiveGradient = "head"
	p.Polyak = 0.95      // config: 1 - target_network_update_frac
	p.TargetEvery = 40   // config: target_network_update_freq
	p.ActionL2 = 0.1     // config: action_l2_regularization
	p.GradientClip = 5   // config: grad_value_clipping
	p.ClipReturns = true // config: clip_target_range, -1/(1-gamma) to 0

	p.LearningStarts = 2500      // config: warm_up
	p.UpdatesPerEpisode = 0      // config: optimize_every, after each step
	p.InitialSteps = 5000        // config: initial_explore
	p.InitialActions = "uniform" // config: initial_explore
	p.ActionNoise = 0.1          // config: action_noise
	p.RandomAction = 0.1         // config: eexplore
	p.RandomActionLater = 0.1    // config: eexplore
	p.Horizon = 50               // script: env_max_step

	p.Replay = "uniform"     // script: prioritized_mode
	p.HindsightRatio = 4     // config: her, "future" to "real"; the mix is in mega.go
	p.NormalizerFloor = 1e-4 // mrl/modules/normalizer.py: the root of 1e-8
	p.NormalizerClip = 5     // mrl/modules/normalizer.py

	p.Curriculum = "mega" // script: ag_curiosity, minkde
	return p
}
