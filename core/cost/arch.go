package cost

import (
	"fmt"

	"lab/core/fault"
)

// Arch is the architecture of a decoder: what formulas need to know of a model.
// The layers are a list, so windows, mixtures, latent attention and dense first
// layers mix freely. It is a plain record; [Arch.Validate] says whether it can be
// computed with, and every method that computes calls it.
type Arch struct {
	Model     int // d, width of the residual stream
	Vocab     int // V, rows of the embedding as stored
	Tied      bool
	Positions int // rows of a learned position table; 0 when there is none
	NormSize  int // vectors per norm: 1 for RMS norm, 2 for layer norm
	Layers    []Layer

	// MaxContext is the longest context the model is made for, in tokens; 0
	// when it is not known, and then no context is refused.
	MaxContext int
}

// Layer is one block: an attention and either a dense feed-forward block or a
// mixture of them.
type Layer struct {
	Attention Attention
	FFN       FFN      // of a dense layer; unused when Mixture is set
	Mixture   *Mixture // nil in a dense layer
	Norms     int      // norms of the layer, each of Arch.NormSize vectors of width d
}

// Attention is the attention of one layer.
type Attention struct {
	Heads   int     // h, query heads
	KV      int     // g, heads of keys and values: h for multi-head, 1 for multi-query
	Width   int     // e, width of a head; not d/h in general
	Window  int     // positions attended at most; 0 for no window
	Latent  *Latent // set for latent attention; KV and Width are then unused
	QKVBias bool    // biases of the projections to queries, keys and values
	OutBias bool    // bias of the output projection
	QKNorm  bool    // a norm of width e on queries and one on keys
	RelPos  bool    // relative positions: a d×d projection and two vectors of width d
}

// Latent is multi-head latent attention (DeepSeek-V2, 2024): keys and values are
// projected from one low-rank vector, which is all that is cached.
type Latent struct {
	Query int // r_q, rank of the query; 0 when the query is not compressed
	KV    int // r_kv, rank of keys and values
	Plain int // e_n, width of a head without position
	Rope  int // e_r, width of the shared part with rotary position
	Value int // e_v, width of a head's value
}

// FFN is a feed-forward block.
type FFN struct {
	Width    int  // f
	Matrices int  // m: 3 when gated, 2 when plain
	Bias     bool // biases of all matrices: (m-1) f + d
}

// Mixture is a mixture of experts.
type Mixture struct {
	Experts    int // E, routed experts
	TopK       int // k, experts that one token passes
	Shared     int // s, experts that every token passes
	Expert     FFN // each of them
	RouterBias bool
}

// The limits of what an architecture may say, so that a hostile record costs no
// memory and every count stays exact.
const (
	mostLayers  = 1 << 14
	mostWidth   = 1 << 24
	mostVocab   = 1 << 28
	mostExperts = 1 << 16
)

// Validate returns an error that names the first field that is missing or
// outside its range. Exactness of all counts is part of it: a model above 2^53
// parameters is refused.
func (a *Arch) Validate() error {
	if err := a.check(); err != nil {
		return err
	}
	return nil
}

func (a *Arch) check() *fault.Error {
	v := &ranges{}
	v.within("d_model", a.Model, 1, mostWidth)
	v.within("vocab", a.Vocab, 1, mostVocab)
	v.within("learned_positions", a.Positions, 0, mostVocab)
	v.within("norm vectors", a.NormSize, 1, 2)
	v.within("layers", len(a.Layers), 1, mostLayers)
	v.within("max_context", a.MaxContext, 0, 1<<31-1)
	for i := range a.Layers {
		if v.err != nil {
			break
		}
		v.at = fmt.Sprintf("layer %d: ", i)
		a.Layers[i].check(v)
	}
	v.at = ""
	if v.err == nil && a.total() > largest {
		v.err = fault.New(fault.Usage, "cost: architecture", "", "it has %g parameters, more than can be counted exactly (2^53)", a.total())
	}
	return v.err
}

func (l *Layer) check(v *ranges) {
	at := l.Attention
	v.within("heads", at.Heads, 1, mostWidth)
	v.within("window", at.Window, 0, 1<<31-1)
	v.within("norms_per_layer", l.Norms, 0, 16)
	if m := at.Latent; m != nil {
		v.within("mla.q_lora", m.Query, 0, mostWidth)
		v.within("mla.kv_lora", m.KV, 1, mostWidth)
		v.within("mla.nope", m.Plain, 0, mostWidth)
		v.within("mla.rope", m.Rope, 0, mostWidth)
		v.within("mla.v", m.Value, 1, mostWidth)
		if m.Plain+m.Rope == 0 {
			v.fail("mla.nope and mla.rope are both 0", "a head needs a width")
		}
		if at.QKVBias || at.QKNorm {
			v.fail("latent attention has qkv_bias or qk_norm", "leave them out: their sizes are not defined there")
		}
	} else {
		v.within("kv_heads", at.KV, 1, mostWidth)
		v.within("head_dim", at.Width, 1, mostWidth)
		if at.KV > 0 && at.Heads%at.KV != 0 {
			v.fail(fmt.Sprintf("%d heads do not divide among %d kv_heads", at.Heads, at.KV), "make heads a multiple of kv_heads")
		}
	}
	if l.Mixture == nil {
		l.FFN.check("", v)
		return
	}
	m := l.Mixture
	v.within("moe.experts", m.Experts, 1, mostExperts)
	v.within("moe.top_k", m.TopK, 1, max(1, m.Experts))
	v.within("moe.shared", m.Shared, 0, mostExperts)
	m.Expert.check("moe.", v)
	if m.Expert.Bias {
		v.fail("experts have biases", "leave mlp_bias out: their number in a mixture is not defined")
	}
}

func (f *FFN) check(where string, v *ranges) {
	v.within(where+"d_ff", f.Width, 1, mostWidth)
	v.within(where+"mlp_mats", f.Matrices, 2, 3)
}

// ranges keeps the first field outside its range.
type ranges struct {
	at  string
	err *fault.Error
}

func (r *ranges) within(name string, v, lo, hi int) {
	if r.err == nil && (v < lo || v > hi) {
		r.err = fault.New(fault.Usage, "cost: architecture", "", "%s%s = %d is outside [%d, %d]", r.at, name, v, lo, hi)
	}
}

func (r *ranges) fail(problem, fix string) {
	if r.err == nil {
		r.err = fault.New(fault.Usage, "cost: architecture", "", "%s%s", r.at, problem).Fix("%s", fix)
	}
}

// attended refuses a context that is empty or longer than the model's.
func (a *Arch) attended(g *guard, context int64) {
	g.atLeast("context", context, 1)
	if a.MaxContext > 0 && context > int64(a.MaxContext) {
		g.refuse("shorten it, or use a model made for more", "context = %d tokens is beyond the model's context of %d", context, a.MaxContext)
	}
}
