package transformer

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"lab/plugins/models/internal/gguf"
	"lab/plugins/models/internal/kernel"
)

// shape describes a model with random weights.
type shape struct {
	vocab, context, width, layers, heads, kvHeads, headSize, ffn int

	ropeSize  int                         // 0: headSize
	ropeScale float32                     // 0: none
	factors   bool                        // rope_freqs.weight
	untied    bool                        // output.weight
	kind      func(name string) gguf.Type // nil: all F32
	edit      func(m *ingredients)        // last changes before writing

	file string // a stored model instead; then only vocab and context count
}

// ingredients are what a file is written from.
type ingredients struct {
	pairs   []gguf.Pair
	tensors []gguf.Blob
}

// small is a model that runs in a blink and has no two sizes alike.
func small() shape {
	return shape{vocab: 300, context: 96, width: 64, layers: 2, heads: 6, kvHeads: 2, headSize: 16, ffn: 96}
}

// storedModel is the model of a file.
func storedModel(t testing.TB, path string) shape {
	t.Helper()
	e := openWith(t, path, 1, kernel.Best())
	return shape{file: path, vocab: e.hyper.vocab, context: e.hyper.context}
}

// tinyShape is the size of the embedded model.
func tinyShape() shape {
	return shape{vocab: 1312, context: 256, width: 192, layers: 4, heads: 6, kvHeads: 6, headSize: 32, ffn: 512,
		kind: func(string) gguf.Type { return gguf.Q8_0 }}
}

func mixedKinds(name string) gguf.Type {
	switch {
	case name == "token_embd.weight", name == "blk.0.attn_q.weight":
		return gguf.F16
	case name == "blk.0.ffn_up.weight", name == "blk.1.attn_v.weight", name == "output.weight":
		return gguf.F32
	}
	return gguf.Q8_0
}

// bytes writes the model.
func (s shape) bytes(t testing.TB, seed uint64) []byte {
	t.Helper()
	if s.file != "" {
		data, err := os.ReadFile(s.file)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	m := s.ingredients(seed)
	if s.edit != nil {
		s.edit(m)
	}
	var out bytes.Buffer
	if err := gguf.Write(&out, m.pairs, m.tensors); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func (s shape) ingredients(seed uint64) *ingredients {
	if s.ropeSize == 0 {
		s.ropeSize = s.headSize
	}
	m := &ingredients{pairs: []gguf.Pair{
		{Key: "general.architecture", Value: "llama"},
		{Key: "general.name", Value: "random"},
		{Key: "llama.context_length", Value: uint32(s.context)},
		{Key: "llama.embedding_length", Value: uint32(s.width)},
		{Key: "llama.block_count", Value: uint32(s.layers)},
		{Key: "llama.feed_forward_length", Value: uint32(s.ffn)},
		{Key: "llama.attention.head_count", Value: uint32(s.heads)},
		{Key: "llama.attention.head_count_kv", Value: uint32(s.kvHeads)},
		{Key: "llama.attention.key_length", Value: uint32(s.headSize)},
		{Key: "llama.attention.value_length", Value: uint32(s.headSize)},
		{Key: "llama.attention.layer_norm_rms_epsilon", Value: float32(1e-5)},
		{Key: "llama.rope.dimension_count", Value: uint32(s.ropeSize)},
		{Key: "llama.rope.freq_base", Value: float32(500)},
	}}
	if s.ropeScale != 0 {
		m.pairs = append(m.pairs, gguf.Pair{Key: "llama.rope.scaling.type", Value: "linear"},
			gguf.Pair{Key: "llama.rope.scaling.factor", Value: s.ropeScale})
	}
	m.pairs = append(m.pairs, vocabularyPairs(s.vocab)...)
	s.weights(m, rand.New(rand.NewPCG(seed, 1)))
	return m
}

// weights adds the tensors.
func (s shape) weights(m *ingredients, r *rand.Rand) {
	add := func(name string, scale, around float64, dims ...int) {
		n := 1
		for _, d := range dims {
			n *= d
		}
		values := make([]float32, n)
		for i := range values {
			values[i] = float32(around + scale*r.NormFloat64())
		}
		kind := gguf.F32
		if s.kind != nil && len(dims) == 2 {
			kind = s.kind(name)
		}
		m.tensors = append(m.tensors, gguf.Blob{Tensor: gguf.Tensor{Name: name, Type: kind, Dims: dims}, Data: stored(values, kind)})
	}
	// Scales that keep every layer's output near the size of its input.
	matrix := func(name string, cols, rows int) { add(name, 1.5/math.Sqrt(float64(cols)), 0, cols, rows) }
	add("token_embd.weight", 0.5, 0, s.width, s.vocab)
	add("output_norm.weight", 0.2, 1, s.width)
	if s.untied {
		matrix("output.weight", s.width, s.vocab)
	}
	if s.factors {
		add("rope_freqs.weight", 0.2, 2, s.ropeSize/2)
	}
	for l := range s.layers {
		p := fmt.Sprintf("blk.%d.", l)
		add(p+"attn_norm.weight", 0.2, 1, s.width)
		matrix(p+"attn_q.weight", s.width, s.heads*s.headSize)
		matrix(p+"attn_k.weight", s.width, s.kvHeads*s.headSize)
		matrix(p+"attn_v.weight", s.width, s.kvHeads*s.headSize)
		matrix(p+"attn_output.weight", s.heads*s.headSize, s.width)
		add(p+"ffn_norm.weight", 0.2, 1, s.width)
		matrix(p+"ffn_gate.weight", s.width, s.ffn)
		matrix(p+"ffn_up.weight", s.width, s.ffn)
		matrix(p+"ffn_down.weight", s.ffn, s.width)
	}
}

// vocabularyPairs is a tokenizer with the 256 bytes and made-up words.
func vocabularyPairs(n int) []gguf.Pair {
	tokens := []string{"<unk>", "<s>", "</s>"}
	types := []int32{2, 3, 3}
	for b := range 256 {
		tokens, types = append(tokens, fmt.Sprintf("<0x%02X>", b)), append(types, 6)
	}
	for i := 0; len(tokens) < n; i++ {
		tokens, types = append(tokens, fmt.Sprintf("▁w%d", i)), append(types, 1)
	}
	return []gguf.Pair{
		{Key: "tokenizer.ggml.model", Value: "llama"},
		{Key: "tokenizer.ggml.tokens", Value: tokens},
		{Key: "tokenizer.ggml.scores", Value: make([]float32, n)},
		{Key: "tokenizer.ggml.token_type", Value: types},
		{Key: "tokenizer.ggml.bos_token_id", Value: uint32(1)},
		{Key: "tokenizer.ggml.eos_token_id", Value: uint32(2)},
		{Key: "tokenizer.ggml.unknown_token_id", Value: uint32(0)},
		{Key: "tokenizer.ggml.add_bos_token", Value: true},
	}
}

// stored encodes values; half precision is truncated, which random weights do
// not mind, and so is what storedBlocks makes of them.
func stored(values []float32, kind gguf.Type) []byte {
	le := binary.LittleEndian
	var out []byte
	switch kind {
	case gguf.F32:
		for _, v := range values {
			out = le.AppendUint32(out, math.Float32bits(v))
		}
	case gguf.F16:
		for _, v := range values {
			out = le.AppendUint16(out, toHalf(v))
		}
	case gguf.Q8_0:
		for ; len(values) > 0; values = values[32:] {
			largest := float32(1e-6)
			for _, v := range values[:32] {
				largest = max(largest, float32(math.Abs(float64(v))))
			}
			scale := toHalf(largest / 126)
			out = le.AppendUint16(out, scale)
			for _, v := range values[:32] {
				out = append(out, byte(int8(math.Round(float64(v)/fromHalf(scale)))))
			}
		}
	case gguf.BF16:
		for _, v := range values {
			out = le.AppendUint16(out, uint16(math.Float32bits(v)>>16))
		}
	default:
		return storedBlocks(values, kind)
	}
	return out
}

// toHalf drops the bits that half precision has no room for.
func toHalf(v float32) uint16 {
	b := math.Float32bits(v)
	exponent := int(b>>23&255) - 127 + 15
	if exponent <= 0 {
		return uint16(b>>16&0x8000) | uint16(math.Abs(float64(v))*(1<<24))
	}
	return uint16(b>>16&0x8000) | uint16(exponent)<<10 | uint16(b>>13&0x3ff)
}

// fromHalf is the value of a finite half-precision number.
func fromHalf(h uint16) float64 {
	v := math.Ldexp(1+float64(h&0x3ff)/1024, int(h>>10&31)-15)
	if h&0x7c00 == 0 {
		v = math.Ldexp(float64(h&0x3ff), -24)
	}
	if h&0x8000 != 0 {
		v = -v
	}
	return v
}

// open opens the model from memory. A pool of several threads splits even the
// smallest work, so that tests of threads test something.
func (s shape) open(t testing.TB, seed uint64, threads int, k *kernel.Kernels) *engine {
	t.Helper()
	f, err := gguf.Read("random", s.bytes(t, seed))
	if err != nil {
		t.Fatal(err)
	}
	e, err := open(context.Background(), f, "random", options{threads: threads, cacheBytes: 1 << 30, kernels: k})
	if err != nil {
		t.Fatal(err)
	}
	e.pool.small = 0
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// tokens returns random ordinary tokens.
func (s shape) tokens(r *rand.Rand, n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(r.IntN(s.vocab))
	}
	return out
}
