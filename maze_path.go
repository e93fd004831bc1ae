package qta

import "math"

// This file is what section 4 measures mazes with: the length of the shortest
// path, and the optimal values of Figure 5.

// PathLength returns the steps of length 1 that the way from start to goal
// takes: the length of the shortest curve from centre to centre that does not
// enter a wall, rounded up. That curve is polygonal and bends at corners of
// walls, so the length is found among the straight lines between corners.
//
// Reading R69: this is the T of Section 4, Environments; it gives the path lengths
// printed in Figures 2 (right) and 6 (right), which is 2H+1 for Hx5 and 4N+5
// for NU5. Figure 2 (left) prints one more for 4x5 to 7x5.
//
// Differs D7: the paper says that no agent is faster. The action box allows
// steps of length √2 along diagonals, and a region may be left and entered
// nearer than at its centre: eight steps can reach the goal of 4x5, whose path
// length is 9.
func (m *Maze) PathLength() int { return int(math.Ceil(m.geodesic())) }

// geodesic returns PathLength before rounding, by Dijkstra's algorithm. A
// whole number comes out exact, because all its parts are.
func (m *Maze) geodesic() float64 {
	// Point 0 is the start and point 1 the goal.
	points := append([]halfPoint{halfCentre(m.start), halfCentre(m.goal)}, m.corners()...)
	length := make([]float64, len(points))
	for i := range length {
		length[i] = math.Inf(1)
	}
	length[0] = 0
	done := make([]bool, len(points))
	for {
		u := -1
		for i := range points {
			if !done[i] && (u < 0 || length[i] < length[u]) {
				u = i
			}
		}
		if u == 1 {
			return length[1]
		}
		done[u] = true
		for v := range points {
			if done[v] {
				continue
			}
			// The line of sight is the dearest question, so it comes last.
			l := length[u] + points[u].distance(points[v])
			if l < length[v] && l < length[1] && m.sees(points[u], points[v]) {
				length[v] = l
			}
		}
	}
}

// halfPoint is a position in halves of a cell: grid lines are even.
type halfPoint struct{ r, c int }

func halfCentre(cell [2]int) halfPoint { return halfPoint{2*cell[0] + 1, 2*cell[1] + 1} }

func (p halfPoint) distance(q halfPoint) float64 {
	r, c := p.r-q.r, p.c-q.c
	return float64(math.Sqrt(float64(r*r+c*c)) / 2)
}

// corners returns the points where a shortest curve may bend: those with one
// wall among the four cells that meet there, or with two opposite ones.
func (m *Maze) corners() []halfPoint {
	var points []halfPoint
	for r := 1; r < m.rows; r++ {
		for c := 1; c < m.cols; c++ {
			nw, ne := m.Free(r-1, c-1), m.Free(r-1, c)
			sw, se := m.Free(r, c-1), m.Free(r, c)
			walls := 0
			for _, free := range [...]bool{nw, ne, sw, se} {
				if !free {
					walls++
				}
			}
			if walls == 1 || walls == 2 && nw == se {
				points = append(points, halfPoint{2 * r, 2 * c})
			}
		}
	}
	return points
}

// sees reports whether the line from p to q stays in free cells, their borders
// included. It may therefore run along a wall, and pass where two walls touch
// at a corner, but not between two walls that share a side.
func (m *Maze) sees(p, q halfPoint) bool {
	switch {
	case p.r == q.r:
		for c := min(p.c, q.c) / 2; 2*c < max(p.c, q.c); c++ {
			// Both are the same row unless the line is a grid line.
			if !m.Free(p.r/2, c) && !m.Free((p.r-1)/2, c) {
				return false
			}
		}
	case p.c == q.c:
		for r := min(p.r, q.r) / 2; 2*r < max(p.r, q.r); r++ {
			if !m.Free(r, p.c/2) && !m.Free(r, (p.c-1)/2) {
				return false
			}
		}
	default:
		if p.r > q.r {
			p, q = q, p
		}
		// At row r the line is at column p.c + (r-p.r)(q.c-p.c)/(q.r-p.r);
		// columns are multiplied by the denominator to stay integers.
		rise := q.r - p.r
		column := func(r int) int { return p.c*rise + (r-p.r)*(q.c-p.c) }
		for row := p.r / 2; 2*row < q.r; row++ {
			a, b := column(max(2*row, p.r)), column(min(2*row+2, q.r))
			if a > b {
				a, b = b, a
			}
			for c := a / (2 * rise); 2*c*rise < b; c++ {
				if !m.Free(row, c) {
					return false
				}
			}
		}
	}
	return true
}

// Lattice holds one number for each point of a square lattice over a maze and
// its ring, row-major: Hops[k] belongs to Point(k).
type Lattice struct {
	PerCell    int // points per cell and axis
	Rows, Cols int // of points: those of the maze times PerCell
	Hops       []int
}

// Point returns the position of point k, which is the centre of its share of
// the cell.
func (l *Lattice) Point(k int) [2]float64 {
	n := float64(l.PerCell)
	return [2]float64{(float64(k/l.Cols) + 0.5) / n, (float64(k%l.Cols) + 0.5) / n}
}

// Hops returns for perCell by perCell points of each cell the number of steps
// from the centre of the start cell, and -1 for points that cannot be reached,
// such as those in walls. For Figure 5, perCell is 10.
//
// Reading R70: the paper does not say how it finds its optimal values. This is the
// breadth-first search of the authors' public code: a hop goes from a point to
// any other at most one cell away, and of its ten pieces only the first is
// tested for walls; a hop may therefore cut a corner. The largest number over
// all points is PathLength in each of the paper's mazes. Where perCell is even
// no point is the start cell's centre, and the one nearest to it with the
// larger row and column has 0.
func (m *Maze) Hops(perCell int) *Lattice {
	if perCell < 1 {
		panic("qta: Hops needs at least one point per cell")
	}
	l := &Lattice{PerCell: perCell, Rows: m.rows * perCell, Cols: m.cols * perCell}
	l.Hops = make([]int, l.Rows*l.Cols)
	for k := range l.Hops {
		l.Hops[k] = -1
	}
	var disc [][2]int
	for i := -perCell; i <= perCell; i++ {
		for j := -perCell; j <= perCell; j++ {
			if i*i+j*j <= perCell*perCell {
				disc = append(disc, [2]int{i, j})
			}
		}
	}
	// The cell of (i + 1/2 + d/substeps)/perCell: of point i if d is 0, else of
	// the end of the first piece of a hop of d points.
	cell := func(i, d int) int { return (substeps*(2*i+1) + 2*d) / (2 * substeps * perCell) }
	start := (m.start[0]*perCell+perCell/2)*l.Cols + m.start[1]*perCell + perCell/2
	l.Hops[start] = 0
	for queue := []int{start}; len(queue) > 0; queue = queue[1:] {
		k := queue[0]
		i, j := k/l.Cols, k%l.Cols
		for _, d := range disc {
			// A point of a free cell is at least a cell away from the edges.
			to := k + d[0]*l.Cols + d[1]
			if l.Hops[to] < 0 && m.Free(cell(i+d[0], 0), cell(j+d[1], 0)) && m.Free(cell(i, d[0]), cell(j, d[1])) {
				l.Hops[to] = l.Hops[k] + 1
				queue = append(queue, to)
			}
		}
	}
	return l
}

// OptimalReturn returns the largest sum of rewards for reaching a goal that is
// hops steps away: -(hops-1), since the last of them earns 0. For no hops it is
// 0. It panics if hops is negative.
//
// It implements QTA, the optimal return (Section 4).
func OptimalReturn(hops int) float64 {
	return OptimalValue(1, hops)
}

// OptimalValue returns the value of a goal that is hops steps away, where
// rewards are discounted by γ: -(1 + γ + ... + γ^(hops-2)), which is
// -(1-γ^(hops-1))/(1-γ). It panics if hops is negative, as for a point that
// cannot be reached.
//
// Reading R71: Section 4, Environments, has the best undiscounted return -(T-1),
// and Figure 5 an optimal value function without a formula. We discount that
// return as Equation 1 does, its first reward undiscounted, where the figure's
// sum starts at γ.
func OptimalValue(γ float64, hops int) float64 {
	if hops < 0 {
		panic("qta: the optimal value needs a number of hops that is not negative")
	}
	sum := 0.0
	for range hops - 1 {
		sum = float64(γ*sum) - 1
	}
	return sum
}
