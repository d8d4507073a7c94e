package compat

import (
	"math"
	"slices"

	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// transformers returns the rules of Hugging Face transformers 5
// (generation/logits_process.py on PyTorch, CPU).
func transformers() []Rule {
	return slices.Concat(hfShared(), hfTruncate(), hfHistory(), hfRest())
}

// hfKeep is min_keep where it must be positive.
func hfKeep() param.Spec {
	s := minKeep(1)
	s.Min = 1
	return s
}

// hfShared holds the methods that text-generation-webui takes from transformers:
// see webuiShared.
func hfShared() []Rule {
	cutoffs := []string{"epsilon_cutoff", "eta_cutoff"}
	return []Rule{
		{
			Sampler: "temperature", Term: "temperature",
			Differs: "divides in float32 without a shift, so a large score can overflow, which is refused here, and 0 is not allowed",
			Params: param.Specs{{Name: "temperature", Aliases: []string{"t", "temp"}, Type: param.Float, Default: 1.0, Min: 0, MinOpen: true,
				Max: math.Inf(1), Meaning: "what the scores are divided by; 1 changes nothing, 0 is an error"}},
			Apply: torchChange("temperature", func(x []float32, _ *sampler.Row, set param.Values) { divide(x, float(set, "temperature")) }),
		},
		{
			Sampler: "top_k", Term: "top_k",
			Differs: "keeps every token tied with the k-th, and 0 is not allowed",
			Params: param.Specs{{Name: "top_k", Aliases: []string{"k"}, Type: param.Int, Default: int64(50), Min: 1, Max: math.Inf(1),
				Unit: "tokens", Meaning: "how many tokens to keep, more where some tie with the last"}, hfKeep(), lacks("ties", Transformers)},
			Apply: torchKeep("top_k", torchTopKRule),
		},
		{
			Sampler: "top_p", Term: "top_p",
			Differs: "sums from the least likely token up and drops while the sum is at most 1 - p, in float32, so of tied tokens those of the highest ids stay",
			Params:  param.Specs{unit("top_p", 1, false, false, "mass of the nucleus; 0 keeps one token", "p"), hfKeep()},
			Apply:   torchKeep("top_p", hfTopP),
		},
		{
			Sampler: "typical", Term: "typical_p",
			Differs: "keeps every token whose deviation from the entropy equals the last one's, in float32, and neither 0 nor 1 is allowed",
			Params:  param.Specs{unit("typical", 0.9, true, true, "mass to keep, between 0 and 1", "p", "typical_p", "typ_p", "mass"), hfKeep()},
			Apply:   torchKeep("typical", hfTypical),
		},
		{
			Sampler: "epsilon", Term: "epsilon_cutoff",
			Differs: "when nothing passes, every token tied with the likeliest stays, and 0 is not allowed",
			Params:  param.Specs{unit("epsilon", 3e-4, true, true, "least probability of a token", cutoffs...), hfKeep()},
			Apply: torchKeep("epsilon", func(x []float32, _ *sampler.Row, set param.Values) []bool {
				return hfCut(x, torchSoftmax(x), float(set, "epsilon"), set.Int("min_keep"))
			}),
		},
		{
			Sampler: "eta", Term: "eta_cutoff",
			Differs: "when nothing passes, every token tied with the likeliest stays; float32 entropy; 0 is not allowed",
			Params:  param.Specs{unit("epsilon", 3e-4, true, true, "bound of the least probability of a token", cutoffs...), hfKeep()},
			Apply:   torchKeep("eta", hfEta),
		},
	}
}

func hfTruncate() []Rule {
	return []Rule{
		{
			Sampler: "min_p", Term: "min_p",
			Differs: "compares float32 probabilities instead of scores, which decides the other way in rare cases of equality",
			Params:  param.Specs{unit("min_p", 0, false, false, "least share of the largest probability; 0 keeps all", "p"), hfKeep()},
			Apply:   torchKeep("min_p", torchMinP),
		},
		{
			Sampler: "top_h", Term: "top_h",
			Differs: "of the 100 largest scores, ties among them in the order of PyTorch's selection; in float32, so 1 may drop the last tokens, and a probability of 0 among them ends the list",
			Params:  param.Specs{unit("top_h", 0.4, true, false, "share of the entropy to keep", "h"), lacks("cap", Transformers), lacks("min_keep", Transformers)},
			Apply:   torchKeep("top_h", hfTopH),
		},
	}
}

// hfTypical keeps the tokens that deviate from the entropy no more than the one
// that follows where the running mass is still below the wanted one.
func hfTypical(x []float32, _ *sampler.Row, set param.Values) []bool {
	logp := torchLogSoftmax(x)
	h := -torchEntropy(torchExp(logp), logp)
	away := make([]float32, len(x))
	for i, v := range logp {
		away[i] = float32(math.Abs(float64(-v - h)))
	}
	order := ascending(away)
	sum := torchSoftmax(gather(x, order))
	torchCumsum(sum)
	mass, last := float(set, "typical"), 0
	for last < len(sum)-1 && sum[last] < mass {
		last++
	}
	keep := make([]bool, len(x))
	limit := away[order[last]]
	for i, d := range away {
		keep[i] = !(d > limit)
	}
	return keepFirst(keep, order, set.Int("min_keep"))
}

func hfEta(x []float32, _ *sampler.Row, set param.Values) []bool {
	p := torchSoftmax(x)
	epsilon := float(set, "epsilon")
	floor := min(epsilon, float32(math.Sqrt(float64(epsilon)))*exp32(-categoricalEntropy(normalised(x))))
	return hfCut(x, p, floor, set.Int("min_keep"))
}

// normalised returns a row less the logarithm of the sum of its exponentials.
func normalised(x []float32) []float32 {
	top := slices.Max(x)
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = exp32(v - top)
	}
	norm := log32(torchSum(out)) + top
	for i, v := range x {
		out[i] = v - norm
	}
	return out
}

// categoricalEntropy returns the entropy in nats of a row of log probabilities.
func categoricalEntropy(logp []float32) float32 {
	p := torchSoftmax(logp)
	for i, v := range logp {
		p[i] = float32(p[i] * max(v, -math.MaxFloat32))
	}
	return -torchSum(p)
}

func hfTopH(x []float32, _ *sampler.Row, set param.Values) []bool {
	const most = 100
	first := torchTopK(x, min(most, len(x)))
	logp := normalised(gather(x, first))
	limit := categoricalEntropy(logp) * float(set, "top_h")
	sum := torchSoftmax(logp)
	for i, p := range sum {
		sum[i] = float32(-p * log32(p))
	}
	torchCumsum(sum)
	keep := make([]bool, len(x))
	for i, id := range first {
		keep[id] = i == 0 || sum[i] <= limit
	}
	return keep
}

// hfRest holds what neither truncates nor looks at the context.
func hfRest() []Rule {
	return []Rule{
		hfGuidance(),
		{Sampler: "logit_normalization", Term: "renormalize_logits"},
		{Sampler: "watermark_green_list", Term: "watermarking_config (WatermarkLogitsProcessor)"},
		{
			Sampler: "watermark_synthid", Term: "watermarking_config (SynthIDTextWatermarkLogitsProcessor)",
			Differs: "a removed token gets the lowest float32 there, which revives it; that is not reproduced, it stays removed",
		},
		{Sampler: "greedy", Term: "do_sample=False"},
		{Sampler: "sample", Term: "do_sample=True", Differs: multinomialDiffers},
	}
}

const multinomialDiffers = "draws with torch.multinomial's random numbers; here the law is the same and the random number is the run's"
