package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"qta/internal/roomtest"
)

// TestOutput writes a file, or through what is none, and names what it cannot
// write. ReadText leaves out the mark of UTF-8.
func TestOutput(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, text := range []string{"second, longer", "first"} {
		if through, err := Output(path, []byte("\ufeff"+text)); through || err != nil {
			t.Errorf("%q: through %v, error %v", text, through, err)
		}
		if got, err := ReadText(path); err != nil || got != text {
			t.Errorf("%q, error %v, want %q", got, err, text)
		}
	}
	if through, err := Output(os.DevNull, []byte("x")); !through || err != nil {
		t.Errorf("%s: through %v, error %v", os.DevNull, through, err)
	}
	roomtest.Write(t, filepath.Join(dir, "dir", "x"), "")
	_, err := Output(filepath.Join(dir, "dir"), nil)
	if err == nil || !strings.Contains(err.Error(), "dir cannot be written: ") {
		t.Errorf("a directory: error %v", err)
	}
}
