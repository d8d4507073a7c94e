package feedback

import (
	"math"

	"lab/core/dist"
	"lab/core/dist/vec"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// MirostatV2 cuts by surprise and steers the cut.
type MirostatV2 struct{}

// Declare returns the declaration.
func (MirostatV2) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name:    "mirostat_v2",
		Aliases: []string{"mirostat_2"},
		Kind:    sampler.Select,
		Summary: "Removes every token more surprising than mu, keeps at least the likeliest, draws from the rest, and moves mu against the deviation of the draw's surprise from tau; a token of surprise mu stays.",
		Formula: "keep i when -log2 p_i <= mu; mu ← mu - eta (S - tau), mu_0 = 2 tau",
		Source:  mirostatSource + "2 without its estimate of Zipf's exponent",
		Params:  mirostatParams(),
		Needs:   sampler.Needs{Uniforms: 1},
	}
}

// Apply cuts, draws and moves mu. Probabilities are those of the row it is
// given, in float64. A row with an unlisted tail is refused unless the cut falls
// among its listed tokens, none of which an unlisted one exceeds.
func (MirostatV2) Apply(row *sampler.Row, set param.Values) error {
	const op = "mirostat_v2"
	c, err := newController(op, row, set)
	if err != nil {
		return err
	}
	s := row.Scores
	top := vec.Max(s.Values)
	mass := math.Log(vec.Sum(s.Values, s.IDs, float64(top))) - math.Log1p(-s.Unlisted)
	surprise := func(v float32) float64 { return (float64(top) - float64(v) + mass) / math.Ln2 }
	if s.Unlisted > 0 && surprise(vec.Least(s.Values)) <= c.mu {
		return fault.New(fault.Data, op, "", "mu = %.4g bits keeps every listed token, and which of the unlisted mass of %.4g belongs to them is not known", c.mu, s.Unlisted).
			Fix("truncate to listed tokens first, with top_k or top_p")
	}
	if surprise(top) > c.mu {
		s.KeepBest(top, 1, 1)
	} else {
		s.KeepFrom(least(top, func(v float32) bool { return surprise(v) <= c.mu }))
	}
	s.Unlisted = 0
	return c.draw(row, mass)
}

// least returns the smallest finite score that passes, where the largest one does
// and whatever is above one that passes does too. It halves the range of keys,
// so the answer is the one that testing every score would give.
func least(top float32, passes func(float32) bool) float32 {
	if passes(-math.MaxFloat32) {
		return -math.MaxFloat32
	}
	low, high := key(-math.MaxFloat32), key(top) // low fails, high passes
	for high-low > 1 {
		if middle := low + (high-low)/2; passes(unkey(middle)) {
			high = middle
		} else {
			low = middle
		}
	}
	return unkey(high)
}

// unkey returns the score of a key.
func unkey(k uint32) float32 {
	if k>>31 == 1 {
		return math.Float32frombits(k &^ (1 << 31))
	}
	return math.Float32frombits(^k)
}

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
