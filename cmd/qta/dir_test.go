package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestClaim(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"new", "deep/er", "empty", "killed"} {
		switch name {
		case "empty":
			if err := os.Mkdir(name, 0o777); err != nil {
				t.Fatal(err)
			}
		case "killed":
			writeFile(t, filepath.Join(name, lockFile), "")
			writeFile(t, filepath.Join(name, recordFile+temporary), "{")
		}
		unlock, r, err := claimDir(name)
		if err != nil || r != nil {
			t.Fatalf("%s: record %v, error %v", name, r, err)
		}
		unlock()
	}
}
