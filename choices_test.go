package qta

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every word that a parameter may be has a constant, named by field and word in
// the order of its range, and nothing else has.
func TestChoices(t *testing.T) {
	_, files, _ := parsePackage(t)
	got := map[string][]string{} // by the field's name
	for _, d := range files["params.go"].Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		text, ok := strings.CutPrefix(sentence(group.Doc), "Params.")
		field, _, _ := strings.Cut(text, ":")
		if !ok || got[field] != nil {
			t.Errorf("%q begins with no field, or with one that had a group", sentence(group.Doc))
		}
		for _, s := range group.Specs {
			c := s.(*ast.ValueSpec)
			value, err := strconv.Unquote(c.Values[0].(*ast.BasicLit).Value)
			if err != nil || !strings.EqualFold(c.Names[0].Name, field+value) {
				t.Errorf("the constant %s of %s is %q", c.Names[0].Name, field, value)
			}
			got[field] = append(got[field], value)
		}
	}
	want := map[string][]string{}
	for _, f := range Fields() {
		if words := strings.Split(f.Range, "|"); len(words) > 1 {
			want[f.Name] = words
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("words of parameters (-ranges +constants):\n%s", diff)
	}
	if !slices.Contains(want["Curriculum"], CurriculumQTA) {
		t.Error("no range has words")
	}
}
