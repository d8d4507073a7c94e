package transformer

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"lab/plugins/models/internal/gguf"
	"lab/plugins/models/internal/kernel"
)

// shuffled returns a model file with the elements of every tensor in a random
// order: other random weights of the same sizes and sizes of weights.
func shuffled(t *testing.T, data []byte, seed uint64) []byte {
	t.Helper()
	data = bytes.Clone(data)
	f, err := gguf.Read("shuffled", data)
	if err != nil {
		t.Fatal(err)
	}
	draw := rand.New(rand.NewPCG(seed, 12))
	for _, info := range f.Tensors {
		b, size := f.Data(info), int(info.Size/info.Elements())
		draw.Shuffle(int(info.Elements()), func(i, j int) {
			for k := range size {
				b[i*size+k], b[j*size+k] = b[j*size+k], b[i*size+k]
			}
		})
	}
	return data
}

func TestEveryArchitectureAgreesWithAFloat64Reference(t *testing.T) {
	for _, name := range peerNames(t) {
		for seed := range uint64(3) {
			t.Run(fmt.Sprintf("%s/%d", name, seed), func(t *testing.T) {
				stored, err := os.ReadFile(peerPath(name))
				if err != nil {
					t.Fatal(err)
				}
				data := stored
				bound := 2e-5 // as against transformers
				if name == "gemma2-27b" {
					// Most random weights amplify roundings over 46 layers beyond any
					// bound; the stored ones stay below the thousandth that is promised.
					bound = 1e-3
				} else {
					data = shuffled(t, stored, seed)
				}
				e, err := openSet(t, data, func(o *options) { o.threads = 2 })
				if err != nil {
					t.Fatal(err)
				}
				tokens := storedModel(t, peerPath(name)).tokens(rand.New(rand.NewPCG(seed, 13)), 40)
				want := newReference(t, data).logits(tokens)
				within := func(got [][]float32, bound float64) {
					t.Helper()
					for p := range want {
						off, size := 0.0, 0.0
						for id, w := range want[p] {
							off += (float64(got[p][id]) - w) * (float64(got[p][id]) - w)
							size += w * w
						}
						if d := math.Sqrt(off / size); !(d <= bound) {
							t.Fatalf("position %d: relative distance %g, bound %g", p, d, bound)
						}
					}
				}
				// Of F16 a thousandth is promised, and kept by the stored models (see
				// TestEveryArchitectureAgreesWithTransformers); one position in a thousand
				// of random ones makes more of what is rounded: measured up to 1.3e-3.
				within(all(t, e, 1, tokens), max(bound, 2e-3))
				within(all(t, exactly(e), 2, tokens), bound)
			})
		}
	}
}

func TestForwardAgreesWithAFloat64Reference(t *testing.T) {
	with := func(change func(*shape)) shape {
		s := small()
		change(&s)
		return s
	}
	rows := []struct {
		name string
		s    shape
	}{
		{"shared key heads, tied output", small()},
		{"own output matrix", with(func(s *shape) { s.untied = true })},
		{"as many key heads as queries", with(func(s *shape) { s.kvHeads = s.heads })},
		{"one key head for all", with(func(s *shape) { s.kvHeads = 1 })},
		{"odd sizes", with(func(s *shape) {
			s.width, s.ffn, s.heads, s.kvHeads, s.headSize, s.vocab = 45, 77, 3, 1, 14, 263
		})},
		{"head size apart from width/heads", with(func(s *shape) { s.headSize = 24 })},
		{"rotation of a part of each head", with(func(s *shape) { s.ropeSize = 10 })},
		{"positions scaled", with(func(s *shape) { s.ropeScale = 4 })},
		{"frequencies divided by factors", with(func(s *shape) { s.factors = true })},
		{"stored types mixed", with(func(s *shape) { s.kind = mixedKinds })},
		{"one layer", with(func(s *shape) { s.layers = 1 })},
	}
	for i, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			seed := uint64(100 + i)
			ref := newReference(t, r.s.bytes(t, seed))
			tokens := r.s.tokens(rand.New(rand.NewPCG(seed, 2)), 40)
			want := ref.logits(tokens)
			got := all(t, exactly(r.s.open(t, seed, 1, kernel.Best())), 1, tokens)
			for p := range want {
				for id := range want[p] {
					// Some thousand roundings of 2^-24 per score on scores of size
					// 10, amplified by the layers; measured below 2e-5.
					if !(math.Abs(float64(got[p][id])-want[p][id]) <= 1e-4) {
						t.Fatalf("position %d, token %d: %g, reference %g", p, id, got[p][id], want[p][id])
					}
				}
			}
		})
	}
}

func TestRotationOfKnownAngles(t *testing.T) {
	r := newRope(rotation{size: 4, base: 100, scale: 1, gain: 1}, nil)
	r.extend(8)
	// base 100, four elements: frequencies 1 and 1/10.
	rows := []struct {
		name     string
		position int
		x, want  []float32
	}{
		{"position 0 changes nothing", 0, []float32{1, 2, 3, 4}, []float32{1, 2, 3, 4}},
		{"neighbours turn together", 1, []float32{1, 0, 1, 0}, []float32{0.5403023, 0.84147098, 0.99500417, 0.09983342}},
		{"a quarter apart", 1, []float32{0, 1, 0, 1}, []float32{-0.84147098, 0.5403023, -0.09983342, 0.99500417}},
		{"angle is position times frequency", 7, []float32{1, 0, 1, 0}, []float32{0.75390225, 0.6569866, 0.76484219, 0.64421769}},
		{"two heads alike", 1, []float32{1, 0, 0, 0, 1, 0, 0, 0}, []float32{0.5403023, 0.84147098, 0, 0, 0.5403023, 0.84147098, 0, 0}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			cos, sin := r.at(row.position)
			for head := 0; head < len(row.x); head += 4 {
				kernel.Best().Rotate(row.x[head:][:4], cos, sin)
			}
			for i := range row.want {
				// One rounding each of table, products and sum: 2^-24 times 3.
				if !(math.Abs(float64(row.x[i]-row.want[i])) <= 2e-7) {
					t.Errorf("element %d is %g, want %g", i, row.x[i], row.want[i])
				}
			}
		})
	}
}
