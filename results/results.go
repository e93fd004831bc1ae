// Package results has what was measured as a file, for the command.
package results

import _ "embed"

//go:embed runs.csv
var runs string

// Runs returns runs.csv, of which README.md says how it was made.
func Runs() string { return runs }
