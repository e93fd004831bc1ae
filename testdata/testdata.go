// Package testdata holds the golden vectors, for the command and for the tests
// of projects that vendor package qta. The library does not import it.
package testdata

import (
	"embed"
	"io/fs"
)

//go:embed golden/*.json
var files embed.FS

// Golden returns the folder golden, in the form that qta.Check takes.
func Golden() fs.FS {
	golden, err := fs.Sub(files, "golden")
	if err != nil {
		panic(err) // the name is a valid one
	}
	return golden
}
