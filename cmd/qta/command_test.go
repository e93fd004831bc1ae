package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"qta/internal/roomtest"
)

var update = flag.Bool("update", false, "rewrite what commands show in testdata")

// transcripts is the folder of testdata, also for tests that work in one of their own.
var transcripts, _ = filepath.Abs("testdata")

// TestMain lets the test binary stand in for the command, for the processes of
// sweeps.
func TestMain(m *testing.M) {
	if os.Getenv("QTA_TEST_COMMAND") != "" {
		main()
	}
	os.Exit(m.Run())
}

var (
	equal = roomtest.Equal
	has   = roomtest.Has
	must  = roomtest.Must
)

// result is what a command has shown.
type result struct {
	code        int
	out, errors string
}

// invoke runs the command of a line, whose words are separated by blanks.
func invoke(t *testing.T, line string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), strings.Fields(line), &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

// mustRun runs a command that has to succeed and returns its output.
func mustRun(t *testing.T, line string) string {
	t.Helper()
	r := invoke(t, line)
	if r.code != exitDone || r.errors != "" {
		t.Fatalf("qta %s: exit code %d, stderr %q", line, r.code, r.errors)
	}
	return r.out
}

// says runs a command that has to succeed, and looks for texts in its output.
func says(t *testing.T, line string, texts ...string) {
	t.Helper()
	has(t, mustRun(t, line), texts...)
}

// ends runs a command that has to end with an exit code, and looks for texts in its errors.
func ends(t *testing.T, code int, line string, texts ...string) {
	t.Helper()
	r := invoke(t, line)
	equal(t, "the exit code of qta "+line, code, r.code)
	has(t, r.errors, texts...)
}

// transcript runs the commands of a file in testdata, in an empty directory, and holds what each
// shows to the lines below it. A command is on a line that begins with "$ qta". A line such as
// $ write near.txt "SG\n" writes a file. A command that is refused must say so in one line, and leave
// nothing behind.
func transcript(t *testing.T, name string, code int) {
	t.Helper()
	t.Chdir(t.TempDir())
	path := filepath.Join(transcripts, name)
	want := roomtest.Read(t, path)
	var shown strings.Builder
	for line := range strings.Lines(want) {
		if file, writes := strings.CutPrefix(line, "$ write "); writes {
			write(t, file)
			shown.WriteString(line)
		}
		if args, runs := strings.CutPrefix(line, "$ qta "); runs {
			before := files()
			r := invoke(t, args)
			equal(t, "the exit code of qta "+args, code, r.code)
			if code == exitInput {
				equal(t, "the files after qta "+args, before, files())
				equal(t, "the lines of qta "+args, 1, strings.Count(r.out+r.errors, "\n"))
			}
			shown.WriteString(line + r.out + r.errors + "\n")
		}
	}
	if *update {
		roomtest.Write(t, path, shown.String())
		want = shown.String()
	}
	const what = "not what %s has; to write it anew, run: go test ./cmd/qta -run %s -update"
	equal(t, fmt.Sprintf(what, name, t.Name()), want, shown.String())
}

// write writes a file, of which the line has the name and the quoted text.
func write(t *testing.T, line string) {
	t.Helper()
	file, quoted, _ := strings.Cut(strings.TrimSpace(line), " ")
	text, err := strconv.Unquote(quoted)
	must(t, err)
	roomtest.Write(t, file, text)
}

// files lists what is in the working directory and in its folders.
func files() string { return fmt.Sprint(filepath.Glob("*")) + fmt.Sprint(filepath.Glob("*/*")) }

// tiny are the flags of a run that takes milliseconds.
const tiny = "-maze 1U5 -params small -set HiddenSize=8 -set HiddenLayers=2 -set Batch=16 " +
	"-set Candidates=20 -set UncertaintyActions=2 -set Horizon=10 -set InitialSteps=9 " +
	"-set LearningStarts=5 -eval 7 -stop never"
