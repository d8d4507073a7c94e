package penalty

import (
	"math"
	"slices"

	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
	"lab/plugins/samplers/mask/token"
)

// NoRepeatNgram removes tokens that would complete an n-gram which the context
// holds already (Paulus, Xiong and Socher 2018, section 2.5).
type NoRepeatNgram struct{}

// EncoderNoRepeatNgram removes tokens that would complete an n-gram of the
// prompt.
type EncoderNoRepeatNgram struct{}

// EncoderRepetition makes the tokens of the prompt likelier, against invented
// content.
type EncoderRepetition struct{}

func ngramSpec(aliases ...string) param.Spec {
	return param.Spec{
		Name: "n", Aliases: append([]string{"ngram_size"}, aliases...), Type: param.Int, Default: int64(0),
		Min: 0, Max: math.Inf(1), Unit: "tokens",
		Meaning: "the length of an n-gram; 0 switches the stage off, and a context of fewer than n - 1 tokens removes nothing",
	}
}

func promptSpec() param.Spec {
	return param.Spec{
		Name: "prompt", Aliases: []string{"encoder"}, Type: param.Tokens, Default: "",
		Meaning: "the tokens to take for the prompt, in order; when empty, the prompt itself",
	}
}

// Declare returns the declaration.
func (NoRepeatNgram) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "no_repeat_ngram", Aliases: []string{"no_repeat_ngram_size"}, Kind: sampler.Reshape,
		Summary: "Removes every token that would complete a list of n tokens which occurs in the context already.",
		Formula: "remove t when (h[m-n+2..m], t) occurs in h[1..m]",
		Source:  "Paulus, Xiong, Socher 2018, A deep reinforced model for abstractive summarization, section 2.5",
		Params:  param.Specs{ngramSpec("no_repeat_ngram_size")},
		Needs:   sampler.Needs{History: -1},
	}
}

// Declare returns the declaration.
func (EncoderNoRepeatNgram) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "encoder_no_repeat_ngram", Aliases: []string{"encoder_no_repeat_ngram_size"}, Kind: sampler.Reshape,
		Summary: "Removes every token that would complete a list of n tokens which occurs in the prompt.",
		Formula: "remove t when (h[m-n+2..m], t) occurs in the prompt",
		Source:  "transformers, EncoderNoRepeatNGramLogitsProcessor",
		Params:  param.Specs{ngramSpec("encoder_no_repeat_ngram_size"), promptSpec()},
		Needs:   sampler.Needs{History: -1},
	}
}

// Declare returns the declaration.
func (EncoderRepetition) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "encoder_repetition_penalty", Aliases: []string{"hallucination_penalty"}, Kind: sampler.Reshape,
		Summary: "Multiplies the positive scores of the prompt's tokens by the penalty and divides their other scores by it, once per token: above 1 they become likelier, below 1 less likely.",
		Formula: "l_i ← l_i · r if l_i > 0, else l_i / r, for every i in the prompt",
		Source:  "transformers, EncoderRepetitionPenaltyLogitsProcessor: the repetition penalty of Keskar et al. 2019 with 1/r",
		Params: param.Specs{{
			Name: "encoder_repetition_penalty", Aliases: []string{"penalty", "hallucination_penalty"}, Type: param.Float, Default: 1.0,
			Min: 0, MinOpen: true, Max: math.Inf(1),
			Meaning: "the factor; 1 changes nothing",
		}, promptSpec()},
		Needs: sampler.Needs{History: -1},
	}
}

// Apply removes the tokens in time linear in the context. A context without such
// an n-gram leaves the row as it is, to the bit; what would leave no token is a
// data error.
func (NoRepeatNgram) Apply(row *sampler.Row, set param.Values) error {
	n, h := set.Int("n"), row.History
	if n == 0 || int64(len(h)) < n {
		return nil
	}
	return ban(row, followers(h, n-1), "no_repeat_ngram")
}

// Apply removes the tokens in time linear in prompt and context. A prompt
// without such an n-gram leaves the row as it is, to the bit; what would leave
// no token is a data error.
func (EncoderNoRepeatNgram) Apply(row *sampler.Row, set param.Values) error {
	n := set.Int("n")
	prompt, err := promptOf(row, set, "encoder_no_repeat_ngram")
	if n == 0 || err != nil {
		return err
	}
	if int64(len(row.History)) < n-1 || int64(len(prompt)) < n {
		return nil
	}
	// Followed by the head of the n-gram, the prompt is a context that ends
	// with it. The mark keeps a match inside the prompt.
	both := append(slices.Clip(prompt), mark)
	both = append(both, newest(row.History, n-1)...)
	return ban(row, followers(both, n-1), "encoder_no_repeat_ngram")
}

// mark stands between two lists of tokens and is none itself.
const mark = -1

// followers returns the tokens that follow an earlier occurrence of the newest n
// tokens; a token may be repeated.
func followers(tokens []int32, n int64) []int32 {
	var out []int32
	for k, z := range overlaps(tokens) {
		if k > 0 && int64(z) >= n && tokens[len(tokens)-k] != mark {
			out = append(out, tokens[len(tokens)-k])
		}
	}
	// A list of no tokens occurs before the very first one too.
	if n == 0 {
		out = append(out, tokens[0])
	}
	return out
}

func ban(row *sampler.Row, ids []int32, op string) error { return token.Ban(row, ids, op, "n") }

// Apply changes the scores of the prompt's tokens; 1 leaves the row as it is, to
// the bit.
func (EncoderRepetition) Apply(row *sampler.Row, set param.Values) error {
	const op = "encoder_repetition_penalty"
	prompt, err := promptOf(row, set, op)
	if err != nil {
		return err
	}
	// The inverse of the smallest numbers is infinite, and times a score of 0 no number.
	return rule{repeat: min(1/set.Float(op), math.MaxFloat64)}.apply(row, prompt, op)
}

// promptOf returns the tokens of the setting "prompt", or those of the row's
// prompt when it is empty. They must not be changed.
func promptOf(row *sampler.Row, set param.Values, op string) ([]int32, error) {
	items := set.Tokens("prompt")
	if len(items) == 0 {
		return row.History[:row.Prompt], nil
	}
	var out []int32
	for _, it := range items {
		if it.IDs == nil {
			return nil, fault.New(fault.Usage, op, "prompt", "%s is a text, and token ids are wanted", fault.Quote(it.Text, 40)).
				Fix("give the ids of the prompt, or leave it out for the prompt itself")
		}
		out = append(out, it.IDs...)
	}
	return out, nil
}
