package transformer

import (
	"math"

	"lab/core/fault"
	"lab/plugins/models/internal/kernel"
)

// rotation says how the heads of a layer are turned with their position (Su et
// al. 2021, "RoFormer").
type rotation struct {
	size  int     // leading elements of a head that are rotated; even, 0 for none
	base  float64 // of the angles' geometric series
	scale float64 // positions are divided by it
	gain  float64 // what is rotated is multiplied by it
	// yarn divides positions by scale only for slow frequencies, those that
	// turn less than once in origin positions; fast ones, more than 32 turns,
	// stay as they are, and those between are mixed.
	yarn   bool
	origin int
	// factors says that the frequencies must have divisors of their own.
	factors bool
}

// readRotation reads the rotary position embedding.
func readRotation(m *meta, h *hyper) rotation {
	r := rotation{
		size: m.whole("rope.dimension_count", 2, maxWidth, h.headSize),
		base: m.real("rope.freq_base", math.MaxFloat32, 10000),
		// Scaling is linear unless the file says otherwise; scale_linear is the
		// factor's old name.
		scale: m.real("rope.scaling.factor", 1<<20, m.real("rope.scale_linear", 1<<20, 1)),
	}
	if r.size > h.headSize || r.size%2 != 0 {
		m.wrong(m.prefix+"rope.dimension_count", "is %d; it must be even and at most the head size %d", r.size, h.headSize)
	}
	if r.base <= 1 {
		m.wrong(m.prefix+"rope.freq_base", "is %g; it must be above 1", r.base)
	}
	r.origin = m.whole("rope.scaling.original_context_length", 1, maxContext, h.context)
	r.gain = m.real("rope.scaling.attn_factor", 1<<10, 1)
	m.about("rope.scaling.finetuned")
	kind, found, err := m.file.Text(m.prefix + "rope.scaling.type")
	m.about("rope.scaling.type")
	switch {
	case err != nil:
		m.fail(err)
	case found && kind == "none":
		r.scale = 1
	case found && kind == "yarn":
		r.yarn = true
		r.gain *= yarnGain(r.scale)
	case found && kind == "longrope":
		r.factors = true
	case found && kind != "linear":
		m.fail(fault.New(fault.Model, "open model", m.name, "metadata %q is %s", m.prefix+"rope.scaling.type", fault.Quote(kind, 40)).
			Fix("known: linear, longrope, none, yarn"))
	}
	return r
}

// rope holds the cosines and sines of the positions met so far.
type rope struct {
	frequency []float64 // angle per position, by pair
	gain      float64
	// By position, then twice by pair; the first sine of each is negative, as
	// kernel's Rotate wants them.
	cos, sin []float32
}

// newRope computes the frequencies base^(-2i/size)/scale, divided by factors
// when there are any. The arithmetic is the kernel package's, so that every
// machine has the same tables.
func newRope(spec rotation, factors []float32) *rope {
	r := &rope{frequency: make([]float64, spec.size/2), gain: spec.gain}
	if spec.size == 0 {
		return r // nothing is rotated
	}
	log := kernel.Log(spec.base)
	low, high := spec.mixed()
	for i := range r.frequency {
		f := kernel.Exp(-log * float64(2*i) / float64(spec.size))
		slow := 1.0
		if spec.yarn {
			slow = min(max((float64(i)-low)/(high-low), 0), 1)
		}
		f = float64(f/spec.scale*slow) + float64(f*(1-slow))
		if factors != nil {
			f /= float64(factors[i])
		}
		r.frequency[i] = f
	}
	return r
}

// mixed returns the pairs of YaRN between which frequencies are mixed: those
// that turn 32 times and once within the original context, rounded outwards.
func (r rotation) mixed() (low, high float64) {
	if !r.yarn {
		return 0, 1
	}
	pair := func(turns float64) float64 {
		return float64(r.size) * kernel.Log(float64(r.origin)/(turns*2*math.Pi)) / (2 * kernel.Log(r.base))
	}
	low, high = max(math.Floor(pair(32)), 0), min(math.Ceil(pair(1)), float64(r.size-1))
	return low, max(high, low+0.001) // an empty range is a step
}

// fits reports whether all angles of a context stay in the range that
// kernel.SinCos is made for.
func (r *rope) fits(context int) bool {
	for _, f := range r.frequency {
		if !(f*float64(context) <= 1<<24) {
			return false
		}
	}
	return true
}

// extend computes the tables for positions 0 to n-1.
func (r *rope) extend(n int) {
	if len(r.frequency) == 0 {
		return
	}
	for position := len(r.cos) / (2 * len(r.frequency)); position < n; position++ {
		for _, f := range r.frequency {
			s, c := kernel.SinCos(float64(position) * f)
			s, c = s*r.gain, c*r.gain
			r.cos = append(r.cos, float32(c), float32(c))
			r.sin = append(r.sin, -float32(s), float32(s))
		}
	}
}

// at returns cosines and sines of a position within what extend has computed.
func (r *rope) at(position int) (cos, sin []float32) {
	n := 2 * len(r.frequency)
	return r.cos[position*n:][:n], r.sin[position*n:][:n]
}
