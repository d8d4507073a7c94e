package transformer

import "lab/plugins/models/internal/kernel"

// normHeads gives every query and key head an RMS norm of its own; all heads
// share a gain (Dehghani et al. 2023; Gemma 3, Qwen 3).
func normHeads(q, k string) part {
	return part{
		name: "normalise the heads",
		needs: func(h *hyper) []need {
			return []need{{name: q, dims: []int{h.headSize}}, {name: k, dims: []int{h.headSize}}}
		},
		run: func(p *pass, w []*tensor) { p.normQK(w, p.h.headSize, p.h.headSize, p.k.RMSNorm) },
	}
}

// centreHeads gives every query and key head a norm about its mean, with a gain
// of its own and no bias (Stable LM 2 12B).
func centreHeads(q, k string) part {
	return part{
		name: "normalise the heads",
		needs: func(h *hyper) []need {
			return []need{
				{name: q, dims: []int{h.headSize, h.heads}, spare: true}, {name: k, dims: []int{h.headSize, h.kvHeads}, spare: true},
			}
		},
		run: func(p *pass, w []*tensor) {
			p.normQK(w, p.h.headSize, p.h.headSize, func(x, gain []float32, epsilon float32) { kernel.LayerNorm(x, gain, nil, epsilon) })
		},
	}
}

// normQueries gives the queries of all heads together one RMS norm, and the
// keys another (OLMo 2).
func normQueries(q, k string) part {
	return part{
		name: "normalise queries and keys",
		needs: func(h *hyper) []need {
			return []need{{name: q, dims: []int{h.heads * h.headSize}}, {name: k, dims: []int{h.kvHeads * h.headSize}}}
		},
		run: func(p *pass, w []*tensor) {
			p.normQK(w, p.h.heads*p.h.headSize, p.h.kvHeads*p.h.headSize, p.k.RMSNorm)
		},
	}
}

// normQK normalises stretches of so many elements of every query and key. The
// gains are those of a stretch, or of all of a row's stretches one after the other.
func (p *pass) normQK(w []*tensor, q, k int, norm func(x, gain []float32, epsilon float32)) {
	lines := []struct {
		x         []float32
		line, run int
		gain      []float32
	}{
		{p.q, p.h.heads * p.h.headSize, q, p.vector(0, w[0])},
		{p.key, p.h.kvHeads * p.h.headSize, k, p.vector(1, w[1])},
	}
	p.each(len(p.rows), lines[0].line+lines[1].line, func(_, i int) {
		for _, l := range lines {
			for at := 0; at < l.line; at += l.run {
				norm(l.x[i*l.line+at:][:l.run], l.gain[at%len(l.gain):][:l.run], p.h.epsilon)
			}
		}
	})
}
