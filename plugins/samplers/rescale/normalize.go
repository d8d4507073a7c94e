package rescale

import (
	"math"

	"lab/core/dist"
	"lab/core/dist/vec"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// Normalization turns scores into log probabilities.
type Normalization struct{}

// Declare returns the declaration.
func (Normalization) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "logit_normalization", Aliases: []string{"log_softmax", "renormalize_logits"}, Kind: sampler.Reshape,
		Summary: "Turns the scores into natural-log probabilities; the distribution stays as it is, and stages that depend on the zero of the scores see another one.",
		Formula: "l_i - ln Σ_j exp l_j",
		Source:  "transformers, LogitNormalization",
	}
}

// Apply subtracts the logarithm of the sum.
func (Normalization) Apply(row *sampler.Row, _ param.Values) error {
	s := row.Scores
	if s.Unlisted > 0 {
		return nil // such rows hold log probabilities
	}
	top := float64(vec.Max(s.Values))
	shift := top + math.Log(vec.Sum(s.Values, s.IDs, top))
	for i, v := range s.Values {
		if dist.Finite(v) {
			s.Values[i] = max(float32(float64(v)-shift), -math.MaxFloat32)
		}
	}
	return nil
}
