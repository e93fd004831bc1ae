package terminal

import (
	"fmt"
	"time"
)

// A Cell is a run that a sweep works on, as its table shows it.
type Cell struct {
	Name    string
	Step    int // of its last evaluation
	Steps   int // its budget
	Success float64
	Rate    float64 // environment steps per second, or 0
	Took    time.Duration
	Left    time.Duration // at most, or negative where it is unknown
}

// tableRows is how many runs a table has at most.
const tableRows = 20

// ShowSweep replaces the lines that change by one about the whole sweep and one
// for each run.
func (o *Output) ShowSweep(about []string, cells []Cell) {
	if !o.Live() {
		return
	}
	width := o.Width() - 1
	lines := []string{fit(width, about)}
	for i, c := range cells {
		if i == tableRows {
			lines = append(lines, fmt.Sprintf("  and %d others", len(cells)-i))
			break
		}
		lines = append(lines, c.line(width))
	}
	o.Show(lines...)
}

// line is a row of the table. On a narrow terminal the name is shorter, and
// what matters least is left out.
func (c *Cell) line(width int) string {
	rate, left := "-", "-"
	if c.Rate > 0 {
		rate = fmt.Sprintf("%.0f/s", c.Rate)
		if c.Rate < 9.5 {
			rate = fmt.Sprintf("%.1f/s", c.Rate)
		}
	}
	if c.Left >= 0 {
		left = "≤ " + duration(c.Left)
	}
	numbers := fmt.Sprintf("%13s %4.2f %7s %8s", fmt.Sprintf("%d/%d", c.Step, c.Steps), c.Success, rate, left)
	if more := fmt.Sprintf(" %8s", duration(c.Took)); Columns(numbers+more)+30 <= width {
		numbers += more
	}
	name := End(c.Name, max(8, min(40, width-Columns(numbers)-3)))
	return fmt.Sprintf("  %s%*s%s", name, max(1, width-2-Columns(name)-Columns(numbers)), "", numbers)
}
