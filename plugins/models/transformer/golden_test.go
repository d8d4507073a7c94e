package transformer

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"lab/core/dist"
	"lab/core/plugin/model"
	"lab/plugins/models/internal/gguf"
	"lab/plugins/models/internal/kernel"
)

// golden is a file of reference logits, written by train/goldens.py from the
// stored weights in float64.
type golden struct {
	Tolerance float64 `json:"tolerance"`
	Reason    string  `json:"tolerance_reason"`
	Prompts   []struct {
		Name   string  `json:"name"`
		Tokens []int32 `json:"tokens"`
		Rows   []struct {
			Position  int       `json:"position"`
			Argmax    int       `json:"argmax"`
			LogSumExp float64   `json:"log_sum_exp"`
			IDs       []int     `json:"ids"`
			Logits    []float64 `json:"logits"`
		} `json:"rows"`
	} `json:"prompts"`
}

func readGolden(t *testing.T, path string) golden {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatal(err)
	}
	if len(g.Prompts) == 0 || !(g.Tolerance > 0) {
		t.Fatalf("%s has no prompts or no tolerance", path)
	}
	return g
}

// openWith opens a file with a chosen implementation of the arithmetic.
func openWith(t testing.TB, path string, threads int, k *kernel.Kernels) *engine {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	e, err := open(context.Background(), f, filepath.Base(path), options{threads: threads, cacheBytes: 1 << 30, kernels: k})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// exactly makes a model multiply with activations in float32, as "tiny" does.
func exactly(e *engine) *engine {
	e.pass.exact = true
	e.pass.forget()
	return e
}

// rowsFor returns n rows of scores for a model.
func rowsFor(e *engine, n int) []dist.Scores {
	rows := make([]dist.Scores, n)
	for i := range rows {
		rows[i] = dist.NewDense(make([]float32, e.hyper.vocab))
	}
	return rows
}

// all runs a whole sequence and returns the scores of every position.
func all(t testing.TB, e *engine, seq uint64, tokens []int32) [][]float32 {
	t.Helper()
	rows := rowsFor(e, len(tokens))
	_, err := e.Forward(context.Background(), []model.Input{{Seq: seq, Tokens: tokens, Want: model.All, Scores: rows}})
	if err != nil {
		t.Fatal(err)
	}
	out := make([][]float32, len(rows))
	for i := range rows {
		out[i] = rows[i].Values
	}
	return out
}

func checkGolden(t *testing.T, e *engine, g golden) {
	for i, p := range g.Prompts {
		t.Run(p.Name, func(t *testing.T) {
			scores := all(t, e, uint64(i), p.Tokens)
			for _, want := range p.Rows {
				got, argmax, sum := scores[want.Position], 0, 0.0
				for id, v := range got {
					if v > got[argmax] {
						argmax = id
					}
					sum += math.Exp(float64(v) - want.LogSumExp)
				}
				if argmax != want.Argmax {
					t.Errorf("position %d: the best token is %d, want %d", want.Position, argmax, want.Argmax)
				}
				if lse := want.LogSumExp + math.Log(sum); !(math.Abs(lse-want.LogSumExp) <= g.Tolerance) {
					t.Errorf("position %d: log-sum-exp %g, want %g", want.Position, lse, want.LogSumExp)
				}
				for j, id := range want.IDs {
					if d := math.Abs(float64(got[id]) - want.Logits[j]); !(d <= g.Tolerance) {
						t.Errorf("position %d: token %d scores %g, want %g (tolerance %g: %s)", want.Position, id, got[id],
							want.Logits[j], g.Tolerance, g.Reason)
					}
				}
			}
		})
	}
}

func TestLogitsAgreeWithTorchOnARandomModel(t *testing.T) {
	g := readGolden(t, "testdata/random-logits.json")
	for _, k := range kernel.All() {
		t.Run(k.Name(), func(t *testing.T) { checkGolden(t, exactly(openWith(t, "testdata/random.gguf", 2, k)), g) })
	}
}

func TestTinyLogitsAgreeWithTorch(t *testing.T) {
	checkGolden(t, exactly(openWith(t, "tiny.gguf", 2, kernel.Best())), readGolden(t, "testdata/tiny-logits.json"))
}
