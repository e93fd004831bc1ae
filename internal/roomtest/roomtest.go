// Package roomtest has what the tests of the command and of its rooms share.
package roomtest

import (
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"qta"
)

// Write writes a file, in a directory that it makes.
func Write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// Read reads a file.
func Read(t testing.TB, elements ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elements...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Maze returns the maze with a name.
func Maze(t testing.TB, name string) *qta.Maze {
	t.Helper()
	m, err := qta.NewMaze(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// WellFormed reads XML to its end and returns how many elements there are of
// each name.
func WellFormed(t testing.TB, what, text string) map[string]int {
	t.Helper()
	elements := map[string]int{}
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := d.Token()
		if err == io.EOF {
			return elements
		}
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if e, ok := token.(xml.StartElement); ok {
			elements[e.Name.Local]++
		}
	}
}
