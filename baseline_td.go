package qta

import "math"

// This file is the priorities of Figure 3 (right): those of prioritised replay
// as published (Schaul et al., 2016), by temporal-difference error, on the same
// sampler as QTA's.

// errorPriorities sets d to the mean over the critics of |y - Q| for each
// transition just learnt from.
//
// Differs D8: Schaul et al. (2016, section 3.3) add a small constant to |TD error|.
// Here, as in the authors' code, a transition whose priority is zero is never
// drawn again. Where they have one critic, this is the mean over all.
func (u *pun) errorPriorities(d []float64, b *batch) {
	clear(d)
	for i, c := range u.critics {
		for k, y := range b.y[i][:len(d)] {
			d[k] += math.Abs(float64(c.values.data[k])-float64(y)) / float64(len(u.critics))
		}
	}
}

// valuePriorities sets d to the sample standard deviation of the critics' values
// instead: so does what the authors' code calls the error.
func (u *pun) valuePriorities(d []float64, _ *batch) {
	for i, c := range u.critics {
		u.predictions[i] = c.values.data
	}
	HeadDeviation(d, u.predictions, 1)
}
