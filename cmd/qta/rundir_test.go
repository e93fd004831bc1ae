package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qta"
)

func sampleRecord(t testing.TB) *record {
	t.Helper()
	m, name, err := findMaze("1U5")
	if err != nil {
		t.Fatal(err)
	}
	return &record{
		Format: recordFormat, State: stateSolved,
		Run:     identity{qta.Version, name, mapLines(m), "small", parameters(qta.Small()), 1<<64 - 1, 1000, rollouts},
		Limits:  limits{150_000, "solved"},
		Program: program{"unknown", "go1.26", map[string]string{"GOAMD64": "v1"}},
		Machine: machine{"linux", "amd64", "avx2", 2},
		Outcome: &outcome{Steps: 5000, HalfAt: 3000, SolvedAt: 5000, Digest: "0123", HeldOut: new(0.85), HeldOutRollouts: 200},
	}
}

func TestRecord(t *testing.T) {
	want := sampleRecord(t)
	got, err := decodeRecord(want.encode())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a record read back (-want +got):\n%s", diff)
	}
	text := string(want.encode())
	tests := []struct{ old, new, want string }{
		{text, "", "EOF"},
		{text, "[]", "cannot unmarshal"},
		{"\n}\n", "\n} x", "something follows"},
		{`"format": 1`, `"format": 2`, "format is 2, this program reads 1"},
		{`"solved",`, `"asleep",`, `state is "asleep"`},
		{`"seed": 18446744073709551615`, `"seed": -1`, "seed"},
		{`"seed"`, `"sead"`, "sead"},
		{`"eval_every": 1000`, `"eval_every": 0`, "want 1 or more"},
		{`"Batch": 256`, `"Batch": 0`, "parameter Batch is 0"},
		{`"Batch": 256`, `"Batsh": 256`, `unknown parameter "Batsh"`},
		{"#S#G#", "#S#.#", ""},
	}
	for _, test := range tests {
		broken := strings.Replace(text, test.old, test.new, 1)
		if broken == text {
			t.Fatalf("%q is not in the record", test.old)
		}
		if _, err := decodeRecord([]byte(broken)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q in place of %q: error %v, want %q", test.new, test.old, err, test.want)
		}
	}
	for i := range len(text) - 2 {
		if _, err := decodeRecord([]byte(text[:i])); err == nil {
			t.Fatalf("the first %d of %d bytes are taken for a record", i, len(text))
		}
	}
}

func FuzzDecodeRecord(f *testing.F) {
	f.Add(sampleRecord(f).encode())
	f.Add([]byte(`{"format":1,"state":"running","run":{"map":["SG"],"eval_every":1,"eval_rollouts":1}}`))
	f.Add([]byte(`{"format":1,"state":"running","run":{"map":["SG"],"parameters":null,"eval_every":1,"eval_rollouts":1}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decodeRecord(data)
		if err != nil {
			return
		}
		again, err := decodeRecord(r.encode())
		if err != nil {
			t.Fatalf("a record that was read cannot be read back: %v", err)
		}
		if diff := cmp.Diff(r.encode(), again.encode()); diff != "" {
			t.Errorf("a record read back (-want +got):\n%s", diff)
		}
	})
}

func TestLogText(t *testing.T) {
	evaluations := []qta.Evaluation{
		{Step: 1000, Success: 0.05, CriticLoss: 1.0 / 3, PredictiveLoss: 1e-9, ActorLoss: -2, GoalsSet: 31, GoalsReached: 4},
		{Step: 2000, Success: 1},
	}
	want := "step[environment steps],success[fraction],critic_loss[reward^2],predictive_loss[cell^2],actor_loss[reward],goals_set[count],goals_reached[count]\n" +
		"1000,0.05,0.3333333333333333,1e-09,-2,31,4\n" +
		"2000,1,0,0,0,0,0\n"
	if diff := cmp.Diff(want, string(logText(qta.Default(), evaluations))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if text := string(logText(qta.Authors(), nil)); !strings.Contains(text, "predictive_loss[cell],") {
		t.Errorf("header %q: the norm is in cells", text)
	}
}

func TestTiming(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, timingFile)
	for _, test := range []struct{ before, after string }{
		{"", timingHeader},
		{"step[env", timingHeader},
		{timingHeader, timingHeader},
		{timingHeader + "7,1.000,7\n", timingHeader + "7,1.000,7\n"},
		{timingHeader + "7,1.000,7\n14,2.", timingHeader + "7,1.000,7\n"},
	} {
		writeFile(t, path, test.before)
		f, err := openTiming(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("next\n"); err != nil {
			t.Fatal(err)
		}
		f.Close()
		if diff := cmp.Diff(test.after+"next\n", readFile(t, path)); diff != "" {
			t.Errorf("after %q (-want +got):\n%s", test.before, diff)
		}
	}
}

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
		unlock, r, err := claim(name)
		if err != nil || r != nil {
			t.Fatalf("%s: record %v, error %v", name, r, err)
		}
		unlock()
	}
}
