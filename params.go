package qta

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Params is every number and choice of the algorithm: those of the paper, and
// those of others. The tag "source" of a field says where its value in [Paper]
// comes from ("Table" is the table of the appendix, a Reading is a choice that
// the paper leaves open), the tag "range" the values allowed, as an interval or
// as a list of words. [Params.Validate] reads these tags.
type Params struct {
	Method
	Departures
	Beyond
	Baselines
}

// Method is the appendix's table and the paper's text.
type Method struct {
	// Units of each hidden layer.
	HiddenSize int `source:"Table: network hidden size" range:"[1,4096]"`
	// Hidden layers of every network.
	HiddenLayers int `source:"Reading R37: the paper is silent, the authors' code" range:"[1,16]"`
	// G, critics of the ensemble, each with its predictive head. One alone, for MEGA and VDS, cannot disagree.
	Critics int `source:"Section 3.1: G" range:"[1,64]"`

	// |B|, transitions of a minibatch.
	Batch int `source:"Table: batch size" range:"[1,65536]"`
	// γ, what a reward counts for one step earlier.
	Discount float64 `source:"Table: discount factor" range:"[0,1)"`
	// Adam's step for the policy.
	ActorRate float64 `source:"Table: actor learning rate" range:"[0,1]"`
	// Adam's step for the critics.
	CriticRate float64 `source:"Table: critic learning rate" range:"[0,1]"`
	// Adam's step for the predictive heads.
	PredictiveRate float64 `source:"Table: predictive network learning rate" range:"[0,1]"`
	// ρ, what a target network keeps of itself in an update.
	Polyak float64 `source:"Table: rho" range:"[0,1]"`
	// Weight of the mean squared action in the policy's loss.
	ActionL2 float64 `source:"Reading R38: the paper is silent, the authors' code" range:"[0,1000]"`
	// Updates begin at the environment step after this one.
	LearningStarts int `source:"Reading R39: the paper is silent, the authors' code" range:"[1,100000000]"`
	// Clip Equation 1's target to [LowestReturn, 0].
	ClipReturns bool `source:"Reading R40: the only values that rewards of -1 and 0 can add up to"`

	// How minibatches are drawn: uniformly, by uncertainty (per), or by TD error (td), a baseline.
	Replay string `source:"Section 3.3: uniform, and PER as an extension" range:"uniform|per|td"`
	// k relabeled transitions to one that is not.
	HindsightRatio float64 `source:"Table: HER replay k" range:"[0,1000]"`
	// β of Equation 8 at the first step: how much of the bias the weights undo.
	PriorityBeta float64 `source:"Table: PER beta_initial" range:"[0,1]"`
	// Environment steps until β is 1.
	PriorityBetaSteps int `source:"Table: PER beta steps" range:"[1,1e12]"`
	// α of Equation 7, the power of a priority.
	PriorityAlpha float64 `source:"Table: PER alpha" range:"[0,10]"`
	// Transitions of each finished episode that the input normalizers take in.
	NormalizerDraws int `source:"Reading R41: the authors' code" range:"[1,1e6]"`
	// Smallest standard deviation that they divide by, in the input's unit.
	NormalizerFloor float64 `source:"Reading R42: the authors' code" range:"[1e-100,1e6]"`
	// Largest magnitude that they let through.
	NormalizerClip float64 `source:"Reading R43: the authors' code" range:"(0,1e6]"`

	// T, environment steps of an episode.
	Horizon int `source:"Reading R44: T, section 3.3; the authors' code" range:"[1,100000]"`
	// Standard deviation of Gaussian noise on actions.
	ActionNoise float64 `source:"Table: epsilon" range:"[0,10]"`
	// Probability of a uniformly random action; in force for a run's first steps alone where
	// RandomActionLater is another, as its first goal is where the agent stands.
	RandomAction float64 `source:"Table: p_random action" range:"[0,1]"`
	// Environment steps before goals are chosen by uncertainty.
	InitialSteps int `source:"Table: initial random steps" range:"[0,100000000]"`

	// d, random actions for one estimate of uncertainty.
	UncertaintyActions int `source:"Table: d" range:"[1,4096]"`
	// The goal fed to the critics in Equation 5: the environment's, or the candidate itself.
	UncertaintyGoal string `source:"Section 3.2: \"the desired goal\" of the environment" range:"desired|candidate"`
	// m of Equation 6, the slope of a goal's chance over its scaled uncertainty.
	Slope float64 `source:"Table: linear sampling M" range:"[-1e100,1e100]"`
	// b of Equation 6, which is added.
	Intercept float64 `source:"Table: linear sampling b" range:"[-1e100,1e100]"`
	// c: an episode's first goal needs a mean Q of at least c T.
	Threshold float64 `source:"Table: c (threshold)" range:"(-Inf,Inf)"`
	// N, the most goals drawn for one choice, whose cost is in proportion to N d G.
	Candidates int `source:"Reading R45: the paper leaves N open" range:"[1,1000000]"`
}

// Departures are what the authors' public code does otherwise, and other choices
// that are not the paper's; see authors.go. What each is in [Paper] changes
// nothing there.
type Departures struct {
	// Lower end of the clip of returns; 0 stands for -1/(1-Discount).
	LowestReturn float64 `source:"Reading R46: 0 stands for the bound -1/(1-Discount)" range:"(-Inf,0]"`
	// Standard deviation of noise on a' in Equation 1, in actions, clipped at 0.5.
	TargetNoise float64 `source:"Reading R47: none, as Equation 1 has none" range:"[0,10]"`
	// The policy learns from a minibatch of its own, drawn uniformly.
	ActorOwnDraw bool `source:"Reading R48: DDPG's Algorithm 1 has one minibatch for critic and actor"`

	// Where Equation 4's gradient goes: with Equation 2's into the backbone (joint), no further than the
	// head, or into the backbone by the heads' own optimizer (separate).
	PredictiveGradient string `source:"Reading R49: \"a joint loss function\"; both predictions share ξ" range:"joint|head|separate"`
	// Squared error, or Euclidean norm.
	HeadLoss string `source:"Equation 4" range:"squared|norm"`
	// What a head predicts: the next observation, or the next achieved goal.
	HeadTarget string `source:"Equation 4: s'" range:"observation|achieved"`
	// The heads learn from a minibatch of their own, without relabeling, drawn by episode and then by step.
	HeadOwnDraw bool `source:"Reading R50: Equation 4 sums over B, the critics' minibatch"`
	// Weights of critics and heads decay once an evaluation was perfect.
	WeightDecay bool `source:"Reading R52: none"`

	// RandomAction once an episode of the run has reached its first goal, mostly at step 1; 0.2 in the
	// authors' code, and the 0.1 of Default is neither theirs nor the paper's.
	RandomActionLater float64 `source:"Reading R53: as before" range:"[0,1]"`
	// Who acts until InitialSteps.
	InitialActions string `source:"Reading R54: the goals are random, the actions the policy's" range:"policy|uniform"`
	// The same d actions for all candidates.
	SharedActions bool `source:"Reading R55: d actions drawn for each candidate"`
	// The state fed to the critics in Equation 5 for an episode's first goal.
	FirstGoalState string `source:"Reading R56: the state is the candidate's for every goal" range:"candidate|start"`
}

// Beyond are choices that neither the paper nor its authors' code has; see
// beyond.go. What each is in [Paper] changes nothing.
type Beyond struct {
	// Updates after each environment step.
	UpdatesPerStep int `source:"Reading R57: one update follows every environment step" range:"[1,1000]"`
	// RandomAction in an episode from where its first goal is reached on; 0 changes nothing.
	RandomActionReached float64 `source:"Reading R58: one probability" range:"[0,1]"`
	// A random action there is kept until a step with it is shorter than this share of the usual; 0 draws each anew.
	RandomActionHeld float64 `source:"Reading R95: each random action is drawn anew" range:"[0,1]"`
	// ρ of a moving average of critics and heads, which goals are chosen by; 0 has the ensemble itself.
	UncertaintyPolyak float64 `source:"Reading R59: the heads as they are" range:"[0,1)"`
	// Probability that an episode's first goal is the environment's, once a step has ended there; for QTA alone.
	FirstGoalDesired float64 `source:"Reading R60: the agent sets itself every goal" range:"[0,1]"`
}

// Baselines are the methods of section 4 that the paper compares with, and what
// their own learners need.
type Baselines struct {
	// Who chooses the goals.
	Curriculum string `source:"Section 3.2: QTA" range:"qta|mega|vds|her|random|visits|rnd"`
	// What a goal's uncertainty is estimated with, and by which critics.
	Uncertainty string `source:"Section 3.1: PUN" range:"pun|q|bootstrap|ensemble"`
	// Standard deviation of Gaussian noise added to each estimate, in its unit.
	UncertaintyNoise float64 `source:"Section 4: none but in Figure 4" range:"[0,1000000]"`

	// Uncertainty bootstrap and ensemble: UncertaintyActions.
	EnsembleActions int `source:"Table: d for deep ensembles and bootstrapped DQN" range:"[1,4096]"`
	// Uncertainty q, bootstrap and ensemble, Replay td: the form that the authors' code gives them.
	AuthorsForm bool `source:"Section 4, and the papers it names there"`

	// Updates in a row at each episode's end, as in VDS, in place of UpdatesPerStep; 0 has that.
	UpdatesPerEpisode int `source:"Reading R63: one update follows every environment step" range:"[0,1e6]"`
	// Updates from one step of the target networks to the next, as in MEGA.
	TargetEvery int `source:"Reading R64: Equation 3 has no schedule, each update has one" range:"[1,1e6]"`
	// Largest magnitude of an element of a gradient, as in MEGA; 0 has no limit.
	GradientClip float64 `source:"Reading R65: none" range:"[0,1e6]"`
}

// Paper returns the table of the paper's appendix and its text, literally.
// Where the paper is silent the value is a Reading, named in the field's
// source.
func Paper() Params {
	return Params{
		Method: Method{
			HiddenSize:   256,
			HiddenLayers: 3,
			Critics:      3,

			Batch:          1024,
			Discount:       0.99,
			ActorRate:      1e-3,
			CriticRate:     2e-3,
			PredictiveRate: 5e-3,
			Polyak:         0.95,
			ActionL2:       1,
			LearningStarts: 50,
			ClipReturns:    true,

			Replay:            replayUniform,
			HindsightRatio:    4,
			PriorityBeta:      0.3,
			PriorityBetaSteps: 2e5,
			PriorityAlpha:     1,
			NormalizerDraws:   50,
			NormalizerFloor:   0.01,
			NormalizerClip:    5,

			Horizon:      50,
			ActionNoise:  0.2,
			RandomAction: 0.3,
			InitialSteps: 1000,

			UncertaintyActions: 8,
			UncertaintyGoal:    uncertaintyGoalDesired,
			Slope:              626,
			Intercept:          -591,
			Threshold:          -1.6,
			Candidates:         1000,
		},
		Departures: Departures{
			PredictiveGradient: predictiveGradientJoint,
			HeadLoss:           headLossSquared,
			HeadTarget:         headTargetObservation,
			RandomActionLater:  0.3,
			InitialActions:     initialActionsPolicy,
			FirstGoalState:     firstGoalStateCandidate,
		},
		Beyond: Beyond{
			UpdatesPerStep: 1,
		},
		Baselines: Baselines{
			Curriculum:      curriculumQTA,
			Uncertainty:     uncertaintyPUN,
			EnsembleActions: 16,
			TargetEvery:     1,
		},
	}
}

// Default returns [Paper] with the changes that carry long mazes: the uncertainty
// of a candidate is asked with the candidate itself as the goal, and of a moving
// average of critics and heads; the environment's goal is practiced once it has
// been reached; actions are seldom random on the way to an episode's first goal,
// once a run has reached one, and often from there on, where they are held; and
// two updates follow each environment step. What each is worth is in
// results/screen.md.
//
// Differs D3: section 3.2 asks with the environment's desired goal, "though the
// prediction is learned to be agnostic to the choice of goal". It is not: the
// heads are linear in a latent state that the goal shapes. With small networks
// the environment's goal leaves two runs of five on 1U5 unsolved, and with the
// authors' learner two of three on 6x5, the candidate none.
//
// Differs D4: section 3.2 asks the ensemble as it is. Its heads never come to agree
// about a corner that they have seen ten thousand times, and soon agree about a
// place that is new: on 15x5 half or more of the first goals lay one step from
// the start until step 16,000. The average of the last thousand updates evens the
// first out, and does not know the second yet.
//
// Differs D5: in section 3.2 the agent sets itself every goal. Here half of the
// episodes begin with the environment's goal as soon as a step has ended there.
// Without, goals move on, and the policy stands for thousands of steps at the last
// corner before a goal that it has been to.
//
// Differs D6: the table has a random action with probability 0.3. On the way to a
// first goal it is 0.1 here, where the authors' code has 0.2 for all of a run once
// a first goal is reached: with 0.3 a perfect policy is at the goal of 15x5 within
// an episode in 29 of 100, with 0.2 in 73, with 0.1 in 96. Where the agent has
// arrived it is 0.8, so that the heads see the random actions that Equation 5 asks
// about where they know least.
//
// Differs D24: a random action is drawn anew in each step of the paper. Here one
// that is taken where the agent has arrived is taken again until something is in
// its way: single ones lead back and forth, and half of them end at a wall.
//
// Differs D25: there are two updates for each environment step, where the text
// names no number and the authors' code has one: it takes 1.6 times as long, and
// fewer steps.
func Default() Params {
	p := Paper()
	p.UncertaintyGoal = uncertaintyGoalCandidate
	p.UncertaintyPolyak = 0.999
	p.RandomActionLater = 0.1
	p.RandomActionReached = 0.8
	p.RandomActionHeld = 0.5
	p.FirstGoalDesired = 0.5
	p.UpdatesPerStep = 2
	return p
}

// Authors returns what the authors' public code runs for QTA, where it
// departs from the paper.
func Authors() Params {
	p := Paper()
	p.PredictiveRate = 5e-4
	p.Polyak = 0.995
	p.LowestReturn = -150
	p.TargetNoise = 0.2
	p.ActorOwnDraw = true
	p.WeightDecay = true
	p.HeadLoss = headLossNorm
	p.HeadTarget = headTargetAchieved
	p.HeadOwnDraw = true
	p.PredictiveGradient = predictiveGradientSeparate
	p.PriorityBetaSteps = 140_000 // 0.3 + t/2e5, cut off at 1
	p.RandomActionLater = 0.2
	p.InitialSteps = 1001  // random while num_steps <= 1000
	p.Candidates = 400_000 // all that are stored; no run of theirs has more
	p.UncertaintyActions = 16
	p.SharedActions = true
	p.UncertaintyGoal = uncertaintyGoalCandidate
	p.FirstGoalState = firstGoalStateStart
	p.Slope = 626.58
	p.Intercept = -591.18
	p.AuthorsForm = true
	return p
}

// Fast returns [Default] with minibatches of 256, for results in minutes on a
// laptop: an environment step takes about a third of the time. What it costs in
// steps is in results/README.md.
func Fast() Params {
	p := Default()
	p.Batch = 256
	return p
}

// Small returns [Default] at 64 units, batches of 256 and 500 candidates:
// about one sixtieth of the arithmetic, for tests and examples. It is no setting
// of the paper, and enough for its shortest mazes alone.
func Small() Params {
	p := Default()
	p.HiddenSize = 64
	p.Batch = 256
	p.Candidates = 500
	return p
}

// Presets lists the named parameter sets in the order of the documentation.
func Presets() []Preset {
	return []Preset{{"default", Default()}, {"fast", Fast()}, {"paper", Paper()}, {"authors", Authors()}, {"small", Small()},
		{"mega", MEGA()}, {"vds", VDS()}}
}

// A Preset is a named parameter set.
type Preset struct {
	Name   string
	Params Params
}

// Set changes the field called name, which is spelled as in [Params], to the
// value that text spells: a JSON number, true or false, or a bare word.
func (p *Params) Set(name, text string) error {
	value := []byte(text)
	if f, ok := fieldNamed(name); ok && f.Type.Kind() == reflect.String {
		value, _ = json.Marshal(text) // a string never fails
	}
	return p.setJSON(name, value, strconv.Quote(text))
}

// setJSON changes the field called name to a JSON value. An error shows it as
// spelled.
func (p *Params) setJSON(name string, value []byte, spelled string) error {
	field, ok := fieldNamed(name)
	if !ok {
		return fmt.Errorf("qta: unknown parameter %q%s", name, suggestion(name))
	}
	q := *p
	target := reflect.ValueOf(&q).Elem().FieldByIndex(field.Index)
	if json.Unmarshal(value, target.Addr().Interface()) != nil || string(value) == "null" {
		return fmt.Errorf("qta: parameter %s: %s is not %s", name, spelled, kindName(field.Type.Kind()))
	}
	if err := validateField(field, target); err != nil {
		return err
	}
	*p = q
	return nil
}

// ReadParams reads a JSON object of parameters, which may be partial, over
// base. A name that is unknown or given twice, a value of the wrong type or
// out of range, and anything after the object are errors that name the place.
func ReadParams(r io.Reader, base Params) (Params, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return base, fmt.Errorf("qta: parameters: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	p, err := decodeParams(d, base)
	if err != nil {
		before := text[:min(d.InputOffset(), int64(len(text)))]
		line := before[bytes.LastIndexByte(before, '\n')+1:]
		return base, fmt.Errorf("%w (before line %d, column %d)", err, 1+bytes.Count(before, []byte("\n")), 1+utf8.RuneCount(line))
	}
	return p, nil
}

var errNoEnd = errors.New("qta: parameters: the JSON object has no end")

// decodeParams leaves d behind what is wrong.
func decodeParams(d *json.Decoder, p Params) (Params, error) {
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return p, errors.New("qta: parameters: want a JSON object, such as {\"Batch\": 256}")
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		name, _ := t.(string)
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return p, errNoEnd
		case err != nil:
			return p, fmt.Errorf("qta: parameters: %v", err)
		case seen[name]:
			return p, fmt.Errorf("qta: parameter %s is given twice", name)
		}
		seen[name] = true
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return p, fmt.Errorf("qta: parameter %s: %v", name, err)
		}
		if err := p.setJSON(name, value, strings.Join(strings.Fields(string(value)), " ")); err != nil {
			return p, err
		}
	}
	if _, err := d.Token(); err != nil {
		return p, errNoEnd
	}
	if _, err := d.Token(); err != io.EOF {
		return p, errors.New("qta: parameters: something follows the JSON object")
	}
	return p, nil
}

// JSON returns the parameters as an indented JSON object that [ReadParams]
// reads back.
func (p Params) JSON() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "\t")
	if err := e.Encode(p); err != nil {
		panic(err) // only for a NaN or Inf, which Validate refuses
	}
	return b.Bytes()
}

// Validate returns an error that names the first field whose value is not
// allowed, the value and the range.
func (p Params) Validate() error {
	v := reflect.ValueOf(p)
	for _, f := range fields() {
		if err := validateField(f, v.FieldByIndex(f.Index)); err != nil {
			return err
		}
	}
	if p.Curriculum != curriculumQTA && (p.Uncertainty == uncertaintyQ || p.UncertaintyNoise > 0) {
		return fmt.Errorf("qta: parameter Curriculum is %s, which asks no uncertainty: Uncertainty %s and UncertaintyNoise %v go with qta",
			p.Curriculum, p.Uncertainty, p.UncertaintyNoise)
	}
	if user := p.deviationUser(); p.Critics == 1 && user != "" {
		return fmt.Errorf("qta: parameter Critics is 1, which cannot disagree: %s needs 2 and above", user)
	}
	return nil
}

// actions returns d of Equation 5.
func (p *Params) actions() int {
	if p.Uncertainty == uncertaintyBootstrap || p.Uncertainty == uncertaintyEnsemble {
		return p.EnsembleActions
	}
	return p.UncertaintyActions
}

// deviationUser returns the choice that asks how much the critics disagree, or
// an empty string.
func (p *Params) deviationUser() string {
	switch {
	case p.Curriculum == curriculumQTA:
		return "Curriculum qta"
	case p.Replay == replayPER:
		return "Replay per"
	case p.Replay == replayTD && p.AuthorsForm:
		return "Replay td with AuthorsForm"
	}
	return ""
}

// Fields lists the parameters in order, each with its name, its source and
// the values allowed.
func Fields() []Field {
	var all []Field
	for _, f := range fields() {
		all = append(all, Field{f.Name, f.Tag.Get("source"), f.Tag.Get("range")})
	}
	return all
}

// fields lists the fields that are parameters.
var fields = sync.OnceValue(func() []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(reflect.TypeFor[Params]()), func(f reflect.StructField) bool { return f.Anonymous })
})

// fieldNamed returns the field of a parameter.
func fieldNamed(name string) (f reflect.StructField, ok bool) {
	f, ok = reflect.TypeFor[Params]().FieldByName(name)
	return f, ok && !f.Anonymous
}

// A Field describes one parameter.
type Field struct {
	Name   string // as in [Params]
	Source string // where the value in [Paper] comes from
	Range  string // an interval, words separated by "|", or empty for true and false
}

// Value returns the value of the field called name as text. It panics unless
// there is one.
func (p Params) Value(name string) string {
	return fmt.Sprint(reflect.ValueOf(p).FieldByName(name).Interface())
}

func validateField(f reflect.StructField, v reflect.Value) error {
	allowed := f.Tag.Get("range")
	ok := true
	switch v.Kind() {
	case reflect.Int:
		ok = inInterval(float64(v.Int()), allowed)
	case reflect.Float64:
		ok = inInterval(v.Float(), allowed)
	case reflect.String:
		ok = false
		for word := range strings.SplitSeq(allowed, "|") {
			ok = ok || v.String() == word
		}
	}
	if !ok {
		return fmt.Errorf("qta: parameter %s is %v, allowed are %s", f.Name, v.Interface(), allowed)
	}
	return nil
}

// inInterval reports whether x lies in an interval written [a,b], (a,b] and
// so on. A NaN lies in none.
func inInterval(x float64, interval string) bool {
	low, high, _ := strings.Cut(interval[1:len(interval)-1], ",")
	a, errA := strconv.ParseFloat(low, 64)
	b, errB := strconv.ParseFloat(high, 64)
	if errA != nil || errB != nil {
		panic("qta: range tag " + interval)
	}
	above := x > a || x == a && interval[0] == '['
	below := x < b || x == b && interval[len(interval)-1] == ']'
	return above && below
}

func kindName(k reflect.Kind) string {
	switch k {
	case reflect.Int:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	}
	return "a word"
}

// suggestion names the parameters that contain name, or else the nearest of
// which it may be a misspelling.
func suggestion(name string) string {
	var contain, near []string
	least := max(2, len(name)/3)
	for _, f := range Fields() {
		if len(name) > len(f.Name)+least {
			continue // as a distance is at least this, and a name may be very long
		}
		if name != "" && strings.Contains(strings.ToLower(f.Name), strings.ToLower(name)) {
			contain = append(contain, f.Name)
		}
		switch d := editDistance(strings.ToLower(f.Name), strings.ToLower(name)); {
		case d < least:
			near, least = []string{f.Name}, d
		case d == least:
			near = append(near, f.Name)
		}
	}
	if len(contain) > 0 {
		near = contain
	}
	if len(near) == 0 || len(near) > 4 {
		return "; \"qta params\" lists them"
	}
	return "; did you mean " + strings.Join(near, " or ") + "?"
}

// editDistance returns how many letters have to be left out, put in or
// exchanged to make b of a.
func editDistance(a, b string) int {
	d := make([]int, len(b)+1) // from the letters of a so far to each beginning of b
	for j := range d {
		d[j] = j
	}
	for i := range len(a) {
		before := d[0]
		d[0]++
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = d[j+1]
			d[j+1] = min(change, d[j]+1, d[j+1]+1)
		}
	}
	return d[len(b)]
}

// Params.Curriculum: who chooses the goals.
const (
	curriculumQTA    = "qta"    // section 3.2
	curriculumMEGA   = "mega"   // goals of least density
	curriculumVDS    = "vds"    // goals of most disagreement, from all there are
	curriculumHER    = "her"    // the environment's goal
	curriculumRandom = "random" // achieved goals, uniformly
	curriculumVisits = "visits" // goals visited least
	curriculumRND    = "rnd"    // goals of most novelty
)

// Params.Uncertainty: what a goal's uncertainty is estimated with.
const (
	uncertaintyPUN       = "pun"       // section 3.1
	uncertaintyQ         = "q"         // disagreement of Q-values
	uncertaintyBootstrap = "bootstrap" // Bootstrapped Q-networks
	uncertaintyEnsemble  = "ensemble"  // Deep Ensembles
)

// Params.Replay: how minibatches are drawn.
const (
	replayUniform = "uniform" // all transitions alike
	replayPER     = "per"     // by uncertainty, section 3.3
	replayTD      = "td"      // by TD error
)

// Params.UncertaintyGoal: the goal fed to the critics in Equation 5.
const (
	uncertaintyGoalDesired   = "desired"   // the environment's
	uncertaintyGoalCandidate = "candidate" // the candidate itself
)

// Params.PredictiveGradient: where Equation 4's gradient goes.
const (
	predictiveGradientJoint    = "joint"    // into the backbone, with Equation 2's
	predictiveGradientHead     = "head"     // no further than the head
	predictiveGradientSeparate = "separate" // into the backbone, by the heads' own optimizer
)

// Params.HeadLoss: Equation 4, or its root.
const (
	headLossSquared = "squared"
	headLossNorm    = "norm"
)

// Params.HeadTarget: what a head predicts.
const (
	headTargetObservation = "observation" // the next observation
	headTargetAchieved    = "achieved"    // the next achieved goal
)

// Params.InitialActions: who acts until InitialSteps.
const (
	initialActionsPolicy  = "policy"
	initialActionsUniform = "uniform" // chance
)

// Params.FirstGoalState: the state in Equation 5 for an episode's first goal.
const (
	firstGoalStateCandidate = "candidate" // the candidate's
	firstGoalStateStart     = "start"     // the current one
)
