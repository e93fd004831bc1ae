package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"qta"
	"qta/internal/files"
	"qta/internal/words"
	"qta/lab"
)

type mazeFlags struct{ file string }

func (f *mazeFlags) flagSet() *flag.FlagSet {
	*f = mazeFlags{}
	flags := newFlagSet("maze")
	text(flags, &f.file, "o", "`FILE` an SVG file to draw the maze to")
	return flags
}

func mazeCommand(c call) error {
	var f mazeFlags
	args, err := parseFlags(f.flagSet(), c.args)
	if err == nil {
		err = writable(f.file, ".svg")
	}
	if err != nil {
		return err
	}
	file, err := oneArgument("maze", "the name of a maze or of a map file, such as 4x5, 1U5 or my.txt", args)
	if err != nil {
		return err
	}
	m, name, err := findMaze(file)
	if err != nil {
		return err
	}
	if f.file != "" {
		if through, err := files.Output(f.file, lab.DrawMaze(m, name)); err != nil || through {
			return err
		}
	}
	free := strings.Count(m.String(), ".") + 2 // S and G
	fmt.Fprintf(c.out, "%s\n\n%s: %d by %d cells within the outer wall, %d of them free, path length %d\n",
		strings.TrimRight(m.String(), "\n"), name, m.Rows()-2, m.Cols()-2, free, m.PathLength())
	return nil
}

// findMaze returns the maze that a name or a file's path denotes, and its
// name.
func findMaze(name string) (*qta.Maze, string, error) {
	isPath := strings.ContainsRune(name, '/') || strings.ContainsRune(name, os.PathSeparator) ||
		strings.HasSuffix(name, ".txt") || strings.HasSuffix(name, ".map")
	if !isPath {
		m, err := qta.NewMaze(name)
		if err != nil {
			meant := ""
			for _, other := range []string{strings.ToLower(name), strings.ToUpper(name)} { // 4X5, 1u5
				if _, err := qta.NewMaze(other); err == nil {
					meant = fmt.Sprintf(" (did you mean %s?)", other)
				}
			}
			return nil, "", words.BadInput("%s%s; a map file's name has a path separator or ends in .txt or .map", words.Bare(err), meant)
		}
		return m, name, nil
	}
	text, err := files.ReadText(name)
	if err != nil {
		return nil, "", words.BadFile(err, "map file %s: %w", name, err)
	}
	m, err := qta.ParseMaze(text)
	if err != nil {
		return nil, "", words.BadInput("map file %s: %s", name, words.Bare(err))
	}
	return m, stem(name), nil
}
