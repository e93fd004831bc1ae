package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qta/internal/roomtest"
)

// TestOutput replaces a file, and a link instead of what it points to, and names
// what it cannot write.
func TestOutput(t *testing.T) {
	dir := t.TempDir()
	path, victim := filepath.Join(dir, "file"), filepath.Join(dir, "victim")
	roomtest.Write(t, victim, "mine")
	if err := os.Symlink(victim, path); err != nil {
		t.Skip(err)
	}
	for _, text := range []string{"first", "second, longer", ""} {
		if through, err := Output(path, []byte(text)); through || err != nil || roomtest.Read(t, path) != text {
			t.Errorf("%q: through %v, error %v", text, through, err)
		}
	}
	if roomtest.Read(t, victim) != "mine" {
		t.Error("a link is followed")
	}
	if through, err := Output(os.DevNull, []byte("x")); !through || err != nil {
		t.Errorf("%s: through %v, error %v", os.DevNull, through, err)
	}
	roomtest.Write(t, filepath.Join(dir, "dir", "x"), "")
	if _, err := Output(filepath.Join(dir, "dir"), nil); err == nil || !strings.Contains(err.Error(), "dir cannot be written: ") {
		t.Errorf("a directory: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.tmp")); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// TestRead refuses what is large, no file or of another encoding.
func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	roomtest.Write(t, path, "\ufefftext")
	if text, err := ReadText(path, 10); err != nil || text != "text" {
		t.Errorf("%q, error %v", text, err)
	}
	for _, test := range []struct{ path, want string }{{path, "larger than 3 bytes"}, {filepath.Dir(path), "not a regular file"}, {path + "x", "no such file"}} {
		if _, err := Read(test.path, 3); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.path, err, test.want)
		}
	}
	roomtest.Write(t, path, "\xff\xfet")
	if _, err := ReadText(path, 10); err == nil || !strings.Contains(err.Error(), "UTF-8") {
		t.Errorf("UTF-16: error %v", err)
	}
}

// TestCSV writes what spreadsheets would take for formulas as texts, and reads
// rows of one length.
func TestCSV(t *testing.T) {
	got := string(CSV([][]string{{"a,b", "=1+1", "-1e-3", "+x\x1b"}}))
	if want := "\"a,b\",'=1+1,-1e-3,'+x\ufffd\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	rows, err := Rows([]byte("a,b\n1,2\n"))
	if diff := cmp.Diff([][]string{{"a", "b"}, {"1", "2"}}, rows); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{"a,b\n1\n", "a,b\n1,2"} {
		if _, err := Rows([]byte(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}
