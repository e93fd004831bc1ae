package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"qta"
	"qta/internal/files"
	"qta/internal/glossary"
	"qta/internal/words"
)

type paramsFlags struct{ wide bool }

func (f *paramsFlags) flagSet() *flag.FlagSet {
	*f = paramsFlags{}
	flags := newFlagSet("params")
	flags.BoolVar(&f.wide, "wide", false, "every parameter set side by side, in lines of more than 200 columns")
	return flags
}

func paramsCommand(c call) error {
	var f paramsFlags
	args, err := parseFlags(f.flagSet(), c.args)
	if err != nil {
		return err
	}
	if len(args) > 0 {
		if err := noMore("params "+args[0], args[1:]); err != nil {
			return err
		} else if f.wide {
			return words.BadInput("-wide is of all parameters; %s alone has its values in every set", args[0])
		}
		return writeParameter(c.out, args[0])
	}
	if f.wide {
		return writeWide(c.out)
	}
	return writeParameters(c.out)
}

const (
	paramsWidth  = 100 // columns of a line
	nameWidth    = 20
	meaningWidth = 65
)

// writeParameters writes what each parameter is, and its value in the set that
// trains where none is named.
func writeParameters(w io.Writer) error {
	var usual trainFlags
	usual.reset()
	set, _, err := namedParams(usual.params)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "The parameters, with their values in the set %s, which trains unless -params names another;\n"+
		"a * marks those that differ in some set. \"qta params NAME\" has all about one, -wide all sets.\n", usual.params)
	for _, g := range glossary.Groups() {
		fmt.Fprintf(w, "\n%s\n\n", strings.Join(words.Wrap(g.About+":", paramsWidth), "\n"))
		for _, p := range g.Parameters {
			value := set.Value(p.Name)
			for _, preset := range qta.Presets() {
				if preset.Params.Value(p.Name) != value {
					value += " *"
					break
				}
			}
			name := p.Name
			for _, line := range words.Wrap(p.Meaning, meaningWidth) {
				fmt.Fprintf(w, "%-*s %-*s %s\n", nameWidth, name, paramsWidth-nameWidth-meaningWidth-2, value, line)
				name, value = "", ""
			}
		}
	}
	return nil
}

// writeWide writes every parameter's value in every set, and where it is from.
func writeWide(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "parameter")
	for _, preset := range qta.Presets() {
		fmt.Fprint(t, "\t", preset.Name)
	}
	fmt.Fprintln(t, "\tallowed\tsource of paper's value")
	for _, field := range qta.Fields() {
		fmt.Fprint(t, field.Name)
		for _, preset := range qta.Presets() {
			fmt.Fprint(t, "\t", preset.Params.Value(field.Name))
		}
		fmt.Fprintf(t, "\t%s\t%s\n", allowed(field), field.Source)
	}
	return t.Flush()
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
	field := qta.Fields()[i]
	var p glossary.Parameter
	for _, g := range glossary.Groups() {
		for _, q := range g.Parameters {
			if q.Name == name {
				p = q
			}
		}
	}
	write := func(indent, text string) {
		for _, line := range words.Wrap(text, paramsWidth-len(indent)) {
			fmt.Fprintln(w, indent+line)
		}
	}
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
	fmt.Fprintln(w,
		"\nSwitched by itself, with small networks on 1U5: runs solved of all, median of their steps, and in")
	fmt.Fprintln(w, "brackets the same without the switch")
	if len(p.Effects) == 0 {
		fmt.Fprintln(w, "  not measured")
	}
	for _, e := range p.Effects {
		write("  ", e)
	}
	return nil
}

// findParams returns the parameters that the flags -params and -set describe,
// and the name that directories bear for them.
func findParams(name string, set []string) (qta.Params, string, error) {
	p, label, err := namedParams(name)
	if err != nil {
		return p, label, err
	}
	for _, s := range set {
		field, value, ok := strings.Cut(s, "=")
		if !ok {
			return p, label, words.BadInput("-set %q: want name=value, such as -set Batch=256", s)
		}
		if err := p.Set(field, value); err != nil {
			return p, label, words.BadInput("-set %s: %s", s, words.Bare(err))
		}
		label += "-" + field + "=" + strings.TrimSpace(value)
	}
	return p, label, nil
}

func namedParams(name string) (qta.Params, string, error) {
	var names []string
	for _, preset := range qta.Presets() {
		if preset.Name == name {
			return preset.Params, name, nil
		}
		names = append(names, preset.Name)
	}
	if !strings.HasSuffix(name, ".json") {
		return qta.Params{}, "", words.BadInput("-params %q: want %s or a file that ends in .json", name,
			strings.Join(names, ", "))
	}
	data, err := files.ReadText(name)
	if err != nil {
		return qta.Params{}, "", words.BadFile(err,
			"-params %s: %w; want a JSON object such as {\"Batch\": 256}", name, err)
	}
	p, err := qta.ReadParams(strings.NewReader(data), qta.Default())
	if err != nil {
		return p, "", words.BadInput("-params %s: %s", name, words.Bare(err))
	}
	return p, stem(name), nil
}

// stem returns the last element of a path without its extension.
func stem(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}
