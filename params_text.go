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

// This file reads parameters from text, and checks them.

// fields lists the parameters, once: a report reads thousands of records.
var fields = sync.OnceValue(func() []reflect.StructField {
	all := reflect.VisibleFields(reflect.TypeFor[Params]())
	return slices.DeleteFunc(all, func(f reflect.StructField) bool { return f.Anonymous })
})

// Value returns the value of the field called name as text. It panics unless
// there is one.
func (p Params) Value(name string) string {
	return fmt.Sprint(reflect.ValueOf(p).FieldByName(name).Interface())
}

// Set changes the field called name to the value that text spells: a JSON
// value, or a bare word. An unknown name or a value that is not allowed gives
// an error and leaves p as it was.
func (p *Params) Set(name, text string) error {
	f, ok := reflect.TypeFor[Params]().FieldByName(name)
	near, _ := reflect.TypeFor[Params]().FieldByNameFunc(func(s string) bool { return strings.EqualFold(s, name) })
	if !ok && near.Name != "" && !near.Anonymous {
		return fmt.Errorf("qta: unknown parameter %q; it is called %s", name, near.Name)
	} else if !ok || f.Anonymous {
		return fmt.Errorf("qta: unknown parameter %q; \"qta params\" lists them", name)
	}
	want := f.Type.Kind()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil && want == reflect.String {
		value = text // a bare word
	}
	kind := reflect.ValueOf(value).Kind()
	if x, ok := value.(float64); ok && x == math.Trunc(x) && want == reflect.Int {
		kind = reflect.Int // such as 2e5
	}
	if kind != want {
		return fmt.Errorf("qta: parameter %s: %#q is not %s", name, text, kindNames[want])
	}
	if err := checkField(f, value); err != nil {
		return err
	}
	reflect.ValueOf(p).Elem().FieldByIndex(f.Index).Set(reflect.ValueOf(value).Convert(f.Type))
	return nil
}

var kindNames = map[reflect.Kind]string{
	reflect.Int: "a whole number", reflect.Float64: "a number", reflect.Bool: "true or false", reflect.String: "a word",
}

// Validate returns an error that names the first field whose value is not
// allowed, the value and the range.
func (p Params) Validate() error {
	for _, f := range fields() {
		if err := checkField(f, reflect.ValueOf(p).FieldByIndex(f.Index).Interface()); err != nil {
			return err
		}
	}
	if p.Curriculum != "qta" && (p.Uncertainty == "q" || p.UncertaintyNoise > 0) {
		return fmt.Errorf("qta: parameter Curriculum is %s, which uses no uncertainty: "+
			"Uncertainty %s and UncertaintyNoise %v need Curriculum qta", p.Curriculum, p.Uncertainty, p.UncertaintyNoise)
	}
	asked := p.Curriculum == "qta" || p.Replay == "per" || p.Replay == "td" && p.Learner == "authors"
	if p.Critics == 1 && asked {
		return errors.New("qta: parameter Critics is 1, which cannot disagree: " +
			"Curriculum qta, Replay per, and Replay td with Learner authors need 2 or more")
	}
	return nil
}

// checkField returns an error unless a value is in a field's range.
func checkField(f reflect.StructField, value any) error {
	ok, allowed := true, f.Tag.Get("range")
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

// oneLine returns a text from outside as an error may have it: quoted if it is not one
// line of printable characters.
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
