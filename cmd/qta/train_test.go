package main

import (
	"encoding/json"
	"fmt"
	"testing"

	"qta"
	"qta/internal/roomtest"
	"qta/lab"
)

// A file of parameters changes those of paper, and -set those of the file. What is wrong
// with it is named.
func TestReadParams(t *testing.T) {
	t.Chdir(t.TempDir())
	roomtest.Write(t, "my.json", `{"HiddenSize": 8}`)
	want := qta.Paper()
	want.HiddenSize = 8
	want.Horizon = 9
	p, label, err := findParams("my.json", []string{"Horizon= 9"})
	if p != want || label != "my-Horizon=9" || err != nil {
		t.Errorf("%s: %+v, error %v", label, lab.Changes(want, p), err)
	}
	for _, test := range []struct{ text, want string }{
		{"", "line 1: unexpected end of JSON input"},
		{"\n\n  [1]", "want a JSON object, such as {\"Batch\": 256}"},
		{"null", "want a JSON object"},
		{"{\"Batch\": 1,\n}", "line 2: invalid character '}'"},
		{`{} {}`, "line 1: invalid character '{' after top-level value"},
		{`{"γ": 2, "Batch": 1}`, `unknown parameter "γ"; "qta params" lists them`},
		{`{"Batch": 0}`, "parameter Batch is 0, allowed are [1,65536]"},
		{`{"Batch": 2, "Replay": "per", "Batch": 2}`, "parameter Batch is given twice"},
		{"{\"Replay\": [\n1]}", `parameter Replay: "[\n1]" is not a word`},
	} {
		roomtest.Write(t, "my.json", test.text)
		_, _, err := findParams("my.json", nil)
		has(t, fmt.Sprint(err), "-params my.json: "+test.want)
	}
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
