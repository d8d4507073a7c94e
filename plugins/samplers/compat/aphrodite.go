package compat

import (
	"math"
	"slices"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// coldest is the lowest temperature of aphrodite.
const coldest = 2e-5

// aphrodite returns aphrodite-engine's rules (January 2025,
// modeling/layers/sampler.py).
func aphrodite() []Rule {
	return slices.Concat(aphroditeRescale(), vllmTruncate(Aphrodite, -1), aphroditeTruncate(), aphroditeHistory(), []Rule{
		{
			Sampler: "skew", Term: "skew",
			Differs: "the running sum goes over tokens in order of id instead of rank, so it is ids that are favoured; float32",
			Needs:   sampler.Needs{Uniforms: 1},
			Apply:   aphroditeSkew,
		},
		{Sampler: "greedy", Term: "temperature=0"},
		{Sampler: "sample", Term: "random sampling", Differs: raceDiffers},
	})
}

func aphroditeRescale() []Rule {
	return []Rule{
		{
			Sampler: "temperature", Term: "temperature",
			Differs: "temperatures below 0.00002, 0 and negative ones included, are raised to it, and below 0.1 the scores are first shifted so that the largest is 1",
			Params:  param.Specs{anyFloat("temperature", 1, "what the scores are divided by; below 0.00002 the same as 0.00002", "t", "temp")},
			Apply: torchChange("temperature", func(x []float32, _ *sampler.Row, set param.Values) {
				aphroditeDivide(x, float(set, "temperature"))
			}),
		},
		{
			Sampler: "dynatemp", Term: "dynatemp_min, dynatemp_max, dynatemp_exponent",
			Differs: "a single candidate is divided by the lowest temperature of all, 0.00002, instead of being left alone; float32",
			Apply:   torchDynatemp(aphroditeDynatemp),
		},
		{
			Sampler: "quadratic", Term: "smoothing_factor, smoothing_curve",
			Differs: "float32; a curve below 1 turns removed tokens into NaN there, which is refused here",
			Params: param.Specs{
				anyFloat("factor", 0, "how strongly scores below the largest are pulled down; 0 is off", "smoothing_factor"),
				anyFloat("curve", 1, "share of the cube; 1 is the square alone", "smoothing_curve"),
			},
			Apply: torchChange("quadratic", aphroditeQuadratic),
		},
	}
}

func aphroditeDynatemp(x []float32, low, high, exponent float64) {
	logp := torchLogSoftmax(x)
	h := -torchEntropy(torchExp(logp), logp)
	valid := 0
	for _, v := range x {
		if dist.Finite(v) {
			valid++
		}
	}
	share := pow32(h/log32(float32(valid)), float32(exponent))
	aphroditeDivide(x, float32(low)+float32((float32(high)-float32(low))*share))
}

func aphroditeDivide(x []float32, t float32) {
	if !(t > coldest) {
		t = coldest
	}
	if t < 0.1 {
		top := slices.Max(x) - 1
		for i := range x {
			x[i] -= top
		}
	}
	divide(x, t)
}

func aphroditeQuadratic(x []float32, _ *sampler.Row, set param.Values) {
	f, c := float(set, "factor"), float(set, "curve")
	if f == 0 {
		return
	}
	k, s := f*(3-c)/2, f*(c-1)/2
	top := slices.Max(x)
	for i, v := range x {
		d := v - top
		d -= float32(d * d * (float32(s*d) - k))
		if d == d { // infinities that cancel leave a score alone
			x[i] -= d
		}
	}
}

func aphroditeTruncate() []Rule {
	return []Rule{
		{
			Sampler: "top_a", Term: "top_a",
			Differs: "float32 probabilities, and nothing guards the likeliest token: a large a can remove every one, which is an error here",
			Params: param.Specs{{Name: "top_a", Aliases: []string{"a"}, Type: param.Float, Default: 0.0, Min: 0, Max: math.Inf(1),
				Meaning: "least probability, as a multiple of the square of the largest; 0 keeps all"}, lacks("min_keep", Aphrodite)},
			Apply: torchKeep("top_a", torchTopA),
		},
		{
			Sampler: "tfs", Term: "tfs",
			Differs: "the least likely token goes in any case, the one of the highest id when all are equal; float32; it crashes on a vocabulary of one token, which is an error here",
			Params:  param.Specs{unit("tfs", 1, false, false, "share of the curvature to keep; the last token goes at 1, too", "z", "tfs_z"), lacks("min_keep", Aphrodite)},
			Apply: func(row *sampler.Row, set param.Values) error {
				if row.Scores.Vocab == 1 {
					return fault.New(fault.Data, "tfs", Aphrodite, "that system's rule fails for a vocabulary of one token").Fix("leave compat or the stage out")
				}
				return torchKeep("tfs", torchTailFree)(row, set)
			},
		},
		{
			Sampler: "top_n_sigma", Term: "nsigma",
			Differs: "the deviation is that of a sample (n-1) and NaN when a token was removed before, and then nothing is cut; 0 keeps the likeliest tokens instead of being off, and a negative number removes every one, which is an error here",
			Params:  param.Specs{anyFloat("top_n_sigma", 0, "how many deviations below the largest score a token may be", "n", "nsigma"), lacks("min_keep", Aphrodite)},
			Apply: torchKeep("top_n_sigma", func(x []float32, _ *sampler.Row, set param.Values) []bool {
				return keepFrom(x, slices.Max(x)-float32(float(set, "top_n_sigma")*torchStd(x)))
			}),
		},
		{
			Sampler: "epsilon", Term: "epsilon_cutoff",
			Differs: "1 is allowed and keeps the likeliest token; its interface takes the number in units of 0.0001, here it is plain",
			Params:  param.Specs{unit("epsilon", 0, false, false, "least probability of a token; 0 keeps all", "epsilon_cutoff", "eta_cutoff"), lacks("min_keep", Aphrodite)},
			Apply: torchKeep("epsilon", func(x []float32, _ *sampler.Row, set param.Values) []bool {
				return spareBest(torchSoftmax(x), float(set, "epsilon"))
			}),
		},
		{
			Sampler: "eta", Term: "eta_cutoff",
			Differs: "float32 entropy; 1 is allowed; its interface takes the number in units of 0.0001, here it is plain",
			Params:  param.Specs{unit("epsilon", 0, false, false, "bound of the least probability of a token; 0 keeps all", "epsilon_cutoff", "eta_cutoff"), lacks("min_keep", Aphrodite)},
			Apply: torchKeep("eta", func(x []float32, _ *sampler.Row, set param.Values) []bool {
				logp := torchLogSoftmax(x)
				p := torchExp(logp)
				e := float(set, "epsilon")
				return spareBest(p, min(e, float32(math.Sqrt(float64(e)))*exp32(torchEntropy(p, logp))))
			}),
		},
		{
			Sampler: "typical", Term: "typical_p",
			Differs: "the token that reaches the mass is dropped, in float32, unless it is the first; 1 is no special case, and any number is taken",
			Params:  param.Specs{anyFloat("typical", 1, "mass that must not be reached", "p", "typical_p", "typ_p", "mass"), lacks("min_keep", Aphrodite)},
			Apply:   torchKeep("typical", aphroditeTypical),
		},
		{
			Sampler: "xtc", Term: "xtc_probability, xtc_threshold",
			Differs: "compares and sorts float32 probabilities, so tokens that round to the same one are tied; no tokens can be protected",
			Params:  param.Specs{lacks("mode", Aphrodite), lacks("min_keep", Aphrodite)},
			Needs:   sampler.Needs{Uniforms: 1},
			Apply:   aphroditeXTC,
		},
	}
}

// spareBest keeps what is not below floor, and the first of the likeliest.
func spareBest(p []float32, floor float32) []bool {
	keep := keepFrom(p, floor)
	best := 0
	for i, v := range p {
		if v > p[best] {
			best = i
		}
	}
	keep[best] = true
	return keep
}

func aphroditeXTC(row *sampler.Row, set param.Values) error {
	if len(set.Tokens("protect")) > 0 {
		return fault.New(fault.Usage, "xtc", "protect", "%s has no protected tokens", Aphrodite).Fix("leave the list empty, or leave compat out")
	}
	return torchKeep("xtc", func(x []float32, row *sampler.Row, set param.Values) []bool {
		if row.Uniforms[0] >= set.Float("probability") {
			return nil
		}
		p := torchSoftmax(x)
		return excludeTop(p, descending(p), float(set, "threshold"))
	})(row, set)
}

func aphroditeTypical(x []float32, _ *sampler.Row, set param.Values) []bool {
	logp := torchLogSoftmax(x)
	p := torchExp(logp)
	h := torchEntropy(p, logp)
	away := make([]float32, len(x))
	for i, v := range logp {
		away[i] = float32(math.Abs(float64(h - v)))
	}
	order := ascending(away)
	sum := gather(p, order)
	torchCumsum(sum)
	mass := float(set, "typical")
	keep := make([]bool, len(x))
	for i, id := range order {
		keep[id] = i == 0 || !(sum[i] >= mass)
	}
	return keep
}

func aphroditeHistory() []Rule {
	return append(vllmPenalty().rules(), []Rule{
		{Sampler: "no_repeat_ngram", Term: "no_repeat_ngram_size"},
		{Sampler: "min_new_tokens", Term: "min_tokens"},
		{Sampler: "logit_bias", Term: "logit_bias"},
		{Sampler: "bad_words", Term: "custom_token_bans"},
		{Sampler: "ignore_eos", Term: "ignore_eos"},
		{
			Sampler: "dry", Term: "dry_multiplier, dry_base, dry_allowed_length, dry_sequence_breaker_ids, dry_range",
			Differs: "a repetition counts for at most 100 tokens; one shorter than allowed is penalised as well, breakers are penalised, a context hardly longer than allowed never is, and an empty one is an error, as it crashes there",
			Params:  dryParams(0, "newest tokens looked at; 0 and below is all"),
			Needs:   sampler.Needs{History: -1},
			Apply:   torchDryRule(aphroditeDry),
		},
	}...)
}

// aphroditeSkew bends the running sum over ids and draws from what that leaves.
// A token whose chance rounds to 0 is removed.
func aphroditeSkew(row *sampler.Row, set param.Values) error {
	skew := float(set, "skew")
	var sum []float32
	bend := func(x []float32, _ *sampler.Row, _ param.Values) {
		sum = torchSoftmax(x)
		torchCumsum(sum)
		last, power := float32(0), exp32(skew)
		for i, s := range sum {
			if skew != 0 {
				sum[i] = pow32(s, power)
				x[i] = log32(sum[i] - last)
			}
			last = sum[i]
		}
	}
	if err := torchChange("skew", bend)(row, set); err != nil {
		return err
	}
	goal := row.Uniforms[0] * float64(sum[len(sum)-1])
	for i, v := range row.Scores.Values {
		if id := row.Scores.ID(i); dist.Finite(v) {
			row.Chosen = id // the last of the support when rounding keeps the sum below
			if float64(sum[id]) > goal {
				break
			}
		}
	}
	return nil
}
