package mask

import (
	"math"
	"slices"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
	"lab/plugins/samplers/mask/token"
)

// SuppressTokens removes listed tokens.
type SuppressTokens struct{ find *token.Finder }

// BeginSuppress removes listed tokens at one place of the context.
type BeginSuppress struct{ find *token.Finder }

// AllowedTokens removes all but listed tokens.
type AllowedTokens struct{ find *token.Finder }

// IgnoreEOS removes the tokens that end a text.
type IgnoreEOS struct{ find *token.Finder }

// Declare returns the declaration.
func (SuppressTokens) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "suppress_tokens", Aliases: []string{"banned_tokens"}, Kind: sampler.Reshape,
		Summary: "Removes every listed token.",
		Formula: "remove every i in the list",
		Source:  "transformers, SuppressTokensLogitsProcessor",
		Params: param.Specs{tokensSpec("suppress_tokens",
			"tokens and texts to remove; a text stands for every token that has exactly it; empty changes nothing", "tokens", "banned_tokens")},
	}
}

// Declare returns the declaration.
func (BeginSuppress) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "begin_suppress_tokens", Kind: sampler.Reshape,
		Summary: "Removes every listed token at one place of the context, by default for the first generated token.",
		Formula: "remove every i in the list when |h| = begin_index",
		Source:  "transformers, SuppressTokensAtBeginLogitsProcessor",
		Params: param.Specs{
			tokensSpec("begin_suppress_tokens", "tokens and texts to remove; empty changes nothing", "tokens"),
			{
				Name: "begin_index", Type: param.Int, Default: int64(-1), Min: -1, Max: math.Inf(1), Unit: "tokens",
				Meaning: "the length of the context at which the stage acts; -1 for that of the prompt",
			},
		},
		Needs: sampler.Needs{History: -1}, // its length
	}
}

// Declare returns the declaration.
func (AllowedTokens) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "allowed_tokens", Aliases: []string{"allowed_token_ids"}, Kind: sampler.Reshape,
		Summary: "Keeps the listed tokens and removes the rest.",
		Formula: "keep every i in the list",
		Source:  "vLLM allowed_token_ids",
		Params: param.Specs{tokensSpec("allowed_tokens",
			"tokens and texts to keep; a text stands for every token that has exactly it; an empty list allows all", "tokens", "allowed_token_ids")},
	}
}

// Declare returns the declaration.
func (IgnoreEOS) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "ignore_eos", Kind: sampler.Reshape,
		Summary: "Removes the tokens that end a text, so that only a limit of length ends it.",
		Formula: "remove every end token",
		Source:  "llama.cpp --ignore-eos; vLLM ignore_eos",
		Params:  param.Specs{token.EndSetting()},
	}
}

// Apply removes the listed tokens. An empty list leaves the row as it is, to the
// bit.
func (s SuppressTokens) Apply(row *sampler.Row, set param.Values) error {
	const op = "suppress_tokens"
	ids, err := s.find.IDs(row, op, set, op)
	if err != nil {
		return err
	}
	return token.Ban(row, ids, op, op)
}

// Apply removes the listed tokens when the context has the length asked for;
// otherwise, and with an empty list, the row stays as it is, to the bit.
func (b BeginSuppress) Apply(row *sampler.Row, set param.Values) error {
	const op = "begin_suppress_tokens"
	ids, err := b.find.IDs(row, op, set, op)
	if err != nil || !reached(row, set.Int("begin_index")) {
		return err
	}
	return token.Ban(row, ids, op, op)
}

// reached reports whether the context has a length, -1 for that of the prompt.
func reached(row *sampler.Row, length int64) bool {
	if length < 0 {
		return row.Step == 0
	}
	return int64(len(row.History)) == length
}

// Apply keeps the listed tokens. An empty list leaves the row as it is, to the
// bit, and so does one that holds the whole support. With an unlisted tail the
// result is exact when every allowed token is listed in the row, and refused
// otherwise.
func (a AllowedTokens) Apply(row *sampler.Row, set param.Values) error {
	const op = "allowed_tokens"
	ids, err := a.find.IDs(row, op, set, op)
	if err != nil || len(ids) == 0 {
		return err
	}
	return keep(row.Scores, ids, op, op)
}

// Apply removes the tokens that end a text. No known one is a usage error.
func (i IgnoreEOS) Apply(row *sampler.Row, set param.Values) error {
	const op = "ignore_eos"
	ends, err := i.find.Ends(row, op, set)
	if err != nil {
		return err
	}
	return token.Ban(row, ends, op, "end")
}

// keep removes every token but those of ids.
func keep(s *dist.Scores, ids []int32, op, setting string) error {
	if !slices.IsSorted(ids) {
		ids = slices.Clone(ids)
		slices.Sort(ids)
	}
	places := make([]int32, 0, len(ids)) // in the row, ascending
	for i, id := range ids {
		if i > 0 && id == ids[i-1] {
			continue
		}
		switch n := s.Index(id); {
		case n >= 0 && dist.Finite(s.Values[n]):
			places = append(places, int32(n))
		case s.Unlisted > 0 && n < 0:
			return fault.New(fault.Data, op, setting, "token %d is not among the %d listed ones, and its share of the unlisted %.4g is not known", id, len(s.Values), s.Unlisted).
				Fix("allow listed tokens only, or use a backend that lists every token")
		}
	}
	s.Unlisted = 0
	switch {
	case len(places) == 0:
		for i := range s.Values {
			s.Values[i] = float32(math.Inf(-1))
		}
		return token.Left(s, op, setting)
	case len(places) == len(s.Values):
		return nil
	}
	dense := s.IDs == nil
	for k, n := range places {
		s.Values[k] = s.Values[n]
		if !dense {
			s.IDs[k] = s.IDs[n]
		}
	}
	s.Values = s.Values[:len(places)]
	if dense {
		s.IDs = places
	} else {
		s.IDs = s.IDs[:len(places)]
	}
	return nil
}
