package main

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"qta"
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
	says(t, "check",
		"TDTarget, td-target.json: apart by at most 2e-05",
		`"M=[2, 0]" holds within `,
		fmt.Sprintf("\n%d of %[1]d cases hold.\n", len(cases)))
	for i, formula := range formulas {
		number := strconv.Itoa(i + 1)
		says(t, "check "+number, "Equation "+number+": "+formula+"\n", "difference")
	}
	// A line shows the vector's number, then the code's, which begins like this with any kernel.
	words := strings.Fields(mustRun(t, "check 2"))
	has(t, strings.Join(words, " "), "out.loss[0] 30.6897907 30.68979")
}
