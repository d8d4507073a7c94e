package compat

import (
	"fmt"
	"math"
	"slices"

	"lab/core/dist"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

func exllamaRescale() []Rule {
	return []Rule{
		{
			Sampler: "temperature", Term: "temperature",
			Differs: "below 0.01 it keeps the first of the maxima",
			Params:  param.Specs{anyFloat("temperature", 0.8, "what the scores are divided by; below 0.01 keeps the likeliest token only", "t", "temp")},
			Apply: func(row *sampler.Row, set param.Values) error {
				t := float(set, "temperature")
				if set.Float("temperature") < 0.01 && (row.Scores.Len() > 1 || t <= 0) {
					return onPool("temperature", func(param.Values) bool { return false },
						func(x *pool, _ param.Values) int { return x.first(1) })(row, set)
				}
				return redistance(row, "temperature", 1/t, func(d float32) float32 { return d * (1 / t) })
			},
		},
		{
			Sampler: "quadratic", Term: "smoothing_factor",
			Differs: "the square only, folded into the softmax: with a temperature there it is exp(-factor d^2 / t), which a stage of its own gives at t = 1",
			Params: param.Specs{
				anyFloat("factor", 0, "how strongly scores below the largest are pulled down; 0 and below is off", "smoothing_factor"),
				curveSpec("ExLlamaV2 has no other"),
			},
			Apply: func(row *sampler.Row, set param.Values) error {
				factor := float(set, "factor")
				if factor <= 0 {
					return nil
				}
				inverse := 1 / float32(1/factor)
				return redistance(row, "quadratic", 1, func(d float32) float32 { return float32(d*-d) * inverse })
			},
		},
		{
			Sampler: "dynatemp", Term: "min_temp, max_temp, temp_exponent",
			Differs: "works on the probabilities, masked tokens counted, and so belongs behind the truncations; off when its two temperatures are equal and the temperature is 1",
			Params:  dynatempParams(1),
			Apply:   exllamaDynatemp,
		},
	}
}

func exllamaHistory() []Rule {
	return nativePenalty{
		repeat:    "token_repetition_penalty, token_repetition_range, token_repetition_decay",
		frequency: "token_frequency_penalty", presence: "token_presence_penalty",
		differs: "behind the window the penalties fade to nothing over the number of tokens that decay gives; a window of -1 is the whole context, and any factor is taken (its own settings start from 1.025)",
		window:  windowSpec(-1, -1, "newest tokens with the full penalties; -1 is the whole context"),
		more: param.Specs{{Name: "decay", Type: param.Int, Default: int64(0), Min: 0, Max: math.MaxInt32, Unit: "tokens",
			Meaning: "tokens before the window over which the penalties fade; 0: none"}},
		apply: exllamaPenalties,
	}.rules()
}

// redistance replaces every score by what shape makes of its distance, below 0,
// from the largest, and the largest by scale times itself, or by 0 where that is
// beyond the range of float32: the softmax knows distances only. A token that
// was not masked stays unmasked.
func redistance(row *sampler.Row, op string, scale float32, shape func(d float32) float32) error {
	if err := listed(row, op); err != nil {
		return err
	}
	values := row.Scores.Values
	top := slices.Max(values)
	zero := float64(float64(top) * float64(scale))
	if math.Abs(zero) > math.MaxFloat32 {
		zero = 0
	}
	for i, v := range values {
		if dist.Finite(v) {
			values[i] = float32(max(zero+float64(shape(v-top)), -math.MaxFloat32))
		}
	}
	return nil
}

func exllamaDynatemp(row *sampler.Row, set param.Values) error {
	const op = "dynatemp"
	t, r := float(set, "temperature"), float(set, "range")
	lo, hi := max(0, t-r), t+r
	if v := float(set, "low"); v >= 0 {
		lo = v
	}
	if v := float(set, "high"); v >= 0 {
		hi = v
	}
	if row.Scores.Len() < 2 || !(hi > lo) && t == 1 {
		return nil
	}
	x, err := poolOf(row, op)
	if err != nil {
		return err
	}
	if hi > lo {
		h := float32(0)
		for _, p := range x.p {
			if p > 0 {
				h -= float32(p * logf(p))
			}
		}
		share := h / -logf(1/float32(len(x.p)))
		t = lo + float32((hi-lo)*powf(share, float(set, "exponent")))
	}
	if !(t > 0) {
		return broken(row, op, fmt.Sprintf("raises probabilities to the power 1/%v", t))
	}
	return redistance(row, op, 1/t, func(d float32) float32 { return d * (1 / t) })
}

// exllamaPenalties walks back through the context. A token's factor and
// presence penalty are those of its newest occurrence.
func exllamaPenalties(row *sampler.Row, set param.Values, repeat, frequency, presence float32) error {
	full, fade := set.Int("last_n"), set.Int("decay")
	n := int64(len(row.History))
	if full < 0 || full > n {
		full = n
	}
	var dr, df, dp float32
	if fade > 0 {
		dr, df, dp = (1-repeat)/float32(fade), -frequency/float32(fade), -presence/float32(fade)
	}
	seen := map[int32]bool{}
	for back := int64(1); back <= min(full+fade, n); back++ {
		id := row.History[n-back]
		if i := row.Scores.Index(id); i >= 0 {
			v := row.Scores.Values[i]
			if !seen[id] {
				seen[id] = true
				v = penalise(v, repeat) - presence
			}
			row.Scores.Values[i] = v - frequency
		}
		if back > full {
			repeat, frequency, presence = repeat+dr, frequency+df, presence+dp
		}
	}
	return nil
}
