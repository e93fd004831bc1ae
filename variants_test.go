package qta

import (
	"reflect"
	"strings"
	"testing"
)

// words returns the values that a parameter may have, if they are words.
func words(name string) []string {
	f, ok := reflect.TypeFor[Params]().FieldByName(name)
	if !ok || f.Type.Kind() != reflect.String {
		return nil
	}
	return strings.Split(f.Tag.Get("range"), "|")
}

// Tests run every word of every parameter: each is in an entry of variants.
func TestVariantsRunEveryWord(t *testing.T) {
	for _, f := range fields() {
		run := map[string]bool{}
		for _, v := range variants() {
			run[v.Params.Value(f.Name)] = true
		}
		for _, word := range words(f.Name) {
			if !run[word] {
				t.Errorf("no test runs %s=%s: give variants() in checkpoint_test.go an entry with it; "+
					"docs/changing.md has what else a new word needs", f.Name, word)
			}
		}
	}
}
