package qta

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mustMaze(t testing.TB, name string) *Maze {
	t.Helper()
	m, err := NewMaze(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// drawing joins rows into a map.
func drawing(rows ...string) string { return strings.Join(rows, "\n") + "\n" }

func TestNewMaze(t *testing.T) {
	for name, want := range map[string]string{
		"4x5": drawing("#######", "#.....#", "#.#.#.#", "#.###.#", "#.S#G.#", "#######"),
		"3x5": drawing("#######", "#.....#", "#.###.#", "#.S#G.#", "#######"),
		"4x9": drawing("###########", "#.........#", "#.###.###.#", "#.#######.#", "#.S#####G.#", "###########"),
		"1U5": drawing("#####", "#S#G#", "#.#.#", "#.#.#", "#.#.#", "#...#", "#####"),
		"2U5": drawing("#######", "#S#...#", "#.#.#.#", "#.#.#.#", "#.#.#.#", "#...#G#", "#######"),
		"3U5": drawing("#########", "#S#...#G#", "#.#.#.#.#", "#.#.#.#.#", "#.#.#.#.#", "#...#...#", "#########"),
	} {
		if diff := cmp.Diff(want, mustMaze(t, name).String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
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
		if err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("qta: maze %q: mazes are", name)) {
			t.Errorf("NewMaze(%q): %v", name, err)
		}
	}
}

func TestParseMaze(t *testing.T) {
	want := drawing("######", "#S...#", "###.##", "#G..##", "######")
	for what, text := range map[string]string{
		"itself":                want,
		"no newline at the end": strings.TrimSuffix(want, "\n"),
		"CR LF":                 strings.ReplaceAll(want, "\n", "\r\n"),
		"spaces":                strings.ReplaceAll(want, ".", " "),
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
		} else if diff := cmp.Diff(want, m.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}

	long := "S" + strings.Repeat(".", 3329) + "G"
	if m, err := ParseMaze(long); err != nil || m.Rows() != 3 || m.Cols() != 3333 {
		t.Errorf("3 by 3333 cells: %v, error %v", m, err)
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
		if err == nil || !strings.HasPrefix(err.Error(), "qta: "+want) {
			t.Errorf("%.20q: got %v, want qta: %s", text, err, want)
		}
	}
}

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
		free := strings.Count(m.String(), ".") + 2
		if m.Rows()*m.Cols() > 10000 || len(m.free) != free {
			t.Errorf("%d by %d, %d free cells of %d", m.Rows(), m.Cols(), len(m.free), free)
		}
		if free <= 200 {
			if n := m.PathLength(); n < 1 || n > 2*free {
				t.Errorf("path length %d over %d cells\n%s", n, free, m)
			}
		}
		env, rng := m.Env(), rand.New(rand.NewPCG(13, 14))
		env.Reset(rng)
		for range 300 {
			s, _ := env.Step([]float64{3*rng.Float64() - 1.5, 3*rng.Float64() - 1.5})
			if !m.Free(int(s.Achieved[0]), int(s.Achieved[1])) {
				t.Fatalf("in a wall at %v\n%s", s.Achieved, m)
			}
		}
	})
}

// mustPanic runs f, which must panic with a sentence of the package's.
func mustPanic(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		problem := recover()
		if text, _ := problem.(string); !strings.HasPrefix(text, "qta: ") {
			t.Errorf("%s: the panic is %v", what, problem)
		}
	}()
	f()
}

// The map is 4x5:
//
//	  0123456
//	0 #######
//	1 #.....#
//	2 #.#.#.#
//	3 #.###.#
//	4 #.S#G.#
//	5 #######
func TestMazeStep(t *testing.T) {
	env := mustMaze(t, "4x5").Env().(*mazeEnv)
	for _, test := range []struct {
		name               string
		from, action, want [2]float64
	}{
		{"stays", [2]float64{4.5, 1.5}, [2]float64{0, 0}, [2]float64{4.5, 1.5}},
		{"up", [2]float64{4.5, 1.5}, [2]float64{-1, 0}, [2]float64{3.5, 1.5}},
		{"is of the action's length", [2]float64{4.5, 1.5}, [2]float64{-0.25, 0.1}, [2]float64{4.25, 1.6}},
		{"diagonally", [2]float64{1.25, 1.25}, [2]float64{0.7, 0.7}, [2]float64{1.95, 1.95}},
		{"is clipped", [2]float64{4.5, 1.5}, [2]float64{-5, 0.4}, [2]float64{3.5, 1.9}},
		{"is clipped at infinity", [2]float64{3.5, 1.25}, [2]float64{math.Inf(1), 0.5}, [2]float64{4.5, 1.75}},
		{"pieces before a wall count", [2]float64{4.5, 2.55}, [2]float64{0, 1}, [2]float64{4.5, 2.95}},
		{"pieces before the ring count", [2]float64{1.55, 3.5}, [2]float64{-1, 0}, [2]float64{1.05, 3.5}},
		{"a wall stops both components", [2]float64{3.55, 1.95}, [2]float64{-1, 1}, [2]float64{3.55, 1.95}},
		{"pieces after a wall are dropped", [2]float64{2.15, 1.95}, [2]float64{-1, 1}, [2]float64{2.15, 1.95}},
		{"only ends of pieces are tested", [2]float64{2.04, 1.95}, [2]float64{-1, 1}, [2]float64{1.04, 2.95}},
	} {
		env.position, env.goal = test.from, test.want
		action := test.action
		s, r := env.Step(action[:])
		if math.Hypot(s.Observation[0]-test.want[0], s.Observation[1]-test.want[1]) > 1e-12 || r != 0 {
			t.Errorf("%s: from %v by %v to %v, reward %v; want %v", test.name, test.from, test.action, s.Observation, r, test.want)
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

// The radius itself is too far, in any direction: 21, 28, 35 are 3:4:5.
func TestMazeReward(t *testing.T) {
	env := mustMaze(t, "4x5").Env()
	for away, want := range map[[2]float64]float64{{0, 0.349999}: 0, {-0.35, 0}: -1, {0.21, 0.279}: 0, {0.21, -0.281}: -1} {
		if got := env.Reward([]float64{away[0], 2 + away[1]}, []float64{0, 2}); got != want {
			t.Errorf("the reward %v away is %v, want %v", away, got, want)
		}
	}
}

// Sampled goals fill all free cells evenly.
func TestSampleGoal(t *testing.T) {
	const n = 14_000
	m := mustMaze(t, "4x5")
	env, rng := m.Env(), rand.New(rand.NewPCG(9, 10))
	quarters, farthest := map[[2]int]int{}, 0.0
	for range n {
		g := env.SampleGoal(rng)
		quarters[[2]int{int(2 * g[0]), int(2 * g[1])}]++
		farthest = max(farthest, math.Abs(g[0]-math.Floor(g[0])-0.5))
	}
	for at, count := range quarters {
		if frequency(t, fmt.Sprint("quarter of a cell ", at), count, n, 1./56); !m.Free(at[0]/2, at[1]/2) {
			t.Errorf("a goal in a wall, quarter %v", at)
		}
	}
	if len(quarters) != 4*14 || farthest < 0.499 {
		t.Errorf("%d quarters of 14 cells drawn, up to %v from centers", len(quarters), farthest)
	}
}

// An episode's start and goal are uniform in squares of half side 0.3 about the
// centers of their cells, each coordinate by itself.
func TestRegions(t *testing.T) {
	const n = 16_000
	m := mustMaze(t, "4x5")
	env, rng := m.Env(), rand.New(rand.NewPCG(9, 11))
	sides, inner, farthest := [16]int{}, [4]int{}, [4]float64{}
	for range n {
		s, side := env.Reset(rng), 0
		for i, x := range slices.Concat(s.Observation, s.Desired) {
			d := x - slices.Concat([]float64{4.5, 2.5}, []float64{4.5, 4.5})[i]
			if farthest[i] = max(farthest[i], math.Abs(d)); math.Abs(d) < 0.15 {
				inner[i]++
			}
			if side *= 2; d > 0 {
				side++
			}
		}
		sides[side]++
	}
	for side, count := range sides {
		frequency(t, fmt.Sprint("sides ", side), count, n, 1./16)
	}
	for i, count := range inner {
		if frequency(t, "the inner half", count, n, 0.5); farthest[i] > 0.3 || farthest[i] < 0.299 {
			t.Errorf("coordinate %d lies up to %v from the center, want 0.3", i, farthest[i])
		}
	}
}

// The path lengths that Figures 2 (right) and 6 (right) print, which are the
// farthest of all points, and own maps counted by hand.
func TestPathLength(t *testing.T) {
	wants := map[string]int{}
	for h := 3; h <= 15; h++ {
		wants[fmt.Sprintf("%dx5", h)] = 2*h + 1
	}
	for n := 1; n <= 7; n++ {
		wants[fmt.Sprintf("%dU5", n)] = 4*n + 5
	}
	for name, want := range wants {
		m := mustMaze(t, name)
		if got, most := m.PathLength(), slices.Max(m.Hops(10).Hops); got != want || most != want {
			t.Errorf("%s: path length %d, the farthest point %d steps away, want %d", name, got, most, want)
		}
	}
	for text, want := range map[string]int{
		"SG":               2, // 1.25 and 0.25 at most
		"S.G":              3,
		"S....G......":     6, // the dead end does not count
		"S\n.\nG\n.\n.\n.": 3,
		"S#\n#G":           2, // √2 1.25 between the walls
		"S..\n...\n..G":    4, // √2 2.25
		"S...\n....\n...G": 4, // its cell's corners are 5 away, its region's not
	} {
		m, err := ParseMaze(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.PathLength(); got != want {
			t.Errorf("%q: path length %d, want %d", text, got, want)
		}
	}
}

// Every hop tried from every point, until nothing changes, in floating point. A
// piece that ends on a grid line is beyond it. With 6 points per cell the first
// piece of a hop may leave a cell; with fewer it cannot.
func TestHops(t *testing.T) {
	for _, test := range []struct {
		text    string
		perCell int
	}{{"S#\n#G", 1}, {"S#\n#G", 4}, {"#.G\n.#S", 6}, {"S..#.\n.#.#G\n...#.\n##...", 3}} {
		m, err := ParseMaze(test.text)
		if err != nil {
			t.Fatal(err)
		}
		got, n := m.Hops(test.perCell), float64(test.perCell)
		if got.Rows != m.Rows()*test.perCell || got.Cols != m.Cols()*test.perCell || got.PerCell != test.perCell {
			t.Fatalf("%d points per cell: %d by %d", test.perCell, got.Rows, got.Cols)
		}
		free := func(r, c float64) bool { return m.Free(int(r+1e-9), int(c+1e-9)) }
		want := make([]int, got.Rows*got.Cols)
		for k := range want {
			want[k] = -1
			// The start is the one point of the cell just not below its center.
			p, s := got.Point(k), m.Start()
			if r, c := (p[0]-s[0])*n, (p[1]-s[1])*n; -1e-9 < min(r, c) && max(r, c) < 1-1e-9 {
				want[k] = 0
			}
		}
		for h := 0; slices.Contains(want, h); h++ {
			for from := range want {
				for to := range want {
					if want[from] != h || want[to] >= 0 {
						continue
					}
					p, q := got.Point(from), got.Point(to)
					r, c := q[0]-p[0], q[1]-p[1]
					if free(q[0], q[1]) && r*r+c*c < 1+1e-9 && free(p[0]+0.1*r, p[1]+0.1*c) {
						want[to] = h + 1
					}
				}
			}
		}
		if diff := cmp.Diff(want, got.Hops); diff != "" {
			t.Errorf("%d points per cell (-want +got):\n%s\n%s", test.perCell, diff, m)
		}
	}
	mustPanic(t, "Hops(0)", func() { mustMaze(t, "4x5").Hops(0) })
}

// It tests QTA, the optimal return.
func TestOptimalReturn(t *testing.T) {
	for _, γ := range []float64{0, 0.5, 0.99, 1} {
		want, discount := 0.0, 1.0
		for h := range 60 {
			if h > 1 {
				want, discount = want-discount, discount*γ
			}
			if got := OptimalValue(γ, h); math.Abs(got-want) > 1e-13*(1+math.Abs(want)) {
				t.Errorf("the optimal return: OptimalValue(%v, %d) = %v, want %v", γ, h, got, want)
			}
		}
	}
	mustPanic(t, "the optimal return: OptimalValue(0.9, -1)", func() { OptimalValue(0.9, -1) })
}
