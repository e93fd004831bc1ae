package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"qta"
)

// A logRow is what is read of a row of log.csv.
type logRow struct {
	step    int
	success float64
}

// logColumns begin the header of log.csv.
const logColumns = "step[environment steps],success[fraction],"

// logText returns log.csv: a row for each evaluation, the unit of each column
// in the header.
func logText(p qta.Params, evaluations []qta.Evaluation) []byte {
	distance := "cell^2"
	if p.HeadLoss == "norm" {
		distance = "cell"
	}
	header := logColumns + "critic_loss[reward^2],predictive_loss[" + distance + "],actor_loss[reward],goals_set[count],goals_reached[count]"
	rows := [][]string{strings.Split(header, ",")}
	float := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	for _, e := range evaluations {
		rows = append(rows, []string{strconv.Itoa(e.Step), float(e.Success), float(e.CriticLoss), float(e.PredictiveLoss), float(e.ActorLoss),
			strconv.Itoa(e.GoalsSet), strconv.Itoa(e.GoalsReached)})
	}
	return csvText(rows)
}

// maxLog bounds the log.csv that is read, in bytes: one of a hundred thousand
// evaluations is smaller.
const maxLog = 16 << 20

// readLog reads log.csv of a directory.
func readLog(dir string) ([]logRow, error) {
	data, err := readInput(filepath.Join(dir, logFile), maxLog)
	if err != nil {
		return nil, err
	}
	return parseLog(data)
}

// parseLog reads the text of log.csv: rows of as many numbers as the header
// has columns, the steps ascending.
func parseLog(data []byte) ([]logRow, error) {
	if !bytes.HasPrefix(data, []byte(logColumns)) {
		return nil, fmt.Errorf("line 1: want a header that begins with %s", logColumns)
	}
	text, err := readRows(data)
	if err != nil {
		return nil, err
	}
	rows := make([]logRow, len(text)-1)
	last := 0
	for i := range rows {
		line, x := i+2, make([]float64, len(text[0]))
		for k, field := range text[i+1] {
			if x[k], err = strconv.ParseFloat(field, 64); err != nil {
				return nil, fmt.Errorf("line %d, column %d: %.20q is no number", line, k+1, field)
			}
		}
		row := logRow{int(x[0]), x[1]}
		switch {
		case float64(row.step) != x[0] || row.step < 1 || row.step > maxSteps:
			return nil, fmt.Errorf("line %d: step %v, want a whole number from 1 to %d", line, x[0], maxSteps)
		case !(row.success >= 0 && row.success <= 1):
			return nil, fmt.Errorf("line %d: success %v, want a number from 0 to 1", line, row.success)
		case row.step <= last:
			return nil, fmt.Errorf("line %d: step %d, want one after %d", line, row.step, last)
		}
		rows[i], last = row, row.step
	}
	return rows, nil
}

// firstAt returns the step of the first evaluation of at least this success, or
// 0.
func firstAt(rows []logRow, success float64) int {
	if i := slices.IndexFunc(rows, func(row logRow) bool { return row.success >= success }); i >= 0 {
		return rows[i].step
	}
	return 0
}

// A timing is timing.csv of a run that is worked on.
type timing struct{ f *os.File }

const timingHeader = "step[environment steps],seconds[s since this process began],rate[environment steps/s]"

// maxTiming bounds the timing.csv that is read, in bytes.
const maxTiming = 256 << 20

// openTiming opens timing.csv to append rows. A row that a killed process left
// incomplete is cut off.
func openTiming(dir string) (timing, error) {
	path := filepath.Join(dir, timingFile)
	text, err := readInput(path, maxTiming)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	var t timing
	if err == nil {
		t.f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	}
	whole := int64(bytes.LastIndexByte(text, '\n') + 1)
	if err == nil {
		err = t.f.Truncate(whole)
	}
	if err == nil {
		_, err = t.f.Seek(whole, io.SeekStart)
	}
	if err == nil && whole == 0 {
		err = t.write(strings.Split(timingHeader, ","))
	}
	if err != nil {
		t.close()
		return t, fmt.Errorf("%s cannot be written: %w", path, cause(err))
	}
	return t, nil
}

// add appends the row of an evaluation.
func (t timing) add(step int, seconds, rate float64) error {
	err := t.write([]string{strconv.Itoa(step), strconv.FormatFloat(seconds, 'f', 3, 64), strconv.FormatFloat(rate, 'g', 4, 64)})
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", t.f.Name(), cause(err))
	}
	return nil
}

func (t timing) write(row []string) error {
	_, err := t.f.Write(csvText([][]string{row}))
	return err
}

func (t timing) close() { t.f.Close() } // that of nil is an error and nothing else
