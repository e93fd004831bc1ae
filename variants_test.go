package qta

import (
	"reflect"
	"strings"
	"testing"
)

// words returns the words that a parameter may be, or nil if it is a number or true or false.
func words(name string) []string {
	f, ok := reflect.TypeFor[Params]().FieldByName(name)
	if !ok || f.Type.Kind() != reflect.String {
		return nil
	}
	return strings.Split(f.Tag.Get("range"), "|")
}

// valuesRun returns the values of a parameter that tests run: those in variants.
func valuesRun(name string) map[string]bool {
	values := map[string]bool{}
	for _, v := range variants() {
		values[v.Params.Value(name)] = true
	}
	return values
}

// Tests run every word of every parameter.
func TestVariantsRunEveryWord(t *testing.T) {
	for _, f := range fields() {
		for _, word := range words(f.Name) {
			if !valuesRun(f.Name)[word] {
				t.Errorf("no test runs %s=%s: add an entry with it to variants() in checkpoint_test.go; "+
					"docs/changing.md says what else a new word needs", f.Name, word)
			}
		}
	}
}

// Tests run every departure, because each parameter of Departures has two values in variants.
func TestVariantsRunEveryDeparture(t *testing.T) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Departures]()) {
		if len(valuesRun(f.Name)) < 2 {
			t.Errorf("no test runs another value of %s: add an entry with one to variants() in checkpoint_test.go", f.Name)
		}
	}
}
