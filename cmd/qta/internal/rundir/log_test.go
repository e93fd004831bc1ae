package rundir

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qta"
	"qta/cmd/qta/internal/roomtest"
)

func TestLogText(t *testing.T) {
	evaluations := []qta.Evaluation{
		{Step: 1000, Success: 0.05, CriticLoss: 1.0 / 3, PredictiveLoss: 1e-9, ActorLoss: -2, GoalsSet: 31, GoalsReached: 4,
			Reached: 0.15, Return: -48.5, StepsToGoal: 31.25},
		{Step: 2000, Success: 1},
	}
	want := "step[environment steps],success[fraction],critic_loss[reward^2],predictive_loss[cell^2],actor_loss[reward],goals_set[count],goals_reached[count],reached[fraction],return[reward],steps_to_goal[environment steps]\n" +
		"1000,0.05,0.3333333333333333,1e-09,-2,31,4,0.15,-48.5,31.25\n" +
		"2000,1,0,0,0,0,0,0,0,0\n"
	if diff := cmp.Diff(want, string(logText(qta.Default(), evaluations))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if text := string(logText(qta.Authors(), nil)); !strings.Contains(text, "predictive_loss[cell],") {
		t.Errorf("header %q: the norm is in cells", text)
	}
}

func TestTiming(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, TimingFile)
	for _, test := range []struct{ before, after string }{
		{"", timingHeader},
		{"step[env", timingHeader},
		{timingHeader, timingHeader},
		{timingHeader + "7,1.000,7\n", timingHeader + "7,1.000,7\n"},
		{timingHeader + "7,1.000,7\n14,2.", timingHeader + "7,1.000,7\n"},
	} {
		roomtest.Write(t, path, test.before)
		f, err := OpenTiming(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Add(21, 1.0/3, 12345.678); err != nil {
			t.Fatal(err)
		}
		f.Close()
		if diff := cmp.Diff(test.after+"21,0.333,1.235e+04\n", roomtest.Read(t, path)); diff != "" {
			t.Errorf("after %q (-want +got):\n%s", test.before, diff)
		}
	}
}

// FuzzTiming opens arbitrary bytes as timing.csv: what are whole lines stays, and
// rows are added behind it.
func FuzzTiming(f *testing.F) {
	f.Add([]byte(timingHeader + "10,0.5,20\n20,0."))
	f.Add([]byte("no end"))
	f.Add([]byte{})
	dir := f.TempDir()
	path := filepath.Join(dir, TimingFile)
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		timing, err := OpenTiming(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer timing.Close()
		if err := timing.Add(7, 1.25, 100); err != nil {
			t.Fatal(err)
		}
		want := string(data[:bytes.LastIndexByte(data, '\n')+1])
		if want == "" {
			want = timingHeader
		}
		if got := roomtest.Read(t, path); got != want+"7,1.250,100\n" {
			t.Errorf("%q becomes %q", data, got)
		}
	})
}

func FuzzParseLog(f *testing.F) {
	f.Add(logText(qta.Default(), []qta.Evaluation{{Step: 1000, Success: 0.5}, {Step: 2000, Success: 1}}))
	f.Add([]byte(logColumns + "x\n1000,0.5,3\n2000,"))
	f.Add([]byte(logColumns + "x\n1000,NaN,3\n"))
	f.Add([]byte("step\n1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := parseLog(data)
		if err != nil {
			return
		}
		if n := strings.Count(string(data), "\n"); len(rows) != n-1 {
			t.Errorf("%d rows of %d lines", len(rows), n)
		}
		last := 0
		for _, r := range rows {
			if r.Step <= last || !(r.Success >= 0 && r.Success <= 1) {
				t.Errorf("rows %v", rows)
			}
			last = r.Step
		}
	})
}

func TestParseLog(t *testing.T) {
	const header = logColumns + "x[y]\n"
	for text, want := range map[string]string{
		"":                                "line 1: want a header",
		"a,b\n":                           "line 1: want a header",
		logColumns + "x":                  "line 1 is cut off",
		header + "1000,0,1":               "line 2 is cut off",
		header + "1000,0\n":               "line 2: 2 columns, want 3",
		header + "1000,0,1,2\n":           "line 2: 4 columns, want 3",
		header + "1000,a,1\n":             `line 2, column 2: "a" is no number`,
		header + "1000,2,1\n":             "line 2: success 2, want",
		header + "1000,NaN,1\n":           "line 2: success NaN, want",
		header + "1000.5,0,1\n":           "line 2: step 1000.5, want",
		header + "1000,0,1\n1000,0,1\n":   "line 3: step 1000, want one after 1000",
		header + "\n":                     "a line is empty",
		header + "1000,0,\x00\x00\x00\n":  `line 2, column 3: "\x00\x00\x00" is no number`,
		header + "100000000000000,0,1\n":  "line 2: step 1e+14, want",
		header + "1000,0,1\n\n2000,0,1\n": "a line is empty",
	} {
		if _, err := parseLog([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	for _, text := range []string{
		string(logText(qta.Default(), []qta.Evaluation{{Step: 1000, Success: 0.25}, {Step: 2000, Success: 1}})),
		// As runs had it that knew of success alone.
		"step[environment steps],success[fraction],critic_loss[reward^2],predictive_loss[cell^2],actor_loss[reward],goals_set[count],goals_reached[count]\n" +
			"1000,0.25,0.3,1e-09,-2,31,4\n2000,1,0,0,0,0,0\n",
	} {
		rows, err := parseLog([]byte(text))
		if diff := cmp.Diff([]Row{{1000, 0.25}, {2000, 1}}, rows, cmp.AllowUnexported(Row{})); err != nil || diff != "" {
			t.Errorf("%s: error %v (-want +got):\n%s", text, err, diff)
		}
	}
}

// TestLastTiming reads the end of timing.csv while it is written.
func TestLastTiming(t *testing.T) {
	dir := t.TempDir()
	if step, rate := LastTiming(dir); step != 0 || rate != 0 {
		t.Errorf("without a file: %d, %v", step, rate)
	}
	timing, err := OpenTiming(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer timing.Close()
	for step := 1000; step <= 3000; step += 1000 {
		if err := timing.Add(step, 1.5, float64(step)/100); err != nil {
			t.Fatal(err)
		}
		if got, rate := LastTiming(dir); got != step || rate != float64(step)/100 {
			t.Errorf("after step %d: %d, %v", step, got, rate)
		}
	}
	for _, end := range []string{"4000,1", "\n", "4000,1,x\n", "4000,1,-3\n", "4000,1,Inf\n", "x,1,3\n"} {
		roomtest.Write(t, filepath.Join(dir, TimingFile), timingHeader+"3000,1,30\n"+end)
		step, rate := LastTiming(dir)
		if want := end == "4000,1"; want != (step == 3000 && rate == 30) || !want && rate != 0 {
			t.Errorf("with %q at its end: %d, %v", end, step, rate)
		}
	}
}
