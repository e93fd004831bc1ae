package qta

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// The mazes' constants, from the authors' public code; section 4 calls the radius small.
const (
	substeps      = 10  // straight pieces of one step
	substepLength = 0.1 // of a component of the action, in cells

	RegionRadius = 0.3  // half the side of the start and goal regions, in cells
	GoalRadius   = 0.35 // a goal is reached closer than this, in cells
)

// maxMazeCells bounds rows times columns, the ring of walls included.
const maxMazeCells = 10000

// A Maze is a map of square cells of side 1 inside a ring of walls, with one
// start cell and one goal cell (Section 4, Environments). A position is a row
// and a column in cells: the center of the first cell within the ring is
// (1.5, 1.5). A Maze never changes: environments and goroutines may share it.
//
// Two free cells that touch only at a corner are connected, because the agent
// can pass between the two walls there: a step is made in pieces and tests only
// the cells in which these end.
type Maze struct {
	lines       []string // the map: '#' is a wall; all of a length, ring of walls included
	free        [][2]int // the free cells (row, column), row by row: for VDS
	start, goal [2]int
}

// NewMaze returns one of the paper's mazes by its name (Section 4,
// Environments), with at most 10,000 cells, the ring of walls included:
//
//	"HxW"  the M-maze of H rows and W columns, H at least 3 and W odd and at least 5
//	"NU5"  the square wave of N+1 parallel corridors of five cells, joined at alternate ends
//
// These are 4x5 and 2U5, in their rings:
//
//	#######    #######
//	#.....#    #S#...#
//	#.#.#.#    #.#.#.#
//	#.###.#    #.#.#.#
//	#.S#G.#    #.#.#.#
//	#######    #...#G#
//	           #######
func NewMaze(name string) (*Maze, error) {
	var height, width, bends int
	fmt.Sscanf(name, "%dx%d", &height, &width)
	fmt.Sscanf(name, "%dU5", &bends)
	if name == fmt.Sprintf("%dx%d", height, width) &&
		height >= 3 && width >= 5 && width%2 == 1 && mazeFits(height, width) {
		return ParseMaze(mMaze(height, width))
	}
	if name == fmt.Sprintf("%dU5", bends) &&
		1 <= bends && bends < maxMazeCells && mazeFits(5, 2*bends+1) {
		return ParseMaze(squareWave(bends))
	}
	return nil, fmt.Errorf(`qta: maze %q: mazes are "HxW", such as "4x5", with H at least 3 and W odd and at least 5, `+
		`and "NU5", such as "1U5", with N at least 1; a ring of walls included, they have at most %d cells`,
		name, maxMazeCells)
}

// mazeFits reports whether a map of this size, without its ring, is small enough.
func mazeFits(rows, cols int) bool {
	return rows <= maxMazeCells && cols <= maxMazeCells && (rows+2)*(cols+2) <= maxMazeCells
}

// mMaze draws an M-maze without its ring. For width 5 it has 3 height + 2 free
// cells.
//
// Reading R66: the paper draws a 1-period wave and an M-maze of five columns and leaves
// the scheme to the reader. The rows of M-mazes and the lengths of waves come from the
// authors' public code. In a wider M-maze the center column is the dead end, and start and
// goal stay beside the outer columns; a wave's first bridge is at the bottom.
func mMaze(height, width int) string {
	side := strings.Repeat("#", width/2-1)
	return strings.Repeat(".", width) + "\n" +
		strings.Repeat("."+side+"."+side+".\n", height-3) +
		"." + side + "#" + side + ".\n" +
		".S" + strings.Repeat("#", width-4) + "G."
}

// squareWave draws the square wave of n bends without its ring. It has
// 6 n + 5 free cells, start at the top left, and the goal at the right, at the
// top if n is odd.
func squareWave(n int) string {
	row := func(period string) string { return strings.Repeat(period, n)[:2*n] }
	ends := []string{".\n", "G\n"}
	return "S" + row(".#..")[1:] + ends[n%2] +
		strings.Repeat(row(".#")+".\n", 3) +
		row("...#") + ends[1-n%2]
}

// A mazeEnv is an [Env]: a maze with an agent in it, a dot that sees its
// position and the goal's and moves by its action.
type mazeEnv struct {
	maze     *Maze
	position [2]float64
	goal     [2]float64
}

// Env returns a new environment in which an agent sees its position and the
// goal's, and moves by its action. Each of these vectors is a row and a column,
// in cells. An episode's start and goal are drawn from squares of half side
// [RegionRadius] around the centers of the two cells; a goal is reached closer
// than [GoalRadius]; walls stop the agent. Methods panic if a vector has
// another length, or if an action is NaN.
func (m *Maze) Env() GoalSampler { return &mazeEnv{maze: m} }

// Sizes implements [Env].
func (e *mazeEnv) Sizes() Sizes { return Sizes{Observation: 2, Goal: 2, Action: 2} }

// Reset implements [Env], with four numbers from rng.
//
// Reading R100: Figure 1 colors the start and goal regions and gives no size.
// Here they are squares of half side 0.3 around the centers of the two cells,
// and both points are drawn anew for each episode, as in the authors' public
// code.
func (e *mazeEnv) Reset(rng *rand.Rand) State {
	e.position = around(rng, e.maze.start, RegionRadius)
	e.goal = around(rng, e.maze.goal, RegionRadius)
	return e.state()
}

// around draws a point uniformly from the square of half side radius around
// the center of a cell.
func around(rng *rand.Rand, cell [2]int, radius float64) [2]float64 {
	p := center(cell)
	for i := range p {
		p[i] += float64(2 * radius * (float64(rng.Float64()) - 0.5))
	}
	return p
}

func (e *mazeEnv) state() State {
	return State{Observation: e.position[:], Achieved: e.position[:], Desired: e.goal[:]}
}

// Step implements [Env]. The agent moves in ten straight pieces, each a tenth
// of the action; when one would end in a wall, it and the rest are dropped.
// Components of the action outside [-1, 1] are clipped.
//
// Reading R67: the paper has "a dot agent with continuous action and state spaces"; how it
// moves comes from the authors' public code.
func (e *mazeEnv) Step(action []float64) (State, float64) {
	piece := pair(action)
	for i, a := range piece {
		if math.IsNaN(a) {
			panic(fmt.Sprintf("qta: component %d of a maze's action is not a number", i))
		}
		piece[i] = float64(substepLength * min(max(a, -1), 1))
	}
	for range substeps {
		r, c := e.position[0]+piece[0], e.position[1]+piece[1]
		if !e.maze.Free(int(r), int(c)) {
			break
		}
		e.position = [2]float64{r, c}
	}
	return e.state(), e.Reward(e.position[:], e.goal[:])
}

// Reward implements [Env].
//
// Reading R68: "a small radius" (Section 4, Environments) is 0.35 cells, as in
// the authors' public code.
func (e *mazeEnv) Reward(achieved, desired []float64) float64 {
	return goalReward(achieved, desired, GoalRadius)
}

// goalReward returns 0 for goals closer than radius, else -1.
func goalReward(achieved, desired []float64, radius float64) float64 {
	p, q := pair(achieved), pair(desired)
	r, c := p[0]-q[0], p[1]-q[1]
	if math.Sqrt(float64(r*r)+float64(c*c)) < radius {
		return 0
	}
	return -1
}

// PathLength returns T of section 4, by which the figures order the mazes: the
// number of steps from the center of the start cell to the farthest point of
// the goal region. It is 2H+1 for Hx5 and 4N+5 for NU5.
//
// Differs D7: the paper says that no agent is faster. A diagonal step has
// length √2, and an agent may start and end nearer than the centers of the
// regions: eight steps can reach the goal of 4x5, whose path length is 9.
func (m *Maze) PathLength() int {
	// Reading R69: steps are those of [Maze.Hops], of 10 points per cell and axis. They
	// give the path lengths that Figures 2 (right) and 6 (right) print; Figure 2 (left)
	// has one more for 4x5 to 7x5. The authors' public code takes the farthest point of
	// all, which in the paper's mazes is as far.
	l, goal, steps := m.Hops(10), m.Goal(), 0
	for k, hops := range l.Hops {
		p := l.Point(k)
		if math.Abs(p[0]-goal[0]) < RegionRadius && math.Abs(p[1]-goal[1]) < RegionRadius {
			steps = max(steps, hops)
		}
	}
	return steps
}

// A Lattice holds a number for each point of a square lattice over a maze,
// row-major.
type Lattice struct {
	PerCell    int   // points per cell and axis
	Rows, Cols int   // of points: the maze's, times PerCell
	Hops       []int // of Point(k), the steps from the start, or -1
}

// Point returns the position of point k, in cells.
func (l *Lattice) Point(k int) [2]float64 {
	n := float64(l.PerCell)
	return [2]float64{(float64(k/l.Cols) + 0.5) / n, (float64(k%l.Cols) + 0.5) / n}
}

// Hops returns the number of steps from the center of the start cell to each of
// perCell by perCell points of every cell, at least 1, and -1 for points that
// cannot be reached. Figure 5 uses perCell 10. If perCell is even, no point is
// the center; the nearest one with the larger row and column has 0. Hops panics
// if perCell is less than 1.
func (m *Maze) Hops(perCell int) *Lattice {
	if perCell < 1 {
		panic("qta: Hops needs at least one point per cell")
	}
	l := &Lattice{PerCell: perCell, Rows: m.Rows() * perCell, Cols: m.Cols() * perCell}
	l.Hops = slices.Repeat([]int{-1}, l.Rows*l.Cols)
	// The cell of (i + 1/2 + d/substeps)/perCell: of point i if d is 0, else of
	// the end of the first piece of a hop of d points.
	cell := func(i, d int) int { return (substeps*(2*i+1) + 2*d) / (2 * substeps * perCell) }
	start := (m.start[0]*perCell+perCell/2)*l.Cols + m.start[1]*perCell + perCell/2
	l.Hops[start] = 0
	// Reading R70: the paper does not say how it finds its optimal values. This is the
	// breadth-first search of the authors' public code, except that theirs starts at the
	// center itself (1 to 5 % of the points differ by a hop, no path length does). A hop goes
	// from a point to any other at most one cell away. Of its ten pieces only the ends of the
	// first and the last are tested for walls, so it may cut a corner.
	for queue := []int{start}; len(queue) > 0; queue = queue[1:] {
		k := queue[0]
		i, j := k/l.Cols, k%l.Cols
		for r := -perCell; r <= perCell; r++ {
			for c := -perCell; c <= perCell; c++ {
				// A point of a free cell is at least a cell away from the edges.
				to := k + r*l.Cols + c
				if r*r+c*c <= perCell*perCell && l.Hops[to] < 0 &&
					m.Free(cell(i+r, 0), cell(j+c, 0)) && m.Free(cell(i, r), cell(j, c)) {
					l.Hops[to] = l.Hops[k] + 1
					queue = append(queue, to)
				}
			}
		}
	}
	return l
}

// OptimalValue returns the value of a goal hops steps away, where rewards are
// discounted by γ: -(1 + γ + ... + γ^(hops-2)), since the last step earns 0.
// With γ = 1 it is the largest sum of rewards, -(hops-1). For 0 hops it is 0;
// for a negative number, as of a point that cannot be reached, it panics.
//
// It implements QTA, the optimal return (Section 4).
func OptimalValue(γ float64, hops int) float64 {
	if hops < 0 {
		panic("qta: the optimal value needs a number of hops that is not negative")
	}
	// Reading R71: Figure 5 has no formula; its values begin with γ. We discount the best return
	// of section 4, -(T-1), as Equation 1 does: the first reward counts in full.
	sum := 0.0
	for range hops - 1 {
		sum = float64(γ*sum) - 1
	}
	return sum
}

// ParseMaze reads a map, one line of text to a row: '#' is a wall, ' ' or '.' a
// free cell, S the start and G the goal, each once. Cells that are not drawn,
// or cannot be reached from S, are wall. The maze is the rest inside a ring of
// walls one cell thick, whatever surrounded it. With the ring it may have
// 10,000 cells. Errors name the line and the column, counted from 1.
func ParseMaze(text string) (*Maze, error) {
	text = strings.TrimPrefix(text, "\ufeff")
	const allowed = "a map has '#' (wall), ' ' or '.' (free), one S (start) and one G (goal)"
	const place = "qta: maze line %d, column %d: "
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", " ", ".").Replace(text), "\n")
	marks := map[rune][2]int{}
	for r, line := range lines {
		for c, mark := range line { // c counts columns, as what precedes an error is ASCII
			if _, twice := marks[mark]; twice || !strings.ContainsRune("#.SG", mark) {
				return nil, fmt.Errorf(place+"%q may not stand here: %s", r+1, c+1, mark, allowed)
			}
			if mark == 'S' || mark == 'G' {
				marks[mark] = [2]int{r, c}
			}
		}
	}
	if len(marks) < 2 {
		return nil, fmt.Errorf("qta: maze: no S or no G; %s", allowed)
	}
	start, goal := marks['S'], marks['G']

	// The cells that can be reached lie in the box from lo to hi.
	reached := map[[2]int]bool{start: true}
	lo, hi := start, start
	for queue := [][2]int{start}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for i := range at {
			lo[i], hi[i] = min(lo[i], at[i]), max(hi[i], at[i])
		}
		if !mazeFits(hi[0]-lo[0]+1, hi[1]-lo[1]+1) {
			return nil, fmt.Errorf(place+"from S to here the maze has more than the %d cells allowed, with its ring of walls",
				hi[0]+1, hi[1]+1, maxMazeCells)
		}
		for r := max(at[0]-1, 0); r <= min(at[0]+1, len(lines)-1); r++ {
			for c := max(at[1]-1, 0); c <= min(at[1]+1, len(lines[r])-1); c++ {
				if next := [2]int{r, c}; lines[r][c] != '#' && !reached[next] {
					reached[next] = true
					queue = append(queue, next)
				}
			}
		}
	}
	if !reached[goal] {
		return nil, fmt.Errorf(place+"this G cannot be reached from S; draw a free way from line %d, column %d",
			goal[0]+1, goal[1]+1, start[0]+1, start[1]+1)
	}

	moved := func(cell [2]int) [2]int { return [2]int{cell[0] - lo[0] + 1, cell[1] - lo[1] + 1} }
	m := &Maze{start: moved(start), goal: moved(goal)}
	for r := lo[0] - 1; r <= hi[0]+1; r++ {
		line := bytes.Repeat([]byte("#"), hi[1]-lo[1]+3)
		for c := lo[1]; c <= hi[1]; c++ {
			if cell := [2]int{r, c}; reached[cell] {
				line[c-lo[1]+1] = lines[r][c]
				m.free = append(m.free, moved(cell))
			}
		}
		m.lines = append(m.lines, string(line))
	}
	return m, nil
}

// String returns the map with its ring of walls, as [ParseMaze] reads it.
func (m *Maze) String() string { return strings.Join(m.lines, "\n") + "\n" }

// Rows returns the number of rows, the ring of walls included.
func (m *Maze) Rows() int { return len(m.lines) }

// Cols returns the number of columns, the ring of walls included.
func (m *Maze) Cols() int { return len(m.lines[0]) }

// Free reports whether a cell is free. Outside the map everything is wall.
func (m *Maze) Free(row, col int) bool {
	return 0 <= row && row < m.Rows() && 0 <= col && col < m.Cols() && m.lines[row][col] != '#'
}

// Start returns the center of the start cell: its row and column.
func (m *Maze) Start() [2]float64 { return center(m.start) }

// Goal returns the center of the goal cell: its row and column.
func (m *Maze) Goal() [2]float64 { return center(m.goal) }

// pair returns the two components of an action or a goal.
func pair(x []float64) [2]float64 {
	if len(x) != 2 {
		panic(fmt.Sprintf("qta: an action or a goal of a maze has 2 components, not %d", len(x)))
	}
	return [2]float64(x)
}

func center(cell [2]int) [2]float64 {
	return [2]float64{float64(cell[0]) + 0.5, float64(cell[1]) + 0.5}
}
