package qta

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// The 18 rows of the appendix's table, as printed, with the field of each. The row of d has two
// fields.
var appendix = []struct {
	row, field string
	value      float64
}{
	{"batch size", "Batch", 1024},
	{"network hidden size", "HiddenSize", 256},
	{"HER replay k", "HindsightRatio", 4},
	{"discount factor", "Discount", 0.99},
	{"actor learning rate", "ActorRate", 1e-3},
	{"critic learning rate", "CriticRate", 2e-3},
	{"predictive network learning rate", "PredictiveRate", 5e-3},
	{"d", "UncertaintyActions", 8},
	{"d for deep ensembles and bootstrapped DQN", "EnsembleActions", 16},
	{"initial random steps", "InitialSteps", 1e3},
	{"epsilon", "ActionNoise", 0.2},
	{"p_random action", "RandomAction", 0.3},
	{"c (threshold)", "Threshold", -1.6},
	{"linear sampling M", "Slope", 626},
	{"linear sampling b", "Intercept", -591},
	{"rho", "Polyak", 0.95},
	{"PER beta_initial", "PriorityBeta", 0.3},
	{"PER beta steps", "PriorityBetaSteps", 2e5},
	{"PER alpha", "PriorityAlpha", 1},
}

// Paper has the values of the appendix's table. The fields with a row of the table say so in
// their source, and no others do.
func TestPaperIsTheTable(t *testing.T) {
	want := map[string]string{} // the sources of fields with a row
	for _, r := range appendix {
		printed := fmt.Sprint(r.value)
		checkEqual(t, printed, Paper().Value(r.field), "%s, in the table %s", r.field, r.row)
		want[r.field] = "Table: " + r.row
	}
	got := map[string]string{}
	for _, f := range fields() {
		source := f.Tag.Get("source")
		if source == "" {
			t.Errorf("%s has no source", f.Name)
		}
		if strings.HasPrefix(source, "Table") {
			got[f.Name] = source
		}
	}
	checkEqual(t, want, got, "the fields' sources, which are to be the table's rows")
}

// Each preset is another one with these changes. Their sources stand at the values in Authors,
// MEGA and VDS. A preset that is written as JSON can be read into any parameters.
func TestPresets(t *testing.T) {
	for _, test := range []struct {
		what    string
		from    Params
		preset  Params
		changes string
	}{
		{"Quick over Paper", Paper(), Quick(), "Batch=256 Candidates=1000"},
		{"Small over Paper", Paper(), Small(), "HiddenSize=64 Batch=256 Candidates=500"},
		{"Literal over Paper", Paper(), Literal(), "UncertaintyGoal=desired"},
		{"Beyond over Paper", Paper(), Beyond(), "RandomActionLater=0.1 RandomActionReached=0.8 " +
			"RandomActionHeld=0.5 UncertaintyPolyak=0.999 FirstGoalDesired=0.5 UpdatesPerStep=2 Candidates=1000"},
		{"Authors over Paper", Paper(), Authors(), "Learner=authors PredictiveRate=0.0005 Polyak=0.995 " +
			"PriorityBetaSteps=140000 RandomActionLater=0.2 UncertaintyActions=16 InitialSteps=1001 Candidates=400000 " +
			"Slope=626.58 Intercept=-591.18"},
		{"MEGA over Literal", Literal(), MEGA(), "HiddenSize=512 Critics=1 Batch=2000 Discount=0.98 CriticRate=0.001 PredictiveRate=0 " +
			"ActionL2=0.1 LearningStarts=2500 NormalizerFloor=0.0001 ActionNoise=0.1 RandomAction=0.1 InitialSteps=5000 " +
			"Learner=mega PredictiveGradient=head RandomActionLater=0.1 Curriculum=mega"},
		{"VDS over Literal", Literal(), VDS(), "Critics=1 Batch=256 Discount=0.98 CriticRate=0.001 PredictiveRate=0 LearningStarts=1 " +
			"InitialSteps=0 Learner=vds PredictiveGradient=head Curriculum=vds"},
	} {
		checkEqual(t, with(test.from, test.changes), test.preset, "%s", test.what)
	}
	var names []string
	for _, p := range Presets() {
		names = append(names, p.Name)
		read := Small()
		err := json.Unmarshal(toJSON(p.Params), &read)
		if err := errors.Join(err, read.Validate()); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		checkEqual(t, p.Params, read, "%s, read from JSON", p.Name)
	}
	checkEqual(t, []string{"paper", "quick", "small", "literal", "beyond", "authors", "mega", "vds"}, names, "names")
}

// Parameters that make no sense together are refused. All others make an agent.
func TestCombinations(t *testing.T) {
	const alone = "qta: parameter Critics is 1, which cannot disagree: Curriculum qta and Replay per need 2 or more"
	const theirs = "qta: parameter Learner is authors, which is QTA's: it needs Uncertainty pun, and Replay uniform or per"
	for _, test := range []struct{ changes, want string }{
		{"Critics=1", alone},
		{"Critics=1 Curriculum=mega Replay=per", alone},
		{"Critics=1 Curriculum=her Replay=td", noError},
		{"Critics=1 Curriculum=vds Learner=authors", noError},
		{"Critics=1 Curriculum=her Uncertainty=bootstrap", noError},
		{"Critics=2 Curriculum=qta Replay=per", noError},
		{"Curriculum=mega Uncertainty=q",
			"qta: parameter Curriculum is mega, which uses no uncertainty: Uncertainty q and UncertaintyNoise 0 need Curriculum qta"},
		{"Curriculum=her UncertaintyNoise=0.1",
			"qta: parameter Curriculum is her, which uses no uncertainty: Uncertainty pun and UncertaintyNoise 0.1 need Curriculum qta"},
		{"Uncertainty=q UncertaintyNoise=0.1", noError},
		{"Uncertainty=q Learner=authors", theirs},
		{"Replay=td Learner=authors", theirs},
		{"Replay=per Learner=authors", noError},
	} {
		_, err := NewAgent(with(Small(), test.changes), Sizes{3, 2, 2}, 1)
		checkBegins(t, test.changes, err, test.want)
	}
}

// Every field has a range. A value outside of it is refused by the field's name.
func TestValidate(t *testing.T) {
	for _, f := range fields() {
		p := Paper()
		v := reflect.ValueOf(&p).Elem().FieldByName(f.Name)
		switch v.Kind() {
		case reflect.Int:
			v.SetInt(-1)
		case reflect.Float64:
			v.SetFloat(math.NaN())
		case reflect.String:
			v.SetString("word")
		case reflect.Bool:
			continue // has no other values
		}
		allowed := f.Tag.Get("range")
		if v.CanFloat() {
			low, high, _ := strings.Cut(strings.Trim(allowed, "[]()"), ",")
			_, errLow := strconv.ParseFloat(low, 64)
			_, errHigh := strconv.ParseFloat(high, 64)
			if err := errors.Join(errLow, errHigh); err != nil {
				t.Errorf("%s: the range %q is no interval: %v", f.Name, allowed, err)
			}
		}
		want := fmt.Sprintf("qta: parameter %s is %v, allowed are %s", f.Name, v, allowed)
		checkBegins(t, f.Name, p.Validate(), want)
	}
}

// A square bracket includes an interval's bound, and a round one does not.
func TestIntervals(t *testing.T) {
	for _, test := range []struct {
		interval string
		inside   map[float64]bool // whether a number lies in it
	}{
		{"[-1,2]", map[float64]bool{-1: true, 2: true}},
		{"(-1,2]", map[float64]bool{-1: false, 2: true}},
		{"[-1,2)", map[float64]bool{-1: true, 2: false}},
		{"(-Inf,Inf)", map[float64]bool{-1: true, 2: true}},
		{"[-0.9,1.9e0]", map[float64]bool{-1: false, 2: false}},
	} {
		for x, want := range test.inside {
			checkEqual(t, want, inInterval(x, test.interval), "whether %v lies in %s", x, test.interval)
		}
	}
}

// Set reads a parameter from a text. If it cannot, nothing changes.
func TestSet(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"Batch", "256", "256"},
		{"Discount", "0.5", "0.5"},
		{"Slope", "-1500", "-1500"},
		{"ClipReturns", "false", "false"},
		{"Replay", "per", "per"},
		{"Batch", "64.0", "64"},
		{"PriorityBetaSteps", "1e9", "1000000000"},
	} {
		p := Paper()
		must(t, p.Set(test.name, test.text))
		checkEqual(t, test.want, p.Value(test.name), "Set(%s, %s)", test.name, test.text)
	}
	for _, test := range []struct{ name, text, want string }{
		{"Btach", "1", `qta: unknown parameter "Btach"; "qta params" lists them`},
		{"batch", "1", `qta: unknown parameter "batch"; it is called Batch`},
		{"Algorithm", `{"Batch": 0}`, `qta: unknown parameter "Algorithm"; "qta params" lists them`},
		{"Batch", "0", "qta: parameter Batch is 0, allowed are [1,65536]"},
		{"Batch", "1e12", "qta: parameter Batch is 1e+12, allowed are [1,65536]"},
		{"Batch", "2.5", "qta: parameter Batch: `2.5` is not a whole number"},
		{"Batch", "", "qta: parameter Batch: `` is not a whole number"},
		{"Batch", " null", "qta: parameter Batch: ` null` is not a whole number"},
		{"Discount", "NaN", "qta: parameter Discount: `NaN` is not a number"},
		{"Slope", "1e999", "qta: parameter Slope: `1e999` is not a number"},
		{"ClipReturns", "1", "qta: parameter ClipReturns: `1` is not true or false"},
		{"Replay", "p\ner", `qta: parameter Replay is "p\ner", allowed are uniform|per|td`},
		{"Replay", "huber", "qta: parameter Replay is huber, allowed are uniform|per|td"},
	} {
		p := Paper()
		what := fmt.Sprintf("Set(%s, %q)", test.name, test.text)
		checkBegins(t, what, p.Set(test.name, test.text), test.want)
		checkEqual(t, Paper(), p, "%s, which fails, changes nothing", what)
	}
}
