package kernel

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Rounding is what becomes of activations before they are multiplied with packed
// weights: mostly whole numbers from -127 to 127 and a scale. Both ways of that are
// those of ggml on machines with AVX2, so that scores are near those of llama.cpp.
type Rounding uint8

const (
	// ByBlock gives each 32 values a scale d, the largest magnitude over 127, kept
	// in half precision. A value is rounded to the nearest multiple of the unkept
	// d, ties to even. A minimum is multiplied with d times the sum of the whole
	// numbers, d unkept, in half precision (Q8_0 and Q8_1).
	ByBlock Rounding = iota
	// BySuperBlock gives each 256 values a scale in single precision, the inverse
	// of 127 over the largest magnitude (Q8_K).
	BySuperBlock
	// AsIs keeps every value. Of up to 16 rows, a tile, one column lies after the
	// other.
	AsIs
	// ByWords gives each 32 values a scale in single precision, so small that they
	// become whole numbers of up to 16 bits; see words.go.
	ByWords

	roundings = iota
)

// recordBytes is the size of 32 activations rounded to bytes: the whole numbers, and
// where they say so little-endian:
const (
	recordBytes = 64
	scaleAt     = 32 // the scale, float32
	negativeAt  = 36 // the sum of the whole numbers, negative, int32
	shareAt     = 40 // what a minimum is multiplied with: their sum times the scale, float32
	negative16  = 44 // the negative sums of the two halves, int32
	share16     = 52 // what minima of the two halves are multiplied with, float32
)

// least is the magnitude below which a stretch of activations is taken to be
// zeros: its inverse times 127 would be near the largest float32, and weights of
// any size would not make its share visible.
const least = 1.0 / (1 << 119)

// values returns how many activations share a scale.
func (r Rounding) values() int {
	return [roundings]int{ByBlock: 32, BySuperBlock: 256, AsIs: 1, ByWords: wordsUnit}[r]
}

// tileRows is how many rows of activations lie between each other as they are.
const tileRows = 16

// Together returns how many rows from a multiple of it on are best rounded by one
// thread, for what they share.
func (r Rounding) Together() int {
	if r == AsIs {
		return tileRows
	}
	return 1
}

// RoundedBytes returns the size of b rounded rows of cols values.
func (r Rounding) RoundedBytes(cols, b int) int {
	if r == AsIs {
		return 4 * cols * b
	}
	return cols / 32 * r.recordBytes() * b
}

// recordBytes is the size of 32 rounded activations.
func (r Rounding) recordBytes() int {
	if r == ByWords {
		return wordsRecord
	}
	return recordBytes
}

// Round writes x as row j of b into dst, which holds the rounded rows. Rows lie
// next to each other, 32 values of one beside 32 of the next, or one beside one;
// the result for one does not depend on the others. The length of x is a whole
// number of 32 or 256 values where those share a scale; where one of them is NaN or
// infinite, so is the scale.
func (k *Kernels) Round(dst []byte, x []float32, r Rounding, j, b int) {
	if len(x)%r.values() != 0 || j < 0 || j >= b {
		panic(fmt.Sprintf("kernel: row %d of %d with %d activations cannot be rounded", j, b, len(x)))
	}
	switch {
	case len(x) == 0:
	case r == AsIs:
		tile := j / tileRows * tileRows
		interleave(dst[r.RoundedBytes(len(x), tile):], x, j-tile, min(tileRows, b-tile))
	default:
		size := r.recordBytes()
		k.round[r](dst[j*size:r.RoundedBytes(len(x), b)], b*size, x)
	}
}

// Rest sets rest to what [Kernels.Round], ByBlock or BySuperBlock, left of x as row
// j of b: x less the whole numbers times their scale, rounded twice, to float64 and
// to float32. rest may be x. NaN where the scale is.
func Rest(rest []float32, rounded []byte, x []float32, j, b int) {
	le, rounded := binary.LittleEndian, rounded[:BySuperBlock.RoundedBytes(len(x), b)]
	rest = rest[:len(x)]
	for i := 0; i < len(x); i += 32 {
		record := rounded[(i/32*b+j)*recordBytes:][:recordBytes]
		scale := float64(math.Float32frombits(le.Uint32(record[scaleAt:])))
		for l, v := range x[i : i+32] {
			// The product is exact, so that it does not matter whether it is fused.
			rest[i+l] = float32(float64(v) - scale*float64(int8(record[l])))
		}
	}
}

// interleave writes x as row j of a tile.
func interleave(dst []byte, x []float32, j, rows int) {
	dst = dst[:4*rows*len(x)]
	for c, v := range x {
		binary.LittleEndian.PutUint32(dst[4*(c*rows+j):], math.Float32bits(v))
	}
}

// rounder writes the records of x, stride bytes apart.
type rounder func(dst []byte, stride int, x []float32)

func portableRound() [roundings]rounder {
	return [roundings]rounder{ByBlock: roundByBlock, BySuperBlock: roundBySuperBlock, ByWords: roundByWords}
}

// magnitude returns the largest |x[i]|; NaN when there is one.
func magnitude(x []float32) float32 {
	bits := uint32(0)
	for _, v := range x {
		bits = max(bits, math.Float32bits(v)&(1<<31-1))
	}
	return math.Float32frombits(bits)
}

func roundByBlock(dst []byte, stride int, x []float32) {
	for ; len(x) > 0; x, dst = x[32:], dst[min(stride, len(dst)):] {
		largest := magnitude(x[:32])
		// Infinity less itself is NaN.
		scale, factor := float32(largest/127)+(largest-largest), float32(0)
		if largest >= least {
			factor = 127 / largest
		} else if largest < least {
			scale = 0
		}
		kept := halfToFloat(floatToHalf(scale))
		roundBlock(dst, x[:32], factor, kept, func(sum int32) float32 {
			return halfToFloat(floatToHalf(scale * float32(sum)))
		})
	}
}

func roundBySuperBlock(dst []byte, stride int, x []float32) {
	for ; len(x) > 0; x = x[256:] {
		largest := magnitude(x[:256])
		scale, factor := largest-largest, float32(0)
		if largest >= least {
			factor = 127 / largest
			scale += 1 / factor
		}
		for i := 0; i < 256; i += 32 {
			roundBlock(dst, x[i:i+32], factor, scale, func(sum int32) float32 { return scale * float32(sum) })
			dst = dst[min(stride, len(dst)):]
		}
	}
}

// roundBlock writes one record.
func roundBlock(dst []byte, x []float32, factor, scale float32, share func(sum int32) float32) {
	le := binary.LittleEndian
	var sums [2]int32
	for i, v := range x {
		q := int32(math.MinInt32) // as hardware has it for NaN
		if p := float32(v * factor); p == p {
			q = int32(math.RoundToEven(float64(p)))
		}
		sums[i/16] += q
		dst[i] = byte(int8(max(q, math.MinInt8)))
	}
	le.PutUint32(dst[scaleAt:], math.Float32bits(scale))
	le.PutUint32(dst[negativeAt:], uint32(-(sums[0] + sums[1])))
	le.PutUint32(dst[shareAt:], math.Float32bits(share(sums[0]+sums[1])))
	for i, sum := range sums {
		le.PutUint32(dst[negative16+4*i:], uint32(-sum))
		le.PutUint32(dst[share16+4*i:], math.Float32bits(share(sum)))
	}
	le.PutUint32(dst[share16+8:], 0)
}

// floatToHalf rounds to half precision, ties to even; what is too large becomes
// infinite.
func floatToHalf(v float32) uint16 {
	bits := math.Float32bits(v)
	sign, bits := uint16(bits>>16&0x8000), bits&(1<<31-1)
	switch {
	case bits > 0xff<<23: // NaN
		return sign | 0x7e00
	case bits >= (127+16)<<23:
		return sign | 0x7c00
	case bits < (127-14)<<23: // a multiple of 2^-24, exact in float64
		return sign | uint16(math.RoundToEven(float64(math.Float32frombits(bits))*(1<<24)))
	}
	bits += 0xfff + bits>>13&1 // may carry into the exponent, as it should
	return sign | uint16(bits>>13-(127-15)<<10)
}
