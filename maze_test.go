package qta

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mustMaze(t testing.TB, name string) *Maze {
	t.Helper()
	m, err := NewMaze(name)
	must(t, err)
	return m
}

// drawing joins rows into a map.
func drawing(rows ...string) string { return strings.Join(rows, "\n") + "\n" }

// NewMaze draws the paper's mazes by name, in any size up to 10,000 cells.
func TestNewMaze(t *testing.T) {
	for name, want := range map[string]string{
		"4x5": drawing("#######", "#.....#", "#.#.#.#", "#.###.#", "#.S#G.#", "#######"),
		"3x5": drawing("#######", "#.....#", "#.###.#", "#.S#G.#", "#######"),
		"4x9": drawing("###########", "#.........#", "#.###.###.#", "#.#######.#", "#.S#####G.#", "###########"),
		"1U5": drawing("#####", "#S#G#", "#.#.#", "#.#.#", "#.#.#", "#...#", "#####"),
		"2U5": drawing("#######", "#S#...#", "#.#.#.#", "#.#.#.#", "#.#.#.#", "#...#G#", "#######"),
		"3U5": drawing("#########", "#S#...#G#", "#.#.#.#.#", "#.#.#.#.#", "#.#.#.#.#", "#...#...#", "#########"),
	} {
		checkEqual(t, want, mustMaze(t, name).String(), "%s", name)
	}
	for _, name := range []string{"98x95", "712U5", "14x623"} { // 100 x 97, 7 x 1427 and 16 x 625 cells
		mustMaze(t, name)
	}
	for _, name := range []string{
		"", "x", "U5", "4", "4x", "x5", "4x5x5", "2x5", "4x3", "4x4", "4x6", "-4x5", "+4x5", "04x5", "4x05", "4 x5", "4X5", "４x5",
		"0U5", "-1U5", "01U5", "1U", "1U6", "1u5", "1U5 ", "1.5U5",
		"98x99", "99x101", "99999999999999999999x5", "3x99999999999999999999", "99999x99999", "4294967295x4294967297",
		"713U5", "4611686018427387904U5", "99999999999999999999U5",
	} {
		_, err := NewMaze(name)
		checkBegins(t, "NewMaze's error", err, fmt.Sprintf("qta: maze %q: mazes are", name))
	}
}

// ParseMaze reads the same maze with any walls around it, or none. An error names the line and
// the column.
func TestParseMaze(t *testing.T) {
	maze := drawing("######", "#S...#", "###.##", "#G..##", "######")
	for what, text := range map[string]string{
		"as String returns it":  maze,
		"no newline at the end": strings.TrimSuffix(maze, "\n"),
		"CR LF":                 strings.ReplaceAll(maze, "\n", "\r\n"),
		"spaces":                strings.ReplaceAll(maze, ".", " "),
		"no ring":               "S...\n##.\nG..\n",
		"half a ring":           "#S...\n###.\n#G..\n#####\n",
		"ragged":                "######\n#S...\n###.\n#G..##\n#\n",
		"thick walls":           "########\n########\n##S...##\n####.###\n##G..###\n########\n",
		"indented":              "\n\n    ######\n    #S...#\n    ###.##\n    #G..##\n    ######\n  \n",
		"a pocket":              "#########\n#S...#  #\n###.#####\n#G..#.\n#####\n",
	} {
		m, err := ParseMaze(text)
		if err != nil {
			t.Errorf("%s: %v", what, err)
		} else {
			checkEqual(t, maze, m.String(), "%s", what)
		}
	}

	// In its ring of walls this map has 3 by 3333 cells. One column more would be too many.
	long := "S" + strings.Repeat(".", 3329) + "G"
	if m, err := ParseMaze(long); err != nil || m.Rows() != 3 || m.Cols() != 3333 {
		t.Errorf("a map of 3 by 3333 cells is read as %v, error %v", m, err)
	}
	for text, want := range map[string]string{
		"####\n#G.#\n####":                   "maze: no S or no G; a map",
		"S..":                                "maze: no S or no G; a map",
		"S.G\n.x.":                           "maze line 2, column 2: 'x' may not stand here: a map has '#' (wall)",
		"S.G\n\t.":                           `maze line 2, column 1: '\t' may not stand here`,
		"S.G\n..é.":                          "maze line 2, column 3: 'é' may not stand here",
		"S.G\n.\xff.":                        "maze line 2, column 2: '\uFFFD' may not stand here",
		"S.\rG":                              `maze line 1, column 3: '\r' may not stand here`,
		"S.G\n.S.":                           "maze line 2, column 2: 'S' may not stand here",
		"S.G\n..G":                           "maze line 2, column 3: 'G' may not stand here",
		"S#G":                                "maze line 1, column 3: this G cannot be reached from S; draw a free way from line 1, column 1",
		"#S.\n###\n..G":                      "maze line 3, column 3: this G cannot be reached from S; draw a free way from line 1, column 2",
		long + "..":                          "maze line 1, column 3332: from S to here the maze has more than the 10000 cells allowed",
		strings.Repeat(".\n", 3331) + "S\nG": "maze line 3333, column 1: from S to here the maze has more than the 10000 cells allowed",
	} {
		_, err := ParseMaze(text)
		checkBegins(t, fmt.Sprintf("error of %.20q", text), err, "qta: "+want)
	}
}

// An arbitrary text is an error, or a maze whose String is read again and in which no step ends
// in a wall.
func FuzzParseMaze(f *testing.F) {
	for _, name := range []string{"4x5", "2U5"} {
		f.Add(mustMaze(f, name).String())
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMaze(text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "qta: maze") {
				t.Error(err)
			}
			return
		}
		again, err := ParseMaze(m.String())
		if err != nil {
			t.Fatalf("String is no map: %v", err)
		}
		if diff := cmp.Diff(m, again, cmp.AllowUnexported(Maze{})); diff != "" {
			t.Fatalf("String does not round-trip (-want +got):\n%s", diff)
		}
		if m.Rows()*m.Cols() > 10000 {
			t.Errorf("%d by %d cells, more than 10,000", m.Rows(), m.Cols())
		}
		free := strings.Count(m.String(), ".") + 2 // with S and G
		if len(m.free) != free {
			t.Errorf("%d free cells are listed of %d", len(m.free), free)
		}
		if free <= 200 { // in a large maze the search takes long
			if n := m.PathLength(); n < 1 || n > 2*free {
				t.Errorf("the path length is %d, want 1 to twice the number of free cells, %d\n%s", n, free, m)
			}
		}
		env := m.Env()
		rng := seeded(13, 14)
		env.Reset(rng)
		for range 300 {
			action := []float64{3*rng.Float64() - 1.5, 3*rng.Float64() - 1.5} // often beyond ±1
			s, _ := env.Step(action)
			if !m.Free(int(s.Achieved[0]), int(s.Achieved[1])) {
				t.Fatalf("a step ends in a wall, at %v\n%s", s.Achieved, m)
			}
		}
	})
}

// mustPanic checks that f panics with a sentence of the package, and returns the sentence.
func mustPanic(t *testing.T, what string, f func()) (sentence string) {
	t.Helper()
	defer func() {
		sentence = fmt.Sprint(recover())
		checkBegins(t, what+" panics", sentence, "qta: ")
	}()
	f()
	return ""
}

// A step is made in ten pieces, each a tenth of the action. It ends before a piece that would
// end in a wall. The map is 4x5:
//
//	  0123456
//	0 #######
//	1 #.....#
//	2 #.#.#.#
//	3 #.###.#
//	4 #.S#G.#
//	5 #######
func TestMazeStep(t *testing.T) {
	type pair = [2]float64
	env := mustMaze(t, "4x5").Env().(*mazeEnv)
	for _, test := range []struct {
		what               string // about the step
		from, action, want pair
	}{
		{"stays", pair{4.5, 1.5}, pair{0, 0}, pair{4.5, 1.5}},
		{"is of the action's length", pair{4.5, 1.5}, pair{-0.25, 0.1}, pair{4.25, 1.6}},
		{"is clipped", pair{4.5, 1.5}, pair{-5, 0.4}, pair{3.5, 1.9}},
		{"is clipped at infinity", pair{3.5, 1.25}, pair{math.Inf(1), 0.5}, pair{4.5, 1.75}},
		{"counts pieces before a wall", pair{4.5, 2.55}, pair{0, 1}, pair{4.5, 2.95}},
		{"is stopped in both components", pair{3.55, 1.95}, pair{-1, 1}, pair{3.55, 1.95}},
		{"drops pieces after a wall", pair{2.15, 1.95}, pair{-1, 1}, pair{2.15, 1.95}},
		{"may cut a corner within a piece", pair{2.04, 1.95}, pair{-1, 1}, pair{1.04, 2.95}},
	} {
		env.position = test.from
		env.goal = test.want // so the reward is 0
		action := test.action
		s, r := env.Step(action[:])
		if math.Hypot(s.Observation[0]-test.want[0], s.Observation[1]-test.want[1]) > 1e-12 || r != 0 {
			t.Errorf("a step %s: from %v by %v to %v with reward %v, want %v with 0",
				test.what, test.from, test.action, s.Observation, r, test.want)
		}
	}
	for _, at := range [][2]int{{-1, 1}, {6, 1}, {1, -1}, {1, 7}} {
		if env.maze.Free(at[0], at[1]) {
			t.Errorf("cell %v, outside the map, is free", at)
		}
	}
	mustPanic(t, "a long goal", func() { env.Reward([]float64{0, 0}, []float64{0, 0, 0}) })
	mustPanic(t, "a short action", func() { env.Step([]float64{0}) })
	mustPanic(t, "an action that is no number", func() { env.Step([]float64{0, math.NaN()}) })
}

// A goal is reached closer than 0.35, in any direction: 0.21, 0.28 and 0.35 are as 3, 4 and 5.
func TestMazeReward(t *testing.T) {
	env := mustMaze(t, "4x5").Env()
	for away, want := range map[[2]float64]float64{
		{0, 0.349999}:  0,
		{-0.35, 0}:     -1,
		{0.21, 0.279}:  0,
		{0.21, -0.281}: -1,
	} {
		got := env.Reward([]float64{away[0], 2 + away[1]}, []float64{0, 2})
		checkEqual(t, want, got, "the reward %v away", away)
	}
}

// Sampled goals fill all 14 free cells evenly.
func TestSampleGoal(t *testing.T) {
	const n = 14_000
	m := mustMaze(t, "4x5")
	env := m.Env()
	rng := seeded(9, 10)
	quarters := map[[2]int]int{} // how many goals lie in each quarter of a cell
	farthest := 0.0
	for range n {
		g := env.SampleGoal(rng)
		quarters[[2]int{int(2 * g[0]), int(2 * g[1])}]++
		farthest = max(farthest, math.Abs(g[0]-math.Floor(g[0])-0.5))
	}
	for at, count := range quarters {
		if !m.Free(at[0]/2, at[1]/2) {
			t.Errorf("a goal in a wall, quarter %v", at)
		}
		checkFrequency(t, fmt.Sprint("quarter of a cell ", at), count, n, 1./(4*14))
	}
	if len(quarters) != 4*14 || farthest < 0.499 {
		t.Errorf("%d quarters of 14 cells drawn, up to %v from centers", len(quarters), farthest)
	}
}

// An episode's start and goal are uniform in squares of half side 0.3 about the
// centers of their cells, each coordinate by itself.
func TestRegions(t *testing.T) {
	const n = 16_000
	draws := resets(t, n) // starts and goals, from the centers of their cells
	for i, name := range []string{"start's row", "start's column", "goal's row", "goal's column"} {
		farthest := 0.0
		inner := 0 // draws in the inner half of the region
		for _, away := range draws {
			farthest = max(farthest, math.Abs(away[i]))
			if math.Abs(away[i]) < 0.15 {
				inner++
			}
		}
		if farthest > 0.3 || farthest < 0.299 {
			t.Errorf("regions: the %s lies up to %v from the center of its cell, want 0.3", name, farthest)
		}
		checkFrequency(t, "regions: the "+name+" in the inner half", inner, n, 0.5)
	}

	sides := map[string]int{} // on which side of its center each coordinate lies
	for _, away := range draws {
		sides[fmt.Sprint(away[0] > 0, away[1] > 0, away[2] > 0, away[3] > 0)]++
	}
	if len(sides) != 16 {
		t.Errorf("regions: the coordinates lie on %d combinations of sides, want 16", len(sides))
	}
	for side, count := range sides {
		checkFrequency(t, "regions: sides "+side, count, n, 1./16)
	}
}

// resets returns how far the coordinates of start and goal lie from the centers of
// their cells, in n episodes of 4x5.
func resets(t *testing.T, n int) (draws [][4]float64) {
	t.Helper()
	env := mustMaze(t, "4x5").Env()
	rng := seeded(9, 11)
	for range n {
		s := env.Reset(rng)
		start := s.Observation
		goal := s.Desired
		draws = append(draws, [4]float64{start[0] - 4.5, start[1] - 2.5, goal[0] - 4.5, goal[1] - 4.5})
	}
	return draws
}

// Path lengths are the ones that Figures 2 (right) and 6 (right) print. In these mazes no point
// is farther than the goal. The maps drawn here were counted by hand. Their first point is 0.05
// below and to the right of the center of S, and their last one 0.25 below and to the right of
// the center of G.
func TestPathLength(t *testing.T) {
	wants := map[string]int{} // of the paper's mazes
	for h := 3; h <= 15; h++ {
		wants[fmt.Sprintf("%dx5", h)] = 2*h + 1
	}
	for n := 1; n <= 7; n++ {
		wants[fmt.Sprintf("%dU5", n)] = 4*n + 5
	}
	for name, want := range wants {
		m := mustMaze(t, name)
		checkEqual(t, want, m.PathLength(), "%s: path length", name)
		checkEqual(t, want, slices.Max(m.Hops(10).Hops), "%s: steps to the farthest point", name)
	}
	for text, want := range map[string]int{
		"SG":                                2, // 1.2 to the right
		"S.G":                               3, // 2.2
		"S....G......":                      6, // 5.2, because the dead end does not count
		"S\n.\nG\n.\n.\n.":                  3, // 2.2 down
		"S#\n#G":                            2, // 1.2 √2, between the walls
		"S..\n...\n..G":                     4, // 2.2 √2
		"S...\n....\n...G":                  4, // √(2.2² + 3.2²); to the corner of G's cell it would be 5
		"S....\n.....\n.....\n.....\n....G": 6, // 4.2 √2; with half side 0.35 it would be 7
	} {
		m, err := ParseMaze(text)
		must(t, err)
		checkEqual(t, want, m.PathLength(), "%q: path length to the farthest point of a region of half side 0.3", text)
	}
}

// Hops agrees with naiveHops. With 6 points per cell the first piece of a hop may leave a cell.
// With fewer points it cannot.
func TestHops(t *testing.T) {
	for _, test := range []struct {
		text    string
		perCell int
	}{
		{"S#\n#G", 1},
		{"S#\n#G", 4},
		{"#.G\n.#S", 6},
		{"S..#.\n.#.#G\n...#.\n##...", 3},
	} {
		m, err := ParseMaze(test.text)
		must(t, err)
		got := m.Hops(test.perCell)
		want := [3]int{m.Rows() * test.perCell, m.Cols() * test.perCell, test.perCell}
		checkEqual(t, want, [3]int{got.Rows, got.Cols, got.PerCell}, "the lattice of\n%s", m)
		checkEqual(t, naiveHops(m, got), got.Hops, "%d points per cell of\n%s", test.perCell, m)
	}
	mustPanic(t, "Hops(0)", func() { mustMaze(t, "4x5").Hops(0) })
}

// naiveHops tries every hop from every point of a lattice, until nothing changes.
func naiveHops(m *Maze, l *Lattice) []int {
	hops := make([]int, l.Rows*l.Cols)
	for k := range hops {
		hops[k] = -1
		// Hops begin at the center, or if no point is there, at the next larger row and column.
		row := (l.Point(k)[0] - m.Start()[0]) * float64(l.PerCell)
		col := (l.Point(k)[1] - m.Start()[1]) * float64(l.PerCell)
		if min(row, col) > -1e-9 && max(row, col) < 1-1e-9 {
			hops[k] = 0
		}
	}
	for h := 0; slices.Contains(hops, h); h++ {
		for from := range hops {
			for to := range hops {
				if hops[from] == h && hops[to] < 0 && naiveHop(m, l.Point(from), l.Point(to)) {
					hops[to] = h + 1
				}
			}
		}
	}
	return hops
}

// naiveHop reports whether a hop leads from p to q. Its first and its last piece must end in
// free cells. A piece that ends on the line between two cells is in the second one.
func naiveHop(m *Maze, p, q [2]float64) bool {
	const ε = 1e-9 // more than any rounding error
	free := func(row, col float64) bool { return m.Free(int(row+ε), int(col+ε)) }
	rows := q[0] - p[0]
	cols := q[1] - p[1]
	short := rows*rows+cols*cols < 1+ε
	return short && free(q[0], q[1]) && free(p[0]+0.1*rows, p[1]+0.1*cols)
}

// It tests QTA, the optimal return.
func TestOptimalReturn(t *testing.T) {
	for _, γ := range []float64{0, 0.5, 0.99, 1} {
		want := 0.0
		discount := 1.0
		for h := range 60 {
			if h > 1 {
				want -= discount
				discount *= γ
			}
			if got := OptimalValue(γ, h); math.Abs(got-want) > 1e-13*(1+math.Abs(want)) {
				t.Errorf("the optimal return: OptimalValue(%v, %d) = %v, want %v", γ, h, got, want)
			}
		}
	}
	mustPanic(t, "the optimal return: OptimalValue(0.9, -1)", func() { OptimalValue(0.9, -1) })
}
