package trace

import (
	"encoding/json"
	"math"
	"testing"

	"lab/core/dist"
)

func TestNumbersThatJSONLacksAreNull(t *testing.T) {
	rows := []struct {
		name string
		in   Real
		want string
	}{
		{"a plain number", 0.25, "0.25"},
		{"an infinite divergence", Real(math.Inf(1)), "null"},
		{"minus infinity", Real(math.Inf(-1)), "null"},
		{"undefined", Real(math.NaN()), "null"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			got, err := json.Marshal(r.in)
			if err != nil || string(got) != r.want {
				t.Errorf("got %s, %v, want %s", got, err, r.want)
			}
			back := Real(7)
			if err := json.Unmarshal(got, &back); err != nil || back != r.in && !(r.want == "null" && back != back) {
				t.Errorf("%s reads back as %v, %v", got, back, err)
			}
		})
	}
	for _, bad := range []string{`"1"`, `[]`, `1e999`} {
		if err := json.Unmarshal([]byte(bad), new(Real)); err == nil {
			t.Errorf("%s was read as a number", bad)
		}
	}
}

// Every number of a change reaches its record: all are different here, so two
// that were swapped would show.
func TestAStageRecordsTheWholeChange(t *testing.T) {
	c := dist.Change{SupportBefore: 9, SupportAfter: 4, KeptMass: 0.5, EntropyBefore: 3, EntropyAfter: 2, KL: 1, TV: 0.25,
		Truncation: true, RankBefore: 8, RankAfter: 7, ProbBefore: 0.125, ProbAfter: 0.0625}
	want := Stage{Stage: "s", Plugin: "p", SupportBefore: 9, SupportAfter: 4, KeptMass: 0.5, EntropyBeforeBits: 3, EntropyAfterBits: 2,
		KLBits: 1, TV: 0.25, Truncation: true, ChosenRankBefore: 8, ChosenRankAfter: 7, ChosenProbBefore: 0.125, ChosenProbAfter: 0.0625}
	if got := NewStage("s", "p", c); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := NewSide(0.25, 3, 1.5, 6); got != (Side{Prob: 0.25, SurprisalBits: 2, Rank: 3, EntropyBits: 1.5, Support: 6}) {
		t.Errorf("got %+v", got)
	}
}
