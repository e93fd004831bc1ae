// Command annotate writes docs/annotated.html, the paper beside the code: from
// docs/annotated.txt, which says what each passage of the paper says and which
// functions belong to it, from the package's sources, and from the golden
// vectors. Whatever can be derived is derived; what the three do not agree on
// is an error that names the passage.
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
	page, err := makePage(os.Args[1])
	if err == nil {
		err = os.WriteFile(filepath.Join(os.Args[1], pageFile), page, 0o666)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "annotate:", err)
		os.Exit(1)
	}
}
