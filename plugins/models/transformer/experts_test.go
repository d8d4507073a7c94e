package transformer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"lab/plugins/models/internal/gguf"
	"lab/plugins/models/internal/kernel"
)

// mixture returns an edit that puts count copies of every feed-forward layer in
// its place, of which a row uses so many; gate gives the elements of the matrix
// that picks them, by layer, expert and column.
func mixture(count, used int, gate func(layer, expert, column int) float32) func(*ingredients) {
	return func(m *ingredients) {
		set("llama.expert_count", uint32(count))(m)
		set("llama.expert_used_count", uint32(used))(m)
		var out []gguf.Blob
		for _, b := range m.tensors {
			layer, matrix := -1, ""
			if _, err := fmt.Sscanf(strings.ReplaceAll(b.Name, ".", " "), "blk %d %s weight", &layer, &matrix); err != nil ||
				!strings.HasPrefix(matrix, "ffn_") || matrix == "ffn_norm" {
				out = append(out, b)
				continue
			}
			if matrix == "ffn_gate" {
				width := b.Dims[0]
				values := make([]float32, 0, width*count)
				for e := range count {
					for c := range width {
						values = append(values, gate(layer, e, c))
					}
				}
				out = append(out, gguf.Blob{Tensor: gguf.Tensor{Name: fmt.Sprintf("blk.%d.ffn_gate_inp.weight", layer), Type: gguf.F32,
					Dims: []int{width, count}}, Data: stored(values, gguf.F32)})
			}
			var data []byte
			for range count {
				data = append(data, b.Data...)
			}
			b.Name, b.Dims, b.Data = strings.Replace(b.Name, ".weight", "_exps.weight", 1), append(append([]int(nil), b.Dims...), count), data
			out = append(out, b)
		}
		m.tensors = out
	}
}

// Weights that sum to one over experts that are all alike make the model of one
// of them.
func TestExpertsThatAreAlikeAreOneOfThem(t *testing.T) {
	for _, r := range []struct {
		count, used int
		kind        func(string) gguf.Type
	}{{1, 1, nil}, {4, 1, nil}, {4, 2, nil}, {5, 5, nil}, {13, 3, nil}, {4, 2, mixedKinds}, {4, 3, tinyShape().kind}} {
		t.Run(fmt.Sprintf("%d of %d", r.used, r.count), func(t *testing.T) {
			s := small()
			s.kind = r.kind
			tokens := s.tokens(rand.New(rand.NewPCG(1, 8)), 60)
			want := all(t, s.open(t, 7, 1, kernel.Best()), 1, tokens)
			draw := rand.New(rand.NewPCG(3, 8))
			s.edit = mixture(r.count, r.used, func(int, int, int) float32 { return float32(draw.NormFloat64() / 4) })
			got := all(t, s.open(t, 7, 1, kernel.Best()), 1, tokens)
			for p := range want {
				// Roundings of weights and of more sums; where activations are
				// rounded to 8 bits, one that falls to the other side is 4e-3 of
				// the largest of its block.
				bound := 2e-6
				if r.kind != nil {
					bound = 2e-2
				}
				if d := distance(got[p], want[p]); !(d <= bound) {
					t.Fatalf("position %d: relative distance %g", p, d)
				}
			}
		})
	}
}

// Of experts with equal gates the lower ones are picked: those above may hold
// anything.
func TestEqualGatesPickTheLowerExperts(t *testing.T) {
	s := small()
	poison := mixture(4, 2, func(int, int, int) float32 { return 0 })
	s.edit = func(m *ingredients) {
		poison(m)
		for i := range m.tensors {
			if b := &m.tensors[i]; strings.HasSuffix(b.Name, "_exps.weight") {
				for j := len(b.Data) / 2; j < len(b.Data); j++ {
					b.Data[j] = 0xff // NaN
				}
			}
		}
	}
	e := s.open(t, 7, 2, kernel.Best())
	for p, row := range all(t, e, 1, s.tokens(rand.New(rand.NewPCG(2, 8)), 30)) {
		if math.IsNaN(float64(row[0])) {
			t.Fatalf("position %d has met an upper expert", p)
		}
	}
}

// The law of schedules, with experts whose weights are packed and whose rows are
// rounded.
func TestScoresOfStoredExpertsDependOnNothingElse(t *testing.T) {
	s := small()
	s.kind = tinyShape().kind
	s.edit = mixture(5, 2, func(layer, expert, column int) float32 {
		return float32((layer*31+expert*17+column*7)%13-6) / 12
	})
	for _, k := range kernel.All() {
		for _, threads := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s/threads=%d", k.Name(), threads), func(t *testing.T) { runSchedule(t, s, threads, k, 15) })
		}
	}
}
