package lab

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qta"
	"qta/internal/roomtest"
)

// madeUp returns a record of an ended run.
func madeUp(t testing.TB) *Record {
	t.Helper()
	id := Options{Name: "4x5", Params: qta.Small(), Seed: 7}.Identity(Maze(roomtest.Maze(t, "4x5")))
	r := NewRecord(id, Limits{150_000, StopSolved}, 1)
	success := 0.985
	r.State = Solved
	r.Outcome = Outcome{Steps: 2000, FoundAt: 700, HalfAt: 1000, SolvedAt: 2000, Digest: "ab", HeldOut: &success, HeldOutRollouts: HeldOut}
	r.Curve = Curve{{Step: 1000, Success: 0.5, CriticLoss: 1e-7, GoalsSet: 12},
		{Step: 2000, Success: 1, CriticLoss: 2, PredictiveLoss: 4, ActorLoss: -3, GoalsSet: 40, GoalsReached: 30,
			Reached: 0.75, Return: -12.5, StepsToGoal: 17.25}}
	return r
}

// TestRecord writes a record and reads it back, and refuses it with any byte
// changed.
func TestRecord(t *testing.T) {
	r := madeUp(t)
	text := r.Encode()
	got, err := decodeRecord(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if diff := cmp.Diff(r, got); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	unsolved := *r // which counts as its budget, however far it has come
	unsolved.Outcome.SolvedAt = 0
	if r.Steps() != 2000 || unsolved.Steps() != 150_000 {
		t.Errorf("solved it counts as %v steps, else as %v", r.Steps(), unsolved.Steps())
	}
	const log = "step[environment steps],success[fraction],critic_loss[reward^2],predictive_loss[cell^2]," +
		"actor_loss[reward],goals_set[count],goals_reached[count],reached[fraction],return[reward]," +
		"steps_to_goal[environment steps]\n2000,1,2,4,-3,40,30,0.75,-12.5,17.25\n"
	if diff := cmp.Diff(log, string(logTable(r.Run, r.Curve[1:]))); diff != "" {
		t.Errorf("log.csv (-want +got):\n%s", diff)
	}
	for _, test := range [][3]string{{"Learner", "paper", "cell^2"}, {"Learner", "authors", "cell"}, {"Uncertainty", "ensemble", ""}} {
		id := r.Run
		if err := id.Params.Set(test[0], test[1]); err != nil || id.lossUnit() != test[2] {
			t.Errorf("%v: the predictive loss is in %q, error %v", test, id.lossUnit(), err)
		}
	}
	few := *r
	few.Run.Rollouts = 2 // which no flag gives
	if r.Command() == "" || few.Command() != "" {
		t.Errorf("with the command's rollouts %q repeats it, with 2 %q", r.Command(), few.Command())
	}
	failed := unsolved
	failed.State = Failed
	for message, ended := range map[string]bool{"step 3: policy: NaN is not finite; a": true,
		"step 3: environment: Step returned reward 2": false, "no space left on device": false} {
		if failed.Outcome.Message = message; failed.Ended() != ended {
			t.Errorf("a run that failed with %q counts: %v", message, !ended)
		}
	}
	younger := *r
	younger.Format++
	if got, err := decodeRecord(younger.Encode()); got != nil || err == nil {
		t.Errorf("of another format it is read as %v, with error %v", got, err)
	}
	other := r.Run
	other.Map = []string{"SG"} // of a map file that was changed
	if got := r.Run.Differences(other); len(got) != 1 || !strings.HasPrefix(got[0], "the map of 4x5") {
		t.Errorf("another map differs in %q", got)
	}
	for i := range text {
		damaged := append([]byte(nil), text...)
		damaged[i] ^= 1
		if _, err := decodeRecord(damaged); err == nil {
			t.Fatalf("with byte %d changed it is read:\n%s", i, damaged)
		}
	}
	windows := strings.ReplaceAll(string(text), "\n", "\r\n")
	if got, err := decodeRecord([]byte(windows)); err != nil || string(got.Encode()) != string(text) {
		t.Errorf("with the line ends of Windows: %v", err)
	}
	body, _, _ := strings.Cut(string(text), checksumBefore)
	decode := func(oldnew ...string) (*Record, error) {
		return decodeRecord(sealed([]byte(strings.NewReplacer(oldnew...).Replace(body))))
	}
	for want, oldnew := range map[string][]string{ // what no run has is named
		`json: unknown field "Size"`:    {`"HiddenSize"`, `"Size"`},
		"qta: parameter HiddenSize is ": {`"HiddenSize": 64`, `"HiddenSize": 0`},
		"eval_every is 0":               {`"eval_every": 1000`, `"eval_every": 0`},
		"qta: maze: ":                   {"#.S", "#.."},
		"its format is 3":               {`"format": 2`, `"format": 3`},
		"curve: the columns are ":       {`"success"`, `"succes"`},
		"curve: row 2 has ":             {"[2000,", "[1000,"},
		"curve: row 1 has ":             {"[1000,0.5,", "[1000,1.5,"},
		`only qta 0.0.1, which wrote it, can read it: json: unknown field "Size"`: {
			`"version": "` + qta.Version, `"version": "0.0.1`, `"HiddenSize"`, `"Size"`},
	} {
		if _, err := decode(oldnew...); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", oldnew, err, want)
		}
	}
	if got, err := decode(`"HiddenSize": 64,`, ""); err != nil || got.Run.Params.HiddenSize != qta.Paper().HiddenSize {
		t.Errorf("of a version before HiddenSize: error %v", err)
	}
}

// A parameter that changes nothing in a run is no difference: agents that differ in it
// alone end with the same networks, and no others do.
func TestIdle(t *testing.T) {
	roomtest.Long(t)
	agent := func(changes string) *qta.Agent {
		p := tiny()
		for change := range strings.FieldsSeq(changes) {
			name, value, _ := strings.Cut(change, "=")
			p.Set(name, value)
		}
		a, err := qta.NewAgent(p, maze(t).Sizes(), 3)
		o := qta.TrainOptions{Steps: 60, EvalEvery: 60, Rollouts: 1}
		if err := errors.Join(err, a.Train(t.Context(), maze(t), maze(t), o)); err != nil {
			t.Fatal(err)
		}
		return a
	}
	for change, beside := range map[string]string{ // with which it is idle, and then with which not
		"UncertaintyGoal=desired": "Curriculum=her Curriculum=mega Curriculum=vds Uncertainty=q | HiddenSize=7 Replay=per",
		"FirstGoalDesired=0.5":    "Curriculum=her | HiddenSize=7",
		"PredictiveGradient=head": "Learner=authors | HiddenSize=7 Learner=mega",
		"PriorityBetaSteps=70":    "Curriculum=her | Replay=per Replay=td",
		"PriorityAlpha=0.5":       "Curriculum=her | Replay=per Replay=td",
		"EnsembleActions=3":       "Curriculum=her UncertaintyNoise=0.1 | Uncertainty=ensemble Uncertainty=bootstrap",
		"UpdatesPerStep=2":        "Learner=vds | HiddenSize=7 Learner=mega",
	} {
		idle := true
		for with := range strings.FieldsSeq(beside) {
			if with == "|" {
				idle = false
				continue
			}
			a, b := agent(with), agent(with+" "+change)
			same, names := a.Digest() == b.Digest(), Differing(a.Params(), b.Params())
			if same != idle || (names == nil) != idle {
				t.Errorf("%s with %s: the same networks %v, differences %q", change, with, same, names)
			}
		}
	}
}

// TestCollect finds records in runs' directories and in single files.
func TestCollect(t *testing.T) {
	dir := t.TempDir()
	run := filepath.Join(dir, "some", "run")
	for _, path := range []string{filepath.Join(run, RecordFile), filepath.Join(run, "within", "other.json"),
		filepath.Join(dir, "alone.json"), filepath.Join(dir, ".hidden", "one.json")} {
		roomtest.Write(t, path, string(madeUp(t).Encode()))
	}
	roomtest.Write(t, filepath.Join(dir, "some", "bad.json"), "{}")
	roomtest.Write(t, filepath.Join(dir, "lost", AgentFile), "without a record")
	if err := os.Symlink(run, filepath.Join(dir, "linked")); err != nil {
		t.Skip("this file system makes no links: ", err)
	}
	t.Chdir(dir)
	c, err := Collect([]string{"."}) // whose name begins as one that is hidden
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, r := range c.Runs {
		paths = append(paths, r.Path)
	}
	if diff := cmp.Diff([]string{"alone.json", "some/run"}, paths); diff != "" || len(c.Skipped) != 3 {
		t.Errorf("skipped %v (-want +got):\n%s", c.Skipped, diff)
	}
	_, err = Collect([]string{filepath.Join(dir, "nowhere")})
	if _, unnamed := Collect([]string{""}); err == nil || unnamed == nil {
		t.Error("a directory that is not there is read")
	}
}
