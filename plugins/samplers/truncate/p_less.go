package truncate

import (
	"lab/core/dist/vec"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// PLess keeps the tokens above the collision probability, without a setting
// (Tan, Wu and Howard 2025).
type PLess struct{}

// PLessNorm is PLess with the threshold lowered to 0 for a flat distribution.
type PLessNorm struct{}

const tan = "Tan, Wu, Howard 2025, p-less sampling: a robust hyperparameter-free approach for LLM decoding"

// Declare returns the declaration.
func (PLess) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "p_less", Kind: sampler.Reshape,
		Summary: "Keeps the tokens at least as likely as a second draw is to repeat the first; the likeliest always is.",
		Formula: "keep i when p_i >= Σ_j p_j²",
		Source:  tan,
		Params:  param.Specs{minKeep()},
	}
}

// Apply keeps the tokens above the threshold.
func (PLess) Apply(row *sampler.Row, set param.Values) error {
	return pLess(row, set, "p_less", func(collision float64, _ int) float64 { return collision })
}

// Declare returns the declaration.
func (PLessNorm) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "p_less_norm", Kind: sampler.Reshape,
		Summary: "Keeps the tokens above the collision probability less the mean of the products of two different tokens, which is 0 for a flat distribution and leaves the threshold of p_less for a sure one.",
		Formula: "keep i when p_i >= (V Σ_j p_j² - 1) / (V - 1), V tokens in the support",
		Source:  tan + ", relaxed form, whose V is the whole vocabulary",
		Params:  param.Specs{minKeep()},
	}
}

// Apply keeps the tokens above the threshold.
func (PLessNorm) Apply(row *sampler.Row, set param.Values) error {
	return pLess(row, set, "p_less_norm", func(collision float64, n int) float64 {
		if n == 1 {
			return collision
		}
		return (float64(n)*collision - 1) / float64(n-1)
	})
}

func pLess(row *sampler.Row, set param.Values, op string, threshold func(collision float64, support int) float64) error {
	s := row.Scores
	if err := listedOnly(s, op); err != nil {
		return err
	}
	d := shapeOf(s)
	w := make([]float64, len(s.Values))
	vec.Exps(w, s.Values, d.top)
	for i := range w {
		w[i] *= w[i]
	}
	t := threshold(vec.Add(w, s.IDs)/(d.total*d.total), vec.Support(s.Values))
	if t <= 0 {
		return nil
	}
	return keepAbove(s, op, d.floorOf(t, 0), set.Int("min_keep"))
}
