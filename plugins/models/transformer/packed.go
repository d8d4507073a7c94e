package transformer

import "lab/plugins/models/internal/kernel"

// Matrices in formats of blocks are multiplied in a packed order; see package
// kernel. A matrix is packed when it is first multiplied with, from the bytes that
// are digested: should those change, Verify sees it, and what was packed is
// forgotten, so that later calls compute with what the file holds.

// rounded are the rows of one multiplication, rounded in the ways its matrices
// want.
type rounded [4][]byte

// packs reports whether a matrix is multiplied in packed form, and in which.
func (p *pass) packs(t *tensor) (kernel.Form, bool) { return kernel.Packs(t.format, t.cols, p.exact) }

// maxParts is the most rows that a row is rounded to.
const maxParts = 2

// partsOf is how many rows a row of a product is rounded to. The inner activations
// of a feed-forward layer are products themselves and now and then very large:
// where 256 of them share a scale, 8 bits leave most of them little, and half of
// the error of Gemma 3 270M's scores came from there. So what rounding leaves of
// them is rounded in turn, as a row of its own, and the products of the two are
// added: some 15 bits for one more row, where weights are read once.
func partsOf(pr product, r kernel.Rounding) int {
	if pr.inner && r == kernel.BySuperBlock {
		return maxParts
	}
	return 1
}

// prepare packs the matrices of products that are not, and rounds the rows of x
// for them.
func (p *pass) prepare(x []float32, products []product) {
	p.parts = 1
	var want [len(rounded{})]bool
	cols := 0
	for _, pr := range products {
		for _, t := range []*tensor{pr.w, pr.up} {
			if t == nil {
				continue
			}
			if form, ok := p.packs(t); ok {
				r := form.Rounding()
				want[r], cols = true, t.cols
				p.parts = max(p.parts, partsOf(pr, r))
				if t.packed == nil {
					p.pack(t, form)
				}
			}
		}
	}
	b := len(p.rows)
	for i, wanted := range want {
		if !wanted {
			continue
		}
		r := kernel.Rounding(i)
		all := b * p.parts
		p.rounded[r] = growBytes(p.rounded[r], r.RoundedBytes(cols, all))
		n := r.Together()
		p.each((b+n-1)/n, cols*n*p.parts, func(worker, item int) {
			for j := item * n; j < min(b, item*n+n); j++ {
				row := x[j*cols:][:cols]
				p.k.Round(p.rounded[r], row, r, j, all)
				for i := j + b; i < all; i += b {
					rest := grow(p.workers[worker].rest, cols)
					p.workers[worker].rest = rest
					kernel.Rest(rest, p.rounded[r], row, i-b, all)
					p.k.Round(p.rounded[r], rest, r, i, all)
					row = rest
				}
			}
		})
	}
}

// packRows is how many rows of a matrix are packed at a time: whole groups.
const packRows = 128

// pack gives a matrix its packed form.
func (p *pass) pack(t *tensor, form kernel.Form) {
	size, stored := form.PackedBytes(packRows, t.cols), packRows*t.format.Bytes(t.cols)
	packed := p.memory.take(form.PackedBytes(t.rows, t.cols))
	p.pool.run((t.rows+packRows-1)/packRows, int64(t.rows)*int64(t.cols), func(_, i int) {
		rows := min(packRows, t.rows-i*packRows)
		dst := packed[i*size:][:form.PackedBytes(rows, t.cols)]
		form.Pack(dst, t.data[i*stored:], rows, t.cols)
	})
	t.packed, p.settled = packed, false
	p.packedTensors = append(p.packedTensors, t)
}

// forget drops what was packed.
func (p *pass) forget() {
	for _, t := range p.packedTensors {
		t.packed = nil
	}
	p.packedTensors = nil
	p.memory.free()
}

// arena gives memory for packed matrices: one after the other as they are first
// used, which is the order in which a pass reads them.
type arena struct {
	chunk   int // how much is asked of the system at a time; 0 takes single pieces from the heap
	left    []byte
	mapped  [][]byte
	refused bool // by the system
}

const (
	arenaAlign = 64
	arenaChunk = 64 << 20
)

// newArena makes an arena for a model of so many bytes. Small models are not
// worth pages of their own.
func newArena(size int64) *arena {
	if size < arenaChunk/16 {
		return &arena{}
	}
	return &arena{chunk: arenaChunk}
}

// take returns n zeros.
func (a *arena) take(n int) []byte {
	if a.chunk == 0 || a.refused {
		return make([]byte, n)
	}
	room := (n + arenaAlign - 1) &^ (arenaAlign - 1)
	if room > len(a.left) {
		m := largePages(max(room, a.chunk))
		if m == nil {
			a.refused = true
			return make([]byte, n)
		}
		a.mapped, a.left = append(a.mapped, m), m
	}
	out := a.left[:n:n]
	a.left = a.left[room:]
	return out
}

// free gives everything back.
func (a *arena) free() {
	for _, m := range a.mapped {
		unmap(m)
	}
	a.mapped, a.left = nil, nil
}

func growBytes(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}
