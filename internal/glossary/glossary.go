// Package glossary says what every parameter means, where the paper left it
// open, and what switching it was seen to do. "go generate ./docs/annotate"
// makes its text from the sources.
package glossary

import (
	_ "embed"
	"encoding/json"
)

//go:embed parameters.json
var text []byte

// A Group is parameters that belong together: a part of qta.Params.
type Group struct {
	Name, About string
	Parameters  []Parameter
}

// A Parameter is a field of qta.Params.
type Parameter struct {
	Name, Meaning string
	Choices       []Choice `json:",omitempty"` // that it decides
	Effects       []string `json:",omitempty"` // of switching it, as far as it was measured
}

// A Choice is a Reading or a Differs.
type Choice struct {
	Kind        string
	Where, File string // the function or the parameter that has it
	Said, Done  string // what the text says, and what the package does
}

// Groups returns all parameters in the order of qta.Params.
func Groups() []Group {
	var groups []Group
	if err := json.Unmarshal(text, &groups); err != nil {
		panic(err) // a test holds the file to the sources
	}
	return groups
}
