package qta

// This file reads the parameters and furnishes an agent with what they name: the
// paper's parts, or others in their place. No other file knows them all.

// newCurriculum returns the curriculum that p names.
func newCurriculum(p *Params, sizes Sizes, seed uint64, w *workers) curriculum {
	switch p.Curriculum {
	case "mega":
		return &mega{cutoff: newCutoff(p.Discount, p.Horizon)}
	case "vds":
		return newVDS(*p, sizes, seed, w)
	case "her":
		return desiredGoals{}
	case "random":
		return randomGoals{}
	case "visits":
		return &visits{counts: map[string]int{}}
	case "rnd":
		return newRND(sizes, seed, w)
	}
	if p.FirstGoalDesired > 0 {
		return practice{queryTheAgent{}}
	}
	return queryTheAgent{}
}

// newEstimator returns the estimator that p names. It asks an average, if there is
// one, in the ensemble's place.
func newEstimator(p *Params, nets average) (e estimator) {
	e = equation5{}
	if p.SharedActions {
		e = sharedActions{e}
	}
	if p.FirstGoalState == "start" {
		e = fromStart{e}
	}
	if p.Uncertainty == "q" {
		e = valuesDiffer{p.AuthorsForm}
	}
	if nets != nil {
		e = averaged{e, nets}
	}
	if p.UncertaintyNoise > 0 {
		e = noisy{e, p.UncertaintyNoise}
	}
	return e
}

// newExplorer returns the explorer that p names, for an agent with this curriculum.
func newExplorer(p *Params, sizes Sizes, c curriculum) (e explorer) {
	e = tableExplorer{}
	var random chance = arrival{}
	m, isMEGA := c.(*mega)
	if isMEGA {
		random = m
	}
	if isMEGA || p.RandomActionLater != p.RandomAction || p.RandomActionReached > 0 || p.RandomActionHeld > 0 {
		e = &wandering{chance: random, short: p.RandomActionHeld, action: make([]float64, sizes.Action)}
	}
	if p.InitialActions == "uniform" {
		e = uniformAtFirst{e}
	}
	return e
}
