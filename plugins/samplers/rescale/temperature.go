package rescale

import (
	"math"

	"lab/core/dist"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// Temperature divides the scores: p_i becomes proportional to p_i^(1/T)
// (Ackley, Hinton and Sejnowski 1985).
type Temperature struct{}

// Declare returns the declaration.
func (Temperature) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name:    "temperature",
		Aliases: []string{"temp", "t", "post_softmax_temperature"},
		Kind:    sampler.Reshape,
		Summary: "Divides every score by the temperature: below 1 sharpens the distribution, above 1 flattens it; the order of tokens stays, and at 0 only the likeliest is kept (of tied ones the lowest id).",
		Formula: "l_i / temperature",
		Source:  "Ackley, Hinton, Sejnowski 1985, A learning algorithm for Boltzmann machines: p_i ∝ exp(l_i / T)",
		Params: param.Specs{{
			Name: "temperature", Aliases: []string{"t", "temp"}, Type: param.Float, Default: 1.0,
			Min: 0, Max: math.Inf(1),
			Meaning: "what the scores are divided by; 0 keeps the likeliest token only, 1 changes nothing, large values approach equal probabilities",
		}},
	}
}

// shiftAbove is the largest |l/T| that is stored as it is. Beyond it the
// maximum is subtracted first, which changes no probability: float32 numbers
// around 65,536 lie 2^-7 apart, and a spacing much above that would distort the
// ratios of the likeliest tokens. Below it scores keep their zero, on which
// sign-aware penalties depend.
const shiftAbove = 65536

// Apply divides the scores in float64 and rounds to float32. A finite score
// stays finite: a quotient below the range of float32 is stored as the lowest
// finite value, whose probability is 0 beside any other. A temperature of 1
// leaves the row as it is, to the bit.
func (Temperature) Apply(row *sampler.Row, set param.Values) error {
	t := set.Float("temperature")
	s := row.Scores
	switch {
	case t == 1:
		return nil
	case t == 0:
		s.KeepBest(top(s.Values), 1, 1)
		s.Unlisted = 0
		return nil
	case s.Unlisted > 0:
		return unlisted(s, "temperature")
	}
	divide(s, t)
	return nil
}

// divide divides the finite scores by a temperature, 0 being the limit: the best
// token alone.
func divide(s *dist.Scores, t float64) {
	if t == 0 {
		s.KeepBest(top(s.Values), 1, 1)
		return
	}
	shift := 0.0
	if largest(s.Values)/t > shiftAbove {
		shift = float64(top(s.Values))
	}
	for i, v := range s.Values {
		if dist.Finite(v) {
			s.Values[i] = float32(max((float64(v)-shift)/t, -math.MaxFloat32))
		}
	}
}

// top returns the largest score.
func top(values []float32) float32 {
	best := values[0]
	for _, v := range values {
		if v > best {
			best = v
		}
	}
	return best
}

// largest returns the largest magnitude of a finite score.
func largest(values []float32) float64 {
	var m float32
	for _, v := range values {
		if !dist.Finite(v) {
			continue
		}
		if v < 0 {
			v = -v
		}
		if v > m {
			m = v
		}
	}
	return float64(m)
}
