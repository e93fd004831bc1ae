package qta

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// The constants of the mazes. The paper gives the reward's two values
// (Section 4, Environments) and calls the radius small; the rest is what the
// authors' public code runs.
const (
	substeps      = 10  // straight pieces of one step
	substepLength = 0.1 // of a component of the action, in cells

	RegionRadius = 0.3  // half the side of the start and goal regions, in cells
	GoalRadius   = 0.35 // a goal is reached closer than this, in cells

	rewardReached = 0
	rewardElse    = -1
)

// maxMazeCells bounds rows times columns, the wall ring included.
const maxMazeCells = 10000

// Maze is a map of square cells of side 1 inside a ring of walls, with one
// start and one goal cell. A position is (row, column) in cells: the centre of
// the free cell nearest to the map's origin is (1.5, 1.5). A Maze never
// changes, so that any number of environments and goroutines may share it.
//
// Two free cells that touch only at a corner are connected, because the agent
// can pass between the two walls there: a step tests the cells that its pieces
// end in and no others. What cannot be reached from the start counts as wall.
type Maze struct {
	rows, cols  int    // wall ring included
	free        []bool // row-major
	cells       []int  // the indices of the free cells, ascending
	start, goal [2]int // cells (row, column)
}

// NewMaze returns one of the paper's mazes by its name (Section 4,
// Environments).
//
// "HxW" is the M-maze of H rows and W columns, H at least 3 and W odd and at
// least 5. This is 4x5, in its ring of walls:
//
//	#######
//	#.....#
//	#.#.#.#
//	#.###.#
//	#.S#G.#
//	#######
//
// "NU5" is the square wave of N periods, N at least 1: N+1 parallel corridors
// of five cells, joined at alternate ends. This is 2U5:
//
//	#######
//	#S#...#
//	#.#.#.#
//	#.#.#.#
//	#.#.#.#
//	#...#G#
//	#######
//
// Reading R66: the paper draws a 1-period wave and an M-maze of five columns and
// leaves the scheme to the reader. The rows of M-mazes and the lengths of
// waves are the authors' public code's. In a wider M-maze the centre column is
// the dead end, and start and goal stay beside the outer columns; a wave's
// first bridge is at the bottom.
func NewMaze(name string) (*Maze, error) {
	const allowed = `mazes are "HxW", such as "4x5", with H at least 3 and W odd and at least 5, and "NU5", such as "1U5", with N at least 1`
	var rows [][]byte
	if n, ok := strings.CutSuffix(name, "U5"); ok {
		n, ok := parseSize(n)
		if !ok || n < 1 {
			return nil, fmt.Errorf("qta: maze %q: %s", name, allowed)
		}
		if err := checkMazeSize(5+2, 2*n+1+2); err != nil {
			return nil, fmt.Errorf("qta: maze %q: %v", name, err)
		}
		rows = wave(n)
	} else {
		h, w, _ := strings.Cut(name, "x")
		height, okH := parseSize(h)
		width, okW := parseSize(w)
		if !okH || !okW || height < 3 || width < 5 || width%2 == 0 {
			return nil, fmt.Errorf("qta: maze %q: %s", name, allowed)
		}
		if err := checkMazeSize(height+2, width+2); err != nil {
			return nil, fmt.Errorf("qta: maze %q: %v", name, err)
		}
		rows = mMaze(height, width)
	}
	var text strings.Builder
	for _, row := range rows {
		text.Write(row)
		text.WriteByte('\n')
	}
	return ParseMaze(text.String())
}

// parseSize reads a decimal number without sign or leading zeros. What is too
// large for any maze becomes maxMazeCells+1, which is odd.
func parseSize(s string) (int, bool) {
	if s == "" || s[0] == '0' {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || '9' < s[i] {
			return 0, false
		}
	}
	n, err := strconv.Atoi(s)
	if err != nil || n > maxMazeCells {
		n = maxMazeCells + 1
	}
	return n, true
}

// checkMazeSize takes the size with the wall ring. Neither number may be
// larger than 3 maxMazeCells.
func checkMazeSize(rows, cols int) error {
	if rows*cols > maxMazeCells {
		return fmt.Errorf("with its ring of walls it has more than the %d cells allowed", maxMazeCells)
	}
	return nil
}

// walls returns rows of '#'.
func walls(height, width int) [][]byte {
	rows := make([][]byte, height)
	for r := range rows {
		rows[r] = []byte(strings.Repeat("#", width))
	}
	return rows
}

// mMaze draws the M-maze without its ring. For width 5 it has 3 height + 2
// free cells.
func mMaze(height, width int) [][]byte {
	rows := walls(height, width)
	for c := range width {
		rows[0][c] = '.'
	}
	for r := range height {
		rows[r][0], rows[r][width-1] = '.', '.'
	}
	for r := 1; r <= height-3; r++ {
		rows[r][width/2] = '.'
	}
	rows[height-1][1], rows[height-1][width-2] = 'S', 'G'
	return rows
}

// wave draws the square wave of n periods without its ring: 6 n + 5 free
// cells.
func wave(n int) [][]byte {
	const length = 5 // of a corridor
	rows := walls(length, 2*n+1)
	for c := 0; c <= 2*n; c += 2 {
		for r := range length {
			rows[r][c] = '.'
		}
	}
	end := 0
	rows[end][0] = 'S'
	for c := 1; c < 2*n; c += 2 {
		end = length - 1 - end
		rows[end][c] = '.'
	}
	rows[length-1-end][2*n] = 'G'
	return rows
}

// ParseMaze reads a map, one line of text to a row: '#' is a wall, ' ' or '.'
// a free cell, S the start and G the goal, each once. Lines may end in CR LF
// and need not be equally long: what is not drawn is wall. Free cells that
// cannot be reached from S count as wall, and the maze is what remains within
// a ring of walls one cell thick: neither indentation and blank lines nor
// thicker walls make another maze. With the ring it may have 10,000 cells.
func ParseMaze(text string) (*Maze, error) {
	const allowed = "'#' (wall), ' ' or '.' (free), one S (start) and one G (goal)"
	type place struct{ line, col int } // zero-based; messages count from 1
	marks := map[rune]place{}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\r")
		col := 0
		for _, r := range lines[i] {
			switch r {
			case '#', ' ', '.':
			case 'S', 'G':
				if first, ok := marks[r]; ok {
					return nil, fmt.Errorf("qta: maze line %d, column %d: a second %c, the first is in line %d, column %d; a map has %s",
						i+1, col+1, r, first.line+1, first.col+1, allowed)
				}
				marks[r] = place{i, col}
			default:
				return nil, fmt.Errorf("qta: maze line %d, column %d: %q is no cell; a map has %s", i+1, col+1, r, allowed)
			}
			col++
		}
	}
	start, okS := marks['S']
	goal, okG := marks['G']
	if !okS || !okG {
		missing := 'G'
		if !okS {
			missing = 'S'
		}
		return nil, fmt.Errorf("qta: maze: no %c in %d lines; a map has %s", missing, len(lines), allowed)
	}

	// Reached cells, by line and column. All lines are ASCII by now.
	reached := make([][]bool, len(lines))
	for i, line := range lines {
		reached[i] = make([]bool, len(line))
	}
	reached[start.line][start.col] = true
	lo, hi := start, start // of the box around them
	for queue := []place{start}; len(queue) > 0; {
		p := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		lo = place{min(lo.line, p.line), min(lo.col, p.col)}
		hi = place{max(hi.line, p.line), max(hi.col, p.col)}
		for i := max(p.line-1, 0); i <= min(p.line+1, len(lines)-1); i++ {
			for j := max(p.col-1, 0); j <= min(p.col+1, len(lines[i])-1); j++ {
				if lines[i][j] != '#' && !reached[i][j] {
					reached[i][j] = true
					queue = append(queue, place{i, j})
				}
			}
		}
	}
	if !reached[goal.line][goal.col] {
		return nil, fmt.Errorf("qta: maze line %d, column %d: this G cannot be reached from S in line %d, column %d; a map needs a free way between them",
			goal.line+1, goal.col+1, start.line+1, start.col+1)
	}

	m := &Maze{rows: hi.line - lo.line + 3, cols: hi.col - lo.col + 3}
	if m.rows > maxMazeCells || m.cols > maxMazeCells || m.rows*m.cols > maxMazeCells {
		return nil, fmt.Errorf("qta: maze line %d, column %d: %d rows by %d columns, with the ring of walls, are too large; at most %d cells are allowed",
			hi.line+1, hi.col+1, m.rows, m.cols, maxMazeCells)
	}
	m.start = [2]int{start.line - lo.line + 1, start.col - lo.col + 1}
	m.goal = [2]int{goal.line - lo.line + 1, goal.col - lo.col + 1}
	m.free = make([]bool, m.rows*m.cols)
	for r := 1; r < m.rows-1; r++ {
		line := reached[r-1+lo.line]
		for c := 1; c < m.cols-1; c++ {
			if j := c - 1 + lo.col; j < len(line) && line[j] {
				m.free[r*m.cols+c] = true
				m.cells = append(m.cells, r*m.cols+c)
			}
		}
	}
	return m, nil
}

// String returns the map with its ring of walls, as ParseMaze reads it.
func (m *Maze) String() string {
	var b strings.Builder
	for r := range m.rows {
		for c := range m.cols {
			switch cell := [2]int{r, c}; {
			case cell == m.start:
				b.WriteByte('S')
			case cell == m.goal:
				b.WriteByte('G')
			case m.Free(r, c):
				b.WriteByte('.')
			default:
				b.WriteByte('#')
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Rows returns the number of rows, wall ring included.
func (m *Maze) Rows() int { return m.rows }

// Cols returns the number of columns, wall ring included.
func (m *Maze) Cols() int { return m.cols }

// Free reports whether a cell is no wall. All is wall outside the map.
func (m *Maze) Free(row, col int) bool {
	return 0 <= row && row < m.rows && 0 <= col && col < m.cols && m.free[row*m.cols+col]
}

// Start returns the centre of the start cell.
func (m *Maze) Start() [2]float64 { return centre(m.start) }

// Goal returns the centre of the goal cell.
func (m *Maze) Goal() [2]float64 { return centre(m.goal) }

func centre(cell [2]int) [2]float64 {
	return [2]float64{float64(cell[0]) + 0.5, float64(cell[1]) + 0.5}
}

// UniformGoal draws a free cell and a point in it, both uniformly. It is the
// goal space that VDS (Zhang et al., 2020) samples its candidates from, and is
// privileged: no other part of the algorithms knows where the walls are.
func (m *Maze) UniformGoal(rng *rand.Rand) [2]float64 {
	cell := m.cells[int(rng.Float64()*float64(len(m.cells)))]
	return around(rng, [2]int{cell / m.cols, cell % m.cols}, 0.5)
}

// SampleGoal is [Maze.UniformGoal], which makes a MazeEnv a [GoalSampler].
func (e *MazeEnv) SampleGoal(rng *rand.Rand) []float64 {
	g := e.maze.UniformGoal(rng)
	return g[:]
}

// around draws uniformly from the square of half side radius around the centre
// of a cell.
func around(rng *rand.Rand, cell [2]int, radius float64) [2]float64 {
	p := centre(cell)
	for i := range p {
		p[i] += float64(2 * radius * (float64(rng.Float64()) - 0.5))
	}
	return p
}

// MazeEnv is a maze with an agent in it (Section 4, Environments): a dot that
// sees its position and the goal's, and moves by its action. Start and goal
// are drawn anew in each episode, uniformly from regions around the centres of
// their cells. Its methods panic if a vector has the wrong length or if an
// action is not a number.
type MazeEnv struct {
	maze     *Maze
	running  bool
	position [2]float64
	goal     [2]float64
}

// Env returns a new environment of the maze.
func (m *Maze) Env() *MazeEnv { return &MazeEnv{maze: m} }

// Sizes implements Env: a position and an action are a row and a column.
func (e *MazeEnv) Sizes() Sizes { return Sizes{Observation: 2, Goal: 2, Action: 2} }

// Reset implements Env. It takes four numbers from rng.
func (e *MazeEnv) Reset(rng *rand.Rand) State {
	e.running = true
	e.position = around(rng, e.maze.start, RegionRadius)
	e.goal = around(rng, e.maze.goal, RegionRadius)
	return e.state()
}

func (e *MazeEnv) state() State {
	return State{Observation: e.position[:], Achieved: e.position[:], Desired: e.goal[:]}
}

// Step implements Env. The agent moves in ten straight pieces, each a tenth of
// the action; when one would end in a wall, it and the rest are dropped. The
// action's components are clipped to [-1, 1] first.
//
// Reading R67: the paper has "a dot agent with continuous action and state
// spaces"; the motion is the authors' public code's.
func (e *MazeEnv) Step(action []float64) (State, float64) {
	if len(action) != 2 {
		panic(fmt.Sprintf("qta: a maze's action has 2 components, not %d", len(action)))
	}
	if !e.running {
		panic("qta: Step of a maze before its first Reset")
	}
	var piece [2]float64
	for i, a := range action {
		if a != a {
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

// Reward implements Env: 0 closer than 0.35 to the goal, else -1.
//
// Reading R68: "a small radius" (Section 4, Environments) is 0.35 cells, as in the
// authors' public code.
func (e *MazeEnv) Reward(achieved, desired []float64) float64 {
	if len(achieved) != 2 || len(desired) != 2 {
		panic(fmt.Sprintf("qta: a maze's goals have 2 components, not %d and %d", len(achieved), len(desired)))
	}
	r, c := achieved[0]-desired[0], achieved[1]-desired[1]
	if math.Sqrt(float64(r*r)+float64(c*c)) < GoalRadius {
		return rewardReached
	}
	return rewardElse
}
