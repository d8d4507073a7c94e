package mask

import (
	"math"

	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
	"lab/plugins/samplers/mask/token"
)

// ForcedToken leaves a single token at one place of the context, or the tokens
// of a sequence at consecutive ones.
type ForcedToken struct{ find *token.Finder }

// ForcedBOS leaves a single token when the context has one token: the first that
// a decoder of an encoder-decoder model generates.
type ForcedBOS struct{ find *token.Finder }

// ForcedEOS leaves the tokens that end a text when the context is one short of
// its largest length.
type ForcedEOS struct{ find *token.Finder }

// Declare returns the declaration.
func (ForcedToken) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "forced_token", Kind: sampler.Reshape,
		Summary: "Keeps only the given token at one place of the context, or the tokens of a sequence one after the other from there; elsewhere nothing changes.",
		Formula: "keep only s_k when |h| = position + k - 1, for a sequence (s_1, …, s_n)",
		Source:  "transformers, ForcedBOSTokenLogitsProcessor and prefix-constrained decoding",
		Params: param.Specs{
			tokensSpec("token", "a token, a sequence, or the text of a token; empty changes nothing", "tokens"),
			{
				Name: "position", Type: param.Int, Default: int64(-1), Min: -1, Max: math.Inf(1), Unit: "tokens",
				Meaning: "the length of the context at which the first token is forced; -1 for that of the prompt",
			},
		},
		Needs: sampler.Needs{History: -1}, // its length
	}
}

// Declare returns the declaration.
func (ForcedBOS) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "forced_bos", Aliases: []string{"forced_bos_token_id"}, Kind: sampler.Reshape,
		Summary: "Keeps only the given token when the context has exactly one; elsewhere nothing changes.",
		Formula: "keep only the token when |h| = 1",
		Source:  "transformers, ForcedBOSTokenLogitsProcessor",
		Params:  param.Specs{tokensSpec("token", "a token or its text; empty changes nothing", "bos", "bos_token_id")},
		Needs:   sampler.Needs{History: 2}, // one, or more than one
	}
}

// Declare returns the declaration.
func (ForcedEOS) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "forced_eos", Aliases: []string{"forced_eos_token_id"}, Kind: sampler.Reshape,
		Summary: "Keeps only the tokens that end a text when the context is one token short of the largest length; elsewhere nothing changes.",
		Formula: "keep only end tokens when |h| = max_length - 1",
		Source:  "transformers, ForcedEOSTokenLogitsProcessor",
		Params: param.Specs{{
			Name: "max_length", Type: param.Int, Default: int64(0), Min: 0, Max: math.Inf(1), Unit: "tokens",
			Meaning: "the largest length of prompt and completion together; 0 switches the stage off",
		}, token.EndSetting()},
		Needs: sampler.Needs{History: -1}, // its length
	}
}

// Apply keeps the forced token. It keeps its score; one that an earlier stage
// removed is a data error. Elsewhere the row stays as it is, to the bit.
func (f ForcedToken) Apply(row *sampler.Row, set param.Values) error {
	const op = "forced_token"
	items, err := f.find.Items(row, op, set, "token")
	if err != nil || len(items) == 0 {
		return err
	}
	if len(items) > 1 && len(set.Tokens("token")) > 1 {
		return fault.New(fault.Usage, op, "token", "%d items are given, and one is wanted", len(set.Tokens("token"))).
			Fix("write a sequence as 4+7, or allow several tokens with allowed_tokens")
	}
	k := int64(row.Step)
	if position := set.Int("position"); position >= 0 {
		k = int64(len(row.History)) - position
	}
	if k < 0 || k >= int64(len(items[0].IDs)) {
		return nil
	}
	ids := make([]int32, len(items)) // several tokens may have the same text
	for i, it := range items {
		ids[i] = it.IDs[k]
	}
	return keep(row.Scores, ids, op, "token")
}

// Apply keeps the token, with its score. Elsewhere the row stays as it is, to
// the bit.
func (f ForcedBOS) Apply(row *sampler.Row, set param.Values) error {
	const op = "forced_bos"
	ids, err := f.find.IDs(row, op, set, "token")
	if err != nil || len(ids) == 0 || len(row.History) != 1 {
		return err
	}
	return keep(row.Scores, ids, op, "token")
}

// Apply keeps the end tokens, with their scores. Elsewhere the row stays as it
// is, to the bit. No known end token is a usage error.
func (f ForcedEOS) Apply(row *sampler.Row, set param.Values) error {
	const op = "forced_eos"
	most := set.Int("max_length")
	if most == 0 {
		return nil
	}
	ends, err := f.find.Ends(row, op, set)
	if err != nil || int64(len(row.History)) != most-1 {
		return err
	}
	return keep(row.Scores, ends, op, "end")
}
