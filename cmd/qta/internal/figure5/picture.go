package figure5

import (
	"fmt"
	"image"
	"math"

	"qta/cmd/qta/internal/draw"
	"qta/cmd/qta/internal/words"
)

// A column of the figure shows numbers of every point, or the samples if
// numbers is nil.
type panel struct {
	name, unit string
	numbers    func(*Snapshot) []float32
	scale      func(*Snapshot) draw.Scale
	sparse     bool // most are zero
}

// panels returns the columns. All snapshots have the same scale in them but
// for the deviation's and the probability's, and value and optimal value share
// one.
func (f *Figure) panels() []panel {
	value := func(s *Snapshot) []float32 { return s.Value }
	optimal := func(*Snapshot) []float32 { return f.Optimal }
	failure := func(s *Snapshot) []float32 { return s.Failure }
	deviation := func(s *Snapshot) []float32 { return s.Deviation }
	probability := func(s *Snapshot) []float32 { return s.Probability }
	whole := func(s draw.Scale, columns ...func(*Snapshot) []float32) func(*Snapshot) draw.Scale {
		for i := range f.Snapshots {
			for _, column := range columns {
				s = s.Over(column(&f.Snapshots[i]))
			}
		}
		return func(*Snapshot) draw.Scale { return s }
	}
	zero := draw.Scale{Low: 0, High: 0}
	name, unit := f.Deviation()
	values := whole(draw.Nothing(), value, optimal)
	return []panel{
		{"value", "rewards", value, values, false},
		{"absolute error", "rewards", failure, whole(zero, failure), false},
		{"optimal value", "rewards", optimal, values, false},
		{name, draw.Unit(unit), deviation, func(s *Snapshot) draw.Scale { return draw.Nothing().Over(s.Deviation) }, false},
		{"goal probability", "per point", probability, func(s *Snapshot) draw.Scale { return zero.Over(s.Probability) }, true},
		{name: "sampled goals"},
	}
}

// Pictures are those of a figure, which are alike in size.
type Pictures struct {
	Rows    []Row
	PerLine int     // side by side
	Width   float64 // of one
	height  float64
	plan    draw.Plan
}

// A Row is a snapshot: a picture of each column.
type Row struct {
	Caption  string
	Pictures []*draw.Drawing
}

const panelTop = 18 // height of a picture's name

// Pictures draws every column of every snapshot.
func (f *Figure) Pictures() *Pictures {
	rows, cols := f.Maze.Rows()-2, f.Maze.Cols()-2
	g := &Pictures{Width: 114, PerLine: 6}
	switch {
	case cols > 3*rows:
		g.Width, g.PerLine = 340, 2
	case 2*cols > 3*rows:
		g.Width, g.PerLine = 240, 3
	}
	g.plan = draw.NewPlan(f.Maze, panelTop, g.Width, 190)
	_, h := g.plan.Size()
	g.height = panelTop + h + 6 + draw.BarAltitude
	panels := f.panels()
	for i := range f.Snapshots {
		s := &f.Snapshots[i]
		row := Row{Caption: "After " + words.Count(s.step, "environment step")}
		for k := range panels {
			row.Pictures = append(row.Pictures, f.picture(g, &panels[k], s))
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

// picture draws one column of one snapshot.
func (f *Figure) picture(g *Pictures, p *panel, s *Snapshot) *draw.Drawing {
	d := &draw.Drawing{Title: fmt.Sprintf("%s after %s", p.name, words.Count(s.step, "environment step")), Width: g.Width, Height: g.height}
	d.Text(g.Width/2, draw.TextSize, draw.Middle, "ink", p.name)
	w, h := g.plan.Size()
	below := panelTop + h + 6
	if p.numbers == nil {
		g.plan.Floor(d)
		drawn := 0
		for _, n := range s.Samples {
			if n > 0 {
				drawn++
			}
		}
		g.plan.Dots(d, 0, len(f.points), func(i int) (row, col, radius float64) {
			return f.points[i][0], f.points[i][1], min(1.3*math.Sqrt(float64(s.Samples[i])), 0.4*g.plan.Cell)
		})
		d.Text(g.Width/2, below+draw.BarHeight+14, draw.Middle, "soft", words.Count(drawn, "point"))
		d.Text(g.Width/2, below+draw.BarHeight+29, draw.Middle, "soft", fmt.Sprintf("in %d draws", sampledGoals))
		return d
	}
	colours := p.scale(s)
	m := f.image(p.numbers(s), colours, p.sparse)
	if p.sparse {
		g.plan.Floor(d)
	} else {
		g.plan.Walls(d)
	}
	x, y := g.plan.At(1, 1)
	d.Image(m, x, y, float64(f.Maze.Cols()-2)*g.plan.Cell, float64(f.Maze.Rows()-2)*g.plan.Cell)
	g.plan.Ends(d)
	w = max(w, 0.8*g.Width)
	d.Bar(colours, p.unit, (g.Width-w)/2, below, w)
	return d
}

// image returns an image of a number of each point, a pixel each. Of sparse
// numbers the zeros are left out, and the others have their neighbours' pixels,
// too, so that they can be seen: where two meet, the larger is on top.
func (f *Figure) image(numbers []float32, colours draw.Scale, sparse bool) *image.Paletted {
	perCell, cols := f.lattice.PerCell, f.lattice.Cols
	m := image.NewPaletted(image.Rect(0, 0, cols-2*perCell, f.lattice.Rows-2*perCell), draw.Viridis())
	around := 0
	if sparse {
		around = 1
	}
	largest := map[image.Point]float32{}
	for i, number := range numbers {
		if sparse && number == 0 {
			continue
		}
		x, y := f.index[i]%cols-perCell, f.index[i]/cols-perCell
		for dy := -around; dy <= around; dy++ {
			for dx := -around; dx <= around; dx++ {
				at := image.Pt(x+dx, y+dy)
				if before, ok := largest[at]; at.In(m.Rect) && !(ok && before > number) {
					largest[at] = number
					m.SetColorIndex(at.X, at.Y, colours.Colour(float64(number)))
				}
			}
		}
	}
	return m
}

// Whole puts the pictures into one, which names the maze.
func (g *Pictures) Whole(maze string) *draw.Drawing {
	const margin, gap, head = 12, 14, 22
	d := &draw.Drawing{Title: fmt.Sprintf("What an agent makes of the points of maze %s, at %s", maze, words.Count(len(g.Rows), "time"))}
	d.Width = 2*margin + float64(g.PerLine)*(g.Width+gap) - gap
	y := float64(margin)
	if len(g.Rows) == 0 {
		d.Text(margin, y+draw.TextSize, draw.Left, "soft", "No evaluation yet.")
		y += head
	}
	for _, row := range g.Rows {
		d.Text(margin, y+draw.TextSize, draw.Left, "head", row.Caption)
		y += head
		for k, p := range row.Pictures {
			d.Place(p, margin+float64(k%g.PerLine)*(g.Width+gap), y+float64(k/g.PerLine)*(g.height+gap))
		}
		y += float64((len(row.Pictures)+g.PerLine-1)/g.PerLine) * (g.height + gap)
	}
	d.Height = y
	return d
}
