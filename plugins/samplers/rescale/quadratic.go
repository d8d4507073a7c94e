package rescale

import (
	"math"

	"lab/core/dist"
	"lab/core/dist/vec"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// Quadratic bends the scores around the largest one (kalomaze 2024).
type Quadratic struct{}

// Declare returns the declaration.
func (Quadratic) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "quadratic", Aliases: []string{"smoothing", "smooth_sampling"}, Kind: sampler.Reshape,
		Summary: "Moves every score by the square, and with a curve above 1 the cube, of its distance to the largest one: close choices come closer together, far ones fall further behind.",
		Formula: "d = l_i - l_max; l_max - k f d² + s f d³, k = (3 - curve)/2, s = (curve - 1)/2",
		Source:  "kalomaze 2024, smooth sampling, text-generation-webui pull requests 5403 and 5551",
		Params: param.Specs{
			{
				Name: "factor", Aliases: []string{"smoothing_factor"}, Type: param.Float, Default: 0.0, Min: 0, Max: math.Inf(1),
				Meaning: "strength f; 0 is off",
			},
			{
				Name: "curve", Aliases: []string{"smoothing_curve"}, Type: param.Float, Default: 1.0, Min: 0, Max: math.Inf(1),
				Meaning: "1 is purely quadratic; above it the cube falls in",
			},
		},
	}
}

// Apply moves the scores. The largest one stays; a finite score stays finite:
// one that leaves the range of float32 is stored as its limit. A factor and a
// curve that leave no number are a usage error.
func (Quadratic) Apply(row *sampler.Row, set param.Values) error {
	f, curve := set.Float("factor"), set.Float("curve")
	if f == 0 {
		return nil
	}
	s := row.Scores
	if s.Unlisted > 0 {
		return unlisted(s, "quadratic")
	}
	top := float64(vec.Max(s.Values))
	k, c := f*((3-curve)/2), f*((curve-1)/2)
	if math.IsInf(k, 0) || math.IsInf(c, 0) {
		return fault.New(fault.Usage, "quadratic", "", "factor = %v times a curve of %v is beyond every number", f, curve).
			Fix("factors up to 10 and curves of 1 to 3 are usual")
	}
	for i, v := range s.Values {
		if !dist.Finite(v) || float64(v) == top {
			continue
		}
		// A product beyond every number is Inf, never Inf - Inf: only k is added
		// to, and k is finite.
		d := float64(v) - top
		s.Values[i] = float32(max(-math.MaxFloat32, min(math.MaxFloat32, top-d*d*(k-c*d))))
	}
	return nil
}
