package qta

import (
	"fmt"
	"math"
	"math/rand/v2"
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

func mustParse(t testing.TB, text string) *Maze {
	t.Helper()
	m, err := ParseMaze(text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// drawing joins rows into a map.
func drawing(rows ...string) string { return strings.Join(rows, "\n") + "\n" }

func TestNewMaze(t *testing.T) {
	for _, test := range []struct{ name, want string }{
		{"4x5", drawing("#######", "#.....#", "#.#.#.#", "#.###.#", "#.S#G.#", "#######")},
		{"6x5", drawing("#######", "#.....#", "#.#.#.#", "#.#.#.#", "#.#.#.#", "#.###.#", "#.S#G.#", "#######")},
		{"3x5", drawing("#######", "#.....#", "#.###.#", "#.S#G.#", "#######")},
		{"4x9", drawing("###########", "#.........#", "#.###.###.#", "#.#######.#", "#.S#####G.#", "###########")},
		{"1U5", drawing("#####", "#S#G#", "#.#.#", "#.#.#", "#.#.#", "#...#", "#####")},
		{"2U5", drawing("#######", "#S#...#", "#.#.#.#", "#.#.#.#", "#.#.#.#", "#...#G#", "#######")},
		{"3U5", drawing("#########", "#S#...#G#", "#.#.#.#.#", "#.#.#.#.#", "#.#.#.#.#", "#...#...#", "#########")},
	} {
		if diff := cmp.Diff(test.want, mustMaze(t, test.name).String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// The counts of free cells, the limits, and the path lengths that Figures 2
// (right) and 6 (right) print, with the breadth-first search over the lattice
// as oracle of the geodesic.
func TestNamedMazes(t *testing.T) {
	type want struct{ cells, path int }
	wants := map[string]want{}
	for h := 3; h <= 15; h++ {
		wants[fmt.Sprintf("%dx5", h)] = want{3*h + 2, 2*h + 1}
	}
	for n, path := range []int{9, 13, 17, 21, 25} {
		wants[fmt.Sprintf("%dU5", n+1)] = want{6*(n+1) + 5, path}
	}
	for name, want := range wants {
		m := mustMaze(t, name)
		cells := 0
		for r := range m.Rows() {
			for c := range m.Cols() {
				if m.Free(r, c) {
					cells++
				}
			}
		}
		if cells != want.cells {
			t.Errorf("%s has %d free cells, want %d", name, cells, want.cells)
		}
		if got := m.PathLength(); got != want.path {
			t.Errorf("%s: path length %d, want %d", name, got, want.path)
		}
		most := 0
		for _, h := range m.Hops(10).Hops {
			most = max(most, h)
		}
		if most != want.path {
			t.Errorf("%s: the farthest point of the lattice is %d hops away, want %d", name, most, want.path)
		}
	}
	// (98+2) x (95+2) and (5+2) x (2*712+3) cells fit.
	for _, name := range []string{"98x95", "712U5", "3x1997"} {
		if m := mustMaze(t, name); m.Rows()*m.Cols() > 10000 {
			t.Errorf("%s has %d cells", name, m.Rows()*m.Cols())
		}
	}
}

func TestNewMazeErrors(t *testing.T) {
	for _, name := range []string{
		"", "x", "U5", "4", "4x", "x5", "4x5x5", "2x5", "4x3", "4x4", "4x6", "-4x5", "+4x5", "04x5", "4x05", "4 x5", "4X5", "４x5",
		"0U5", "-1U5", "01U5", "1U", "1U6", "1u5", "1U5 ", "1.5U5",
	} {
		_, err := NewMaze(name)
		if err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("qta: maze %q: mazes are", name)) {
			t.Errorf("NewMaze(%q): %v", name, err)
		}
	}
	for _, name := range []string{"98x99", "99x101", "99999999999999999999x5", "3x99999999999999999999", "99999x99999", "713U5", "99999999999999999999U5"} {
		_, err := NewMaze(name)
		if err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("qta: maze %q: ", name)) || !strings.Contains(err.Error(), "10000 cells") {
			t.Errorf("NewMaze(%q): %v", name, err)
		}
	}
}

func TestParseMaze(t *testing.T) {
	want := drawing("######", "#S...#", "###.##", "#G..##", "######")
	for _, test := range []struct{ name, text string }{
		{"itself", want},
		{"no newline at the end", strings.TrimSuffix(want, "\n")},
		{"CR LF", strings.ReplaceAll(want, "\n", "\r\n")},
		{"spaces", strings.ReplaceAll(want, ".", " ")},
		{"no ring", "S...\n##.\nG..\n"},
		{"half a ring", "#S...\n###.\n#G..\n#####\n"},
		{"ragged", "######\n#S...\n###.\n#G..##\n#\n"},
		{"thick walls", "########\n########\n##S...##\n####.###\n##G..###\n########\n"},
		{"indented", "\n\n    ######\n    #S...#\n    ###.##\n    #G..##\n    ######\n  \n"},
		{"a pocket", "#########\n#S...#  #\n###.#####\n#G..#.\n#####\n"},
	} {
		if diff := cmp.Diff(want, mustParse(t, test.text).String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestParseMazeErrors(t *testing.T) {
	huge := "S" + strings.Repeat(".", 3331) + "G"
	for _, test := range []struct{ text, want string }{
		{"", "maze: no S in 1 lines"},
		{"####\n#G.#\n####", "maze: no S in 3 lines"},
		{"S..", "maze: no G in 1 lines"},
		{"S.G\n.x.", "maze line 2, column 2: 'x' is no cell; a map has '#' (wall)"},
		{"S.G\n\t.", `maze line 2, column 1: '\t' is no cell`},
		{"S.G\n..é.", "maze line 2, column 3: 'é' is no cell"},
		{"S.G\n.\xff.", "maze line 2, column 2: '\uFFFD' is no cell"},
		{"S.\rG", `maze line 1, column 3: '\r' is no cell`},
		{"S.G\n.S.", "maze line 2, column 2: a second S, the first is in line 1, column 1"},
		{"S.G\n..G", "maze line 2, column 3: a second G, the first is in line 1, column 3"},
		{"S#G", "maze line 1, column 3: this G cannot be reached from S in line 1, column 1"},
		{"S..\n###\n..G", "maze line 3, column 3: this G cannot be reached from S in line 1, column 1"},
		{huge, "maze line 1, column 3333: 3 rows by 3335 columns"},
	} {
		_, err := ParseMaze(test.text)
		if err == nil || !strings.HasPrefix(err.Error(), "qta: "+test.want) {
			t.Errorf("%.20q: got %v, want qta: %s", test.text, err, test.want)
		}
	}
	if _, err := ParseMaze(huge[:2] + huge[4:]); err != nil { // 3 x 3333
		t.Error(err)
	}
}

// randomMaze returns a maze of at most 7 by 7 cells, ring excluded.
func randomMaze(rng *rand.Rand) *Maze {
	for {
		h, w := 1+int(rng.Float64()*7), 2+int(rng.Float64()*6)
		cells := []byte(strings.Repeat(strings.Repeat("#", w)+"\n", h))
		density := rng.Float64()
		for i := range cells {
			if cells[i] == '#' && rng.Float64() < density {
				cells[i] = '.'
			}
		}
		for _, mark := range "SG" {
			i := int(rng.Float64() * float64(len(cells)))
			if cells[i] != '\n' {
				cells[i] = byte(mark)
			}
		}
		if m, err := ParseMaze(string(cells)); err == nil {
			return m
		}
	}
}

func mustPanic(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s: no panic", what)
		}
	}()
	f()
}

// The map of the tests of motion is 4x5:
//
//	  0123456
//	0 #######
//	1 #.....#
//	2 #.#.#.#
//	3 #.###.#
//	4 #.S#G.#
//	5 #######
func TestMazeStep(t *testing.T) {
	inf := math.Inf(1)
	for _, test := range []struct {
		name               string
		from, action, want [2]float64
	}{
		{"stays", [2]float64{4.5, 1.5}, [2]float64{0, 0}, [2]float64{4.5, 1.5}},
		{"up", [2]float64{4.5, 1.5}, [2]float64{-1, 0}, [2]float64{3.5, 1.5}},
		{"is of the action's length", [2]float64{4.5, 1.5}, [2]float64{-0.25, 0.1}, [2]float64{4.25, 1.6}},
		{"diagonally", [2]float64{1.25, 1.25}, [2]float64{0.7, 0.7}, [2]float64{1.95, 1.95}},
		{"is clipped", [2]float64{4.5, 1.5}, [2]float64{-5, 0.4}, [2]float64{3.5, 1.9}},
		{"is clipped at infinity", [2]float64{4.5, 1.25}, [2]float64{-inf, 0.5}, [2]float64{3.5, 1.75}},
		{"pieces before a wall count", [2]float64{4.5, 2.55}, [2]float64{0, 1}, [2]float64{4.5, 2.95}},
		{"pieces before the ring count", [2]float64{1.55, 3.5}, [2]float64{-1, 0}, [2]float64{1.05, 3.5}},
		{"a wall stops both components", [2]float64{3.55, 1.95}, [2]float64{-1, 1}, [2]float64{3.55, 1.95}},
		{"pieces after a wall are dropped", [2]float64{2.15, 1.95}, [2]float64{-1, 1}, [2]float64{2.15, 1.95}}, // the second would be free
		{"only ends of pieces are tested", [2]float64{2.04, 1.95}, [2]float64{-1, 1}, [2]float64{1.04, 2.95}},  // cuts the corner (2, 2)
	} {
		env := mustMaze(t, "4x5").Env()
		env.Reset(rand.New(rand.NewPCG(1, 1)))
		env.position = test.from
		action := test.action
		s, r := env.Step(action[:])
		got := [2]float64(s.Observation)
		if math.Abs(got[0]-test.want[0]) > 1e-12 || math.Abs(got[1]-test.want[1]) > 1e-12 {
			t.Errorf("%s: from %v by %v to %v, want %v", test.name, test.from, test.action, got, test.want)
		}
		if diff := cmp.Diff(s.Observation, s.Achieved); diff != "" || r != env.Reward(s.Achieved, s.Desired) {
			t.Errorf("%s: %v, reward %v", test.name, s, r)
		}
		if action != test.action {
			t.Errorf("%s: the action changed to %v", test.name, action)
		}
	}

	env := mustParse(t, "S#\n#G").Env()
	env.Reset(rand.New(rand.NewPCG(1, 1)))
	env.position = [2]float64{1.45, 1.45}
	if s, _ := env.Step([]float64{1, 1}); math.Abs(s.Achieved[0]-2.45) > 1e-12 || math.Abs(s.Achieved[1]-2.45) > 1e-12 {
		t.Errorf("between two walls to %v", s.Achieved)
	}
}

func TestMazeReward(t *testing.T) {
	env := mustMaze(t, "4x5").Env()
	for _, test := range []struct {
		achieved, desired []float64
		want              float64
	}{
		{[]float64{1.5, 1.5}, []float64{1.5, 1.5}, 0},
		{[]float64{0, 0.349999}, []float64{0, 0}, 0},
		{[]float64{0, 0.35}, []float64{0, 0}, -1}, // the radius itself is too far
		{[]float64{-0.350001, 0}, []float64{0, 0}, -1},
		{[]float64{0.21, 0.279}, []float64{0, 0}, 0}, // 3:4:5
		{[]float64{0.21, -0.281}, []float64{0, 0}, -1},
		{[]float64{2, 2.2}, []float64{2.2, 2}, 0},
		{[]float64{2, 2.25}, []float64{2.25, 2}, -1},
	} {
		if got := env.Reward(test.achieved, test.desired); got != test.want {
			t.Errorf("Reward(%v, %v) = %v, want %v", test.achieved, test.desired, got, test.want)
		}
	}
}

// Resets stay in the regions and fill them; so do uniform goals their cells.
func TestMazeDraws(t *testing.T) {
	m := mustMaze(t, "4x5")
	env := m.Env()
	rng := rand.New(rand.NewPCG(9, 10))
	lo, hi := [4]float64{1, 1, 1, 1}, [4]float64{-1, -1, -1, -1}
	for range 2000 {
		s := env.Reset(rng)
		for i := range 2 {
			start, goal := s.Achieved[i]-m.Start()[i], s.Desired[i]-m.Goal()[i]
			lo[i], hi[i] = min(lo[i], start), max(hi[i], start)
			lo[2+i], hi[2+i] = min(lo[2+i], goal), max(hi[2+i], goal)
		}
	}
	for i := range lo {
		if lo[i] < -0.3 || lo[i] > -0.29 || hi[i] > 0.3 || hi[i] < 0.29 {
			t.Errorf("component %d of 4 lies in [%v, %v], want [-0.3, 0.3]", i, lo[i], hi[i])
		}
	}

	seen := map[[2]int]int{}
	quarters := [4]int{}
	least, most := 1.0, 0.0 // distance from an edge of the cell, of both axes
	const draws = 14000
	for range draws {
		g := m.UniformGoal(rng)
		r, c := math.Floor(g[0]), math.Floor(g[1])
		seen[[2]int{int(r), int(c)}]++
		least, most = min(least, g[0]-r, g[1]-c), max(most, g[0]-r, g[1]-c)
		quarters[2*int(2*(g[0]-r))+int(2*(g[1]-c))]++
	}
	for cell, n := range seen { // 1000 expected, standard deviation 30.5
		if !m.Free(cell[0], cell[1]) || abs(n-1000) > 150 {
			t.Errorf("cell %v was drawn %d times of %d", cell, n, draws)
		}
	}
	if len(seen) != 14 {
		t.Errorf("%d of 14 cells drawn", len(seen))
	}
	if least > 0.01 || most < 0.99 {
		t.Errorf("uniform goals lie between %v and %v of their cells' width; VDS draws from whole cells", least, most)
	}
	for i, n := range quarters { // 3500 expected, standard deviation 51
		if abs(n-3500) > 250 {
			t.Errorf("quarter %d of the cells was drawn %d times of %d", i, n, draws)
		}
	}
}

// What one seed gives, for ever and on every machine.
func TestMazeEpisode(t *testing.T) {
	env := mustMaze(t, "4x5").Env()
	rng := rand.New(rand.NewPCG(11, 12))
	s := env.Reset(rng)
	got := []uint64{math.Float64bits(s.Observation[0]), math.Float64bits(s.Observation[1]), math.Float64bits(s.Desired[0]), math.Float64bits(s.Desired[1])}
	for range 50 {
		s, _ = env.Step([]float64{float64(2*rng.Float64()) - 1, float64(2*rng.Float64()) - 1})
	}
	got = append(got, math.Float64bits(s.Observation[0]), math.Float64bits(s.Observation[1]))
	want := []uint64{4616578555072792981, 4612493444575695619, 4616869189726345708, 4616476324029753686, 4617200243268324660, 4613927968492419096}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRandomWalksStayFree(t *testing.T) {
	n := 200
	if testing.Short() {
		n = 10
	}
	rng := rand.New(rand.NewPCG(13, 14))
	for range n {
		m := randomMaze(rng)
		env := m.Env()
		for range 3 {
			s := env.Reset(rng)
			for range 100 {
				before := [2]float64(s.Achieved)
				var r float64
				s, r = env.Step([]float64{float64(3*rng.Float64()) - 1.5, float64(3*rng.Float64()) - 1.5})
				at := [2]float64(s.Achieved)
				if !m.Free(int(math.Floor(at[0])), int(math.Floor(at[1]))) {
					t.Fatalf("in a wall at %v\n%s", at, m)
				}
				if math.Abs(at[0]-before[0]) > 1+1e-12 || math.Abs(at[1]-before[1]) > 1+1e-12 {
					t.Fatalf("from %v to %v in one step", before, at)
				}
				if want := math.Hypot(at[0]-s.Desired[0], at[1]-s.Desired[1]) < 0.35; want != (r == 0) {
					t.Fatalf("reward %v at %v for %v", r, at, s.Desired)
				}
			}
		}
	}
}

// Environments of one maze do not disturb each other.
func TestMazeShared(t *testing.T) {
	m := mustMaze(t, "1U5")
	a, b := m.Env(), m.Env()
	s := a.Reset(rand.New(rand.NewPCG(1, 1)))
	before := [4]float64{s.Achieved[0], s.Achieved[1], s.Desired[0], s.Desired[1]}
	b.Reset(rand.New(rand.NewPCG(2, 2)))
	b.Step([]float64{1, 0})
	if after := [4]float64{s.Achieved[0], s.Achieved[1], s.Desired[0], s.Desired[1]}; after != before {
		t.Errorf("%v became %v", before, after)
	}
}

func TestMazePanics(t *testing.T) {
	m := mustMaze(t, "4x5")
	env := m.Env()
	mustPanic(t, "Step before Reset", func() { env.Step([]float64{0, 0}) })
	env.Reset(rand.New(rand.NewPCG(1, 1)))
	mustPanic(t, "a short action", func() { env.Step([]float64{0}) })
	mustPanic(t, "an action that is no number", func() { env.Step([]float64{0, math.NaN()}) })
	mustPanic(t, "a long goal", func() { env.Reward([]float64{0, 0}, []float64{0, 0, 0}) })
	mustPanic(t, "Hops(0)", func() { m.Hops(0) })
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
		again := mustParse(t, m.String())
		if diff := cmp.Diff(m, again, cmp.AllowUnexported(Maze{})); diff != "" {
			t.Fatalf("String does not round-trip (-want +got):\n%s", diff)
		}
		if m.Rows()*m.Cols() > 10000 || len(m.cells) < 2 {
			t.Errorf("%d by %d, %d free cells", m.Rows(), m.Cols(), len(m.cells))
		}
		if len(m.cells) > 200 {
			return
		}
		direct := math.Hypot(m.Start()[0]-m.Goal()[0], m.Start()[1]-m.Goal()[1])
		if l := m.geodesic(); l < direct-1e-9 || l > math.Sqrt2*float64(len(m.cells)-1)+1e-9 {
			t.Errorf("a way of %v over %d cells; %v directly\n%s", l, len(m.cells), direct, m)
		}
		for k, h := range m.Hops(2).Hops {
			if free := m.Free(k/(2*m.cols)/2, k%(2*m.cols)/2); h >= 0 && !free {
				t.Errorf("%d hops to point %d, in a wall\n%s", h, k, m)
			}
		}
	})
}
