package compat

import (
	"math"
	"slices"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
	"lab/plugins/samplers/mask"
)

// hfHistory holds what looks at the context, and the masks.
func hfHistory() []Rule {
	penalty := torchPenalty{
		repeat: "repetition_penalty", scope: "all", window: wholeContext(), look: lookAtNewest,
		differs: "there is the repetition penalty only, over the whole context, in float32",
	}
	return append(penalty.rules(), []Rule{
		{Sampler: "no_repeat_ngram", Term: "no_repeat_ngram_size"},
		{Sampler: "encoder_no_repeat_ngram", Term: "encoder_no_repeat_ngram_size"},
		{Sampler: "encoder_repetition_penalty", Term: "encoder_repetition_penalty (hallucination penalty)"},
		{Sampler: "min_length", Term: "min_length"},
		{Sampler: "min_new_tokens", Term: "min_new_tokens"},
		{Sampler: "exponential_decay_length_penalty", Term: "exponential_decay_length_penalty"},
		{Sampler: "hamming_diversity", Term: "diversity_penalty"},
		{
			Sampler: "logit_bias", Term: "sequence_bias",
			Differs: "a bias of -inf is not allowed, and a sequence longer than the context is ignored, even when its head is all of it",
			Apply:   hfBias(familyRule(mask.All(), "logit_bias")),
		},
		{
			Sampler: "bad_words", Term: "bad_words_ids",
			Differs: "a sequence longer than the context is ignored, even when its head is all of it",
			Apply:   hfSequences(familyRule(mask.All(), "bad_words")),
		},
		{Sampler: "suppress_tokens", Term: "suppress_tokens"},
		{Sampler: "begin_suppress_tokens", Term: "begin_suppress_tokens"},
		{
			Sampler: "forced_bos", Term: "forced_bos_token_id",
			Differs: "the forced token loses its score and gets 0",
			Apply: hfForced(familyRule(mask.All(), "forced_bos"), func(row *sampler.Row, set param.Values) bool {
				return len(set.Tokens("token")) > 0 && len(row.History) == 1
			}),
		},
		{
			Sampler: "forced_eos", Term: "forced_eos_token_id",
			Differs: "forced tokens lose their scores and get 0, so several are equally likely",
			Apply: hfForced(familyRule(mask.All(), "forced_eos"), func(row *sampler.Row, set param.Values) bool {
				most := set.Int("max_length")
				return most > 0 && int64(len(row.History)) == most-1
			}),
		},
		{
			Sampler: "repair", Term: "remove_invalid_values",
			Differs: "-Inf becomes the lowest float32 there, which revives removed tokens; that is not reproduced, they stay removed",
		},
	}...)
}

type ruleFunc func(row *sampler.Row, set param.Values) error

// familyRule returns the own rule of a sampler.
func familyRule(list []sampler.Sampler, name string) ruleFunc {
	i := slices.IndexFunc(list, func(s sampler.Sampler) bool { return s.Declare().Name == name })
	return list[i].Apply
}

// hfBias is the bias that refuses -Inf.
func hfBias(own ruleFunc) ruleFunc {
	return func(row *sampler.Row, set param.Values) error {
		for _, t := range set.Tokens("bias") {
			if math.IsInf(t.Weight, -1) {
				return fault.New(fault.Usage, "logit_bias", Transformers, "a bias of -inf is not allowed there (%s)", fault.Quote(t.String(), 40)).
					Fix("use bad_words, or leave compat out")
			}
		}
		return hfSequences(own)(row, set)
	}
}

// hfSequences leaves out the oldest token of the context, so that a sequence as
// long as the context is the longest that can match.
func hfSequences(own ruleFunc) ruleFunc {
	return func(row *sampler.Row, set param.Values) error {
		r := *row
		r.History = r.History[min(1, len(r.History)):]
		return own(&r, set)
	}
}

// hfForced is a forced token whose score becomes 0 where it is due.
func hfForced(own ruleFunc, due func(row *sampler.Row, set param.Values) bool) ruleFunc {
	return func(row *sampler.Row, set param.Values) error {
		if err := own(row, set); err != nil || !due(row, set) {
			return err
		}
		for i, v := range row.Scores.Values {
			if dist.Finite(v) {
				row.Scores.Values[i] = 0
			}
		}
		return nil
	}
}
