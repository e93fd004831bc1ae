package main

import (
	"qta"
	"qta/lab"
)

// usualSteps are the environment steps by which half of the recorded runs of QTA
// with the parameters fast were solved, by results/runs.csv.
var usualSteps = map[string]int{
	"4x5": 3000, "5x5": 4000, "6x5": 4000, "7x5": 5000, "8x5": 7000, "9x5": 9000,
	"10x5": 8000, "11x5": 9000, "12x5": 13_000, "13x5": 15_000, "14x5": 24_000, "15x5": 22_000,
	"1U5": 2000, "2U5": 4000, "3U5": 9000, "4U5": 25_000, "5U5": 64_000,
}

// usually returns by which step runs like this one are usually solved, or 0 where
// that is not known.
func usually(id lab.Identity) int {
	if id.Params() != qta.Fast() || !id.Named() {
		return 0
	}
	return usualSteps[id.Environment]
}
