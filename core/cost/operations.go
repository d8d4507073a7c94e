package cost

import (
	"math"
	"sort"
)

// Convention is how attention is counted; the zero value is causal and
// un-absorbed. It belongs on every figure: it moves totals by up to a factor 2.
type Convention struct {
	// Full counts every pair of positions in the square, as PaLM (2022) and
	// Hoffmann et al. 2022 do, instead of the causal half (Kaplan et al. 2020). It changes
	// prefill and training; a decode step attends its context either way.
	Full bool
	// Absorbed counts latent attention as inference engines run it: the
	// projections of keys and values are folded into the query and the output, and
	// scores are products with the cached latent vector.
	Absorbed bool
}

// String returns the words for a figure's footer.
func (c Convention) String() string {
	s := "causal attention"
	if c.Full {
		s = "full-square attention"
	}
	if c.Absorbed {
		s += ", latent attention absorbed"
	}
	return s + ", 2 FLOP per multiply-add"
}

// perPosition returns the operations of scores and values for one attended
// position: 4 h e; latent 2 h (e_n+e_r+e_v), absorbed 2 h (2 r_kv + e_r).
func (t *Attention) perPosition(c Convention) float64 {
	h := float64(t.Heads)
	if m := t.Latent; m != nil {
		if c.Absorbed {
			return 2 * h * float64(2*m.KV+m.Rope)
		}
		return 2 * h * float64(m.Plain+m.Rope+m.Value)
	}
	return 4 * h * float64(t.Width)
}

// attend returns Σ min(p+i, window) for i = 1 to n: the positions that n new
// tokens attend after p.
func (t *Attention) attend(p, n float64) float64 {
	w := float64(t.Window)
	if w == 0 || p+n <= w {
		return n*p + n*(n+1)/2
	}
	free := max(0, w-p) // tokens that still see everything before them
	return free*p + free*(free+1)/2 + (n-free)*w
}

// attendFull is attend where each new token is counted with all n.
func (t *Attention) attendFull(p, n float64) float64 {
	c := p + n
	if t.Window > 0 {
		c = min(c, float64(t.Window))
	}
	return n * c
}

// attention returns the operations of scores and values of n tokens after p.
func (a *Arch) attention(p, n float64, c Convention) float64 {
	sum := 0.0
	for i := range a.Layers {
		t := &a.Layers[i].Attention
		positions := t.attend(p, n)
		if c.Full {
			positions = t.attendFull(p, n)
		}
		sum += t.perPosition(c) * positions
	}
	return sum
}

// Decode returns the FLOP of one token at a context of that many tokens, itself
// included (F3): 2 M + 4 h e Σ_layers min(c, window), with the terms of latent
// attention where a layer has it. Exact as a count of matrix products; it
// does not hold for sparse attention or early exit, and padding is not in it.
func (a *Arch) Decode(context int64, c Convention) (float64, error) {
	g := guarded("decode FLOP")
	a.attended(g, context)
	if err := a.usable(g); err != nil {
		return 0, err
	}
	return a.decode(float64(context), c), nil
}

func (a *Arch) decode(context float64, c Convention) float64 {
	c.Full = false
	return 2*a.counts().matmul + a.attention(context-1, 1, c)
}

// DecodeRun returns the FLOP of n decode steps after a context of start tokens:
// Σ Decode(start + t) for t = 1 to n. n = 0 is 0.
func (a *Arch) DecodeRun(start, n int64, c Convention) (float64, error) {
	g := guarded("decode FLOP")
	g.atLeast("start", start, 0)
	g.atLeast("steps", n, 0)
	if n > 0 {
		a.attended(g, start+n)
	}
	if err := a.usable(g); err != nil {
		return 0, err
	}
	c.Full = false
	return float64(n)*2*a.counts().matmul + a.attention(float64(start), float64(n), c), nil
}

// Prefill is a prompt to be processed at once.
type Prefill struct {
	New    int64 // S, tokens to be processed, at least 1
	Cached int64 // p, tokens of the prefix that the cache holds already
	// AllLogits asks for the scores of every position, as log-probabilities of
	// the prompt need, and not only of the last.
	AllLogits bool
}

// Prefill returns the FLOP of a prefill (F4): 2 (M − V d) S + 2 V d +
// 4 h e Σ_layers Σ_i min(p+i, window); with AllLogits the head runs S times. Same
// range as [Arch.Decode].
func (a *Arch) Prefill(p Prefill, c Convention) (float64, error) {
	g := guarded("prefill FLOP")
	g.atLeast("prompt", p.New, 1)
	g.atLeast("cached prefix", p.Cached, 0)
	a.attended(g, p.New+p.Cached)
	if err := a.usable(g); err != nil {
		return 0, err
	}
	head := float64(a.Vocab) * float64(a.Model)
	s, heads := float64(p.New), 1.0
	if p.AllLogits {
		heads = s
	}
	return 2*(a.counts().matmul-head)*s + 2*head*heads + a.attention(float64(p.Cached), s, c), nil
}

// TrainPerToken returns the FLOP of training on one token of sequences of seq
// tokens (F5): three times the forward pass with all scores, four times with full
// recomputation of activations.
func (a *Arch) TrainPerToken(seq int64, c Convention, recompute bool) (float64, error) {
	f, err := a.Prefill(Prefill{New: seq, AllLogits: true}, c)
	if recompute {
		return 4 * f / float64(seq), err
	}
	return 3 * f / float64(max(1, seq)), err
}

// Train6ND returns 6 N D, the usual shorthand for the FLOP of training (F6;
// Kaplan et al. 2020). Good to a few percent only when contexts are much shorter
// than 6 d, the vocabulary is small against the body and N is [Size.Matmul].
func Train6ND(params, tokens float64) (float64, error) {
	g := guarded("6ND")
	g.positive("parameters", params)
	g.positive("tokens", tokens)
	return g.of(6 * params * tokens)
}

// DenseLayers returns mult L d², the weight FLOP of one token in the shorthand
// for plain blocks of FFN width 4 d, where mult is 24 (F6).
func DenseLayers(layers, model, mult float64) (float64, error) {
	g := guarded("dense layers FLOP")
	g.positive("layers", layers)
	g.positive("d_model", model)
	g.positive("multiplier", mult)
	return g.of(mult * layers * model * model)
}

// AttentionCrossover returns the context, in tokens, where scores and values of
// a decode step take as many operations as the weights (F3); +Inf when windows
// keep that from ever happening.
func (a *Arch) AttentionCrossover(c Convention) (float64, error) {
	g := guarded("attention crossover")
	if err := a.usable(g); err != nil {
		return 0, err
	}
	return a.contextFor(2*a.counts().matmul, func(l *Layer) float64 { return l.Attention.perPosition(c) }), nil
}

// CacheCrossover returns the context, in tokens, where a decode step of batch
// sequences reads as many bytes of cache as of weights (F7): B c kv = w M in a dense model
// without windows; +Inf when it never does.
func (a *Arch) CacheCrossover(batch int64, f Format) (float64, error) {
	g := guarded("cache crossover")
	g.atLeast("batch", batch, 1)
	f.check(g)
	if err := a.usable(g); err != nil {
		return 0, err
	}
	weights := a.touched(Expected, float64(batch)) * f.Weight
	return a.contextFor(weights/float64(batch), func(l *Layer) float64 { return l.Attention.cacheElements() * f.Cache }), nil
}

// contextFor solves Σ_layers slope(l) min(c, window) = target for c.
func (a *Arch) contextFor(target float64, slope func(*Layer) float64) float64 {
	type piece struct{ window, slope float64 }
	pieces := make([]piece, len(a.Layers))
	total := 0.0
	for i := range a.Layers {
		l := &a.Layers[i]
		w := math.Inf(1)
		if l.Attention.Window > 0 {
			w = float64(l.Attention.Window)
		}
		pieces[i] = piece{w, slope(l)}
		total += pieces[i].slope
	}
	sort.SliceStable(pieces, func(i, j int) bool { return pieces[i].window < pieces[j].window })
	full := 0.0 // what the layers whose window is full add
	for _, p := range pieces {
		if total > 0 && (target-full)/total <= p.window {
			return (target - full) / total
		}
		full += p.slope * p.window
		total -= p.slope
	}
	return never
}

// usable validates the architecture once the other arguments are right.
func (a *Arch) usable(g *guard) error {
	if g.err == nil {
		if err := a.check(); err != nil {
			return err
		}
	}
	return g.result()
}
