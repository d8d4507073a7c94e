package cost

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"lab/core/fault"
)

// Fields is how a uniform architecture is written in a file or a script: the
// numbers a model card gives. A pointer that is nil means that the field was not
// given; the comment says what is then taken.
type Fields struct {
	Layers     *int `json:"layers"`
	Model      *int `json:"d_model"`
	Heads      *int `json:"heads"`
	KVHeads    *int `json:"kv_heads"` // heads
	HeadDim    *int `json:"head_dim"` // d_model / heads, which must divide
	FF         *int `json:"d_ff"`     // the dense width; needed where a layer is dense
	Vocab      *int `json:"vocab"`
	Tied       bool `json:"tied"`
	Positions  int  `json:"learned_positions"`
	MLPMats    *int `json:"mlp_mats"` // 3, gated
	QKVBias    bool `json:"qkv_bias"`
	OutBias    bool `json:"out_bias"`
	MLPBias    bool `json:"mlp_bias"`
	Norm       Norm `json:"norm"`            // rms
	Norms      *int `json:"norms_per_layer"` // 2
	QKNorm     bool `json:"qk_norm"`
	RelPos     bool `json:"rel_pos"`
	Window     *int `json:"window"`        // no window; the two go together
	Windowed   *int `json:"window_layers"` // layers with the window
	MaxContext *int `json:"max_context"`   // not known

	Mixture *MixtureFields `json:"moe"`
	Latent  *LatentFields  `json:"mla"`
}

// Norm names the kind of all norms of a model: "rms" (one vector) or "layer" (two).
type Norm string

// MixtureFields is the mixture of [Fields].
type MixtureFields struct {
	Experts    *int `json:"experts"`
	TopK       *int `json:"top_k"`
	Shared     int  `json:"shared"`
	FF         *int `json:"d_ff"`         // of one expert
	DenseFirst int  `json:"dense_layers"` // layers before the first mixture
	RouterBias bool `json:"router_bias"`
}

// LatentFields is the latent attention of [Fields].
type LatentFields struct {
	Query *int `json:"q_lora"` // 0: the query is not compressed
	KV    *int `json:"kv_lora"`
	Plain *int `json:"nope"`
	Rope  *int `json:"rope"`
	Value *int `json:"v"`
}

var (
	fieldNames   = []string{"layers", "d_model", "heads", "kv_heads", "head_dim", "d_ff", "vocab", "tied", "learned_positions", "mlp_mats", "qkv_bias", "out_bias", "mlp_bias", "norm", "norms_per_layer", "qk_norm", "rel_pos", "window", "window_layers", "max_context", "moe", "mla"}
	mixtureNames = []string{"experts", "top_k", "shared", "d_ff", "dense_layers", "router_bias"}
	latentNames  = []string{"q_lora", "kv_lora", "nope", "rope", "v"}
)

// mostFieldBytes bounds the text of one architecture.
const mostFieldBytes = 64 << 10

// ParseArch reads an architecture from the JSON object that [Fields] describes.
// An unknown or repeated field is an error that names the nearest known one, and so are
// a field of the wrong type and a value outside its range.
func ParseArch(text []byte) (*Arch, error) {
	f, err := ParseFields(text)
	if err != nil {
		return nil, err
	}
	return f.Build()
}

// ParseFields reads [Fields] from JSON, as strictly as [ParseArch], without
// building the architecture.
func ParseFields(text []byte) (*Fields, error) {
	bad := func(problem string, args ...any) *fault.Error {
		return fault.New(fault.Usage, "cost: architecture", "", problem, args...)
	}
	if len(text) > mostFieldBytes {
		return nil, bad("its text has %d bytes, more than %d", len(text), mostFieldBytes)
	}
	if err := known(text, "", fieldNames); err != nil {
		return nil, err
	}
	var inner struct {
		Mixture json.RawMessage `json:"moe"`
		Latent  json.RawMessage `json:"mla"`
	}
	if err := json.Unmarshal(text, &inner); err != nil {
		return nil, bad("it is no JSON object: %v", err)
	}
	for _, part := range []struct {
		text  []byte
		name  string
		names []string
	}{{inner.Mixture, "moe", mixtureNames}, {inner.Latent, "mla", latentNames}} {
		if len(part.text) > 0 && string(part.text) != "null" {
			if err := known(part.text, part.name, part.names); err != nil {
				return nil, err
			}
		}
	}
	var f Fields
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, bad("%v", jsonProblem(err))
	}
	return &f, nil
}

// known refuses a JSON object with a key that is not in names or is there twice.
func known(text []byte, where string, names []string) error {
	op := "cost: architecture"
	if where != "" {
		op += ": " + where
	}
	d := json.NewDecoder(bytes.NewReader(text))
	t, err := d.Token()
	if err != nil || t != json.Delim('{') {
		return fault.New(fault.Usage, op, "", "it is no JSON object")
	}
	seen := map[string]bool{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return fault.New(fault.Usage, op, "", "it is no JSON object: %v", err)
		}
		name, _ := key.(string)
		if !slices.Contains(names, name) {
			return fault.Unknown(op, "field", name, names)
		}
		if seen[name] {
			return fault.New(fault.Usage, op, "", "field %q is there twice", name)
		}
		seen[name] = true
		var skip json.RawMessage
		if err := d.Decode(&skip); err != nil {
			return fault.New(fault.Usage, op, "", "field %q: %v", name, jsonProblem(err))
		}
	}
	if _, err := d.Token(); err != nil {
		return fault.New(fault.Usage, op, "", "it is no JSON object: %v", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return fault.New(fault.Usage, op, "", "something follows the JSON object")
	}
	return nil
}

// jsonProblem is a decoding error without the names of Go types.
func jsonProblem(err error) string {
	if e, ok := err.(*json.UnmarshalTypeError); ok {
		return "field " + e.Field + " is a " + e.Value + ", not what the field holds"
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// Build returns the architecture of the fields. Layers with the window come
// first, and so do the dense layers of a mixture; sums over layers do not depend
// on the order.
func (f *Fields) Build() (*Arch, error) {
	need := func(name string, p *int) (int, error) {
		if p == nil {
			return 0, fault.New(fault.Usage, "cost: architecture", "", "field %q is missing", name).Fix("every architecture needs layers, d_model, heads, vocab and the widths of its feed-forward blocks")
		}
		return *p, nil
	}
	or := func(p *int, otherwise int) int {
		if p == nil {
			return otherwise
		}
		return *p
	}
	bad := func(fix, problem string, args ...any) error {
		return fault.New(fault.Usage, "cost: architecture", "", problem, args...).Fix("%s", fix)
	}
	var at [4]int
	for i, p := range []struct {
		name string
		v    *int
	}{{"layers", f.Layers}, {"d_model", f.Model}, {"heads", f.Heads}, {"vocab", f.Vocab}} {
		var err error
		if at[i], err = need(p.name, p.v); err != nil {
			return nil, err
		}
	}
	layers, d, heads := at[0], at[1], at[2]
	a := &Arch{Model: d, Vocab: at[3], Tied: f.Tied, Positions: f.Positions, MaxContext: or(f.MaxContext, 0)}
	switch f.Norm {
	case "", "rms":
		a.NormSize = 1
	case "layer":
		a.NormSize = 2
	default:
		return nil, bad(`use "rms" or "layer"`, "norm %q is not known", f.Norm)
	}
	if layers < 1 || layers > mostLayers {
		return nil, bad("", "layers = %d is outside [1, %d]", layers, mostLayers)
	}
	l := Layer{Norms: or(f.Norms, 2), Attention: Attention{Heads: heads, KV: or(f.KVHeads, heads), Width: or(f.HeadDim, 0),
		QKVBias: f.QKVBias, OutBias: f.OutBias, QKNorm: f.QKNorm, RelPos: f.RelPos}}
	if f.Latent != nil {
		var m Latent
		for _, p := range []struct {
			name string
			to   *int
			v    *int
		}{{"mla.q_lora", &m.Query, f.Latent.Query}, {"mla.kv_lora", &m.KV, f.Latent.KV}, {"mla.nope", &m.Plain, f.Latent.Plain}, {"mla.rope", &m.Rope, f.Latent.Rope}, {"mla.v", &m.Value, f.Latent.Value}} {
			v, err := need(p.name, p.v)
			if err != nil {
				return nil, err
			}
			*p.to = v
		}
		if f.KVHeads != nil || f.HeadDim != nil {
			return nil, bad("leave kv_heads and head_dim out", "latent attention has widths of its own")
		}
		l.Attention.Latent, l.Attention.KV = &m, 0
	} else if f.HeadDim == nil {
		if heads < 1 || d%heads != 0 {
			return nil, bad("give head_dim", "d_model %d does not divide among %d heads", d, heads)
		}
		l.Attention.Width = d / heads
	}
	windowed := 0
	switch {
	case (f.Window == nil) != (f.Windowed == nil):
		return nil, bad("give both, or neither", "window and window_layers go together")
	case f.Window != nil:
		windowed = *f.Windowed
		if *f.Window < 1 || windowed < 0 || windowed > layers {
			return nil, bad("", "window = %d in window_layers = %d of %d layers is not possible", *f.Window, windowed, layers)
		}
	}
	mats := or(f.MLPMats, 3)
	dense := layers
	var mix *Mixture
	if f.Mixture != nil {
		var err error
		mix = &Mixture{Shared: f.Mixture.Shared, RouterBias: f.Mixture.RouterBias, Expert: FFN{Matrices: mats, Bias: f.MLPBias}}
		for _, p := range []struct {
			name string
			to   *int
			v    *int
		}{{"moe.experts", &mix.Experts, f.Mixture.Experts}, {"moe.top_k", &mix.TopK, f.Mixture.TopK}, {"moe.d_ff", &mix.Expert.Width, f.Mixture.FF}} {
			if *p.to, err = need(p.name, p.v); err != nil {
				return nil, err
			}
		}
		dense = f.Mixture.DenseFirst
		if dense < 0 || dense > layers {
			return nil, bad("", "moe.dense_layers = %d of %d layers is not possible", dense, layers)
		}
	}
	if dense > 0 {
		width, err := need("d_ff", f.FF)
		if err != nil {
			return nil, err
		}
		l.FFN = FFN{Width: width, Matrices: mats, Bias: f.MLPBias}
	}
	a.Layers = make([]Layer, layers)
	for i := range a.Layers {
		one := l
		if i < windowed {
			one.Attention.Window = *f.Window
		}
		if i >= dense {
			one.FFN, one.Mixture = FFN{}, mix
		}
		a.Layers[i] = one
	}
	if err := a.Validate(); err != nil {
		return nil, err
	}
	return a, nil
}
