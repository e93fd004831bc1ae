package main

import (
	"bytes"
	_ "embed"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"qta"
	"qta/internal/words"
	"qta/lab"
)

// This file has the commands that look at a maze, a run or the parameters and
// leave them as they are: maze, eval, export and params.

func mazeCommand(flags *flag.FlagSet) func(call) error {
	file := flags.String("o", "", "draw the maze to an SVG `FILE`")
	return func(c call) error {
		m, name, err := findMaze(c.args[0])
		if err != nil {
			return err
		}
		if *file != "" {
			picture := words.Text(string(lab.DrawMaze(m, name)))
			if err := writeOutput(*file, ".svg", []byte(picture)); err != nil {
				return err
			}
		}
		free := strings.Count(m.String(), ".") + 2 // S and G
		fmt.Fprintln(c.out, m)
		fmt.Fprintf(c.out, "%s: %d by %d cells within the outer wall, %d of them free, path length %d\n",
			name, m.Rows()-2, m.Cols()-2, free, m.PathLength())
		return nil
	}
}

// writeOutput writes a file that the command line names, whose name must end in kind, such
// as ".svg". An older file stays until the new one is complete.
func writeOutput(path, kind string, data []byte) error {
	if filepath.Ext(path) != kind { // path may name a map or a sweep file by mistake
		return words.BadInput("-o %s: want a file whose name ends in %s", path, kind)
	}
	dir := filepath.Dir(path)
	record, err := os.Stat(filepath.Join(dir, lab.RecordFile))
	if err == nil && record.Mode().IsRegular() {
		return words.BadInput("-o: %s is a run directory, whose files are its own; name another place",
			dir)
	}
	unfinished := path + ".tmp"
	err = os.WriteFile(unfinished, data, 0o666)
	if err == nil {
		err = os.Rename(unfinished, path)
	}
	if err != nil {
		os.Remove(unfinished)
		return words.BadFile(err, "-o %s cannot be written: %w; name another place",
			path, words.Cause(err))
	}
	return nil
}

// openRun opens the run that a command's argument names.
func openRun(c call) (*lab.Run, error) {
	r, err := lab.Open(c.args[0])
	if err == nil && r.Warning != nil {
		warn(c.stderr, r.Warning.Error())
	}
	return r, err
}

func evalCommand(flags *flag.FlagSet) func(call) error {
	rollouts := wholeNumber(flags, "rollouts", 100, 1, 1_000_000, "evaluate `N` rollouts")
	seed := wholeNumber[uint64](flags, "seed", 1, 0, math.MaxUint64,
		"seed `N` of the starts and goals")
	return func(c call) error {
		r, err := openRun(c)
		if err != nil {
			return err
		}
		defer r.Agent.Close()
		if len(r.Run.Map) == 0 {
			return words.BadInput("the agent of %s acts in %s, which this program does not know; "+
				"evaluate it by Agent.Evaluate", r.Dir, r.Run.Environment)
		}
		e, err := r.Agent.Evaluate(r.Run.NewMaze().Env(), *rollouts, *seed)
		if err != nil {
			return err
		}
		fmt.Fprintf(c.out, "The agent of %s, trained for %d environment steps, ",
			r.Dir, r.Agent.Steps())
		fmt.Fprintf(c.out, "ended at the goal of maze %s in %.4g %% of %d rollouts (seed %d).\n",
			r.Run.Environment, 100*e.Success, *rollouts, *seed)
		fmt.Fprintf(c.out, "Only the last of %d steps counts; %.4g %% were at the goal at some time",
			r.Agent.Params().Horizon, 100*e.Reached)
		if e.Reached > 0 {
			fmt.Fprintf(c.out, ", first after %.4g steps on average", e.StepsToGoal)
		}
		fmt.Fprintf(c.out, ". The mean return is %.4g.\n", e.Return)
		return nil
	}
}

func exportCommand(flags *flag.FlagSet) func(call) error {
	file := flags.String("o", "agent.safetensors",
		"write the safetensors `FILE`; \"go doc qta.Agent.WriteSafetensors\" describes its layout")
	return func(c call) error {
		r, err := openRun(c)
		if err != nil {
			return err
		}
		defer r.Agent.Close()
		var b bytes.Buffer
		if err := r.Agent.WriteSafetensors(&b); err != nil {
			return err
		}
		if err := writeOutput(*file, ".safetensors", b.Bytes()); err != nil {
			return err
		}
		fmt.Fprintf(c.out, "Wrote the networks of %s, after %s, to %s.\n", r.Dir,
			words.Count(r.Agent.Steps(), "environment step"), *file)
		return nil
	}
}

// parameters is made from the sources by docs/annotate. It begins with the list of all
// parameters. Each set and each parameter then has a page, which follows a form feed.
//
//go:embed parameters.txt
var parameters string

func paramsCommand(*flag.FlagSet) func(call) error {
	return func(c call) error {
		text, _, _ := strings.Cut(parameters, "\f")
		if len(c.args) > 0 {
			var err error
			text, err = aboutParameter(c.args[0])
			if err != nil {
				return err
			}
		}
		fmt.Fprint(c.out, text)
		return nil
	}
}

// aboutParameter returns the page on the parameter or set with this name. If the name is a
// symbol of the paper, or a parameter's in other capitals, the error says which parameter is
// meant. Otherwise aboutParameter returns the descriptions of parameters that contain the name.
func aboutParameter(name string) (string, error) {
	entries := strings.Split(parameters, "\f")[1:]
	for _, entry := range entries {
		if strings.HasPrefix(entry, name+": ") {
			return entry, nil
		}
	}
	const longest = 3 // letters of a symbol, |B|
	symbol := regexp.MustCompile(`\f(\w+): ` + regexp.QuoteMeta(name) + `(,|:| of) `)
	found := symbol.FindStringSubmatch(parameters)
	if found != nil && utf8.RuneCountInString(name) <= longest {
		return "", words.BadInput("the paper's %s is the parameter %s: see qta params %[2]s",
			name, found[1])
	}
	unknown := words.BadInput("%s", words.Bare(new(qta.Params).Set(name, "")))
	if !strings.HasSuffix(unknown.Error(), "lists them") { // it says which parameter is meant
		return "", unknown
	}
	var text strings.Builder
	for _, entry := range entries {
		about, _, _ := strings.Cut(entry, "\n\n")
		isSet := strings.Contains(about, ": this set ")
		if !isSet && strings.Contains(strings.ToLower(about), strings.ToLower(name)) {
			text.WriteString(about + "\n")
		}
	}
	if text.String() == "" {
		return "", unknown
	}
	return text.String() + "\n\"qta params NAME\" describes one of them in full.\n", nil
}
