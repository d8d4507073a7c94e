package source

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"lab/core/fault"
	"lab/core/store"
	"lab/core/trace"
	"lab/plots"
)

// stored is a run of temperature times top_k, three samples each: sample i of
// cell c repeats one of c+1 tokens. One cell failed as a whole, one has not run.
func stored(t *testing.T, ledger bool) *store.Stored { return storedRun(t, ledger, true) }

// storedRun is stored, perhaps without what the samples took.
func storedRun(t *testing.T, ledger, costs bool) *store.Stored {
	t.Helper()
	dir := t.TempDir()
	r, err := store.Create(dir, store.Manifest{Name: "made", Spec: json.RawMessage("{}"), Axes: []string{"temperature", "top_k"}, Cells: 6, Samples: 3, Ledger: ledger,
		Used: json.RawMessage("{}"), Lab: "test"},
		[]store.Column{{Name: "prompt", Values: []any{"a", "a", "a", "a", "a", "a"}},
			{Name: "temperature", Values: []any{2.0, 2.0, 0.5, 0.5, nil, nil}}, {Name: "top_k", Values: []any{int64(40), int64(5), int64(40), int64(5), int64(40), int64(5)}}})
	if err != nil {
		t.Fatal(err)
	}
	for cell := range 5 {
		for i := range 3 {
			rec := store.Record{Cell: cell, Sample: i, PromptTokens: 1, Trace: trace.Sample{Sample: uint64(i), Text: "x", Stop: trace.Stop{Reason: trace.MaxTokens}}}
			rec.Cost = &trace.Cost{PrefillTokens: 1, DecodeTokens: float64(10 + i), PrefillSeconds: 0.25, DecodeSeconds: float64(cell), FLOPs: float64(100 * (cell + 1)), Batch: 1}
			if cell == 1 {
				rec.Failure = "no memory"
			}
			if cell == 1 || !costs {
				rec.Cost = nil
			}
			for j := range 12 {
				if rec.Failure != "" {
					break
				}
				token := int32(j % (cell + 1 + i))
				rec.Trace.Tokens = append(rec.Trace.Tokens, token)
				if ledger {
					side := &trace.Side{Prob: 0.5, SurprisalBits: 1, Rank: 1, EntropyBits: trace.Real(cell), Support: 2}
					rec.Trace.Steps = append(rec.Trace.Steps, trace.Step{Step: j, Token: token, Piece: []byte{'a' + byte(token)}, Model: side, Sampling: side})
				}
			}
			if err := r.Put(rec); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := r.Close(store.Session{}); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// rows draws and returns the data of the figure.
func rows(t *testing.T, r Request) [][]string {
	t.Helper()
	f, err := Draw(r)
	if err != nil {
		t.Fatal(err)
	}
	return f.Table().Rows
}

func TestGridNamesFailuresAndLeavesOutWhatHasNotRun(t *testing.T) {
	got := rows(t, Request{Figure: "grid", Runs: []*store.Stored{stored(t, true)}, Set: map[string]string{"value": "sampling_entropy_bits"}})
	if len(got) != 5 {
		t.Fatalf("%d cells, want the five that ran", len(got))
	}
	want := [][]string{{"2", "40", "0"}, {"2", "5", "NaN"}, {"0.5", "40", "2"}, {"0.5", "5", "3"}, {"none", "40", "4"}}
	for i, w := range want {
		if !slices.Equal(got[i][:3], w) {
			t.Errorf("cell %d is %v, want %v", i, got[i][:3], w)
		}
	}
	if got[1][5] != "no memory" {
		t.Errorf("the cell that failed says %q", got[1][5])
	}
	q := &request{cells: []map[string]any{{"t": 2.0}, {"t": 0.5}, {"t": nil}, {"t": 10.0}}}
	if v := q.values("t"); !slices.Equal(v.names, []string{"0.5", "2", "10", "none"}) || !slices.Equal(v.of, []int{1, 0, 3, 2}) {
		t.Errorf("values %v, of %v: want numbers rising and none last", v.names, v.of)
	}
}

func TestEntropyOfARunByItsTemperature(t *testing.T) {
	got := rows(t, Request{Figure: "entropy", Runs: []*store.Stored{stored(t, true)}})
	if len(got) != 2 {
		t.Fatalf("%d temperatures: %v", len(got), got)
	}
	// Cells 2 and 3 are at 0.5 with entropies 2 and 3, three samples each.
	if i := slices.Index(got[0], "0.5"); i < 0 || got[0][i+1] != "2.5" {
		t.Errorf("the median at 0.5 is in %v, want 2.5", got[0])
	}
}

func TestGroupsOfARun(t *testing.T) {
	run := stored(t, false)
	for by, want := range map[string][]string{"": {"temperature 2 · top_k 40", "temperature 0.5 · top_k 40", "temperature 0.5 · top_k 5", "temperature none · top_k 40"},
		"top_k": {"top_k 40", "top_k 5"}, "prompt": {"a"}} {
		var names []string
		for _, row := range rows(t, Request{Figure: "zipf", Runs: []*store.Stored{run}, Set: map[string]string{"by": by}}) {
			row[0], _, _ = strings.Cut(row[0], ", s = ")
			if len(names) == 0 || names[len(names)-1] != row[0] {
				names = append(names, row[0])
			}
		}
		if !slices.Equal(names, want) {
			t.Errorf("by %q: %v, want %v", by, names, want)
		}
	}
}

func TestPairsOfARunWithItself(t *testing.T) {
	run := stored(t, false)
	f, err := Draw(Request{Figure: "pairs", Runs: []*store.Stored{run, run}})
	if err != nil || f.Title() != "All 12 pairs are the same to the end" {
		t.Errorf("%v, %v", f, err)
	}
	a, b := &trace.Sample{Sample: 3, Tokens: []int32{1}}, &trace.Sample{Sample: 4, Tokens: []int32{1}}
	if _, err := Pairs("a", "b", []*trace.Sample{a}, []*trace.Sample{b}); err == nil || fault.KindOf(err) != fault.Usage {
		t.Errorf("samples 3 and 4 are no pair, got %v", err)
	}
	d, err := Pairs("a", "b", []*trace.Sample{b, a}, []*trace.Sample{a})
	if err != nil || len(d.Pairs) != 1 {
		t.Errorf("%d pairs, %v; want sample 3 with itself", len(d.Pairs), err)
	}
}

func TestEveryFigureSaysWhatTheRunLacks(t *testing.T) {
	run := stored(t, false)
	for _, fig := range Figures() {
		if !slices.ContainsFunc(plots.Catalogue(), func(e plots.Entry) bool { return e.Name == fig.Name }) {
			t.Errorf("%s is not in the catalogue", fig.Name)
		}
		runs := slices.Repeat([]*store.Stored{run}, fig.Runs)
		_, err := Draw(Request{Figure: fig.Name, Runs: runs})
		if strings.HasPrefix(fig.Needs, "record") {
			if err == nil || fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "the run lacks the column") || !strings.Contains(err.Error(), "run the sweep with record: ") {
				t.Errorf("%s: got %v, want the columns that are missing and how to record them", fig.Name, err)
			}
		} else if err != nil {
			t.Errorf("%s: %v", fig.Name, err)
		}
	}
}

func TestASideThatIsNotKnown(t *testing.T) {
	d, err := Tokens("p", &trace.Sample{Tokens: []int32{7}, Steps: []trace.Step{{Piece: []byte("x"), Model: &trace.Side{Prob: 0.25, SurprisalBits: 2, Rank: 3, EntropyBits: 1}}}})
	if err != nil {
		t.Fatal(err)
	}
	if s := d.Tokens[0].Sampling; !math.IsNaN(s.Prob) || !math.IsNaN(s.SurprisalBits) || s.Rank != 0 {
		t.Errorf("the sampling side of a searched token is %+v", s)
	}
	if _, err := Tokens("p", &trace.Sample{Tokens: []int32{7}}); err == nil || fault.KindOf(err) != fault.Usage {
		t.Errorf("without steps: %v", err)
	}
}
