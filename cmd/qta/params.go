package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"qta"
	"qta/internal/glossary"
	"qta/internal/words"
)

// This file is qta params.

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

// writeParameters writes what each parameter is, and its value in the set that
// trains where none is named.
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

// allowed returns the values of a parameter in words.
func allowed(f qta.Field) string { return cmp.Or(f.Range, "true|false") }

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
	fmt.Fprintf(w, "\n  allowed    %s\n  source     %s (of its value in paper)\n", allowed(field), field.Source)
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
