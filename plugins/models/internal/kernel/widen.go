package kernel

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"
)

// Format is how stored weights are written. All are little-endian.
type Format uint8

const (
	F32  Format = iota // IEEE 754 single precision
	F16                // IEEE 754 half precision
	Q8_0               // blocks of 32: a half-precision scale, then 32 signed bytes; value = scale*byte, exact in float32
)

const (
	q8Block = 32
	q8Bytes = 2 + q8Block
)

// String returns the format's name, as GGUF spells it.
func (f Format) String() string {
	switch f {
	case F32:
		return "F32"
	case F16:
		return "F16"
	case Q8_0:
		return "Q8_0"
	}
	return fmt.Sprintf("format(%d)", uint8(f))
}

// Bytes returns the size of n stored values; for Q8_0, n is a multiple of 32.
func (f Format) Bytes(n int) int {
	switch f {
	case F32:
		return 4 * n
	case F16:
		return 2 * n
	case Q8_0:
		return n / q8Block * q8Bytes
	}
	panic("kernel: unknown " + f.String())
}

// Widen converts len(dst) stored values to float32, exactly. src holds
// f.Bytes(len(dst)) bytes or more and need not be aligned.
func (k *Kernels) Widen(dst []float32, src []byte, f Format) {
	src = src[:f.Bytes(len(dst))]
	if len(dst) == 0 {
		return
	}
	switch f {
	case F32:
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
		}
	case F16:
		k.widenF16(dst, src)
	case Q8_0:
		k.widenQ8(dst, src)
	}
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
