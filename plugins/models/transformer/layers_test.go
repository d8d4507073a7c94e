package transformer

import (
	"bytes"
	"context"
	"os"
	"slices"
	"testing"

	"lab/core/plugin/model"
	"lab/plugins/models/internal/kernel"
)

// What a layer has is read off its tensors: a file that calls its residuals
// parallel and has the norm between them is computed with the norm.
func TestANormIsUsedWhateverTheFileSaysOfParallelResiduals(t *testing.T) {
	plain, err := os.ReadFile(peerPath("stablelm"))
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(plain, []byte("stablelm.use_parallel_residual")) + len("stablelm.use_parallel_residual") + 4 // its type
	if plain[at] != 0 {
		t.Fatal("the file does not say false")
	}
	other := bytes.Clone(plain)
	other[at] = 1
	tokens := readPeer(t, "stablelm").Tokens
	var scores [2][][]float32
	for i, data := range [][]byte{plain, other} {
		e, err := openBytes(t, data)
		if err != nil {
			t.Fatal(err)
		}
		scores[i] = all(t, e, 1, tokens)
	}
	for p, want := range scores[0] {
		if !slices.Equal(scores[1][p], want) {
			t.Fatalf("position %d has other scores", p)
		}
	}
}

// A layer is counted by the tensors it has: gains of heads are multiplied with no
// row as a matrix is, and ordinary layers of a mixture have no experts.
func TestUsageCountsWhatEachLayerHas(t *testing.T) {
	attention := func(h *hyper) int { return h.width * (2*h.heads + 2*h.kvHeads) * h.headSize }
	mixed := func(h *hyper) int {
		shared := 0
		if h.experts.shared > 0 {
			shared = 3*h.width*h.experts.shared + h.width
		}
		return h.width*h.experts.count + 3*h.experts.used*h.width*h.experts.ffn + shared
	}
	dense := func(h *hyper) int { return 3 * h.width * h.ffn }
	rows := []struct {
		peer    string
		weights func(h *hyper) int
	}{
		{"stablelm-parallel", func(h *hyper) int { return 3 * (attention(h) + dense(h)) }},
		{"qwen2moe-dense", func(h *hyper) int { return 3*attention(h) + 2*mixed(h) + dense(h) }},
		{"qwen3moe-dense", func(h *hyper) int { return 3*attention(h) + mixed(h) + 2*dense(h) }},
	}
	for _, r := range rows {
		t.Run(r.peer, func(t *testing.T) {
			e := openWith(t, peerPath(r.peer), 1, kernel.Best())
			h := &e.hyper
			u, err := e.Forward(context.Background(), []model.Input{{Seq: 1, Tokens: []int32{5}, Want: model.None}})
			if err != nil {
				t.Fatal(err)
			}
			if want := int64(2*r.weights(h) + 4*h.layers*h.heads*h.headSize); u.FLOPs != want {
				t.Errorf("%d FLOPs, want %d", u.FLOPs, want)
			}
		})
	}
}
