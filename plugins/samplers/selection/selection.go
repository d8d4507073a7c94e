// Package selection holds the samplers that choose a token and end a chain.
//
// They reshape nothing that is not part of choosing; what to choose from is the
// business of the stages before. Start with [Sample].
package selection

import (
	"lab/core/dist/vec"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// Sample draws a token from the row it is given.
type Sample struct{}

// Declare returns the declaration.
func (Sample) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name:    "sample",
		Aliases: []string{"dist", "multinomial", "categorical"},
		Kind:    sampler.Select,
		Summary: "Draws one token with its probability and leaves the distribution as it is; one uniform number is looked up in the running sum over tokens in order of id.",
		Source:  "Devroye 1986, Non-uniform random variate generation, chapter III.2 (inversion by sequential search)",
		Formula: "the first i with p_0 + … + p_i > u",
		Needs:   sampler.Needs{Uniforms: 1},
	}
}

// Apply chooses the first token, in ascending order of id, whose running sum of
// weights exceeds uniform * total, all in float64; [vec.Draw] says how the sum
// runs. A token of weight 0 is never drawn. The row is not changed. A row with
// an unlisted tail is refused.
func (Sample) Apply(row *sampler.Row, _ param.Values) error {
	s := row.Scores
	if s.Unlisted > 0 {
		return fault.New(fault.Data, "sample", "", "a mass of %.4g is unlisted and cannot be drawn from", s.Unlisted).
			Fix("truncate to listed tokens first, with top_k or top_p")
	}
	top := float64(vec.Max(s.Values))
	row.Chosen = s.ID(vec.Draw(s.Values, s.IDs, top, row.Uniforms[0]))
	return nil
}

// Greedy takes the likeliest token.
type Greedy struct{}

// Declare returns the declaration.
func (Greedy) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name:    "greedy",
		Aliases: []string{"argmax"},
		Kind:    sampler.Select,
		Summary: "Takes the token of the highest score, the lowest id on ties; its sampling distribution is that token alone.",
		Source:  "maximum a posteriori choice of one token; the limit of temperature to 0 with ties broken by id",
		Formula: "the least i with l_i = max l",
	}
}

// Apply keeps the chosen token and removes every other, so that the ledger
// shows the choice as what it is: KL = -log2 p and TV = 1 - p.
func (Greedy) Apply(row *sampler.Row, _ param.Values) error {
	s := row.Scores
	at := best(s.Values)
	row.Chosen = s.ID(at)
	s.KeepBest(s.Values[at], 1, 1)
	s.Unlisted = 0
	return nil
}

// best returns the place of the first of the largest scores.
func best(values []float32) int { return vec.First(values, vec.Max(values)) }
