package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"qta"
	"qta/internal/words"
	"qta/testdata"
)

// This file is qta check: package qta is held to vectors, the golden ones or a
// folder's, and a case of each file is shown in numbers.

// formulas are the paper's equations, Equation 1 first.
var formulas = [...]string{
	"y = r + γ min_{i in M} Q_targ,i(s', a', g'),  a' = π_targ(s', g')",
	"1/|B| Σ (Q(s, a, g) - y)², and its gradient",
	"φ_targ = ρ φ_targ + (1 - ρ) φ",
	"1/|B| Σ |s' - P(ξ)|², and its gradient",
	"ε = 1/d Σ_j std_i P_i(Q_backbone,i(s, a_j, g))",
	"p_k = max(m ε_k + b, 0) / Σ_k max(m ε_k + b, 0)",
	"P(j) = p_j^α / Σ_j p_j^α",
	"w_j = (1/N · 1/P(j))^β, and w_j / max_j w_j",
}

func checkCommand(flags *flag.FlagSet) func(call) error {
	folder := flags.String("vectors", "", "`DIR` check the vectors of a folder, in the format of testdata/golden")
	return func(c call) error {
		number := 0 // for all equations
		if len(c.args) > 0 {
			var err error
			if number, err = strconv.Atoi(c.args[0]); err != nil || number < 1 || number > len(formulas) {
				return words.BadInput("qta check %q: want the number of an equation, from 1 to %d", c.args[0], len(formulas))
			}
		}
		source, vectors := "the golden vectors", testdata.Golden()
		if *folder != "" {
			source, vectors = "-vectors "+*folder, os.DirFS(*folder)
		}
		results, err := qta.Check(vectors)
		if err != nil {
			return words.BadFile(err, "%s: %s", source, strings.TrimPrefix(words.Bare(err), "vectors: "))
		}
		results = slices.DeleteFunc(results, func(r qta.CheckResult) bool {
			return number > 0 && !slices.Contains(r.Numbers, number)
		})
		if len(results) == 0 {
			return words.BadInput("%s: no vectors of Equation %d", source, number)
		}
		if broken := showResults(c.out, results); broken > 0 {
			return fmt.Errorf("%s: %d of %d cases do not hold", source, broken, len(results))
		}
		return nil
	}
}

// showResults writes the results file by file, the paper's equations first, and
// returns how many cases do not hold.
func showResults(w io.Writer, results []qta.CheckResult) (broken int) {
	first := func(r qta.CheckResult) int {
		if len(r.Numbers) > 0 {
			return r.Numbers[0]
		}
		return len(formulas) + 1
	}
	slices.SortStableFunc(results, func(a, b qta.CheckResult) int {
		return cmp.Or(first(a)-first(b), strings.Compare(a.File, b.File))
	})
	for rest := results; len(rest) > 0; {
		n := slices.IndexFunc(rest, func(r qta.CheckResult) bool { return r.File != rest[0].File })
		if n < 0 {
			n = len(rest)
		}
		broken += showFile(w, rest[:n])
		rest = rest[n:]
	}
	fmt.Fprintf(w, "%d of %d cases hold.\n", len(results)-broken, len(results))
	return broken
}

// showFile writes the results of one file, with some numbers of a case, and
// returns how many cases do not hold.
func showFile(w io.Writer, results []qta.CheckResult) (broken int) {
	shown := results[0]
	for _, n := range shown.Numbers {
		fmt.Fprintf(w, "Equation %d: %s\n", n, formulas[n-1])
	}
	worst, problems := 0.0, ""
	for _, r := range results {
		worst = max(worst, r.Worst)
		if r.Err != nil {
			broken++
			problems += fmt.Sprintf("%q DOES NOT HOLD: %s\n", r.Case, words.Bare(cmp.Or(errors.Unwrap(r.Err), r.Err)))
		}
	}
	fmt.Fprintf(w, "%s, %s: %d of %d cases hold, apart by at most %.2g (1 + |vector|), allowed %v\n%s",
		shown.Function, words.Plain(shown.File), len(results)-broken, len(results), worst, shown.Tolerance, problems)

	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "case %q\tvector\tcode\tdifference\t\n", shown.Case)
	const few = 3 // of each output
	seen := map[string]int{}
	for _, c := range shown.Compared {
		output, _, _ := strings.Cut(c.Name, "[")
		if seen[output]++; seen[output] <= few {
			fmt.Fprintf(t, "%s\t%.9g\t%.9g\t%.2g\t\n", words.Plain(c.Name), c.Vector, c.Code, c.Code-c.Vector)
		}
	}
	t.Flush() // the error is one of w, which keeps it
	fmt.Fprintln(w)
	return broken
}
