package transformer

import (
	"math"

	"lab/plugins/models/internal/kernel"
)

// rope holds the cosines and sines of the positions met so far.
type rope struct {
	frequency []float64 // angle per position, by pair
	// By position, then twice by pair; the first sine of each is negative, as
	// kernel's Rotate wants them.
	cos, sin []float32
}

// newRope computes the frequencies base^(-2i/size)/scale, divided by factors
// when there are any. The arithmetic is the kernel package's, so that every
// machine has the same tables.
func newRope(h *hyper, factors []float32) *rope {
	r := &rope{frequency: make([]float64, h.ropeSize/2)}
	log := kernel.Log(h.ropeBase)
	for i := range r.frequency {
		f := kernel.Exp(-log*float64(2*i)/float64(h.ropeSize)) / h.ropeScale
		if factors != nil {
			f /= float64(factors[i])
		}
		r.frequency[i] = f
	}
	return r
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
	for position := len(r.cos) / (2 * len(r.frequency)); position < n; position++ {
		for _, f := range r.frequency {
			s, c := kernel.SinCos(float64(position) * f)
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

// attend is the attention of one layer; see the part of that name. A row's
// positions are walked page by page in ascending order, so that every sum runs
// the same way however the row got here.
func (p *pass) attend() {
	h := p.h
	kv, size := h.kvHeads*h.headSize, h.headSize
	positions := int64(0)
	for i, r := range p.rows {
		r.seq.store(p.layer, r.position, p.key[i*kv:][:kv], p.value[i*kv:][:kv])
		positions += int64(r.position) + 1
	}
	scale := float32(1 / math.Sqrt(float64(size)))
	p.pool.run(len(p.rows)*h.kvHeads, 2*positions*int64(h.heads)*int64(size), func(worker, item int) {
		i, head := item/h.kvHeads, item%h.kvHeads
		r := p.rows[i]
		first := (i*h.heads + head*h.group()) * size
		p.mix(p.workers[worker].scores, r, head, scale, p.q[first:][:h.group()*size], p.mixed[first:][:h.group()*size])
	})
}

// mix writes the attention of one row's queries that share a key head.
func (p *pass) mix(scores []float32, r row, head int, scale float32, q, mixed []float32) {
	n, size, group := r.position+1, p.h.headSize, p.h.group()
	for first := 0; first < n; first += pageTokens {
		keys := r.seq.keys(p.layer, head, first)
		p.k.Dots(scores[first:], n, keys, size, min(pageTokens, n-first), q, size, group, size)
	}
	for g := range group {
		s, out := scores[g*n:][:n], mixed[g*size:][:size]
		sum := p.k.Softmax(s, scale)
		clear(out)
		for first := 0; first < n; first += pageTokens {
			p.k.AddWeighted(out, r.seq.values(p.layer, head, first), size, s[first:min(first+pageTokens, n)])
		}
		inverse := 1 / sum
		for i := range out {
			out[i] *= inverse
		}
	}
}
