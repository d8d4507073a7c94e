package penalty

import (
	"math"

	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
	"lab/plugins/samplers/mask/token"
)

// MinLength removes the tokens that end a text while the context, prompt
// included, is short.
type MinLength struct{ find *token.Finder }

// MinNewTokens removes the tokens that end a text until enough were generated.
type MinNewTokens struct{ find *token.Finder }

// DecayLength makes the tokens that end a text ever likelier.
type DecayLength struct{ find *token.Finder }

// Declare returns the declaration.
func (MinLength) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "min_length", Kind: sampler.Reshape,
		Summary: "Removes the tokens that end a text while the context, prompt included, is shorter than a limit.",
		Formula: "remove every end token while |h| < min_length",
		Source:  "transformers, MinLengthLogitsProcessor",
		Params: param.Specs{{
			Name: "min_length", Type: param.Int, Default: int64(0), Min: 0, Max: math.Inf(1), Unit: "tokens",
			Meaning: "the least length of prompt and completion together; 0 switches the stage off",
		}, token.EndSetting()},
		Needs: sampler.Needs{History: -1}, // its length
	}
}

// Declare returns the declaration.
func (MinNewTokens) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "min_new_tokens", Aliases: []string{"min_tokens"}, Kind: sampler.Reshape,
		Summary: "Removes the tokens that end a text until a number of tokens was generated.",
		Formula: "remove every end token while fewer than min_new_tokens were generated",
		Source:  "transformers, MinNewTokensLengthLogitsProcessor; vLLM min_tokens",
		Params: param.Specs{{
			Name: "min_new_tokens", Aliases: []string{"min_tokens"}, Type: param.Int, Default: int64(0), Min: 0, Max: math.Inf(1), Unit: "tokens",
			Meaning: "the least length of the completion; 0 switches the stage off",
		}, token.EndSetting()},
	}
}

// Declare returns the declaration.
func (DecayLength) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "exponential_decay_length_penalty", Kind: sampler.Reshape,
		Summary: "Raises the scores of the tokens that end a text by their magnitude times an exponentially growing factor, once a number of tokens was generated.",
		Formula: "l_e ← l_e + |l_e| · (f^(n - start) - 1) for every end token e, once n > start tokens were generated",
		Source:  "transformers, ExponentialDecayLengthPenalty",
		Params: param.Specs{{
			Name: "start", Aliases: []string{"start_index"}, Type: param.Int, Default: int64(0), Min: 0, Max: math.Inf(1), Unit: "tokens",
			Meaning: "how many tokens are generated before the first change",
		}, {
			Name: "factor", Aliases: []string{"decay_factor"}, Type: param.Float, Default: 1.0, Min: 0, MinOpen: true, Max: math.Inf(1),
			Meaning: "the base of the growth; 1 changes nothing, below 1 makes ending less likely instead",
		}, token.EndSetting()},
	}
}

// Apply removes the end tokens of a short context. At 0 and past the limit the
// row stays as it is, to the bit. Only end tokens left is a data error, and none
// known a usage error.
func (m MinLength) Apply(row *sampler.Row, set param.Values) error {
	return hold(row, set, m.find, "min_length", len(row.History))
}

// Apply removes the end tokens of a short completion. At 0 and past the limit
// the row stays as it is, to the bit. Only end tokens left is a data error, and
// none known a usage error.
func (m MinNewTokens) Apply(row *sampler.Row, set param.Values) error {
	return hold(row, set, m.find, "min_new_tokens", row.Step)
}

// hold removes the end tokens while a length is below the setting, which has
// the name of the sampler.
func hold(row *sampler.Row, set param.Values, find *token.Finder, name string, length int) error {
	if set.Int(name) == 0 {
		return nil
	}
	ends, err := find.Ends(row, name, set)
	if err != nil || int64(length) >= set.Int(name) {
		return err
	}
	return token.Ban(row, ends, name, name)
}

// Apply raises the scores of the end tokens, listed ones once. A factor of 1,
// and a completion up to start, leave the row as it is, to the bit. No known end
// token is a usage error.
func (d DecayLength) Apply(row *sampler.Row, set param.Values) error {
	const op = "exponential_decay_length_penalty"
	start, factor := set.Int("start"), set.Float("factor")
	if factor == 1 {
		return nil
	}
	ends, err := d.find.Ends(row, op, set)
	past := int64(row.Step) - start
	if err != nil || past <= 0 {
		return err
	}
	if err := token.Whole(row.Scores, op); err != nil {
		return err
	}
	grown := math.Pow(factor, float64(past)) - 1
	for _, id := range distinct(ends) {
		if n := at(row.Scores, id); n >= 0 && row.Scores.Values[n] != 0 {
			x := float64(row.Scores.Values[n])
			row.Scores.Values[n] = store(x + math.Abs(x)*grown)
		}
	}
	return nil
}
