// Package roomtest has what the tests of the command and of its rooms share.
package roomtest

import (
	"os"
	"path/filepath"
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
