//go:build unix

package host_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"slices"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/host"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// apply runs stages over copies of the rows and returns the items.
func apply(t *testing.T, f *fixture, m *host.Model, st []sampler.Stage, rows []dist.Scores, full bool) []*sampler.Item {
	t.Helper()
	call := &sampler.Call{Stages: st, Ledger: full, Rows: full}
	var mine []dist.Scores
	if m != nil {
		mine = m.Rows(len(rows))
		call.Vocabulary = m.VocabularyKey()
	}
	for i := range rows {
		it := &sampler.Item{History: []int32{1, 2, 3, 4}, Prompt: 3, Step: 1, Scores: rows[i].Clone()}
		if m != nil {
			it.Scores = mine[i]
			it.Scores.CopyFrom(&rows[i])
		}
		for range st {
			it.Uniforms = append(it.Uniforms, nil)
			if st[len(it.Uniforms)-1].Sampler == "tally" {
				it.Uniforms[len(it.Uniforms)-1] = []float64{0.25, 0.5, 0.125}
			}
		}
		call.Items = append(call.Items, it)
	}
	for range 2 { // the second time with the states and rows of the first
		if err := f.Runner("good").Run(context.Background(), call); err != nil {
			t.Fatal(err)
		}
	}
	return call.Items
}

// Every way a row can travel gives the same bits: in this process, as bytes, in
// shared memory, and with TLS.
func TestTransportsAgreeToTheBit(t *testing.T) {
	set, err := sampler.NewSet(testSamplers()...)
	if err != nil {
		t.Fatal(err)
	}
	const vocab = 1000
	rows := make([]dist.Scores, 5)
	for i := range rows {
		rows[i] = dist.NewDense(make([]float32, vocab))
		fill(&rows[i])
		rows[i].Values[i] = 9
		rows[i].Values[100+i] = float32(math.Inf(-1))
	}
	rows[3].Keep(func(i int) bool { return i%7 == 3 }, nil)
	rows[4].Keep(func(i int) bool { return i == 5 }, nil)
	chains := map[string][]sampler.Stage{
		"one stage":          stages("halve"),
		"dense to sparse":    stages("touch", "keep", "halve"),
		"with a choice":      stages("tally", "keep", "best"),
		"sparse to one":      {{Sampler: "keep", Values: param.Values{{Name: "every", Value: int64(100000)}}}, {Sampler: "best"}},
		"by alias, settings": {{Sampler: "half"}, {Sampler: "touch", Values: param.Values{{Name: "amount", Value: -2.5}}}},
	}
	settings := []param.Setting{{Name: "vocab", Value: vocab}}
	variants := map[string]func(*host.Options){"plane": nil, "inline": inline, "tls": func(o *host.Options) { o.TLS = true }, "heap": nil}
	for variant, change := range variants {
		f := newHost(t, change, "good")
		m, err := f.OpenModel(context.Background(), "chatter", settings)
		if err != nil {
			t.Fatal(err)
		}
		if variant == "heap" {
			m = nil
		}
		for name, st := range chains {
			for _, full := range []bool{false, true} {
				var reference []*sampler.Item
				for i := range rows { // alone, in process
					call := &sampler.Call{Stages: st, Ledger: full, Rows: full}
					it := &sampler.Item{Scores: rows[i].Clone(), History: []int32{1, 2, 3, 4}, Prompt: 3, Step: 1}
					for k := range st {
						it.Uniforms = append(it.Uniforms, nil)
						if st[k].Sampler == "tally" {
							it.Uniforms[k] = []float64{0.25, 0.5, 0.125}
						}
					}
					call.Items = []*sampler.Item{it}
					for range 2 {
						if err := set.Run(context.Background(), call); err != nil {
							t.Fatal(err)
						}
					}
					reference = append(reference, it)
				}
				got := apply(t, f, m, st, rows, full)
				for i := range rows {
					where := fmt.Sprintf("%s, %s, row %d", variant, name, i)
					mustEqual(t, where, &reference[i].Scores, &got[i].Scores)
					if got[i].Chosen != reference[i].Chosen || !reflect.DeepEqual(got[i].Changes, reference[i].Changes) && full {
						t.Errorf("%s: chosen %d and %d, ledgers\n%+v\n%+v", where, got[i].Chosen, reference[i].Chosen, got[i].Changes, reference[i].Changes)
					}
					for k := range st {
						if !bytes.Equal(got[i].States[k], reference[i].States[k]) {
							t.Errorf("%s: state %d differs", where, k)
						}
						if full {
							mustEqual(t, fmt.Sprintf("%s, after stage %d", where, k), &reference[i].Rows[k], &got[i].Rows[k])
						}
					}
				}
			}
		}
	}
}

// The same at the size of a large vocabulary, through a cut to one token.
func TestLargeRowsAgreeToTheBit(t *testing.T) {
	const vocab = 262144
	row := dist.NewDense(make([]float32, vocab))
	fill(&row)
	st := []sampler.Stage{{Sampler: "touch"}, {Sampler: "keep"}, {Sampler: "halve"}}
	one := append(st[:2:2], sampler.Stage{Sampler: "keep", Values: param.Values{{Name: "every", Value: int64(1000000)}}})
	var want [2]*sampler.Item
	for _, change := range []func(*host.Options){inline, nil} {
		f := newHost(t, change, "good")
		m, err := f.OpenModel(context.Background(), "chatter", []param.Setting{{Name: "vocab", Value: vocab}})
		if err != nil {
			t.Fatal(err)
		}
		for i, chain := range [][]sampler.Stage{st, one} {
			got := apply(t, f, m, chain, []dist.Scores{row}, false)[0]
			if want[i] == nil {
				want[i] = &sampler.Item{Scores: got.Scores.Clone()}
			}
			mustEqual(t, fmt.Sprintf("chain %d", i), &want[i].Scores, &got.Scores)
		}
		if want[1].Scores.Len() != 1 {
			t.Errorf("%d tokens are left, not one", want[1].Scores.Len())
		}
	}
}

// Rows after each stage go where the caller wants them.
func TestRowsAfterStagesLandInTheirSlots(t *testing.T) {
	f := newHost(t, nil, "good")
	ctx := context.Background()
	m, err := f.OpenModel(ctx, "chatter", nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := m.Rows(3)
	fill(&rows[0])
	want := rows[0].Clone()
	it := &sampler.Item{Scores: rows[0], Rows: slices.Clone(rows[1:])}
	if err := f.Runner("good").Run(ctx, &sampler.Call{Stages: stages("halve", "keep"), Items: []*sampler.Item{it}, Rows: true}); err != nil {
		t.Fatal(err)
	}
	for i := range want.Values {
		want.Values[i] /= 2
	}
	mustEqual(t, "after halve", &want, &it.Rows[0])
	mustEqual(t, "after keep", &it.Scores, &it.Rows[1])
	for k := range 2 {
		if &it.Rows[k].Values[0] != &rows[k+1].Values[0] {
			t.Errorf("row %d is not in its slot", k)
		}
	}
}

func TestPrintsBecomeRecords(t *testing.T) {
	f := newHost(t, nil, "good")
	it := &sampler.Item{Scores: dist.NewDense([]float32{1, 2})}
	if err := f.Runner("good").Run(context.Background(), &sampler.Call{Stages: stages("printer"), Items: []*sampler.Item{it}}); err != nil {
		t.Fatal(err)
	}
	for text, level := range map[string]slog.Level{"printed with fmt": slog.LevelInfo, "written to descriptor 1": slog.LevelInfo,
		"printed to standard error": slog.LevelInfo, "logged with slog": slog.LevelWarn} {
		var r slog.Record
		eventually(t, text+" is logged", func() (ok bool) { r, ok = f.logs.find(text); return ok })
		if r.Level != level || attr(r, "plugin") != "good" {
			t.Errorf("%s: level %v, plugin %q", text, r.Level, attr(r, "plugin"))
		}
		if text == "logged with slog" && attr(r, "answer") != "42" {
			t.Errorf("the attribute is lost: %v", r)
		}
	}
}

func TestTextsTravelOnlyWhenNeeded(t *testing.T) {
	f := newHost(t, nil, "good", "other")
	ctx := context.Background()
	m, err := f.OpenModel(ctx, "other/chatter", nil)
	if err != nil {
		t.Fatal(err)
	}
	row := dist.NewDense(make([]float32, m.Info().VocabSize))
	run := func(key string) (*sampler.Item, error) {
		it := &sampler.Item{Scores: row.Clone()}
		return it, f.Runner("good").Run(ctx, &sampler.Call{Stages: stages("texts"), Items: []*sampler.Item{it}, Vocabulary: key})
	}
	for _, key := range []string{"", "unknown"} {
		if _, err := run(key); fault.KindOf(err) != fault.Usage {
			t.Errorf("key %q: %v", key, err)
		}
	}
	for range 2 {
		it, err := run(m.VocabularyKey())
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range it.Scores.Values {
			if v != float32(i%5) {
				t.Fatalf("token %d: %v", i, v)
			}
		}
	}
}

// 64 MB each way (FR-34): 16 rows over a million tokens.
func TestLargeMessagesPassBothWays(t *testing.T) {
	f := newHost(t, inline, "good")
	const vocab, batch = 1 << 20, 16
	call := &sampler.Call{Stages: stages("touch")}
	shared := make([]float32, vocab)
	for range batch {
		call.Items = append(call.Items, &sampler.Item{Scores: dist.NewDense(slices.Clone(shared))})
	}
	if err := f.Runner("good").Run(context.Background(), call); err != nil {
		t.Fatal(err)
	}
	for i, it := range call.Items {
		if it.Scores.Values[0] != 1 || it.Scores.Values[vocab-1] != 0 {
			t.Fatalf("row %d: %v … %v", i, it.Scores.Values[0], it.Scores.Values[vocab-1])
		}
	}
}
