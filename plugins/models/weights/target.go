package weights

import (
	"slices"
	"strings"

	"lab/core/fault"
	"lab/plugins/models/internal/gguf"
)

// Target is what a file can be rewritten as: a format for most of its weights,
// and rules for the others.
type Target struct {
	Name string
	base gguf.Type // of most weights
	// number is general.file_type, llama.cpp's number of the mixture.
	number uint32
}

// Targets returns all of them, the most exact first.
func Targets() []Target {
	return []Target{
		{"f32", gguf.F32, 0}, {"f16", gguf.F16, 1}, {"bf16", gguf.BF16, 32},
		{"q8_0", gguf.Q8_0, 7}, {"q6_k", gguf.Q6_K, 18},
		{"q5_1", gguf.Q5_1, 9}, {"q5_0", gguf.Q5_0, 8}, {"q5_k_m", gguf.Q5_K, 17}, {"q5_k_s", gguf.Q5_K, 16},
		{"q4_1", gguf.Q4_1, 3}, {"q4_0", gguf.Q4_0, 2}, {"iq4_nl", gguf.IQ4_NL, 25}, {"q4_k_m", gguf.Q4_K, 15}, {"q4_k_s", gguf.Q4_K, 14},
		{"q3_k_l", gguf.Q3_K, 13}, {"q3_k_m", gguf.Q3_K, 12}, {"q3_k_s", gguf.Q3_K, 11}, {"q2_k", gguf.Q2_K, 10},
	}
}

// FindTarget returns the target of a name, in any case. An unknown one is a usage
// error.
func FindTarget(name string) (Target, error) {
	var names []string
	for _, t := range Targets() {
		if strings.EqualFold(t.Name, name) {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return Target{}, fault.Unknown("quantize", "type", name, names)
}

// wholes reports whether a format keeps values one by one.
func wholes(t gguf.Type) bool { return t == gguf.F32 || t == gguf.F16 || t == gguf.BF16 }

// shape is what the rules ask of a model.
type shape struct {
	layers, experts int
	queriesPerKey   int // heads of queries that share one of keys, in the first layer
	llama70B        bool
	tied            bool // there is no output.weight: the embedding is the output
	values          int  // tensors that produce attention values
}

// readShape reads it from the metadata; what is missing counts as nothing.
func readShape(f *gguf.File) shape {
	arch, _, _ := f.Text("general.architecture")
	first := func(key string) int {
		if n, found, err := f.Int(arch + "." + key); found && err == nil {
			return int(n)
		}
		if list, found, err := f.Ints(arch+"."+key, -1); found && err == nil && len(list) > 0 {
			return int(list[0])
		}
		return 0
	}
	s := shape{layers: first("block_count"), experts: first("expert_count"), tied: true}
	heads, keys := first("attention.head_count"), first("attention.head_count_kv")
	if keys == 0 {
		keys = heads
	}
	if keys > 0 {
		s.queriesPerKey = heads / keys
	}
	s.llama70B = arch == "llama" && s.layers == 80 && heads != keys
	for _, t := range f.Tensors {
		s.tied = s.tied && t.Name != outputName
		if kindOf(t.Name) == valueTensor {
			s.values++
		}
	}
	return s
}

const outputName = "output.weight"

// kind is what a tensor does, as far as the rules make a difference.
type kind int

const (
	otherTensor kind = iota
	outputTensor
	embeddingTensor
	valueTensor // attention values, also together with others
	keyTensor
	mixTensor // output of the attention
	downTensor
)

func kindOf(name string) kind {
	has := func(part string) bool { return strings.Contains(name, part) }
	switch {
	case name == outputName:
		return outputTensor
	case name == "token_embd.weight" || name == "per_layer_token_embd.weight":
		return embeddingTensor
	case has("attn_qkv.weight") || has("attn_kv_b.weight") || has("attn_v.weight"):
		return valueTensor
	case has("attn_k.weight"):
		return keyTensor
	case has("attn_q.weight"):
		return otherTensor
	case has("attn_output.weight"):
		return mixTensor
	case has("ffn_up") || has("ffn_gate"):
		return otherTensor
	case has("ffn_down"):
		return downTensor
	}
	return otherTensor
}

// keptParts are in the names of matrices that stay as they are: they are small,
// and much depends on them.
func keptParts() []string {
	return []string{"_norm.weight", "ffn_gate_inp.weight", "ffn_gate_tid2eid.weight", "altup", "laurel", "per_layer_model_proj",
		"ssm_conv1d", "shortconv.conv.weight", "indexer.k_proj.weight", "indexer.q_proj.weight",
		"time_mix_first.weight", "time_mix_w0.weight", "time_mix_w1.weight", "time_mix_w2.weight", "time_mix_v0.weight", "time_mix_v1.weight",
		"time_mix_v2.weight", "time_mix_a0.weight", "time_mix_a1.weight", "time_mix_a2.weight", "time_mix_g1.weight", "time_mix_g2.weight",
		"time_mix_decay_w1.weight", "time_mix_decay_w2.weight", "time_mix_lerp_fused.weight", "attn_rel_b.weight",
		".position_embd", "sam.pos_embd", "sam.neck.", "sam.net_", ".rel_pos", ".patch_embd", ".patch_merger", "a.rvq.codebook", "mm.a.code_embd"}
}

// keeps says why a tensor stays as it is, "" when it does not.
func keeps(t gguf.Tensor) string {
	matrix := false
	for _, d := range t.Dims[1:] {
		matrix = matrix || d > 1
	}
	switch {
	case !matrix:
		return "a vector"
	case !strings.HasSuffix(t.Name, "weight"):
		return "no weight"
	case t.Name == "position_embd.weight" || t.Name == "token_types.weight":
		return "small, and much depends on it"
	case slices.ContainsFunc(keptParts(), func(part string) bool { return strings.Contains(t.Name, part) }):
		return "small, and much depends on it"
	}
	return ""
}
