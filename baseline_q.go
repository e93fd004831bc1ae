package qta

// This file is the estimator that Figure 6 (left) compares PUN with: how much
// the critics' values disagree, in place of their heads' predictions.

// valueEstimator is QTA with Q-disagreement.
//
// Reading R75: the disagreement of Q-values is that of the value of the candidate as
// a goal from the current state; the authors' code exchanges the two (AuthorsForm).
type valueEstimator struct{ swapped bool }

func (e valueEstimator) estimate(a *Agent, q *query, _ stream) {
	for k, goal := range q.goals {
		if e.swapped {
			a.inputs(q.x.row(k), goal, q.now)
		} else {
			a.inputs(q.x.row(k), q.now, goal)
		}
	}
	a.policyActions(q.x)
	for lo := 0; lo < q.x.rows; lo += a.params.Batch {
		hi := min(lo+a.params.Batch, q.x.rows)
		a.pun.valueDeviation(q.ε[lo:hi], q.x.slice(lo, hi))
	}
}

// valueDeviation sets d, of B values, to the sample standard deviation over the
// critics of Q_i(x).
func (u *pun) valueDeviation(d []float64, x matrix) {
	for i, c := range u.critics {
		u.predictions[i] = c.values.data[:x.rows]
		copy(u.predictions[i], c.q.forward(u.pass, x).data)
	}
	HeadDeviation(d, u.predictions, 1)
}
