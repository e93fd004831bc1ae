// Command annotate writes docs/annotated.html, the paper beside the code, the
// table of Readings in docs/readings.md, and what "qta params" says of each
// parameter: from docs/annotated.txt, which says what each passage of the paper
// says and which functions belong to it, from the package's sources, from the
// golden vectors, and from pictures that qta has drawn. Whatever can be derived
// is derived; what these do not agree on is an error that names the passage.
package main

//go:generate go run . ../..

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: annotate DIRECTORY-OF-THE-REPOSITORY")
		os.Exit(2)
	}
	for _, file := range files() {
		text, err := file.make(os.Args[1])
		if err == nil {
			err = os.WriteFile(filepath.Join(os.Args[1], file.name), text, 0o666)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "annotate:", err)
			os.Exit(1)
		}
	}
}

// A file is one that this command makes, from the repository's root.
type file struct {
	name string
	make func(root string) ([]byte, error)
}

func files() []file {
	return []file{{pageFile, makePage}, {readingsFile, makeReadings}, {glossaryFile, makeGlossary}}
}
