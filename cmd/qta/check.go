package main

import (
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

// This file is qta check. It compares package qta with test vectors, each an input with its
// correct output. These are the golden vectors of the repository, or the vectors of a
// folder. For a single equation qta check also shows some numbers of each case.

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
	folder := flags.String("vectors", "",
		"hold this program to the vectors of the folder `DIR`, in the format of testdata/golden")
	return func(c call) error {
		number, err := equationNumber(c.args)
		if err != nil {
			return err
		}
		source := "the golden vectors"
		vectors := testdata.Golden()
		if *folder != "" {
			source = "-vectors " + *folder
			vectors = os.DirFS(*folder)
		}
		results, err := qta.Check(vectors)
		if err != nil {
			why := strings.TrimPrefix(words.Bare(err), "vectors: ") // which source says, too
			return words.BadFile(err, "%s: %s", source, why)
		}
		if number > 0 {
			others := func(r qta.CheckResult) bool { return !slices.Contains(r.Numbers, number) }
			results = slices.DeleteFunc(results, others)
		}
		if len(results) == 0 {
			return words.BadInput("%s: no vectors of Equation %d", source, number)
		}
		broken := showResults(c.out, results, number > 0)
		if broken > 0 {
			return fmt.Errorf("%s: %d of %d cases do not hold", source, broken, len(results))
		}
		return nil
	}
}

// equationNumber returns the number of the equation that the arguments name, or 0 if they
// name none.
func equationNumber(args []string) (int, error) {
	if len(args) == 0 {
		return 0, nil
	}
	number, err := strconv.Atoi(args[0])
	if err != nil || number < 1 || number > len(formulas) {
		return 0, words.BadInput("qta check %q: want the number of an equation, from 1 to %d",
			args[0], len(formulas))
	}
	return number, nil
}

// showResults writes the results file by file, the paper's equations first. On request it
// adds numbers of each case. It returns how many cases do not hold.
func showResults(w io.Writer, results []qta.CheckResult, numbers bool) (broken int) {
	slices.SortStableFunc(results, func(a, b qta.CheckResult) int { return rank(a) - rank(b) })
	for i, r := range results {
		newFile := i == 0 || r.File != results[i-1].File
		if newFile && i > 0 {
			fmt.Fprintln(w)
		}
		if newFile {
			showHeading(w, r)
		}
		verdict := fmt.Sprintf("holds within %.2g", r.Worst)
		if r.Err != nil {
			broken++
			verdict = "DOES NOT HOLD: " + words.Bare(errors.Unwrap(r.Err))
		}
		fmt.Fprintf(w, "  %q %s\n", r.Case, verdict)
		if numbers {
			showNumbers(w, r)
		}
	}
	fmt.Fprintf(w, "\n%d of %d cases hold.\n", len(results)-broken, len(results))
	return broken
}

// rank is the equation that a case checks, or a number after all equations if it checks none.
func rank(r qta.CheckResult) int {
	if len(r.Numbers) == 0 {
		return len(formulas) + 1
	}
	return r.Numbers[0]
}

// showHeading writes what stands before the cases of a file.
func showHeading(w io.Writer, r qta.CheckResult) {
	for _, n := range r.Numbers {
		fmt.Fprintf(w, "Equation %d: %s\n", n, formulas[n-1])
	}
	fmt.Fprintf(w, "%s, %s: apart by at most %v (1 + |vector|)\n",
		r.Function, words.Plain(r.File), r.Tolerance)
}

// showNumbers writes some numbers of a case.
func showNumbers(w io.Writer, r qta.CheckResult) {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\tvector\tcode\tdifference\t\n")
	const few = 3 // of each output
	seen := map[string]int{}
	for _, c := range r.Compared {
		output, _, _ := strings.Cut(c.Name, "[")
		seen[output]++
		if seen[output] <= few {
			fmt.Fprintf(t, "%s\t%.9g\t%.9g\t%.2g\t\n",
				words.Plain(c.Name), c.Vector, c.Code, c.Code-c.Vector)
		}
	}
	t.Flush() // w keeps an error
}
