package truncate

import (
	"math"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// TopK keeps a fixed number of tokens (Fan, Lewis and Dauphin 2018).
type TopK struct{}

// The choices of TopK's setting "ties".
const (
	tiesFirst = "first"
	tiesAll   = "keep_all"
)

func minKeep() param.Spec {
	return param.Spec{
		Name: "min_keep", Aliases: []string{"min_tokens_to_keep"}, Type: param.Int, Default: int64(1),
		Min: 0, Max: math.Inf(1), Unit: "tokens",
		Meaning: "keep at least this many of the likeliest tokens; 0 is the same as 1, as a row is never emptied",
	}
}

// Declare returns the declaration.
func (TopK) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name:    "top_k",
		Aliases: []string{"k"},
		Kind:    sampler.Reshape,
		Summary: "Keeps the k likeliest tokens and removes the rest; of tokens tied at the cut, those of lowest id fill the k places.",
		Source:  "Fan, Lewis, Dauphin 2018, Hierarchical neural story generation",
		Params: param.Specs{
			{
				Name: "top_k", Aliases: []string{"k"}, Type: param.Int, Default: int64(40),
				Min: math.Inf(-1), Max: math.Inf(1), Unit: "tokens",
				Meaning: "how many tokens to keep; 0 or less keeps all, and so does a number above the support",
			},
			minKeep(),
			{
				Name: "ties", Type: param.Text, Default: tiesFirst, Choices: []string{tiesFirst, tiesAll},
				Meaning: "tokens tied at the cut: first keeps exactly k, lowest ids winning; keep_all keeps every token equal to the k-th, as transformers and vLLM do",
			},
		},
	}
}

// Apply keeps the k likeliest tokens. When nothing is to be cut the row stays
// as it is, to the bit. With an unlisted tail the result is exact as long as
// enough tokens are listed, and refused otherwise.
func (TopK) Apply(row *sampler.Row, set param.Values) error {
	k, least := set.Int("top_k"), set.Int("min_keep")
	if k <= 0 {
		return nil
	}
	s := row.Scores
	k = max(k, least)
	support := supportOf(s.Values)
	if s.Unlisted > 0 && k > int64(support) {
		return fault.New(fault.Data, "top_k", "", "%d tokens are wanted but only %d are listed", k, support).
			Fix("choose top_k up to %d, or a backend that lists every token", support)
	}
	if k >= int64(support) && s.Unlisted == 0 {
		return nil
	}
	c := kLargest(s.Values, int(k))
	if set.Text("ties") == tiesAll {
		c.ties, c.n = tied(s, c)
	}
	if c.n < support {
		s.KeepBest(c.floor, c.ties, c.n)
	}
	s.Unlisted = 0
	return nil
}

// tied returns the cut that keeps every token equal to the floor.
func tied(s *dist.Scores, c cut) (ties, n int) {
	for _, v := range s.Values {
		if v == c.floor {
			ties++
		}
	}
	return ties, c.n - c.ties + ties
}
