package rundir

import (
	"os"
	"path/filepath"
	"testing"

	"qta/cmd/qta/internal/files"
	"qta/cmd/qta/internal/roomtest"
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
			roomtest.Write(t, filepath.Join(name, LockFile), "")
			roomtest.Write(t, filepath.Join(name, RecordFile+files.Temporary), "{")
		}
		unlock, r, err := Claim(name)
		if err != nil || r != nil {
			t.Fatalf("%s: record %v, error %v", name, r, err)
		}
		unlock()
	}
}
