package kernel

import (
	"encoding/binary"
	"math"
)

// F16 and BF16 in rounded products: weights and activations become whole numbers of
// 16 bits with a scale per 32 of them, since processors multiply and add pairs of
// such numbers twice as fast as single float32.
//
// A unit's sum of 32 products is kept in 32 bits. That it fits is certain where the
// two sides' lengths, the roots of the sums of squares, are at most wordsLength each
// (Cauchy's inequality; rounding adds at most sqrt(32)/2 to a length), and that is
// how scales are chosen. It leaves both sides 13 to 15 bits: next to the 11 of F16 a
// small loss, which all 32 share where one of them is much larger.
//
// A packed unit of 16 rows is their scales, the upper halves of float32, and 16
// vectors of 64 bytes, each with two neighbouring weights of every row. Scales of
// weights are powers of two, so that weights near a unit's largest are exact.
//
// A rounded unit of activations is the 32 whole numbers and the scale, float32.
const (
	wordsLength  = 46300
	mostWord     = math.MaxInt16
	wordsUnit    = 32
	wordsBytes   = 2 * groupRows * (1 + wordsUnit) // of a packed unit
	wordsRecord  = 2*wordsUnit + 4                 // bytes of a rounded unit
	wordsScaleAt = 2 * wordsUnit
)

// leastOfWords is the magnitude below which a unit of activations is taken to be
// zeros: above it the scale has all its bits.
const leastOfWords = 1.0 / (1 << 100)

// packWords packs one row into a lane of its group.
func packWords(dst, src []byte, f Format, lane int) {
	le := binary.LittleEndian
	var w [wordsUnit]float64
	for ; len(src) > 0; src, dst = src[2*wordsUnit:], dst[wordsBytes:] {
		largest, squares := 0.0, 0.0
		for i := range w {
			w[i] = float64(plainValue(src[2*i:], f))
			largest = max(largest, math.Abs(w[i]))
			squares += float64(w[i] * w[i])
		}
		switch {
		case largest == 0:
			continue // the bytes are zeros
		case !(largest <= math.MaxFloat32):
			le.PutUint16(dst[2*lane:], 0x7fc0) // a scale that is no number
			continue
		}
		// least <= 2^exponent, unless that is no scale.
		least := max(largest/mostWord, math.Sqrt(squares)/wordsLength)
		fraction, exponent := math.Frexp(least)
		if fraction == 0.5 {
			exponent--
		}
		exponent = max(exponent, -126)
		le.PutUint16(dst[2*lane:], uint16(exponent+127)<<7)
		for i, v := range w {
			q := int16(math.RoundToEven(math.Ldexp(v, -exponent)))
			le.PutUint16(dst[2*groupRows+64*(i/2)+4*lane+2*(i%2):], uint16(q))
		}
	}
}

// wordsScale is the scale of a lane's unit.
func wordsScale(w []byte, lane int) float32 {
	return math.Float32frombits(uint32(binary.LittleEndian.Uint16(w[2*lane:])) << 16)
}

// wordsValue is number i of a lane's unit.
func wordsValue(w []byte, lane, i int) int32 {
	return int32(int16(binary.LittleEndian.Uint16(w[2*groupRows+64*(i/2)+4*lane+2*(i%2):])))
}

// portableWords multiplies one row with all activations.
func portableWords(y []float32, ys, lane int, w []byte, units int, x []byte, b int) {
	for j := range b {
		y[j*ys] = 0
	}
	for unit := range units {
		w, x := w[unit*wordsBytes:][:wordsBytes], x[unit*wordsRecord*b:]
		scale := wordsScale(w, lane)
		var q [wordsUnit]int32
		for i := range q {
			q[i] = wordsValue(w, lane, i)
		}
		for j := range b {
			record := x[j*wordsRecord:][:wordsRecord]
			whole := int32(0)
			for i, v := range q {
				whole += v * int32(int16(binary.LittleEndian.Uint16(record[2*i:])))
			}
			y[j*ys] = fma(float32(whole), float32(scale*float(record[wordsScaleAt:])), y[j*ys])
		}
	}
}

func roundByWords(dst []byte, stride int, x []float32) {
	le := binary.LittleEndian
	for ; len(x) > 0; x, dst = x[wordsUnit:], dst[min(stride, len(dst)):] {
		largest := magnitude(x[:wordsUnit])
		inverse := float32(0)
		if largest >= leastOfWords {
			inverse = 1 / largest
		}
		var part [wordsUnit]float32
		for i, v := range x[:wordsUnit] {
			part[i] = v * inverse
		}
		// The length of what is at most 1 neither overflows nor vanishes.
		factor := wordsLength / float32(math.Sqrt(float64(portableDot(part[:], part[:]))))
		if !(factor < mostWord) {
			factor = mostWord
		}
		for i, v := range part {
			q := int32(math.MinInt32) // as hardware has it for NaN
			if p := float32(v * factor); p == p {
				q = int32(math.RoundToEven(float64(p)))
			}
			le.PutUint16(dst[2*i:], uint16(int16(max(q, math.MinInt16))))
		}
		scale := float32(0)
		if inverse != 0 {
			scale = largest / factor
		}
		le.PutUint32(dst[wordsScaleAt:], math.Float32bits(scale+(largest-largest))) // infinity less itself is NaN
	}
}
