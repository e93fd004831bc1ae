package main

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"qta"
)

//go:embed data/paper-figures.csv
var paperFiguresCSV string

//go:embed data/paper-figure4.csv
var paperFigure4CSV string

// A method is a curriculum, estimator or kind of replay that the paper
// compares, as changes of a parameter set.
type method struct {
	name string
	set  []string
}

var (
	methodQTA       = method{"QTA", nil}
	methodMEGA      = method{"MEGA", []string{"Curriculum=mega"}}
	methodVDS       = method{"VDS", []string{"Curriculum=vds"}}
	methodHER       = method{"HER", []string{"Curriculum=her"}}
	methodRandom    = method{"random goals", []string{"Curriculum=random"}}
	methodPER       = method{"QTA + PER", []string{"Replay=per"}}
	methodTD        = method{"QTA + TD-PER", []string{"Replay=td"}}
	methodQ         = method{"Q-value disagreement", []string{"Uncertainty=q"}}
	methodBootstrap = method{"bootstrapped Q", []string{"Uncertainty=bootstrap"}}
	methodEnsemble  = method{"deep ensembles", []string{"Uncertainty=ensemble"}}
	methodNoise1    = method{"noise 0.01", []string{"UncertaintyNoise=0.01"}}
	methodNoise3    = method{"noise 0.03", []string{"UncertaintyNoise=0.03"}}
	methodNoise5    = method{"noise 0.05", []string{"UncertaintyNoise=0.05"}}
)

func methods() []method {
	return []method{methodQTA, methodMEGA, methodVDS, methodHER, methodRandom, methodPER, methodTD,
		methodQ, methodBootstrap, methodEnsemble, methodNoise1, methodNoise3, methodNoise5}
}

// A figure is one of the paper's.
type figure struct {
	number, about string
	stop          string // -stop of its runs
	panels        []paperPanel
}

// A paperPanel is one picture of a figure.
type paperPanel struct {
	name    string // of the picture in paper-figures.csv
	title   string
	mazes   []string
	methods []paperMethod
}

// A paperMethod is a method and the name of its series in the paper's numbers.
type paperMethod struct {
	method method
	series string
}

func mazeNames(from, to, step int, suffix string) []string {
	var names []string
	for n := from; n <= to; n += step {
		names = append(names, strconv.Itoa(n)+suffix)
	}
	return names
}

// figure5Maze is the maze of Figure 5.
const figure5Maze = "12x5"

// noiseMaze is the maze of Figure 4.
//
// Reading: the paper does not say which; this is that of Figure 5.
const noiseMaze = figure5Maze

func figures() []figure {
	m, even, waves := mazeNames(4, 15, 1, "x5"), mazeNames(4, 14, 2, "x5"), mazeNames(1, 5, 1, "U5")
	curricula := []paperMethod{{methodQTA, "QTA"}, {methodMEGA, "MEGA"}, {methodVDS, "VDS"}}
	return []figure{
		{"2", "QTA, MEGA and VDS. Of HER the text says that it solves no maze: add lines with -set Curriculum=her to see.", "solved", []paperPanel{
			{"2L", "Figure 2, left: M-mazes", m, curricula},
			{"2R", "Figure 2, right: square-wave mazes", waves, curricula}}},
		{"3", "prioritised replay, by uncertainty and by TD error", "solved", []paperPanel{
			{"3L", "Figure 3, left: replay by uncertainty", m, []paperMethod{{methodQTA, "QTA"}, {methodPER, "QTA+PER"}}},
			{"3R", "Figure 3, right: replay by TD error", even, []paperMethod{{methodQTA, "QTA"}, {methodTD, "QTA+TD-PER"}}}}},
		{"4", "noise on the uncertainty. The paper does not name the maze; " + noiseMaze + " is a reading.", "never", []paperPanel{
			{"4", "Figure 4: noise on the uncertainty", []string{noiseMaze}, []paperMethod{
				{methodQTA, "sigma=0"}, {methodNoise1, "sigma=0.01"}, {methodNoise3, "sigma=0.03"}, {methodNoise5, "sigma=0.05"}}}}},
		{"5", "one agent over time; the picture is figure5.svg in its run directory.", "never", []paperPanel{
			{"5", "Figure 5", []string{figure5Maze}, []paperMethod{{methodQTA, ""}}}}},
		{"6", "estimates of uncertainty: disagreement of Q-values, bootstrapped Q-networks, deep ensembles", "solved", []paperPanel{
			{"6L", "Figure 6, left: disagreement of Q-values", m, []paperMethod{{methodQTA, "QTA"}, {methodQ, "QTA+Qval"}}},
			{"6R", "Figure 6, right: critic ensembles", m, []paperMethod{{methodQTA, "PUN"}, {methodBootstrap, "BootstrappedDQN"}, {methodEnsemble, "DeepEnsembles"}}}}},
	}
}

// recognise returns the method that p has, and the name of the parameter set
// that the method is applied to: of all presets, with QTA's curriculum, and
// methods those that leave the fewest other changes, which become part of the
// name.
func recognise(p qta.Params) (m method, setting string) {
	p = effective(p)
	best := math.MaxInt
	for _, preset := range qta.Presets() {
		for _, candidate := range methods() {
			q := preset.Params
			q.Curriculum = "qta" // the presets mega and vds imply a method
			q = effective(candidate.apply(q))
			if changes := changesFrom(q, p); len(changes) < best {
				best, m = len(changes), candidate
				setting = strings.Join(append([]string{preset.Name}, changes...), " ")
			}
		}
	}
	return m, setting
}

// apply returns p with the method's changes.
func (m method) apply(p qta.Params) qta.Params {
	for _, change := range m.set {
		name, value, _ := strings.Cut(change, "=")
		if err := p.Set(name, value); err != nil {
			panic(err) // the table above is wrong
		}
	}
	return p
}

// effective returns p with those fields at their defaults that have no effect
// beside the others, so that runs that compute the same have the same name.
func effective(p qta.Params) qta.Params {
	standard := qta.Default()
	if p.Uncertainty != "q" {
		p.QSwapped = standard.QSwapped
	}
	if p.Uncertainty != "bootstrap" {
		p.BootstrapForm = standard.BootstrapForm
	}
	if p.Uncertainty != "ensemble" {
		p.EnsembleScore = standard.EnsembleScore
	}
	if p.Replay != "td" {
		p.TDPriority = standard.TDPriority
	}
	if p.Curriculum != "vds" {
		p.VDSForm = standard.VDSForm
	}
	return p
}

// A paperPoint is a point of Figures 2, 3 and 6, in environment steps.
type paperPoint struct {
	panel, series, maze string
	mean, deviation     float64
	scaled              bool // VDS as if its printed indices counted evaluations 2500 steps apart
}

// method returns the method of the point's series, or "" where there is none.
func (p *paperPoint) method() string {
	for _, f := range figures() {
		for _, panel := range f.panels {
			for _, m := range panel.methods {
				if m.series == p.series {
					return m.method.name
				}
			}
		}
	}
	return ""
}

// paperPoints returns the points of Figures 2, 3 and 6. Means are printed in
// the index k of an evaluation, 1000 (k + 1) steps, except in 6R. Those of VDS
// come twice, also as 2500 (k + 1).
func paperPoints() []paperPoint {
	var points []paperPoint
	for _, row := range paperRows(paperFiguresCSV, 6) {
		p := paperPoint{panel: row[0], series: row[1], maze: row[2], mean: 1000 * number(row[4]), deviation: 1000 * number(row[5])}
		if p.panel != "6R" {
			p.mean += 1000
		}
		points = append(points, p)
		if p.series == "VDS" {
			p.mean, p.deviation, p.scaled = 2.5*p.mean, 2.5*p.deviation, true
			points = append(points, p)
		}
	}
	return points
}

// A paperSuccess is a point of Figure 4: mean success after so many
// environment steps.
type paperSuccess struct{ step, success float64 }

// paperCurves returns the curves of Figure 4 by series. Its index counts from
// the first evaluation.
func paperCurves() map[string][]paperSuccess {
	curves := map[string][]paperSuccess{}
	for _, row := range paperRows(paperFigure4CSV, 4) {
		curves[row[1]] = append(curves[row[1]], paperSuccess{1000*number(row[2]) + 1000, number(row[3])})
	}
	return curves
}

// paperRows returns the rows of one of the files above without its header.
func paperRows(text string, columns int) [][]string {
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord = columns
	rows, err := r.ReadAll()
	if err != nil {
		panic(fmt.Sprintf("embedded data: %v", err))
	}
	return rows[1:]
}

func number(text string) float64 {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(fmt.Sprintf("embedded data: %v", err))
	}
	return x
}

// pathLength returns the path length of a maze of the paper, or 0.
func pathLength(name string) int {
	if !slices.Contains(slices.Concat(mazeNames(4, 15, 1, "x5"), mazeNames(1, 5, 1, "U5")), name) {
		return 0
	}
	m, err := qta.NewMaze(name)
	if err != nil {
		return 0
	}
	return m.PathLength()
}
