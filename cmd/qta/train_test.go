package main

import (
	"encoding/json"
	"strings"
	"testing"

	"qta"
)

// What is wrong with a file of parameters is named.
func TestReadParams(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "line 1: unexpected end of JSON input",
		"\n\n  [1]":            "want a JSON object, such as {\"Batch\": 256}",
		"null":                 "want a JSON object",
		"{\"Batch\": 1,\n}":    "line 2: invalid character '}'",
		`{} {}`:                "line 1: invalid character '{' after top-level value",
		`{"γ": 2, "Batch": 1}`: `qta: unknown parameter "γ"; "qta params" lists them`,
		`{"Batch": 0}`:         "qta: parameter Batch is 0, allowed are [1,65536]",
		`{"Batch": "1"}`:       "qta: parameter Batch: `\"1\"` is not a whole number",
		`{"Batch": null}`:      "qta: parameter Batch: `null` is not a whole number",
		"{\"Replay\": [\n1]}":  `qta: parameter Replay: "[\n1]" is not a word`,
	} {
		if _, err := readParams(text, qta.Paper()); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: error %v, want %s", text, err, want)
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
