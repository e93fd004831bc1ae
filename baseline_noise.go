package qta

// This file is Figure 4: noise on every estimate of uncertainty, which shows
// that the choice of goals hinges on it.

// noisy is an estimator to whose answers Gaussian noise is added.
//
// Reading R98: the noise comes before the scaling, in the estimates' unit, as in the
// authors' code; the caption of Figure 4 has "to PUN's uncertainty estimates".
type noisy struct {
	estimator
	σ float64
}

func (e noisy) estimate(a *Agent, q *query, rng stream) {
	e.estimator.estimate(a, q, rng)
	for k := range q.ε {
		q.ε[k] += float64(e.σ * normal(rng.Rand))
	}
}
