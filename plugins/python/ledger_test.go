//go:build python

package python

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"lab/core/dist"
	"lab/core/plugin/host"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// sameChange fails when two lines of a ledger differ by more than rounding: the
// sums of both run in binary64, in another order.
func sameChange(t *testing.T, got, want dist.Change) {
	t.Helper()
	if got.SupportBefore != want.SupportBefore || got.SupportAfter != want.SupportAfter || got.Truncation != want.Truncation ||
		got.RankBefore != want.RankBefore || got.RankAfter != want.RankAfter {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for name, pair := range map[string][2]float64{
		"kept mass": {got.KeptMass, want.KeptMass}, "entropy before": {got.EntropyBefore, want.EntropyBefore},
		"entropy after": {got.EntropyAfter, want.EntropyAfter}, "KL": {got.KL, want.KL}, "TV": {got.TV, want.TV},
		"p before": {got.ProbBefore, want.ProbBefore}, "p after": {got.ProbAfter, want.ProbAfter},
		"unlisted before": {got.UnlistedBefore, want.UnlistedBefore}, "unlisted after": {got.UnlistedAfter, want.UnlistedAfter},
	} {
		if !(math.Abs(pair[0]-pair[1]) <= 1e-9*max(1, math.Abs(pair[1]))) {
			t.Errorf("%s: got %.15g, want %.15g", name, pair[0], pair[1])
		}
	}
}

// The numbers that Python fills into the ledger are those of the Go ledger for
// the same rows, whatever the stage does to a row of whatever form.
func TestThePythonLedgerIsTheGoLedger(t *testing.T) {
	project := t.TempDir()
	const text = `import math
from lab_plugin import param, sampler, serve

@sampler(summary="Removes every third token and scales the others.", source="none", unlisted=True, params=[param.number("by", default=1, meaning="factor")])
def thin(scores, row, *, by):
    row.unlisted = 0.0  # a tail goes whole
    return [by * float(x) if i % 3 != 1 else -math.inf for i, x in zip(row.ids, scores)]

@sampler(summary="Takes the second of the tokens.", source="none", kind="select", unlisted=True)
def second(scores, row):
    return [i for i, x in zip(row.ids, scores) if x > -math.inf][1]

serve("thin", version="1", samplers=[thin, second])
`
	if err := os.WriteFile(filepath.Join(project, "thin.py"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := host.New(host.Options{Dirs: []string{layOut(t, "thin", project, "thin.py")}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	inf := float32(math.Inf(-1))
	ln := func(p float64) float32 { return float32(math.Log(p)) }
	rows := map[string]dist.Scores{
		"dense":            ramp(1000),
		"dense, holes":     dist.NewDense([]float32{inf, 3, 1, inf, 0.5, 2, -4, inf, 1}),
		"sparse":           {Vocab: 50, IDs: []int32{2, 3, 4, 30, 48}, Values: []float32{1, 2, inf, 0.25, -7}},
		"far apart":        dist.NewDense([]float32{0, -800, -2000, 0, 5}),
		"an unlisted tail": {Vocab: 50, IDs: []int32{2, 3, 4, 30}, Values: []float32{ln(0.5), ln(0.2), ln(0.1), ln(0.1)}, Unlisted: 0.1},
	}
	specs, err := h.Sampler(context.Background(), "thin")
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range rows {
		for _, by := range []string{"1", "0.5"} {
			t.Run(name+", factor "+by, func(t *testing.T) {
				set, err := specs.Params.Resolve("test", "thin", []param.Setting{{Name: "by", Value: by}})
				if err != nil {
					t.Fatal(err)
				}
				it := &sampler.Item{Scores: row.Clone()}
				call := &sampler.Call{Items: []*sampler.Item{it}, Ledger: true, Rows: true,
					Stages: []sampler.Stage{{Sampler: "thin", Values: set}, {Sampler: "second"}}}
				if err := h.Runner("thin").Run(context.Background(), call); err != nil {
					t.Fatal(err)
				}
				var ws dist.Workspace
				if err := ws.Start(&row); err != nil {
					t.Fatal(err)
				}
				var want []dist.Change
				for i := range it.Rows {
					c, err := ws.Next(&it.Rows[i])
					if err != nil {
						t.Fatal(err)
					}
					want = append(want, c)
				}
				ws.Choose(it.Chosen, want)
				for i := range want {
					sameChange(t, it.Changes[i], want[i])
					if err := it.Changes[i].Check(); err != nil {
						t.Error(err)
					}
				}
				if it.Chosen < 0 || it.Changes[1].RankAfter == 0 {
					t.Errorf("token %d was chosen, at rank %d", it.Chosen, it.Changes[1].RankAfter)
				}
			})
		}
	}
}
