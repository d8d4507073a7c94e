package kernel

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Narrow stores finite float32 values, a whole number of blocks, in a format: the
// bytes that ggml's ggml_quantize_chunk makes of them without weights of
// importance, bit for bit. dst takes f.Bytes(len(src)) bytes. It is the portable
// code on every machine: each sum has a fixed order, and no product is fused with
// one. Values so large that a scale overflows give an infinite one, which
// [BadScale] finds.
func Narrow(dst []byte, src []float32, f Format) {
	if len(src)%f.Block() != 0 {
		panic(fmt.Sprintf("kernel: %d values are no whole number of %v blocks", len(src), f))
	}
	dst = dst[:f.Bytes(len(src))]
	l := layouts[f]
	narrow := narrowers()[f]
	for n := l.values; len(src) > 0; src, dst = src[n:], dst[l.size:] {
		narrow(dst[:l.size:l.size], src[:n:n])
	}
}

// MostNarrow is the magnitude from which no format with blocks has a scale that
// is large enough: 65504 times 128 times 32, the most that Q6_K holds, is less.
const MostNarrow = 1 << 28

// narrowers returns what stores one block of each format.
func narrowers() [formats]func(b []byte, x []float32) {
	return [formats]func(b []byte, x []float32){
		F32:  func(b []byte, x []float32) { binary.LittleEndian.PutUint32(b, math.Float32bits(x[0])) },
		F16:  func(b []byte, x []float32) { putHalf(b, x[0]) },
		BF16: func(b []byte, x []float32) { binary.LittleEndian.PutUint16(b, brainBits(x[0])) },
		Q8_0: narrowQ8_0, Q4_0: narrowQ4_0, Q4_1: narrowQ4_1, Q5_0: narrowQ5_0, Q5_1: narrowQ5_1, IQ4_NL: narrowIQ4_NL,
		Q2_K: narrowQ2_K, Q3_K: narrowQ3_K, Q4_K: narrowQ4_K, Q5_K: narrowQ5_K, Q6_K: narrowQ6_K,
	}
}

func putHalf(b []byte, v float32) { binary.LittleEndian.PutUint16(b, floatToHalf(v)) }

// brainBits rounds to the upper half of a single-precision number, ties to even.
func brainBits(v float32) uint16 {
	bits := math.Float32bits(v)
	if bits&0x7fffffff > 0x7f800000 {
		return uint16(bits>>16) | 0x40
	}
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}

// inverse returns 1/d, and 0 for 0.
func inverse(d float32) float32 {
	if d == 0 {
		return 0
	}
	return 1 / d
}

// furthest returns the value of largest magnitude, the first of equal ones, and
// its magnitude; 0 when all are.
func furthest(x []float32) (value, magnitude float32) {
	for _, v := range x {
		if a := abs(v); a > magnitude {
			value, magnitude = v, a
		}
	}
	return value, magnitude
}

// extent returns the least and the largest value; of zeros of both signs the
// first, whose sign is stored.
func extent(x []float32) (least, most float32) {
	least, most = x[0], x[0]
	for _, v := range x[1:] {
		if v < least {
			least = v
		}
		if v > most {
			most = v
		}
	}
	return least, most
}

func abs(v float32) float32 { return math.Float32frombits(math.Float32bits(v) &^ (1 << 31)) }

// narrowQ8_0: the scale makes the largest magnitude 127; nearest, ties away from 0.
func narrowQ8_0(b []byte, x []float32) {
	_, largest := furthest(x)
	d := largest / 127
	id := inverse(d)
	putHalf(b, d)
	for i, v := range x {
		b[2+i] = byte(int8(math.Round(float64(v * id))))
	}
}

// narrowQ4_0: the scale makes the value of largest magnitude -8, so that all 16
// numbers are used on its side.
func narrowQ4_0(b []byte, x []float32) {
	largest, _ := furthest(x)
	d := largest / -8
	id := inverse(d)
	putHalf(b, d)
	for i := range 16 {
		b[2+i] = centred(x[i], id, 8) | centred(x[i+16], id, 8)<<4
	}
}

func narrowQ5_0(b []byte, x []float32) {
	largest, _ := furthest(x)
	d := largest / -16
	id := inverse(d)
	putHalf(b, d)
	var h uint32
	for i := range 16 {
		low, high := centred(x[i], id, 16), centred(x[i+16], id, 16)
		b[6+i], h = low&15|high<<4, h|uint32(low>>4)<<i|uint32(high>>4)<<(i+16)
	}
	binary.LittleEndian.PutUint32(b[2:], h)
}

// centred returns v in units of the scale, from 0 to 2*half-1 with half for zero.
func centred(v, id, half float32) byte {
	return byte(min(int8(2*half-1), int8(float32(v*id)+(half+0.5))))
}

// narrowQ4_1: from the least value, which is the minimum, to the largest.
func narrowQ4_1(b []byte, x []float32) {
	least, most := extent(x)
	d := (most - least) / 15
	id := inverse(d)
	putHalf(b, d)
	putHalf(b[2:], least)
	for i := range 16 {
		b[4+i] = raised(x[i], least, id, 15) | raised(x[i+16], least, id, 15)<<4
	}
}

func narrowQ5_1(b []byte, x []float32) {
	least, most := extent(x)
	d := (most - least) / 31
	id := inverse(d)
	putHalf(b, d)
	putHalf(b[2:], least)
	var h uint32
	for i := range 16 {
		low, high := raised(x[i], least, id, 31), raised(x[i+16], least, id, 31)
		b[8+i], h = low&15|high<<4, h|uint32(low>>4)<<i|uint32(high>>4)<<(i+16)
	}
	binary.LittleEndian.PutUint32(b[4:], h)
}

// raised returns how far v is above the least value, in units of the scale.
func raised(v, least, id float32, most int8) byte {
	return byte(min(most, int8(float32((v-least)*id)+0.5)))
}

// level returns the number of the nearest level; half way, the upper one.
func level(table *[16]float32, v float32) int {
	n := 0
	for step := 8; step > 0; step /= 2 {
		if v+v >= table[n+step-1]+table[n+step] {
			n += step
		}
	}
	return n
}

// narrowIQ4_NL tries 16 scales around those that make the value of largest
// magnitude the first level, and takes the one whose fit, weighted by the squares
// of the values, is best.
func narrowIQ4_NL(b []byte, x []float32) {
	table := nonlinear()
	clear(b)
	largest, magnitude := furthest(x)
	scale := float32(0)
	fit := func(id float32) (sumqx, sumq2 float32) {
		for _, v := range x {
			q, w := table[level(&table, float32(id*v))], float32(v*v)
			sumqx += float32(float32(w*q) * v)
			sumq2 += float32(float32(w*q) * q)
		}
		return sumqx, sumq2
	}
	if magnitude >= tooSmall {
		sumqx, sumq2 := fit(1 / (-largest / table[0]))
		scale = sumqx / sumq2
		best := scale * sumqx
		for try := float32(-7); try <= 7; try++ {
			sumqx, sumq2 = fit((try + table[0]) / largest)
			if sumq2 > 0 && float32(sumqx*sumqx) > float32(best*sumq2) {
				scale = sumqx / sumq2
				best = scale * sumqx
			}
		}
	}
	putHalf(b, scale)
	id := inverse(scale)
	for i := range 16 {
		b[2+i] = byte(level(&table, float32(id*x[i])) | level(&table, float32(id*x[i+16]))<<4)
	}
}
