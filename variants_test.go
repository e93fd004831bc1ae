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

// Tests run every word of every parameter, because each word is in an entry of variants.
func TestVariantsRunEveryWord(t *testing.T) {
	for _, f := range fields() {
		run := map[string]bool{}
		for _, v := range variants() {
			run[v.Params.Value(f.Name)] = true
		}
		for _, word := range words(f.Name) {
			if !run[word] {
				t.Errorf("no test runs %s=%s: add an entry with it to variants() in checkpoint_test.go; "+
					"docs/changing.md says what else a new word needs", f.Name, word)
			}
		}
	}
}

// Tests run every departure, because each parameter of Departures has two values in variants.
func TestVariantsRunEveryDeparture(t *testing.T) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Departures]()) {
		values := map[string]bool{}
		for _, v := range variants() {
			values[v.Params.Value(f.Name)] = true
		}
		if len(values) < 2 {
			t.Errorf("no test runs another value of %s: add an entry with one to variants() in checkpoint_test.go", f.Name)
		}
	}
}
