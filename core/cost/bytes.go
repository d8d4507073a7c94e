package cost

import "math"

// Format is the bytes of one element of each kind. Each must be given: a model is
// not served in the format it was trained in.
type Format struct {
	Weight float64 // w, bytes per weight
	Cache  float64 // q, bytes per cached element; see [CacheElement]
}

func (f Format) check(g *guard) {
	g.positive("bytes per weight", f.Weight)
	g.positive("bytes per cached element", f.Cache)
}

// CacheElement returns the bytes of one quantised cache element: bits/8 and the
// share of its group's scale, scaleBytes/group (F2). Without scales give 0 and
// group 1.
func CacheElement(bits, scaleBytes, group float64) (float64, error) {
	g := guarded("cache element")
	g.positive("bits", bits)
	g.nonNegative("scale bytes", scaleBytes)
	g.positive("group", group)
	return g.of(bits/8 + scaleBytes/group)
}

// cacheElements returns the elements cached for one token.
func (t *Attention) cacheElements() float64 {
	if m := t.Latent; m != nil {
		return float64(m.KV + m.Rope)
	}
	return 2 * float64(t.KV) * float64(t.Width)
}

// CachePerToken returns the bytes that one token adds to the cache while no
// window is full (F2): 2 L g e q; latent layers L (r_kv + e_r) q. Sources: Pope
// et al. 2022; Kwon et al. 2023; DeepSeek-V3.
func (a *Arch) CachePerToken(bytesPerElement float64) (float64, error) {
	g := guarded("cache bytes")
	g.positive("bytes per cached element", bytesPerElement)
	if err := a.usable(g); err != nil {
		return 0, err
	}
	return a.cachePerToken() * bytesPerElement, nil
}

func (a *Arch) cachePerToken() float64 {
	sum := 0.0
	for i := range a.Layers {
		sum += a.Layers[i].Attention.cacheElements()
	}
	return sum
}

// Cache returns the bytes of the cache of batch sequences of context tokens each (F2);
// layers with a window hold min(c, window).
func (a *Arch) Cache(context, batch int64, bytesPerElement float64) (float64, error) {
	g := guarded("cache bytes")
	a.attended(g, context)
	g.atLeast("batch", batch, 1)
	g.positive("bytes per cached element", bytesPerElement)
	if err := a.usable(g); err != nil {
		return 0, err
	}
	return a.cached(float64(context)) * float64(batch) * bytesPerElement, nil
}

// cached returns the elements that one sequence holds.
func (a *Arch) cached(context float64) float64 {
	sum := 0.0
	for i := range a.Layers {
		t := &a.Layers[i].Attention
		c := context
		if t.Window > 0 {
			c = min(c, float64(t.Window))
		}
		sum += t.cacheElements() * c
	}
	return sum
}

// DistinctExperts returns the expected number of different experts of a layer
// that a batch of B tokens passes (F7): E (1 − (1 − k/E)^B), for uniform and
// independent routing. Real routing lies between k and min(B k, E): a band, not a
// value, where it matters.
func DistinctExperts(experts, topK, batch float64) (float64, error) {
	g := guarded("distinct experts")
	g.positive("experts", experts)
	g.positive("top_k", topK)
	g.positive("batch", batch)
	if topK > experts {
		g.refuse("", "top_k = %g is above the %g experts there are", topK, experts)
	}
	return g.of(distinct(experts, topK, batch))
}

func distinct(experts, k, batch float64) float64 {
	return -experts * math.Expm1(batch*math.Log1p(-k/experts)) // k = E: Log1p(-1) = -Inf, Expm1 = -1
}

// Routing says how many experts of a layer a batch is taken to read.
type Routing uint8

// Routings, from the least reads to the most.
const (
	Same     Routing = iota // every token the same k: the lower end
	Expected                // uniform and independent, see [DistinctExperts]
	Distinct                // min(B k, E): the upper end
)

func (r Routing) experts(e, k, batch float64) float64 {
	switch r {
	case Same:
		return k
	case Expected:
		return distinct(e, k, batch)
	}
	return min(batch*k, e)
}

// touched returns M*, the weights that a decode step of batch tokens reads: M
// with the distinct experts in place of the k of one token.
func (a *Arch) touched(r Routing, batch float64) float64 {
	m := a.counts().matmul
	for i := range a.Layers {
		if x := a.Layers[i].Mixture; x != nil {
			e, k := float64(x.Experts), float64(x.TopK)
			m += (r.experts(e, k, batch) - k) * x.Expert.weights(float64(a.Model))
		}
	}
	return m
}

// StepBytes is what one decode step moves, in bytes (F7).
type StepBytes struct {
	Weights    float64 // w M*, the embedding table excluded
	CacheRead  float64 // B c kv, windows counted
	CacheWrite float64 // B kv
	Embedding  float64 // B d w: the rows looked up
}

// StepBytes returns the bytes of a decode step of batch sequences at a context
// of that many tokens each, itself included (F7).
func (a *Arch) StepBytes(context, batch int64, f Format, r Routing) (StepBytes, error) {
	g := guarded("step bytes")
	a.attended(g, context)
	g.atLeast("batch", batch, 1)
	f.check(g)
	if err := a.usable(g); err != nil {
		return StepBytes{}, err
	}
	return a.stepBytes(float64(context), float64(batch), f, r), nil
}

func (a *Arch) stepBytes(context, batch float64, f Format, r Routing) StepBytes {
	return StepBytes{
		Weights:    f.Weight * a.touched(r, batch),
		CacheRead:  batch * a.cached(context) * f.Cache,
		CacheWrite: batch * a.cachePerToken() * f.Cache,
		Embedding:  batch * float64(a.Model) * f.Weight,
	}
}

// LinearIntensity returns the FLOP per byte of the matrix products of a decode
// step (F8): 2 B / w, of a dense model.
func LinearIntensity(batch, bytesPerWeight float64) (float64, error) {
	g := guarded("linear intensity")
	g.positive("batch", batch)
	g.positive("bytes per weight", bytesPerWeight)
	return g.of(2 * batch / bytesPerWeight)
}

// AttentionIntensity returns the FLOP per byte of decode attention (F8):
// 2 (h/g)/q, whatever the batch and the context, so no batch makes it
// compute-bound.
func AttentionIntensity(heads, kvHeads, bytesPerElement float64) (float64, error) {
	g := guarded("attention intensity")
	g.positive("heads", heads)
	g.positive("kv_heads", kvHeads)
	g.positive("bytes per cached element", bytesPerElement)
	return g.of(heads / kvHeads * 2 / bytesPerElement)
}

// Ridge returns peak / bandwidth, the FLOP per byte where a device turns from
// memory-bound to compute-bound (F8; Williams et al. 2009). peak is the dense figure.
func Ridge(peak, bandwidth float64) (float64, error) {
	g := guarded("ridge")
	g.positive("peak FLOP/s", peak)
	g.positive("bandwidth", bandwidth)
	return g.of(peak / bandwidth)
}
