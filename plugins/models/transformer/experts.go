package transformer

import "lab/plugins/models/internal/kernel"

// experts are the sizes of feed-forward layers of which every row picks a few
// (Shazeer et al. 2017, "Outrageously Large Neural Networks"). A count of 0 is an
// ordinary layer.
type experts struct {
	count  int // in every layer
	used   int // by a row
	ffn    int // width inside one
	shared int // width inside the one that every row uses; 0: there is none
	// renormalise makes the weights of the picked experts sum to one.
	renormalise bool
}

// readExperts reads the sizes. ffn is the width where the file does not name it;
// a negative one is that of the feed-forward layer, divided among the picked
// experts.
func readExperts(m *meta, ffn int, renormalise bool) experts {
	e := experts{count: m.whole("expert_count", 1, maxExperts, -1), renormalise: renormalise}
	e.used = m.whole("expert_used_count", 1, e.count, -1)
	if ffn < 0 {
		ffn = max(m.whole("feed_forward_length", 1, maxWidth, -1)/max(e.used, 1), 1)
	}
	e.ffn = m.whole("expert_feed_forward_length", 1, maxWidth, ffn)
	return e
}

// routing is which rows of a pass go to which experts.
type routing struct {
	weights []float32 // by row, then expert
	picked  []bool
	index   []int     // rows of the current expert
	rows    []row     // these rows
	x       []float32 // their input
}

// expertsOr is expertFFN in models that have experts, and dense in others.
func expertsOr(dense part, act activation) part {
	mixed := expertFFN(act)
	return part{pick: func(h *hyper, _ func(string) bool) part {
		if h.experts.count > 0 {
			return mixed
		}
		return dense
	}}
}

// expertGate is the matrix that picks experts; a layer without it has none.
const expertGate = "ffn_gate_inp.weight"

// expertFFN adds to the stream what the picked experts, gated layers each, make
// of normed, times their weights: the softmax of a matrix times the row. A row
// picks the experts of the largest weights, the lower one where two are equal,
// and adds them in ascending order, so that its sums do not depend on the rows
// beside it. (llama.cpp adds them in the order of their weights, transformers as
// we do.)
func expertFFN(act activation) part {
	return part{
		name: "feed the experts",
		needs: func(h *hyper) []need {
			e := h.experts
			out := []need{{name: expertGate, dims: []int{h.width, e.count}}}
			for i := range e.count {
				for _, n := range []need{
					{name: "ffn_gate_exps.weight", dims: []int{h.width, e.ffn, e.count}, take: e.ffn},
					{name: "ffn_up_exps.weight", dims: []int{h.width, e.ffn, e.count}, take: e.ffn},
					{name: "ffn_down_exps.weight", dims: []int{e.ffn, h.width, e.count}, take: h.width},
				} {
					n.first, n.spare = i*n.take, i >= e.used
					out = append(out, n)
				}
			}
			return out
		},
		run: func(p *pass, w []*tensor) {
			p.route(w[0])
			for e := range p.h.experts.count {
				p.feed(e, act, w[1+3*e:][:3])
			}
		},
	}
}

// route lets every row pick its experts.
func (p *pass) route(gate *tensor) {
	r, e := &p.routing, p.h.experts
	r.weights = grow(r.weights, len(p.rows)*e.count)
	p.multiply(p.normed, product{w: gate, dst: r.weights})
	if cap(r.picked) < len(r.weights) {
		r.picked = make([]bool, len(r.weights))
	}
	r.picked = r.picked[:len(r.weights)]
	clear(r.picked)
	for i := range p.rows {
		weights, picked := r.weights[i*e.count:][:e.count], r.picked[i*e.count:][:e.count]
		sum := p.k.Softmax(weights, 1)
		for range e.used {
			best := -1
			for j, w := range weights {
				if !picked[j] && (best < 0 || w > weights[best]) {
					best = j
				}
			}
			picked[best] = true
		}
		if e.renormalise {
			sum = 0
			for j, w := range weights {
				if picked[j] {
					sum += w
				}
			}
		}
		for j := range weights {
			weights[j] /= sum
		}
	}
}

// feed takes the rows that have picked an expert through it.
func (p *pass) feed(expert int, act activation, w []*tensor) {
	r, count, width := &p.routing, p.h.experts.count, p.h.width
	r.index, r.rows = r.index[:0], r.rows[:0]
	for i := range p.rows {
		if r.picked[i*count+expert] {
			r.index, r.rows = append(r.index, i), append(r.rows, p.rows[i])
		}
	}
	if len(r.rows) == 0 {
		for _, t := range w {
			p.unread += t.bytes()
		}
		return
	}
	r.x = grow(r.x, len(r.rows)*width)
	for to, from := range r.index {
		copy(r.x[to*width:][:width], p.normed[from*width:][:width])
	}
	all := p.rows
	p.rows = r.rows
	p.gated(act, r.x, w, func(row, first int, y []float32) {
		i := r.index[row]
		kernel.Scale(y, r.weights[i*count+expert])
		p.addToStream(i, first, y)
	})
	p.rows = all
	clear(r.rows) // keeps no hold of the caller's memory
}

// sharedExpert adds to the stream what an expert that all rows use makes of
// normed, times the logistic function of a vector times the row (Qwen 2 with
// experts).
func sharedExpert(act activation) part {
	return part{
		name: "feed the shared expert",
		needs: func(h *hyper) []need {
			ffn := h.experts.shared
			return []need{
				{name: "ffn_gate_shexp.weight", dims: []int{h.width, ffn}},
				{name: "ffn_up_shexp.weight", dims: []int{h.width, ffn}},
				{name: "ffn_down_shexp.weight", dims: []int{ffn, h.width}},
				{name: "ffn_gate_inp_shexp.weight", dims: []int{h.width}, vector: true},
			}
		},
		run: func(p *pass, w []*tensor) {
			p.routing.weights = grow(p.routing.weights, len(p.rows))
			weights := p.routing.weights
			p.multiply(p.normed, product{w: w[3], dst: weights})
			for i, x := range weights {
				// At an exponent of 700 the result is long 0 or 1.
				weights[i] = float32(1 / (1 + kernel.Exp(max(min(float64(-x), 700), -700))))
			}
			p.gated(act, p.normed, w[:3], func(row, first int, y []float32) {
				kernel.Scale(y, weights[row])
				p.addToStream(row, first, y)
			})
		},
	}
}
