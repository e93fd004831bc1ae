package rundir

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"qta"
	"qta/cmd/qta/internal/files"
	"qta/cmd/qta/internal/words"
)

// A Row is what is read of a row of log.csv.
type Row struct {
	Step    int
	Success float64
}

// logColumns begin the header of log.csv.
const logColumns = "step[environment steps],success[fraction],"

// WriteLog writes log.csv in a directory: a row for each evaluation, the unit
// of each column in the header.
func WriteLog(dir string, p qta.Params, evaluations []qta.Evaluation, durable bool) error {
	return files.Write(filepath.Join(dir, LogFile), logText(p, evaluations), durable)
}

func logText(p qta.Params, evaluations []qta.Evaluation) []byte {
	header := logColumns + "critic_loss[reward^2],predictive_loss[" + LossUnit(p) + "],actor_loss[reward],goals_set[count],goals_reached[count]," + rolloutColumns
	rows := [][]string{strings.Split(header, ",")}
	for _, e := range evaluations {
		row := []string{strconv.Itoa(e.Step), number(e.Success), number(e.CriticLoss), number(e.PredictiveLoss), number(e.ActorLoss),
			strconv.Itoa(e.GoalsSet), strconv.Itoa(e.GoalsReached)}
		rows = append(rows, append(row, rolloutRow(e)...))
	}
	return files.CSV(rows)
}

// LossUnit returns the unit of the predictive loss.
func LossUnit(p qta.Params) string {
	if p.HeadLoss == qta.HeadLossNorm {
		return "cell"
	}
	return "cell^2"
}

// rolloutColumns are what is told of an evaluation's rollouts beside success.
const rolloutColumns = "reached[fraction],return[reward],steps_to_goal[environment steps]"

func rolloutRow(e qta.Evaluation) []string {
	return []string{number(e.Reached), number(e.Return), number(e.StepsToGoal)}
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// EvaluationText returns an evaluation of so many rollouts as a table like the
// log's, of one row.
func EvaluationText(e qta.Evaluation, rollouts int, seed uint64) []byte {
	row := []string{strconv.Itoa(e.Step), number(e.Success), strconv.Itoa(rollouts), strconv.FormatUint(seed, 10)}
	return files.CSV([][]string{strings.Split(logColumns+"rollouts[count],seed,"+rolloutColumns, ","), append(row, rolloutRow(e)...)})
}

// maxLog bounds the log.csv that is read, in bytes: one of a hundred thousand
// evaluations is smaller.
const maxLog = 16 << 20

// MaxFigure5 bounds the figure5.csv that is read, in bytes: one with as many
// snapshots and points as there can be is smaller.
const MaxFigure5 = 32 << 20

// ReadLog reads log.csv of a directory.
func ReadLog(dir string) ([]Row, error) {
	data, err := files.Read(filepath.Join(dir, LogFile), maxLog)
	if err != nil {
		return nil, err
	}
	return parseLog(data)
}

// parseLog reads the text of log.csv: rows of as many numbers as the header
// has columns, the steps ascending.
func parseLog(data []byte) ([]Row, error) {
	if !bytes.HasPrefix(data, []byte(logColumns)) {
		return nil, fmt.Errorf("line 1: want a header that begins with %s", logColumns)
	}
	text, err := files.Rows(data)
	if err != nil {
		return nil, err
	}
	rows := make([]Row, len(text)-1)
	last := 0
	for i := range rows {
		line, x := i+2, make([]float64, len(text[0]))
		for k, field := range text[i+1] {
			if x[k], err = strconv.ParseFloat(field, 64); err != nil {
				return nil, fmt.Errorf("line %d, column %d: %.20q is no number", line, k+1, field)
			}
		}
		row := Row{int(x[0]), x[1]}
		switch {
		case float64(row.Step) != x[0] || row.Step < 1 || row.Step > MaxSteps:
			return nil, fmt.Errorf("line %d: step %v, want a whole number from 1 to %d", line, x[0], MaxSteps)
		case !(row.Success >= 0 && row.Success <= 1):
			return nil, fmt.Errorf("line %d: success %v, want a number from 0 to 1", line, row.Success)
		case row.Step <= last:
			return nil, fmt.Errorf("line %d: step %d, want one after %d", line, row.Step, last)
		}
		rows[i], last = row, row.Step
	}
	return rows, nil
}

// FirstAt returns the step of the first evaluation of at least this success, or
// 0.
func FirstAt(rows []Row, success float64) int {
	if i := slices.IndexFunc(rows, func(row Row) bool { return row.Success >= success }); i >= 0 {
		return rows[i].Step
	}
	return 0
}

// A Timing is timing.csv of a run that is worked on.
type Timing struct{ f *os.File }

const timingHeader = "step[environment steps],seconds[s since this process began],rate[environment steps/s]\n"

// maxTiming bounds the timing.csv that is read, in bytes.
const maxTiming = 256 << 20

// OpenTiming opens timing.csv to append rows. A row that a killed process left
// incomplete is cut off.
func OpenTiming(dir string) (Timing, error) {
	path := filepath.Join(dir, TimingFile)
	text, err := files.Read(path, maxTiming)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Timing{}, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	if len(text) == 0 {
		text = []byte(timingHeader)
	}
	if err := files.Write(path, text, false); err != nil {
		return Timing{}, err
	}
	f, err := files.Open(path, os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return Timing{}, fmt.Errorf("%s cannot be written: %w", path, err)
	}
	return Timing{f}, nil
}

// Add appends the row of an evaluation.
func (t Timing) Add(step int, seconds, rate float64) error {
	row := []string{strconv.Itoa(step), strconv.FormatFloat(seconds, 'f', 3, 64), strconv.FormatFloat(rate, 'g', 4, 64)}
	if _, err := t.f.Write(files.CSV([][]string{row})); err != nil {
		return fmt.Errorf("%s cannot be written: %w", t.f.Name(), words.Cause(err))
	}
	return nil
}

// maxTail bounds the timing.csv that a sweep's table is read from, each second.
const maxTail = 1 << 20

// LastTiming returns the last row of timing.csv of a directory: a step, and the
// rate up to it in environment steps per second; or zeros where there is none.
func LastTiming(dir string) (step int, rate float64) {
	text, err := files.Read(filepath.Join(dir, TimingFile), maxTail)
	lines := bytes.Split(text, []byte("\n"))
	if err != nil || len(lines) < 2 {
		return 0, 0
	}
	fields := strings.Split(string(lines[len(lines)-2]), ",") // the last is being written, or empty
	if len(fields) != 3 {
		return 0, 0
	}
	step, err1 := strconv.Atoi(fields[0])
	rate, err2 := strconv.ParseFloat(fields[2], 64)
	if err1 != nil || err2 != nil || step < 1 || !(rate > 0) || math.IsInf(rate, 0) {
		return 0, 0
	}
	return step, rate
}

// Close closes the file.
func (t Timing) Close() { t.f.Close() }
