package lab

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"qta"
	"qta/internal/roomtest"
)

// madeUp returns a record of an ended run.
func madeUp(t testing.TB) *Record {
	t.Helper()
	id := Options{Name: "4x5", Params: qta.Small(), Seed: 7}.Identity(Maze(roomtest.Maze(t, "4x5")))
	r := NewRecord(id, Limits{150_000, StopSolved}, 1)
	r.State = Solved
	fromJSON(t, `{
		"steps": 2000, "found_at": 700, "half_at": 1000, "solved_at": 2000, "digest": "ab",
		"held_out": 0.985, "held_out_rollouts": 200
	}`, &r.Outcome)
	var curve []qta.Evaluation
	fromJSON(t, `[
		{"Step": 1000, "Success": 0.5, "CriticLoss": 1e-7, "GoalsSet": 12},
		{"Step": 2000, "Success": 1, "CriticLoss": 2, "PredictiveLoss": 4, "ActorLoss": -3,
			"GoalsSet": 40, "GoalsReached": 30, "Reached": 0.75, "Return": -12.5, "StepsToGoal": 17.25}
	]`, &curve)
	r.Curve = curve
	return r
}

// TestRecord writes a record and reads it back, also with the line ends of Windows, and
// refuses it with any byte changed.
func TestRecord(t *testing.T) {
	r := madeUp(t)
	text := r.Encode()
	got, err := decodeRecord(text)
	must(t, err)
	equal(t, "the record", r, got)
	windows := strings.ReplaceAll(string(text), "\n", "\r\n")
	got, err = decodeRecord([]byte(windows))
	must(t, err)
	equal(t, "with the line ends of Windows", r, got)
	for i := range text {
		damaged := slices.Clone(text)
		damaged[i] ^= 1
		if _, err := decodeRecord(damaged); err == nil {
			t.Fatalf("with byte %d changed it is read:\n%s", i, damaged)
		}
	}
}

// decodeWith reads the text of a record with edits, each such as "old -> new", and with their
// checksum.
func decodeWith(t *testing.T, edits ...string) (*Record, error) {
	body, _, _ := strings.Cut(string(madeUp(t).Encode()), sealBefore)
	for _, edit := range edits {
		old, new, _ := strings.Cut(edit, " -> ")
		body = strings.ReplaceAll(body, old, new)
	}
	return decodeRecord(sealed([]byte(body)))
}

// What no run has is named.
func TestRecordRefused(t *testing.T) {
	for _, test := range []struct{ edit, want string }{
		{`"HiddenSize" -> "Size"`, `json: unknown field "Size"`},
		{`"HiddenSize": 64 -> "HiddenSize": 0`, "qta: parameter HiddenSize is "},
		{`"eval_every": 1000 -> "eval_every": 0`, "eval_every is 0"},
		{`"state": "solved" -> "state": "asleep"`, `its state is "asleep"`},
		{`"stop": "solved" -> "stop": "at once"`, `it stops "at once"`},
		{`"steps": 150000 -> "steps": -1`, "its budget is -1"},
		{"#.S -> #..", "qta: maze: "},
		{`"format": 2 -> "format": 3`, "its format is 3"},
		{`"success" -> "succes"`, "curve: the columns are "},
		{"[2000, -> [1000,", "curve: row 2 has "},
		{"[1000,0.5, -> [1000,1.5,", "curve: row 1 has "},
	} {
		_, err := decodeWith(t, test.edit)
		says(t, err, test.want)
	}
	_, err := decodeWith(t, `"version": "`+qta.Version+` -> "version": "0.0.1`, `"HiddenSize" -> "Size"`)
	says(t, err, `only qta 0.0.1, which wrote it, can read it: json: unknown field "Size"`)
}

// A parameter that a record does not name has its value in Paper.
func TestRecordWithoutParameter(t *testing.T) {
	r, err := decodeWith(t, `"HiddenSize": 64, -> `)
	must(t, err)
	equal(t, "HiddenSize", qta.Paper().HiddenSize, r.Run.Params.HiddenSize)
}

// 199 of 200 rollouts are not written as 100 %.
func TestHeldOutPercent(t *testing.T) {
	percent := map[float64]string{0: "0 %", 0.07: "7 %", 199. / 200: "99.5 %", 1: "100 %"}
	for share, want := range percent {
		equal(t, "the share", want, Outcome{HeldOut: &share}.HeldOutPercent())
	}
}

// A failed run has ended if its numbers went wrong. A solved run has ended in any state.
func TestEnded(t *testing.T) {
	for message, want := range map[string]bool{
		"step 3: policy: NaN is not finite; a":        true,
		"step 3: environment: Step returned reward 2": false,
		"no space left on device":                     false,
	} {
		r := Record{State: Failed, Outcome: Outcome{Message: message}}
		equal(t, "ended, a run that failed with "+message, want, r.Ended())
	}
	for _, state := range []string{Running, Stopped, Failed} {
		r := Record{State: state}
		equal(t, "ended, unsolved and "+state, false, r.Ended())
		r.Outcome.SolvedAt = 1000
		equal(t, "ended, solved and "+state, true, r.Ended())
	}
}

// Each column of log.csv has its number and its unit.
func TestLog(t *testing.T) {
	r := madeUp(t)
	const want = "step[environment steps],success[fraction],critic_loss[reward^2]," +
		"predictive_loss[cell^2],actor_loss[reward],goals_set[count],goals_reached[count]," +
		"reached[fraction],return[reward],steps_to_goal[environment steps]\n" +
		"2000,1,2,4,-3,40,30,0.75,-12.5,17.25\n"
	equal(t, "log.csv", want, string(logTable(r.Run, r.Curve[1:])))
	for _, test := range []struct{ parameter, value, unit string }{
		{"Learner", "paper", "cell^2"},
		{"Learner", "authors", "cell"},
		{"Uncertainty", "ensemble", ""},
	} {
		id := r.Run
		err := id.Params.Set(test.parameter, test.value)
		if err != nil || id.lossUnit() != test.unit {
			t.Errorf("%v: the predictive loss is in %q, error %v", test, id.lossUnit(), err)
		}
	}
}

// No command repeats a run of other rollouts than the command's, as no flag gives them. Nor
// does one repeat a run with a curriculum or an environment of the user's. A map that qta does
// not know is in a file.
func TestCommand(t *testing.T) {
	r := madeUp(t)
	const want = "qta -maze 4x5 -params small -seed 7 -eval 1000 -steps 150000 -stop solved"
	equal(t, "the command", want, r.Command())
	r.Run.Rollouts = 2
	equal(t, "the command of a run of 2 rollouts", "", r.Command())
	r = madeUp(t)
	r.Run.Own = true
	equal(t, "the command of a run with a curriculum of its user", "", r.Command())
	r = madeUp(t)
	r.Run.Map = nil
	equal(t, "the command of a run in no maze", "", r.Command())
	r.Run.Map = []string{"SG"}
	has(t, r.Command(), "qta -maze 4x5.txt -params")
}

// Runs in two maps of one name differ.
func TestDifferences(t *testing.T) {
	id := madeUp(t).Run
	other := id
	other.Map = []string{"SG"} // of a map file that was changed
	want := []string{"the map of 4x5 differs"}
	equal(t, "another map", want, id.Differences(other))
}

// A parameter that changes nothing in a run is no difference: agents that differ in it
// alone end with the same networks, and no others do.
func TestIdle(t *testing.T) {
	roomtest.Long(t)
	for _, test := range []struct{ change, with, notWith string }{
		{"UncertaintyGoal=desired", "Curriculum=her Curriculum=mega Curriculum=vds Uncertainty=q",
			"HiddenSize=7 Replay=per"},
		{"FirstGoalDesired=0.5", "Curriculum=her", "HiddenSize=7"},
		{"PredictiveGradient=head", "Learner=authors", "HiddenSize=7 Learner=mega"},
		{"PriorityBetaSteps=70", "Curriculum=her", "Replay=per Replay=td"},
		{"PriorityAlpha=0.5", "Curriculum=her", "Replay=per Replay=td"},
		{"EnsembleActions=3", "Curriculum=her UncertaintyNoise=0.1",
			"Uncertainty=ensemble Uncertainty=bootstrap"},
		{"UpdatesPerStep=2", "Learner=vds", "HiddenSize=7 Learner=mega"},
	} {
		for with := range strings.FieldsSeq(test.with) {
			checkIdle(t, test.change, with, true)
		}
		for with := range strings.FieldsSeq(test.notWith) {
			checkIdle(t, test.change, with, false)
		}
	}
}

// checkIdle checks that a change has no effect beside another one if idle is true, and
// otherwise that it has one.
func checkIdle(t *testing.T, change, with string, idle bool) {
	t.Helper()
	a := changedAgent(t, with)
	b := changedAgent(t, with, change)
	same := a.Digest() == b.Digest()
	names := Differing(a.Params(), b.Params())
	unnamed := names == nil
	if same != idle || unnamed != idle {
		t.Errorf("%s with %s: the same networks %v, differences %q", change, with, same, names)
	}
}

// changedAgent trains a small agent with changed parameters for a moment.
func changedAgent(t *testing.T, changes ...string) *qta.Agent {
	t.Helper()
	a := newAgent(t, with(tiny(), strings.Join(changes, " ")))
	o := qta.TrainOptions{Steps: 60, EvalEvery: 60, Rollouts: 1}
	must(t, a.Train(t.Context(), maze(t), maze(t), o))
	return a
}

// TestCollect finds records in runs' directories and in single files.
func TestCollect(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, path := range []string{
		"some/run/run.json", "some/run/within/other.json", "alone.json", ".hidden/one.json",
		"odd/run.json/one/run.json", // of a sweep with -out run.json
	} {
		roomtest.Write(t, path, string(madeUp(t).Encode()))
	}
	roomtest.Write(t, "some/bad.json", "{}")
	roomtest.Write(t, "lost/agent.qta", "without a record")
	roomtest.Write(t, "lost/lock", "")
	roomtest.Write(t, "agent.qta", "of Agent.SaveFile, so there is no lock")
	if err := os.Symlink("some/run", "linked"); err != nil {
		t.Skip("this file system makes no links: ", err)
	}
	c, err := Collect([]string{"."}) // whose name begins as one that is hidden
	must(t, err)
	var paths []string
	for _, r := range c.Runs {
		paths = append(paths, r.Path)
	}
	equal(t, "the runs", []string{"alone.json", "odd/run.json/one", "some/run"}, paths)
	equal(t, fmt.Sprintf("the number of %v", c.Skipped), 3, len(c.Skipped))
	for _, nowhere := range []string{"nowhere", ""} {
		_, err := Collect([]string{nowhere})
		says(t, err, "cannot be read: ")
	}
}
