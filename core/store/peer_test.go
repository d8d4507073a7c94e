//go:build tables

package store

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// A column of truth.json, which testdata/peer/tables.py describes. It is filled
// from records here, not from rows, so that a value in a wrong column is found.
type trueColumn struct {
	Type   string `json:"type"`
	Values []any  `json:"values"`
}

type trueTable struct {
	Groups  int                    `json:"groups"` // row groups, at least
	Columns map[string]*trueColumn `json:"-"`
	order   []string
}

// MarshalJSON keeps the order of the columns.
func (t *trueTable) MarshalJSON() ([]byte, error) {
	out := fmt.Appendf(nil, `{"groups":%d,"columns":{`, t.Groups)
	for i, name := range t.order {
		column, err := json.Marshal(t.Columns[name])
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, "%q:%s", name, column)
	}
	return append(out, "}}"...), nil
}

func (t *trueTable) put(name, kind string, value any) {
	c := t.Columns[name]
	if c == nil {
		if t.Columns == nil {
			t.Columns = map[string]*trueColumn{}
		}
		c = &trueColumn{Type: kind}
		t.Columns[name] = c
		t.order = append(t.order, name)
	}
	c.Values = append(c.Values, value)
}

func (t *trueTable) int32(name string, v int)    { t.put(name, "int32", v) }
func (t *trueTable) int64(name string, v int)    { t.put(name, "int64", v) }
func (t *trueTable) text(name, v string)         { t.put(name, "string", v) }
func (t *trueTable) bytes(name string, v []byte) { t.put(name, "bytes", hex.EncodeToString(v)) }
func (t *trueTable) real(name string, v float64) { t.put(name, "double", math.Float64bits(v)) }

// TestLeaveTables writes a run, and what is in it, to the folder that
// LAB_TEST_TABLES names: .ci/tables reads it with other libraries.
func TestLeaveTables(t *testing.T) {
	const cells, samples, vocabulary = 25, 1000, 9
	dir := os.Getenv("LAB_TEST_TABLES")
	if dir == "" {
		t.Fatal("LAB_TEST_TABLES names no folder")
	}
	r := createWithScores(t, dir, manifest(cells, samples), "dense")
	truth := map[string]*trueTable{CellsFile: {Groups: 1}, samplesFile: {Groups: 1}, StepsFile: {Groups: 2}, StagesFile: {Groups: 2}, scoresFile: {Groups: 2}, CostsFile: {Groups: 1}}
	for cell := range cells {
		c := truth[CellsFile]
		c.int32("cell", cell)
		c.real("temperature", float64(cell)/2)
		c.int64("top_p.min_keep", cell)
		mixed := fmt.Sprint(cell)
		if cell%2 == 1 {
			mixed = "odd"
		}
		c.text("mixed", mixed)
		c.put("none", "string", nil)
		for sample := range samples {
			rec := madeWithScores(cell, sample, vocabulary)
			if sample%50 == 7 {
				rec = Record{Cell: cell, Sample: sample, PromptTokens: 3, Failure: "the model is gone"}
			}
			if err := r.Put(rec); err != nil {
				t.Fatal(err)
			}
			trueSample(truth[samplesFile], &rec)
			trueCost(truth[CostsFile], &rec)
			for i := range rec.Trace.Steps {
				trueStep(truth[StepsFile], &rec, i)
				trueStages(truth[StagesFile], &rec, i)
				trueScores(truth[scoresFile], &rec, i)
			}
		}
	}
	if done, err := r.Finish(); !done || err != nil {
		t.Fatal(done, err)
	}
	if err := r.Close(Session{}); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(truth)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "truth.json"), data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func trueSample(t *trueTable, r *Record) {
	t.int32("cell", r.Cell)
	t.int32("sample", r.Sample)
	t.int32("prompt_tokens", r.PromptTokens)
	tokens := append([]int32{}, r.Trace.Tokens...)
	t.put("tokens", "list of int32", tokens)
	t.text("text", r.Trace.Text)
	if r.Trace.Raw == nil {
		t.put("raw", "bytes", nil)
	} else {
		t.bytes("raw", r.Trace.Raw)
	}
	t.text("stop_reason", r.Trace.Stop.Reason)
	t.text("stop_string", r.Trace.Stop.String)
	t.int64("stop_offset_bytes", r.Trace.Stop.Offset)
	t.text("failure", r.Failure)
}

func trueCost(t *trueTable, r *Record) {
	c := r.Cost
	if c == nil {
		return
	}
	t.int32("cell", r.Cell)
	t.int32("sample", r.Sample)
	t.real("prefill_tokens", c.PrefillTokens)
	t.real("decode_tokens", c.DecodeTokens)
	t.real("cached_tokens", c.CachedTokens)
	t.real("prefill_seconds", c.PrefillSeconds)
	t.real("decode_seconds", c.DecodeSeconds)
	t.real("flops", c.FLOPs)
	t.real("bytes_moved", c.BytesMoved)
	t.int64("cache_bytes", int(c.CacheBytes))
	t.real("decode_batch", c.Batch)
}

func trueStep(t *trueTable, r *Record, i int) {
	s := &r.Trace.Steps[i]
	t.int32("cell", r.Cell)
	t.int32("sample", r.Sample)
	t.int32("step", i)
	t.int32("token", int(s.Token))
	t.bytes("piece", s.Piece)
	side := func(name string, there bool, prob, surprisal float64, rank int, entropy float64, support int) {
		if !there {
			for _, c := range [][2]string{{"prob", "double"}, {"surprisal_bits", "double"}, {"rank", "int64"}, {"entropy_bits", "double"}, {"support", "int64"}} {
				t.put(name+c[0], c[1], nil)
			}
			return
		}
		t.real(name+"prob", prob)
		t.real(name+"surprisal_bits", surprisal)
		t.int64(name+"rank", rank)
		t.real(name+"entropy_bits", entropy)
		t.int64(name+"support", support)
	}
	if m := s.Model; m != nil {
		side("model_", true, float64(m.Prob), float64(m.SurprisalBits), m.Rank, float64(m.EntropyBits), m.Support)
	} else {
		side("model_", false, 0, 0, 0, 0, 0)
	}
	if m := s.Sampling; m != nil {
		side("sampling_", true, float64(m.Prob), float64(m.SurprisalBits), m.Rank, float64(m.EntropyBits), m.Support)
	} else {
		side("sampling_", false, 0, 0, 0, 0, 0)
	}
}

func trueStages(t *trueTable, r *Record, step int) {
	for i, g := range r.Trace.Steps[step].Stages {
		t.int32("cell", r.Cell)
		t.int32("sample", r.Sample)
		t.int32("step", step)
		t.int32("place", i+1)
		t.text("stage", g.Stage)
		t.text("plugin", g.Plugin)
		t.put("truncation", "boolean", g.Truncation)
		t.int64("support_before", g.SupportBefore)
		t.int64("support_after", g.SupportAfter)
		t.real("kept_mass", float64(g.KeptMass))
		t.real("entropy_before_bits", float64(g.EntropyBeforeBits))
		t.real("entropy_after_bits", float64(g.EntropyAfterBits))
		t.real("kl_bits", float64(g.KLBits))
		t.real("tv", float64(g.TV))
		t.int64("chosen_rank_before", g.ChosenRankBefore)
		t.int64("chosen_rank_after", g.ChosenRankAfter)
		t.real("chosen_prob_before", float64(g.ChosenProbBefore))
		t.real("chosen_prob_after", float64(g.ChosenProbAfter))
	}
}

func trueScores(t *trueTable, r *Record, step int) {
	s := &r.Scores[step]
	t.int32("cell", r.Cell)
	t.int32("sample", r.Sample)
	t.int32("step", step)
	t.int32("vocabulary", s.Vocab)
	t.real("unlisted_mass", s.Unlisted)
	if s.Dense() {
		t.put("ids", "list of int32", nil)
	} else {
		t.put("ids", "list of int32", s.IDs)
	}
	bits := make([]uint32, len(s.Values))
	for i, v := range s.Values {
		bits[i] = math.Float32bits(v)
	}
	t.put("scores", "list of float", bits)
}
