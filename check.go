package qta

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"reflect"
	"slices"
	"strings"
)

// This file holds the code against vectors: numbers that another implementation
// computed. A file of vectors is JSON,
//
//	{"equation": NAME, "paper": WHAT, "cases": [
//		{"name": ..., "in": {...}, "out": {...}, "tol": T}, ...]}
//
// and a result r holds against the e of "out" where |r-e| <= T (1 + |e|). Sizes
// are free, names are not: a key that is missing or that nobody reads is an
// error. The functions called are those that training calls.

// A CheckResult says whether the code holds to one case of a file of vectors.
type CheckResult struct {
	File     string
	Equation string // the file's "equation"
	Case     string
	Numbers  []int  // the equations of the paper that it concerns, if any
	Function string // the function, or functions, held to the vectors

	Err       error   // what does not hold, or nil
	Worst     float64 // largest |r-e| / (1 + |e|) of the case
	Tolerance float64 // T
}

// Check holds the code against every case of every file *.json at the top of
// fsys. The results are in the order of the files' names and of the cases. The
// error is about files that are not vectors; a case whose numbers are wrong or
// of impossible shapes has its error in its result. The golden vectors are
// those of the package qta/testdata, whose README describes the format.
func Check(fsys fs.FS) ([]CheckResult, error) {
	names, err := fs.Glob(fsys, "*.json")
	if err != nil {
		return nil, fmt.Errorf("qta: vectors: %w", err)
	}
	if len(names) == 0 {
		return nil, errors.New("qta: vectors: there is no file *.json")
	}
	var results []CheckResult
	for _, name := range names {
		text, err := readVectors(fsys, name)
		if err != nil {
			return results, fmt.Errorf("qta: vectors: %w", err)
		}
		file, err := checkFile(name, text)
		if err != nil {
			return results, fmt.Errorf("qta: vectors: %s: %w", name, err)
		}
		results = append(results, file...)
	}
	return results, nil
}

// readVectors reads a file of vectors, which is regular and of a size that fits
// memory: opening a FIFO would wait, and a device may have no end.
func readVectors(fsys fs.FS, name string) ([]byte, error) {
	const most = 64 << 20
	if info, err := fs.Stat(fsys, name); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() || info.Size() > most {
		return nil, fmt.Errorf("%s: not a regular file of at most %d bytes", name, most)
	}
	return fs.ReadFile(fsys, name)
}

// equation is one kind of vectors.
type equation struct {
	name     string
	numbers  []int  // of the paper's equations
	function string // the home, or the homes
	check    checker
}

// A checker runs one case.
type checker func(in, out json.RawMessage, tolerance float64) (worst float64, err error)

// equations lists all kinds.
func equations() []equation {
	return []equation{
		{"mlp-forward", nil, "mlp.forward", checking(checkForward)},
		{"mlp-backward", nil, "mlp.backward", checking(checkBackward)},
		{"adam", nil, "adam.step", checking(checkAdam)},
		{"td-target", []int{1}, "TDTarget", checking(checkTarget)},
		{"td-target-networks", []int{1}, "Agent.target", checking(checkTargetNetworks)},
		{"critic-loss", []int{2}, "CriticLoss", checking(checkCriticLoss)},
		{"polyak", []int{3}, "Polyak", checking(checkPolyak)},
		{"policy-gradient", nil, "policy.learn", checking(checkPolicyGradient)},
		{"predictive-loss", []int{4}, "PredictiveLoss", checking(checkPredictiveLoss)},
		{"uncertainty-std", []int{5}, "HeadDeviation", checking(checkDeviation)},
		{"uncertainty", []int{5}, "pun.uncertainty", checking(checkUncertainty)},
		{"goal-probability", []int{6}, "GoalProbabilities, scaleUncertainty", checking(checkGoalProbability)},
		{"achievable", nil, "Achievable", checking(checkAchievable)},
		{"per", []int{7, 8}, "prioritised.probability, ImportanceWeights", checking(checkPriorities)},
		{"per-beta", nil, "PriorityBeta", checking(checkBeta)},
		{"her", nil, "replay.relabel", checking(checkHindsight)},
		{"her-future", nil, "futureStep", checking(checkFuture)},
		{"optimal-return", nil, "OptimalReturn", checking(checkOptimalReturn)},
		{"update", nil, "Agent.learnFrom", checking(checkUpdate)},
		{"update-joint", nil, "Agent.learnFrom", checking(checkUpdate)},
		{"gaussian-nll", nil, "GaussianLoss", checking(checkGaussianLoss)},
		{"vds", nil, "valueDisagreement, vdsProbabilities", checking(checkVDS)},
		{"kde", nil, "logDensity", checking(checkDensity)},
	}
}

// checkFile runs the cases of one file.
func checkFile(name string, text []byte) ([]CheckResult, error) {
	var file struct {
		Equation string            `json:"equation"`
		Paper    string            `json:"paper"`
		Cases    []json.RawMessage `json:"cases"`
	}
	if err := decode(text, &file, "the file"); err != nil {
		return nil, err
	}
	all := equations()
	k := slices.IndexFunc(all, func(e equation) bool { return e.name == file.Equation })
	if k < 0 {
		known := make([]string, len(all))
		for i, e := range all {
			known[i] = e.name
		}
		return nil, fmt.Errorf("unknown equation %q; known are %s", file.Equation, strings.Join(known, ", "))
	}
	if len(file.Cases) == 0 {
		return nil, errors.New("no cases")
	}
	var results []CheckResult
	seen := map[string]bool{}
	for i, raw := range file.Cases {
		var c struct {
			Name string          `json:"name"`
			In   json.RawMessage `json:"in"`
			Out  json.RawMessage `json:"out"`
			Tol  float64         `json:"tol"`
		}
		if err := decode(raw, &c, fmt.Sprintf("cases[%d]", i)); err != nil {
			return nil, err
		}
		if c.Name == "" || seen[c.Name] {
			return nil, fmt.Errorf("cases[%d]: the name %q is empty or another case's", i, c.Name)
		}
		seen[c.Name] = true
		if !(c.Tol >= 0 && c.Tol <= 0.01) {
			return nil, fmt.Errorf("case %q: tol is %v, allowed are 0 to 0.01", c.Name, c.Tol)
		}
		e := all[k]
		r := CheckResult{File: name, Equation: e.name, Case: c.Name, Numbers: e.numbers, Function: e.function, Tolerance: c.Tol}
		if r.Worst, r.Err = e.check(c.In, c.Out, c.Tol); r.Err != nil {
			r.Err = fmt.Errorf("qta: vectors: %s: case %q: %w", name, c.Name, r.Err)
		}
		results = append(results, r)
	}
	return results, nil
}

// checking makes a checker of a function from the struct of a case's "in" to
// that of its "out". The function ends by fail where "in" makes no sense.
func checking[In, Out any](f func(In) Out) checker {
	return func(in, out json.RawMessage, tolerance float64) (worst float64, err error) {
		defer func() {
			if r := recover(); r != nil {
				e, ok := r.(badVector)
				if !ok {
					panic(r)
				}
				err = e
			}
		}()
		var i In
		var want Out
		if err := decode(in, &i, "in"); err != nil {
			return 0, err
		}
		if err := decode(out, &want, "out"); err != nil {
			return 0, err
		}
		c := comparison{tolerance: tolerance}
		c.compare(reflect.ValueOf(f(i)), reflect.ValueOf(want), path{{key: "out"}})
		if c.numbers == 0 {
			c.fail(path{{key: "out"}}, "has no numbers")
		}
		return c.worst, c.err
	}
}

// badVector is what is wrong with a case.
type badVector string

func (e badVector) Error() string { return string(e) }

func fail(format string, args ...any) { panic(badVector(fmt.Sprintf(format, args...))) }

// A comparison of results with what they should be.
type comparison struct {
	tolerance float64
	numbers   int // compared
	worst     float64
	err       error // the first that does not hold
}

func (c *comparison) compare(got, want reflect.Value, p path) {
	switch got.Kind() {
	case reflect.Struct:
		for i := range got.NumField() {
			name, _, _ := strings.Cut(got.Type().Field(i).Tag.Get("json"), ",")
			c.compare(got.Field(i), want.Field(i), p.key(name))
		}
	case reflect.Slice:
		if got.Len() != want.Len() {
			c.fail(p, "has %d elements in the file, the code gives %d", want.Len(), got.Len())
			return
		}
		for i := range got.Len() {
			c.compare(got.Index(i), want.Index(i), p.index(i))
		}
	case reflect.Int:
		c.number(float64(got.Int()), float64(want.Int()), p)
	default:
		c.number(got.Float(), want.Float(), p)
	}
}

func (c *comparison) number(r, e float64, p path) {
	distance := math.Abs(r-e) / (1 + math.Abs(e))
	c.numbers++
	c.worst = max(c.worst, distance) // NaN if either is
	if !(distance <= c.tolerance) {
		c.fail(p, "is %v in the file, the code gives %v; |r-e| / (1 + |e|) is %.3g, allowed are %v", e, r, distance, c.tolerance)
	}
}

func (c *comparison) fail(p path, format string, args ...any) {
	if c.err == nil {
		c.err = p.errorf(format, args...)
	}
}
