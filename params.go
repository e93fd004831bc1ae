package qta

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Params holds every setting of the algorithm and of its rivals. A field's tag "source"
// says where its value in [Paper] comes from; "Table" is the appendix's. The tag "range"
// has the allowed values: an interval or words.
type Params struct {
	Algorithm
	Departures
	Baselines
}

// Algorithm holds the settings of the paper's own method.
type Algorithm struct {
	// Units of each hidden layer.
	HiddenSize int `source:"Table: network hidden size" range:"[1,4096]"`
	// Hidden layers of every network.
	HiddenLayers int `source:"Reading R37: from the authors' code; the paper is silent" range:"[1,16]"`
	// G, critics of the ensemble, each with its predictive head. The sets mega and vds have one critic.
	Critics int `source:"Section 3.1: G" range:"[1,64]"`

	// |B|, transitions of a minibatch.
	Batch int `source:"Table: batch size" range:"[1,65536]"`
	// γ, how much the next step's reward counts now.
	Discount float64 `source:"Table: discount factor" range:"[0,1)"`
	// Adam's step for the policy.
	ActorRate float64 `source:"Table: actor learning rate" range:"[0,1]"`
	// Adam's step for the critics.
	CriticRate float64 `source:"Table: critic learning rate" range:"[0,1]"`
	// Adam's step for the predictive heads.
	PredictiveRate float64 `source:"Table: predictive network learning rate" range:"[0,1]"`
	// ρ, the share of its old parameters that a target network keeps in an update.
	Polyak float64 `source:"Table: rho" range:"[0,1]"`
	// Weight of the mean squared action in the policy's loss.
	ActionL2 float64 `source:"Reading R38: from the authors' code; DDPG has none" range:"[0,1000]"`
	// Updates begin at the environment step after this one.
	LearningStarts int `source:"Reading R39: from the authors' code; the paper is silent" range:"[1,100000000]"`
	// Clip Equation 1's target to [-1/(1-Discount), 0], or with Learner authors to [-150, 0].
	ClipReturns bool `source:"Reading R40: every sum of discounted rewards -1 and 0 lies there (Differs D26)"`

	// How minibatches are drawn: uniformly, by uncertainty (per), or by TD error (td), a baseline.
	Replay string `source:"Section 3.3: uniform, and PER as an extension" range:"uniform|per|td"`
	// k, transitions relabeled for each one that keeps its goal. With Curriculum mega only 0 matters: none are relabeled.
	HindsightRatio float64 `source:"Table: HER replay k" range:"[0,1000]"`
	// β of Equation 8 at the first step: how much of the sampling bias the weights undo.
	PriorityBeta float64 `source:"Table: PER beta_initial" range:"[0,1]"`
	// Environment steps until β is 1.
	PriorityBetaSteps int `source:"Table: PER beta steps" range:"[1,2e9]"`
	// α of Equation 7, the exponent of a priority.
	PriorityAlpha float64 `source:"Table: PER alpha" range:"[0,10]"`
	// Transitions drawn from each finished episode for the input normalizers.
	NormalizerDraws int `source:"Reading R41: from the authors' code" range:"[1,1e6]"`
	// Smallest standard deviation that the normalizers divide by, in the input's unit.
	NormalizerFloor float64 `source:"Reading R42: from the authors' code" range:"[1e-100,1e6]"`
	// Normalized inputs are clipped to this magnitude.
	NormalizerClip float64 `source:"Reading R43: from the authors' code" range:"(0,1e6]"`

	// T, environment steps of an episode.
	Horizon int `source:"Reading R44: from the authors' code; section 3.3 names only T" range:"[1,100000]"`
	// Standard deviation of Gaussian noise on actions.
	ActionNoise float64 `source:"Table: epsilon" range:"[0,10]"`
	// Probability of a uniformly random action, until RandomActionLater replaces it.
	RandomAction float64 `source:"Table: p_random action" range:"[0,1]"`
	// Environment steps before goals are chosen by uncertainty. With Learner mega all actions in these steps are random.
	InitialSteps int `source:"Table: initial random steps" range:"[0,100000000]"`

	// d, how many random actions one estimate of uncertainty averages over.
	UncertaintyActions int `source:"Table: d" range:"[1,4096]"`
	// The goal fed to the critics in Equation 5: the environment's, or the candidate itself.
	UncertaintyGoal string `source:"The authors' code (Differs D3); section 3.2: \"desired\"" range:"desired|candidate"`
	// m of Equation 6, the slope of a goal's weight over its scaled uncertainty.
	Slope float64 `source:"Table: linear sampling M" range:"[-1e100,1e100]"`
	// b of Equation 6, the intercept.
	Intercept float64 `source:"Table: linear sampling b" range:"[-1e100,1e100]"`
	// c: an episode's first goal needs a mean Q of at least c T.
	Threshold float64 `source:"Table: c (threshold)" range:"(-Inf,Inf)"`
	// N, the most candidates of one choice, drawn without replacement. The cost of a choice grows with N d G.
	Candidates int `source:"Ours, to bound the cost (Differs D30); the authors' code: all that are stored" range:"[1,1000000]"`
}

// Departures are settings that the paper does not have. They come from other authors' code
// (authors.go, baseline*.go) or are our own (beyond.go).
type Departures struct {
	// How networks learn: as the paper says, or as the code of QTA's, MEGA's or VDS's authors does.
	Learner string `source:"Sections 3.1 to 3.3" range:"paper|authors|mega|vds"`
	// Where Equation 4's gradient goes: into the backbone, too (joint), or only into the head. Learner authors ignores it.
	PredictiveGradient string `source:"Reading R49: joint, as both predictions share ξ (Differs D29)" range:"joint|head"`
	// Replaces RandomAction once a run has reached any goal. A run with Curriculum qta does so in its first steps.
	RandomActionLater float64 `source:"Reading R53: the table has one probability; Beyond has Differs D6" range:"[0,1]"`

	// Updates after each environment step. Learner vds ignores it, and makes 40 at an episode's end.
	UpdatesPerStep int `source:"Reading R57: one update follows each step; Beyond has Differs D25" range:"[1,1000]"`
	// Unless 0, the probability of a random action after an episode's first goal, except with Curriculum mega.
	RandomActionReached float64 `source:"Reading R58: the table has one probability; Beyond has Differs D6" range:"[0,1]"`
	// Unless 0, a random action after an episode's first goal is held until a step is shorter than this share of the mean.
	RandomActionHeld float64 `source:"Reading R95: each random action is drawn anew; Beyond has Differs D24" range:"[0,1]"`
	// ρ of a moving average of critics and heads, which then estimates uncertainty; 0 for no average.
	UncertaintyPolyak float64 `source:"Reading R59: the heads are asked as they are; Beyond has Differs D4" range:"[0,1)"`
	// Probability that an episode's first goal is the environment's, once a step has ended there. Only for Curriculum qta.
	FirstGoalDesired float64 `source:"Reading R60: the agent sets itself every goal; Beyond has Differs D5" range:"[0,1]"`
}

// Baselines select the methods that the paper compares QTA with. They run on the paper's
// learner unless Learner says otherwise.
type Baselines struct {
	// The method that chooses the goals.
	Curriculum string `source:"Section 3.2: QTA" range:"qta|mega|vds|her"`
	// How a goal's uncertainty is estimated, and by which critics.
	Uncertainty string `source:"Section 3.1: PUN" range:"pun|q|bootstrap|ensemble"`
	// Standard deviation of Gaussian noise added to each estimate, in the estimate's unit.
	UncertaintyNoise float64 `source:"Section 4: none but in Figure 4" range:"[0,1000000]"`
	// Replaces UncertaintyActions if Uncertainty is bootstrap or ensemble.
	EnsembleActions int `source:"Table: d for deep ensembles and bootstrapped DQN" range:"[1,4096]"`
}

// Paper returns the parameters of the paper's text and appendix, with four departures. In
// Equation 5 the critics' goal is the candidate itself (D3). Equation 4 also trains the
// critics' backbone (D29). Targets are clipped (D26). A choice has at most 4000 candidates
// (D30). The formulas are corrected in every set (D1, D2, D27, D28). Every other set is
// Paper with some values changed.
func Paper() Params {
	return Params{
		Algorithm: Algorithm{
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

			Replay:            "uniform",
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
			UncertaintyGoal:    "candidate",
			Slope:              626,
			Intercept:          -591,
			Threshold:          -1.6,
			Candidates:         4000,
		},
		Departures: Departures{
			Learner:            "paper",
			PredictiveGradient: "joint",
			RandomActionLater:  0.3,
			UpdatesPerStep:     1,
		},
		Baselines: Baselines{
			Curriculum:      "qta",
			Uncertainty:     "pun",
			EnsembleActions: 16,
		},
	}
}

// Quick returns [Paper] with minibatches of 256 and 1000 candidates, so that a step takes
// about a third of the time. It does not solve the longest mazes.
func Quick() Params {
	p := Paper()
	p.Batch = 256
	p.Candidates = 1000
	return p
}

// Small returns [Quick] with 64 units and 500 candidates, for tests, examples and small
// environments. It solves only the shortest mazes.
func Small() Params {
	p := Quick()
	p.HiddenSize = 64
	p.Candidates = 500
	return p
}

// Literal returns [Paper] without D3: as section 3.2 has it, the critics' goal in Equation
// 5 is the environment's (results/README.md).
func Literal() Params {
	p := Paper()
	p.UncertaintyGoal = "desired"
	return p
}

// Beyond returns [Paper] with additions of our own that solve mazes sooner, D4 to D6, D24
// and D25, and with 1000 candidates (results/README.md).
func Beyond() Params {
	p := Paper()
	p.UncertaintyPolyak = 0.999 // a moving average of the networks chooses goals
	p.RandomActionLater = 0.1   // on the way to an episode's first goal
	p.RandomActionReached = 0.8 // after that goal
	p.RandomActionHeld = 0.5    // a random action repeats until a step is shorter than half the mean step
	p.FirstGoalDesired = 0.5    // half of the episodes begin with the environment's goal
	p.UpdatesPerStep = 2
	p.Candidates = 1000 // solved 14x5 and 15x5 with these additions (results/README.md)
	return p
}

// Authors returns [Paper] with the values of the authors' public code wherever the two
// differ.
func Authors() Params {
	// Reading R117: the authors' code has switches between methods. This set has the code's
	// values for the paper's method. As published, the switches select deep ensembles, with
	// the predicted variance of Q-values as uncertainty. d is 16 in the code, but in the
	// table only for deep ensembles and bootstrapped DQN.
	p := Paper()
	p.Learner = "authors"
	p.PredictiveRate = 5e-4
	p.Polyak = 0.995
	p.PriorityBetaSteps = 140_000 // β is 0.3 + t/2e5, at most 1
	p.RandomActionLater = 0.2
	p.InitialSteps = 1001  // goals are random while num_steps <= 1000
	p.Candidates = 400_000 // all that are stored; no run of theirs has more
	p.UncertaintyActions = 16
	p.Slope = 626.58
	p.Intercept = -591.18
	return p
}

// Presets lists the named parameter sets in the order of the documentation.
func Presets() []Preset {
	return []Preset{{"paper", Paper()}, {"quick", Quick()}, {"small", Small()}, {"literal", Literal()},
		{"beyond", Beyond()}, {"authors", Authors()}, {"mega", MEGA()}, {"vds", VDS()}}
}

// A Preset is a named parameter set.
type Preset struct {
	Name   string
	Params Params
}

// fields lists the parameters. The list is made once, because a report checks the
// parameters of thousands of records.
var fields = sync.OnceValue(func() []reflect.StructField {
	all := reflect.VisibleFields(reflect.TypeFor[Params]())
	return slices.DeleteFunc(all, func(f reflect.StructField) bool { return f.Anonymous })
})

// Value returns the value of the field called name as text. It panics if there is no such
// field.
func (p Params) Value(name string) string {
	return fmt.Sprint(reflect.ValueOf(p).FieldByName(name).Interface())
}

// Set changes the field called name to the value that text spells: a JSON
// value, or a bare word. An unknown name or a value that is not allowed gives
// an error and leaves p as it was.
func (p *Params) Set(name, text string) error {
	f, err := fieldNamed(name)
	if err != nil {
		return err
	}
	value, ok := parseValue(text, f.Type.Kind())
	if !ok {
		return fmt.Errorf("qta: parameter %s: %#q is not %s", name, text, kindNames[f.Type.Kind()])
	}
	if err := checkField(f, value); err != nil {
		return err
	}
	field := reflect.ValueOf(p).Elem().FieldByIndex(f.Index)
	field.Set(reflect.ValueOf(value).Convert(f.Type))
	return nil
}

// fieldNamed returns the field called name.
func fieldNamed(name string) (reflect.StructField, error) {
	for _, f := range fields() {
		if f.Name == name {
			return f, nil
		}
		if strings.EqualFold(f.Name, name) {
			return f, fmt.Errorf("qta: unknown parameter %q; it is called %s", name, f.Name)
		}
	}
	return reflect.StructField{}, fmt.Errorf("qta: unknown parameter %q; \"qta params\" lists them", name)
}

// parseValue returns the value that text spells, and whether a field of this kind can
// have that value.
func parseValue(text string, kind reflect.Kind) (value any, ok bool) {
	err := json.Unmarshal([]byte(text), &value)
	if err != nil && kind == reflect.String {
		return text, true // a bare word
	}
	x, isNumber := value.(float64)
	if isNumber && kind == reflect.Int {
		return value, x == math.Trunc(x) // such as 2e5
	}
	return value, reflect.ValueOf(value).Kind() == kind
}

var kindNames = map[reflect.Kind]string{
	reflect.Int: "a whole number", reflect.Float64: "a number", reflect.Bool: "true or false", reflect.String: "a word",
}

// Validate returns an error if a value is not allowed, or if values do not go together.
// If a value is not allowed, the error names its field and its range.
func (p Params) Validate() error {
	for _, f := range fields() {
		if err := checkField(f, reflect.ValueOf(p).FieldByIndex(f.Index).Interface()); err != nil {
			return err
		}
	}
	needsQTA := p.Uncertainty == "q" || p.UncertaintyNoise > 0
	if needsQTA && p.Curriculum != "qta" {
		return fmt.Errorf("qta: parameter Curriculum is %s, which uses no uncertainty: "+
			"Uncertainty %s and UncertaintyNoise %v need Curriculum qta", p.Curriculum, p.Uncertainty, p.UncertaintyNoise)
	}
	needsDisagreement := p.Curriculum == "qta" || p.Replay == "per"
	if needsDisagreement && p.Critics == 1 {
		return errors.New("qta: parameter Critics is 1, which cannot disagree: Curriculum qta and Replay per need 2 or more")
	}
	hasBaseline := p.Uncertainty != "pun" || p.Replay == "td"
	if hasBaseline && p.Learner == "authors" {
		return errors.New("qta: parameter Learner is authors, which is QTA's: it needs Uncertainty pun, and Replay uniform or per")
	}
	return nil
}

// checkField returns an error unless a value is in a field's range.
func checkField(f reflect.StructField, value any) error {
	allowed := f.Tag.Get("range")
	ok := true
	switch x := value.(type) {
	case int:
		ok = inInterval(float64(x), allowed)
	case float64:
		ok = inInterval(x, allowed)
	case string:
		ok = slices.Contains(strings.Split(allowed, "|"), x)
	}
	if !ok {
		return fmt.Errorf("qta: parameter %s is %s, allowed are %s", f.Name, oneLine(fmt.Sprint(value)), allowed)
	}
	return nil
}

// oneLine prepares a text from outside for an error message. It quotes the text unless
// the text is one line of printable characters.
func oneLine(s string) string {
	if q := strconv.Quote(s); q[1:len(q)-1] != s {
		return q
	}
	return s
}

// inInterval reports whether x lies in an interval written [a,b], (a,b] and
// so on. A NaN lies in none.
func inInterval(x float64, interval string) bool {
	low, high, _ := strings.Cut(strings.Trim(interval, "[()]"), ",")
	a, _ := strconv.ParseFloat(low, 64)
	b, _ := strconv.ParseFloat(high, 64)
	above := x > a || x == a && interval[0] == '['
	below := x < b || x == b && strings.HasSuffix(interval, "]")
	return above && below
}
