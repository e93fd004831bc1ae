package qta

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// The 18 rows of the appendix's table, as printed, with the field of each; the
// row of d has two.
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

// number returns a numeric field's value.
func number(p Params, field string) float64 {
	v := reflect.ValueOf(p).FieldByName(field)
	if v.CanInt() {
		return float64(v.Int())
	}
	return v.Float()
}

func TestPaperIsTheTable(t *testing.T) {
	rows := map[string]string{}
	for _, r := range appendix {
		if got := number(Paper(), r.field); got != r.value {
			t.Errorf("%s: %s is %v in Paper, the table has %v", r.row, r.field, got, r.value)
		}
		rows[r.field] = "Table: " + r.row
	}
	// Sources say so of these fields and no other.
	for _, f := range Fields() {
		if want := rows[f.Name]; (want != "" || strings.HasPrefix(f.Source, "Table")) && f.Source != want {
			t.Errorf("the source of %s is %q, want %q", f.Name, f.Source, want)
		}
		if f.Source == "" {
			t.Errorf("%s has no source", f.Name)
		}
	}
}

// differences returns the fields in which q differs from p, with q's values.
func differences(p, q Params) map[string]string {
	d := map[string]string{}
	for _, f := range Fields() {
		if p.Value(f.Name) != q.Value(f.Name) {
			d[f.Name] = q.Value(f.Name)
		}
	}
	return d
}

// The presets, each by what it changes in another; the sources are at the values
// in Authors, MEGA and VDS.
func TestPresets(t *testing.T) {
	for _, test := range []struct {
		what    string
		p, q    Params
		changes string
	}{
		{"Default over Paper", Paper(), Default(), "UncertaintyGoal=candidate RandomActionLater=0.1 RandomActionReached=0.8 " +
			"RandomActionHeld=0.5 UncertaintyPolyak=0.999 FirstGoalDesired=0.5 UpdatesPerStep=2"},
		{"Fast over Default", Default(), Fast(), "Batch=256"},
		{"Small over Default", Default(), Small(), "HiddenSize=64 Batch=256 Candidates=500"},
		{"Authors over Paper", Paper(), Authors(), "PredictiveRate=0.0005 Polyak=0.995 LowestReturn=-150 TargetNoise=0.2 " +
			"ActorOwnDraw=true WeightDecay=true HeadLoss=norm HeadTarget=achieved HeadOwnDraw=true PredictiveGradient=separate " +
			"PriorityBetaSteps=140000 RandomActionLater=0.2 UncertaintyActions=16 InitialSteps=1001 Candidates=400000 " +
			"SharedActions=true UncertaintyGoal=candidate FirstGoalState=start AuthorsForm=true Slope=626.58 Intercept=-591.18"},
		{"MEGA over Paper", Paper(), MEGA(), "HiddenSize=512 Critics=1 Batch=2000 Discount=0.98 CriticRate=0.001 PredictiveRate=0 " +
			"ActionL2=0.1 LearningStarts=2500 NormalizerFloor=0.0001 ActionNoise=0.1 RandomAction=0.1 InitialSteps=5000 " +
			"PredictiveGradient=head RandomActionLater=0.1 InitialActions=uniform Curriculum=mega TargetEvery=40 GradientClip=5"},
		{"VDS over Paper", Paper(), VDS(), "Critics=1 Batch=256 Discount=0.98 CriticRate=0.001 PredictiveRate=0 LearningStarts=1 " +
			"InitialSteps=0 PredictiveGradient=head Curriculum=vds UpdatesPerEpisode=40 TargetEvery=40"},
	} {
		want := changed("", test.p, test.changes)
		if diff := cmp.Diff(want.Params, test.q); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.what, diff)
		}
	}
	var names []string
	for _, p := range Presets() {
		names = append(names, p.Name)
		if err := p.Params.Validate(); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
	if diff := cmp.Diff([]string{"default", "fast", "paper", "authors", "small", "mega", "vds"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

// One critic goes with whatever does not ask for disagreement.
func TestValidateOneCritic(t *testing.T) {
	for _, test := range []struct{ changes, want string }{
		{"Curriculum=qta", "qta: parameter Critics is 1, which cannot disagree: Curriculum qta needs 2 and above"},
		{"Curriculum=qta Uncertainty=ensemble", "qta: parameter Critics is 1, which cannot disagree: Curriculum qta needs 2 and above"},
		{"Curriculum=mega Replay=per", "qta: parameter Critics is 1, which cannot disagree: Replay per needs 2 and above"},
		{"Curriculum=her Replay=td AuthorsForm=true", "qta: parameter Critics is 1, which cannot disagree: Replay td with AuthorsForm needs 2 and above"},
		{"Curriculum=her Replay=td", ""},
		{"Curriculum=her AuthorsForm=true", ""},
		{"Curriculum=mega", ""},
		{"Curriculum=vds", ""},
		{"Curriculum=random Uncertainty=bootstrap", ""},
		{"Curriculum=qta Replay=per Critics=2", ""},
	} {
		p := Paper()
		p.Critics = 1
		p = changed("", p, test.changes).Params
		got := ""
		if err := p.Validate(); err != nil {
			got = err.Error()
		}
		if _, err := NewAgent(p, Sizes{2, 2, 2}, 1); got != test.want || (err != nil) != (test.want != "") {
			t.Errorf("%s: %q, NewAgent's error %v, want %q", test.changes, got, err, test.want)
		}
	}
}

// Every field accepts the ends of its range that belong to it and refuses what
// lies beyond, naming field, value and range.
func TestValidate(t *testing.T) {
	try := func(f Field, value any, allowed bool) {
		t.Helper()
		p := Paper()
		if f.Name == "Critics" {
			p.Curriculum = "her" // which needs no more than one
		}
		reflect.ValueOf(&p).Elem().FieldByName(f.Name).Set(reflect.ValueOf(value))
		err := p.Validate()
		want := fmt.Sprintf("qta: parameter %s is %v, allowed are %s", f.Name, value, f.Range)
		if allowed && err != nil {
			t.Errorf("%s = %v: %v", f.Name, value, err)
		} else if !allowed && (err == nil || err.Error() != want) {
			t.Errorf("%s = %v: error %v, want %q", f.Name, value, err, want)
		}
	}
	for _, f := range Fields() {
		value := reflect.ValueOf(Paper()).FieldByName(f.Name).Interface()
		if _, ok := value.(bool); ok {
			continue // all are allowed
		}
		if words := strings.Split(f.Range, "|"); len(words) > 1 {
			for _, w := range words {
				try(f, w, true)
			}
			try(f, "", false)
			try(f, words[0]+" ", false)
			continue
		}
		low, high, _ := strings.Cut(f.Range[1:len(f.Range)-1], ",")
		a, errA := strconv.ParseFloat(low, 64)
		b, errB := strconv.ParseFloat(high, 64)
		closedLow, closedHigh := f.Range[0] == '[', strings.HasSuffix(f.Range, "]")
		_, whole := value.(int)
		if errA != nil || errB != nil || whole && !(closedLow && closedHigh) {
			t.Errorf("%s: range %q", f.Name, f.Range)
		}
		if whole && strconv.IntSize == 32 && b > math.MaxInt32 {
			continue
		}
		if whole {
			try(f, int(a), true)
			try(f, int(b), true)
			try(f, int(a)-1, false)
			try(f, int(b)+1, false)
			continue
		}
		try(f, a, closedLow)
		try(f, b, closedHigh)
		if !math.IsInf(a, 0) {
			try(f, math.Nextafter(a, math.Inf(-1)), false)
			try(f, math.Nextafter(a, b), true)
		}
		if !math.IsInf(b, 0) {
			try(f, math.Nextafter(b, math.Inf(1)), false)
			try(f, math.Nextafter(b, a), true)
		}
		try(f, math.NaN(), false)
	}
}

func TestSet(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"Batch", "256", "256"},
		{"Discount", "0.5", "0.5"},
		{"Slope", "1", "1"},
		{"ClipReturns", "false", "false"},
		{"HeadLoss", "norm", "norm"},
	} {
		p := Paper()
		if err := p.Set(test.name, test.text); err != nil || p.Value(test.name) != test.want {
			t.Errorf("Set(%s, %q): %s, error %v", test.name, test.text, p.Value(test.name), err)
		}
		if d := differences(Paper(), p); len(d) > 1 {
			t.Errorf("Set(%s, %q) changes %v", test.name, test.text, d)
		}
	}
	for _, test := range []struct{ name, text, want string }{
		{"Batches", "1", `qta: unknown parameter "Batches"; did you mean Batch?`},
		{"batch", "1", `qta: unknown parameter "batch"; did you mean Batch?`},
		{"alpha", "1", `qta: unknown parameter "alpha"; did you mean PriorityAlpha?`},
		{"Btach", "1", `qta: unknown parameter "Btach"; did you mean Batch?`},
		{"Sloop", "1", `qta: unknown parameter "Sloop"; did you mean Slope?`},
		{"Gamma", "1", `qta: unknown parameter "Gamma"; "qta params" lists them`},
		{"rate", "1", `qta: unknown parameter "rate"; did you mean ActorRate or CriticRate or PredictiveRate?`},
		{"", "1", `qta: unknown parameter ""; "qta params" lists them`},
		{"Batch", "0", "qta: parameter Batch is 0, allowed are [1,65536]"},
		{"Batch", "2.5", `qta: parameter Batch: "2.5" is not a whole number`},
		{"Batch", "", `qta: parameter Batch: "" is not a whole number`},
		{"Discount", "1", "qta: parameter Discount is 1, allowed are [0,1)"},
		{"Discount", "NaN", `qta: parameter Discount: "NaN" is not a number`},
		{"Slope", "1e999", `qta: parameter Slope: "1e999" is not a number`},
		{"ClipReturns", "1", `qta: parameter ClipReturns: "1" is not true or false`},
		{"HeadLoss", "huber", "qta: parameter HeadLoss is huber, allowed are squared|norm"},
	} {
		p := Paper()
		if err := p.Set(test.name, test.text); err == nil || err.Error() != test.want {
			t.Errorf("Set(%s, %q): error %v, want %s", test.name, test.text, err, test.want)
		}
		if p != Paper() {
			t.Errorf("Set(%s, %q) fails and changes %v", test.name, test.text, differences(Paper(), p))
		}
	}
}

func TestReadParams(t *testing.T) {
	for _, test := range []struct {
		text string
		want map[string]string
	}{
		{"{}", map[string]string{}},
		{" {\n}\n", map[string]string{}},
		{`{"Batch": 2, "HeadLoss": "norm", "ClipReturns": false, "Slope": -1.5e3}`,
			map[string]string{"Batch": "2", "HeadLoss": "norm", "ClipReturns": "false", "Slope": "-1500"}},
	} {
		p, err := ReadParams(strings.NewReader(test.text), Paper())
		if diff := cmp.Diff(test.want, differences(Paper(), p)); err != nil || diff != "" {
			t.Errorf("%s: error %v (-want +got):\n%s", test.text, err, diff)
		}
	}
	for _, test := range []struct{ text, want string }{
		{"", "qta: parameters: want a JSON object"},
		{"[]", "qta: parameters: want a JSON object"},
		{"{", "qta: parameters: the JSON object has no end"},
		{`{"Batch"`, "qta: parameter"},
		{`{"Batch": 1`, "qta: parameters: "},
		{`{"Batch": 1,}`, "qta: parameter"},
		{`{"Batch": 1} {}`, "qta: parameters: something follows the JSON object"},
		{`{"Batch": 1, "Batch": 1}`, "qta: parameter Batch is given twice"},
		{`{"batch": 1}`, `qta: unknown parameter "batch"; did you mean Batch?`},
		{`{"Batch": 0}`, "qta: parameter Batch is 0, allowed are [1,65536]"},
		{`{"Batch": "1"}`, `qta: parameter Batch: "1" is not a whole number`},
		{`{"Batch": null}`, `qta: parameter Batch: null is not a whole number`},
		{`{"HeadLoss": 1}`, `qta: parameter HeadLoss: 1 is not a word`},
		{`{"HeadLoss": "Norm"}`, "qta: parameter HeadLoss is Norm, allowed are squared|norm"},
		{`{"ClipReturns": "false"}`, `qta: parameter ClipReturns: "false" is not true or false`},
	} {
		if _, err := ReadParams(strings.NewReader(test.text), Paper()); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %s", test.text, err, test.want)
		}
	}
}

// Errors tell where in the text what is wrong ends.
func TestReadParamsPlace(t *testing.T) {
	for text, want := range map[string]string{
		"{\n\t\"Batch\": 256,\n\t\"Slope\": 3": "line 3, column 12",
		"{\n\t\"Batch\": 0,\n\t\"Slope\": 3}":  "line 2, column 12",
		"{\"γ\": 2, \"Batch\": 1}":             "line 1, column 8",
		"\n\n  [1]":                            "line 3, column 4",
		"":                                     "line 1, column 1",
		"{\r\n\"Batch\": 12,\r\n\"Batch\": 12\r\n}\r\n": "line 3, column 8",
	} {
		if _, err := ReadParams(strings.NewReader(text), Paper()); err == nil || !strings.HasSuffix(err.Error(), " (before "+want+")") {
			t.Errorf("%q: error %v, want %s at its end", text, err, want)
		}
	}
}

// What JSON writes, ReadParams reads over any other set; encoding/json agrees.
func TestParamsJSON(t *testing.T) {
	for _, p := range Presets() {
		text := p.Params.JSON()
		got, err := ReadParams(bytes.NewReader(text), Small())
		if err != nil || got != p.Params {
			t.Errorf("%s: error %v, differences %v", p.Name, err, differences(p.Params, got))
		}
		var plain Params
		if err := json.Unmarshal(text, &plain); err != nil || plain != p.Params {
			t.Errorf("%s: encoding/json reads it with error %v, differences %v", p.Name, err, differences(p.Params, plain))
		}
	}
	// A field per line, in order.
	lines := strings.Split(strings.TrimSpace(string(Paper().JSON())), "\n")
	var names []string
	for _, f := range Fields() {
		names = append(names, "\t\""+f.Name+"\":")
	}
	if !slices.EqualFunc(lines[1:len(lines)-1], names, strings.HasPrefix) {
		t.Errorf("the JSON is\n%s", Paper().JSON())
	}
}

// What cannot be read is not called bad JSON.
func TestReadParamsReading(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, before := range []string{"", "{", `{"Batch": 1`, `{"Batch": 16}`, `{"Batch": 16} `} {
		_, err := ReadParams(io.MultiReader(strings.NewReader(before), iotest.ErrReader(broken)), Default())
		if !errors.Is(err, broken) || err.Error() != "qta: parameters: disk on fire" {
			t.Errorf("after %q: error %v", before, err)
		}
	}
}

// Arbitrary bytes give an error of ours or valid parameters that survive
// another round.
func FuzzReadParams(f *testing.F) {
	f.Add(string(Authors().JSON()))
	f.Add(`{"Batch": 2, "HeadLoss": "norm", "ClipReturns": false}`)
	f.Add(`{"Batch": null}`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ReadParams(strings.NewReader(text), Default())
		if err != nil {
			if !strings.HasPrefix(err.Error(), "qta: ") {
				t.Errorf("error %q", err)
			}
			return
		}
		if err := p.Validate(); err != nil {
			t.Error(err)
		}
		if again, err := ReadParams(bytes.NewReader(p.JSON()), Paper()); err != nil || again != p {
			t.Errorf("another round gives the error %v and the differences %v", err, differences(p, again))
		}
	})
}
