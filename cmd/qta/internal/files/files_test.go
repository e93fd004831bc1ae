package files

import (
	"path/filepath"
	"strings"
	"testing"

	"qta/cmd/qta/internal/roomtest"
)

func TestReplaceFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, text := range []string{"first", "second, longer", ""} {
		for _, durable := range []bool{false, true} {
			if err := Write(path, []byte(text), durable); err != nil {
				t.Fatal(err)
			}
			if got := roomtest.Read(t, path); got != text {
				t.Errorf("content %q, want %q", got, text)
			}
		}
	}
	if Exists(path + Temporary) {
		t.Error("the temporary file is left")
	}
	roomtest.Write(t, path+".dir/x", "")
	err := Write(path+".dir", []byte("x"), true)
	if err == nil || !strings.Contains(err.Error(), path+".dir cannot be written: ") || Exists(path+".dir"+Temporary) {
		t.Errorf("over a directory: error %v", err)
	}
}
