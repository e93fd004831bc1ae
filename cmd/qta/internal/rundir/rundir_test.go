package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
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

func TestRemedy(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string
	}{
		{&fs.PathError{Op: "open", Path: AgentFile, Err: syscall.EACCES}, "make it readable"},
		{&fs.PathError{Op: "read", Path: AgentFile, Err: syscall.EIO}, "the same command tries again"},
		{errors.New("damaged"), "restore it, or remove it, and the run begins again"},
	} {
		if got := remedy("nowhere/"+AgentFile, fmt.Errorf("checkpoint: %w", test.err)); got != test.want {
			t.Errorf("%v: %q, want %q", test.err, got, test.want)
		}
	}
}
