package lab

import (
	"strings"
	"testing"

	"qta"
)

// TestFormer reads records from before Learner, and others that lack a parameter,
// which is what it is in Paper.
func TestFormer(t *testing.T) {
	for _, set := range []string{"4x5-authors-0", "1U5-mega-own-0", "1U5-vds-own-0"} {
		if r, err := ReadRecord("../results/runs/authors/" + set + ".json"); err != nil || SetName(r.Run.Params) != strings.Split(set, "-")[1] {
			t.Errorf("%s: error %v, or other parameters", set, err)
		}
	}
	body, _, _ := strings.Cut(string(madeUp(t).Encode()), checksumBefore)
	lacks := strings.Replace(body, `"HiddenSize": 64,`, "", 1)
	if got, err := decodeRecord(sealed([]byte(lacks))); err != nil || lacks == body || got.Run.Params.HiddenSize != qta.Paper().HiddenSize {
		t.Errorf("without HiddenSize: %v", err)
	}
	former := strings.Replace(body, `"Learner": "paper"`, `"HeadLoss": "norm"`, 1)
	if _, err := decodeRecord(sealed([]byte(former))); err == nil || !strings.Contains(err.Error(), "no learner of this one") {
		t.Errorf("of no learner: error %v", err)
	}
}
