package transformer

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"lab/plugins/models/internal/gguf"
	"lab/plugins/models/internal/kernel"
)

// storedBlocks returns random blocks whose values have mean 0 and the spread of
// the given ones. Their bits come from the last bits of the values.
func storedBlocks(values []float32, kind gguf.Type) []byte {
	// Where a block has its scale and its minimum, and how much of the scale the
	// minimum must be for the mean to be 0; no minimum at 0.
	shape := map[gguf.Type]struct {
		scale, minimum int
		ratio          float64
	}{
		gguf.Q4_0: {}, gguf.Q4_1: {0, 2, -7.5}, gguf.Q5_0: {}, gguf.Q5_1: {0, 2, -15.5}, gguf.IQ4_NL: {}, gguf.Q2_K: {80, 82, 1.5},
		gguf.Q3_K: {scale: 108}, gguf.Q4_K: {0, 2, 7.5}, gguf.Q5_K: {0, 2, 15.5}, gguf.Q6_K: {scale: 208},
	}[kind]
	f := formats[kind]
	size := f.Bytes(f.Block())
	out := make([]byte, f.Bytes(len(values)))
	for i := range out {
		out[i] = byte(math.Float32bits(values[i%len(values)]))
	}
	set := func(scale float64) {
		for block := out; len(block) > 0; block = block[size:] {
			if shape.minimum > 0 {
				binary.LittleEndian.PutUint16(block[shape.minimum:], toHalf(float32(scale*shape.ratio)))
			}
			binary.LittleEndian.PutUint16(block[shape.scale:], toHalf(float32(scale)))
		}
	}
	set(1)
	got := make([]float32, len(values))
	kernel.Best().Widen(got, out, f)
	set(spread(values) / spread(got))
	return out
}

// spread is the root of the mean square.
func spread(values []float32) float64 {
	sum := 0.0
	for _, v := range values {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum / float64(len(values)))
}

// wide is the least model whose rows hold whole blocks of every format.
func wide() shape {
	return shape{vocab: 270, context: 64, width: 256, layers: 2, heads: 4, kvHeads: 4, headSize: 64, ffn: 512, untied: true}
}

// kinds are the known storage types in order.
func kinds() []gguf.Type {
	var all []gguf.Type
	for t := range formats {
		all = append(all, t)
	}
	slices.Sort(all)
	return all
}

// cycle stores one matrix after the other in the next type, from one on.
func cycle(from int) func(string) gguf.Type {
	all, next := kinds(), map[string]int{}
	return func(name string) gguf.Type {
		if _, ok := next[name]; !ok {
			next[name] = len(next) + from
		}
		return all[next[name]%len(all)]
	}
}

func TestEveryFormatOfTheKernelsIsOpened(t *testing.T) {
	for _, f := range kernel.Formats() {
		if !slices.ContainsFunc(kinds(), func(k gguf.Type) bool { return formats[k] == f && k.String() == f.String() }) {
			t.Errorf("no storage type is mapped to %v", f)
		}
	}
}

// TestEveryFormatServesInEveryPlace opens models in which, one after the other,
// each matrix is stored in each format, the table of embeddings included.
func TestEveryFormatServesInEveryPlace(t *testing.T) {
	for from, kind := range kinds() {
		t.Run("table "+kind.String(), func(t *testing.T) {
			s := wide()
			s.kind = cycle(from)
			data := s.bytes(t, uint64(from))
			e := exactly(s.open(t, uint64(from), 1, kernel.Best()))
			if got := e.weight.embed[0].format; got != formats[kind] {
				t.Fatalf("the table is stored as %v", got)
			}
			tokens := s.tokens(rand.New(rand.NewPCG(uint64(from), 9)), 6)
			want := newReference(t, data).logits(tokens)
			got := all(t, e, 1, tokens)
			for p := range want {
				for id := range want[p] {
					// As in TestForwardAgreesWithAFloat64Reference.
					if !(math.Abs(float64(got[p][id])-want[p][id]) <= 1e-4) {
						t.Fatalf("position %d, token %d: %g, reference %g", p, id, got[p][id], want[p][id])
					}
				}
			}
		})
	}
}

func TestScoresOfStoredFormatsDoNotDependOnKernelsOrThreads(t *testing.T) {
	for _, from := range []int{0, 7} {
		s := wide()
		s.kind = cycle(from)
		tokens := s.tokens(rand.New(rand.NewPCG(3, 9)), 9)
		o := newOracle(t, s, kernel.Best())
		for _, k := range kernel.All() {
			for _, threads := range []int{1, 3} {
				scores := all(t, s.open(t, 7, threads, k), 1, tokens)
				for p := range tokens {
					o.check(fmt.Sprintf("%s, %d threads", k.Name(), threads), tokens[:p+1], scores[p])
				}
			}
		}
	}
}
