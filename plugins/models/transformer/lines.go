package transformer

import (
	"encoding/binary"
	"math"

	"lab/plugins/models/internal/kernel"
)

// A page is laid out by layer, key head, key or value, position, element. In a
// cache of Q8_0 the line of a position is rounded in blocks of 32 elements, the
// last filled up with zeros, so that what a position's line holds follows from
// it alone.

// lineValues is the number of elements of a stored line.
func (h *hyper) lineValues() int {
	block := h.cacheFormat.Block()
	return (h.headSize + block - 1) / block * block
}

// lineBytes is the size of a stored line.
func (h *hyper) lineBytes() int { return h.cacheFormat.Bytes(h.lineValues()) }

// line returns where a position's line begins in its page, counted in lines.
func (d *draft) line(layer, head, which, position int) (*page, int) {
	return d.pages[position/pageTokens], ((layer*d.h.kvHeads+head)*2+which)*pageTokens + position%pageTokens
}

// lines returns the lines of n positions of one page, one after another and
// stride elements apart; scratch is used where they are not stored in float32.
func (d *draft) lines(k *kernel.Kernels, scratch []float32, layer, head, which, first, n int) (x []float32, stride int) {
	p, at := d.line(layer, head, which, first)
	stride = d.h.lineValues()
	if p.floats != nil {
		return p.floats[at*stride:][:n*stride], stride
	}
	size := d.h.lineBytes()
	scratch = scratch[:n*stride]
	k.Widen(scratch, p.blocks[at*size:][:n*size], d.h.cacheFormat)
	return scratch, stride
}

// store keeps the keys and values of all heads at a position.
func (d *draft) store(layer, position int, keys, values []float32) {
	size := d.h.headSize
	for head := range d.h.kvHeads {
		for which, x := range [][]float32{keys[head*size:][:size], values[head*size:][:size]} {
			p, at := d.line(layer, head, which, position)
			if p.floats != nil {
				copy(p.floats[at*size:], x)
				continue
			}
			bytes := d.h.lineBytes()
			round(p.blocks[at*bytes:][:bytes], x)
		}
	}
}

// round writes x as Q8_0: per 32 elements a scale in half precision, the largest
// magnitude over 127, and every element as the nearest multiple of it, ties to
// the even one. What is not finite, or beyond the scale, leaves a scale that is
// NaN, which the scores show.
func round(dst []byte, x []float32) {
	const block = 32
	for ; len(x) > 0; dst = dst[2+block:] {
		values := x[:min(block, len(x))]
		x = x[len(values):]
		largest, bad := float32(0), false
		for _, v := range values {
			bad = bad || v-v != 0
			largest = max(largest, float32(math.Abs(float64(v))))
		}
		scale, bits := halfScale(largest / 127)
		if bad || math.IsInf(scale, 0) {
			bits, scale = 0x7e00, 0
		}
		binary.LittleEndian.PutUint16(dst, bits)
		clear(dst[2 : 2+block])
		if scale == 0 {
			continue
		}
		for i, v := range values {
			dst[2+i] = byte(int8(min(max(math.RoundToEven(float64(v)/scale), -127), 127)))
		}
	}
}

// halfScale rounds a number that is not negative to half precision, ties to
// even, and returns it with its bits.
func halfScale(x float32) (float64, uint16) {
	_, exponent := math.Frexp(float64(x)) // x = f·2^exponent, f in [1/2, 1)
	step := math.Ldexp(1, max(exponent-11, -24))
	rounded := math.RoundToEven(float64(x)/step) * step
	switch {
	case !(rounded < 65520):
		return math.Inf(1), 0x7c00
	case rounded < 1.0/(1<<14): // subnormal
		return rounded, uint16(rounded * (1 << 24))
	}
	f, exponent := math.Frexp(rounded)
	return rounded, uint16(exponent+14)<<10 | uint16((f*2-1)*1024)
}
