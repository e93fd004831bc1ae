package qta

import (
	"fmt"
	"testing"
)

// These helpers make an agent whose networks are linear and never change, so that each number
// of a run can be worked out by hand. A recorder keeps what the agent's parts did.

// A linear is the function of a network: factors of s, g and a, and a constant.
type linear struct{ s, g, a, c float64 }

func (f linear) at(s, g, a float64) float64 { return f.s*s + f.g*g + f.a*a + f.c }

// network returns a network with this function of its inputs: s and g, or s, g and a. Each
// input has two hidden units: one for what is above 0 and one for what is below.
func (f linear) network(inputs int) float64Net {
	const units = 6
	hidden := float64Layer{B: make([]float64, units)}
	last := float64Layer{B: []float64{f.c}}
	for i, factor := range []float64{f.s, f.g, f.a} {
		if i < inputs {
			row := make([]float64, units)
			row[2*i] = 1
			row[2*i+1] = -1
			hidden.W = append(hidden.W, row)
		}
		last.W = append(last.W, []float64{factor}, []float64{-factor})
	}
	return float64Net{hidden, last}
}

// head returns a head with this function, behind the hidden layer of a critic's network.
func (f linear) head() float64Layer { return f.network(3)[1] }

// The linearNetworks are an agent's networks. A policy's action is the tanh of its function.
type linearNetworks struct {
	policy, targetPolicy          linear
	critics, targetCritics, heads [3]linear
}

// linearAgent returns an agent for a scriptedEnv. It has these networks, and no update
// changes them. Its episodes have five steps.
func linearAgent(t testing.TB, n linearNetworks, seed uint64, changes string) *Agent {
	t.Helper()
	p := with(Paper(), "HiddenSize=6 HiddenLayers=1 Critics=3 Batch=8 Horizon=5 InitialSteps=0 LearningStarts=1000000 "+
		"UncertaintyActions=1 NormalizerClip=1000 ActorRate=0 CriticRate=0 PredictiveRate=0 Polyak=1 "+changes)
	a := newAgent(t, p, new(scriptedEnv).Sizes(), seed)
	a.policy.net.load(n.policy.network(2))
	a.policy.target.load(n.targetPolicy.network(2))
	for i, c := range a.pun.critics {
		c.q.load(n.critics[i].network(3))
		c.target.load(n.targetCritics[i].network(3))
		c.head.load(n.heads[i].head())
	}
	return a
}

// deviating returns heads that predict -f, 0 and f. Their sample deviation is f where f is
// positive.
func deviating(f linear) [3]linear { return [3]linear{{-f.s, -f.g, -f.a, -f.c}, {}, f} }

// remember puts episodes into an agent's replay. An episode is the list of places that the
// agent went through. In episode e it pursued -1-e, and the action of transition i was i/16.
// The agent stands at the last place. Its normalizers are shown nothing, so its networks see
// numbers as they are.
func remember(a *Agent, episodes ...[]float64) {
	a.env = new(scriptedEnv)
	for e, places := range episodes {
		for k, next := range places[1:] {
			place := places[k]
			action := []float64{float64(a.step) / 16}
			pursued := []float64{float64(-1 - e)}
			state := stateAt(next)
			a.replay.add([]float64{place + 0.5}, []float64{place}, action, pursued, state)
			a.enterState(state)
			a.step++
		}
	}
}

// stateAt returns the state of a scriptedEnv in a place, without a desired goal.
func stateAt(place float64) State {
	return State{Observation: []float64{place + 0.5}, Achieved: []float64{place}}
}

// A recorder notes, in order, what an agent's parts do. It stands in their place and calls
// them.
type recorder struct {
	agent       *Agent
	shown       float64 // what the normalizers had counted at the latest event
	events      []string
	minibatches [][]recordedRow
}

// A recordedRow is a row of a minibatch, as the networks see it.
type recordedRow struct {
	transition  int
	s, g, a     float64
	r, y, w     float64 // reward, target and weight
	next, nextG float64 // s' and g'
	nextA       float64 // a'
	headTarget  float64
}

// record puts a recorder into an agent.
func record(a *Agent) *recorder {
	r := &recorder{agent: a, shown: a.stateScale.count}
	a.curriculum = recordedCurriculum{a.curriculum, r}
	a.explorer = recordedExplorer{a.explorer, r}
	a.learner = recordedLearner{a.learner, r}
	a.pun.heads = recordedHeads{a.pun.heads, r}
	return r
}

// note adds an event. If the normalizers have been shown something since the latest event,
// note first adds "normalizers".
func (r *recorder) note(event string) {
	if r.agent.stateScale.count != r.shown {
		r.shown = r.agent.stateScale.count
		r.events = append(r.events, "normalizers")
	}
	r.events = append(r.events, event)
}

type (
	recordedCurriculum struct {
		curriculum
		*recorder
	}
	recordedExplorer struct {
		explorer
		*recorder
	}
	recordedLearner struct {
		learner
		*recorder
	}
	recordedHeads struct {
		heads
		*recorder
	}
)

func (c recordedCurriculum) goal(a *Agent, first bool) ([]float64, error) {
	event := "next goal"
	if first {
		event = "first goal"
	}
	c.note(event)
	return c.curriculum.goal(a, first)
}

func (c recordedCurriculum) endEpisode(a *Agent) error {
	c.note("curriculum's end of an episode")
	return c.curriculum.endEpisode(a)
}

func (e recordedExplorer) afterStep(a *Agent) {
	e.note("stored")
	e.explorer.afterStep(a)
}

func (l recordedLearner) update(a *Agent) error {
	l.note("update")
	return l.learner.update(a)
}

func (l recordedLearner) afterEpisode(a *Agent) error {
	l.note("learner's end of an episode")
	return l.learner.afterEpisode(a)
}

func (h recordedHeads) targets(u *ensemble, b *batch, rng stream) {
	h.heads.targets(u, b, rng)
	var rows []recordedRow
	for k, transition := range b.transitions {
		x := float64s(b.x.row(k))
		next := float64s(b.next.row(k))
		rows = append(rows, recordedRow{
			transition: transition,
			s:          x[0], g: x[1], a: x[2],
			r: float64(b.r[k]), y: float64(b.y[k]), w: float64(b.w[k]),
			next: next[0], nextG: next[1], nextA: next[2],
			headTarget: float64(b.sNext.row(k)[0]),
		})
	}
	h.minibatches = append(h.minibatches, rows)
}

// checkDraws checks that each number was drawn about as often as its probability says, and no
// other number.
func checkDraws(t *testing.T, what string, drawn []float64, probabilities map[float64]float64) {
	t.Helper()
	counts := map[float64]int{}
	for _, x := range drawn {
		counts[x]++
	}
	for x := range counts {
		if probabilities[x] == 0 {
			t.Errorf("%s: %v is drawn, which has no chance among %v", what, x, probabilities)
		}
	}
	for x, p := range probabilities {
		checkFrequency(t, fmt.Sprintf("%s: %v", what, x), counts[x], len(drawn), p)
	}
}

// alike gives the whole numbers from low to high, high excluded, one probability.
func alike(low, high int) map[float64]float64 {
	probabilities := map[float64]float64{}
	for x := low; x < high; x++ {
		probabilities[float64(x)] = 1 / float64(high-low)
	}
	return probabilities
}
