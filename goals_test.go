package qta

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
)

// What is no number leaves no goal a chance that is one.
func TestGoalProbabilitiesNaN(t *testing.T) {
	for _, ε := range [][]float64{{1, math.NaN(), 2}, {-1e308, 0, 1e308}} {
		p := make([]float64, 3)
		if GoalProbabilities(p, ε, 1, 1); finite(p[0]) || finite(p[1]) || finite(p[2]) {
			t.Errorf("uncertainties %v: probabilities %v, want NaN", ε, p)
		}
	}
	mustPanic(t, "three probabilities of two", func() { GoalProbabilities(make([]float64, 3), make([]float64, 2), 1, 1) })
}

// What has probability 0 is not drawn where probabilities add up to too little.
func TestPick(t *testing.T) {
	if got := pick([]float64{0, 1e-300, 1e-300, 0}, 0.5); got != 2 {
		t.Errorf("with almost no probability %d is drawn, want the last that has any", got)
	}
}

// choosingAgent returns an agent that has been twice in the places 2, 0, 4, 1 and 3, then
// in 2 and 0, and stands at 4. From there a goal g has the value -g - 7.5. The heads
// deviate by s + 10, where s is half a unit above the place. Target critics, and an average
// if there is one, say otherwise.
func choosingAgent(t *testing.T, changes string) *Agent {
	t.Helper()
	n := linearNetworks{
		policy: linear{c: math.Atanh(0.5)},
		critics: [3]linear{
			{s: 1, g: -1, a: 2, c: -12},
			{s: 1, g: -1, a: 4, c: -13},
			{s: 1, g: -1, c: -14},
		},
		targetCritics: [3]linear{{g: 1, c: -12}, {g: 1, c: -12}, {g: 1, c: -12}},
		heads:         deviating(linear{s: 1, c: 10}),
	}
	a := linearAgent(t, n, 1, "Threshold=-2 Slope=4 Intercept=-1 "+changes)
	averageHeads := deviating(linear{s: -1, c: 100})
	for i, c := range averageOf(a) {
		c.q.load(n.targetCritics[i].network(3))
		c.head.load(averageHeads[i].network(3)[1])
	}
	remember(a, []float64{2, 0, 4, 1, 3, 5}, []float64{2, 0, 4, 1, 3, 5}, []float64{2, 0, 4})
	a.desired[0] = 7
	return a
}

// Candidates for an episode's first goal are the places that the agent has acted in whose
// value from here is at least c T = -10, in the mean of the critics at the policy's action;
// all of them if none has it. For a later goal they are all. An episode's last place, 5, is
// none.
func TestCandidates(t *testing.T) {
	all := []float64{2, 0, 4, 1, 3, 2, 0, 4, 1, 3, 2, 0}
	for _, test := range []struct {
		changes string
		first   bool
		want    []float64
	}{
		{"", true, []float64{2, 0, 1, 2, 0, 1, 2, 0}},
		{"UncertaintyPolyak=0.5", true, []float64{2, 0, 1, 2, 0, 1, 2, 0}},
		{"Threshold=-1", true, all},
		{"", false, all},
	} {
		a := choosingAgent(t, test.changes)
		r := record(a)
		nextGoal(t, a, test.first)
		if got := r.questions[0].goals; !slices.Equal(got, test.want) {
			t.Errorf("%s, first goal: %t: the candidates are %v, by the threshold on the critics' mean value %v",
				test.changes, test.first, got, test.want)
		}
	}
}

// What the heads are asked about a candidate: its state, with itself as the goal or with the
// environment's goal, 7. If there is an average, its heads are asked.
func TestUncertaintyOfCandidates(t *testing.T) {
	byGoal := deviating(linear{g: 1, c: 10})
	for _, test := range []struct {
		what, changes string
		heads         [3]linear
		want          []float64 // of 2, 0, 4, 1 and 3
	}{
		{"the candidate's state", "", deviating(linear{s: 1, c: 10}), []float64{12.5, 10.5, 14.5, 11.5, 13.5}},
		{"the candidate as the goal", "", byGoal, []float64{12, 10, 14, 11, 13}},
		{"the environment's goal", "UncertaintyGoal=desired", byGoal, []float64{17, 17, 17, 17, 17}},
		{"the average's heads", "UncertaintyPolyak=0.5", byGoal, []float64{97.5, 99.5, 95.5, 98.5, 96.5}},
	} {
		a := choosingAgent(t, test.changes)
		for i, c := range a.pun.critics {
			c.head.load(test.heads[i].network(3)[1])
		}
		r := record(a)
		nextGoal(t, a, false)
		near(t, "uncertainty by "+test.what, float32s(r.questions[0].ε[:5]), test.want)
	}
}

// A goal is drawn by Equation 6 among the candidates, here with weights 4 ε - 1 of the
// scaled uncertainties. Of the first goal's candidates, thrice 2, thrice 0 and twice 1, ε is
// scaled to 1, 0 and 0.5 and the weights are 3, 0 and 1. An average scales it the other way
// round, but the threshold asks the critics all the same. Of all candidates, from 0 to 4, the
// weight is the place less 1.
func TestGoalDraws(t *testing.T) {
	for _, test := range []struct {
		changes string
		first   bool
		want    map[float64]float64
	}{
		{"", true, map[float64]float64{2: 9. / 11, 1: 2. / 11}},
		{"UncertaintyPolyak=0.5", true, map[float64]float64{0: 9. / 11, 1: 2. / 11}},
		{"", false, map[float64]float64{2: 3. / 13, 3: 4. / 13, 4: 6. / 13}},
	} {
		a := choosingAgent(t, test.changes)
		var drawn []float64
		for range 3000 {
			drawn = append(drawn, nextGoal(t, a, test.first)...)
		}
		what := fmt.Sprintf("%s, first goal: %t: goals by Equation 6 among those that the threshold leaves", test.changes, test.first)
		checkDraws(t, what, drawn, test.want)
	}
}

// Before environment step InitialSteps goals are uniformly drawn achieved ones, the running
// episode's too, and nothing is asked (R22). From that step on the estimator is asked.
func TestInitialGoals(t *testing.T) {
	for _, test := range []struct {
		initialSteps string
		questions    int
	}{{"13", 0}, {"12", 3000}} {
		a := linearAgent(t, linearNetworks{}, 1, "Intercept=1000 InitialSteps="+test.initialSteps)
		remember(a, []float64{0, 1, 2, 3, 4, 5}, []float64{10, 11, 12, 13, 14, 15}, []float64{20, 21, 22})
		r := record(a)
		var drawn []float64
		for range 3000 {
			drawn = append(drawn, nextGoal(t, a, false)...)
		}
		uniform := map[float64]float64{}
		for _, achieved := range []float64{0, 1, 2, 3, 4, 10, 11, 12, 13, 14, 20, 21} {
			uniform[achieved] = 1. / 12
		}
		checkDraws(t, "goals at step 12 with InitialSteps="+test.initialSteps, drawn, uniform)
		if len(r.questions) != test.questions {
			t.Errorf("at step 12 with InitialSteps=%s %d of 3000 goals are chosen by uncertainty, want %d",
				test.initialSteps, len(r.questions), test.questions)
		}
	}
}

// A run's very first goal is where the agent stands. It is copied: it stays there when the
// agent moves on.
func TestVeryFirstGoal(t *testing.T) {
	a := linearAgent(t, linearNetworks{}, 1, "")
	for _, place := range []float64{3, 4} {
		a.enterState(State{Observation: []float64{place + 0.5}, Achieved: []float64{place}})
		if a.goalsSet == 0 {
			a.setGoal(true)
		}
		if a.goal[0] != 3 {
			t.Errorf("at %v the goal is %v, want a copy of where the agent stood, 3", place, a.goal)
		}
	}
}

// naiveUncertainty returns the uncertainty of candidate k, by the twins. A word of
// Uncertainty that it does not know is to be added to it.
func naiveUncertainty(t *testing.T, a *Agent, c candidates, k int, actions [][]float64) float64 {
	t.Helper()
	state, goal := c.states[k], c.goals[k]
	switch a.params.Uncertainty {
	case "pun", "bootstrap", "ensemble":
		if c.first && a.params.Learner == "authors" {
			state = c.now
		}
		deviations := each(actions, func(action []float64) float64 {
			x := slices.Concat(state, goal, action)
			return twinDeviation(each(a.pun.critics, func(m *critic) []float64 {
				return twinPrediction(m.q.vector(), m.head.vector(), x)[:2] // without a variance
			}))
		})
		mean, _ := moments(deviations)
		return mean
	case "q": // about the candidate as a goal from where the agent is
		action := twinAct(a.policy.net.vector(), c.now, goal)
		return twinSampleDeviation(each(a.pun.critics, func(m *critic) float64 {
			return twinValue(m.q.vector(), c.now, goal, action)
		}))
	}
	t.Fatalf("nothing here says what Uncertainty=%s is to compute", a.params.Uncertainty)
	return 0
}

// Each word of Uncertainty gives the uncertainty of every candidate, for the first goal of an
// episode and for later ones, also where there are more than the networks see at once.
func TestUncertainties(t *testing.T) {
	field, _ := reflect.TypeFor[Params]().FieldByName("Uncertainty")
	settings := each(words(field), func(word string) string { return "Uncertainty=" + word })
	for _, changes := range append(settings, "Learner=authors", "Candidates=1000") {
		a, _ := walked(t, tiny(Paper(), "Batch=7 EnsembleActions=3 NormalizerClip=100 "+changes), 2*chunkRows+27)
		copy(a.observation, []float64{1.2, 2.7}) // not where the last step ended, as after Reset
		moveTargets(a)
		d := 2
		if a.params.Uncertainty == "bootstrap" || a.params.Uncertainty == "ensemble" {
			d = 3
		}
		for _, first := range []bool{true, false} {
			c := a.candidates(a.drawCandidates(), first)
			drawn := newStream(1, forGoals)
			*drawn.pcg = *a.goalDraws.pcg
			actions := tableOf(newMatrix(d, 2), 0, 2)
			for _, action := range actions {
				uniformAction(action, drawn.Rand)
			}
			want := make([]float64, len(c.goals))
			for k := range want {
				want[k] = naiveUncertainty(t, a, c, k, actions)
			}
			got := a.estimator.uncertainty(a, c, a.goalDraws)
			near(t, changes+": uncertainty", float32s(got), want)
		}
	}
}

// nextGoal asks the agent's curriculum.
func nextGoal(t testing.TB, a *Agent, first bool) []float64 {
	t.Helper()
	goal, err := a.curriculum.goal(a, first)
	if err != nil {
		t.Fatal(err)
	}
	return goal
}

// BenchmarkGoal is the choice of a goal among N candidates, by Equations 5 and 6. A row
// is a candidate with one of its random actions, which all critics' heads predict from.
func BenchmarkGoal(b *testing.B) {
	for _, n := range []int{1000, 20_000} {
		b.Run(fmt.Sprint("N=", n), func(b *testing.B) {
			p := Beyond()
			p.Candidates = n
			a, _ := walked(b, p, n+1)
			rows := float64(n * p.UncertaintyActions)
			seconds := measure(b, best, rows*float64(p.Critics)*onePass(p, a.sizes), func() { a.setGoal(false) })
			b.ReportMetric(rows/seconds, "rows/s")
		})
	}
}
