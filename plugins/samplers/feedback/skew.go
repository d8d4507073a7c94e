package feedback

import (
	"math"

	"lab/core/dist/vec"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// Skew bends the draw towards likely or unlikely tokens.
type Skew struct{}

// Declare returns the declaration.
func (Skew) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name:    "skew",
		Aliases: []string{"skew_sampling"},
		Kind:    sampler.Select,
		Summary: "Draws by a bent uniform number over tokens in order of rank, ties by lowest id: a positive skew favours unlikely tokens, a negative one likely ones; the row becomes the distribution that this draws from.",
		Formula: "u' = u^(exp(-skew)) over ranks, that is P(rank r) = F_r^(exp(skew)) - F_(r-1)^(exp(skew))",
		Source:  "ExLlamaV2, skew sampling",
		Params: param.Specs{{
			Name: "skew", Aliases: []string{"k"}, Type: param.Float, Default: 0.0, Min: -20, Max: 20,
			Meaning: "how far the draw is bent; 0 is a plain draw in order of id",
		}},
		Needs: sampler.Needs{Uniforms: 1},
	}
}

// Apply walks the running sum F over ranks to the first token whose F exceeds
// u', and writes the natural logarithm of every token's chance as its score. 0
// leaves the row as it is, to the bit, and draws as the sampler sample does. A row
// with an unlisted tail is refused.
func (Skew) Apply(row *sampler.Row, set param.Values) error {
	k := set.Float("skew")
	s := row.Scores
	if err := listed("skew", s); err != nil {
		return err
	}
	top := float64(vec.Max(s.Values))
	if k == 0 {
		row.Chosen = s.ID(vec.Draw(s.Values, s.IDs, top, row.Uniforms[0]))
		return nil
	}
	order := byRank(s.Values)
	w := make([]float64, len(s.Values))
	vec.Exps(w, s.Values, top)
	total := 0.0 // in the order of the walk, so that its last sum is the total
	for _, r := range order {
		total += w[r.place]
	}
	power := math.Exp(k)
	bent := math.Pow(row.Uniforms[0], 1/power)
	target := min(bent*total, math.Nextafter(total, 0))
	sum, chosen, lnTotal := 0.0, int32(-1), math.Log(total)
	for _, r := range order {
		x := w[r.place]
		sum += x
		if chosen < 0 && sum > target {
			chosen = r.place
		}
		// F_r^a - F_(r-1)^a as F_r^a (1 - (1-y)^a) with y = p/F_r, which does not
		// cancel; for small y the second factor is a y (1 + (1-a) y/2), with an error in
		// y² that is far below the rounding of a score.
		lnSum, part := math.Log(sum), x/sum
		chance := power * (lnSum - lnTotal)
		if part*(1+power) < 1e-5 {
			chance += k + float64(s.Values[r.place]) - top - lnSum + (1-power)*part/2
		} else {
			chance += math.Log(-math.Expm1(power * math.Log1p(-part)))
		}
		s.Values[r.place] = float32(max(chance, -math.MaxFloat32))
	}
	row.Chosen = s.ID(int(chosen))
	return nil
}
