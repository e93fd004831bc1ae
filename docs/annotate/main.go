// Command annotate writes docs/annotated.html, the paper beside its code, the
// tables of docs/readings.md, and what "qta params" says of each parameter.
//
// It reads docs/annotated.txt, which says what each passage of the paper says
// and which functions belong to it, the sources, the golden vectors, and
// pictures that qta has drawn. Where these disagree it names every passage that
// has to be mended, and writes nothing.
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
	files, err := generate(os.DirFS(os.Args[1]))
	for name, text := range files {
		if err == nil {
			err = os.WriteFile(filepath.Join(os.Args[1], name), text, 0o666)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
