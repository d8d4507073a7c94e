package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"lab/core/store"
	"lab/core/trace"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// made says what run a test wants.
type made struct {
	cells, samples, tokens int
	plain                  bool // steps are not recorded
	text                   func(cell, sample, step int) string
	prompt                 string
	failure                string // of sample 1 of cell 1
	unfinished             bool   // the last sample is missing
	warning                string
}

// pieces are tokens that people write.
var pieces = []string{" The", " sky", " is", " blue", ".", "\n", " caf\u00e9", " \u6771\u4eac"}

// stored makes a run over temperature and top_p, whose numbers follow from the
// places of cells, samples and steps alone.
func stored(t testing.TB, m made) *store.Stored {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "grid")
	if m.text == nil {
		m.text = func(cell, sample, step int) string { return pieces[(cell+sample*3+step*5)%len(pieces)] }
	}
	if m.prompt == "" {
		m.prompt = "The weather today is"
	}
	spec := fmt.Sprintf(`{"grid": [{"temperature": [0.5, 1], "top_p": [0.9, "off"]}], "fixed": {"prompt": %s, "model": "tiny", "seed": 1}, "samples": %d}`, quoted(m.prompt), m.samples)
	used := `{"models": [{"ref": "tiny", "plugin": "models", "name": "tiny", "architecture": "llama", "parameters": 2023104, "weight_bytes": 2154624, "deterministic": true, "digest_open": "16bb", "digest_end": ""}],
		"plugins": [{"name": "samplers", "version": "0.1.0", "sha256": "c3c9", "builtin": true, "restarts": 0}],
		"chains": [{"chain": "temperature:0.5 | top_p:0.9 | sample", "stages": [{"stage": "temperature", "plugin": "samplers", "kind": "reshape", "origin": "grid", "settings": [{"name": "temperature", "value": 0.5, "origin": "grid"}]},
			{"stage": "top_p", "plugin": "samplers", "kind": "reshape", "origin": "grid", "settings": [{"name": "top_p", "value": 0.9, "origin": "grid"}, {"name": "min_keep", "value": 1, "origin": "default"}]},
			{"stage": "sample", "plugin": "samplers", "kind": "select", "origin": "default", "settings": []}]}]}`
	columns := []store.Column{{Name: "prompt"}, {Name: "model"}, {Name: "chain"}, {Name: "seed"}, {Name: "temperature"}, {Name: "top_p"}}
	for c := range m.cells {
		top := any(0.9)
		if c%2 == 1 {
			top = nil
		}
		for i, v := range []any{m.prompt, "tiny", "temperature:0.5 | top_p:0.9 | sample", int64(1), 0.5 * float64(1+c/2), top} {
			columns[i].Values = append(columns[i].Values, v)
		}
	}
	r, err := store.Create(dir, store.Manifest{Name: "grid", Spec: json.RawMessage(spec), Axes: []string{"temperature", "top_p"}, Cells: m.cells, Samples: m.samples, Ledger: !m.plain,
		Used: json.RawMessage(used), Source: json.RawMessage(`{"file": "grid.yaml"}`), Lab: "0.1.0"}, columns)
	if err != nil {
		t.Fatal(err)
	}
	for cell := range m.cells {
		for sample := range m.samples {
			rec := m.record(cell, sample)
			if m.unfinished && cell == m.cells-1 && sample == m.samples-1 {
				break
			}
			if err := r.Put(rec); err != nil {
				t.Fatal(err)
			}
		}
	}
	session := store.Session{Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Seconds: 1.5, Host: "here", PID: 7, Outcome: "complete", Finished: m.cells * m.samples, Usage: json.RawMessage(`{"prefill_tokens": 5}`)}
	if m.warning != "" {
		session.Warnings, session.Error = []string{m.warning}, m.warning
	}
	if !m.unfinished {
		if _, err := r.Finish(); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(session); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// record is one sample.
func (m made) record(cell, sample int) store.Record {
	if m.failure != "" && cell == 1 && sample == 1 {
		return store.Record{Cell: cell, Sample: sample, Failure: m.failure}
	}
	rec := store.Record{Cell: cell, Sample: sample, PromptTokens: 4, Trace: trace.Sample{Sample: uint64(sample), Tokens: []int32{}, Stop: trace.Stop{Reason: trace.MaxTokens}},
		Cost: &trace.Cost{PrefillTokens: 1.5, DecodeTokens: float64(m.tokens), DecodeSeconds: 0.25, FLOPs: 4e6, BytesMoved: 1e6, CacheBytes: 4096, Batch: 2}}
	for step := range m.tokens {
		piece := m.text(cell, sample, step)
		rec.Trace.Text += piece
		rec.Trace.Tokens = append(rec.Trace.Tokens, int32((cell+sample*3+step*5)%97))
		if m.plain {
			continue
		}
		bits := float64((cell+sample+step*step)%9) / 2
		p := math.Exp2(-bits)
		kept := 0.75 + p/4
		side := func(p float64) *trace.Side {
			s := trace.NewSide(p, 1+step%3, 2.5, 100)
			return &s
		}
		rec.Trace.Steps = append(rec.Trace.Steps, trace.Step{Step: step, Token: rec.Trace.Tokens[step], Piece: []byte(piece), Model: side(p), Sampling: side(min(1, p/kept)),
			Stages: []trace.Stage{
				{Stage: "top_p", Plugin: "samplers", SupportBefore: 100, SupportAfter: 12, KeptMass: trace.Real(kept), EntropyBeforeBits: 2.5, EntropyAfterBits: 2, KLBits: trace.Real(-math.Log2(kept)), TV: trace.Real(1 - kept), Truncation: true,
					ChosenRankBefore: 1 + step%3, ChosenRankAfter: 1 + step%3, ChosenProbBefore: trace.Real(p), ChosenProbAfter: trace.Real(min(1, p/kept))},
				{Stage: "sample", Plugin: "samplers", SupportBefore: 12, SupportAfter: 12, KeptMass: 1, EntropyBeforeBits: 2, EntropyAfterBits: 2, ChosenRankBefore: 1, ChosenRankAfter: 1, ChosenProbBefore: trace.Real(p), ChosenProbAfter: trace.Real(p)}}})
	}
	rec.Trace.Raw = nil
	if text, raw := valid(rec.Trace.Text); text != rec.Trace.Text {
		rec.Trace.Text, rec.Trace.Raw = text, raw
	}
	return rec
}

// valid is what generate does with bytes that are no UTF-8.
func valid(s string) (string, []byte) {
	return string(bytes.ToValidUTF8([]byte(s), []byte("\ufffd"))), []byte(s)
}

// written returns a report as HTML.
func written(t testing.TB, r *Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.HTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; if it should, look at it in a browser and run with -update", path)
	}
}
