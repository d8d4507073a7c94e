package compat

import (
	"math"

	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// Rules that several of the torch systems share: text-generation-webui runs the
// classes of transformers for the methods both have, and aphrodite's first
// versions were vLLM's.

// torchTopKRule keeps every token not below the k-th largest; k <= 0 is off.
func torchTopKRule(x []float32, _ *sampler.Row, set param.Values) []bool {
	k := set.Int("top_k")
	if k <= 0 {
		return nil
	}
	k = min(max(k, set.Int("min_keep")), int64(len(x)))
	return keepFrom(x, kth(x, int(k)))
}

// topPFrom keeps what is left when the least likely tokens go as long as their
// running mass is at most rest; the least likeliest stay in any case. Tied
// tokens go in order of id.
func topPFrom(x []float32, rest float32, least int64) []bool {
	order := ascending(x)
	p := torchSoftmax(gather(x, order))
	torchCumsum(p)
	keep := make([]bool, len(x))
	for i, id := range order {
		keep[id] = !(p[i] <= rest) || int64(len(x)-i) <= least
	}
	return keep
}

// hfTopP subtracts in float64, as a Python number is, and rounds then.
func hfTopP(x []float32, _ *sampler.Row, set param.Values) []bool {
	return topPFrom(x, float32(1-set.Float("top_p")), max(1, set.Int("min_keep")))
}

// tensorTopP subtracts in float32, where p is a tensor.
func tensorTopP(x []float32, _ *sampler.Row, set param.Values) []bool {
	return topPFrom(x, 1-float(set, "top_p"), max(1, set.Int("min_keep")))
}

// torchMinP compares probabilities, not scores.
func torchMinP(x []float32, _ *sampler.Row, set param.Values) []bool {
	p := torchSoftmax(x)
	top := laneFold(p, func(a, b float32) float32 { return max(a, b) })
	keep := keepFrom(p, float32(float(set, "min_p")*top))
	if least := set.Int("min_keep"); least > 1 {
		keepFirst(keep, descending(x), least)
	}
	return keep
}

// hfCut is the cut of epsilon and eta in transformers, which spares every token
// tied with the last of the min_keep likeliest.
func hfCut(x, p []float32, floor float32, least int64) []bool {
	keep := keepFrom(p, floor)
	spare := kth(x, int(min(max(1, least), int64(len(x)))))
	for i, v := range x {
		keep[i] = keep[i] || v >= spare
	}
	return keep
}

// torchTopA keeps probabilities not below a multiple of the square of the
// largest.
func torchTopA(x []float32, _ *sampler.Row, set param.Values) []bool {
	p := torchSoftmax(x)
	top := laneFold(p, func(a, b float32) float32 { return max(a, b) })
	return keepFrom(p, float32(top*top*float(set, "top_a")))
}

// torchTailFree is the centred tail-free rule, which drops the last token in any
// case and, without curvature, that one only.
func torchTailFree(x []float32, _ *sampler.Row, set param.Values) []bool {
	keep := make([]bool, len(x))
	order := descending(x)
	keep[order[0]] = true
	if len(x) < 3 {
		return keep
	}
	p := torchSoftmax(gather(x, order))
	curve := make([]float32, len(p)-2)
	for i := range curve {
		a, b := p[i+1]-p[i], p[i+2]-p[i+1]
		curve[i] = float32(math.Abs(float64(b - a)))
	}
	total := torchSum(curve)
	for i := range curve {
		curve[i] /= total
	}
	torchCumsum(curve)
	z := float(set, "tfs")
	for i, sum := range curve {
		keep[order[i+1]] = !(sum > z)
	}
	return keep
}

// torchEntropy returns the negated entropy in nats of a row of log
// probabilities; tokens of probability 0 count as 0.
func torchEntropy(p, logp []float32) float32 {
	term := make([]float32, len(p))
	for i := range p {
		term[i] = float32(p[i] * logp[i])
	}
	return torchNanSum(term)
}

// torchExp returns the exponentials of a row.
func torchExp(x []float32) []float32 {
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = exp32(v)
	}
	return out
}

// excludeTop removes the tokens, in the order of likeliness given, that are
// followed by one of probability t or more.
func excludeTop(p []float32, order []int32, t float32) []bool {
	keep := make([]bool, len(p))
	for i, id := range order {
		keep[id] = i+1 == len(order) || !(p[order[i+1]] >= t)
	}
	return keep
}

// divide divides a row by a temperature.
func divide(x []float32, t float32) {
	for i := range x {
		x[i] /= t
	}
}

// torchDynatemp turns a way of dividing by a temperature between two into the
// rule of a stage.
func torchDynatemp(rule func(x []float32, low, high, exponent float64)) ruleFunc {
	return func(row *sampler.Row, set param.Values) error {
		t, r := set.Float("temperature"), set.Float("range")
		low, high := set.Float("low"), set.Float("high")
		switch {
		case low == -1 && high == -1:
			low, high = max(0, t-r), t+r
		case low < 0 || high < low:
			return fault.New(fault.Usage, "dynatemp", "", "low = %v and high = %v are no limits", low, high).
				Fix("give both with 0 <= low <= high, or neither")
		}
		return torchChange("dynatemp", func(x []float32, _ *sampler.Row, set param.Values) {
			rule(x, low, high, set.Float("exponent"))
		})(row, set)
	}
}
