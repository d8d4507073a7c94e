package transformer

import "math"

// architecture is how a family of models reads its metadata and computes.
type architecture struct {
	name string // general.architecture
	read func(m *meta, vocab int) hyper
	// ropeFactors names a vector that, when present, divides the rotary
	// frequencies one by one. Where it names two, the first serves contexts
	// within the original one and the second longer ones.
	ropeFactors []string
	embed       part
	block       []part // in every layer
	head        []part // for the rows whose scores are wanted
}

// architectures returns the known families.
func architectures() []architecture {
	return []architecture{
		llama(), gemma(), gemma2(), gemma3(), gpt2(), olmo2(), phi2(), phi3(), qwen2(), qwen2moe(), qwen3(), qwen3moe(), stablelm(),
	}
}

// llama: Touvron et al. 2023, "LLaMA: Open and Efficient Foundation Language
// Models"; also Mistral and SmolLM.
func llama() architecture {
	return architecture{
		name:        "llama",
		read:        readLlama,
		ropeFactors: []string{"rope_freqs.weight"},
		embed:       lookUp(),
		block: []part{
			rmsNorm("attn_norm.weight"),
			projectQKV("attn_q.weight", "attn_k.weight", "attn_v.weight"),
			rotatePairs(),
			attend(),
			projectBack(),
			rmsNorm("ffn_norm.weight"),
			expertsOr(gatedFFN(silu), silu),
		},
		head: rmsHead(),
	}
}

func readLlama(m *meta, vocab int) hyper {
	h := readRotary(m, vocab)
	if m.whole("expert_count", 0, maxExperts, 0) > 0 {
		h.experts = readExperts(m, h.ffn, true)
	}
	return h
}

// rmsHead scores the tokens with a matrix of its own or the embedding table.
func rmsHead() []part {
	return []part{rmsNorm("output_norm.weight"), logits("output.weight", embedding)}
}

// tiedHead scores the tokens with the embedding table.
func tiedHead() []part {
	return []part{rmsNorm("output_norm.weight"), logits(embedding, "")}
}

// qwen2: Yang et al. 2024, "Qwen2 Technical Report".
func qwen2() architecture {
	return architecture{
		name:  "qwen2",
		read:  readRotary,
		embed: lookUp(),
		block: []part{
			rmsNorm("attn_norm.weight"),
			projectQKVBiased("attn_q", "attn_k", "attn_v", false),
			rotateHalves(),
			attend(),
			projectBack(),
			rmsNorm("ffn_norm.weight"),
			gatedFFN(silu),
		},
		head: rmsHead(),
	}
}

// qwen2moe: Yang et al. 2024, "Qwen2 Technical Report": qwen2 with experts, whose
// weights are left as the softmax over all has them, beside one that all share.
// In both mixtures of Qwen a layer may be an ordinary one.
func qwen2moe() architecture {
	a := qwen2()
	a.name, a.read = "qwen2moe", func(m *meta, vocab int) hyper {
		h := readRotary(m, vocab)
		h.experts = readExperts(m, -1, false)
		h.experts.shared = m.whole("expert_shared_feed_forward_length", 1, maxWidth, h.ffn)
		return h
	}
	a.block = replaceLast(a.block, ifStored(expertGate, expertFFN(silu), gatedFFN(silu)), ifStored(expertGate, sharedExpert(silu), nothing()))
	return a
}

// qwen3moe: Yang et al. 2025, "Qwen3 Technical Report": qwen3 with experts, whose
// weights sum to one.
func qwen3moe() architecture {
	a := qwen3()
	a.name, a.read = "qwen3moe", func(m *meta, vocab int) hyper {
		h := readRotary(m, vocab)
		h.experts = readExperts(m, -1, true)
		return h
	}
	a.block = replaceLast(a.block, ifStored(expertGate, expertFFN(silu), gatedFFN(silu)))
	return a
}

// replaceLast returns a table with other parts for its last one.
func replaceLast(block []part, parts ...part) []part {
	return append(block[:len(block)-1:len(block)-1], parts...)
}

// qwen3: Yang et al. 2025, "Qwen3 Technical Report".
func qwen3() architecture {
	return architecture{
		name:  "qwen3",
		read:  readRotary,
		embed: lookUp(),
		block: []part{
			rmsNorm("attn_norm.weight"),
			projectQKV("attn_q.weight", "attn_k.weight", "attn_v.weight"),
			normHeads("attn_q_norm.weight", "attn_k_norm.weight"),
			rotateHalves(),
			attend(),
			projectBack(),
			rmsNorm("ffn_norm.weight"),
			gatedFFN(silu),
		},
		head: rmsHead(),
	}
}

// gemma: Gemma Team 2024, "Gemma: Open Models Based on Gemini Research and
// Technology". The stored gains are those of the paper plus one.
func gemma() architecture {
	return architecture{
		name:  "gemma",
		read:  readGemma,
		embed: lookUp(),
		block: []part{
			rmsNorm("attn_norm.weight"),
			projectQKV("attn_q.weight", "attn_k.weight", "attn_v.weight"),
			rotateHalves(),
			attend(),
			projectBack(),
			rmsNorm("ffn_norm.weight"),
			gatedFFN(gelu),
		},
		head: tiedHead(),
	}
}

// gemma2: Gemma Team 2024, "Gemma 2: Improving Open Language Models at a
// Practical Size": every layer's outputs are normalised, too.
func gemma2() architecture {
	return architecture{
		name:  "gemma2",
		read:  readGemma2,
		embed: lookUp(),
		block: []part{
			rmsNorm("attn_norm.weight"),
			projectQKV("attn_q.weight", "attn_k.weight", "attn_v.weight"),
			rotateHalves(),
			attend(),
			normed(projectBack(), "post_attention_norm.weight"),
			rmsNorm("ffn_norm.weight"),
			normed(gatedFFN(gelu), "post_ffw_norm.weight"),
		},
		head: tiedHead(),
	}
}

// gemma3: Gemma Team 2025, "Gemma 3 Technical Report": gemma2 with normalised
// heads and another rotation in layers with a window.
func gemma3() architecture {
	return architecture{
		name:  "gemma3",
		read:  readGemma3,
		embed: lookUp(),
		block: []part{
			rmsNorm("attn_norm.weight"),
			projectQKV("attn_q.weight", "attn_k.weight", "attn_v.weight"),
			normHeads("attn_q_norm.weight", "attn_k_norm.weight"),
			rotateHalves(),
			attend(),
			normed(projectBack(), "post_attention_norm.weight"),
			rmsNorm("ffn_norm.weight"),
			normed(gatedFFN(gelu), "post_ffw_norm.weight"),
		},
		head: rmsHead(),
	}
}

// readGemma reads what all Gemmas have in common.
func readGemma(m *meta, vocab int) hyper {
	h := readRotary(m, vocab)
	h.embedScale = float32(math.Sqrt(float64(h.width)))
	return h
}

func readGemma2(m *meta, vocab int) hyper {
	h := readGemma(m, vocab)
	h.attentionCap = float32(m.real("attn_logit_softcapping", math.MaxFloat32, 50))
	h.logitCap = float32(m.real("final_logit_softcapping", math.MaxFloat32, 30))
	h.window = m.whole("attention.sliding_window", 1, maxContext, 4096)
	h.pattern = m.whole("attention.sliding_window_pattern", 1, maxLayers, 2)
	if h.layers == 46 {
		scaleByWidth(&h)
	}
	return h
}

func readGemma3(m *meta, vocab int) hyper {
	h := readGemma(m, vocab)
	if m.has("final_logit_softcapping") {
		h.logitCap = float32(m.real("final_logit_softcapping", math.MaxFloat32, 0))
	}
	if m.has("attention.sliding_window") {
		h.window = m.whole("attention.sliding_window", 1, maxContext, -1)
	}
	h.pattern = m.whole("attention.sliding_window_pattern", 1, maxLayers, 6)
	h.localRope = rotation{size: h.rope.size, base: m.real("rope.freq_base_swa", math.MaxFloat32, 10000), scale: 1, gain: 1}
	if h.localRope.base <= 1 {
		m.wrong(m.prefix+"rope.freq_base_swa", "is %g; it must be above 1", h.localRope.base)
	}
	if h.layers == 62 {
		scaleByWidth(&h)
	}
	return h
}

// scaleByWidth scales queries by the width per head in place of the head size.
// The 27B models of Gemma 2 and 3 do; their files do not say so, and llama.cpp
// knows them by their number of layers.
func scaleByWidth(h *hyper) { h.queryScale = float32(1 / math.Sqrt(float64(h.width/h.heads))) }

// olmo2: OLMo Team 2024, "2 OLMo 2 Furious": layers are normalised where they
// end, and queries and keys as a whole.
func olmo2() architecture {
	return architecture{
		name:  "olmo2",
		read:  readRotary,
		embed: lookUp(),
		block: []part{
			asIs(),
			projectQKV("attn_q.weight", "attn_k.weight", "attn_v.weight"),
			normQueries("attn_q_norm.weight", "attn_k_norm.weight"),
			rotateHalves(),
			attend(),
			normed(projectBack(), "post_attention_norm.weight"),
			asIs(),
			normed(gatedFFN(silu), "post_ffw_norm.weight"),
		},
		head: rmsHead(),
	}
}

// phi2: Javaheripi and Bubeck 2023, "Phi-2: The surprising power of small
// language models". Attention and feed-forward layer share their input, and both
// are added to the stream.
func phi2() architecture {
	return architecture{
		name:  "phi2",
		read:  readPhi2,
		embed: lookUp(),
		block: []part{
			layerNorm("attn_norm"),
			projectEither("attn_qkv", "attn_q", "attn_k", "attn_v"),
			rotateHalves(),
			attend(),
			projectBackBiased(),
			plainFFN("ffn_up", "ffn_down"),
		},
		head: []part{layerNorm("output_norm"), biasedLogits("output")},
	}
}

func readPhi2(m *meta, vocab int) hyper {
	h := readDecoder(m, vocab, normEpsilon)
	h.rope = readRotation(m, &h)
	h.localRope = h.rope
	return h
}

// phi3: Abdin et al. 2024, "Phi-3 Technical Report". The models for long contexts
// have two sets of rotary factors (Ding et al. 2024, "LongRoPE"). As in
// llama.cpp, the model's context decides between them; transformers lets every
// text's length do, and begins anew where a text outgrows the original context.
func phi3() architecture {
	return architecture{
		name:        "phi3",
		read:        readPhi3,
		ropeFactors: []string{"rope_factors_short.weight", "rope_factors_long.weight"},
		embed:       lookUp(),
		block: []part{
			rmsNorm("attn_norm.weight"),
			projectStacked("attn_qkv", false),
			rotateHalves(),
			attend(),
			projectBack(),
			rmsNorm("ffn_norm.weight"),
			stackedFFN(silu),
		},
		head: rmsHead(),
	}
}

func readPhi3(m *meta, vocab int) hyper {
	h := readRotary(m, vocab)
	if m.has("attention.sliding_window") {
		h.window = m.whole("attention.sliding_window", 0, maxContext, -1)
	}
	return h
}

// stablelm: Bellagente et al. 2024, "Stable LM 2 1.6B Technical Report", with
// biases of queries, keys and values or without. The 12B model normalises heads,
// and its feed-forward layers have the input of attention for theirs; as in
// llama.cpp, which of both a layer does is read off its tensors.
func stablelm() architecture {
	return architecture{
		name:  "stablelm",
		read:  readStableLM,
		embed: lookUp(),
		block: []part{
			layerNorm("attn_norm"),
			projectQKVBiased("attn_q", "attn_k", "attn_v", true),
			ifStored("attn_q_norm.weight", centreHeads("attn_q_norm.weight", "attn_k_norm.weight"), nothing()),
			rotateHalves(),
			attend(),
			projectBack(),
			unlessParallel("ffn_norm"),
			gatedFFN(silu),
		},
		head: []part{layerNorm("output_norm"), logits("output.weight", "")},
	}
}

func readStableLM(m *meta, vocab int) hyper {
	h := readDecoder(m, vocab, normEpsilon)
	h.rope = readRotation(m, &h)
	h.localRope = h.rope
	// Files that say true may have the norm all the same: converters write it for
	// models that say nothing.
	h.parallel = m.flag("use_parallel_residual", true)
	return h
}

// unlessParallel is layerNorm; layers without the norm keep the input of
// attention, where the model may be so.
func unlessParallel(norm string) part {
	return part{pick: func(h *hyper, stored func(string) bool) part {
		if h.parallel && !stored(norm+".weight") {
			return nothing()
		}
		return layerNorm(norm)
	}}
}

// gpt2: Radford et al. 2019, "Language Models are Unsupervised Multitask
// Learners".
func gpt2() architecture {
	return architecture{
		name:  "gpt2",
		read:  func(m *meta, vocab int) hyper { return readDecoder(m, vocab, normEpsilon) },
		embed: lookUpPlaces("position_embd.weight"),
		block: []part{
			layerNorm("attn_norm"),
			projectStacked("attn_qkv", true),
			attend(),
			projectBackBiased(),
			layerNorm("ffn_norm"),
			plainFFN("ffn_up", "ffn_down"),
		},
		head: []part{layerNorm("output_norm"), logits("output.weight", embedding)},
	}
}
