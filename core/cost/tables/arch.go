package tables

import (
	"encoding/json"
	"fmt"
)

// archFields are the fields of an architecture's record: the widths of a decoder
// as its published configuration names them. Defaults, in the order of the fields:
// heads for kv_heads, d_model/heads for head_dim, 3 matrices per feed-forward block
// (gated; 2 is plain), RMS norms, 2 norms a layer.
type archFields struct {
	Layers      int64  `json:"layers"`
	DModel      int64  `json:"d_model"`
	Heads       int64  `json:"heads"`
	KVHeads     int64  `json:"kv_heads"`
	HeadDim     int64  `json:"head_dim"`
	DFF         int64  `json:"d_ff"`
	Vocab       int64  `json:"vocab"`
	Tied        bool   `json:"tied"`
	Positions   int64  `json:"learned_positions"`
	MLPMats     int64  `json:"mlp_mats"`
	QKVBias     bool   `json:"qkv_bias"`
	OutBias     bool   `json:"out_bias"`
	MLPBias     bool   `json:"mlp_bias"`
	Norm        string `json:"norm"` // "rms" or "layer"
	NormsPer    int64  `json:"norms_per_layer"`
	QKNorm      bool   `json:"qk_norm"`
	RelPos      bool   `json:"rel_pos"`
	Window      int64  `json:"window"`
	WindowCount int64  `json:"window_layers"`
	MoE         *struct {
		Experts    int64 `json:"experts"`
		TopK       int64 `json:"top_k"`
		Shared     int64 `json:"shared"`
		DFF        int64 `json:"d_ff"`
		Dense      int64 `json:"dense_layers"`
		RouterBias bool  `json:"router_bias"`
	} `json:"moe"`
	MLA *struct {
		QLora  int64 `json:"q_lora"`
		KVLora int64 `json:"kv_lora"`
		Nope   int64 `json:"nope"`
		Rope   int64 `json:"rope"`
		V      int64 `json:"v"`
	} `json:"mla"`
}

// checkArch refuses an architecture with unknown or missing fields.
func checkArch(raw json.RawMessage, at string) error {
	if len(raw) == 0 {
		return &wrong{at, "is missing", `give the widths: "arch": {"layers": 32, "d_model": 4096, "heads": 32, "d_ff": 11008, "vocab": 32000}`}
	}
	var f archFields
	if err := strict(raw, at, &f); err != nil {
		return err
	}
	for _, size := range []struct {
		name string
		v    int64
	}{{"layers", f.Layers}, {"d_model", f.DModel}, {"heads", f.Heads}, {"d_ff", f.DFF}, {"vocab", f.Vocab}} {
		if size.v < 1 || size.v > 1<<31 {
			return &wrong{at + "." + size.name, fmt.Sprintf("is %d, outside [1, %d]", size.v, int64(1<<31)), ""}
		}
	}
	return nil
}
