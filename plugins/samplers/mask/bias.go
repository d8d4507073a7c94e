package mask

import (
	"math"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
	"lab/plugins/samplers/mask/token"
)

// LogitBias adds numbers to the scores of listed tokens and of tokens that
// would complete listed sequences. A sequence of n tokens acts in a context of
// n - 1 already, which transformers passes over; so it is with bad words.
type LogitBias struct{ find *token.Finder }

// BadWords removes listed tokens and tokens that would complete listed
// sequences.
type BadWords struct{ find *token.Finder }

// Declare returns the declaration.
func (LogitBias) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "logit_bias", Aliases: []string{"sequence_bias"}, Kind: sampler.Reshape,
		Summary: "Adds a number to the score of every listed token, and to that of a token that would complete a listed sequence; the numbers of one token add up, and -inf removes it.",
		Formula: "l_i ← l_i + Σ b over items (i) and items (s, i) with s the end of the context",
		Source:  "logit_bias of the usual completion interfaces; sequences: transformers, SequenceBiasLogitsProcessor",
		Params: param.Specs{{
			Name: "bias", Aliases: []string{"logit_bias", "sequence_bias"}, Type: param.Tokens, Weighted: true, Default: "", Unit: "nats",
			Meaning: "tokens, sequences and texts with what to add, at most the largest float32 in magnitude, or -inf; a text stands for every token that has exactly it",
		}},
		Needs: sampler.Needs{History: -1},
	}
}

// Declare returns the declaration.
func (BadWords) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "bad_words", Aliases: []string{"ban", "token_bans"}, Kind: sampler.Reshape,
		Summary: "Removes every listed token, and a token that would complete a listed sequence.",
		Formula: "remove i for items (i) and items (s, i) with s the end of the context",
		Source:  "transformers, NoBadWordsLogitsProcessor; vLLM bad_words; webui token_bans",
		Params: param.Specs{tokensSpec("bad_words",
			"tokens, sequences and texts to remove; a text stands for every token that has exactly it; empty changes nothing", "words", "tokens")},
		Needs: sampler.Needs{History: -1},
	}
}

// Apply adds the numbers, in float64 and rounded to float32 once; a finite sum
// stays finite. An empty list, and one of which nothing follows, leave the row
// as it is, to the bit.
func (b LogitBias) Apply(row *sampler.Row, set param.Values) error {
	const op = "logit_bias"
	items, err := b.find.Items(row, op, set, "bias")
	if err != nil {
		return err
	}
	var due []token.Weighted
	for _, it := range items {
		if it.Weight > math.MaxFloat32 || it.Weight < -math.MaxFloat32 && !math.IsInf(it.Weight, -1) {
			return fault.New(fault.Usage, op, "bias", "%g is larger than any score (%g)", it.Weight, math.MaxFloat32).
				Fix("give a number within it, or -inf to remove a token")
		}
		if it.Weight != 0 && token.Follows(row.History, it.IDs) {
			due = append(due, token.Weighted{ID: it.IDs[len(it.IDs)-1], Weight: it.Weight})
		}
	}
	if len(due) == 0 {
		return nil
	}
	if err := token.Whole(row.Scores, op); err != nil {
		return err
	}
	for _, d := range token.Sum(due) {
		add(row.Scores, d)
	}
	return token.Left(row.Scores, op, "bias")
}

func add(s *dist.Scores, d token.Weighted) {
	n := s.Index(d.ID)
	switch {
	case n < 0 || d.Weight == 0 || !dist.Finite(s.Values[n]):
	case math.IsInf(d.Weight, -1):
		s.Values[n] = float32(d.Weight)
	default:
		s.Values[n] = float32(min(max(float64(s.Values[n])+d.Weight, -math.MaxFloat32), math.MaxFloat32))
	}
}

// Apply removes the tokens. An empty list, and one of which nothing follows,
// leave the row as it is, to the bit.
func (b BadWords) Apply(row *sampler.Row, set param.Values) error {
	const op = "bad_words"
	items, err := b.find.Items(row, op, set, op)
	if err != nil {
		return err
	}
	var due []int32
	for _, it := range items {
		if token.Follows(row.History, it.IDs) {
			due = append(due, it.IDs[len(it.IDs)-1])
		}
	}
	return token.Ban(row, due, op, op)
}
