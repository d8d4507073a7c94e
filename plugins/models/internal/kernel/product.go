package kernel

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Products sets y[j*ys+i] to the product of row i of a packed matrix with row j of
// rounded activations, for i < n and j < b. w is the packed matrix from a whole
// group of rows on, x holds b rows of cols values, rounded as [Form.Rounding]
// says. next are the weights that are likely multiplied with after these, nil where
// none are: they are asked of memory meanwhile, and matter to nothing else.
//
// A product starts at 0 and takes its units in ascending order. A unit's whole
// numbers are multiplied and summed exactly; the sum is multiplied with the
// product of the two scales, which is rounded where it has to be, and added with
// one rounding. Where there are minima, the minimum times the activations' share
// follows, added with one rounding, too. A row's scale times its unit of 256 and
// a minimum likewise are exact. Of weights that are no whole numbers each is
// multiplied with its activation and added with one rounding.
func (k *Kernels) Products(y []float32, ys int, w []byte, l Form, n int, x []byte, b, cols int, next []byte) {
	if n <= 0 || b <= 0 {
		return
	}
	p, f := &packings[l], l.format()
	group, blocks := p.groupBytes(f, cols), cols/f.Block()
	if p.words {
		blocks = cols / wordsUnit
	}
	if blocks == 0 {
		panic(fmt.Sprintf("kernel: %d columns are less than a block of %v", cols, f))
	}
	x = x[:p.rounding.RoundedBytes(cols, b)]
	w = w[:(n+groupRows-1)/groupRows*group]
	y = y[: (b-1)*ys+n : (b-1)*ys+n]
	for i := 0; i < n; i += groupRows {
		if p.plain {
			for j := 0; j < b; j += tileRows {
				k.products[l](y[j*ys+i:], ys, min(groupRows, n-i), w, cols, x[AsIs.RoundedBytes(cols, j):], min(tileRows, b-j), nil)
			}
		} else {
			after := next
			if i+groupRows < n {
				after = w[group:]
			} else if len(next) == 0 {
				after = w
			}
			k.products[l](y[i:], ys, min(groupRows, n-i), w, blocks, x, b, after)
		}
		w = w[group:]
	}
}

// multiplier is Products for a group, and where activations lie in tiles, a tile.
type multiplier func(y []float32, ys, n int, w []byte, blocks int, x []byte, b int, next []byte)

func portableProducts() [forms]multiplier {
	var all [forms]multiplier
	for l := range all {
		p, f := &packings[l], Form(l).format()
		switch {
		case p.plain:
			all[l] = func(y []float32, ys, n int, w []byte, cols int, x []byte, b int, _ []byte) {
				for lane := range n {
					portablePlain(y[lane:], ys, f, w[lane*f.Bytes(1):], cols, x, b)
				}
			}
		case p.words:
			all[l] = func(y []float32, ys, n int, w []byte, units int, x []byte, b int, _ []byte) {
				for lane := range n {
					portableWords(y[lane:], ys, lane, w, units, x, b)
				}
			}
		case p.unit > 0:
			perBlock := f.Block() / p.unit
			all[l] = func(y []float32, ys, n int, w []byte, blocks int, x []byte, b int, _ []byte) {
				for lane := range n {
					p.portableRow(y[lane:], ys, lane, w, blocks, perBlock, x, b)
				}
			}
		}
	}
	return all
}

// levels is what the table of IQ4_NL holds, as whole numbers without sign.
func levels() [16]byte {
	var out [16]byte
	for i, v := range nonlinear() {
		out[i] = byte(int(v) + 128)
	}
	return out
}

// portablePlain multiplies one row of half-precision numbers with a tile.
func portablePlain(y []float32, ys int, f Format, w []byte, cols int, x []byte, b int) {
	for j := range b {
		y[j*ys] = 0
	}
	column := f.Bytes(groupRows)
	for c := range cols {
		v := plainValue(w[c*column:], f)
		for j := range b {
			y[j*ys] = fma(v, float(x[4*(c*b+j):]), y[j*ys])
		}
	}
}

// plainValue is a half-precision number as it was stored.
func plainValue(w []byte, f Format) float32 {
	if f == BF16 {
		return math.Float32frombits(uint32(binary.LittleEndian.Uint16(w)) << 16)
	}
	return half(w)
}

// portableRow multiplies one row with all activations.
func (p *packing) portableRow(y []float32, ys, lane int, w []byte, blocks, perBlock int, x []byte, b int) {
	for j := range b {
		y[j*ys] = 0
	}
	unit := 0 // number of the unit in its row
	for range blocks {
		head := w
		w = w[p.headBytes():]
		for range perBlock {
			var q [32]int32
			p.values(&q, w, lane)
			scale, minimum := p.scales(head, w, lane)
			records := x[unit*p.unit/32*recordBytes*b:]
			for j := range b {
				y[j*ys] = p.step(y[j*ys], &q, scale, minimum, records[j*recordBytes:][:recordBytes:recordBytes], unit)
			}
			w = w[p.unitBytes():]
			unit++
		}
	}
}

// step adds one unit to a product.
func (p *packing) step(sum float32, q *[32]int32, scale, minimum float32, record []byte, unit int) float32 {
	x, share := record[:p.unit], record[shareAt:]
	if p.unit == 16 {
		x, share = record[unit%2*16:][:16], record[share16+unit%2*4:]
	}
	whole := int32(0)
	for i, v := range x {
		whole += q[i] * int32(int8(v))
	}
	sum = fma(float32(whole), float32(scale*float(record[scaleAt:])), sum)
	if p.minimum {
		sum = fma(minimum, float(share), sum)
	}
	return sum
}

func float(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }

// values unpacks what the values of one unit in a lane stand for.
func (p *packing) values(q *[32]int32, w []byte, lane int) {
	steps, vectors := p.unit/4, p.unit/4*p.low/8
	table := levels()
	upper := uint32(0)
	if p.up > 0 {
		upper = word(w, p.upAt()+4*lane)
	}
	for t := range steps {
		bits := word(w, p.lowAt()+64*(t%vectors)+4*lane) >> (t / vectors * p.low)
		for j := range 4 {
			v := int32(bits >> (8 * j) & (1<<p.low - 1))
			v |= int32(upper>>(8*j+t*p.up)&(1<<p.up-1)) << p.low
			if p.table {
				v = int32(table[v])
			}
			q[4*t+j] = v - int32(p.offset)
		}
	}
}

// scales returns what a unit's whole numbers are multiplied with and what is
// added, negative in formats that subtract it.
func (p *packing) scales(head, w []byte, lane int) (scale, minimum float32) {
	if !p.super {
		scale = half(w[2*lane:])
		if p.minimum {
			minimum = half(w[2*(groupRows+lane):])
		}
		return scale, minimum
	}
	scale = half(head[2*lane:])
	if p.signed {
		scale *= float32(int8(w[lane]))
	} else {
		scale *= float32(w[lane])
	}
	if p.minimum {
		minimum = -half(head[2*(groupRows+lane):]) * float32(w[groupRows+lane])
	}
	return scale, minimum
}
