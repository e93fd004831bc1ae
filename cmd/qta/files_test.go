package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestReplaceFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, text := range []string{"first", "second, longer", ""} {
		for _, durable := range []bool{false, true} {
			if err := replaceFile(path, []byte(text), durable); err != nil {
				t.Fatal(err)
			}
			if got := readFile(t, path); got != text {
				t.Errorf("content %q, want %q", got, text)
			}
		}
	}
	if exists(path + temporary) {
		t.Error("the temporary file is left")
	}
	writeFile(t, path+".dir/x", "")
	err := replaceFile(path+".dir", []byte("x"), true)
	if err == nil || !strings.Contains(err.Error(), path+".dir cannot be written: ") || exists(path+".dir"+temporary) {
		t.Errorf("over a directory: error %v", err)
	}
}
