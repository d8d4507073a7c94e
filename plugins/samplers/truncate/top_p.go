package truncate

import (
	"lab/core/dist/vec"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// TopP keeps the nucleus: the smallest set of likeliest tokens that holds a
// given mass (Holtzman et al. 2019).
type TopP struct{}

// Declare returns the declaration.
func (TopP) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name:    "top_p",
		Aliases: []string{"nucleus"},
		Kind:    sampler.Reshape,
		Summary: "Keeps the nucleus, the shortest list of likeliest tokens whose mass reaches p, and removes the rest; the token that crosses p stays, and tied tokens enter in order of id.",
		Source:  "Holtzman, Buys, Du, Forbes, Choi 2019, The curious case of neural text degeneration",
		Formula: "keep i when the p_j of all tokens ranked before it sum to less than top_p",
		Params: param.Specs{
			{
				Name: "top_p", Aliases: []string{"p"}, Type: param.Float, Default: 0.95, Min: 0, Max: 1,
				Meaning: "the mass to reach; 0 keeps the likeliest token only, 1 keeps all; it counts as reached within 1e-9 relative",
			},
			minKeep(),
		},
	}
}

// reached is the relative slack of the threshold: without one, rounding
// decides whether eight equal tokens at p = 0.5 are four or five.
const reached = 1 - 1e-9

// Apply keeps the nucleus. Probabilities are summed in float64; when nothing is
// to be cut the row stays as it is, to the bit. With an unlisted tail the
// result is exact when the listed tokens reach p, and refused otherwise.
func (TopP) Apply(row *sampler.Row, set param.Values) error {
	p, least := set.Float("top_p"), set.Int("min_keep")
	if p == 1 {
		return nil
	}
	s := row.Scores
	support := vec.Support(s.Values)
	c, ok := nucleus(s, p/(1-s.Unlisted))
	if s.Unlisted > 0 && (!ok || least > int64(support)) {
		return fault.New(fault.Data, "top_p", "", "the nucleus of %g is not known: the %d listed tokens hold %.6g", p, support, 1-s.Unlisted).
			Fix("choose top_p up to the listed mass, or a backend that lists every token")
	}
	switch {
	case int64(c.n) < least:
		cutTo(s, int(min(least, int64(support))), false)
	case c.n < support:
		s.KeepBest(c.floor, c.ties, c.n)
	}
	s.Unlisted = 0
	return nil
}
