package feedback

import (
	"math"

	"lab/core/dist"
	"lab/core/dist/vec"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// MirostatV1 cuts by rank, by way of an estimate of Zipf's exponent.
type MirostatV1 struct{}

// Declare returns the declaration.
func (MirostatV1) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name:    "mirostat_v1",
		Aliases: []string{"mirostat", "mirostat_1"},
		Kind:    sampler.Select,
		Summary: "Estimates Zipf's exponent from the likeliest tokens, keeps as many tokens as would then have an average surprise of mu, at least one, with ties by lowest id, draws from them, and moves mu against the deviation of the draw's surprise from tau.",
		Formula: "keep k = ((e 2^mu) / (1 - N^-e))^(1/s), e = s - 1, s = Σ t b / Σ t²; mu ← mu - eta (S - tau), mu_0 = 2 tau",
		Source:  mirostatSource + "1 and equations 7 and 30",
		Params: mirostatParams(param.Spec{
			Name: "m", Aliases: []string{"mirostat_m"}, Type: param.Int, Default: int64(100), Min: 2, Max: math.Inf(1), Unit: "tokens",
			Meaning: "how many of the likeliest tokens the exponent is estimated from",
		}),
		Needs: sampler.Needs{Uniforms: 1},
	}
}

// Apply cuts, draws and moves mu. N is the number of tokens in the support. A row
// with an unlisted tail is refused, since N is not known.
func (MirostatV1) Apply(row *sampler.Row, set param.Values) error {
	const op = "mirostat_v1"
	c, err := newController(op, row, set)
	if err != nil {
		return err
	}
	s := row.Scores
	if err := listed(op, s); err != nil {
		return err
	}
	top, support := float64(vec.Max(s.Values)), vec.Support(s.Values)
	mass := math.Log(vec.Sum(s.Values, s.IDs, top))
	m := int(min(set.Int("m"), int64(support)))
	k := zipfRank(zipfExponent(s, m), c.mu, support)
	if k < support {
		floor, ties := kth(s.Values, k)
		s.KeepBest(floor, ties, k)
	}
	return c.draw(row, mass)
}

// zipfExponent estimates s from the m largest scores by least squares on their
// successive ratios: Σ t b / Σ t² with t_i = ln((i+1)/i), b_i = ln(p_i/p_(i+1)).
func zipfExponent(s *dist.Scores, m int) float64 {
	floor, ties := kth(s.Values, m)
	best := make([]float32, 0, m)
	for _, v := range s.Values {
		if v > floor {
			best = append(best, v)
		}
	}
	for range ties {
		best = append(best, floor)
	}
	order := byRank(best)
	tb, tt := 0.0, 0.0
	for i := 0; i+1 < len(order); i++ {
		t := math.Log1p(1 / float64(i+1))
		tb += t * (float64(best[order[i].place]) - float64(best[order[i+1].place]))
		tt += t * t
	}
	if tt == 0 {
		return 0
	}
	return tb / tt
}

// zipfRank returns how many of n tokens to keep, from 1 to n. The formula's limit
// is taken at s = 1, where e = 0, and at s = 0, all scores being equal, where it
// keeps every token or one.
func zipfRank(s, mu float64, n int) int {
	if n == 1 {
		return 1
	}
	lnN, e := math.Log(float64(n)), s-1
	share := 1 / lnN // e / (1 - N^-e)
	if e != 0 {
		share = e / -math.Expm1(-e*lnN)
	}
	base := math.Log(share) + mu*math.Ln2
	switch {
	case s == 0 && base >= 0, s > 0 && base/s >= lnN:
		return n
	case s == 0:
		return 1
	}
	return max(1, min(n, int(math.Exp(base/s))))
}
