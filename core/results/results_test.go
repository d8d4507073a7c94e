package results

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"lab/core/measure"
	"lab/core/store"
	"lab/core/trace"
)

// stored is a run of two cells by samples, whose sample i of cell c has c+i%3+1
// tokens; shift adds to the surprisal of every step.
func stored(t *testing.T, samples int, ledger bool, shift float64) *store.Stored {
	t.Helper()
	return storedOf(t, "b", samples, ledger, shift)
}

// storedOf is stored with another prompt of its second cell.
func storedOf(t *testing.T, second string, samples int, ledger bool, shift float64) *store.Stored {
	t.Helper()
	dir := t.TempDir()
	r, err := store.Create(dir, store.Manifest{Name: "test", Spec: json.RawMessage("{}"), Axes: []string{"temperature"}, Cells: 2, Samples: samples, Ledger: ledger,
		Used: json.RawMessage("{}"), Lab: "test"},
		[]store.Column{{Name: "prompt", Values: []any{"a", second}}, {Name: "seed", Values: []any{int64(1), int64(len(second))}}, {Name: "temperature", Values: []any{0.5, nil}}})
	if err != nil {
		t.Fatal(err)
	}
	for cell := range 2 {
		for i := range samples {
			rec := store.Record{Cell: cell, Sample: i, PromptTokens: 2, Trace: trace.Sample{Sample: uint64(i), Tokens: []int32{}, Text: fmt.Sprint(cell, i), Stop: trace.Stop{Reason: trace.MaxTokens}}}
			if cell == 1 && i == 1 {
				rec = store.Record{Cell: cell, Sample: i, Failure: "it failed"}
			}
			for j := range cell + i%3 + 1 {
				if rec.Failure != "" {
					break
				}
				rec.Trace.Tokens = append(rec.Trace.Tokens, int32(j%2))
				if ledger {
					bits := trace.Real(float64(i) + shift)
					side := &trace.Side{Prob: trace.Real(math.Exp2(-float64(bits))), SurprisalBits: bits, Rank: 1, EntropyBits: 1, Support: 2}
					rec.Trace.Steps = append(rec.Trace.Steps, trace.Step{Step: j, Token: int32(j % 2), Piece: []byte("x"), Model: side, Sampling: side,
						Stages: []trace.Stage{{Stage: "sample", Plugin: "samplers", KeptMass: 1}}})
				}
			}
			if err := r.Put(rec); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := r.Finish(); err != nil {
		t.Fatal(err)
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

func TestTablesOfARun(t *testing.T) {
	run := stored(t, 4, true, 0)
	samples, err := Samples(run, []string{"length_tokens", "distinct_2"})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(samples.Names(), " "); got != "cell temperature sample prompt_tokens tokens text stop length_tokens distinct_2" || samples.Rows() != 7 {
		t.Fatalf("%d rows of %s", samples.Rows(), got)
	}
	row, err := samples.Row(4)
	if err != nil || row["cell"] != int64(1) || row["sample"] != int64(0) || row["temperature"] != nil || row["tokens"] != int64(2) || row["length_tokens"] != 2.0 {
		t.Errorf("row 4 is %v, %v", row, err)
	}
	if row, err := samples.Row(0); err != nil || row["distinct_2"] != nil {
		t.Errorf("one token has no bigrams: %v, %v", row, err)
	}
	cells, err := Cells(run, []string{"model_surprisal_bits", "unique_outputs"}, measure.Interval{})
	if err != nil {
		t.Fatal(err)
	}
	row, err = cells.Row(1) // samples 0, 2, 3 of 2, 4, 2 tokens at 0, 2, 3 bits
	if err != nil || row["samples"] != int64(3) || row["model_surprisal_bits"] != (4*2+2*3)/8.0 || row["model_surprisal_bits_n"] != int64(3) || row["unique_outputs"] != 3.0 {
		t.Errorf("cell 1 is %v, %v", row, err)
	}
	steps, err := Steps(run)
	if err != nil || steps.Rows() != 1+2+3+1+2+4+2 {
		t.Errorf("%d steps, %v", steps.Rows(), err)
	}
	stages, err := Stages(run)
	if err != nil || stages.Rows() != steps.Rows() || !stages.Has("temperature") {
		t.Errorf("stages: %v", err)
	}
}

// Under common random numbers a constant difference is certain, whatever the
// samples themselves scatter.
func TestPairsOfRuns(t *testing.T) {
	a, b := stored(t, 8, true, 0.25), stored(t, 8, true, 0)
	p, err := Compare(a, b, "model_surprisal_bits", measure.Interval{})
	if err != nil {
		t.Fatal(err)
	}
	o := p.Overall
	if o.Pairs != 15 || !(math.Abs(o.Difference.Value-0.25) <= 1e-12) || !(o.Factor > 1e20) || len(p.Cells) != 2 || !p.SameSeeds {
		t.Errorf("%+v", p)
	}
	if !(o.Unpaired.Hi-o.Unpaired.Lo > 1) {
		t.Errorf("as independent values the difference is in [%g, %g]", o.Unpaired.Lo, o.Unpaired.Hi)
	}
	if same, err := Compare(a, a, "length_tokens", measure.Interval{}); err != nil || same.Overall.Difference.Value != 0 {
		t.Errorf("a run and itself: %+v, %v", same, err)
	}
}

func TestWhatTablesCannotSay(t *testing.T) {
	with, without := stored(t, 3, true, 0), stored(t, 3, false, 0)
	rows := []struct {
		name  string
		f     func() error
		wants string
	}{
		{"unknown measure", func() error { _, err := Samples(with, []string{"distinkt_2"}); return err }, `distinct_2`},
		{"a measure of sets", func() error { _, err := Samples(with, []string{"unique_outputs"}); return err }, "a measure of a set"},
		{"no steps", func() error {
			_, err := Cells(without, []string{"model_surprisal_bits"}, measure.Interval{})
			return err
		}, "did not record"},
		{"no table of steps", func() error { _, err := Steps(without); return err }, "did not record"},
		{"pairs of sets", func() error { _, err := Compare(with, with, "unique_outputs", measure.Interval{}); return err }, "pairs need one of each"},
		{"other prompts", func() error {
			_, err := Compare(with, storedOf(t, "c", 3, true, 0), "length_tokens", measure.Interval{})
			return err
		}, `cell 1 has the prompt "c"`},
		{"level", func() error { _, err := Compare(with, with, "length_tokens", measure.Interval{Level: 2}); return err }, "level"},
	}
	for _, r := range rows {
		if err := r.f(); err == nil || !strings.Contains(err.Error(), r.wants) {
			t.Errorf("%s: got %v, want %q", r.name, err, r.wants)
		}
	}
}
