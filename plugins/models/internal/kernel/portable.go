package kernel

import (
	"encoding/binary"
	"math"
)

// portableKernels is the definition of every operation.
func portableKernels() *Kernels {
	return &Kernels{
		name: "portable", dots: portableDots, dot: portableDot, add: portableAdd, scaleBy: portableScaleBy,
		rotate: portableRotate, addWeighted: portableAddWeighted,
		scaleMax: portableScaleMax, expSum: portableExpSum, siluMul: portableSiLUMul,
		widenF16: portableWidenF16, widenQ8: portableWidenQ8,
	}
}

func portableDots(y []float32, ys int, w []float32, ws, n int, x []float32, xs, b, k int) {
	for i := range n {
		for j := range b {
			y[j*ys+i] = portableDot(w[i*ws:][:k], x[j*xs:][:k])
		}
	}
}

func portableAdd(dst, x []float32) {
	for i, v := range x {
		dst[i] += v
	}
}

func portableScaleBy(dst, weight []float32, factor float32) {
	for i, v := range dst {
		dst[i] = float32(v*factor) * weight[i]
	}
}

func portableRotate(x, cos, sin []float32) {
	for i := 0; i < len(x); i += 2 {
		a, b := x[i], x[i+1]
		x[i] = float32(a*cos[i]) + float32(b*sin[i])
		x[i+1] = float32(b*cos[i+1]) + float32(a*sin[i+1])
	}
}

// portableDot takes four lanes at a time, so that they stay in registers; the
// order within a lane is what counts.
func portableDot(w, x []float32) float32 {
	var lane [lanes]float32
	x = x[:len(w)]
	for l := 0; l < lanes; l += 4 {
		var a0, a1, a2, a3 float32
		i := l
		for ; i+3 < len(w); i += lanes {
			u, v := w[i:i+4:i+4], x[i:i+4:i+4]
			a0, a1 = fma(u[0], v[0], a0), fma(u[1], v[1], a1)
			a2, a3 = fma(u[2], v[2], a2), fma(u[3], v[3], a3)
		}
		lane[l], lane[l+1], lane[l+2], lane[l+3] = a0, a1, a2, a3
		for j := i; j < min(i+4, len(w)); j++ {
			lane[j%lanes] = fma(w[j], x[j], lane[j%lanes])
		}
	}
	return sumLanes(&lane)
}

// sumLanes folds the lanes in halves.
func sumLanes(lane *[lanes]float32) float32 {
	for half := lanes / 2; half > 0; half /= 2 {
		for i := range half {
			lane[i] += lane[i+half]
		}
	}
	return lane[0]
}

func portableAddWeighted(out, v []float32, vs int, a []float32) {
	for p, weight := range a {
		row := v[p*vs:][:len(out)]
		for i, x := range row {
			out[i] = fma(weight, x, out[i])
		}
	}
}

// portableScaleMax ignores a NaN: it is found in what the exponentials sum to.
func portableScaleMax(s []float32, factor float32) float32 {
	largest := float32(math.Inf(-1))
	for i, v := range s {
		s[i] = v * factor
		if s[i] > largest {
			largest = s[i]
		}
	}
	return largest
}

func portableExpSum(s []float32, shift float32) float32 {
	var lane [lanes]float32
	for i, v := range s {
		e := expStep(v - shift)
		s[i] = e
		lane[i%lanes] += e
	}
	return sumLanes(&lane)
}

func portableSiLUMul(gate, up []float32) {
	for i, g := range gate {
		gate[i] = float32(g/(1+expStep(-g))) * up[i]
	}
}

func portableWidenF16(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = halfToFloat(binary.LittleEndian.Uint16(src[2*i:]))
	}
}

func portableWidenQ8(dst []float32, src []byte) {
	for len(dst) > 0 {
		scale := halfToFloat(binary.LittleEndian.Uint16(src))
		for i, q := range src[2:q8Bytes] {
			dst[i] = scale * float32(int8(q))
		}
		dst, src = dst[q8Block:], src[q8Bytes:]
	}
}

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
