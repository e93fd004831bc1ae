package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"qta"
	"qta/internal/draw"
	"qta/internal/roomtest"
)

// TestMazePlaces holds the places of a maze's sketch to the maze: each is of the state that
// it has, and none of a free cell lies outside.
func TestMazePlaces(t *testing.T) {
	for _, name := range []string{"4x5", "2U5"} {
		m := roomtest.Maze(t, name)
		e := Maze(m).(*mazeEnv)
		s := e.Sketch()
		for row := 0.05; row < float64(m.Rows()); row += 0.1 {
			for col := 0.05; col < float64(m.Cols()); col += 0.1 {
				x, y := e.Place([]float64{row, col})
				observation, goal, ok := e.StateAt(x, y)
				right := near(observation, row, col) && near(goal, row, col)
				if ok != m.Free(int(row), int(col)) || !right {
					t.Fatalf("%s: at %v, %v the state is %v, %v, %v", name, row, col, observation, goal, ok)
				}
				outside := min(x, y) < 0 || x > s.Width || y > s.Height
				if ok && outside {
					t.Fatalf("%s: %v, %v is outside the sketch", name, row, col)
				}
			}
		}
	}
}

// near reports whether a vector has these two numbers, but for rounding.
func near(v []float64, x, y float64) bool { return math.Abs(v[0]-x)+math.Abs(v[1]-y) < 1e-9 }

// The letters of a maze stand in the middle of its start and of its goal.
func TestMazeLetters(t *testing.T) {
	m := roomtest.Maze(t, "4x5")
	e := Maze(m).(*mazeEnv)
	s := e.Sketch()
	var d draw.Drawing
	toScale := newPlan(&s, -planMargin, s.Width+2*planMargin, math.Inf(1)) // within a margin
	toScale.letters(&d)
	for letter, at := range map[string][2]float64{"S": m.Start(), "G": m.Goal()} {
		x, y := e.Place(at[:])
		const text = `x="%.4g" y="%.4g" text-anchor="middle">%s<`
		has(t, string(d.Inline()), fmt.Sprintf(text, x+planMargin, y+4, letter))
	}
}

// In a maze's Figure 5 the pixel of each place lies where the place's goal is. The farthest
// place is about as far from the start as the path to the goal is long.
func TestMazeGrid(t *testing.T) {
	for _, name := range []string{"4x5", "12x5", "2U5", "40x5"} {
		m := roomtest.Maze(t, name)
		e := Maze(m).(*mazeEnv)
		s := e.Sketch()
		g := newGrid(t.Context(), e, &s, qta.Small())
		for i, goal := range g.goals {
			x, y := e.Place(goal)
			at := g.at(g.Index[i])
			if !near(at[:], x, y) {
				t.Fatalf("%s: goal %v is drawn at %v", name, goal, at)
			}
		}
		least := float64(slices.Min(g.Optimal))
		want := qta.OptimalValue(qta.Small().Discount, m.PathLength())
		if math.Abs(least-want) > 1.5 {
			t.Errorf("%s: the least optimal value is %v, the value of the path %v", name, least, want)
		}
	}
}

// A snapshot has the value of each place as a goal from the start: of a maze from the middle
// of S, of another environment from its first state. The rest is as Survey says.
func TestSnapshot(t *testing.T) {
	m := roomtest.Maze(t, "1U5")
	start := m.Start()
	goal := m.Goal()
	checkSnapshot(t, Maze(m).(Surveyor), start[:], goal[:])

	type drawn struct{ Surveyor }
	first := Maze(m).Reset(rand.New(rand.NewPCG(1, 0)))
	checkSnapshot(t, drawn{Maze(m).(Surveyor)}, first.Observation, first.Desired)
}

func checkSnapshot(t *testing.T, env Surveyor, start, desired []float64) {
	t.Helper()
	sketch := env.Sketch()
	g := newGrid(t.Context(), env, &sketch, qta.Small())
	a := newAgent(t, tiny())
	survey := a.Survey(start, desired, g.goals, g.goals, 200)
	want := snapshot{
		Deviation:   short(survey.Uncertainty),
		Probability: short(survey.Probability),
		Draws:       survey.Samples,
	}
	for _, goal := range g.goals {
		value := a.Value([][]float64{start}, [][]float64{goal})
		want.Value = append(want.Value, float32(value[0]))
	}
	equal(t, fmt.Sprintf("%T", env), want, g.take(a), cmpopts.EquateApprox(1e-5, 0))
}

// threePlaces returns two snapshots of three places in a row.
func threePlaces(t *testing.T) *state {
	t.Helper()
	s := new(state)
	fromJSON(t, `{
		"Cols": 3, "Rows": 1, "Width": 3, "Height": 1,
		"Index": [0, 1, 2],
		"Optimal": [0, -1, -2]
	}`, &s.grid)
	fromJSON(t, `[{
		"Step": 1,
		"Value": [-3, -3, -3],
		"Deviation": [0, 1, 2],
		"Probability": [0, 0.5, 0.5],
		"Draws": [1, 2]
	}, {
		"Step": 2,
		"Value": [0, -1, -1],
		"Deviation": [0, 1, 2],
		"Probability": [0, 0, 1],
		"Draws": [2, 2]
	}]`, &s.Snapshots)
	return s
}

// TestFigure5Numbers works the five numbers out on three places by hand.
func TestFigure5Numbers(t *testing.T) {
	// Mean values -3 and -2/3; mean errors (3+2+1)/3 and 1/3; the last errors 0, 0, 1
	// and Probability 0, 0, 1 against 0, 1, 2 correlate with √3/2, and so does 0, 0.5,
	// 0.5; goals lie at -1.5 and -2, the mean of all at -1.
	r := math.Sqrt(3) / 2
	want := &Figure5{
		ValueGrowth:     7.0 / 3,
		ErrorFall:       5.0 / 3,
		ErrorByDistance: r,
		GoalByDeviation: r,
		GoalDistance:    0.75,
	}
	s := threePlaces(t)
	equal(t, "the numbers of Figure 5", want, s.figure5Numbers(), cmpopts.EquateApprox(0, 1e-6))

	// A snapshot before the paper's first row does not count where two others do.
	s.Snapshots[0].Step = firstPanel
	s.Snapshots[1].Step = firstPanel + 1
	var early snapshot
	fromJSON(t, `{
		"Value": [9, 9, 9],
		"Deviation": [2, 1, 0],
		"Probability": [0, 0, 1],
		"Draws": [0]
	}`, &early)
	early.Step = firstPanel - 1
	s.Snapshots = slices.Insert(s.Snapshots, 0, early)
	equal(t, "with an early snapshot", want, s.figure5Numbers(), cmpopts.EquateApprox(0, 1e-6))

	s.Snapshots = s.Snapshots[:1]
	if s.figure5Numbers() != nil {
		t.Error("one snapshot has numbers")
	}
	constant := []float32{3, 3}
	equal(t, "the correlation with a constant", 0.0, correlation([]float32{1, 2}, constant))
}

// Only the scales of the deviation and of the probability are a snapshot's own. A line has a panel's
// name, unit, numbers and scale, and whether most numbers are zero.
func TestPanels(t *testing.T) {
	s := threePlaces(t)
	s.Snapshots[0].Deviation = []float32{0, 1, 9}
	s.Snapshots[0].Value = []float32{0.5, -3, -3} // a value above 0 has the color of 0
	var got strings.Builder
	got.WriteString("\n")
	for _, p := range s.panels(&s.Snapshots[1], qta.Beyond()) {
		got.WriteString(fmt.Sprintln(p))
	}
	equal(t, "panels; only deviation and probability have a snapshot's own scale", `
{value rewards [0 -1 -1] {-3 0} false}
{absolute error rewards [0 0 1] {0 2} false}
{optimal value rewards [0 -1 -2] {-3 0} false}
{head deviation  [0 1 2] {0 2} false}
{goal probability per point [0 0 1] {0 1} true}
{sampled goals  [] {0 0} false}
`, got.String())
}

// The uncertainty has the unit of what disagrees: rewards for Q-values, and in a maze cells for
// predictions. Outside of mazes the unit of predictions is not known.
func TestUncertaintyName(t *testing.T) {
	inMaze := &state{Map: []string{"SG"}}
	elsewhere := new(state)
	for uncertainty, want := range map[string]string{
		"pun":       "head deviation in cells, elsewhere in ",
		"bootstrap": "uncertainty in cells, elsewhere in ",
		"ensemble":  "uncertainty in cells, elsewhere in ",
		"q":         "uncertainty in rewards, elsewhere in rewards",
	} {
		p := with(tiny(), "Uncertainty="+uncertainty)
		name, unit := inMaze.uncertaintyName(p)
		_, otherUnit := elsewhere.uncertaintyName(p)
		equal(t, uncertainty, want, name+" in "+unit+", elsewhere in "+otherUnit)
	}
}

// A place that was sampled twice is one point.
func TestSamples(t *testing.T) {
	s := threePlaces(t)
	row := newPlan(&Sketch{Width: 3, Height: 1}, 0, 300, 100)
	var d draw.Drawing
	equal(t, "points of two draws of one place", 1, s.drawSamples(&d, &s.Snapshots[1], row))
	equal(t, "discs", 1, strings.Count(string(d.Inline()), "<circle"))
}

// A wide is a maze whose sketch is four times as wide as high.
type wide struct{ Surveyor }

func (wide) Sketch() Sketch { return Sketch{Width: 200, Height: 50} }

func (wide) StateAt(x, y float64) (observation, goal []float64, ok bool) {
	at := []float64{x, y}
	return at, at, true
}

// The grid of an environment has square pixels, about 2500, and asks for the state in the middle
// of each.
func TestWideGrid(t *testing.T) {
	e := wide{maze(t).(Surveyor)}
	sketch := e.Sketch()
	g := newGrid(t.Context(), e, &sketch, tiny())
	equal(t, "columns and rows", [2]int{100, 25}, [2]int{g.Cols, g.Rows})
	equal(t, "the first place", []float64{1, 1}, g.goals[0])
	equal(t, "the last place", []float64{199, 49}, g.goals[len(g.goals)-1])
}

// TestImage leaves zeros out of an image of sparse numbers, which shows others in
// the neighbors' pixels, too, the larger on top.
func TestImage(t *testing.T) {
	g := &grid{Cols: 5, Rows: 2, Index: []int{6, 1, 2, 4}}
	m := g.image([]float32{0.25, 0.5, 0.25, 0}, draw.Scale{High: 0.5}, true)
	few := draw.Scale{High: 1}.Color(0.5)
	most := draw.Scale{High: 1}.Color(1)
	row := []uint8{most, most, most, few, 0}
	equal(t, "the image", slices.Concat(row, row), m.Pix)
}

// TestCharts looks for the largest numbers of the evaluations on the charts' axes.
func TestCharts(t *testing.T) {
	v := view{Record: madeUp(t), agent: new(qta.Agent), state: new(state)}
	v.Record.Curve = Curve{
		{Step: 1000, Success: 2, GoalsSet: 50, GoalsReached: 20, CriticLoss: 200, PredictiveLoss: 300},
	}
	for i, most := range []string{">2<", ">50<", ">200<", ">300<"} {
		has(t, string(v.charts()[i].Drawing.File()), most)
	}
	files, err := v.files()
	must(t, err)
	has(t, string(files[PageFile]),
		"<strong>98.5 %</strong> of 200 fresh rollouts",
		"step 700 of training",
		"2000 of 150000",
		"50 set, 20 reached, by step 1000<",
		"at half</th><td>at step 1000<",
		"perfect evaluation</th><td>at step 2000<")
}

// TestThin adds 500 evaluations. The latest frame stays, and every 32nd of the others, so that there
// are at most mostFrames. The latest snapshot stays, and of evaluations 1, 2, 4, 8 and so on as many
// as make mostSnapshots.
func TestThin(t *testing.T) {
	const every = 5
	var frames []frame
	var snapshots []snapshot
	for n := 1; n <= 500; n++ {
		frames = thinFrames(append(frames, frame{Step: every * n}), every)
		snapshots = thinSnapshots(append(snapshots, snapshot{Step: every * n}), every)
	}
	var ofFrames, ofSnapshots []int // the numbers of their evaluations
	for _, f := range frames {
		ofFrames = append(ofFrames, f.Step/every)
	}
	for _, s := range snapshots {
		ofSnapshots = append(ofSnapshots, s.Step/every)
	}
	const want = "[32 64 96 128 160 192 224 256 288 320 352 384 416 448 480 500]"
	equal(t, "frames", want, fmt.Sprint(ofFrames))
	equal(t, "snapshots", "[4 8 16 32 64 128 256 500]", fmt.Sprint(ofSnapshots))
}

// TestGoalsShown shows every goal with the frame that follows it, or every second,
// fourth and so on of a run with many.
func TestGoalsShown(t *testing.T) {
	roomtest.Long(t)
	p := tiny()
	p.Horizon = 1 // a goal in each step
	p.LearningStarts = 4000
	a := newAgent(t, p)
	s := &state{Frames: []frame{{Step: 500}, {Step: 3500}}, sketcher: maze(t).(Sketcher)}
	o := qta.TrainOptions{Steps: 3500, EvalEvery: 500, Rollouts: 1}
	must(t, a.Train(t.Context(), maze(t), maze(t), o))
	var want [2][][2]float64
	for i, goal := range a.Goals(0, 3500) {
		at, _ := place(s.sketcher, a, goal)
		if i%4 == 0 {
			want[min(i/500, 1)] = append(want[min(i/500, 1)], at)
		}
	}
	got, err := s.goals(a)
	must(t, err)
	equal(t, "the goals of the two frames", want[:], got)
}

// A passing is a maze in which the dot stays where it is, but is at the goal after so many
// steps of each episode.
type passing struct {
	*mazeEnv
	at            []int
	episode, step int
}

func (e *passing) Reset(rng *rand.Rand) qta.State {
	e.episode++
	e.step = 0
	return e.mazeEnv.Reset(rng)
}

func (e *passing) Step([]float64) (qta.State, float64) {
	s, _ := e.mazeEnv.Step([]float64{0, 0})
	e.step++
	if e.step == e.at[e.episode-1] {
		s.Achieved = s.Desired
	}
	return s, e.Reward(s.Achieved, s.Desired)
}

// A rollout begins where the episode does, with the same start and goal in every frame. Of
// the 102 places of its 101 steps it has every third and the last, so 35. It has reached its
// goal if it ends there.
func TestPlay(t *testing.T) {
	e := &passing{mazeEnv: maze(t).(*mazeEnv), at: []int{101, 51, 99}}
	goalAmongPlaces := []int{34, 17, 33}
	p := tiny()
	p.Horizon = 101
	a := newAgent(t, p)
	for frame := range 2 {
		var want []rollout
		chance := rand.New(rand.NewPCG(1, 0))
		for k, at := range goalAmongPlaces {
			s := maze(t).Reset(chance)
			start, _ := place(e, a, s.Achieved)
			goal, _ := place(e, a, s.Desired)
			way := slices.Repeat([][2]float64{start}, 35)
			way[at] = goal
			want = append(want, rollout{Goal: goal, Way: way, Reached: k == 0})
		}
		e.episode = 0
		got, err := play(t.Context(), a, e, len(e.at))
		must(t, err)
		equal(t, fmt.Sprintf("rollouts of frame %d", frame), want, got)
	}
}

// A rollout that ends at its goal is blue, another one has the color of ink. A ring marks the
// rollout's goal if the sketch does not show goals.
func TestRolloutDrawn(t *testing.T) {
	const ring, blue, ink = "hollow s2", "thin s0 ", "thin s6 "
	bare := Sketch{Width: 1, Height: 1}
	has(t, drawn(&bare, true), ring, blue)
	has(t, drawn(&bare, false), ring, ink)
	withGoal := Sketch{Width: 1, Height: 1, Shapes: []Shape{Disc(Goal, 0, 0, 1)}}
	if strings.Contains(drawn(&withGoal, true), ring) {
		t.Error("a ring marks a goal that the sketch shows")
	}
}

// drawn draws a rollout over a sketch.
func drawn(s *Sketch, reached bool) string {
	var d draw.Drawing
	way := [][2]float64{{0, 0}, {1, 1}}
	newPlan(s, 0, 100, 100).rollout(&d, rollout{Way: way, Reached: reached})
	return string(d.Inline())
}

// TestPage looks at the page and the pictures of a run: well-formed, with what a
// reader looks for, and nothing drawn outside of a picture.
func TestPage(t *testing.T) {
	o := newRun(t)
	dir := o.Dir
	o.Rollouts = Rollouts // as the command's
	train(t, o)
	for _, name := range []string{CurveFile, Figure5File, FilmFile} {
		roomtest.Picture(t, roomtest.Read(t, dir, name))
	}
	page := roomtest.Read(t, dir, PageFile)
	has(t, page,
		"Query The Agent on maze 1U5",
		"held-out success",
		"first at the goal",
		"After 200 environment steps",
		"film-w",
		"<code>go run ./cmd/qta -maze 1U5 -params small ",
		"0.00 of its rollouts ended at the goal; 0.00",
		"path length")
	if strings.Contains(page, "NaN") || strings.Contains(page, "http-equiv=\"refresh\"") {
		t.Error("the page has a number that is none, or loads itself again after the end")
	}
	if record(t, dir).Outcome.Figure5 == nil {
		t.Error("the record has no numbers of Figure 5")
	}
	rollouts := strings.Count(roomtest.Read(t, dir, FilmFile), ` film-w" pathLength`)
	equal(t, "the animation's rollouts", 9*4+20, rollouts)
	equal(t, "the log's lines", 11, strings.Count(roomtest.Read(t, dir, LogFile), "\n"))
	roomtest.Look(t, page, "return [];")
}

// A run that ends unsolved says what to look at first, on its page, too. If it never stood at
// the goal, it names the component that keeps it from there. A path longer than an episode is
// named before training.
func TestHint(t *testing.T) {
	for _, test := range []struct{ last, want string }{
		// last is an evaluation at step 2000. By step 1000, 12 goals were set and none was reached.
		{`{"GoalsSet": 52}`, "It reached none of the 40 goals that it pursued after step 1000;"},
		{`{"GoalsSet": 12, "Reached": 0.5, "Success": 0.25}`,
			"Of its latest rollouts 25 % ended at the goal, but 50 % had reached it;"},
		{`{"GoalsSet": 12, "Reached": 0.25, "Success": 0.25}`,
			"Of its latest rollouts 25 % ended at the goal;"},
		// It reached a goal that it had chosen, but never the environment's.
		{`{"GoalsReached": 1}`, "In training it was never at the goal;"},
	} {
		r := madeUp(t)
		r.State = Finished
		r.Outcome.SolvedAt = 0
		r.Outcome.FoundAt = 0
		r.Curve[1] = qta.Evaluation{Step: 2000}
		fromJSON(t, test.last, &r.Curve[1])
		has(t, r.Hint(), test.want)
	}

	o := newRun(t)
	o.Params.Horizon = 3
	h := hear(&o)
	train(t, o)
	told := h.warned + h.said
	const hint = "; component 1 of the desired goals lies between 3.202 and 3.791, but in training "
	has(t, told, "to goal takes 9 steps, but an episode has only 3 ", hint, "When it does not learn")
	if strings.Contains(told, "end before") {
		t.Errorf("a run that learns is called too short: %s", told)
	}
	if strings.Contains(told, "component 0") { // the goal is in the start's row
		t.Errorf("component 0 does not keep the agent from the goal: %s", told)
	}
	has(t, roomtest.Read(t, o.Dir, PageFile), hint, "When it does not learn", ">not solved<")
}

// A run whose budget ends before it learns says so at its start and at its end.
func TestTooFew(t *testing.T) {
	for change, first := range map[string]string{
		"LearningStarts=200":         "update: LearningStarts is 200",
		"InitialSteps=200":           "goal chosen by its uncertainty: InitialSteps is 200",
		"Curriculum=vds Horizon=200": "goal chosen by trained critics of VDS: Horizon is 200",

		"Learner=vds Horizon=150 LearningStarts=150": "update: VDS makes it at an episode's end, at step 300",
	} {
		o := newRun(t)
		o.Params = with(tiny(), change)
		h := hear(&o)
		train(t, o)
		want := "200 steps end before the first " + first
		equal(t, "it warns with "+change, want, h.warned)
		has(t, h.said, want+"; see \"When it does not learn")
	}
	o := newRun(t)
	o.Params.InitialSteps = 200
	o.Curriculum = counting{}
	h := hear(&o)
	train(t, o)
	equal(t, "warnings of InitialSteps, with a curriculum of one's own", "", h.warned)
}

// TestPageOfHER names HER's task, which is the one that evaluations measure, and the loss of
// heads that no curriculum asks.
func TestPageOfHER(t *testing.T) {
	o := newRun(t)
	o.Params.Curriculum = "her"
	train(t, o)
	page := roomtest.Read(t, o.Dir, PageFile)
	has(t, page, "Its success is measured on the same task:", "<th>goals pursued</th>")
	vds := Identity{Params: qta.VDS()}
	equal(t, "the loss of VDS's heads", "Equation 4", vds.predictiveEquation())
}

// FuzzState attaches arbitrary bytes to an agent: they are refused, or can be drawn.
func FuzzState(f *testing.F) {
	o := newRun(f)
	o.Steps = 40
	train(f, o)
	r := open(f, o.Dir)
	a := r.Agent
	whole, _ := json.Marshal(r.state)
	f.Add(whole)
	for _, odd := range []string{
		`"Frames":[{"Step":1,"Rollouts":[{"Way":[[0,0]]}]}]`,
		`"Frames":[{"Step":99,"Rollouts":[{}]},{"Step":7}]`,
		`"Snapshots":[{},{}]`,
		`"Map":["no map"]`,
		`"Fingerprint":[[1],[1,2,3,4,5,6,7,8]]`,
	} {
		f.Add([]byte(`{"EvalEvery":1,"Rollouts":1,` + odd + `}`))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a.Attach(data)
		s, err := readState(a)
		if err != nil {
			return
		}
		must(t, s.draws(t.Context(), maze(t), a))
		v := view{Record: NewRecord(s.identity(a), Limits{40, StopSolved}, 1), agent: a, state: s}
		if _, err := v.files(); err != nil && !errors.As(err, new(InputError)) {
			t.Errorf("not called bad input: %v", err)
		}
		// These must not panic.
		s.evaluated(t.Context(), a)
		s.outside(a.Sizes())
	})
}

// FuzzRecord reads arbitrary bytes as a run.json whose checksum holds: an error, or
// a record that is read again as it is written.
func FuzzRecord(f *testing.F) {
	text := string(madeUp(f).Encode())
	body, _, _ := strings.Cut(text, sealBefore)
	f.Add([]byte(body))
	f.Add([]byte(`{"format": 2`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := decodeRecord(sealed(body))
		if err != nil {
			return
		}
		again, err := decodeRecord(r.Encode())
		must(t, err)
		equal(t, "the record read again", r, again, cmpopts.EquateEmpty())
		r.Command()
	})
}
