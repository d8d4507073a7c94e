package compat

import (
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// afterKobold says why a method has the sampler's own rule.
const afterKobold = "not in the release of October 2024, whose rules these are; later ones have it, and here it is the sampler's own rule"

// koboldSelect holds the steps that choose a token. koboldcpp draws from one
// mt19937 for everything; here each stage has its own, so draws are koboldcpp's
// as long as no XTC takes numbers in between.
func koboldSelect() []Rule {
	return []Rule{
		{Sampler: "greedy", Term: "top_k 1"},
		{Sampler: "bad_words", Term: "banned_tokens", Differs: "bans every token whose text contains one of the texts; here a text is the token that is spelled so"},
		{Sampler: "ignore_eos", Term: "use_default_badwordsids"},
		{Sampler: "grammar", Term: "grammar"},
		{Sampler: "top_n_sigma", Term: "nsigma", Differs: afterKobold},
		{Sampler: "adaptive_p", Term: "adaptive_target, adaptive_decay", Differs: afterKobold},
		{
			Sampler: "sample", Term: "sampler_seed",
			Differs: "the random number is a double from an mt19937, which XTC shares there, and float32 probabilities are added up in sorted order; a single candidate takes no random number",
			Params:  param.Specs{seedSpec()},
			Needs:   sampler.Needs{Uniforms: 1},
			Apply: func(row *sampler.Row, set param.Values) error {
				c, err := load(row, "sample")
				if err != nil {
					return err
				}
				g, _, err := generator(row, set, "sample")
				if err != nil {
					return err
				}
				c.intro = true
				c.sort()
				c.softmax()
				row.Chosen = c.list[c.discrete(g)].id
				g.keep(row)
				return nil
			},
		},
		{
			Sampler: "mirostat_v1", Term: "mirostat 1, mirostat_tau, mirostat_eta",
			Differs: "float32; a number of tokens that comes out as 0 or below keeps all; mu outlives the text there, in a variable of the process",
			Params:  mirostatParams(),
			Needs:   sampler.Needs{Uniforms: 1},
			Apply: func(row *sampler.Row, set param.Values) error {
				return mirostat(row, set, true, func(c *candidates, mu float32) {
					if k := c.zipf(mu, set.Int("m"), row.Scores.Vocab); k > 0 {
						c.list = c.list[:min(k, len(c.list))]
					}
				})
			},
		},
		{
			Sampler: "mirostat_v2", Term: "mirostat 2, mirostat_tau, mirostat_eta",
			Differs: "float32; mu outlives the text there, in a variable of the process",
			Params:  mirostatParams(),
			Needs:   sampler.Needs{Uniforms: 1},
			Apply: func(row *sampler.Row, set param.Values) error {
				return mirostat(row, set, true, (*candidates).surprise)
			},
		},
		{Sampler: "logit_bias", Term: "logit_bias"},
	}
}
