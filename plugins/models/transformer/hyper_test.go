package transformer

import (
	"bytes"
	"math"
	"testing"

	"lab/plugins/models/internal/gguf"
)

// Gemma's files leave out what their larger models are known by.
func TestGemmasDefaultsAndTheQueriesOfTheir27BModels(t *testing.T) {
	scale := func(n float64) float32 { return float32(1 / math.Sqrt(n)) }
	rows := []struct {
		name                 string
		read                 func(*meta, int) hyper
		layers               int
		queryScale           float32
		window, pattern      int
		attentionCap, logits float32
	}{
		{"gemma2", readGemma2, 26, scale(128), 4096, 2, 50, 30},
		{"gemma2", readGemma2, 42, scale(128), 4096, 2, 50, 30},
		{"gemma2", readGemma2, 46, scale(4608 / 32), 4096, 2, 50, 30},
		{"gemma3", readGemma3, 34, scale(128), 0, 6, 0, 0},
		{"gemma3", readGemma3, 62, scale(4608 / 32), 0, 6, 0, 0},
	}
	for _, r := range rows {
		var out bytes.Buffer
		var pairs []gguf.Pair
		for key, value := range map[string]any{
			"context_length": uint32(8192), "embedding_length": uint32(4608), "block_count": uint32(r.layers),
			"feed_forward_length": uint32(36864), "attention.head_count": uint32(32), "attention.head_count_kv": uint32(16),
			"attention.key_length": uint32(128), "attention.value_length": uint32(128), rmsEpsilon: float32(1e-6),
		} {
			pairs = append(pairs, gguf.Pair{Key: r.name + "." + key, Value: value})
		}
		if err := gguf.Write(&out, pairs, nil); err != nil {
			t.Fatal(err)
		}
		f, err := gguf.Read("gemma", out.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		m := newMeta(f, "gemma", r.name)
		h := r.read(m, 256000)
		h.stretch(m, scaling{}, 0)
		m.only("expert_count", int64(0), "")
		if err := m.finish(); err != nil {
			t.Fatal(err)
		}
		got := [...]float64{float64(h.queryScale), float64(h.window), float64(h.pattern), float64(h.attentionCap), float64(h.logitCap), float64(h.embedScale)}
		want := [...]float64{float64(r.queryScale), float64(r.window), float64(r.pattern), float64(r.attentionCap), float64(r.logits),
			float64(float32(math.Sqrt(4608)))}
		if got != want {
			t.Errorf("%s of %d layers: %v, want %v", r.name, r.layers, got, want)
		}
	}
}
