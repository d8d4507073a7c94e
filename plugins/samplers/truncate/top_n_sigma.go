package truncate

import (
	"math"

	"lab/core/dist/vec"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// TopNSigma keeps the tokens within some standard deviations of the largest
// score (Tang et al. 2024).
type TopNSigma struct{}

// Declare returns the declaration.
func (TopNSigma) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "top_n_sigma", Aliases: []string{"nsigma", "top_nsigma"}, Kind: sampler.Reshape,
		Summary: "Keeps the tokens whose score lies within n standard deviations of the largest one, equality included; which ones does not depend on the temperature.",
		Formula: "keep i when l_i >= l_max - n · σ, σ the population standard deviation of the finite scores",
		Source:  "Tang, Zhu, Chen, Zhang, Chen, Yang 2024, Top-nσ: not all logits are you need",
		Params: param.Specs{
			{
				Name: "top_n_sigma", Aliases: []string{"n", "nsigma"}, Type: param.Float, Default: 1.0, Min: math.Inf(-1), Max: math.Inf(1),
				Unit: "standard deviations", Meaning: "how far below the largest score to keep; 0 or less keeps all",
			},
			minKeep(),
		},
	}
}

// Apply keeps the tokens above the floor, which counts as reached within 1e-9 of
// its distance: of two tokens, either is one deviation from the mean, and
// rounding would decide at n = 2. Removed tokens count neither for the mean nor
// for the deviation.
func (TopNSigma) Apply(row *sampler.Row, set param.Values) error {
	n := set.Float("top_n_sigma")
	if n <= 0 {
		return nil
	}
	s := row.Scores
	if err := listedOnly(s, "top_n_sigma"); err != nil {
		return err
	}
	count, sum, _ := vec.Moments(s.Values, s.IDs, 0)
	_, off, squares := vec.Moments(s.Values, s.IDs, sum/float64(count))
	rest := off / float64(count) // what rounding left of the mean
	sigma := math.Sqrt(max(0, squares/float64(count)-rest*rest))
	floor := float64(vec.Max(s.Values)) - n*sigma/reached
	return keepAbove(s, "top_n_sigma", floor, set.Int("min_keep"))
}
