// Package paper describes the paper's section 4: its figures, their methods as
// changes of parameters, and their numbers. data/README.md says how the numbers
// were read from the paper.
package paper

import (
	_ "embed"
	"encoding/csv"
	"math"
	"strconv"
	"strings"
	"sync"

	"qta"
	"qta/lab"
)

//go:embed data/paper-figures.csv
var figuresCSV string

//go:embed data/paper-figure4.csv
var figure4CSV string

// A Method is a curriculum, estimator or kind of replay that section 4 compares or
// argues about. It is described by changes of a parameter set.
type Method struct {
	Name string
	Set  []string // the changes, each NAME=VALUE as for -set
}

// The methods of section 4.
var (
	QTA       = Method{"QTA", nil}
	MEGA      = Method{"MEGA", []string{"Curriculum=mega"}}
	VDS       = Method{"VDS", []string{"Curriculum=vds"}}
	HER       = Method{"HER", []string{"Curriculum=her"}}
	PER       = Method{"QTA + PER", []string{"Replay=per"}}
	TD        = Method{"QTA + TD-PER", []string{"Replay=td"}}
	Q         = Method{"Q-value disagreement", []string{"Uncertainty=q"}}
	Bootstrap = Method{"bootstrapped Q", []string{"Uncertainty=bootstrap"}}
	Ensemble  = Method{"deep ensembles", []string{"Uncertainty=ensemble"}}
	Noise1    = Method{"noise 0.01", []string{"UncertaintyNoise=0.01"}}
	Noise3    = Method{"noise 0.03", []string{"UncertaintyNoise=0.03"}}
	Noise5    = Method{"noise 0.05", []string{"UncertaintyNoise=0.05"}}
)

// Methods returns all methods.
func Methods() []Method {
	return []Method{QTA, MEGA, VDS, HER, PER, TD, Q, Bootstrap, Ensemble, Noise1, Noise3, Noise5}
}

// Own returns the name of the parameter set that only this method has, or "". The paper
// runs MEGA and VDS with hyperparameters of their authors.
func (m Method) Own() string {
	switch m.Name {
	case MEGA.Name:
		return "mega"
	case VDS.Name:
		return "vds"
	}
	return ""
}

// A Figure is a figure of the paper.
type Figure struct {
	Number, About string
	Stop          string // the value of -stop for its runs
	Seeds         int    // how many the paper has; 1 for the one agent of Figure 5
	Panels        []Panel
}

// A Panel is one picture of a figure.
type Panel struct {
	Name  string // its name in paper-figures.csv
	Title string
	Mazes []string
	Lines []Method
}

// Figure5Maze is the maze of Figure 5.
const Figure5Maze = "12x5"

// noiseMaze is the maze of Figure 4.
//
// Reading R102: the paper does not say which; 12x5 is the maze of Figure 5.
const noiseMaze = Figure5Maze

// Seeds is the paper's number of seeds, except in Figure 5.
const Seeds = 12

// Figures returns the paper's figures.
func Figures() []Figure {
	rooms := strings.Fields("4x5 5x5 6x5 7x5 8x5 9x5 10x5 11x5 12x5 13x5 14x5 15x5")
	even := strings.Fields("4x5 6x5 8x5 10x5 12x5 14x5")
	waves := strings.Fields("1U5 2U5 3U5 4U5 5U5")
	curricula := []Method{QTA, MEGA, VDS}
	return []Figure{
		{
			Number: "2",
			About: "QTA, MEGA and VDS. HER solves no maze, says the text: " +
				"add lines with -set Curriculum=her to see.",
			Stop:  "solved",
			Seeds: Seeds,
			Panels: []Panel{
				{Name: "2L", Title: "Figure 2, left: M-mazes", Mazes: rooms, Lines: curricula},
				{Name: "2R", Title: "Figure 2, right: square-wave mazes", Mazes: waves, Lines: curricula},
			},
		},
		{
			Number: "3",
			About:  "prioritized replay, by uncertainty and by TD error",
			Stop:   "solved",
			Seeds:  Seeds,
			Panels: []Panel{
				{Name: "3L", Title: "Figure 3, left: replay by uncertainty", Mazes: rooms,
					Lines: []Method{QTA, PER}},
				{Name: "3R", Title: "Figure 3, right: replay by TD error", Mazes: even,
					Lines: []Method{QTA, TD}},
			},
		},
		{
			Number: "4",
			About: "noise on the uncertainty. The paper does not name the maze; " +
				noiseMaze + " is a reading.",
			Stop:  "never",
			Seeds: Seeds,
			Panels: []Panel{
				{Name: "4", Mazes: []string{noiseMaze}, Lines: []Method{QTA, Noise1, Noise3, Noise5}},
			},
		},
		{
			Number: "5",
			About:  "one agent over time; the picture is figure5.svg in its run directory.",
			Stop:   "never",
			Seeds:  1,
			Panels: []Panel{{Name: "5", Mazes: []string{Figure5Maze}, Lines: []Method{QTA}}},
		},
		{
			Number: "6",
			About: "estimates of uncertainty: disagreement of Q-values, " +
				"bootstrapped Q-networks, deep ensembles",
			Stop:  "solved",
			Seeds: Seeds,
			Panels: []Panel{
				{Name: "6L", Title: "Figure 6, left: disagreement of Q-values", Mazes: rooms,
					Lines: []Method{QTA, Q}},
				{Name: "6R", Title: "Figure 6, right: critic ensembles", Mazes: rooms,
					Lines: []Method{QTA, Bootstrap, Ensemble}},
			},
		},
	}
}

// Recognize returns the method of p, and the setting: the parameter set without the
// method's changes. It applies each method to each preset and takes the pair that differs
// from p in the fewest parameters. The setting is the preset's name and these differences.
func Recognize(p qta.Params) (m Method, setting string) {
	best := math.MaxInt
	for _, preset := range qta.Presets() {
		for _, candidate := range Methods() {
			q := preset.Params
			q.Curriculum = "qta" // or the presets mega and vds would make a method of their own
			q = candidate.Apply(q)
			n := len(lab.Differing(q, p))
			if n >= best {
				continue
			}
			best = n
			m = candidate
			setting = strings.Join(append([]string{preset.Name}, lab.Changes(q, p)...), " ")
		}
	}
	return m, setting
}

// Apply returns p with the method's changes.
func (m Method) Apply(p qta.Params) qta.Params {
	for _, change := range m.Set {
		name, value, _ := strings.Cut(change, "=")
		if err := p.Set(name, value); err != nil {
			panic(err) // the table here is wrong
		}
	}
	return p
}

// A Point is a point of Figures 2, 3 and 6.
type Point struct {
	Panel, Method, Maze string
	Length              int     // path length of the maze
	Mean, Deviation     float64 // environment steps
}

// Points returns the points of Figures 2, 3 and 6. An index counts as 1000 steps in VDS's
// points, too. Each call returns the same slice.
//
// Reading R101: the figures print the index k of an evaluation, counted from 0, so that
// k stands for 1000 (k + 1) environment steps. Only Figure 6, right, prints steps: there
// QTA has 1000 (k + 1) at every maze, with the k of Figure 2. The paper does not say
// whether the figures count VDS's evaluations as 2500 steps.
var Points = sync.OnceValue(func() []Point {
	lengths := map[string]int{}
	var points []Point
	for _, row := range rows(figuresCSV) {
		maze := row[2]
		if lengths[maze] == 0 {
			m, _ := qta.NewMaze(maze)
			lengths[maze] = m.PathLength()
		}
		p := Point{
			Panel:     row[0],
			Method:    row[1],
			Maze:      maze,
			Length:    lengths[maze],
			Mean:      1000 * number(row[4]),
			Deviation: 1000 * number(row[5]),
		}
		if p.Panel != "6R" {
			p.Mean += 1000
		}
		points = append(points, p)
	}
	return points
})

// rows returns the rows of embedded data without their header.
func rows(text string) [][]string {
	rows, _ := csv.NewReader(strings.NewReader(text)).ReadAll()
	return rows[1:] // panics if the text cannot be read
}

func number(text string) float64 {
	x, _ := strconv.ParseFloat(text, 64) // the embedded files have only numbers here
	return x
}

// Success returns a method's curve in Figure 4: environment steps and the mean
// success of the evaluations there.
func Success(m Method) (curve [][2]float64) {
	series := strings.Replace(m.Name, "noise ", "sigma=", 1) // as the file names it
	if m.Name == QTA.Name {
		series = "sigma=0"
	}
	for _, row := range rows(figure4CSV) {
		if row[1] == series {
			curve = append(curve, [2]float64{1000 * number(row[2]), number(row[3])})
		}
	}
	return curve
}

// Of returns the point of a method and maze in a panel, or nil if there is none. If panel
// is "", it takes the first panel that has such a point.
func Of(panel, method, maze string) *Point {
	for _, p := range Points() {
		if (panel == "" || p.Panel == panel) && p.Method == method && p.Maze == maze {
			return &p
		}
	}
	return nil
}

// Log returns the mean of the logarithm of the steps if they are lognormal, and the
// variance of this mean over the seeds. The paper's deviation is the population's, so the
// estimated variance of one seed is 12/11 of the deviation's square.
func (p *Point) Log() (mean, variance float64) {
	one := p.Deviation * p.Deviation * Seeds / (Seeds - 1)
	variance = math.Log1p(one / (p.Mean * p.Mean))
	return math.Log(p.Mean) - variance/2, variance / Seeds
}
