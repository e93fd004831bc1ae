package rundir

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qta"
	"qta/cmd/qta/internal/roomtest"
)

func sampleRecord(t testing.TB) *Record {
	t.Helper()
	m := roomtest.Maze(t, "1U5")
	return &Record{
		Format: format, State: Solved,
		Run:     NewIdentity("1U5", m, "small", qta.Small(), 1<<64-1, 1000),
		Limits:  Limits{150_000, "solved"},
		Program: Program{Revision: "unknown", Go: "go1.26", Build: map[string]string{"GOAMD64": "v1"}},
		Machine: Machine{"linux", "amd64", "avx2", 2},
		Outcome: &Outcome{Steps: 5000, HalfAt: 3000, SolvedAt: 5000, Digest: "0123", HeldOut: new(0.85), HeldOutRollouts: 200, Figure5: &Figure5{1, 2, 0.5, 0.25, 3}},
	}
}

func TestRecord(t *testing.T) {
	want := sampleRecord(t)
	got, err := decode(want.encode(), true)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a record read back (-want +got):\n%s", diff)
	}
	text := string(want.encode())
	tests := []struct{ old, new, want string }{
		{text, "", "EOF"},
		{text, "[]", "line 1: json: cannot unmarshal"},
		{`"state": "solved",`, `"state": "solved"`, "line 4: invalid character '\"'"},
		{"\n}\n", "\n} x", "something follows"},
		{`"format": 1`, `"format": 2`, "format is 2, this program reads 1: a newer qta has written it"},
		{`"format": 1`, `"format": 3, "more": 1`, "format is 3, this program reads 1: a newer qta has written it"},
		{`"format": 1`, `"format": 0`, "format is 0, this program reads 1"},
		{`"solved",`, `"asleep",`, `state is "asleep"`},
		{`"seed": 18446744073709551615`, `"seed": -1`, "seed"},
		{`"seed"`, `"sead"`, "sead"},
		{`"eval_every": 1000`, `"eval_every": 0`, "want 1 or more"},
		{`"Batch": 256`, `"Batch": 0`, "parameter Batch is 0"},
		{`"Batch": 256`, `"Batsh": 256`, `parameters: unknown parameter "Batsh"; did you mean Batch? (before line 5, column 16)`},
		{"#S#G#", "#S#.#", ""},
	}
	for _, test := range tests {
		broken := strings.Replace(text, test.old, test.new, 1)
		if broken == text {
			t.Fatalf("%q is not in the record", test.old)
		}
		if _, err := decode([]byte(broken), true); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q in place of %q: error %v, want %q", test.new, test.old, err, test.want)
		}
	}
	for i := range len(text) - 2 {
		if _, err := decode([]byte(text[:i]), true); err == nil {
			t.Fatalf("the first %d of %d bytes are taken for a record", i, len(text))
		}
	}
}

// A parameter that a run's version did not have is what changed nothing there,
// not what later versions have in their default.
func TestOlderParameters(t *testing.T) {
	r := sampleRecord(t)
	r.Run.Parameters = Parameters(qta.Default())
	text := string(r.encode())
	without := regexp.MustCompile(`(?m)^\s*"(UncertaintyPolyak|RandomActionLater)": .*\n|,\s*"sha256": "\w*"`).ReplaceAllString(text, "")
	got, err := decode([]byte(without), false)
	if err != nil {
		t.Fatal(err)
	}
	if p := got.Run.Params(); p.RandomActionLater != qta.Paper().RandomActionLater || p.RandomActionLater == qta.Default().RandomActionLater || p.UncertaintyPolyak != 0 {
		t.Errorf("read as %+v", p)
	}
}

// A map that is not that of the maze named does not go by its name.
func TestOtherMap(t *testing.T) {
	r := sampleRecord(t)
	r.Run.Map = []string{"####", "#SG#", "####"}
	for range 2 {
		got, err := decode(r.encode(), true)
		if err != nil || got.Run.Maze != "1U5 (its own map)" || got.Run.Named() {
			t.Fatalf("maze %q, error %v", got.Run.Maze, err)
		}
		if command := strings.Join(got.Run.Command(got.Limits), " "); !strings.HasPrefix(command, "qta -maze 1U5.txt ") {
			t.Errorf("command %s", command)
		}
		r = got
	}
}

// FuzzForeignRecord reads what another version may have written, and uses it as
// a report does.
func FuzzForeignRecord(f *testing.F) {
	text := string(sampleRecord(f).encode())
	f.Add([]byte(text))
	f.Add([]byte(strings.Replace(text, "\n}\n", ",\n\t\"more\": {\"x\": [1]}\n}\n", 1)))
	f.Add([]byte(`{"format":1,"state":"solved","run":{"maze":"4x5","map":["SG"],"eval_every":1,"eval_rollouts":1},"limits":{"steps":1},"outcome":{"held_out":1e300}}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decode(data, false)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("error %q", err)
			}
			return
		}
		if strings.ContainsAny(r.Run.Maze+r.Run.Preset+r.Program.Revision+r.Machine.Kernel, "\n\x1b") {
			t.Errorf("names %q", []string{r.Run.Maze, r.Run.Preset, r.Program.Revision, r.Machine.Kernel})
		}
		run := &Run{Dir: dir, Record: r}
		run.Ended()
		run.Steps()
		run.Command()
		r.contradicts(nil)
		r.contradicts([]Row{{1, 1}})
		r.Complete(dir)
		if r.Run.NewMaze().PathLength() < 1 {
			t.Error("a maze without a way")
		}
		if again, err := decode(r.encode(), true); err != nil {
			t.Errorf("read and written it cannot be read: %v", err)
		} else if diff := cmp.Diff(r.encode(), again.encode()); diff != "" {
			t.Errorf("a record read back (-want +got):\n%s", diff)
		}
	})
}

func FuzzDecodeRecord(f *testing.F) {
	f.Add(sampleRecord(f).encode())
	f.Add([]byte(`{"format":1,"state":"running","run":{"map":["SG"],"eval_every":1,"eval_rollouts":1}}`))
	f.Add([]byte(`{"format":1,"state":"running","run":{"map":["SG"],"parameters":null,"eval_every":1,"eval_rollouts":1}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decode(data, true)
		if err != nil {
			return
		}
		again, err := decode(r.encode(), true)
		if err != nil {
			t.Fatalf("a record that was read cannot be read back: %v", err)
		}
		if diff := cmp.Diff(r.encode(), again.encode()); diff != "" {
			t.Errorf("a record read back (-want +got):\n%s", diff)
		}
	})
}

func TestMapDifference(t *testing.T) {
	a := Identity{Maze: "x", Map: []string{"S.G", "###"}}
	b := Identity{Maze: "x", Map: []string{"S.G", "#.#"}}
	c := Identity{Maze: "x", Map: []string{"S.G"}}
	if diff := cmp.Diff([]string{`the map of x has line 2 "###" there, "#.#" here`}, a.Differences(b)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"the map of x has 2 lines there, 1 here"}, a.Differences(c)); diff != "" {
		t.Error(diff)
	}
	if got := a.Differences(a); len(got) != 0 {
		t.Errorf("differences from itself: %q", got)
	}
}

func TestCommand(t *testing.T) {
	p := qta.Paper()
	p.Batch = 7
	id := NewIdentity("4x5", roomtest.Maze(t, "4x5"), "paper", p, 3, 1000)
	want := "qta -maze 4x5 -params paper -set Batch=7 -seed 3 -eval 1000 -steps 9 -stop never"
	if got := strings.Join(id.Command(Limits{9, "never"}), " "); got != want {
		t.Errorf("command %q, want %q", got, want)
	}
}

// TestNewerRecord reads a whole record with more in it than this program knows.
func TestNewerRecord(t *testing.T) {
	text := strings.TrimSuffix(string(sampleRecord(t).encode()), "\n}\n")
	text, _, _ = strings.Cut(text, checksumBefore)
	more := withChecksum([]byte(text + ",\n\t\"x\": 1\n}\n"))
	want := `json: unknown field "x": a newer qta has written it`
	if _, err := decode(more, true); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
