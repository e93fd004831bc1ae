package main

import (
	"bytes"
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
	"qta/cmd/qta/internal/words"
	"qta/internal/worked"
	"qta/testdata"
)

// This file is qta check: worked.go works the equations through in numbers,
// and package qta is held to all vectors, the golden ones or a folder's.

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
	number, err := equationNumber(args)
	if err != nil {
		return err
	}
	// All that is shown is made before any of it is: a folder that cannot be
	// read says so and nothing else.
	var page bytes.Buffer
	if f.vectors == "" {
		err = checkGolden(&page, number)
	} else {
		err = checkFolder(&page, f.vectors, number)
	}
	if _, writing := page.WriteTo(w); writing != nil {
		return writing
	}
	return err
}

// equationNumber returns the equation that the arguments name, or 0 for all.
func equationNumber(args []string) (int, error) {
	if len(args) == 0 {
		return 0, nil
	}
	n, err := strconv.Atoi(args[0])
	if last := worked.Equations(); err != nil || n < 1 || n > last {
		return 0, words.BadInput("qta check %q: want the number of an equation, from 1 to %d", args[0], last)
	}
	return n, noMore("check "+args[0], args[1:])
}

// checkGolden works through the equation, or all, and holds the code to the
// golden vectors.
func checkGolden(w io.Writer, number int) error {
	golden := testdata.Golden()
	results, err := qta.Check(golden)
	if err != nil {
		return err
	}
	apart, err := worked.Through(w, golden, number)
	if err != nil {
		return err
	}
	if err := showResults(w, "the golden vectors", results, number); err != nil || apart == 0 {
		return err
	}
	return fmt.Errorf("%d results of the equations do not hold", apart)
}

// checkFolder holds the code to the vectors of a folder.
func checkFolder(w io.Writer, dir string, number int) error {
	if info, err := os.Stat(dir); err != nil {
		return words.BadFile(err, "-vectors %s: %w", dir, words.Cause(err))
	} else if !info.IsDir() {
		return words.BadInput("-vectors %s: not a directory", dir)
	}
	results, err := qta.Check(os.DirFS(dir))
	if err != nil {
		return words.BadFile(err, "-vectors %s: %s", dir, strings.TrimPrefix(words.Bare(err), "vectors: "))
	}
	return showResults(w, dir, results, number)
}

// showResults writes a line for each case that concerns the equation, or for
// all, and returns an error if one does not hold.
func showResults(w io.Writer, source string, results []qta.CheckResult, number int) error {
	if number > 0 {
		results = slices.DeleteFunc(results, func(r qta.CheckResult) bool { return !slices.Contains(r.Numbers, number) })
	}
	if len(results) == 0 {
		return words.BadInput("%s has no vectors of Equation %d", source, number)
	}
	fmt.Fprintf(w, "The code held to %s; worst is the largest |r - e| / (1 + |e|) of a result r and the e expected:\n\n", source)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "file\tcase\tequation\tfunction\tworst\tallowed\tverdict")
	broken := 0
	for _, r := range results {
		verdict := "holds"
		if r.Err != nil {
			broken++
			verdict = "DOES NOT HOLD: " + words.Bare(cmp.Or(errors.Unwrap(r.Err), r.Err))
		}
		numbers := make([]string, len(r.Numbers))
		for i, n := range r.Numbers {
			numbers[i] = strconv.Itoa(n)
		}
		fmt.Fprintf(t, "%s\t%q\t%s\t%s\t%.2g\t%v\t%s\n", words.Plain(r.File), r.Case, strings.Join(numbers, ", "), r.Function, r.Worst, r.Tolerance, verdict)
	}
	t.Flush() // the error is that of w, a buffer
	fmt.Fprintf(w, "\n%d of %d cases hold.\n", len(results)-broken, len(results))
	if broken > 0 {
		return fmt.Errorf("%d of %d cases of %s do not hold", broken, len(results), source)
	}
	return nil
}
