package feedback

import (
	"math"

	"lab/core/dist"
	"lab/core/dist/vec"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// AdaptiveP prefers tokens of a probability near a target.
type AdaptiveP struct{}

// Declare returns the declaration.
func (AdaptiveP) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name:    "adaptive_p",
		Aliases: []string{"adaptive"},
		Kind:    sampler.Select,
		Summary: "Draws tokens whose probability is near a target, which it corrects by the mean probability of the tokens drawn so far; equal probabilities stay equal, and no token is removed.",
		Formula: "l'_i = 5 - 10 d²/(1+d), d = |p_i - a|/0.3, a = clamp(2 target - avg, 0, 1); avg ← decay avg + (1-decay) p",
		Source:  "llama.cpp, pull request 17927, adaptive-p",
		Params: param.Specs{
			{
				Name: "target", Aliases: []string{"adaptive_target"}, Type: param.Float, Default: 0.5, Min: -1, Max: 1,
				Meaning: "the probability to steer to; a negative one switches the method off, which is then a plain draw",
			},
			{
				Name: "decay", Aliases: []string{"adaptive_decay"}, Type: param.Float, Default: 0.9, Min: 0, Max: 0.99,
				Meaning: "how much of the mean stays at each step: it looks back some 1/(1-decay) tokens; 0 looks at the last one only",
			},
		},
		Needs: sampler.Needs{Uniforms: 1},
	}
}

// The shape of the preference: its height at the target, how steeply it falls,
// and the distance, as a probability, that counts as one.
const (
	peak  = 5
	fall  = 10
	width = 0.3
)

// Apply gives every token a score by the distance of its probability from the
// corrected target, draws, and adds the token's probability before the change
// to the mean, which starts as if the target had been met. Switched off it
// draws as the sampler sample does, and leaves row and state as they are. A row
// with an unlisted tail is refused.
func (AdaptiveP) Apply(row *sampler.Row, set param.Values) error {
	const op = "adaptive_p"
	target, decay := set.Float("target"), set.Float("decay")
	s := row.Scores
	if err := listed(op, s); err != nil {
		return err
	}
	top := float64(vec.Max(s.Values))
	if target < 0 {
		row.Chosen = s.ID(vec.Draw(s.Values, s.IDs, top, row.Uniforms[0]))
		return nil
	}
	mean, err := load(op, row.State, target, 0, 1)
	if err != nil {
		return err
	}
	p := make([]float64, len(s.Values))
	vec.Exps(p, s.Values, top)
	total := vec.Add(p, s.IDs)
	aim := min(max(2*target-mean, 0), 1)
	for i, v := range s.Values {
		if dist.Finite(v) {
			p[i] /= total
			d := math.Abs(p[i]-aim) / width
			s.Values[i] = float32(peak - fall*d*d/(1+d))
		}
	}
	at := vec.Draw(s.Values, s.IDs, float64(vec.Max(s.Values)), row.Uniforms[0])
	row.Chosen = s.ID(at)
	row.State = save(min(decay*mean+(1-decay)*p[at], 1)) // rounding may carry it beyond 1
	return nil
}
