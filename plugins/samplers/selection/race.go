package selection

import (
	"math"

	"lab/core/dist"
	"lab/core/dist/vec"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// GumbelMax draws by a race between all tokens, each with a random number of
// its own.
type GumbelMax struct{}

// Declare returns the declaration.
func (GumbelMax) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name:    "gumbel_max",
		Aliases: []string{"exponential_race"},
		Kind:    sampler.Select,
		Summary: "Draws one token with its probability: the one of the highest score after Gumbel noise, which equals the first to arrive in an exponential race; each token's noise depends on the step's uniform number and its id only, so two similar distributions mostly draw the same token.",
		Formula: "argmax l_i + g_i, g_i = -ln(-ln(1-v_i)), v_i = hash(uniform, i); the same token as argmin -ln(1-v_i)/p_i",
		Source:  "Gumbel 1954, Statistical theory of extreme values; Maddison, Tarlow, Minka 2014, A* sampling; hash: Steele, Lea, Flood 2014, Fast splittable pseudorandom number generators",
		Needs:   sampler.Needs{Uniforms: 1},
	}
}

// Apply runs the race that the row's uniform number starts, see [RaceSeed] and
// [Race]. The row is not changed. A row with an unlisted tail is refused.
func (GumbelMax) Apply(row *sampler.Row, _ param.Values) error {
	s := row.Scores
	if s.Unlisted > 0 {
		return fault.New(fault.Data, "gumbel_max", "", "a mass of %.4g is unlisted and cannot be drawn from", s.Unlisted).
			Fix("truncate to listed tokens first, with top_k or top_p")
	}
	row.Chosen = Race(s, RaceSeed(row.Uniforms[0]))
	return nil
}

// golden is 2^64 divided by the golden ratio, the step of SplitMix64 and of the
// lattice of arithmetic sampling.
const golden = 0x9E3779B97F4A7C15

// mix is the finaliser of SplitMix64.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// RaceSeed returns the seed of the race that a uniform number starts: its 64
// bits as a float64, mixed.
func RaceSeed(uniform float64) uint64 { return mix(math.Float64bits(uniform)) }

// Race returns the token that arrives first when token i arrives after the time
// -ln(1-v_i)/w_i, where w_i is its weight [vec.Exp](score - top) and v_i, in (0, 1),
// the middle of the part of 2^53 equal ones that output i+1 of SplitMix64 started
// at seed falls into. Each token is first with its probability. A token of
// weight 0 never arrives, and of equal times the lowest id wins. The row must
// have passed its check; it is not changed. Safe for concurrent use.
//
// -ln(1-v) is at least v, so hardly any logarithm is needed: a token whose v
// alone makes it late is out.
func Race(s *dist.Scores, seed uint64) int32 {
	const part = 1024
	var w [part]float64
	top := float64(vec.Max(s.Values))
	first, token := math.MaxFloat64, int32(-1)
	late := first
	for from := 0; from < len(s.Values); from += part {
		values := s.Values[from:min(from+part, len(s.Values))]
		vec.Exps(w[:], values, top)
		var ids []int32
		if s.IDs != nil {
			ids = s.IDs[from : from+len(values)]
		}
		at := seed + uint64(from)*golden
		for i, x := range w[:len(values)] {
			if at += golden; ids != nil {
				at = seed + (uint64(ids[i])+1)*golden
			}
			v := (float64(mix(at)>>11) + 0.5) * 0x1p-53
			if v >= late*x {
				continue
			}
			if t := -math.Log1p(-v) / x; t < first {
				first, token = t, s.ID(from+i)
				late = min(first*(1+0x1p-40), math.MaxFloat64) // room for rounding
			}
		}
	}
	return token
}
