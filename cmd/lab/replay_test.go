package main

import (
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"lab/core/generate"
	"lab/core/store"
	"lab/core/sweep"
)

func recordedRun(t *testing.T, record string) *store.Stored {
	t.Helper()
	s := session(t, nil)
	p, err := sweep.New(t.Context(), s, sweep.Spec{Record: record, Samples: 6,
		Grid:  []sweep.Block{{"prompt": {"The weather today is", "Anna has a"}, "temperature": {0.7, 1.2}}},
		Fixed: map[string]any{"max_tokens": int64(12), "seed": int64(4)}})
	if err != nil {
		t.Fatal(err)
	}
	o, err := p.Execute(t.Context(), sweep.Folder{Dir: filepath.Join(t.TempDir(), "run"), Name: "run"}, sweep.Options{})
	if err != nil || !o.Complete {
		t.Fatal(o, err)
	}
	run, err := store.Open(o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// What another chain makes of recorded scores is what sampling with it gives, step
// by step to the bit, up to the first token that the record does not have.
func TestReplayIsSamplingAsFarAsTheRecordReaches(t *testing.T) {
	run := recordedRun(t, sweep.RecordScores)
	s := session(t, nil)
	for _, text := range []string{"temperature:0.7", "temperature:0.7 | top_p:0.8", "greedy", "repetition_penalty:1.3 | temperature:1.2 | min_p:0.05", "mirostat_v2:tau=3"} {
		left, same := 0, 0
		err := sweep.Replay(t.Context(), s, run, text, func(p sweep.Replayed) error {
			prompt := []string{"The weather today is", "Anna has a"}[p.Cell/2]
			c, err := s.Chain(t.Context(), text, "test")
			if err != nil {
				return err
			}
			m, err := s.Model(t.Context(), "tiny", nil)
			if err != nil {
				return err
			}
			r, err := m.Run(t.Context(), []generate.Job{{Prompt: []byte(prompt), Chain: c, Seed: 4, Sample: uint64(p.Sample), MaxTokens: 12}}, generate.Options{Ledger: true})
			if err != nil {
				return err
			}
			fresh := r.Samples[0]
			for i := range p.Steps {
				want := fresh.Steps[i]
				want.Piece = nil
				if !reflect.DeepEqual(p.Steps[i], want) {
					t.Fatalf("%s, cell %d, sample %d, step %d is %+v, sampled %+v", text, p.Cell, p.Sample, i, p.Steps[i], want)
				}
			}
			if p.Left >= 0 {
				left++
				if p.Left != len(p.Steps)-1 || p.Steps[p.Left].Token == p.Recorded {
					t.Errorf("%s, cell %d, sample %d leaves at %d of %d steps", text, p.Cell, p.Sample, p.Left, len(p.Steps))
				}
			} else if same++; len(p.Steps) != len(fresh.Steps) {
				t.Errorf("%s, cell %d, sample %d never leaves, and has %d steps of %d", text, p.Cell, p.Sample, len(p.Steps), len(fresh.Steps))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if left+same != 24 || text == "temperature:0.7" && same < 12 || text == "greedy" && left == 0 {
			t.Errorf("%s: %d samples leave, %d never do", text, left, same)
		}
	}
}

// Of the likeliest tokens alone, a chain that keeps no others gives the same
// tokens; one whose result the others decide is refused.
func TestReplayOfTheLikeliestTokens(t *testing.T) {
	dense, top := recordedRun(t, sweep.RecordScores), recordedRun(t, sweep.RecordScores+":40")
	s := session(t, nil)
	all := func(run *store.Stored) (out []sweep.Replayed) {
		err := sweep.Replay(t.Context(), s, run, "top_k:20 | temperature:0.8", func(p sweep.Replayed) error {
			out = append(out, p)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	a, b := all(dense), all(top)
	for i := range a {
		if len(a[i].Steps) != len(b[i].Steps) || a[i].Left != b[i].Left {
			t.Fatalf("sample %d: %d steps against %d", i, len(a[i].Steps), len(b[i].Steps))
		}
		for j := range a[i].Steps {
			// Log-probabilities rounded to float32 move a probability by less than 1e-5.
			if x, y := a[i].Steps[j], b[i].Steps[j]; x.Token != y.Token || !(math.Abs(float64(x.Sampling.Prob-y.Sampling.Prob)) <= 1e-5) {
				t.Fatalf("sample %d, step %d: %+v against %+v", i, j, x, y)
			}
		}
	}
	err := sweep.Replay(t.Context(), s, top, "temperature:0.8", func(sweep.Replayed) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "temperature") {
		t.Errorf("temperature over 40 tokens: %v", err)
	}
}

func TestReplayRefusals(t *testing.T) {
	s := session(t, nil)
	scores, ledger := recordedRun(t, sweep.RecordScores+":3"), recordedRun(t, sweep.RecordLedger)
	for name, row := range map[string]struct {
		run         *store.Stored
		chain, want string
	}{
		"no scores":   {ledger, "greedy", "kept no scores"},
		"no stage":    {scores, "gredy", `did you mean "greedy"`},
		"token texts": {scores, "regex:'a*'", "it needs the model"},
		"a pass":      {scores, "cfg:2", "it needs the model"},
	} {
		err := sweep.Replay(t.Context(), s, row.run, row.chain, func(sweep.Replayed) error { return nil })
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %q", name, err, row.want)
		}
	}
}
