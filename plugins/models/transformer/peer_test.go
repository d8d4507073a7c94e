package transformer

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lab/core/fault"
	"lab/core/plugin/model"
	"lab/plugins/models/internal/kernel"
)

// peer is what transformers says of a small random model; see
// testdata/peer/README.md.
type peer struct {
	Deviation float64 `json:"float32_deviation"` // of transformers in float32 from the rows
	Tokens    []int32 `json:"tokens"`
	Greedy    []int32 `json:"greedy"`
	Rows      []struct {
		Position int    `json:"position"`
		Scores   string `json:"scores_f32_base64"`
	} `json:"rows"`
}

// peerNames are the models in testdata/peer.
func peerNames(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/peer/*.gguf")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no models: %v", err)
	}
	for i, p := range paths {
		paths[i] = strings.TrimSuffix(filepath.Base(p), ".gguf")
	}
	return paths
}

func peerPath(name string) string { return "testdata/peer/" + name + ".gguf" }

func readPeer(t *testing.T, name string) peer {
	t.Helper()
	data, err := os.ReadFile("testdata/peer/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var p peer
	if err := json.Unmarshal(data, &p); err != nil {
		t.Fatal(err)
	}
	if len(p.Tokens) == 0 || len(p.Greedy) == 0 || len(p.Rows) == 0 {
		t.Fatalf("%s has no tokens or no rows", name)
	}
	return p
}

// distance is the L2 norm of got-want relative to that of want.
func distance(got []float32, want []float32) float64 {
	var off, size float64
	for i, w := range want {
		d := float64(got[i]) - float64(w)
		off += d * d
		size += float64(w) * float64(w)
	}
	return math.Sqrt(off / size)
}

// greedy continues a sequence that has got its last scores.
func greedy(t testing.TB, e *engine, seq uint64, length, n int, scores []float32) []int32 {
	t.Helper()
	var out []int32
	for {
		best := 0
		for id, v := range scores {
			if v > scores[best] {
				best = id
			}
		}
		if out = append(out, int32(best)); len(out) == n {
			return out
		}
		rows := rowsFor(e, 1)
		in := model.Input{Seq: seq, Start: length + len(out) - 1, Tokens: out[len(out)-1:], Want: model.Last, Scores: rows}
		if _, err := e.Forward(context.Background(), []model.Input{in}); err != nil {
			t.Fatal(err)
		}
		scores = rows[0].Values
	}
}

func TestEveryArchitectureAgreesWithTransformers(t *testing.T) {
	var met []string
	for _, name := range peerNames(t) {
		want := readPeer(t, name)
		for _, k := range kernel.All() {
			for _, exact := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/%s/exact=%t", name, k.Name(), exact), func(t *testing.T) {
					e := openWith(t, peerPath(name), 2, k)
					e.pass.exact = exact
					met = append(met, e.arch.name)
					scores := all(t, e, 1, want.Tokens)
					// Two float32 computations of some thousand roundings each: measured
					// below 4e-6, and where roundings grow over 46 layers less than
					// transformers' own in float32. Of words a thousandth is promised.
					largest, bound := 0.0, max(2e-5, want.Deviation)
					if !exact {
						bound = max(1e-3, want.Deviation)
					}
					for _, row := range want.Rows {
						raw, err := base64.StdEncoding.DecodeString(row.Scores)
						if err != nil || len(raw) != 4*e.hyper.vocab {
							t.Fatalf("position %d: %d bytes, %v", row.Position, len(raw), err)
						}
						reference := make([]float32, e.hyper.vocab)
						for i := range reference {
							reference[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
						}
						d := distance(scores[row.Position], reference)
						if largest = max(largest, d); !(d <= bound) {
							t.Errorf("position %d: relative distance %g, bound %g", row.Position, d, bound)
						}
					}
					t.Logf("largest relative distance %.2g", largest)
					if got := greedy(t, e, 1, len(want.Tokens), len(want.Greedy), scores[len(scores)-1]); !slices.Equal(got, want.Greedy) {
						t.Errorf("greedy tokens %v, transformers has %v", got, want.Greedy)
					}
				})
			}
		}
	}
	for _, a := range architectures() {
		if !slices.Contains(met, a.name) {
			t.Errorf("no model of the architecture %q was compared", a.name)
		}
	}
}

// llama.cpp's own distance from the scores of transformers is stored beside them;
// ours has to be below, with the same greedy tokens wherever it has them.
func TestNoModelIsFurtherFromTransformersThanLlamaCPP(t *testing.T) {
	var stored struct {
		Models map[string]struct {
			Loads    bool    `json:"loads"`
			Distance float64 `json:"largest_distance"`
		} `json:"models"`
	}
	data, err := os.ReadFile("testdata/peer/llama.cpp.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &stored); err != nil {
		t.Fatal(err)
	}
	loaded := 0
	for _, name := range peerNames(t) {
		theirs, ok := stored.Models[name]
		if !ok {
			t.Errorf("llama.cpp was not asked about %s", name)
		}
		if !theirs.Loads {
			continue
		}
		loaded++
		// The bound of the test above is the distance that ours is within.
		if ours := max(2e-5, readPeer(t, name).Deviation); !(ours < theirs.Distance) {
			t.Errorf("%s: %g is promised, llama.cpp has %g", name, ours, theirs.Distance)
		}
	}
	if loaded < 15 {
		t.Errorf("llama.cpp opened %d models only", loaded)
	}
}

func TestWhatAnArchitectureNeedsIsNotDoneWithout(t *testing.T) {
	rows := []struct {
		name, peer, old, changed string // of equal length
		kind                     fault.Kind
		words                    []string
	}{
		{"a window by an unknown name", "gemma3", "gemma3.attention.sliding_window", "gemma3.attention.sliding_widnow", fault.Model,
			[]string{"sliding_widnow", "not understood"}},
		{"a soft cap by an unknown name", "gemma2", "gemma2.attn_logit_softcapping", "gemma2.attn_logit_softcopping", fault.Model,
			[]string{"not understood"}},
		{"a head norm that is missing", "gemma3", "blk.6.attn_q_norm.weight", "blk.6.attn_x_norm.weight", fault.Data,
			[]string{`"blk.6.attn_q_norm.weight" is missing`}},
		{"an output norm that is missing", "gemma2", "blk.2.post_ffw_norm.weight", "blk.2.post_fxw_norm.weight", fault.Data,
			[]string{`"blk.2.post_ffw_norm.weight" is missing`}},
		{"a bias that is missing", "qwen2", "blk.1.attn_k.bias", "blk.1.attn_x.bias", fault.Data, []string{`"blk.1.attn_k.bias" is missing`}},
		{"an optional bias by another name", "stablelm", "blk.1.attn_k.bias", "blk.1.attn_x.bias", fault.Model,
			[]string{"blk.1.attn_x.bias", "no place"}},
		{"a head norm of keys that is missing", "stablelm-parallel", "blk.2.attn_k_norm.weight", "blk.2.attn_x_norm.weight", fault.Data,
			[]string{`"blk.2.attn_k_norm.weight" is missing`}},
		{"a head norm of keys without one of queries", "stablelm-parallel", "blk.2.attn_q_norm.weight", "blk.2.attn_x_norm.weight", fault.Model,
			[]string{"blk.2.attn_x_norm.weight", "no place"}},
		{"a norm that only parallel layers lack", "stablelm", "blk.1.ffn_norm.weight", "blk.1.ffn_xorm.weight", fault.Data,
			[]string{`"blk.1.ffn_norm.weight" is missing`}},
		{"a bias of a norm that is not there", "stablelm", "blk.1.ffn_norm.bias", "blk.1.ffn_xorm.bias", fault.Data,
			[]string{`"blk.1.ffn_norm.bias" is missing`}},
		{"a gate of experts that is missing", "qwen3moe-dense", "blk.1.ffn_gate_inp.weight", "blk.1.ffn_gate_xnp.weight", fault.Data,
			[]string{`"blk.1.ffn_gate.weight" is missing`}},
		{"an ordinary layer with a matrix of another name", "qwen2moe-dense", "blk.1.ffn_up.weight", "blk.1.ffn_xp.weight", fault.Data,
			[]string{`"blk.1.ffn_up.weight" is missing`}},
		{"a shared expert that is missing", "qwen2moe-dense", "blk.0.ffn_up_shexp.weight", "blk.0.ffn_xp_shexp.weight", fault.Data,
			[]string{`"blk.0.ffn_up_shexp.weight" is missing`}},
		{"positions that are missing", "gpt2", "position_embd.weight", "position_emdb.weight", fault.Data,
			[]string{`"position_embd.weight" is missing`}},
		{"a scaling nobody knows", "qwen2-yarn", "yarn", "narn", fault.Model, []string{"narn", "known: linear, longrope, none, yarn"}},
		{"a scaling's factor by an unknown name", "qwen2-yarn", "qwen2.rope.scaling.factor", "qwen2.rope.scaling.fcator", fault.Model,
			[]string{"fcator", "not understood"}},
		{"an RMS constant where layer norms want theirs", "gpt2", "gpt2.attention.layer_norm_epsilon", "gpt2.attention.layer_norm_apsilon", fault.Data,
			[]string{"layer_norm_epsilon", "is missing"}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			data, err := os.ReadFile(peerPath(r.peer))
			if err != nil {
				t.Fatal(err)
			}
			// The length in front tells the whole name from one that it is part of.
			whole := func(s string) []byte {
				return append(binary.LittleEndian.AppendUint64(nil, uint64(len(s))), s...)
			}
			if len(r.old) != len(r.changed) || !bytes.Contains(data, whole(r.old)) {
				t.Fatalf("%q is not in the file or of another length than %q", r.old, r.changed)
			}
			_, err = openBytes(t, bytes.ReplaceAll(data, whole(r.old), whole(r.changed)))
			wantError(t, err, r.kind, r.words...)
		})
	}
}

func TestDamagedModelsOfEveryArchitectureNeverPanic(t *testing.T) {
	for _, name := range peerNames(t) {
		whole, err := os.ReadFile(peerPath(name))
		if err != nil {
			t.Fatal(err)
		}
		names := bytes.Index(whole, []byte("tokenizer.ggml.tokens"))
		tensors := bytes.Index(whole, []byte("token_embd.weight"))
		if names < 0 || tensors < 0 {
			t.Fatal("no tokenizer or no tensors")
		}
		for at := 8; at < tensors+2000; at++ {
			if at%3 != 0 || at > names+50 && at < tensors-50 {
				continue
			}
			data := bytes.Clone(whole)
			data[at] ^= []byte{1, 0x80, 0xff}[at%3]
			func() {
				defer func() {
					if r := recover(); r != nil {
						t.Fatalf("%s, byte %d flipped: panic %v", name, at, r)
					}
				}()
				mangled(t, data)
			}()
		}
	}
}
