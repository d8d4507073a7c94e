//go:build unix

package host_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"lab/core/dist"
	"lab/core/plugin/internal/wire"
	"lab/core/plugin/model"
	"lab/core/plugin/sampler"
)

// A token that one stage removed is not to come back in the row after the next,
// even if it is gone again at the end.
func TestRevivalBetweenStagesIsSeenWhereRowsAre(t *testing.T) {
	row := func(values ...float32) dist.Scores { return dist.NewDense(values) }
	gone := float32(math.Inf(-1))
	for _, tt := range []struct {
		name  string
		given dist.Scores
		rows  []dist.Scores
		last  dist.Scores
		ok    bool
	}{
		{"nothing removed", row(1, 2, 3), []dist.Scores{row(3, 2, 1)}, row(3, 2, 1), true},
		{"removed and gone", row(1, 2, 3), []dist.Scores{row(1, gone, 3), row(2, gone, 3)}, row(2, gone, 3), true},
		{"removed and back", row(1, 2, 3), []dist.Scores{row(1, gone, 3), row(1, 2, 3)}, row(1, 2, 3), false},
		{"back for a while", row(1, gone, 3), []dist.Scores{row(1, 2, 3), row(1, gone, 3)}, row(1, gone, 3), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newHost(t, inline, "scripted")
			writeRows(t, f, append(tt.rows, tt.last))
			it := &sampler.Item{Scores: tt.given.Clone()}
			call := &sampler.Call{Items: []*sampler.Item{it}, Rows: true}
			for range tt.rows {
				call.Stages = append(call.Stages, sampler.Stage{Sampler: "lie"})
			}
			err := f.Runner("scripted").Run(context.Background(), call)
			if tt.ok && err != nil || !tt.ok && (err == nil || !strings.Contains(err.Error(), "which was removed before")) {
				t.Errorf("error: %v", err)
			}
		})
	}
}

// Probabilities where scores belong are no error, because scores may happen to
// look like that, but the user is told, once.
func TestProbabilitiesInPlaceOfScoresAreNoticed(t *testing.T) {
	ctx := context.Background()
	even := func(n int, each float32) dist.Scores {
		v := make([]float32, n)
		for i := range v {
			v[i] = each
		}
		return dist.NewDense(v)
	}
	sparse := dist.Scores{Vocab: 50, IDs: []int32{1, 5, 6, 30}, Values: []float32{0.5, 0.25, 0.125, 0.125}}
	removed := even(8, 0.25)
	for i := range 4 {
		removed.Values[i] = float32(math.Inf(-1))
	}
	for _, tt := range []struct {
		name   string
		left   dist.Scores
		notice bool
	}{
		{"a softmax", even(50, 1.0/50), true},
		{"a softmax over a large vocabulary", even(262144, 1.0/262144), true},
		{"a sparse one", sparse, true},
		{"zeros where tokens were removed", dist.NewDense([]float32{0, 0.5, 0.25, 0.25, 0}), true},
		{"removed tokens as -Inf", removed, true},
		{"scores", dist.NewDense([]float32{0.5, -1, 2, 0.25}), false},
		{"logarithms of probabilities", dist.NewDense([]float32{-1.5, -1.25, -1.5, -1.3}), false},
		{"one above 1", dist.NewDense([]float32{1.25, 0, 0, 0}), false},
		{"weights that are not normalised", even(50, 0.5), false},
		{"too few to tell", dist.NewDense([]float32{0.5, 0.25, 0.25}), false},
		{"the sum within rounding", even(50, 1.0/50+1e-6), true},
		{"the sum beyond rounding", even(50, 1.0/50+1e-4), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newHost(t, inline, "scripted")
			writeRows(t, f, []dist.Scores{tt.left})
			for range 2 {
				it := &sampler.Item{Scores: even(tt.left.Vocab, 3)}
				it.Scores.Values[0] = 4
				if err := f.Runner("scripted").Run(ctx, &sampler.Call{Stages: stages("lie"), Items: []*sampler.Item{it}}); err != nil {
					t.Fatal(err)
				}
			}
			w := f.Warnings()
			if got := len(w) == 1 && strings.Contains(w[0], "like probabilities") && strings.Contains(w[0], `plugin "scripted": what lie left`); got != tt.notice || len(w) > 1 {
				t.Errorf("warnings: %q", w)
			}
		})
	}
	t.Run("in shared memory, and from a model", func(t *testing.T) {
		f := newHost(t, nil, "hostile-plane-probabilities", "hostile-forward-probabilities", "good")
		m, err := f.OpenModel(ctx, "good/chatter", nil)
		if err != nil {
			t.Fatal(err)
		}
		row := m.Rows(1)[0]
		fill(&row)
		it := &sampler.Item{Scores: row}
		if err := f.Runner("hostile-plane-probabilities").Run(ctx, &sampler.Call{Stages: stages("lie"), Items: []*sampler.Item{it}}); err != nil {
			t.Fatal(err)
		}
		bad, err := f.OpenModel(ctx, "hostile-forward-probabilities/chatter", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bad.Forward(ctx, []model.Input{{Seq: 1, Tokens: []int32{1}, Want: model.Last, Scores: bad.Rows(1)}}); err != nil {
			t.Fatal(err)
		}
		if w := f.Warnings(); len(w) != 2 || !strings.Contains(w[0], "like probabilities") || !strings.Contains(w[1], "a row of its scores adds up to 1") {
			t.Errorf("warnings: %q", w)
		}
	})
}

// writeRows leaves the rows that the plugin called scripted answers with: one
// after each stage, and the last as its result.
func writeRows(t *testing.T, f *fixture, rows []dist.Scores) {
	t.Helper()
	out := &wire.ApplyResponse{Items: []*wire.ItemResult{{}}}
	r := out.Items[0]
	for i := range rows {
		m := wire.PutRow(&rows[i], nil)
		if i < len(rows)-1 {
			r.Rows = append(r.Rows, m)
		}
		r.Scores = m
	}
	r.States = make([][]byte, max(1, len(rows)-1))
	b, err := proto.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.dir, "answer"), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// serveScripted answers every sampler call with what the test has left.
func serveScripted() {
	serveRaw(func(method string, _ []byte) (mem.BufferSlice, error) {
		switch method {
		case "Describe":
			d, _ := (&hostile{}).Describe(context.Background(), nil)
			d.Name = "scripted"
			return rawBytes(d)
		case "Apply":
			b, err := os.ReadFile(filepath.Join(os.Getenv("LAB_TEST_DIR"), "answer"))
			return mem.BufferSlice{mem.SliceBuffer(b)}, err
		}
		return rawBytes(&wire.AttachResponse{})
	})
}
