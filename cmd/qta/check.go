package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
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
// folder's, and a small case of each file is shown in numbers.

// formulas returns the paper's equations, Equation 1 first.
func formulas() []string {
	return []string{
		"y = r + γ min_{i in M} Q_targ,i(s', a', g'),  a' = π_targ(s', g')",
		"1/|B| Σ (Q(s, a, g) - y)², and its gradient",
		"φ_targ = ρ φ_targ + (1 - ρ) φ",
		"1/|B| Σ |s' - P(ξ)|², and its gradient",
		"ε = 1/d Σ_j std_i P_i(Q_backbone,i(s, a_j, g))",
		"p_k = max(m ε_k + b, 0) / Σ_k max(m ε_k + b, 0)",
		"P(j) = p_j^α / Σ_j p_j^α",
		"w_j = (1/N · 1/P(j))^β, and w_j / max_j w_j",
	}
}

type checkFlags struct{ vectors string }

func (f *checkFlags) flagSet() *flag.FlagSet {
	*f = checkFlags{}
	flags := newFlagSet("check")
	text(flags, &f.vectors, "vectors", "`DIR` check the vectors of a folder, in the format of testdata/golden")
	return flags
}

func checkCommand(args []string, w io.Writer) error {
	var f checkFlags
	args, err := parseFlags(f.flagSet(), args)
	if err != nil {
		return err
	}
	number := 0 // for all equations
	if len(args) > 0 {
		number, err = strconv.Atoi(args[0])
		if last := len(formulas()); err != nil || number < 1 || number > last {
			return words.BadInput("qta check %q: want the number of an equation, from 1 to %d", args[0], last)
		}
		if err := noMore("check "+args[0], args[1:]); err != nil {
			return err
		}
	}
	source, vectors := "the golden vectors", testdata.Golden()
	if f.vectors != "" {
		source, vectors = "-vectors "+f.vectors, os.DirFS(f.vectors)
	}
	results, err := qta.Check(vectors)
	if err != nil {
		return words.BadFile(err, "%s: %s", source, strings.TrimPrefix(words.Bare(err), "vectors: "))
	}
	return showResults(w, source, results, number)
}

// showResults writes what there is on the equation, or on all, and returns an
// error if a case does not hold. The paper's equations come first.
func showResults(w io.Writer, source string, results []qta.CheckResult, number int) error {
	var files [][]qta.CheckResult
	all, broken := 0, 0
	for i, r := range results {
		if number > 0 && !slices.Contains(r.Numbers, number) {
			continue
		}
		if i == 0 || r.File != results[i-1].File {
			files = append(files, nil)
		}
		files[len(files)-1] = append(files[len(files)-1], r)
		all++
	}
	if all == 0 {
		return words.BadInput("%s: no vectors of Equation %d", source, number)
	}
	first := func(file []qta.CheckResult) int {
		if numbers := file[0].Numbers; len(numbers) > 0 {
			return numbers[0]
		}
		return len(formulas()) + 1
	}
	slices.SortStableFunc(files, func(a, b []qta.CheckResult) int { return first(a) - first(b) })
	for _, file := range files {
		broken += showFile(w, file)
	}
	fmt.Fprintf(w, "%d of %d cases hold.\n", all-broken, all)
	if broken > 0 {
		return fmt.Errorf("%s: %d of %d cases do not hold", source, broken, all)
	}
	return nil
}

// showFile writes the results of one file, with some numbers of a small case, and
// returns how many cases do not hold.
func showFile(w io.Writer, results []qta.CheckResult) (broken int) {
	const few = 3 // of each output; a case with no more numbers shows little
	size := func(r qta.CheckResult) int {
		if n := len(r.Compared); n > few {
			return n
		}
		return math.MaxInt
	}
	small := slices.MinFunc(results, func(a, b qta.CheckResult) int { return cmp.Compare(size(a), size(b)) })
	for _, n := range small.Numbers {
		fmt.Fprintf(w, "Equation %d: %s\n", n, formulas()[n-1])
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
		small.Function, words.Plain(small.File), len(results)-broken, len(results), worst, small.Tolerance, problems)

	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "case %q\tvector\tcode\tdifference\t\n", small.Case)
	shown := map[string]int{}
	for _, c := range small.Compared {
		output, _, _ := strings.Cut(c.Name, "[")
		if shown[output]++; shown[output] <= few {
			fmt.Fprintf(t, "%s\t%.9g\t%.9g\t%.2g\t\n", words.Plain(c.Name), c.Vector, c.Code, c.Code-c.Vector)
		}
	}
	t.Flush() // the error is one of w, which keeps it
	fmt.Fprintln(w)
	return broken
}
