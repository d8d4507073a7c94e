package samplers

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"lab/core/dist"
	"lab/core/golden"
	"lab/core/plugin/sampler"
)

func newSet(t testing.TB) *sampler.Set {
	t.Helper()
	set, err := sampler.NewSet(All()...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// apply runs stages over a row with the ledger on, so that every case also
// checks the ledger's identities.
func apply(set *sampler.Set, row dist.Scores, stages ...sampler.Stage) (dist.Scores, error) {
	it := &sampler.Item{Scores: row}
	err := set.Run(context.Background(), &sampler.Call{Stages: stages, Items: []*sampler.Item{it}, Ledger: true})
	return it.Scores, err
}

// tally says what became of the cases of a group, so that none is skipped
// unseen: hold, ties, refused by design, differ, not covered.
type tally [5]int

// goldenCases are the groups of testdata/golden with what is known of them
// under the superset's own rules. Where a group has no references the answers
// of the one system that was run are compared.
var goldenCases = map[string]tally{
	"chains":             {100, 0, 0, 0, 0},
	"degenerate":         {120, 0, 0, 0, 0},
	"dry":                {49, 0, 0, 0, 0},
	"dynatemp":           {64, 0, 0, 0, 0},
	"epsilon":            {79, 0, 0, 0, 0},
	"eta":                {79, 0, 0, 0, 0},
	"grammar":            {34, 0, 0, 0, 0},
	"guidance":           {5, 0, 0, 0, 1},
	"history_processors": {42, 0, 0, 0, 21},
	"large":              {181, 0, 0, 0, 0},
	"min_p":              {104, 0, 0, 0, 0},
	"penalties":          {155, 0, 0, 0, 5},
	"quadratic":          {64, 0, 0, 0, 0},
	"seeded_draws":       {0, 0, 0, 0, 166},
	"selection":          {8, 0, 4, 0, 1},
	"temperature":        {98, 0, 0, 0, 0},
	"tfs":                {79, 0, 0, 0, 0},
	"top_a":              {66, 0, 0, 0, 0},
	"top_h":              {68, 0, 0, 0, 0},
	"top_k":              {107, 0, 0, 0, 0},
	"top_n_sigma":        {81, 0, 0, 0, 0},
	"top_p":              {116, 0, 0, 0, 0},
	"typical":            {85, 0, 0, 0, 0},
	"watermark":          {6, 0, 0, 0, 2},
	"xtc":                {93, 0, 0, 0, 1},
}

// tallyOf counts what becomes of the cases of a file; each is called for every
// case, unless nil.
func tallyOf(t *testing.T, subject golden.Subject, path string, each func(golden.Result)) (got tally) {
	t.Helper()
	r, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	f, err := golden.Read(r, filepath.Base(path))
	if err != nil {
		t.Fatal(err)
	}
	results, err := f.Verify(t.Context(), subject, golden.Reference)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range results {
		got[slices.Index(golden.Verdicts, x.Verdict)]++
		if each != nil {
			each(x)
		}
	}
	return got
}

// Every reference case of every group holds.
func TestGolden(t *testing.T) {
	subject, err := golden.InProcess(All()...)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/golden/*.json")
	if err != nil || len(files) != len(goldenCases) {
		t.Errorf("%d files for %d groups (%v)", len(files), len(goldenCases), err)
	}
	for _, path := range files {
		group := filepath.Base(path[:len(path)-len(".json")])
		t.Run(group, func(t *testing.T) {
			got := tallyOf(t, subject, path, func(x golden.Result) {
				if x.Verdict == golden.Differs {
					t.Errorf("%s: %s", x.Case, x.Why)
				}
			})
			if got != goldenCases[group] {
				t.Errorf("hold, ties, refused, differ, not covered: want %v; the row is now\n\t%q: {%d, %d, %d, %d, %d},",
					goldenCases[group], group, got[0], got[1], got[2], got[3], got[4])
			}
		})
	}
}
