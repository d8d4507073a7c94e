package truncate

import (
	"math"

	"lab/core/dist/vec"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// MinP keeps the tokens that are not much less likely than the likeliest
// (Nguyen et al. 2024).
type MinP struct{}

// Declare returns the declaration.
func (MinP) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "min_p", Kind: sampler.Reshape,
		Summary: "Keeps the tokens whose probability is at least a share of the largest one, equality included; all tokens tied with the likeliest stay.",
		Formula: "keep i when p_i >= min_p · p_max, as l_i >= l_max + ln min_p",
		Source:  "Nguyen, Baker, Neo, Roush, Kirsch, Shwartz-Ziv 2024, Turning up the heat: min-p sampling for creative and coherent LLM outputs",
		Params: param.Specs{
			{
				Name: "min_p", Aliases: []string{"p"}, Type: param.Float, Default: 0.05, Min: 0, Max: 1,
				Meaning: "the share of the largest probability to reach; 0 keeps all, 1 the likeliest only, with those tied with it",
			},
			minKeep(),
		},
	}
}

// Apply keeps the tokens above the floor. It needs the largest score only: no
// softmax and no order.
func (MinP) Apply(row *sampler.Row, set param.Values) error {
	a := set.Float("min_p")
	if a == 0 {
		return nil
	}
	return keepAbove(row.Scores, "min_p", float64(vec.Max(row.Scores.Values))+math.Log(a), set.Int("min_keep"))
}
