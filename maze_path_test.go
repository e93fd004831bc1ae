package qta

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// naiveGeodesic goes by straight lines between any two crossings of grid lines,
// by Floyd and Warshall's algorithm. Coordinates are in halves of a cell.
func naiveGeodesic(m *Maze) float64 {
	points := [][2]int{{2*m.start[0] + 1, 2*m.start[1] + 1}, {2*m.goal[0] + 1, 2*m.goal[1] + 1}}
	for r := range m.Rows() {
		for c := range m.Cols() {
			points = append(points, [2]int{2 * r, 2 * c})
		}
	}
	// free reports whether (r, c)/unit is in a free cell or on its border.
	free := func(r, c, unit int) bool {
		for i := range m.Rows() {
			for j := range m.Cols() {
				if m.Free(i, j) && i*unit <= r && r <= (i+1)*unit && j*unit <= c && c <= (j+1)*unit {
					return true
				}
			}
		}
		return false
	}
	// Where a line meets a grid line, its parameter is a multiple of
	// 1/(rows*cols) of its extents, so it suffices to look halfway between.
	sees := func(p, q [2]int) bool {
		n := max(1, abs(p[0]-q[0])) * max(1, abs(p[1]-q[1]))
		for k := 1; k < 2*n; k += 2 {
			if !free(p[0]*(2*n-k)+q[0]*k, p[1]*(2*n-k)+q[1]*k, 2*2*n) {
				return false
			}
		}
		return true
	}
	d := make([][]float64, len(points))
	for i, p := range points {
		d[i] = make([]float64, len(points))
		for j, q := range points {
			d[i][j] = math.Inf(1)
			if j < i {
				d[i][j] = d[j][i]
			} else if sees(p, q) {
				d[i][j] = math.Hypot(float64(p[0]-q[0])/2, float64(p[1]-q[1])/2)
			}
		}
	}
	for k := range points {
		for i := range points {
			for j := range points {
				d[i][j] = min(d[i][j], d[i][k]+d[k][j])
			}
		}
	}
	return d[0][1]
}

func abs(x int) int { return max(x, -x) }

func TestGeodesic(t *testing.T) {
	n := 100
	if testing.Short() {
		n = 5
	}
	rng := rand.New(rand.NewPCG(5, 6))
	mazes := []*Maze{mustMaze(t, "4x5"), mustMaze(t, "2U5"), mustParse(t, "S#\n#G"), mustParse(t, "S.#\n#.#\n##G")}
	for range n {
		mazes = append(mazes, randomMaze(rng))
	}
	for _, m := range mazes {
		if got, want := m.geodesic(), naiveGeodesic(m); math.Abs(got-want) > 1e-12*want {
			t.Errorf("geodesic %v, want %v\n%s", got, want, m)
		}
	}
}

func TestPathLength(t *testing.T) {
	// By hand.
	for _, test := range []struct {
		text string
		want int
	}{
		{"SG", 1},
		{"S....G", 5},                         // a whole number stays
		{"S..\n...\n..G", 3},                  // 2 √2
		{"S#\n#G", 2},                         // √2, between the walls
		{"S#.#G", 0},                          // cannot be reached
		{"S#G\n.#.\n...", 5},                  // 2 √(1.5² + 0.5²) + 1 = 4.16
		{"S..\n##.\n..G", 4},                  // √(0.5² + 1.5²) + 1 + √0.5 = 3.29
		{"S.....\n.####.\n.####.\n.....G", 8}, // √(0.5² + 4.5²) + √(2.5² + 0.5²) = 7.08
	} {
		m, err := ParseMaze(test.text)
		if test.want == 0 {
			if err == nil {
				t.Errorf("%q has a way", test.text)
			}
			continue
		}
		if err != nil {
			t.Error(err)
		} else if got := m.PathLength(); got != test.want {
			t.Errorf("%q: %d (%v), want %d", test.text, got, m.geodesic(), test.want)
		}
	}
}

// Every hop tried from every point, until nothing changes, in floating point.
// The numbers of points avoid pieces that end on a grid line.
func TestHops(t *testing.T) {
	n := 20
	if testing.Short() {
		n = 2
	}
	rng := rand.New(rand.NewPCG(7, 8))
	for range n {
		m, perCell := randomMaze(rng), 1+int(rng.Float64()*4)
		got := m.Hops(perCell)
		free := func(p [2]float64) bool { return m.Free(int(math.Floor(p[0])), int(math.Floor(p[1]))) }

		want := make([]int, m.Rows()*m.Cols()*perCell*perCell)
		if got.Rows != m.Rows()*perCell || got.Cols != m.Cols()*perCell || got.PerCell != perCell || len(got.Hops) != len(want) {
			t.Fatalf("%d points per cell: %d by %d", perCell, got.Rows, got.Cols)
		}
		first := -1
		for k := range want {
			want[k] = -1
			p := got.Point(k)
			// The start: the one point of the cell just not below its centre.
			if s := m.Start(); p[0] >= s[0] && p[0] < s[0]+1/float64(perCell) && p[1] >= s[1] && p[1] < s[1]+1/float64(perCell) {
				if want[k] = 0; first >= 0 {
					t.Fatal("two starts")
				}
				first = k
			}
		}
		for changed, h := true, 0; changed; h++ {
			changed = false
			for from := range want {
				if want[from] != h {
					continue
				}
				p := got.Point(from)
				for to := range want {
					q := got.Point(to)
					δ := [2]float64{q[0] - p[0], q[1] - p[1]}
					if want[to] < 0 && free(q) && δ[0]*δ[0]+δ[1]*δ[1] < 1+1e-9 && free([2]float64{p[0] + 0.1*δ[0], p[1] + 0.1*δ[1]}) {
						want[to] = h + 1
						changed = true
					}
				}
			}
		}
		if diff := cmp.Diff(want, got.Hops); diff != "" {
			t.Errorf("%d points per cell (-want +got):\n%s\n%s", perCell, diff, m)
		}
	}
}

// It tests QTA, the optimal return.
func TestOptimalReturn(t *testing.T) {
	data, err := os.ReadFile("testdata/golden/optimal-return.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			In struct {
				Hops  []int
				Gamma float64
			}
			Out struct{ Undiscounted, Discounted []float64 }
			Tol float64
		}
	}
	if err := json.Unmarshal(data, &file); err != nil || len(file.Cases) == 0 {
		t.Fatal(err, len(file.Cases))
	}
	for _, c := range file.Cases {
		for i, h := range c.In.Hops {
			if got, want := OptimalReturn(h), c.Out.Undiscounted[i]; math.Abs(got-want) > c.Tol*(1+math.Abs(want)) {
				t.Errorf("the optimal return: OptimalReturn(%d) = %v, want %v", h, got, want)
			}
			if got, want := OptimalValue(c.In.Gamma, h), c.Out.Discounted[i]; math.Abs(got-want) > c.Tol*(1+math.Abs(want)) {
				t.Errorf("the optimal return: OptimalValue(%v, %d) = %v, want %v", c.In.Gamma, h, got, want)
			}
		}
	}
	for _, γ := range []float64{0, 0.5, 0.99} {
		for h := range 60 {
			want := -(1 - math.Pow(γ, float64(max(h, 1)-1))) / (1 - γ)
			if got := OptimalValue(γ, h); math.Abs(got-want) > 1e-13*(1+math.Abs(want)) {
				t.Errorf("the optimal return: OptimalValue(%v, %d) = %v, want %v", γ, h, got, want)
			}
		}
	}
	for h, want := range []float64{0, 0, -1, -2} {
		if got := OptimalReturn(h); got != want || math.Signbit(got) != (want < 0) {
			t.Errorf("the optimal return: OptimalReturn(%d) = %v, want %v", h, got, want)
		}
	}
	mustPanic(t, "the optimal return: OptimalValue(0.9, -1)", func() { OptimalValue(0.9, -1) })
}

// PathLength is no lower bound: the comment there says so.
func TestPathLengthIsNoBound(t *testing.T) {
	m := mustMaze(t, "4x5")
	env := m.Env()
	env.Reset(rand.New(rand.NewPCG(1, 1)))
	env.position = m.Start()
	env.goal = [2]float64{4.2, 4.8} // in the goal's region
	r := -1.0
	for i, action := range [][]float64{{-0.95, -1}, {-1, 0}, {-1, 0.8}, {0, 1}, {0, 1}, {0.6, 1}, {1, 0}, {1, -0.37}} {
		if r != -1 {
			t.Fatalf("there before step %d", i+1)
		}
		_, r = env.Step(action)
	}
	if r != 0 || m.PathLength() != 9 {
		t.Errorf("reward %v at %v; the path length is %d", r, env.position, m.PathLength())
	}
}
