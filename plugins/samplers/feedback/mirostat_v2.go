package feedback

import (
	"math"

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
