package transformer

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"lab/plugins/models/internal/gguf"
	"lab/plugins/models/internal/kernel"
)

// reference is the model as the papers write it down, in float64, without
// cache, batches or pages: an independent second opinion on every detail.
type reference struct {
	s shape
	t map[string][][]float64 // name -> rows
}

func newReference(t *testing.T, s shape, data []byte) *reference {
	t.Helper()
	f, err := gguf.Read("reference", data)
	if err != nil {
		t.Fatal(err)
	}
	if s.ropeSize == 0 {
		s.ropeSize = s.headSize
	}
	r := &reference{s: s, t: map[string][][]float64{}}
	le := binary.LittleEndian
	for _, info := range f.Tensors {
		b := f.Data(info)
		cols := info.Dims[0]
		var widened []float32 // formats that package kernel's reference blocks vouch for
		switch info.Type {
		case gguf.F32, gguf.F16, gguf.Q8_0:
		default:
			widened = make([]float32, info.Elements())
			all := kernel.All()
			all[len(all)-1].Widen(widened, b, formats[info.Type])
		}
		rows := make([][]float64, info.Elements()/int64(cols))
		for i := range rows {
			rows[i] = make([]float64, cols)
			for j := range cols {
				n := i*cols + j
				switch info.Type {
				case gguf.F32:
					rows[i][j] = float64(math.Float32frombits(le.Uint32(b[4*n:])))
				case gguf.F16:
					rows[i][j] = fromHalf(le.Uint16(b[2*n:]))
				case gguf.Q8_0:
					block := b[n/32*34:]
					rows[i][j] = fromHalf(le.Uint16(block)) * float64(int8(block[2+n%32]))
				default:
					rows[i][j] = float64(widened[n])
				}
			}
		}
		r.t[info.Name] = rows
	}
	return r
}

func matVec(w [][]float64, x []float64) []float64 {
	y := make([]float64, len(w))
	for i, row := range w {
		for j, v := range row {
			y[i] += v * x[j]
		}
	}
	return y
}

func (r *reference) norm(x []float64, gain string) []float64 {
	square := 0.0
	for _, v := range x {
		square += v * v
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v / math.Sqrt(square/float64(len(x))+float64(float32(1e-5))) * r.t[gain][0][i]
	}
	return y
}

func (r *reference) rotate(x []float64, position int) {
	for head := 0; head < len(x); head += r.s.headSize {
		for i := range r.s.ropeSize / 2 {
			angle := float64(position) * math.Pow(500, -2*float64(i)/float64(r.s.ropeSize))
			if r.s.ropeScale != 0 {
				angle /= float64(r.s.ropeScale)
			}
			if f := r.t["rope_freqs.weight"]; f != nil {
				angle /= f[0][i]
			}
			// Multiplication of complex numbers, one per pair of neighbours.
			z := complex(x[head+2*i], x[head+2*i+1]) * complex(math.Cos(angle), math.Sin(angle))
			x[head+2*i], x[head+2*i+1] = real(z), imag(z)
		}
	}
}

// attention returns the mix of one position's heads over keys and values of all
// positions up to it.
func (r *reference) attention(q []float64, keys, values [][]float64) []float64 {
	size := r.s.headSize
	out := make([]float64, len(q))
	for head := range r.s.heads {
		kv := head / (r.s.heads / r.s.kvHeads) * size
		weights, sum := make([]float64, len(keys)), 0.0
		for p, key := range keys {
			dot := 0.0
			for i := range size {
				dot += q[head*size+i] * key[kv+i]
			}
			weights[p] = math.Exp(dot / math.Sqrt(float64(size)))
			sum += weights[p]
		}
		for p, value := range values {
			for i := range size {
				out[head*size+i] += weights[p] / sum * value[kv+i]
			}
		}
	}
	return out
}

// logits returns the scores at every position.
func (r *reference) logits(tokens []int32) [][]float64 {
	x := make([][]float64, len(tokens))
	for p, token := range tokens {
		x[p] = append([]float64(nil), r.t["token_embd.weight"][token]...)
	}
	for l := range r.s.layers {
		b := fmt.Sprintf("blk.%d.", l)
		var keys, values [][]float64
		for p := range x {
			n := r.norm(x[p], b+"attn_norm.weight")
			q, k := matVec(r.t[b+"attn_q.weight"], n), matVec(r.t[b+"attn_k.weight"], n)
			r.rotate(q, p)
			r.rotate(k, p)
			keys, values = append(keys, k), append(values, matVec(r.t[b+"attn_v.weight"], n))
			for i, v := range matVec(r.t[b+"attn_output.weight"], r.attention(q, keys, values)) {
				x[p][i] += v
			}
			n = r.norm(x[p], b+"ffn_norm.weight")
			gate, up := matVec(r.t[b+"ffn_gate.weight"], n), matVec(r.t[b+"ffn_up.weight"], n)
			for i, g := range gate {
				gate[i] = g / (1 + math.Exp(-g)) * up[i]
			}
			for i, v := range matVec(r.t[b+"ffn_down.weight"], gate) {
				x[p][i] += v
			}
		}
	}
	head := "output.weight"
	if r.t[head] == nil {
		head = "token_embd.weight"
	}
	out := make([][]float64, len(x))
	for p := range x {
		out[p] = matVec(r.t[head], r.norm(x[p], "output_norm.weight"))
	}
	return out
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
			ref := newReference(t, r.s, r.s.bytes(t, seed))
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
