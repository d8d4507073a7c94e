package compat

import (
	"math"
	"slices"

	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// vllm returns vLLM's rules (v1 sampler of June 2026, PyTorch path).
func vllm() []Rule {
	return slices.Concat(
		[]Rule{{
			Sampler: "temperature", Term: "temperature",
			Differs: "divides in float32 without a shift, so a large score can overflow, which is refused here; 0 is greedy, and anything else below 0.01 is raised to it",
			Params: param.Specs{{Name: "temperature", Aliases: []string{"t", "temp"}, Type: param.Float, Default: 1.0, Min: 0, Max: math.Inf(1),
				Meaning: "what the scores are divided by, at least 0.01; 0 keeps the likeliest token only"}},
			Apply: vllmTemperature,
		}},
		vllmTruncate(VLLM, 0),
		vllmPenalty().rules(),
		[]Rule{
			{Sampler: "min_new_tokens", Term: "min_tokens"},
			{Sampler: "logit_bias", Term: "logit_bias"},
			{Sampler: "bad_words", Term: "bad_words"},
			{Sampler: "allowed_tokens", Term: "allowed_token_ids"},
			{Sampler: "ignore_eos", Term: "ignore_eos"},
			{Sampler: "regex", Term: "guided_regex, structured_outputs", Differs: structuredDiffers},
			{Sampler: "grammar", Term: "guided_grammar, structured_outputs", Differs: structuredDiffers},
			{Sampler: "json_schema", Term: "guided_json, structured_outputs", Differs: structuredDiffers},
			{Sampler: "greedy", Term: "temperature=0"},
			{Sampler: "sample", Term: "random sampling", Differs: raceDiffers},
		})
}

const structuredDiffers = "the syntax is that of the library it is set up with (xgrammar, guidance or outlines); here it is the sampler's own, and the mask acts on the same text"

const raceDiffers = "takes the largest of p divided by exponential random numbers; here the law is the same and the random number is the run's"

// vllmTruncate holds the truncations that aphrodite took over; off is the
// default of top_k.
func vllmTruncate(system string, off int64) []Rule {
	return []Rule{
		{
			Sampler: "top_k", Term: "top_k",
			Differs: "keeps every token tied with the k-th; 0 and -1 are off, other negative numbers are not allowed",
			Params: param.Specs{{Name: "top_k", Aliases: []string{"k"}, Type: param.Int, Default: off, Min: -1, Max: math.Inf(1),
				Unit: "tokens", Meaning: "how many tokens to keep, more where some tie with the last; 0 and -1 keep all"}, lacks("min_keep", system), lacks("ties", system)},
			Apply: torchKeep("top_k", torchTopKRule),
		},
		{
			Sampler: "top_p", Term: "top_p",
			Differs: "sums from the least likely token up and drops while the sum is at most 1 - p, in float32, so of tied tokens those of the highest ids stay; 0 is not allowed",
			Params:  param.Specs{unit("top_p", 1, true, false, "mass of the nucleus; 1 keeps all", "p"), lacks("min_keep", system)},
			Apply:   torchKeep("top_p", tensorTopP),
		},
		{
			Sampler: "min_p", Term: "min_p",
			Differs: "compares float32 probabilities instead of scores, which decides the other way in rare cases of equality",
			Params:  param.Specs{unit("min_p", 0, false, false, "least share of the largest probability; 0 keeps all", "p"), lacks("min_keep", system)},
			Apply:   torchKeep("min_p", torchMinP),
		},
	}
}

func vllmTemperature(row *sampler.Row, set param.Values) error {
	t := float(set, "temperature")
	if t > 0 {
		t = max(t, 0.01)
		return torchChange("temperature", func(x []float32, _ *sampler.Row, _ param.Values) { divide(x, t) })(row, set)
	}
	s := row.Scores
	s.KeepBest(slices.Max(s.Values), 1, 1)
	s.Unlisted = 0
	return nil
}
