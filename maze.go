package qta

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// The mazes' constants come from the authors' public code.
const (
	substeps      = 10  // how many straight pieces a step has
	substepLength = 0.1 // how far the agent moves in a piece for an action of 1, in cells

	RegionRadius = 0.3  // half the side of the start and goal regions, in cells
	GoalRadius   = 0.35 // a goal is reached if the agent is closer to it than this, in cells
)

// maxMazeCells bounds rows times columns, the ring of walls included.
const maxMazeCells = 10000

// A Maze is a map of square cells of side 1 inside a ring of walls, with one
// start cell and one goal cell (Section 4, Environments). A position is a row
// and a column, in cells. For example, the center of the first cell within the
// ring is (1.5, 1.5). A Maze never changes, so environments and goroutines may
// share it.
//
// A step is made in pieces, and walls are tested only where a piece ends. So two free cells
// that touch only at a corner are connected.
type Maze struct {
	lines       []string // the map with its ring, in lines of equal length; '#' is a wall
	free        []cell   // the free cells, row by row; VDS draws goals in them
	start, goal cell
}

// A cell is a row and a column of a map.
type cell [2]int

// NewMaze returns the maze of the given name, in one of the paper's two shapes (Section 4,
// Environments). With its ring of walls it has at most 10,000 cells. The names are:
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
	var height, width int
	fmt.Sscanf(name, "%dx%d", &height, &width)
	// A number with a sign or a leading zero would be printed otherwise.
	named := name == fmt.Sprintf("%dx%d", height, width)
	shaped := height >= 3 && width >= 5 && width%2 == 1
	if named && shaped && mazeFits(height, width) {
		return ParseMaze(mMaze(height, width))
	}

	var bends int
	fmt.Sscanf(name, "%dU5", &bends)
	named = name == fmt.Sprintf("%dU5", bends)
	shaped = 1 <= bends && bends < maxMazeCells // so that 2*bends+1 does not overflow
	if named && shaped && mazeFits(5, 2*bends+1) {
		return ParseMaze(squareWave(bends))
	}

	return nil, fmt.Errorf(`qta: maze %q: mazes are "HxW", such as "4x5", `+
		`with H at least 3 and W odd and at least 5, and "NU5", such as "1U5", with N at least 1; `+
		`a ring of walls included, they have at most %d cells`, name, maxMazeCells)
}

// mazeFits reports whether a map of this size, without its ring, is small enough.
func mazeFits(rows, cols int) bool {
	return rows <= maxMazeCells && cols <= maxMazeCells && (rows+2)*(cols+2) <= maxMazeCells
}

// mMaze draws an M-maze without its ring. At width 5 it has 3*height + 2 free cells.
//
// Reading R66: the paper draws a 1-period wave and an M-maze of five columns, but gives no
// rule for other sizes. The map of M-mazes and the lengths of waves come from the authors'
// public code, whose M-mazes have five columns. In our wider M-mazes the center column is
// the dead end, and start and goal stay beside the outer columns. The first two corridors
// of a wave are joined at the bottom.
func mMaze(height, width int) string {
	side := strings.Repeat("#", width/2-1)
	top := strings.Repeat(".", width) + "\n"
	deadEnd := "." + side + "." + side + ".\n"
	closed := "." + side + "#" + side + ".\n"
	bottom := ".S" + strings.Repeat("#", width-4) + "G."
	return top + strings.Repeat(deadEnd, height-3) + closed + bottom
}

// squareWave draws the square wave of n bends without its ring. It has 6*n + 5 free cells.
// The start is at the top left. The goal is at the right: at the top if n is odd, else at
// the bottom. A '#' at the end of a row belongs to the ring.
func squareWave(n int) string {
	corridors := strings.Repeat(".#", n) + ".\n"
	bottom := strings.Repeat("...#", (n+1)/2) // joins corridors 1 and 2, 3 and 4, ...
	top := "S#" + strings.Repeat("...#", n/2) // joins corridors 2 and 3, 4 and 5, ...
	if n%2 == 1 {
		top += "G"
	} else {
		bottom += "G"
	}
	return top + "\n" + strings.Repeat(corridors, 3) + bottom
}

// A mazeEnv is an [Env]: a maze with an agent in it. The agent is a dot that
// sees its own position and the goal's. Its action moves it.
type mazeEnv struct {
	maze     *Maze
	position [2]float64
	goal     [2]float64
}

// Env returns a new environment in which an agent sees its position and the goal's, and
// moves by its action. Each of these vectors is a row and a column, in cells. An
// episode's start and goal are drawn from squares of half side [RegionRadius] around the
// centers of the two cells. A goal is reached if the agent is closer to it than
// [GoalRadius]. Walls stop the agent. Methods panic if a vector's length is not 2, or if
// an action is NaN.
func (m *Maze) Env() GoalSampler { return &mazeEnv{maze: m} }

// Sizes implements [Env].
func (e *mazeEnv) Sizes() Sizes { return Sizes{Observation: 2, Goal: 2, Action: 2} }

// Reset implements [Env], with four numbers from rng.
//
// Reading R100: Figure 1 colors the start and goal regions and gives no size. Here they
// are squares of half side 0.3 around the centers of the two cells. Both points are drawn
// anew for each episode, as in the authors' public code.
func (e *mazeEnv) Reset(rng *rand.Rand) State {
	e.position = around(rng, e.maze.start, RegionRadius)
	e.goal = around(rng, e.maze.goal, RegionRadius)
	return e.state()
}

// around draws a point uniformly from the square of half side radius around
// the center of a cell.
func around(rng *rand.Rand, c cell, radius float64) [2]float64 {
	p := center(c)
	for i := range p {
		p[i] += float64(2 * radius * (float64(rng.Float64()) - 0.5))
	}
	return p
}

func (e *mazeEnv) state() State {
	return State{Observation: e.position[:], Achieved: e.position[:], Desired: e.goal[:]}
}

// Step implements [Env]. The agent moves in ten straight pieces, each a tenth of the
// action; when a piece would end in a wall, that piece and the rest are dropped.
// Components of the action outside [-1, 1] are clipped.
//
// Reading R67: the paper has "a dot agent with continuous action and state spaces"; how it
// moves comes from the authors' public code.
func (e *mazeEnv) Step(action []float64) (State, float64) {
	var piece [2]float64
	for i, a := range pair(action) {
		if math.IsNaN(a) {
			panic(fmt.Sprintf("qta: component %d of a maze's action is not a number", i))
		}
		piece[i] = float64(substepLength * min(max(a, -1), 1))
	}
	for range substeps {
		row := e.position[0] + piece[0]
		col := e.position[1] + piece[1]
		if !e.maze.Free(int(row), int(col)) {
			break
		}
		e.position = [2]float64{row, col}
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

// goalReward returns 0 if the two goals are closer to each other than radius, else -1.
func goalReward(achieved, desired []float64, radius float64) float64 {
	p := pair(achieved)
	q := pair(desired)
	rows := p[0] - q[0]
	cols := p[1] - q[1]
	distance := math.Sqrt(float64(rows*rows) + float64(cols*cols))
	if distance < radius {
		return 0
	}
	return -1
}

// PathLength returns the number of steps from the center of the start cell to
// the farthest point of the goal region. This is T of section 4, by which the
// figures order the mazes. It is 2H+1 for Hx5 and 4N+5 for NU5.
//
// Differs D7: the paper says that no agent is faster. But a diagonal step has length √2,
// and an episode's start and goal may be closer to each other than these two points. Eight
// steps can reach the goal of 4x5, whose path length is 9.
func (m *Maze) PathLength() int {
	// Reading R69: steps are counted by [Maze.Hops] with 10 points per cell and axis. This
	// gives the path lengths that Figures 2 (right) and 6 (right) print. For 4x5 to 7x5
	// Figure 2 (left) prints path lengths that are larger by 1. The authors' public code
	// takes the farthest point of the whole maze, which in the paper's mazes is equally far.
	lattice := m.Hops(10)
	goal := m.Goal()
	farthest := 0
	for k, hops := range lattice.Hops {
		p := lattice.Point(k)
		rows := math.Abs(p[0] - goal[0])
		cols := math.Abs(p[1] - goal[1])
		inGoalRegion := max(rows, cols) < RegionRadius
		if inGoalRegion {
			farthest = max(farthest, hops)
		}
	}
	return farthest
}

// A Lattice is a square lattice of points over a maze, row-major. A hop leads from one
// point to another, at most a cell away.
type Lattice struct {
	PerCell    int   // points per cell and axis
	Rows, Cols int   // rows and columns of points, including those in the maze's ring of walls
	Hops       []int // Hops[k] counts the hops from the start to Point(k); -1 if there is no way
}

// Point returns the position of point k, in cells.
func (l *Lattice) Point(k int) [2]float64 {
	n := float64(l.PerCell)
	return [2]float64{(float64(k/l.Cols) + 0.5) / n, (float64(k%l.Cols) + 0.5) / n}
}

// Hops lays perCell by perCell points over each cell and counts the hops to each from the
// center of the start cell. If perCell is even, no point is there, and the count begins at
// the nearest point with a larger row and column. Hops panics if perCell is below 1.
func (m *Maze) Hops(perCell int) *Lattice {
	if perCell < 1 {
		panic("qta: Hops needs at least one point per cell")
	}
	l := &Lattice{PerCell: perCell, Rows: m.Rows() * perCell, Cols: m.Cols() * perCell}
	l.Hops = slices.Repeat([]int{-1}, l.Rows*l.Cols)
	startRow := m.start[0]*perCell + perCell/2
	startCol := m.start[1]*perCell + perCell/2
	start := startRow*l.Cols + startCol
	l.Hops[start] = 0

	// Reading R70: the paper does not say how it finds its optimal values. This is the
	// breadth-first search of the authors' public code, except that theirs starts at the
	// center itself. The difference changes the count by one hop at 1 to 5 % of the points,
	// but does not change [Maze.PathLength]. A hop goes from a point to any other at a
	// distance of at most one cell. The agent's step and a hop both have ten pieces.
	// Every piece of a step must end in a free cell, but of a hop only the first and the
	// last. So a hop may cut a corner.
	queue := []int{start}
	for len(queue) > 0 {
		from := queue[0]
		queue = queue[1:]
		for down := -perCell; down <= perCell; down++ {
			for right := -perCell; right <= perCell; right++ {
				if down*down+right*right > perCell*perCell {
					continue
				}
				to := from + down*l.Cols + right // on the lattice, because from is not in the ring
				if l.Hops[to] < 0 && m.hopIsFree(l, from, down, right) {
					l.Hops[to] = l.Hops[from] + 1
					queue = append(queue, to)
				}
			}
		}
	}
	return l
}

// hopIsFree reports whether the first and the last of a hop's substeps pieces end in free
// cells. The hop begins at point k and goes down and right by so many points.
func (m *Maze) hopIsFree(l *Lattice, k, down, right int) bool {
	row := k / l.Cols
	col := k % l.Cols
	if !m.Free((row+down)/l.PerCell, (col+right)/l.PerCell) {
		return false
	}
	// Along one axis, point i lies i + 1/2 spacings from the map's edge, and the first piece
	// ends hop/substeps spacings further on. place is the distance of that end from the edge,
	// times 2*substeps to make it a whole number.
	firstCell := func(i, hop int) int {
		place := substeps*(2*i+1) + 2*hop
		return place / (2 * substeps * l.PerCell)
	}
	return m.Free(firstCell(row, down), firstCell(col, right))
}

// OptimalValue returns the value of a goal hops steps away, with rewards discounted by γ:
// -(1 + γ + ... + γ^(hops-2)). The last step earns 0. With γ = 1 this is the largest sum
// of rewards, -(hops-1). For 0 hops it is 0. For a point that cannot be reached, hops is
// negative, and OptimalValue panics.
//
// It implements QTA, the optimal return (Section 4).
func OptimalValue(γ float64, hops int) float64 {
	if hops < 0 {
		panic("qta: the optimal value needs a number of hops that is not negative")
	}
	// Reading R71: the paper has no formula for the optimal values of Figure 5. The figure
	// discounts even the first reward, by γ. We discount the best return of section 4,
	// -(T-1), as Equation 1 does: the first reward counts in full.
	sum := 0.0
	for range hops - 1 {
		sum = float64(γ*sum) - 1
	}
	return sum
}

// ParseMaze reads a map with a line of text for each row. '#' is a wall, '.' or ' ' is a
// free cell, and S and G are the one start and the one goal. Cells that are not drawn, or
// cannot be reached from S, are wall. The maze is what remains, inside a ring of walls
// one cell thick, which the text need not draw. With the ring it has at most 10,000 cells.
// An error at a cell names its line and column, counted from 1.
func ParseMaze(text string) (*Maze, error) {
	var t mazeText
	if err := t.read(text); err != nil {
		return nil, err
	}
	if err := t.reach(); err != nil {
		return nil, err
	}
	return t.maze(), nil
}

// A mazeText is a map that is being read.
type mazeText struct {
	Maze                    // as it is drawn, without an added ring of walls
	reached   map[cell]bool // the cells that can be reached from start
	low, high cell          // corners of the box around the reached cells
}

// read cuts a map into lines and finds start and goal in it.
func (t *mazeText) read(text string) error {
	const allowed = "a map has '#' (wall), ' ' or '.' (free), one S (start) and one G (goal)"
	text = strings.NewReplacer("\r\n", "\n", " ", ".").Replace(text)
	t.lines = strings.Split(text, "\n")

	marks := map[rune]cell{} // where S and G stand
	for r, line := range t.lines {
		// c counts bytes, and so columns, because every allowed mark has one byte.
		for c, mark := range line {
			_, twice := marks[mark]
			if twice || !strings.ContainsRune("#.SG", mark) {
				return placeError(cell{r, c}, "%q may not stand here: %s", mark, allowed)
			}
			if mark == 'S' || mark == 'G' {
				marks[mark] = cell{r, c}
			}
		}
	}
	if len(marks) < 2 {
		return fmt.Errorf("qta: maze: no S or no G; %s", allowed)
	}
	t.start = marks['S']
	t.goal = marks['G']
	return nil
}

// reach finds the cells that can be reached from the start. The goal must be one of them.
func (t *mazeText) reach() error {
	t.reached = map[cell]bool{t.start: true}
	t.low = t.start
	t.high = t.start
	queue := []cell{t.start}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for i := range at {
			t.low[i] = min(t.low[i], at[i])
			t.high[i] = max(t.high[i], at[i])
		}
		if !mazeFits(t.high[0]-t.low[0]+1, t.high[1]-t.low[1]+1) {
			return placeError(t.high, "from S to here the maze has more than "+
				"the %d cells allowed, with its ring of walls", maxMazeCells)
		}
		for r := at[0] - 1; r <= at[0]+1; r++ {
			for c := at[1] - 1; c <= at[1]+1; c++ {
				next := cell{r, c}
				if t.Free(r, c) && !t.reached[next] {
					t.reached[next] = true
					queue = append(queue, next)
				}
			}
		}
	}
	if !t.reached[t.goal] {
		return placeError(t.goal, "this G cannot be reached from S; "+
			"draw a free way from line %d, column %d", t.start[0]+1, t.start[1]+1)
	}
	return nil
}

// maze returns the cells that are reached, inside a ring of walls.
func (t *mazeText) maze() *Maze {
	inRing := func(c cell) cell { return cell{c[0] - t.low[0] + 1, c[1] - t.low[1] + 1} }
	m := &Maze{start: inRing(t.start), goal: inRing(t.goal)}
	for r := t.low[0] - 1; r <= t.high[0]+1; r++ {
		var line []byte
		for c := t.low[1] - 1; c <= t.high[1]+1; c++ {
			at := cell{r, c}
			if !t.reached[at] {
				line = append(line, '#')
				continue
			}
			line = append(line, t.lines[r][c])
			m.free = append(m.free, inRing(at))
		}
		m.lines = append(m.lines, string(line))
	}
	return m
}

// placeError returns an error about a cell of a map that is being read.
func placeError(at cell, problem string, args ...any) error {
	return fmt.Errorf("qta: maze line %d, column %d: %s", at[0]+1, at[1]+1, fmt.Sprintf(problem, args...))
}

// String returns the map with its ring of walls, as [ParseMaze] reads it.
func (m *Maze) String() string { return strings.Join(m.lines, "\n") + "\n" }

// Rows returns the number of rows, the ring of walls included.
func (m *Maze) Rows() int { return len(m.lines) }

// Cols returns the number of columns, the ring of walls included.
func (m *Maze) Cols() int { return len(m.lines[0]) }

// Free reports whether a cell is free. Outside the map everything is wall.
func (m *Maze) Free(row, col int) bool {
	inside := 0 <= row && row < len(m.lines) && 0 <= col && col < len(m.lines[row])
	return inside && m.lines[row][col] != '#'
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

func center(c cell) [2]float64 {
	return [2]float64{float64(c[0]) + 0.5, float64(c[1]) + 0.5}
}
