package cost

// Device is what times are computed for: n equal chips.
type Device struct {
	Peak      float64 // P, dense FLOP/s of one chip at the arithmetic type; a datasheet's sparse figure is twice this
	Bandwidth float64 // W, bytes/s of one chip's memory
	Chips     float64 // n
	// PeakLimit is the dense figure that a table gives, when one is known: a
	// Peak above it is refused as the sparse headline. 0 when not known.
	PeakLimit float64
}

func (d Device) check(g *guard) {
	g.positive("peak FLOP/s", d.Peak)
	g.positive("bandwidth", d.Bandwidth)
	g.positive("chips", d.Chips)
	if d.PeakLimit > 0 && d.Peak > d.PeakLimit {
		g.refuse("use the dense figure; headlines count 2:4 sparsity and are twice it",
			"peak = %g FLOP/s is above the dense %g of the table", d.Peak, d.PeakLimit)
	}
}

// Efficiency is the share of a peak that is reached, each in (0, 1].
type Efficiency struct {
	Compute float64 // of P, in matrix products
	Weights float64 // of W, reading weights
	Cache   float64 // of W, reading the cache
}

// Floor is the efficiency of a lower bound: everything at its peak.
func Floor() Efficiency { return Efficiency{1, 1, 1} }

// IsFloor reports whether a time under it is a lower bound.
func (e Efficiency) IsFloor() bool { return e == Floor() }

// Kind is the kind of a quantity computed with it: a bound, or fitted.
func (e Efficiency) Kind() Kind {
	if e.IsFloor() {
		return Bound
	}
	return Fitted
}

func (e Efficiency) check(g *guard) {
	g.share("efficiency of compute", e.Compute)
	g.share("efficiency of weight reads", e.Weights)
	g.share("efficiency of cache reads", e.Cache)
}

// Model is how the parts of a step combine (F9).
type Model uint8

// Models of a step's time.
const (
	// Split adds the time of the cache to the greater of arithmetic and weight
	// reads: attention cannot hide behind matrix products. The form of "How to
	// Scale Your Model" (Austin et al. 2025).
	Split Model = iota
	// Overlap is the roofline of the totals, max(arithmetic, all bytes): at most
	// 2 times below Split.
	Overlap
)

// String returns the word for a figure's footer.
func (m Model) String() string {
	if m == Overlap {
		return "overlap"
	}
	return "split"
}

// Work is what one step does, on all chips together.
type Work struct {
	Linear  float64 // FLOP of matrix products with weights
	Weights float64 // bytes of weights read
	Cache   float64 // bytes of cache read and written
	// Attention is the FLOP of scores and values. Split leaves it out, as decode
	// attention is memory-bound on every device (F8); Overlap counts it.
	Attention float64
}

// StepTime is the parts of a step's time, in seconds (F9).
type StepTime struct {
	Cache   float64 // reading and writing the cache
	Weights float64 // reading the weights
	Compute float64 // arithmetic
	Offset  float64 // t0: launches and communication
	Total   float64
	Model   Model
	Floor   bool // a lower bound: efficiencies of 1
}

// StepTimeOf returns the time of a step (F9). Split: cache/(n W η_k) +
// max(linear/(n P η_c), weights/(n W η_w)) + t0; Overlap: max((linear +
// attention)/(n P η_c), weights/(n W η_w) + cache/(n W η_k)) + t0. offset is t0 in
// seconds (F10), at least 0. Without fitted efficiencies it is a floor; within about
// a factor 2 on one device after a fit. It does not hold for many chips at small
// batch without a fitted offset.
func StepTimeOf(w Work, d Device, e Efficiency, m Model, offset float64) (StepTime, error) {
	g := guarded("step time")
	g.nonNegative("linear FLOP", w.Linear)
	g.nonNegative("attention FLOP", w.Attention)
	g.nonNegative("weight bytes", w.Weights)
	g.nonNegative("cache bytes", w.Cache)
	g.nonNegative("offset", offset)
	d.check(g)
	e.check(g)
	if m > Overlap {
		g.refuse("use Split or Overlap", "model %d is not known", m)
	}
	if g.err != nil {
		return StepTime{}, g.err
	}
	bytes, flop := d.Chips*d.Bandwidth, d.Chips*d.Peak
	t := StepTime{Cache: w.Cache / (bytes * e.Cache), Weights: w.Weights / (bytes * e.Weights),
		Compute: w.Linear / (flop * e.Compute), Offset: offset, Model: m, Floor: e.IsFloor()}
	if m == Split {
		t.Total = t.Cache + max(t.Compute, t.Weights) + offset
		return t, nil
	}
	t.Compute = (w.Linear + w.Attention) / (flop * e.Compute)
	t.Total = max(t.Compute, t.Weights+t.Cache) + offset
	return t, nil
}

// Serving is how a model is served: everything a step's time depends on but the
// context and the batch.
type Serving struct {
	Format     Format
	Device     Device
	Efficiency Efficiency
	Model      Model
	Offset     float64 // t0, seconds
	Routing    Routing // of mixtures; [Expected] is the middle, not the zero value
}

// Step returns the time of one decode step of batch sequences at a context of
// that many tokens each (F7 and F9).
func (a *Arch) Step(context, batch int64, s Serving) (StepTime, error) {
	w, err := a.StepWork(context, batch, s.Format, s.Routing)
	if err != nil {
		return StepTime{}, err
	}
	return StepTimeOf(w, s.Device, s.Efficiency, s.Model, s.Offset)
}

// StepWork returns what that step does. The rows of the embedding are counted with
// the cache, as writes are.
func (a *Arch) StepWork(context, batch int64, f Format, r Routing) (Work, error) {
	b, err := a.StepBytes(context, batch, f, r)
	if err != nil {
		return Work{}, err
	}
	n := float64(batch)
	return Work{
		Linear:    2 * n * a.counts().matmul,
		Attention: n * a.attention(float64(context)-1, 1, Convention{Absorbed: true}),
		Weights:   b.Weights,
		Cache:     b.CacheRead + b.CacheWrite + b.Embedding,
	}, nil
}

// StepsWork returns what n decode steps after a context of start tokens do
// together: the sum of [Arch.StepWork] at start+1 to start+n, in closed form.
func (a *Arch) StepsWork(start, n, batch int64, f Format, r Routing) (Work, error) {
	g := guarded("step bytes")
	g.atLeast("start", start, 0)
	g.atLeast("steps", n, 0)
	g.atLeast("batch", batch, 1)
	if n > 0 {
		a.attended(g, start+n)
	}
	f.check(g)
	if err := a.usable(g); err != nil {
		return Work{}, err
	}
	steps, b := float64(n), float64(batch)
	w := Work{
		Linear:    steps * 2 * b * a.counts().matmul,
		Attention: b * a.attention(float64(start), steps, Convention{Absorbed: true}),
		Weights:   steps * f.Weight * a.touched(r, b),
		Cache:     steps * b * (a.cachePerToken()*f.Cache + float64(a.Model)*f.Weight),
	}
	for i := range a.Layers {
		t := &a.Layers[i].Attention
		w.Cache += b * t.cacheElements() * f.Cache * t.attend(float64(start), steps)
	}
	return w, nil
}

// Stream returns the seconds to read bytes once from the memory of all chips
// (F9): bytes/(n W).
func Stream(bytes, bandwidth, chips float64) (float64, error) {
	g := guarded("stream time")
	g.positive("bytes", bytes)
	g.positive("bandwidth", bandwidth)
	g.positive("chips", chips)
	return g.of(bytes / (bandwidth * chips))
}

// LaunchTime returns the part of t0 that launches take without graphs (F10):
// seconds each × matrix products in a layer × layers. An order of magnitude:
// fit the offset rather than use this.
func LaunchTime(each, perLayer, layers float64) (float64, error) {
	g := guarded("launch time")
	g.positive("seconds of a launch", each)
	g.positive("launches in a layer", perLayer)
	g.positive("layers", layers)
	return g.of(each * perLayer * layers)
}

// Collectives is the communication of tensor parallelism.
type Collectives struct {
	PerLayer float64 // collectives in a layer, 2 to 4
	Layers   float64
	Latency  float64 // seconds of one, whatever its size
	Link     float64 // bytes/s of a chip's link
	Chips    float64
	Batch    float64
	Model    float64 // d
	Bytes    float64 // a, of an activation
}

// Time returns the seconds of communication in a step (F10): each collective is
// latency + 2 (n−1)/n B d a / link, a ring all-reduce. One chip takes none.
func (c Collectives) Time() (float64, error) {
	g := guarded("communication time")
	g.positive("collectives in a layer", c.PerLayer)
	g.positive("layers", c.Layers)
	g.nonNegative("latency", c.Latency)
	g.positive("link bandwidth", c.Link)
	g.positive("chips", c.Chips)
	g.positive("batch", c.Batch)
	g.positive("d_model", c.Model)
	g.positive("bytes per activation", c.Bytes)
	if c.Chips < 1 {
		g.refuse("", "chips = %g is below 1", c.Chips)
	}
	if c.Chips == 1 {
		return g.of(0)
	}
	return g.of(c.PerLayer * c.Layers * (c.Latency + 2*(c.Chips-1)/c.Chips*c.Batch*c.Model*c.Bytes/c.Link))
}

// MFU returns model FLOP utilisation (F14): flop/(seconds n P), with the
// operations the model needs, recomputation not counted (Chowdhery et al. 2022).
// Above 1 is an error: the peak or the time is wrong.
func MFU(flop, seconds float64, d Device) (float64, error) {
	g := guarded("MFU")
	g.positive("FLOP", flop)
	g.positive("seconds", seconds)
	d.Bandwidth = 1 // not used here
	d.check(g)
	return utilisation(g, flop/(seconds*d.Chips*d.Peak), "peak")
}

// MBU returns memory bandwidth utilisation (F14): (weights + cache)/(seconds n W).
// It, not MFU, is what says how good decoding is.
func MBU(bytes, seconds float64, d Device) (float64, error) {
	g := guarded("MBU")
	g.positive("bytes", bytes)
	g.positive("seconds", seconds)
	d.Peak, d.PeakLimit = 1, 0 // not used here
	d.check(g)
	return utilisation(g, bytes/(seconds*d.Chips*d.Bandwidth), "bandwidth")
}

func utilisation(g *guard, u float64, of string) (float64, error) {
	if u > 1 {
		g.refuse("check the seconds, the chips and the "+of, "utilisation %.4g is above 1", u)
	}
	return g.of(u)
}

// TimeFromMFU returns the seconds that flop take on the device at that
// utilisation: flop/(n P u).
func TimeFromMFU(flop, utilisation float64, d Device) (float64, error) {
	g := guarded("time from MFU")
	g.positive("FLOP", flop)
	g.share("MFU", utilisation)
	d.Bandwidth = 1 // not used here
	d.check(g)
	return g.of(flop / (d.Chips * d.Peak * utilisation))
}
