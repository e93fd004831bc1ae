package main

import (
	"encoding/json"
	"strings"
	"testing"

	"qta"
)

// What is wrong with a file of parameters is named with the place where it ends.
func TestReadParams(t *testing.T) {
	const refused = "parameters: unexpected end of JSON input"
	for _, test := range []struct{ text, want, place string }{
		{"", refused, "line 1, column 1"},
		{"\n\n  [1]", "parameters: want a JSON object, such as {\"Batch\": 256}", "line 3, column 4"},
		{`{"Batch": 1`, refused, "line 1, column 12"},
		{"{\"Batch\": 1,\n}", "parameters: a comma with nothing after it; remove it", "line 1, column 13"},
		{`{} {}`, "parameters: invalid character '{' after top-level value", "line 1, column "}, // 5, or 4 by another decoder
		{"{\r\n\"Batch\": 12,\r\n\"Batch\": 12\r\n}\r\n", "parameter Batch is given twice", "line 3, column 8"},
		{`{"γ": 2, "Batch": 1}`, `qta: unknown parameter "γ"; "qta params" lists them`, "line 1, column 8"},
		{"{\n\t\"Batch\": 0}", "qta: parameter Batch is 0, allowed are [1,65536]", "line 2, column 12"},
		{`{"Batch": "1"}`, "qta: parameter Batch: `\"1\"` is not a whole number", "line 1, column 14"},
		{`{"Batch": null}`, "qta: parameter Batch: `null` is not a whole number", "line 1, column 15"},
		{"{\"Replay\": [\n1]}", `qta: parameter Replay: "[\n1]" is not a word`, "line 2, column 3"},
	} {
		want := test.want + " (before " + test.place
		if _, err := readParams(test.text, qta.Paper()); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: error %v, want %s", test.text, err, want)
		}
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
