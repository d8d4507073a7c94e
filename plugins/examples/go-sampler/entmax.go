package main

import (
	"math"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// entmax replaces the softmax by a map whose tail is exactly zero: where a
// truncation cuts a distribution and scales up the rest, entmax lets every
// probability shrink towards the border, so that there is no step at it.
type entmax struct{}

// Declare says what lab must know of the sampler.
func (entmax) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name:    "entmax",
		Kind:    sampler.Reshape,
		Summary: "Replaces the softmax of the scores by alpha-entmax, which removes the unlikely tokens and lowers those near the border; tied tokens stay tied, and the likeliest always stays.",
		Formula: "p_i = max(0, (alpha - 1) · l_i - tau)^(1/(alpha - 1)), with tau such that they sum to 1",
		Source: "Peters, Niculae, Martins 2019, Sparse sequence-to-sequence models (alpha-entmax); Martins, Astudillo 2016 (alpha = 2, sparsemax); " +
			"Martins, Marinho, Martins 2020, Sparse text generation (drawing from it)",
		Params: param.Specs{{
			Name: "alpha", Type: param.Float, Default: 1.5, Min: 1, Max: 8,
			Meaning: "1 is the softmax and changes nothing; 2 is the projection onto the simplex; the larger, the fewer tokens stay",
		}},
	}
}

// Apply puts ln p_i in the place of the score of each token with p_i above 0
// and removes the others. All of it is in float64; the scores are rounded to
// float32 at the end.
//
// A row whose backend lists its likeliest tokens only is exact as soon as one of
// them is removed, for the unlisted ones are less likely; else it is refused.
func (entmax) Apply(row *sampler.Row, set param.Values) error {
	alpha, s := set.Float("alpha"), row.Scores
	if alpha == 1 {
		return nil
	}
	a, at := near(s, alpha-1)
	tau := threshold(a, 1/(alpha-1))
	kept := a[:0]
	places := at[:0]
	for i, x := range a {
		if x > tau {
			kept = append(kept, math.Log(x-tau)/(alpha-1))
			places = append(places, at[i])
		}
	}
	if s.Unlisted > 0 && len(places) == support(s) {
		return fault.New(fault.Data, "entmax", "", "all %d listed tokens stay, and a mass of %.4g is unlisted", len(places), s.Unlisted).
			Fix("raise alpha, truncate before with top_k, or use a backend that lists every token")
	}
	for i, x := range kept {
		s.Values[places[i]] = float32(max(x, -math.MaxFloat32))
	}
	s.KeepPlaces(places)
	s.Unlisted = 0
	return nil
}

// near returns (alpha-1) (l_i - max l) of the tokens that can stay, and their
// places. The threshold lies within 1 of the largest, so only those can.
func near(s *dist.Scores, by float64) (a []float64, at []int32) {
	best := s.Values[0]
	for _, v := range s.Values {
		best = max(best, v)
	}
	for i, v := range s.Values {
		if x := by * (float64(v) - float64(best)); x > -1 {
			a, at = append(a, x), append(at, int32(i))
		}
	}
	return a, at
}

// threshold returns tau of sum max(0, a_i - tau)^power = 1 to the last bit that
// halving finds. The sum falls with tau: it is at least 1 at -1, because the
// largest a is 0, and 0 at 0.
func threshold(a []float64, power float64) float64 {
	low, high := -1.0, 0.0
	for {
		tau := low + (high-low)/2
		if tau == low || tau == high {
			return low
		}
		sum := 0.0
		for _, x := range a {
			if x > tau {
				sum += math.Pow(x-tau, power)
			}
		}
		if sum >= 1 {
			low = tau
		} else {
			high = tau
		}
	}
}

func support(s *dist.Scores) (n int) {
	for _, v := range s.Values {
		if dist.Finite(v) {
			n++
		}
	}
	return n
}
