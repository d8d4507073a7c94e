package transformer

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"testing"

	"lab/core/fault"
	"lab/core/plugin/model"
	"lab/plugins/models/internal/gguf"
	"lab/plugins/models/internal/kernel"
)

// set returns an edit that gives a metadata key a value.
func set(key string, value any) func(*ingredients) {
	return func(m *ingredients) {
		for i := range m.pairs {
			if m.pairs[i].Key == key {
				m.pairs[i].Value = value
				return
			}
		}
		m.pairs = append(m.pairs, gguf.Pair{Key: key, Value: value})
	}
}

// drop returns an edit that removes a metadata key or a tensor.
func drop(name string) func(*ingredients) {
	return func(m *ingredients) {
		for i := range m.pairs {
			if m.pairs[i].Key == name {
				m.pairs = append(m.pairs[:i], m.pairs[i+1:]...)
				return
			}
		}
		for i := range m.tensors {
			if m.tensors[i].Name == name {
				m.tensors = append(m.tensors[:i], m.tensors[i+1:]...)
				return
			}
		}
	}
}

// retensor returns an edit that changes one tensor.
func retensor(name string, change func(b *gguf.Blob)) func(*ingredients) {
	return func(m *ingredients) {
		for i := range m.tensors {
			if m.tensors[i].Name == name {
				change(&m.tensors[i])
			}
		}
	}
}

func openBytes(t testing.TB, data []byte) (*engine, error) {
	t.Helper()
	f, err := gguf.Read(`"m"`, data)
	if err != nil {
		return nil, err
	}
	return open(context.Background(), f, "m", options{threads: 1, cacheBytes: 1 << 24, kernels: kernel.Best()})
}

type refusal struct {
	name  string
	edit  func(*ingredients)
	kind  fault.Kind
	words []string
}

func refused(t *testing.T, rows []refusal) {
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			s := small()
			s.edit = r.edit
			_, err := openBytes(t, s.bytes(t, 7))
			wantError(t, err, r.kind, r.words...)
		})
	}
}

func TestHyperparametersThatAreNotUnderstoodAreRefusedByName(t *testing.T) {
	refused(t, []refusal{
		{"no architecture", drop("general.architecture"), fault.Data, []string{"general.architecture", "missing"}},
		{"another architecture", set("general.architecture", "mamba"), fault.Model, []string{"mamba", "known: gemma, gemma2, gemma3, gpt2, llama, olmo2, phi2, phi3, qwen2, qwen2moe, qwen3, qwen3moe, stablelm"}},
		{"an architecture misspelt", set("general.architecture", "lama"), fault.Model, []string{`did you mean "llama"?`}},
		{"a key nobody knows", set("llama.attention.clamp_kqv", float32(3)), fault.Model, []string{"llama.attention.clamp_kqv", "not understood"}},
		{"experts of which none is used", set("llama.expert_count", uint32(8)), fault.Data, []string{"llama.expert_used_count", "missing"}},
		{"experts used that are not there", set("llama.expert_used_count", uint32(8)), fault.Model, []string{"llama.expert_used_count", "no experts"}},
		{"more experts used than there are", func(m *ingredients) {
			set("llama.expert_count", uint32(2))(m)
			set("llama.expert_used_count", uint32(3))(m)
		}, fault.Data, []string{"llama.expert_used_count", "is 3, outside [1, 2]"}},
		{"experts without end", set("llama.expert_count", uint32(1<<20)), fault.Data, []string{"llama.expert_count", "outside"}},
		{"experts whose tensors are missing", func(m *ingredients) {
			set("llama.expert_count", uint32(2))(m)
			set("llama.expert_used_count", uint32(2))(m)
		}, fault.Data, []string{`"blk.0.ffn_gate_inp.weight" is missing`}},
		{"attention that looks ahead", set("llama.attention.causal", false), fault.Model, []string{"llama.attention.causal"}},
		{"another rope scaling", set("llama.rope.scaling.type", "su"), fault.Model, []string{"su", "known: linear, longrope, none, yarn"}},
		{"a rope scaling whose factors are missing", set("llama.rope.scaling.type", "longrope"), fault.Data, []string{"longrope", "factors"}},
		{"no context length", drop("llama.context_length"), fault.Data, []string{"llama.context_length", "missing"}},
		{"a context of zero", set("llama.context_length", uint32(0)), fault.Data, []string{"llama.context_length", "is 0, outside [1,"}},
		{"layers without end", set("llama.block_count", uint32(1<<31)), fault.Data, []string{"llama.block_count", "outside"}},
		{"a layer too many", set("llama.block_count", uint32(3)), fault.Data, []string{`tensor "blk.2.attn_norm.weight" is missing`}},
		{"a layer too few", set("llama.block_count", uint32(1)), fault.Model, []string{"blk.1.", "no place"}},
		{"a number as text", set("llama.block_count", "2"), fault.Data, []string{"llama.block_count", "is text"}},
		{"heads that key heads do not divide", set("llama.attention.head_count_kv", uint32(4)), fault.Data, []string{"head_count_kv", "no divisor"}},
		{"zero heads", set("llama.attention.head_count", uint32(0)), fault.Data, []string{"head_count", "outside"}},
		{"keys and values apart", set("llama.attention.value_length", uint32(8)), fault.Data, []string{"value_length"}},
		{"an odd rotation", set("llama.rope.dimension_count", uint32(7)), fault.Data, []string{"dimension_count", "even"}},
		{"a rotation beyond the head", set("llama.rope.dimension_count", uint32(18)), fault.Data, []string{"dimension_count", "at most"}},
		{"a NaN epsilon", set("llama.attention.layer_norm_rms_epsilon", float32(math.NaN())), fault.Data, []string{"layer_norm_rms_epsilon"}},
		{"a negative base", set("llama.rope.freq_base", float32(-1)), fault.Data, []string{"freq_base"}},
		{"a base of one half", set("llama.rope.freq_base", float32(0.5)), fault.Data, []string{"freq_base", "above 1"}},
		{"angles beyond reason", set("llama.rope.scaling.factor", float32(1e-9)), fault.Data, []string{"rotary angles"}},
	})
}

func TestTensorsAndTokenizersThatAreNotUnderstoodAreRefusedByName(t *testing.T) {
	s := small()
	mxfp4 := func(b *gguf.Blob) {
		b.Type = 39 // MXFP4: 17 bytes for 32 values
		b.Data = make([]byte, len(b.Data)/4/32*17)
	}
	damaged := func(b *gguf.Blob) {
		b.Type = gguf.Q4_0
		b.Data = make([]byte, len(b.Data)/4/32*18)
		b.Data[(2*7+1)*18+1] = 0x7e // two blocks a row
	}
	many := make([]float32, s.vocab)
	many[5] = float32(math.NaN())
	refused(t, []refusal{
		{"a tensor missing", drop("blk.1.ffn_up.weight"), fault.Data, []string{`"blk.1.ffn_up.weight" is missing`}},
		{"a tensor too many", func(m *ingredients) {
			m.tensors = append(m.tensors, gguf.Blob{Tensor: gguf.Tensor{Name: "blk.0.attn_q.bias", Dims: []int{1}}, Data: make([]byte, 4)})
		}, fault.Model, []string{"blk.0.attn_q.bias", `no place in the architecture "llama"`}},
		{"a tensor turned", retensor("blk.0.ffn_up.weight", func(b *gguf.Blob) { b.Dims = []int{96, 64} }), fault.Data,
			[]string{"blk.0.ffn_up.weight", "[96 64]", "[64 96]"}},
		{"a vector as a matrix", retensor("output_norm.weight", func(b *gguf.Blob) { b.Dims = []int{64, 1} }), fault.Data,
			[]string{"output_norm.weight", "[64 1]"}},
		{"a quantisation nobody knows here", retensor("blk.0.ffn_up.weight", mxfp4), fault.Model,
			[]string{"blk.0.ffn_up.weight", "MXFP4", "known: F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, IQ4_NL, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K;"}},
		{"a scale that is no number", retensor("blk.0.ffn_up.weight", damaged), fault.Data,
			[]string{`block 1 in row 7 of tensor "blk.0.ffn_up.weight" has a scale that is NaN or infinite`}},
		{"fewer tokens than table rows", func(m *ingredients) {
			for _, p := range vocabularyPairs(299) {
				set(p.Key, p.Value)(m)
			}
		}, fault.Data, []string{"token_embd.weight", "[64 300]", "[64 299]"}},
		{"another vocabulary size", set("llama.vocab_size", uint32(301)), fault.Data, []string{"llama.vocab_size", "301", "300"}},
		{"no tokenizer", drop("tokenizer.ggml.model"), fault.Data, []string{"tokenizer.ggml.model", "missing"}},
		{"another tokenizer", set("tokenizer.ggml.model", "bert"), fault.Model, []string{"bert", "known: gpt2, llama, t5"}},
		{"a unigram model with a character map", func(m *ingredients) {
			set("tokenizer.ggml.model", "t5")(m)
			set("tokenizer.ggml.precompiled_charsmap", []byte{1})(m)
		}, fault.Data, []string{"the character map ends after 1 bytes"}},
		{"a character map that is none", func(m *ingredients) {
			set("tokenizer.ggml.model", "t5")(m)
			set("tokenizer.ggml.precompiled_charsmap", []int32{1})(m)
		}, fault.Data, []string{"precompiled_charsmap", "array of bytes"}},
		{"merges of squeezed texts", set("tokenizer.ggml.remove_extra_whitespaces", true), fault.Model, []string{"remove_extra_whitespaces"}},
		{"byte-level merges without a way to split", set("tokenizer.ggml.model", "gpt2"), fault.Data, []string{"tokenizer.ggml.pre", "missing"}},
		{"byte-level merges without merges", func(m *ingredients) {
			set("tokenizer.ggml.model", "gpt2")(m)
			set("tokenizer.ggml.pre", "gpt-2")(m)
		}, fault.Data, []string{"tokenizer.ggml.merges", "missing"}},
		{"a way to split that nobody knows", func(m *ingredients) {
			byteLevelTokens(s.vocab)(m)
			set("tokenizer.ggml.pre", "gpt-9")(m)
		}, fault.Model, []string{"gpt-9", "known: a.x-4.0, bloom"}},
		{"no tokens", drop("tokenizer.ggml.tokens"), fault.Data, []string{"tokenizer.ggml.tokens", "missing"}},
		{"scores for other tokens", set("tokenizer.ggml.scores", []float32{1}), fault.Data, []string{"tokenizer.ggml.scores", "300 float32"}},
		{"a NaN score", set("tokenizer.ggml.scores", many), fault.Data, []string{"token 5", "NaN"}},
		{"a begin token outside", set("tokenizer.ggml.bos_token_id", uint32(300)), fault.Data, []string{"300"}},
		{"a begin token beyond int32", set("tokenizer.ggml.bos_token_id", uint32(math.MaxUint32)), fault.Data, []string{"bos_token_id"}},
		{"an end-of-turn token outside", set("tokenizer.ggml.eot_token_id", uint32(300)), fault.Data, []string{"end token 300"}},
		{"an end token after every text", set("tokenizer.ggml.add_eos_token", true), fault.Model, []string{"add_eos_token"}},
		{"merges with a character map", set("tokenizer.ggml.precompiled_charsmap", []byte{1}), fault.Model, []string{"character map", "t5"}},
		{"a token type of 9", func(m *ingredients) {
			types := make([]int32, s.vocab)
			for i := range types {
				types[i] = 9
			}
			set("tokenizer.ggml.token_type", types)(m)
		}, fault.Data, []string{"type 9"}},
		{"a frequency factor of zero", func(m *ingredients) {
			m.tensors = append(m.tensors, gguf.Blob{Tensor: gguf.Tensor{Name: "rope_freqs.weight", Dims: []int{8}}, Data: make([]byte, 32)})
		}, fault.Data, []string{"rope_freqs.weight", "positive"}},
	})
}

// Weights that are no numbers open, since nothing reads them all before they are
// needed; the scores tell.
func TestWeightsThatAreNoNumbersShowInTheScores(t *testing.T) {
	for _, name := range []string{"output_norm.weight", "blk.0.attn_k.weight", "blk.1.ffn_down.weight", "token_embd.weight"} {
		for _, v := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
			s := small()
			s.edit = retensor(name, func(b *gguf.Blob) {
				for i := 0; i < len(b.Data); i += 4 {
					copy(b.Data[i:], stored([]float32{v}, gguf.F32))
				}
			})
			e := s.open(t, 7, 2, kernel.Best())
			_, err := e.Forward(context.Background(), []model.Input{{Tokens: []int32{5, 6}, Want: model.Last, Scores: rowsFor(e, 1)}})
			wantError(t, err, fault.Data, "the score of token", "at position 1 of input 0", "damaged")
			if e.cache.used != 0 {
				t.Errorf("%s: the failed call left pages in the cache", name)
			}
		}
	}
}

// One bad row is enough, wherever it lies, and only for the calls that it reaches.
func TestOneScoreThatIsNoNumberIsFound(t *testing.T) {
	spoil := func(name string, row int) *engine {
		s := small()
		s.untied = true
		s.edit = retensor(name, func(b *gguf.Blob) {
			copy(b.Data[4*row*s.width:], stored([]float32{float32(math.Inf(-1))}, gguf.F32))
		})
		return s.open(t, 7, 2, kernel.Best())
	}
	call := func(e *engine, tokens ...int32) error {
		var batch []model.Input
		for i, token := range tokens {
			batch = append(batch, model.Input{Seq: uint64(i), Tokens: []int32{token}, Want: model.Last, Scores: rowsFor(e, 1)})
		}
		_, err := e.Forward(context.Background(), batch)
		return err
	}
	for _, row := range []int{0, 1, 150, 298, 299} {
		err := call(spoil("output.weight", row), 5, 6)
		wantError(t, err, fault.Data, fmt.Sprintf("the score of token %d at position 0 of input 0", row))
	}
	e := spoil("token_embd.weight", 7)
	wantError(t, call(e, 5, 6, 7), fault.Data, "at position 0 of input 2 is NaN")
	if err := call(e, 5, 6, 8); err != nil {
		t.Errorf("after a call that failed: %v", err)
	}
}

func TestKeysThatOnlyDescribeAreAccepted(t *testing.T) {
	for key, value := range map[string]any{
		"llama.vocab_size": uint32(300), "llama.tensor_data_layout": "x", "llama.expert_count": uint32(0),
		"llama.attention.causal": true, "llama.rope.scaling.type": "none", "general.url": "x",
		"tokenizer.chat_template": "{{ x }}", "tokenizer.ggml.padding_token_id": uint32(0),
	} {
		s := small()
		s.edit = set(key, value)
		e, err := openBytes(t, s.bytes(t, 7))
		if err != nil {
			t.Errorf("%s: %v", key, err)
			continue
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestTextFromAFileCannotDriveATerminal(t *testing.T) {
	s := small()
	s.edit = set("general.name", "a\x1b[31m\xffb")
	e := s.open(t, 7, 1, kernel.Best())
	if got, want := e.Info().Description, `a\x1b[31m\xffb`; got != want {
		t.Errorf("described as %q, want %q", got, want)
	}
}

// mangled runs a damaged file as far as it goes: it must open or fail, and, when
// it opens, compute or fail. Nothing may panic.
func mangled(t testing.TB, data []byte) {
	e, err := openBytes(t, data)
	if err != nil {
		if k := fault.KindOf(err); k != fault.Data && k != fault.Model && k != fault.Limit {
			t.Errorf("kind %v: %v", k, err)
		}
		return
	}
	defer e.Close()
	rows := rowsFor(e, 1)
	_, err = e.Forward(context.Background(), []model.Input{{Tokens: []int32{0}, Want: model.Last, Scores: rows}})
	if err != nil && fault.KindOf(err) == fault.Internal {
		t.Errorf("unclassified: %v", err)
	}
	if _, err := e.Encode(context.Background(), []byte("w0 w1"), model.EncodeOptions{Begin: true, Special: true}); err != nil {
		t.Logf("encode: %v", err)
	}
}

func TestDamagedModelsNeverPanic(t *testing.T) {
	s := shape{vocab: 262, context: 8, width: 4, layers: 1, heads: 2, kvHeads: 1, headSize: 2, ffn: 4}
	whole := s.bytes(t, 7)
	f, err := gguf.Read("whole", whole)
	if err != nil {
		t.Fatal(err)
	}
	end := 0
	for _, x := range f.Tensors {
		end = max(end, int(x.Offset+x.Size))
	}
	for n := 0; n < end; n += 1 + n/500 {
		if _, err := openBytes(t, whole[:n:n]); err == nil {
			t.Fatalf("a file cut to %d of %d bytes opens", n, end)
		}
	}
	for at := range len(whole) {
		// Every byte outside the long lists of the tokenizer, and some inside.
		if at > 1200 && at < int(f.Tensors[0].Offset)-1000 && at%101 != 0 {
			continue
		}
		for _, flip := range []byte{[]byte{1, 0x80, 0xff}[at%3]} {
			data := bytes.Clone(whole)
			data[at] ^= flip
			func() {
				defer func() {
					if r := recover(); r != nil {
						t.Fatalf("byte %d flipped by %#x: panic %v", at, flip, r)
					}
				}()
				mangled(t, data)
			}()
		}
	}
}

func FuzzOpen(f *testing.F) {
	s := shape{vocab: 262, context: 8, width: 4, layers: 1, heads: 2, kvHeads: 1, headSize: 2, ffn: 4}
	f.Add(s.bytes(f, 7))
	for i, edit := range []func(*ingredients){
		set("llama.block_count", uint32(2)), set("llama.attention.head_count", uint32(1)), drop("output_norm.weight"),
	} {
		s.edit = edit
		f.Add(s.bytes(f, uint64(i)))
	}
	blocks := shape{vocab: 262, context: 8, width: 32, layers: 1, heads: 2, kvHeads: 1, headSize: 16, ffn: 32,
		kind: func(name string) gguf.Type { return kinds()[len(name)%5+2] }} // Q4_0 to Q8_0
	f.Add(blocks.bytes(f, 7))
	s.edit = mixture(3, 2, func(_, expert, column int) float32 { return float32(expert - column) })
	f.Add(s.bytes(f, 7))
	f.Fuzz(func(t *testing.T, data []byte) { mangled(t, data) })
}
