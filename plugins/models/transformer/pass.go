package transformer

import (
	"context"
	"sync/atomic"

	"lab/plugins/models/internal/kernel"
)

// maxRows is how many rows go through the layers together; longer inputs are
// taken in pieces. It bounds the buffers and has no effect on any result.
const maxRows = 128

// row is one token on its way through the layers.
type row struct {
	seq      *draft
	position int
	token    int32
	scores   []float32 // where its scores go; nil when they are not wanted
	hidden   []float32 // where its last hidden state goes; nil when it is not wanted
}

// pass holds the buffers of a forward pass: row-major, one line per row.
type pass struct {
	h    *hyper
	k    *kernel.Kernels
	pool *pool
	// exact multiplies with activations in float32, whatever the weights.
	exact bool
	// ropes are those of layers without and with a window; one and the same
	// where they turn alike.
	ropes [2]*rope

	rows  []row
	layer int

	stream, normed []float32 // width
	branch         []float32 // width; what is normalised before it joins the stream
	q, mixed       []float32 // heads * headSize
	key, value     []float32 // kvHeads * headSize
	inner          []float32 // of the feed-forward layer
	routing        routing
	unread         int64 // stored bytes of experts that no row has picked
	vectors        [3][]float32
	workers        []scratch
	tasks          []task
	spans          []span

	rounded rounded
	// parts is how many rows a row is rounded to for the product at hand.
	parts         int
	packedTensors []*tensor
	memory        *arena
	// settled is whether the pass before this one met no matrix for the first time:
	// those are packed or read from the disk, which says nothing of later passes.
	settled, scored bool
	// broken is whether a score is NaN or infinite: workers look while it is in their
	// caches, since reading all scores of a batch again would take a fifth of its time.
	broken atomic.Bool
}

// scratch is the memory of one worker.
type scratch struct {
	panel []float32 // weight rows in float32
	tile  []float32 // their products with the rows of a pass
	rest  []float32 // what rounding leaves of a row

	// Of a span's queries that share a key head, one after the other:
	queries []float32
	scores  []float32 // over the positions
	sums    []float32 // of their exponentials
	mixed   []float32
	lines   []float32 // keys or values of a page, widened
}

// panelFloats is the size of a panel of widened weights: half of the nearest
// cache of a common machine.
const panelFloats = 6144

// maxPanel is the most weight rows of a panel.
const maxPanel = 64

func newPass(h *hyper, k *kernel.Kernels, pool *pool, ropes [2]*rope, memory *arena) *pass {
	return &pass{h: h, k: k, pool: pool, ropes: ropes, memory: memory, workers: make([]scratch, pool.threads())}
}

// extend prepares the tables for positions 0 to n-1.
func (p *pass) extend(n int) {
	for _, r := range p.ropes {
		r.extend(n)
	}
}

// rope is that of the current layer.
func (p *pass) rope() *rope {
	if p.h.local(p.layer) {
		return p.ropes[1]
	}
	return p.ropes[0]
}

// vector returns a tensor's values in float32, row after row, nil for an absent
// one. They last until the next vector of the same slot.
func (p *pass) vector(slot int, t *tensor) []float32 {
	if t == nil {
		return nil
	}
	p.vectors[slot] = grow(p.vectors[slot], t.rows*t.cols)
	return t.widen(p.k, 0, t.rows, p.vectors[slot])
}

// panelSize is how many weight rows of a product are taken at a time: of those
// that are widened, what a near cache holds; of packed ones whole groups, few
// enough that all workers have a share of a small matrix.
func (p *pass) panelSize(pr product) int {
	for _, t := range []*tensor{pr.w, pr.up} {
		if t == nil {
			continue
		}
		if _, ok := p.packs(t); ok {
			return min(max(pr.w.rows/(8*p.pool.threads())&^15, 16), maxPanel)
		}
	}
	return min(max(panelFloats/pr.w.cols, 4), maxPanel) &^ 3
}

// grow returns b with room for n values, keeping nothing.
func grow(b []float32, n int) []float32 {
	if cap(b) < n {
		return make([]float32, n)
	}
	return b[:n]
}

// begin sizes the buffers for rows, whose sequences reach up to a context of
// longest positions.
func (p *pass) begin(rows []row, longest int) {
	h, n := p.h, len(rows)
	p.rows, p.unread = rows, 0
	p.stream, p.normed = grow(p.stream, n*h.width), grow(p.normed, n*h.width)
	p.q, p.mixed = grow(p.q, n*h.heads*h.headSize), grow(p.mixed, n*h.heads*h.headSize)
	p.key, p.value = grow(p.key, n*h.kvHeads*h.headSize), grow(p.value, n*h.kvHeads*h.headSize)
	p.inner = grow(p.inner, n*h.ffn)
	for i := range p.workers {
		w := &p.workers[i]
		queries := h.spanRows() * h.group()
		w.queries, w.mixed = grow(w.queries, queries*h.headSize), grow(w.mixed, queries*h.headSize)
		w.scores, w.sums = grow(w.scores, queries*longest), grow(w.sums, queries)
		w.tile = grow(w.tile, maxParts*n*maxPanel)
		w.lines = grow(w.lines, pageTokens*h.lineValues())
	}
	p.split()
}

// run takes the rows through all layers and fills the wanted scores; wanted
// reports whether there were any.
func (p *pass) run(ctx context.Context, a *architecture, w *weights) (wanted bool, err error) {
	a.embed.run(p, w.embed)
	for p.layer = range p.h.layers {
		if err := cancelled(ctx); err != nil {
			return false, err
		}
		for _, s := range w.block[p.layer] {
			s.part.run(p, s.tensors)
		}
	}
	p.keepWanted()
	if len(p.rows) == 0 {
		return false, nil
	}
	for _, s := range w.head {
		s.part.run(p, s.tensors)
	}
	return true, nil
}

// keepWanted drops the rows whose scores nobody wants.
func (p *pass) keepWanted() {
	n, width := 0, p.h.width
	for i, r := range p.rows {
		if r.scores == nil {
			continue
		}
		copy(p.stream[n*width:][:width], p.stream[i*width:][:width])
		p.rows[n] = r
		n++
	}
	p.rows = p.rows[:n]
}

// product is a matrix times the rows of a pass. It goes to dst, whose lines are
// as long as the matrix has rows, or where there is no dst to store, which
// receives the values of one row from output first on. With a second matrix up
// of the same shape, dst takes the first product and store the second. A bias,
// one value per output, is added to whatever w yields. inner says that the rows
// are the inner activations of a feed-forward layer; see [pass.parts].
type product struct {
	w, up *tensor
	inner bool
	bias  []float32
	dst   []float32
	store func(row, first int, y []float32)
}

// task is one panel of one product.
type task struct{ product, first, n int }

// multiply computes products with the rows of x, each as long as the matrices'
// columns. The work is split by outputs, so that no sum is.
func (p *pass) multiply(x []float32, products ...product) {
	p.prepare(x, products)
	p.tasks = p.tasks[:0]
	work := int64(0)
	for i, pr := range products {
		size := p.panelSize(pr)
		for first := 0; first < pr.w.rows; first += size {
			p.tasks = append(p.tasks, task{i, first, min(size, pr.w.rows-first)})
		}
		work += int64(pr.w.rows) * int64(pr.w.cols)
		if pr.up != nil {
			work += int64(pr.up.rows) * int64(pr.up.cols)
		}
	}
	p.pool.run(len(p.tasks), work*int64(len(p.rows)), func(worker, item int) {
		t := p.tasks[item]
		pr := products[t.product]
		if pr.dst != nil {
			then := p.panel(pr.up, t)
			if pr.up == nil {
				then = p.soon(item, products)
			}
			p.dots(worker, pr.w, t, x, pr.dst[t.first:], pr.w.rows, then)
			p.shift(pr.bias, t, pr.dst[t.first:], pr.w.rows)
		}
		if pr.store == nil {
			return
		}
		w, bias := pr.w, pr.bias
		if pr.up != nil {
			w, bias = pr.up, nil
		}
		y := p.workers[worker].tile
		p.dots(worker, w, t, x, y, t.n, p.soon(item, products))
		p.shift(bias, t, y, t.n)
		for i := range p.rows {
			pr.store(i, t.first, y[i*t.n:][:t.n])
		}
	})
}

// panel is a matrix from a panel on, in packed form; nil where it has none.
func (p *pass) panel(w *tensor, t task) []byte {
	if w == nil || w.packed == nil {
		return nil
	}
	form, _ := p.packs(w)
	return w.packed[form.PackedBytes(t.first, w.cols):]
}

// soon is the panel that whoever works on an item has next when the workers take
// turns.
func (p *pass) soon(item int, products []product) []byte {
	if item += p.pool.threads(); item < len(p.tasks) {
		return p.panel(products[p.tasks[item].product].w, p.tasks[item])
	}
	return nil
}

// dots multiplies a panel with all rows into y, lines of stride values. Then comes
// another panel, as far as is known, or nil.
func (p *pass) dots(worker int, w *tensor, t task, x, y []float32, stride int, then []byte) {
	if form, ok := p.packs(w); ok {
		first := form.PackedBytes(t.first, w.cols)
		n := len(p.rows)
		p.k.Products(y, stride, w.packed[first:], form, t.n, p.rounded[form.Rounding()], n*p.parts, w.cols, then)
		for i := n; i < n*p.parts; i++ {
			p.k.Add(y[i%n*stride:][:t.n], y[i*stride:])
		}
		return
	}
	s := &p.workers[worker]
	s.panel = grow(s.panel, max(panelFloats, t.n*w.cols))
	panel := w.widen(p.k, t.first, t.n, s.panel)
	p.k.Dots(y, stride, panel, w.cols, t.n, x, w.cols, len(p.rows), w.cols)
}

// shift adds the bias of a panel, if there is one, to its products in y.
func (p *pass) shift(bias []float32, t task, y []float32, stride int) {
	if bias == nil {
		return
	}
	for i := range p.rows {
		p.k.Add(y[i*stride:][:t.n], bias[t.first:])
	}
}

// each runs f for items 0 to n-1 that touch about so many elements each, several
// items at a time.
func (p *pass) each(n, elements int, f func(worker, item int)) {
	pieces := min(n, eachPieces*p.pool.threads())
	p.pool.run(pieces, int64(n)*int64(elements)*elementWork, func(worker, piece int) {
		for i := piece * n / pieces; i < (piece+1)*n/pieces; i++ {
			f(worker, i)
		}
	})
}

const (
	// elementWork is how many multiply-adds of a product take the time of one element
	// of a row that is normalised, rotated or rounded, about.
	elementWork = 16
	// eachPieces is in how many pieces per worker such work is handed out: taking one
	// costs a worker what some hundred elements do.
	eachPieces = 4
)

// addToStream adds products to the residual stream.
func (p *pass) addToStream(row, first int, y []float32) {
	p.k.Add(p.stream[row*p.h.width+first:][:len(y)], y)
}
