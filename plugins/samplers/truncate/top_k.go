package truncate

import (
	"math"

	"lab/core/dist"
	"lab/core/dist/vec"
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
		Formula: "keep i when rank(l_i) <= k, rank 1 being the largest, ties by id",
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
	if s.Unlisted > 0 {
		if support := vec.Support(s.Values); k > int64(support) {
			return fault.New(fault.Data, "top_k", "", "%d tokens are wanted but only %d are listed", k, support).
				Fix("choose top_k up to %d, or a backend that lists every token", support)
		}
	}
	if k < int64(len(s.Values)) {
		cutTo(s, int(k), set.Text("ties") == tiesAll)
	}
	s.Unlisted = 0
	return nil
}

// cutTo keeps the k best tokens, and with all those tied with the last. A row
// of k tokens or fewer stays as it is, to the bit.
func cutTo(s *dist.Scores, k int, all bool) {
	c, places := kLargest(s.Values, k)
	switch {
	case c.removesNothing(s.Values):
	case all:
		s.KeepFrom(c.floor)
	case places == nil:
		s.KeepBest(c.floor, c.ties, c.n)
	default:
		n := 0
		for _, at := range places {
			if v := s.Values[at]; v > c.floor || v == c.floor && c.ties > 0 {
				if v == c.floor {
					c.ties--
				}
				places[n] = at
				n++
			}
		}
		s.KeepPlaces(places[:n])
	}
}
