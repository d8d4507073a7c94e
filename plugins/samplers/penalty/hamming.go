package penalty

import (
	"math"
	"slices"

	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
	"lab/plugins/samplers/mask/token"
)

// Hamming lowers the scores of tokens that earlier groups of a diverse beam
// search chose at the same step (Vijayakumar et al. 2018).
//
// The groups are the search's business, which fills the list; written into a
// chain by hand, the stage shows what the term does to one distribution.
type Hamming struct{ find *token.Finder }

// Declare returns the declaration.
func (Hamming) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "hamming_diversity", Kind: sampler.Reshape,
		Summary: "Subtracts a penalty from the score of a token for every time that another group of beams chose it at this step.",
		Formula: "l_i ← l_i - d · count_i",
		Source:  "Vijayakumar et al. 2018, Diverse beam search, section 4: Hamming diversity",
		Params: param.Specs{{
			Name: "diversity", Aliases: []string{"diversity_penalty"}, Type: param.Float, Default: 0.0, Min: 0, Max: math.Inf(1), Unit: "nats",
			Meaning: "what is subtracted for every choice; 0 changes nothing",
		}, {
			Name: "tokens", Type: param.Tokens, Weighted: true, Default: "",
			Meaning: "what other groups chose at this step, each with its count: 5=2 9=1",
		}},
	}
}

// Apply lowers the scores of the listed tokens. A diversity of 0 and an empty
// list leave the row as it is, to the bit.
func (h Hamming) Apply(row *sampler.Row, set param.Values) error {
	const op = "hamming_diversity"
	diversity := set.Float("diversity")
	if diversity == 0 || len(set.Tokens("tokens")) == 0 {
		return nil
	}
	items, err := h.find.Items(row, op, set, "tokens")
	if err != nil {
		return err
	}
	if err := token.Whole(row.Scores, op); err != nil {
		return err
	}
	chosen := make([]token.Weighted, len(items))
	for i, it := range items {
		if len(it.IDs) != 1 || !(it.Weight >= 0) {
			return fault.New(fault.Usage, op, "tokens", "item %d is not one token with a count of at least 0", i+1).Fix("write 5=2 9=1")
		}
		chosen[i] = token.Weighted{ID: it.IDs[0], Weight: it.Weight}
	}
	for _, c := range token.Sum(chosen) {
		if n := at(row.Scores, c.ID); n >= 0 {
			row.Scores.Values[n] = store(float64(row.Scores.Values[n]) - diversity*c.Weight)
		}
	}
	return nil
}

// distinct returns the ids, sorted and each once, in memory of its own.
func distinct(ids []int32) []int32 {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids)
}
