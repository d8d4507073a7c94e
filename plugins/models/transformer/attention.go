package transformer

import "lab/plugins/models/internal/kernel"

// attend is the attention of one layer; see the part of that name. A row's
// positions, all up to its own or those of a window, are walked page by page in
// ascending order, so that every sum runs the same way however the row got here.
func (p *pass) attend() {
	h := p.h
	kv, size := h.kvHeads*h.headSize, h.headSize
	positions := int64(0)
	for i, r := range p.rows {
		r.seq.store(p.layer, r.position, p.key[i*kv:][:kv], p.value[i*kv:][:kv])
		positions += int64(r.position-h.first(p.layer, r.position)) + 1
	}
	p.pool.run(len(p.rows)*h.kvHeads, 2*positions*int64(h.heads)*int64(size), func(worker, item int) {
		i, head := item/h.kvHeads, item%h.kvHeads
		r := p.rows[i]
		first := (i*h.heads + head*h.group()) * size
		p.mix(&p.workers[worker], r, head, p.q[first:][:h.group()*size], p.mixed[first:][:h.group()*size])
	})
}

// mix writes the attention of one row's queries that share a key head.
func (p *pass) mix(worker *scratch, r row, head int, q, mixed []float32) {
	scores, kv := worker.scores, worker.lines
	size, group := p.h.headSize, p.h.group()
	from := p.h.first(p.layer, r.position)
	n := r.position + 1 - from
	for at := 0; at < n; {
		length := min(n-at, pageTokens-(from+at)%pageTokens)
		keys, stride := r.seq.lines(p.k, kv, p.layer, head, 0, from+at, length)
		p.k.Dots(scores[at:], n, keys, stride, length, q, size, group, size)
		at += length
	}
	for g := range group {
		s, out := scores[g*n:][:n], mixed[g*size:][:size]
		factor := p.h.queryScale
		if p.h.attentionCap > 0 {
			kernel.Cap(s, factor, p.h.attentionCap)
			factor = 1
		}
		sum := p.k.Softmax(s, factor)
		clear(out)
		for at := 0; at < n; {
			length := min(n-at, pageTokens-(from+at)%pageTokens)
			values, stride := r.seq.lines(p.k, kv, p.layer, head, 1, from+at, length)
			p.k.AddWeighted(out, values, stride, s[at:at+length])
			at += length
		}
		inverse := 1 / sum
		for i := range out {
			out[i] *= inverse
		}
	}
}
