package kernel

import "math"

// The functions of this file have one implementation, in plain Go, for every
// machine: few models need them, or they are a small part of the work.

// Cap replaces x[i] by limit*tanh(factor*x[i]/limit), which keeps it between
// -limit and limit (Gemma 2, 2024). factor and limit are positive. The error is
// below 3e-7 of the limit.
func Cap(x []float32, factor, limit float32) {
	factor = 2 * factor / limit
	for i, v := range x {
		// tanh(y) = (1-e^(-2y))/(1+e^(-2y)), for y >= 0 so that e^(-2y) is small.
		e := expStep(-float32(math.Abs(float64(float32(v * factor)))))
		y := float32(limit * float32(float32(1-e)/float32(1+e)))
		if v < 0 {
			y = -y
		}
		x[i] = y
	}
}

// LayerNorm replaces x[i] by (x[i]-mean)/sqrt(variance+epsilon)*weight[i], plus
// bias[i] unless bias is nil (Ba, Kiros and Hinton 2016). Mean and variance are
// summed in float64 in ascending order.
func LayerNorm(x, weight, bias []float32, epsilon float32) {
	sum := 0.0
	for _, v := range x {
		sum += float64(v)
	}
	mean := sum / float64(len(x))
	square := 0.0
	for _, v := range x {
		d := float64(v) - mean
		square += float64(d * d)
	}
	scale := 1 / math.Sqrt(square/float64(len(x))+float64(epsilon))
	weight = weight[:len(x)]
	for i, v := range x {
		x[i] = float32(float64(float64(v)-mean)*scale) * weight[i]
	}
	if bias != nil {
		portableAdd(x, bias[:len(x)])
	}
}

// RotateHalves turns the pairs (x[i], x[i+n/2]), n = len(x), by an angle each.
// cos and sin are those that [Kernels.Rotate] takes for the pairs in order.
func RotateHalves(x, cos, sin []float32) {
	if len(x)%2 != 0 {
		panic("kernel: rotation of an odd number of elements")
	}
	low, high := x[:len(x)/2], x[len(x)/2:]
	cos, sin = cos[:len(x)], sin[:len(x)]
	for i, a := range low {
		b, c, s := high[i], cos[2*i], sin[2*i+1]
		low[i] = float32(a*c) - float32(b*s)
		high[i] = float32(b*c) + float32(a*s)
	}
}

// Scale multiplies x[i] by factor.
func Scale(x []float32, factor float32) {
	for i := range x {
		x[i] *= factor
	}
}
