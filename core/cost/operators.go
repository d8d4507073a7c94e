package cost

import "math"

// Operator is one kind of operation of a decode step, over all layers together.
type Operator struct {
	Name        string  // qkv, attention, output, ffn, experts, router or head
	FLOP        float64 // of the batch
	Weights     float64 // bytes of weights read
	Cache       float64 // bytes of cache read and written
	Compute     float64 // seconds of its arithmetic
	Memory      float64 // seconds of its bytes
	Seconds     float64 // the greater of the two in each layer, added up
	Intensity   float64 // FLOP per byte
	MemoryBound bool
}

// operatorNames in the order of a step.
var operatorNames = []string{"qkv", "attention", "output", "ffn", "router", "experts", "head"}

// Operators returns a decode step by operator (F9, per operator): each takes the
// greater of its arithmetic and its bytes, one after the other, so their sum is
// never below [Split] with the same efficiencies and no offset. Those that an
// architecture does not have are left out. The reads of embedding rows are not in it.
// Relative positions count with qkv.
func (a *Arch) Operators(context, batch int64, s Serving) ([]Operator, error) {
	g := guarded("operators")
	a.attended(g, context)
	g.atLeast("batch", batch, 1)
	s.Format.check(g)
	s.Device.check(g)
	s.Efficiency.check(g)
	if err := a.usable(g); err != nil {
		return nil, err
	}
	b, d := float64(batch), float64(a.Model)
	by := map[string]*Operator{}
	flops, bytes := s.Device.Chips*s.Device.Peak*s.Efficiency.Compute, s.Device.Chips*s.Device.Bandwidth
	add := func(name string, flop, weights, cache float64) {
		o := by[name]
		if o == nil {
			o = &Operator{Name: name}
			by[name] = o
		}
		compute, memory := flop/flops, weights/(bytes*s.Efficiency.Weights)+cache/(bytes*s.Efficiency.Cache)
		o.FLOP += flop
		o.Weights += weights
		o.Cache += cache
		o.Compute += compute
		o.Memory += memory
		o.Seconds += max(compute, memory)
	}
	linear := func(name string, w float64) { add(name, 2*w*b, w*s.Format.Weight, 0) }
	for i := range a.Layers {
		l := &a.Layers[i]
		t := &l.Attention
		out := t.outputWeights(d)
		linear("qkv", t.weights(d)-out)
		c := float64(context)
		if t.Window > 0 {
			c = min(c, float64(t.Window))
		}
		add("attention", b*t.perPosition(Convention{Absorbed: true})*c, 0, b*(c+1)*t.cacheElements()*s.Format.Cache)
		linear("output", out)
		if l.Mixture == nil {
			linear("ffn", l.FFN.weights(d))
			continue
		}
		m := l.Mixture
		linear("router", d*float64(m.Experts))
		one, k, e := m.Expert.weights(d), float64(m.TopK), float64(m.Experts)
		add("experts", 2*b*one*(k+float64(m.Shared)), (s.Routing.experts(e, k, b)+float64(m.Shared))*one*s.Format.Weight, 0)
	}
	linear("head", d*float64(a.Vocab))
	var list []Operator
	for _, name := range operatorNames {
		o := by[name]
		if o == nil {
			continue
		}
		o.Intensity = o.FLOP / (o.Weights + o.Cache)
		o.MemoryBound = o.Memory >= o.Compute
		if math.IsInf(o.Seconds, 0) || math.IsNaN(o.Seconds) {
			g.refuse("check the units of the arguments", "the time of %s is not finite", name)
			return nil, g.err
		}
		list = append(list, *o)
	}
	return list, nil
}

// outputWeights returns the weights of the output projection.
func (t *Attention) outputWeights(d float64) float64 {
	if t.Latent != nil {
		return float64(t.Heads) * float64(t.Latent.Value) * d
	}
	return float64(t.Heads) * float64(t.Width) * d
}
