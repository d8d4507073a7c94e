package transformer

import "lab/plugins/models/internal/kernel"

// span is some rows of a pass that follow each other in one sequence: their queries
// meet mostly the same keys and values, which are read once for all of them.
type span struct{ first, n int }

// spanQueries is about how many queries of one key head a span has: what the
// products of keys and queries have registers for, a few times over.
const spanQueries = 16

// spanRows is the most rows of a span.
func (h *hyper) spanRows() int { return max(1, min(spanQueries/h.group(), spanQueries/2)) }

// split makes spans of the rows.
func (p *pass) split() {
	p.spans = p.spans[:0]
	most := p.h.spanRows()
	for i, r := range p.rows {
		if n := len(p.spans); n > 0 {
			if s, last := &p.spans[n-1], p.rows[max(0, i-1)]; s.n < most && last.seq == r.seq && last.position+1 == r.position {
				s.n++
				continue
			}
		}
		p.spans = append(p.spans, span{i, 1})
	}
}

// attend is the attention of one layer; see the part of that name. A row's
// positions, all up to its own or those of a window, are walked page by page in
// ascending order, so that every sum runs the same way however the row got here.
func (p *pass) attend() {
	h := p.h
	kv := h.kvHeads * h.headSize
	positions := int64(0)
	for _, r := range p.rows {
		positions += int64(r.position-h.first(p.layer, r.position)) + 1
	}
	p.each(len(p.rows), 2*kv, func(_, i int) {
		p.rows[i].seq.store(p.layer, p.rows[i].position, p.key[i*kv:][:kv], p.value[i*kv:][:kv])
	})
	p.pool.run(len(p.spans)*h.kvHeads, 2*positions*int64(h.heads)*int64(h.headSize), func(worker, item int) {
		p.mix(&p.workers[worker], p.spans[item/h.kvHeads], item%h.kvHeads)
	})
}

// mix writes the attention of a span's queries that share a key head. All of them
// meet the keys of every row's positions; of that, what a row has no part in stays
// unread: the positions after its own and those before its window.
func (p *pass) mix(worker *scratch, s span, head int) {
	m := mixing{p: p, worker: worker, seq: p.rows[s.first].seq, head: head, rows: p.rows[s.first:][:s.n]}
	size, group := p.h.headSize, p.h.group()
	m.from = p.h.first(p.layer, m.rows[0].position)
	m.n = m.rows[s.n-1].position + 1 - m.from
	width := group * size // of a row's queries that share the head
	at := func(row int) int { return ((s.first+row)*p.h.kvHeads + head) * width }
	for i := range m.rows {
		copy(worker.queries[i*width:][:width], p.q[at(i):])
	}
	m.products()
	for i := range m.rows {
		low, high := m.reach(i)
		for j := i * group; j < (i+1)*group; j++ {
			scores, factor := worker.scores[j*m.n:][low:high], p.h.queryScale
			if p.h.attentionCap > 0 {
				kernel.Cap(scores, factor, p.h.attentionCap)
				factor = 1
			}
			worker.sums[j] = p.k.Softmax(scores, factor)
		}
	}
	m.values()
	for i := range m.rows {
		for g := range group {
			out, inverse := p.mixed[at(i)+g*size:][:size], 1/worker.sums[i*group+g]
			for l, v := range worker.mixed[i*width+g*size:][:size] {
				out[l] = v * inverse
			}
		}
	}
}

// mixing is a span's attention under one key head over n positions from from on.
// Scores of its worker are a line of n for every query, queries of one row after
// those of another.
type mixing struct {
	p       *pass
	worker  *scratch
	seq     *draft
	head    int
	rows    []row
	from, n int
}

// reach is which of the positions a row has part in.
func (m *mixing) reach(row int) (low, high int) {
	position := m.rows[row].position
	return m.p.h.first(m.p.layer, position) - m.from, position + 1 - m.from
}

// products multiplies all queries with all keys.
func (m *mixing) products() {
	p, size := m.p, m.p.h.headSize
	queries := len(m.rows) * p.h.group()
	for at := 0; at < m.n; {
		length := m.toPageEnd(at, m.n)
		keys, stride := m.seq.lines(p.k, m.worker.lines, p.layer, m.head, 0, m.from+at, length)
		p.k.Dots(m.worker.scores[at:], m.n, keys, stride, length, m.worker.queries, size, queries, size)
		at += length
	}
}

// values sums the values of every row's positions: first those that not all rows
// have part in, then those of all, then again the others, so that each sum runs in
// ascending order.
func (m *mixing) values() {
	clear(m.worker.mixed[:len(m.rows)*m.p.h.group()*m.p.h.headSize])
	low, _ := m.reach(len(m.rows) - 1)
	_, high := m.reach(0)
	high = max(low, high)
	for i := range m.rows {
		own, end := m.reach(i)
		m.add(i, 1, own, min(low, end))
	}
	m.add(0, len(m.rows), low, high)
	for i := range m.rows {
		own, end := m.reach(i)
		m.add(i, 1, max(own, high), end)
	}
}

// add adds the values of positions low to high-1 to the sums of so many rows.
func (m *mixing) add(row, rows, low, high int) {
	p, size := m.p, m.p.h.headSize
	first, queries := row*p.h.group(), rows*p.h.group()
	for at := low; at < high; {
		length := m.toPageEnd(at, high)
		values, stride := m.seq.lines(p.k, m.worker.lines, p.layer, m.head, 1, m.from+at, length)
		p.k.AddWeighted(m.worker.mixed[first*size:], size, queries, values, stride, length, m.worker.scores[first*m.n+at:], m.n, size)
		at += length
	}
}

// toPageEnd is how many positions from one on lie in its page and before an end.
func (m *mixing) toPageEnd(at, end int) int {
	return min(end-at, pageTokens-(m.from+at)%pageTokens)
}
