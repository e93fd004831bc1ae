package main

import (
	"fmt"
	"strings"
	"testing"

	"qta"
	"qta/internal/roomtest"
	"qta/testdata"
)

// TestCheck runs the command where there is no repository, for every equation. TestIndex of the
// library holds which vectors an equation has.
func TestCheck(t *testing.T) {
	t.Chdir(t.TempDir())
	cases, err := qta.Check(testdata.Golden())
	if err != nil || len(cases) == 0 {
		t.Fatalf("%d cases, error %v", len(cases), err)
	}
	has(t, mustRun(t, "check"), "TDTarget, td-target.json: apart by at most 2e-05", `"M=[2, 0]" holds within `,
		fmt.Sprintf("\n%d of %[1]d cases hold.\n", len(cases)))
	for i, formula := range formulas {
		one := mustRun(t, fmt.Sprintf("check %d", i+1))
		has(t, one, fmt.Sprintf("Equation %d: %s\n", i+1, formula), "difference")
	}
	// A line shows the vector's number, then the code's, which begins like this with any kernel.
	has(t, strings.Join(strings.Fields(mustRun(t, "check 2")), " "), "out.loss[0] 30.6897907 30.68979")
}

// The difference of a number is above 0 if the code's number is the larger one.
func TestCheckDifference(t *testing.T) {
	var shown strings.Builder
	showNumbers(&shown, qta.CheckResult{Compared: []qta.Comparison{{Name: "out.y[0]", Vector: 1, Code: 1.5}}})
	has(t, strings.Join(strings.Fields(shown.String()), " "), "vector code difference out.y[0] 1 1.5 0.5")
}

// vectors is a file with a vector of Equation 1, and more.
func vectors(more string) string {
	return `{"equation": "td-target", "paper": "", "cases": [` + vector("one", "-0.5") + more + "]}"
}

// vector is a case whose output should be -0.5.
func vector(name, output string) string {
	const in = `{"r": [-1], "gamma": 0.5, "q_target": [[1], [3]], "M": [1, 0]}`
	return `{"name": "` + name + `", "in": ` + in + `, "out": {"y": [` + output + `]}, "tol": 1e-6}`
}

// A vector that the code does not match is a failure. TestShown has vectors that it matches.
func TestCheckVectors(t *testing.T) {
	t.Chdir(t.TempDir())
	roomtest.Write(t, "folder/x.json", vectors(","+vector("max for min", "0.5")))
	got := invoke(t, "check -vectors folder")
	equal(t, "the exit code", exitFailure, got.code)
	equal(t, "the error", "qta: -vectors folder: 1 of 2 cases do not hold\n", got.errors)
	has(t, got.out, `"max for min" DOES NOT HOLD: out.y[0]: the file has 0.5, package qta gives -0.5;`)
	has(t, got.out, "\n1 of 2 cases hold.\n")
}
