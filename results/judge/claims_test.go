package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"qta"
	"qta/internal/madeup"
	"qta/internal/paper"
	"qta/internal/report"
	"qta/internal/roomtest"
	"qta/lab"
)

// TestClaims holds each rule of results/verdicts.md to made-up runs. The logarithms
// of two numbers a and b have the variance ln(b/a)²/2; s(r) is ln(r)/√2 below.
func TestClaims(t *testing.T) {
	const (
		ensembles = "PUN is better than deep ensembles."
		mega      = "QTA needs significantly fewer steps than MEGA."
		near      = "MEGA approaches QTA as the horizon grows."
		vds       = "The same, with indices of 2500 steps."
		waves     = "QTA scales more poorly on square waves."
		per       = "Prioritizing by uncertainty accelerates learning."
		td        = "Prioritizing by TD error offers no significant benefit."
		noise     = "Performance suffers with noise 0.05 on the uncertainty."
		dead      = "It collapses with noise of 0.05."
		her       = "HER reaches the goal in no maze."
		grow      = "The values grow over time."
		first     = "VDS is competitive at first."
		agnostic  = "The prediction is agnostic to the goal that Equation 5 is asked with."
		alike     = "The same, with M-mazes as long as square waves, of 9 to 25 cells."
	)
	type runs = []*lab.Record
	q := func(m paper.Method, maze string, thousands ...int) runs {
		return madeup.Steps(qta.Quick(), m, maze, thousands...)
	}
	c := func(m paper.Method, maze string, thousands ...int) runs {
		return madeup.Steps(qta.Paper(), m, maze, thousands...)
	}
	own := func(maze string, thousands ...int) runs {
		return madeup.Steps(qta.MEGA(), paper.Method{}, maze, thousands...)
	}
	flat := func(n int, y ...float64) (rows [][]float64) {
		for _, y := range y {
			rows = append(rows, slices.Repeat([]float64{y}, n))
		}
		return rows
	}
	going := madeup.On(paper.Noise5, slices.Repeat([][]float64{{1, 0, 0, 0, 0, 0}}, 7)...)
	stopped := madeup.Growing("12x5", 1, 1, 1, 1, 1, 1)
	for _, r := range slices.Concat(going, stopped) {
		r.State = lab.Stopped
	}
	elsewhere := slices.Concat(q(paper.QTA, "8x5", 8, 18), q(paper.Ensemble, "8x5", 90, 91))
	for _, r := range elsewhere {
		r.Run.Environment, r.Run.Map = "my", []string{"SG"}
	}
	six, seven := []int{20, 21, 22, 20, 21, 22}, flat(9, 0, 0, 0, 0, 0, 0, 0)
	for _, test := range []struct {
		name  string
		claim string
		runs  []runs
		want  string // verdict, here, what could have shown, the paper, runs
	}{
		{"mean of mazes", ensembles, []runs{q(paper.QTA, "6x5", 8, 18), q(paper.Ensemble, "6x5", 16, 36),
			q(paper.QTA, "8x5", 8, 18), q(paper.Ensemble, "8x5", 64, 144)},
			"holds; size unknown | 4.00 (1.30 to 12.33)"},
		{"an own map", ensembles, []runs{q(paper.QTA, "6x5", 8, 18), q(paper.Ensemble, "6x5", 16, 36),
			elsewhere},
			"undecided; size unknown | 2.00 (0.17 to 23.58) | a factor of 21.66 would have shown | 1.77 (1.45 to 2.17) | " +
				"2 deep ensembles (quick), 2 QTA (quick); 6x5"},
		{"the paper's", ensembles, []runs{q(paper.QTA, "6x5", 20, 21), q(paper.Ensemble, "6x5", 32, 33)},
			"holds; size unknown | 1.59 (1.37 to 1.84)"},
		{"with the paper's batch, of which more ran", ensembles, []runs{q(paper.QTA, "6x5", 20, 21),
			q(paper.Ensemble, "6x5", 20, 21), c(paper.QTA, "6x5", 20, 21), c(paper.Ensemble, "6x5", 32, 33, 32)},
			"holds; size unknown | 1.58 (1.31 to 1.90) | 1.77 (1.45 to 2.17) | 3 deep ensembles (paper), 2 QTA (paper); 6x5"},
		{"the paper's, and not half of it", ensembles, []runs{q(paper.QTA, "6x5", 20, 21, 20, 21),
			q(paper.Ensemble, "6x5", 35, 36, 35, 36)}, "holds; size compatible with the paper’s | 1.73 (1.66 to 1.81)"},
		{"competitive", first, []runs{c(paper.QTA, "1U5", six...), madeup.Steps(qta.VDS(), paper.Method{}, "1U5", 30, 31)},
			"holds | 1.45 (1.36 to 1.56)"},
		{"not competitive", first, []runs{c(paper.QTA, "1U5", six...), madeup.Steps(qta.VDS(), paper.Method{}, "1U5", 60, 61)},
			"contradicted | 2.88 (2.75 to 3.02) | excluded: less than 2"},
		{"competitive on longer mazes", first, []runs{c(paper.QTA, "2U5", six...), madeup.Steps(qta.VDS(), paper.Method{}, "2U5", 30, 31)}, ""},
		{"literal", agnostic, []runs{c(paper.QTA, "1U5", six...), madeup.Steps(qta.Literal(), paper.QTA, "1U5", 60, -61)}, "contradicted | ≥ 2.88 (2.75 to 3.02) | excluded: 1"},
		{"literal as paper", agnostic, []runs{c(paper.QTA, "1U5", six...), madeup.Steps(qta.Literal(), paper.QTA, "1U5", 20, 22)}, "undecided | 1.00 (0.68 to 1.48) | a factor of 1.57 would have shown"},
		{"the longest M-maze unsolved, which no wave is as long as", alike, []runs{c(paper.QTA, "4x5", 10, 11), c(paper.QTA, "6x5",
			20, 22), c(paper.QTA, "8x5", 40, 44), c(paper.QTA, "14x5", 40, -44), c(paper.QTA, "1U5", 10, 11), c(paper.QTA, "2U5", 40, 44),
			c(paper.QTA, "3U5", 160, 176)}, "holds; size larger | 5.66 (4.23 to 7.57)"},
		{"noise takes nothing", noise, []runs{madeup.On(paper.QTA, flat(9, 0.8, 0.9, 1)...), madeup.On(paper.Noise5, flat(9, 0.8, 0.9,
			1)...)}, "contradicted | 0.00 (-0.23 to 0.23) | excluded: 0.58"},
		{"eight of nine grow", grow, []runs{madeup.Growing("12x5", 1, 2, 3, 4, 5, 6, 7, 8, -1)}, "holds | above 0 in 8 of 9, mean 3.89"},
		{"one of nine grows", grow, []runs{madeup.Growing("12x5", -1, -2, -3, -4, -5, -6, -7, -8, 1)}, "contradicted | above 0 in 1 of 9, mean -3.89 | excluded: above 0"},
		{"smaller", ensembles, []runs{q(paper.QTA, "6x5", 30, 31, 32), q(paper.Ensemble, "6x5", 36, 37, 38)},
			"holds; size smaller | 1.19 (1.11 to 1.28)"},
		{"larger", ensembles, []runs{q(paper.QTA, "6x5", 20, 21, 22), q(paper.Ensemble, "6x5", 60, 61, 62)},
			"holds; size larger | 2.91 (2.62 to 3.23)"},
		{"none", ensembles, []runs{q(paper.QTA, "6x5", 20, 21, 22), q(paper.Ensemble, "6x5", 20, 21, 22)},
			"contradicted; size smaller | 1.00 (0.90 to 1.11)"},
		{"scattered", ensembles, []runs{q(paper.QTA, "6x5", 10, 20), q(paper.Ensemble, "6x5", 10, 20)},
			"undecided; size unknown | 1.00 (0.12 to 8.24) | a factor of 13.86 would have shown"},
		{"one scatters", ensembles, []runs{q(paper.QTA, "6x5", 20, 21, 20, 21), q(paper.Ensemble, "6x5", 20,
			40)}, "undecided; size unknown | 1.38 (0.02 to 109.43) | a factor of 127.70 would have shown"},
		{"a run each", ensembles, []runs{q(paper.QTA, "6x5", 10), q(paper.Ensemble, "6x5", 90)},
			"undecided; size unknown | 9.00 | too few runs for an interval"},
		{"one of a method", ensembles, []runs{q(paper.QTA, "6x5", 10, 11), q(paper.Ensemble, "6x5", 90)},
			"undecided; size unknown | 8.58 | too few runs for an interval"},
		{"equal runs", ensembles, []runs{q(paper.QTA, "6x5", 10, 10), q(paper.Ensemble, "6x5", 20, 21)},
			"undecided; size unknown | 2.05 | too few runs for an interval"},
		{"unsolved", ensembles, []runs{q(paper.QTA, "6x5", 20, 21), q(paper.Ensemble, "6x5", -50, 52)},
			"holds; size larger | ≥ 2.49 (2.16 to 2.86)"},
		{"unsolved, no verdict", ensembles, []runs{q(paper.QTA, "6x5", 20, 21), q(paper.Ensemble, "6x5", -20,
			-21)}, "undecided; size unknown | ≥ 1.00 (0.86 to 1.16) | a factor of 1.20 would have shown"},
		{"one maze is a bound", ensembles, []runs{q(paper.QTA, "6x5", 20, 21, 22), q(paper.Ensemble, "6x5", 20,
			21, 22), q(paper.QTA, "8x5", 20, 21, 22), q(paper.Ensemble, "8x5", 20, 21, -22)},
			"undecided; size unknown | ≥ 1.00 (0.94 to 1.07)"},
		{"QTA unsolved", ensembles, []runs{q(paper.QTA, "6x5", 20, -21), q(paper.Ensemble, "6x5", 60, 61)},
			"undecided; size unknown | ≤ 2.95 (2.38 to 3.66) | an upper bound cannot hold"},
		{"QTA unsolved and late", ensembles, []runs{q(paper.QTA, "6x5", 20, 21, -22), q(paper.Ensemble, "6x5",
			20, 21, 22)}, "contradicted; size smaller | ≤ 1.00 (0.90 to 1.11)"},
		{"QTA unsolved, between none and the paper's", ensembles, []runs{q(paper.QTA, "6x5", 30, 31, -32),
			q(paper.Ensemble, "6x5", 36, 37, 38)}, "undecided; size smaller | ≤ 1.19 (1.11 to 1.28) | an upper bound cannot hold"},
		{"both unsolved", ensembles, []runs{q(paper.QTA, "6x5", 20, -21), q(paper.Ensemble, "6x5", -60, 61)},
			"undecided; size unknown | 2.95 (2.38 to 3.66) | runs are unsolved on both sides"},
		{"other learners", ensembles, []runs{q(paper.QTA, "6x5", 20, 21), c(paper.Ensemble, "6x5", 60, 61)}, ""},
		{"C beside a comparison on Q", ensembles, []runs{q(paper.QTA, "6x5", 20, 21), q(paper.Ensemble, "6x5", 32, 33),
			c(paper.QTA, "6x5", six...)}, "holds; size unknown | 1.59 (1.37 to 1.84)"},
		{"five of C, and Q", mega, []runs{c(paper.QTA, "4x5", six[:5]...), q(paper.QTA, "4x5", 10, 11),
			own("4x5", 60, 61)},
			"holds; size larger | 5.77 (3.37 to 9.88) | 3.81 (3.47 to 4.17) | 2 MEGA (mega), 2 QTA (quick); 4x5"},
		{"six of C", mega, []runs{c(paper.QTA, "4x5", six...), q(paper.QTA, "4x5", 10, 11), own("4x5", 60, 61)},
			"holds; size smaller | 2.88 (2.75 to 3.02) | 3.81 (3.47 to 4.17) | 2 MEGA (mega), 6 QTA (paper); 4x5"},
		{"MEGA of another set", mega, []runs{q(paper.QTA, "4x5", 10, 11), q(paper.MEGA, "4x5", 60, 61)}, ""},
		{"VDS", vds, []runs{c(paper.QTA, "1U5", six...), madeup.Steps(qta.VDS(), paper.Method{}, "1U5", 60, 61)},
			"holds; size smaller | 2.88 (2.75 to 3.02) | 3.92 (3.52 to 4.37) | 2 VDS (vds), 6 QTA (paper); 1U5"},
		{"approaches", near, []runs{c(paper.QTA, "4x5", six...), c(paper.QTA, "8x5", six...), own("4x5", 80,
			84), own("8x5", 40, 42)}, "holds; size larger | 2.38 (2.06 to 2.74)"},
		{"one maze", near, []runs{c(paper.QTA, "4x5", six...), own("4x5", 80, 84)}, ""},
		{"waves do not win ties", near, []runs{c(paper.QTA, "4x5", six...), c(paper.QTA, "8x5", six...),
			own("4x5", 80, 84), own("8x5", 40, 42), c(paper.QTA, "1U5", six...), c(paper.QTA, "2U5", six...),
			own("1U5", 40, 42), own("2U5", 80, 84)},
			"holds; size larger | 2.38 (2.06 to 2.74) | 1.75 (1.48 to 2.07) | 4 MEGA (mega), 12 QTA (paper); 4x5, 8x5"},
		{"waves, the middle M-maze of no weight but for rounding", waves, []runs{c(paper.QTA, "4x5", 10, 11),
			c(paper.QTA, "5x5", 20, 22), c(paper.QTA, "6x5", 20, 22), c(paper.QTA, "1U5", 10, 11),
			c(paper.QTA, "2U5", 40, 44), c(paper.QTA, "3U5", 160, 176)}, "holds; size larger | 5.66 (3.57 to 8.97)"},
		{"waves, the longest M-maze unsolved", waves, []runs{c(paper.QTA, "4x5", 10, 11), c(paper.QTA, "6x5",
			20, 22), c(paper.QTA, "8x5", 40, -44), c(paper.QTA, "1U5", 10, 11), c(paper.QTA, "2U5", 40, 44),
			c(paper.QTA, "3U5", 160, 176)}, "undecided; size unknown | ≤ 5.66 (4.23 to 7.57)"},
		{"waves, two", waves, []runs{c(paper.QTA, "4x5", 10, 11), c(paper.QTA, "6x5", 20, 22), c(paper.QTA,
			"8x5", 40, 44), c(paper.QTA, "1U5", 10, 11), c(paper.QTA, "2U5", 40, 44)}, ""},
		{"PER", per, []runs{q(paper.QTA, "4x5", 30, 31), q(paper.PER, "4x5", 20, 21)},
			"holds; size larger | 1.49 (1.29 to 1.72)"},
		{"TD does nothing", td, []runs{q(paper.QTA, "4x5", 80, 81, 82), q(paper.TD, "4x5", 82, 83, 84)},
			"holds; size unknown | 0.98 (0.95 to 1.00)"},
		{"TD helps", td, []runs{q(paper.QTA, "4x5", 80, 81, 82), q(paper.TD, "4x5", 40, 41, 42)},
			"contradicted; size larger | 1.98 (1.88 to 2.08)"},
		{"TD helps as in the paper", td, []runs{q(paper.QTA, "4x5", 82, 83, 84), q(paper.TD, "4x5", 75, 76, 77)},
			"undecided; size unknown | 1.09 (1.06 to 1.12) | a factor of 1.04 would have shown"},
		{"TD scattered", td, []runs{q(paper.QTA, "4x5", 20, 30), q(paper.TD, "4x5", 20, 30)},
			"undecided; size unknown | 1.00 (0.29 to 3.43) | a factor of 4.65 would have shown"},
		{"a bound of no benefit", td, []runs{q(paper.QTA, "6x5", 20, 26), q(paper.TD, "6x5", 20, -26)},
			"undecided; size unknown | ≤ 1.00 (0.45 to 2.22) | a factor of 2.70 would have shown"},
		{"a bound of a benefit", td, []runs{q(paper.QTA, "6x5", 20, -26), q(paper.TD, "6x5", 20, 26)},
			"undecided; size unknown | ≥ 1.00 (0.45 to 2.22) | a lower bound cannot hold"},
		{"HER solves", her, []runs{c(paper.HER, "4x5", 6, 6, 12)}, "contradicted | 3 of 3 (0.29 to 1.00)"},
		{"HER, two of three", her, []runs{c(paper.HER, "4x5", 6, 6, -12)},
			"undecided | 2 of 3 (0.09 to 0.99)"},
		{"HER finds nothing", her, []runs{c(paper.HER, "4x5", -6, -6, -6, -6, -6, -6), c(paper.HER, "6x5", 5)},
			"holds | 0 of 6 (0.00 to 0.46) | 0 of 12 | 6 HER (paper); 4x5"},
		{"HER, one of twelve", her, []runs{c(paper.HER, "4x5", 5, -6, -6, -6, -6, -6, -6, -6, -6, -6, -6, -6)},
			"undecided | 1 of 12 (0.00 to 0.38)"},
		{"HER, five", her, []runs{c(paper.HER, "4x5", -6, -6, -6, -6, -6)},
			"undecided | 0 of 5 (0.00 to 0.52)"},
		{"noise", noise, []runs{madeup.On(paper.QTA, flat(9, 0.8, 0.9, 1)...), madeup.On(paper.Noise5, flat(9, 0.2, 0.3,
			0.4)...)}, "holds | 0.60 (0.37 to 0.83)"},
		{"noise helps", noise, []runs{madeup.On(paper.QTA, flat(9, 0.2, 0.3, 0.4)...), madeup.On(paper.Noise5, flat(9, 0.8,
			0.9, 1)...)}, "contradicted | -0.60 (-0.83 to -0.37)"},
		{"noise, undecided", noise, []runs{madeup.On(paper.QTA, flat(9, 0.1, 0.5, 0.9)...), madeup.On(paper.Noise5,
			flat(9, 0.1, 0.5, 0.9)...)}, "undecided | 0.00 (-0.91 to 0.91) | 1.21 of success would have shown"},
		{"noise, stopped when solved", noise, []runs{madeup.On(paper.QTA, flat(9, 0.8, 0.9, 1)...), madeup.Curves(qta.Quick(),
			paper.Noise5, "8x5", flat(9, 0.2, 0.3, 0.4)...)}, ""},
		{"all collapse", dead, []runs{madeup.On(paper.QTA, flat(9, 1, 1, 1, 1, 0, 1, 1)...), madeup.On(paper.Noise5,
			seven...)}, "holds | 7 of 7 (0.59 to 1.00), 1 of 7 without"},
		{"some collapse", dead, []runs{madeup.On(paper.QTA, flat(9, 1, 1, 1, 1, 1, 0)...),
			madeup.On(paper.Noise5, flat(9, 0, 0, 0, 0, 1, 1)...)}, "undecided | 4 of 6 (0.22 to 0.96), 1 of 6 without | 6 of 6 would have shown"},
		{"none collapses", dead, []runs{madeup.On(paper.QTA, flat(9, 1, 1, 1)...), madeup.On(paper.Noise5, flat(9, 1, 1, 1, 1,
			1, 1)...)}, "contradicted | 0 of 6 (0.00 to 0.46), 0 of 3 without"},
		{"half is no collapse", dead, []runs{madeup.On(paper.QTA, flat(9, 1, 1, 1)...), madeup.On(paper.Noise5, flat(9, 0.5,
			0.5, 0.5, 0.5, 0.5, 0.5)...)}, "contradicted | 0 of 6 (0.00 to 0.46), 0 of 3 without"},
		{"all collapse, with and without", dead, []runs{madeup.On(paper.QTA, seven...), madeup.On(paper.Noise5, seven...)},
			"undecided | 7 of 7 (0.59 to 1.00), 7 of 7 without | too few runs to show it"},
		{"at its end", dead, []runs{madeup.On(paper.QTA, flat(9, 1, 1, 1, 1, 1, 1, 1)...), madeup.On(paper.Noise5,
			slices.Repeat([][]float64{{1, 1, 1, 1, 1, 0, 0, 0, 1, 1}}, 7)...)},
			"holds | 7 of 7 (0.59 to 1.00), 0 of 7 without"},
		{"stopped by a signal", dead, []runs{madeup.On(paper.QTA, flat(9, 1, 1, 1)...), going}, ""},
		{"six grow", grow, []runs{madeup.Growing("12x5", 1, 2, 3, 4, 5, 3)}, "holds | above 0 in 6 of 6, mean 3"},
		{"0 is not positive", grow, []runs{madeup.Growing("12x5", 1, 2, 3, 4, 5, 0)},
			"undecided | above 0 in 5 of 6, mean 2.5 | 6 of 6 would have shown"},
		{"none grows", grow, []runs{madeup.Growing("12x5", -1, -2, -3, -4, -5, 0)},
			"contradicted | above 0 in 0 of 6, mean -2.5"},
		{"five grow", grow, []runs{madeup.Growing("12x5", 1, 2, 3, 4, 5)},
			"undecided | above 0 in 5 of 5, mean 3 | takes six runs"},
		{"a stopped run is not at its end", grow, []runs{stopped, madeup.Growing("8x5", 1, 1, 1, 1, 1, 1)}, ""},
	} {
		claims := evidence{report.New(madeup.Collect(test.runs...))}.claims()
		c := claims[slices.IndexFunc(claims, func(c claim) bool { return c.Text == test.claim })]
		parts := []string{c.Verdict(), c.Here, c.Note, c.Paper, c.Runs}
		got := strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " | ")
		if got != test.want && (test.want == "" || !strings.HasPrefix(got, test.want+" | ")) {
			t.Errorf("%s: %s (%s)", test.name, got, c.What)
		}
	}
}

// TestContradicted makes up runs with the paper's own effects, as many as section4.txt
// has: of all verdicts on ratios of steps at most one in twenty is a contradiction.
func TestContradicted(t *testing.T) {
	roomtest.Long(t)
	rng := rand.New(rand.NewPCG(5, 4))
	draw := func(r *report.Report, set, panel string, m paper.Method, runs int, mazes ...string) {
		for _, maze := range mazes {
			p := paper.Of(panel, m.Name, maze)
			mean, variance := p.Log()
			at := report.Place{Setting: set, Method: m.Name, Maze: maze, Family: maze[1:], Length: p.Length}
			g := &report.Group{Place: at, Solved: runs, Paper: p}
			for range runs {
				step := math.Exp(mean + math.Sqrt(paper.Seeds*variance)*rng.NormFloat64())
				g.Steps = append(g.Steps, 1000*math.Ceil(step/1000))
			}
			g.Runs = make([]*lab.Record, runs)
			r.Groups = append(r.Groups, g)
		}
	}
	verdicts := map[string]int{}
	for range 100 {
		r := &report.Report{}
		draw(r, full, "2L", paper.QTA, 6, "4x5", "6x5", "8x5")
		draw(r, full, "2R", paper.QTA, 6, "1U5", "2U5", "3U5")
		draw(r, "mega", "2L", paper.MEGA, 3, "4x5", "8x5")
		draw(r, "vds", "2R", paper.VDS, 5, "1U5", "2U5")
		draw(r, quick, "3R", paper.QTA, 12, "4x5", "6x5", "8x5")
		draw(r, quick, "3L", paper.PER, 12, "4x5", "6x5", "8x5")
		draw(r, quick, "3R", paper.TD, 9, "4x5", "6x5", "8x5")
		draw(r, quick, "6L", paper.Q, 6, "6x5", "8x5")
		draw(r, quick, "6R", paper.Bootstrap, 9, "6x5", "8x5")
		draw(r, quick, "6R", paper.Ensemble, 6, "6x5", "8x5")
		claims := evidence{r}.claims()
		for _, c := range claims {
			verdicts[c.Direction]++
		}
	}
	n := verdicts[holds] + verdicts[contradicted] + verdicts[undecided]
	if n < 1000 || verdicts[holds] < n/2 || 20*verdicts[contradicted] > n {
		t.Errorf("%v", verdicts)
	}
}
