package kernel

import "math"

// portableKernels is the definition of every operation.
func portableKernels() *Kernels {
	return &Kernels{
		name: "portable", dots: portableDots, dot: portableDot, add: portableAdd, scaleBy: portableScaleBy,
		rotate: portableRotate, addWeighted: portableAddWeighted,
		scaleMax: portableScaleMax, expSum: portableExpSum, siluMul: portableSiLUMul,
		gelu: portableGELU, geluMul: portableGELUMul,
		widen: portableWiden(), round: portableRound(),
		products: portableProducts(),
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

func portableAddWeighted(out []float32, os, b int, v []float32, vs, n int, a []float32, as, length int) {
	for j := range b {
		sum := out[j*os:][:length]
		for p, weight := range a[j*as:][:n] {
			for i, x := range v[p*vs:][:length] {
				sum[i] = fma(weight, x, sum[i])
			}
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

func portableGELU(x []float32) {
	for i, v := range x {
		x[i] = gelu(v)
	}
}

func portableGELUMul(gate, up []float32) {
	for i, g := range gate {
		gate[i] = gelu(g) * up[i]
	}
}

func gelu(g float32) float32 {
	const (
		linear = 2 * 0.7978845608028654 // twice sqrt(2/π)
		cubic  = linear * 0.044715
	)
	square := float32(g * g)
	u := float32(g * float32(linear+float32(cubic*square)))
	return g / float32(1+expStep(-u))
}
