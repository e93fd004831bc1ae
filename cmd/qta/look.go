package main

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"qta"
	"qta/internal/files"
	"qta/internal/glossary"
	"qta/internal/words"
	"qta/lab"
)

// This file has the commands that look at a maze, a run or the parameters and
// leave them as they are: maze, eval, export and params.

func mazeCommand(flags *flag.FlagSet) func(call) error {
	file := flags.String("o", "", "draw the maze to an SVG `FILE`")
	return func(c call) error {
		if kind := filepath.Ext(*file); kind != "" && kind != ".svg" {
			return words.BadInput("-o %s: a %s file cannot be written, only .svg", *file, kind)
		}
		m, name, err := findMaze(c.args[0])
		if err != nil {
			return err
		}
		if *file != "" {
			if through, err := files.Output(*file, lab.DrawMaze(m, name)); err != nil || through {
				return err
			}
		}
		free := strings.Count(m.String(), ".") + 2 // S and G
		fmt.Fprintf(c.out, "%s\n\n%s: %d by %d cells within the outer wall, %d of them free, path length %d\n",
			strings.TrimRight(m.String(), "\n"), name, m.Rows()-2, m.Cols()-2, free, m.PathLength())
		return nil
	}
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
	seed := flags.Uint64("seed", 1, "seed `N` of the starts and goals")
	return func(c call) error {
		r, err := openRun(c)
		if err != nil {
			return err
		}
		defer r.Agent.Close()
		if len(r.Run.Map) == 0 {
			return words.BadInput("the agent of %s acts in %s, which this program does not know; Agent.Evaluate evaluates it",
				r.Dir, r.Run.Environment)
		}
		e, err := r.Agent.Evaluate(r.Run.NewMaze().Env(), *rollouts, *seed)
		if err != nil {
			return err
		}
		fmt.Fprintf(c.out,
			"The agent of %s, after %d environment steps in maze %s, reached the goal in %.4g %% of %d rollouts (seed %d).\n",
			r.Dir, r.Agent.Steps(), r.Run.Environment, 100*e.Success, *rollouts, *seed)
		fmt.Fprintf(c.out, "That is at the last of %d steps; %.4g %% were there at any time",
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
		"write the safetensors `FILE`, whose layout \"go doc qta.Agent.WriteSafetensors\" has")
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
		through, err := files.Output(*file, b.Bytes())
		if err == nil && !through { // else the line would stand behind the file
			fmt.Fprintf(c.out, "Wrote the networks of %s, after %s, to %s.\n", r.Dir,
				words.Count(r.Agent.Steps(), "environment step"), *file)
		}
		return err
	}
}

func paramsCommand(*flag.FlagSet) func(call) error {
	return func(c call) error {
		if len(c.args) > 0 {
			return writeParameter(c.out, c.args[0])
		}
		writeParameters(c.out)
		return nil
	}
}

const (
	paramsWidth  = 100 // columns of a line
	nameWidth    = 20
	meaningWidth = 65
)

// writeParameters writes what each parameter is, and its value in the usual set.
func writeParameters(w io.Writer) {
	fmt.Fprintf(w, "The parameters, with their values in the set %s, which trains unless -params names another;\n"+
		"a * marks those that differ in some set. \"qta params NAME\" has all about one.\n", usualParams)
	for _, g := range glossary.Groups() {
		fmt.Fprintf(w, "\n%s\n\n", strings.Join(words.Wrap(g.About+":", paramsWidth), "\n"))
		for _, p := range g.Parameters {
			set := qta.Fast()
			value := set.Value(p.Name)
			if slices.ContainsFunc(qta.Presets(), func(q qta.Preset) bool { return q.Params.Value(p.Name) != value }) {
				value += " *"
			}
			name := p.Name
			for _, line := range words.Wrap(p.Meaning, meaningWidth) {
				fmt.Fprintf(w, "%-*s %-*s %s\n", nameWidth, name, paramsWidth-nameWidth-meaningWidth-2, value, line)
				name, value = "", ""
			}
		}
	}
}

// writeParameter writes all there is to say of one parameter.
func writeParameter(w io.Writer, name string) error {
	i := slices.IndexFunc(qta.Fields(), func(f qta.Field) bool { return f.Name == name })
	if i < 0 {
		var p qta.Params
		return words.BadInput("%s", words.Bare(p.Set(name, "")))
	}
	var p glossary.Parameter
	for _, g := range glossary.Groups() {
		if i := slices.IndexFunc(g.Parameters, func(q glossary.Parameter) bool { return q.Name == name }); i >= 0 {
			p = g.Parameters[i]
		}
	}
	write := func(indent, text string) {
		for _, line := range words.Wrap(text, paramsWidth-len(indent)) {
			fmt.Fprintln(w, indent+line)
		}
	}
	field := qta.Fields()[i]
	write("", name+": "+p.Meaning+".")
	fmt.Fprintf(w, "\n  allowed    %s\n  source     %s (of its value in paper)\n", cmp.Or(field.Range, "true|false"), field.Source)
	for _, preset := range qta.Presets() {
		fmt.Fprintf(w, "  %-9s  %s\n", preset.Name, preset.Params.Value(name))
	}
	for _, c := range p.Choices {
		fmt.Fprintf(w, "\n%s at %s (%s)\n", c.Kind, c.Where, c.File)
		write("  ", "the text: "+c.Said)
		write("  ", "we: "+c.Done)
	}
	fmt.Fprintln(w, "\nSwitched by itself, with small networks on 1U5: runs solved of all, median of their steps, and in\n"+
		"brackets the same without the switch")
	if len(p.Effects) == 0 {
		p.Effects = []string{"not measured"}
	}
	for _, e := range p.Effects {
		write("  ", e)
	}
	return nil
}
