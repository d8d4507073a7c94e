package kernel

import "math"

// tooSmall is the magnitude below which a part of a block is stored as zeros:
// its inverse would leave the range of float32.
const tooSmall = 1e-15

// nearest rounds to a whole number, ties to even, by an addition that pushes the
// fraction out; beyond 2^22 in magnitude it gives what ggml's gives.
func nearest(v float32) int {
	return int(math.Float32bits(v+12582912)&0x7fffff) - 0x400000
}

func clamp(n, least, most int) int { return max(least, min(most, n)) }

// fitCentred finds the scale with which x is best stored as whole numbers from
// -half to half-1, weighted by the squares of the values, and the numbers plus
// half. It tries 19 scales around the one that makes the value of largest
// magnitude -half.
func fitCentred(x []float32, half int, q []byte) (scale float32) {
	largest, magnitude := furthest(x)
	if magnitude < tooSmall {
		clear(q)
		return 0
	}
	store := func(iscale float32) {
		for i, v := range x {
			q[i] = byte(clamp(nearest(float32(iscale*v)), -half, half-1) + half)
		}
	}
	fit := func(iscale float32) (sumlx, suml2 float32) {
		for _, v := range x {
			l, w := float32(clamp(nearest(float32(iscale*v)), -half, half-1)), float32(v*v)
			sumlx += float32(float32(w*v) * l)
			suml2 += float32(float32(w*l) * l)
		}
		return sumlx, suml2
	}
	iscale := float32(-half) / largest
	store(iscale)
	sumlx, suml2 := fit(iscale)
	if suml2 != 0 {
		scale = sumlx / suml2
	}
	best := scale * sumlx
	for try := -9; try <= 9; try++ {
		if try == 0 {
			continue
		}
		iscale = -(float32(half) + float32(0.1*float32(try))) / largest
		sumlx, suml2 = fit(iscale)
		if suml2 > 0 && float32(sumlx*sumlx) > float32(best*suml2) {
			store(iscale)
			scale = sumlx / suml2
			best = scale * sumlx
		}
	}
	return scale
}

// fitRefined finds the scale as fitCentred does, by changing one whole number at
// a time for as long as that improves the fit, at most five rounds.
func fitRefined(x []float32, half int, q []int8) (scale float32) {
	largest, magnitude := furthest(x)
	if magnitude < tooSmall {
		clear(q)
		return 0
	}
	iscale := float32(-half) / largest
	var sumlx, suml2 float32
	for i, v := range x {
		q[i] = int8(clamp(nearest(float32(iscale*v)), -half, half-1))
		l, w := float32(q[i]), float32(v*v)
		sumlx += float32(float32(w*v) * l)
		suml2 += float32(float32(w*l) * l)
	}
	for range 5 {
		changed := false
		for i, v := range x {
			w, l := float32(v*v), float32(q[i])
			slx := sumlx - float32(float32(w*v)*l)
			if !(slx > 0) {
				continue
			}
			sl2 := suml2 - float32(float32(w*l)*l)
			n := clamp(nearest(float32(v*sl2)/slx), -half, half-1)
			if n == int(q[i]) {
				continue
			}
			slx += float32(float32(w*v) * float32(n))
			sl2 += float32(float32(w*float32(n)) * float32(n))
			if sl2 > 0 && float32(float32(slx*slx)*suml2) > float32(float32(sumlx*sumlx)*sl2) {
				q[i], sumlx, suml2, changed = int8(n), slx, sl2, true
			}
		}
		if !changed {
			break
		}
	}
	for i := range q {
		q[i] += int8(half)
	}
	if !(suml2 > 0) {
		return 0
	}
	return sumlx / suml2
}

// span says how fitRaised searches: the steps from the first scale on, and
// whether magnitudes of differences count or their squares.
type span struct {
	first, step float32
	steps       int
	magnitudes  bool
}

// fitRaised finds the scale and the minimum, at least 0 and to be taken away,
// with which x is best stored as whole numbers from 0 to most: by least squares
// for every scale that it tries. weights say what each value counts.
func fitRaised(x, weights []float32, most int, q []byte, s span) (scale, minimum float32) {
	least, largest := extent(x)
	sumW := weights[0]
	sumX := float32(sumW * x[0])
	for i, v := range x[1:] {
		w := weights[i+1]
		sumW += w
		sumX += float32(w * v)
	}
	least = min(least, 0)
	if largest == least {
		clear(q)
		return 0, -least
	}
	var try [32]byte
	use := try[:len(x)]
	store := func(to []byte, iscale float32) {
		for i, v := range x {
			to[i] = byte(clamp(nearest(float32(iscale*(v-least))), 0, most))
		}
	}
	miss := func(q []byte, scale, low float32) (sum float32) {
		for i, v := range x {
			d := float32(scale*float32(q[i])) + low - v
			if s.magnitudes {
				d = abs(d)
			} else {
				d = float32(d * d)
			}
			sum += float32(weights[i] * d)
		}
		return sum
	}
	iscale := float32(most) / (largest - least)
	scale = 1 / iscale
	store(q, iscale)
	best := miss(q, scale, least)
	// The values are numbered from the best minimum so far, not from the least value.
	for n := range s.steps + 1 {
		iscale = (s.first + float32(s.step*float32(n)) + float32(most)) / (largest - least)
		store(use, iscale)
		var sumL, sumL2, sumXL float32
		for i, v := range x {
			l, w := float32(use[i]), weights[i]
			wl := float32(w * l)
			sumL += wl
			sumL2 += float32(wl * l)
			sumXL += float32(wl * v)
		}
		det := float32(sumW*sumL2) - float32(sumL*sumL)
		if !(det > 0) {
			continue
		}
		slope := (float32(sumW*sumXL) - float32(sumX*sumL)) / det
		low := (float32(sumL2*sumX) - float32(sumL*sumXL)) / det
		if low > 0 {
			low, slope = 0, sumXL/sumL2
		}
		if m := miss(use, slope, low); m < best {
			copy(q, use)
			best, scale, least = m, slope, low
		}
	}
	return scale, -least
}

// narrowQ2_K: parts of 16, weighted by their magnitudes; scales and minima in 4
// bits.
func narrowQ2_K(b []byte, x []float32) {
	var q [256]byte
	var scales, minima [16]float32
	var weights [16]float32
	for p := range 16 {
		part := x[16*p:][:16]
		for i, v := range part {
			weights[i] = abs(v)
		}
		scales[p], minima[p] = fitRaised(part, weights[:], 3, q[16*p:][:16], span{-0.5, 0.1, 15, true})
	}
	clear(b[:16])
	unit := func(values []float32, at []byte, shift int) {
		largest := float32(0)
		for _, v := range values {
			largest = max(largest, v)
		}
		if largest > 0 {
			inv := 15 / largest
			for p, v := range values {
				b[p] |= byte(nearest(float32(inv*v)) << shift)
			}
		}
		putHalf(at, largest/15)
	}
	unit(scales[:], b[80:], 0)
	unit(minima[:], b[82:], 4)
	d, e := half(b[80:]), half(b[82:])
	for p, s := range b[:16] {
		renumber(q[16*p:][:16], x[16*p:], float32(d*float32(s&15)), float32(e*float32(s>>4)), 3)
	}
	packTwoBits(b[16:80], q[:])
}

// renumber stores values anew with the scale and the minimum as they are kept.
func renumber(q []byte, x []float32, scale, minimum float32, most int) {
	if scale == 0 {
		return
	}
	for i := range q {
		q[i] = byte(clamp(nearest((x[i]+minimum)/scale), 0, most))
	}
}

func packTwoBits(b, q []byte) {
	for i := range b {
		v := q[i/32*128+i%32:]
		b[i] = v[0] | v[32]<<2 | v[64]<<4 | v[96]<<6
	}
}

// narrowQ3_K: parts of 16, scales in 6 bits.
func narrowQ3_K(b []byte, x []float32) {
	var q [256]int8
	var scales [16]float32
	for p := range 16 {
		scales[p] = fitRefined(x[16*p:][:16], 4, q[16*p:][:16])
	}
	clear(b)
	largest, _ := furthest(scales[:])
	packed := b[96:108]
	if largest != 0 {
		iscale := -32 / largest
		for p, v := range scales {
			l := byte(clamp(nearest(float32(iscale*v)), -32, 31) + 32)
			packed[p%8] |= l & 15 << (p / 8 * 4)
			packed[8+p%4] |= l >> 4 << (p / 4 * 2)
		}
		putHalf(b[108:], 1/iscale)
	}
	d := half(b[108:])
	for p := range 16 {
		s := int(packed[p%8]>>(p/8*4)&15 | packed[8+p%4]>>(p/4*2)&3<<4)
		scale := d * float32(s-32)
		if scale == 0 {
			continue
		}
		for i, v := range x[16*p:][:16] {
			q[16*p+i] = int8(clamp(nearest(v/scale), -4, 3) + 4)
		}
	}
	var low [256]byte
	for i, v := range q {
		low[i] = byte(v)
		if v > 3 {
			b[i%32] |= 1 << (i / 32)
			low[i] -= 4
		}
	}
	packTwoBits(b[32:96], low[:])
}

// fitParts fits the eight parts of 32 of Q4_K and Q5_K, whose values count their
// magnitude plus the root of the mean square, and stores scales and minima in 6
// bits.
func fitParts(b []byte, x []float32, most int, q []byte, s span) {
	var scales, minima [8]float32
	var weights [32]float32
	for p := range 8 {
		part := x[32*p:][:32]
		sum := float32(0)
		for _, v := range part {
			sum += float32(v * v)
		}
		mean := float32(math.Sqrt(float64(sum / 32)))
		for i, v := range part {
			weights[i] = mean + abs(v)
		}
		scales[p], minima[p] = fitRaised(part, weights[:], most, q[32*p:][:32], s)
	}
	largest, deepest := float32(0), float32(0)
	for p := range 8 {
		largest, deepest = max(largest, scales[p]), max(deepest, minima[p])
	}
	var invScale, invMinimum float32
	if largest > 0 {
		invScale = 63 / largest
	}
	if deepest > 0 {
		invMinimum = 63 / deepest
	}
	packed := b[4:16]
	clear(packed)
	for p := range 8 {
		ls := min(63, byte(nearest(float32(invScale*scales[p]))))
		lm := min(63, byte(nearest(float32(invMinimum*minima[p]))))
		if p < 4 {
			packed[p], packed[p+4] = ls, lm
			continue
		}
		packed[p+4] = ls&15 | lm<<4
		packed[p-4] |= ls >> 4 << 6
		packed[p] |= lm >> 4 << 6
	}
	putHalf(b, largest/63)
	putHalf(b[2:], deepest/63)
	d, e := half(b), half(b[2:])
	for p := range 8 {
		ls, lm := sixBits(packed, p)
		renumber(q[32*p:][:32], x[32*p:], float32(d*float32(ls)), float32(e*float32(lm)), most)
	}
}

func narrowQ4_K(b []byte, x []float32) {
	var q [256]byte
	fitParts(b, x, 15, q[:], span{-1, 0.1, 20, false})
	for i := range 128 {
		v := q[i/32*64+i%32:]
		b[16+i] = v[0] | v[32]<<4
	}
}

func narrowQ5_K(b []byte, x []float32) {
	var q [256]byte
	fitParts(b, x, 31, q[:], span{-0.5, 0.1, 15, false})
	fifth := b[16:48]
	clear(fifth)
	for i := range 128 {
		v := q[i/32*64+i%32:]
		b[48+i] = v[0]&15 | v[32]<<4
		fifth[i%32] |= v[0]>>4<<(i/32*2) | v[32]>>4<<(i/32*2+1)
	}
}

// narrowQ6_K: parts of 16, scales in 8 bits.
func narrowQ6_K(b []byte, x []float32) {
	var q [256]byte
	var scales [16]float32
	for p := range 16 {
		scales[p] = fitCentred(x[16*p:][:16], 32, q[16*p:][:16])
	}
	clear(b)
	largest, magnitude := furthest(scales[:])
	if magnitude < tooSmall {
		return
	}
	iscale := -128 / largest
	putHalf(b[208:], 1/iscale)
	d := half(b[208:])
	for p, v := range scales {
		s := int8(min(127, nearest(float32(iscale*v))))
		b[192+p] = byte(s)
		scale := d * float32(s)
		if scale == 0 {
			continue
		}
		for i, v := range x[16*p:][:16] {
			q[16*p+i] = byte(clamp(nearest(v/scale), -32, 31) + 32)
		}
	}
	for i := range 64 {
		run := i / 32 * 128
		v := q[run+i%32:]
		b[i/32*64+i%32] = v[0]&15 | v[64]&15<<4
		b[i/32*64+32+i%32] = v[32]&15 | v[96]&15<<4
		b[128+i] = v[0]>>4 | v[32]>>4<<2 | v[64]>>4<<4 | v[96]>>4<<6
	}
}
