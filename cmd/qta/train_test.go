package main

import (
	"encoding/json"
	"testing"

	"qta"
	"qta/internal/roomtest"
)

// A file of parameters changes those of paper, and -set those of the file. testdata/refusals.txt has
// what can be wrong with the file.
func TestReadParams(t *testing.T) {
	t.Chdir(t.TempDir())
	roomtest.Write(t, "my.json", `{"HiddenSize": 8}`)
	want := qta.Paper()
	want.HiddenSize = 8
	want.Horizon = 9
	p, label, err := findParams("my.json", []string{"Horizon= 9"})
	must(t, err)
	equal(t, "the parameters", want, p)
	equal(t, "their label", "my-Horizon=9", label)
}

// FuzzReadParams holds what is read to the ranges.
func FuzzReadParams(f *testing.F) {
	authors, _ := json.Marshal(qta.Authors())
	f.Add(string(authors))
	f.Add(`{"Batch": 2, "Replay": "per", "ClipReturns": false}`)
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := readParams(text, qta.Beyond()); err == nil && p.Validate() != nil {
			t.Error(p.Validate())
		}
	})
}
