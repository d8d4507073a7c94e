package kernel

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"
)

// Format is how stored weights are written. All are little-endian; those after
// BF16 store blocks of values that share one or two half-precision scales, as
// ggml lays them out. What a format's bits mean is in widen_block.go and
// widen_super.go, as the formula of a value and where it rounds.
type Format uint8

const (
	F32    Format = iota // IEEE 754 single precision
	F16                  // IEEE 754 half precision
	BF16                 // the upper half of a single-precision number
	Q8_0                 // blocks of 32, 8 bits and a scale
	Q4_0                 // blocks of 32, 4 bits and a scale
	Q4_1                 // blocks of 32, 4 bits, a scale and a minimum
	Q5_0                 // blocks of 32, 5 bits and a scale
	Q5_1                 // blocks of 32, 5 bits, a scale and a minimum
	IQ4_NL               // blocks of 32, 4 bits that choose from a table, and a scale
	Q2_K                 // blocks of 256, 2 bits, 16 scales and minima of 4 bits
	Q3_K                 // blocks of 256, 3 bits, 16 scales of 6 bits
	Q4_K                 // blocks of 256, 4 bits, 8 scales and minima of 6 bits
	Q5_K                 // blocks of 256, 5 bits, 8 scales and minima of 6 bits
	Q6_K                 // blocks of 256, 6 bits, 16 scales of 8 bits

	formats = iota // how many there are
)

// layout is a format's name, as GGUF spells it, the values of a block, its bytes
// and where in them its half-precision scales and minima are.
type layout struct {
	name         string
	values, size int
	scales       []int
}

var layouts = [formats]layout{
	F32:    {"F32", 1, 4, nil},
	F16:    {"F16", 1, 2, nil},
	BF16:   {"BF16", 1, 2, nil},
	Q8_0:   {"Q8_0", 32, 34, []int{0}},
	Q4_0:   {"Q4_0", 32, 18, []int{0}},
	Q4_1:   {"Q4_1", 32, 20, []int{0, 2}},
	Q5_0:   {"Q5_0", 32, 22, []int{0}},
	Q5_1:   {"Q5_1", 32, 24, []int{0, 2}},
	IQ4_NL: {"IQ4_NL", 32, 18, []int{0}},
	Q2_K:   {"Q2_K", 256, 84, []int{80, 82}},
	Q3_K:   {"Q3_K", 256, 110, []int{108}},
	Q4_K:   {"Q4_K", 256, 144, []int{0, 2}},
	Q5_K:   {"Q5_K", 256, 176, []int{0, 2}},
	Q6_K:   {"Q6_K", 256, 210, []int{208}},
}

// Formats returns all formats.
func Formats() []Format {
	all := make([]Format, formats)
	for i := range all {
		all[i] = Format(i)
	}
	return all
}

// String returns the format's name, as GGUF spells it.
func (f Format) String() string {
	if f < formats {
		return layouts[f].name
	}
	return fmt.Sprintf("format(%d)", uint8(f))
}

// Block returns how many values a block has; 1 for a format without blocks.
func (f Format) Block() int { return layouts[f].values }

// Bytes returns the size of n stored values, a whole number of blocks.
func (f Format) Bytes(n int) int { return n / layouts[f].values * layouts[f].size }

// Widen converts len(dst) stored values, a whole number of blocks, to the
// float32 that ggml makes of them, bit for bit. src holds f.Bytes(len(dst)) bytes
// or more and need not be aligned. An infinite scale gives infinities and NaN.
func (k *Kernels) Widen(dst []float32, src []byte, f Format) {
	if len(dst)%f.Block() != 0 {
		panic(fmt.Sprintf("kernel: %d values are no whole number of %v blocks", len(dst), f))
	}
	src = src[:f.Bytes(len(dst))]
	if len(dst) > 0 {
		k.widen[f](dst, src)
	}
}

// BadScale returns the number of the first block with a scale or minimum that is
// NaN or infinite, and -1 when there is none. With all of them finite, so is
// every value. A format without blocks has no scales.
func BadScale(src []byte, f Format) int {
	const exponent = 0x7c00
	l := &layouts[f]
	for _, at := range l.scales {
		for b := 0; b*l.size < len(src); b++ {
			if binary.LittleEndian.Uint16(src[b*l.size+at:])&exponent == exponent {
				return b
			}
		}
	}
	return -1
}

// View returns stored F32 values as they lie in memory, without a copy. It
// reports false where the bytes are misaligned or the machine is big-endian;
// then [Kernels.Widen] is the way.
func View(src []byte) ([]float32, bool) {
	if len(src) < 4 || !littleEndian() || uintptr(unsafe.Pointer(&src[0]))%unsafe.Alignof(float32(0)) != 0 {
		return nil, false
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&src[0])), len(src)/4), true
}

func littleEndian() bool {
	return binary.NativeEndian.Uint16([]byte{1, 0}) == 1
}

// widener converts whole blocks; dst is not empty and src as long as it must be.
type widener func(dst []float32, src []byte)

// portableWiden defines the formats.
func portableWiden() [formats]widener {
	return [formats]widener{
		F32: widenF32, F16: widenF16, BF16: widenBF16,
		Q8_0: perBlock(Q8_0, widenQ8_0), Q4_0: perBlock(Q4_0, widenQ4_0), Q4_1: perBlock(Q4_1, widenQ4_1),
		Q5_0: perBlock(Q5_0, widenQ5_0), Q5_1: perBlock(Q5_1, widenQ5_1), IQ4_NL: perBlock(IQ4_NL, widenIQ4_NL),
		Q2_K: perBlock(Q2_K, widenQ2_K), Q3_K: perBlock(Q3_K, widenQ3_K), Q4_K: perBlock(Q4_K, widenQ4_K),
		Q5_K: perBlock(Q5_K, widenQ5_K), Q6_K: perBlock(Q6_K, widenQ6_K),
	}
}

// perBlock returns the widener of a format from that of one block.
func perBlock(f Format, block widener) widener {
	l := layouts[f]
	return func(dst []float32, src []byte) {
		for ; len(dst) > 0; dst, src = dst[l.values:], src[l.size:] {
			block(dst[:l.values:l.values], src[:l.size:l.size])
		}
	}
}

func widenF32(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
}

func widenF16(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = half(src[2*i:])
	}
}

func widenBF16(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(src[2*i:])) << 16)
	}
}

// half returns the half-precision number at the start of b.
func half(b []byte) float32 { return halfToFloat(binary.LittleEndian.Uint16(b)) }

// halfToFloat returns the value of an IEEE 754 half-precision number; every one
// is a float32 as well.
func halfToFloat(h uint16) float32 {
	sign, exponent, fraction := uint32(h>>15)<<31, uint32(h>>10)&31, uint32(h)&0x3ff
	switch exponent {
	case 0:
		v := float32(fraction) / (1 << 24)
		return math.Float32frombits(math.Float32bits(v) | sign)
	case 31:
		if fraction != 0 {
			fraction |= 0x200 // a signalling NaN becomes a quiet one, as in hardware
		}
		return math.Float32frombits(sign | 0xff<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}
