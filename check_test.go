package qta

import (
	"os"
	"testing"
)

func TestGolden(t *testing.T) {
	results, err := Check(os.DirFS("testdata/golden"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		t.Run(r.Equation+"/"+r.Case, func(t *testing.T) {
			if r.Unchecked != "" {
				t.Skip(r.Unchecked)
			}
			if r.Err != nil {
				t.Error(r.Err)
			}
			t.Logf("%v %s: worst %.2g of %.2g", r.Numbers, r.Function, r.Worst, r.Tolerance)
		})
	}
}
