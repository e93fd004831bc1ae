package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"

	"qta/cmd/qta/internal/rundir"
)

type exportFlags struct{ file string }

func (f *exportFlags) flagSet() *flag.FlagSet {
	*f = exportFlags{file: "agent.safetensors"}
	flags := newFlagSet("export")
	text(flags, &f.file, "o", "`FILE` the safetensors file (agent.safetensors)")
	return flags
}

func exportCommand(args []string, stdout, stderr io.Writer) error {
	var f exportFlags
	args, err := parseFlags(f.flagSet(), args)
	if err != nil {
		return err
	}
	dir, err := oneArgument("export", "a run directory", args)
	if err != nil {
		return err
	}
	_, a, err := openRun(dir, stderr)
	if err != nil {
		return err
	}
	defer a.Close()
	var b bytes.Buffer
	if err := a.WriteSafetensors(&b); err != nil {
		return err
	}
	through, err := rundir.Output(f.file, b.Bytes())
	if err != nil {
		return err
	} else if through {
		return nil // what follows would stand behind the networks
	}
	fmt.Fprintf(stdout, "Wrote the networks of %s, after %d environment steps, to %s: %d bytes. \"go doc qta.Agent.WriteSafetensors\" has the layout.\n",
		dir, a.Steps(), f.file, b.Len())
	return nil
}
