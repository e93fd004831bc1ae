package files

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qta/cmd/qta/internal/roomtest"
)

func TestWrite(t *testing.T) {
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

// TestWriteShared lets many write the same file at the same time: none fails,
// and whoever reads meanwhile reads a whole text.
func TestWriteShared(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	text := strings.Repeat("x", 1<<16)
	failures := make(chan error)
	for range 8 {
		go func() {
			var failure error
			for range 20 {
				failure = errors.Join(failure, WriteShared(path, []byte(text)))
				if data, err := os.ReadFile(path); err != nil || string(data) != text {
					failure = errors.Join(failure, err, fmt.Errorf("%d bytes are read", len(data)))
				}
			}
			failures <- failure
		}()
	}
	for range 8 {
		if err := <-failures; err != nil {
			t.Error(err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the directory holds %v, error %v", entries, err)
	}
}

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	roomtest.Write(t, path, "12345")
	if data, err := Read(path, 5); string(data) != "12345" || err != nil {
		t.Errorf("%q, error %v", data, err)
	}
	for _, test := range []struct{ path, want string }{{path, "larger than 4 bytes"}, {path + ".none", "no such file"}, {filepath.Dir(path), "directory"}} {
		if _, err := Read(test.path, 4); err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), test.path) {
			t.Errorf("%s: error %v, want %q without the path", test.path, err, test.want)
		}
	}
}

// A text that others have chosen is no formula in a spreadsheet, and does nothing
// to a terminal; numbers stay as they are.
func TestCSVIsText(t *testing.T) {
	rows := [][]string{{"=1+1", "+cmd", "-x", "@SUM(A1)", "\t=1", " =1", "＝1"}, {"-1.5", "+Inf", "1e-9", "a=b", "-", "\x1b[2J", "a\nb"}}
	want := [][]string{{"'=1+1", "'+cmd", "'-x", "'@SUM(A1)", " =1", " =1", "＝1"}, {"-1.5", "+Inf", "1e-9", "a=b", "'-", "\uFFFD[2J", "a b"}}
	got, err := Rows(CSV(rows))
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

func TestRows(t *testing.T) {
	want := [][]string{{"a", "b"}, {"1", "2,3"}}
	got, err := Rows(CSV(want))
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	for text, want := range map[string]string{
		"":             "line 1 is cut off",
		"a,b\n1,2":     "line 2 is cut off",
		"a,b\n1\n":     "line 2: 1 columns, want 2",
		"a,b\n1,2,3\n": "line 2: 3 columns, want 2",
		"a,b\n\n1,2\n": "a line is empty",
		"a,b\n1,\"2\n": "line 2",
		"\n":           "a line is empty",
	} {
		if rows, err := Rows([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: rows %q, error %v, want %q", text, rows, err, want)
		}
	}
}
