package worked

import (
	"bytes"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qta/testdata"
)

var update = flag.Bool("update", false, "rewrite testdata/worked.txt")

// TestWorked holds the equations worked through in numbers to the text that
// was read and checked, and all results in it to the code and the vectors.
func TestWorked(t *testing.T) {
	var got bytes.Buffer
	apart, err := Through(&got, testdata.Golden(), 0)
	if apart != 0 || err != nil {
		t.Errorf("%d results do not hold, error %v", apart, err)
	}
	file := filepath.Join("testdata", "worked.txt")
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
		t.Errorf("go test -run TestWorked ./internal/worked -update rewrites %s (-want +got):\n%s", file, diff)
	}
}

// A result holds if both the hand's and the code's number are as close to the
// golden one as allowed.
func TestSheetVerdicts(t *testing.T) {
	for _, test := range []struct {
		hand, code, golden float64
		holds              bool
	}{
		{1, 1, 1, true},
		{1.0019, 0.9981, 1, true},
		{1.0021, 1, 1, false},
		{1, 1.0021, 1, false},
		{1, math.NaN(), 1, false},
		{math.NaN(), 1, 1, false},
		{1, math.Inf(1), 1, false},
		{-99.91, -100.09, -100, true},
		{-99.89, -100, -100, false},
	} {
		text := new(strings.Builder)
		s := &Sheet{w: text, tolerance: 1e-3}
		s.result(test.hand, test.code, test.golden, "x")
		s.conclude()
		if (s.Apart == 0) != test.holds || strings.Contains(text.String(), "DOES NOT HOLD") == test.holds {
			t.Errorf("%+v: %d apart, text\n%s", test, s.Apart, text.String())
		}
	}
}
