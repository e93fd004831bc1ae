package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"qta"
	"qta/cmd/qta/internal/files"
	"qta/cmd/qta/internal/words"
)

func paramsCommand(args []string, w io.Writer) error {
	if args, err := parseFlags(newFlagSet("qta params"), args); err != nil {
		return err
	} else if err := noMore("params", args); err != nil {
		return err
	}
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
		fmt.Fprintf(t, "\t%s\t%s\n", cmp.Or(field.Range, "true|false"), field.Source)
	}
	return t.Flush()
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
	}
	return p, strings.Join(append([]string{label}, set...), "-"), nil
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
		return qta.Params{}, "", words.BadInput("-params %q: want %s or a file that ends in .json", name, strings.Join(names, ", "))
	}
	data, err := files.Read(name, maxInput)
	if err != nil {
		return qta.Params{}, "", words.BadFile(err, "-params %s: %w; want a JSON object such as {\"Batch\": 256}", name, err)
	}
	p, err := qta.ReadParams(bytes.NewReader(data), qta.Default())
	if err != nil {
		return p, "", words.BadInput("-params %s: %s", name, words.Bare(err))
	}
	return p, stem(name), nil
}

// maxInput is the most that is read of a parameter file or a map file, in
// bytes. A map of 10,000 cells is far smaller.
const maxInput = 1 << 20

// stem returns the last element of a path without its extension.
func stem(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}
