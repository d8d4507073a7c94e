package guide

import (
	"math"

	"lab/core/dist/vec"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// CFG strengthens what a condition, such as a prompt, changes.
type CFG struct{}

// Declare returns the declaration.
func (CFG) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name:    "cfg",
		Aliases: []string{"classifier_free_guidance", "classifier_free_guidance_unbatched", "guidance", "guidance_scale"},
		Kind:    sampler.Reshape,
		Summary: "Extrapolates from the distribution without the condition (the further pass: an empty or a negative prompt) through the one with it; removed tokens stay removed.",
		Formula: "u_i + scale (c_i - u_i), c and u natural-log probabilities with and without the condition",
		Source:  "Ho, Salimans 2022, Classifier-free diffusion guidance; Sanchez et al. 2023, Stay on topic with classifier-free guidance",
		Params: param.Specs{
			unbounded("scale", "how far to go: 1 changes nothing, 0 is the distribution without the condition, above 1 strengthens it", 1, 0, "guidance_scale", "g"),
		},
		Needs: sampler.Needs{Passes: 1},
	}
}

// Apply replaces the scores; a scale of 1 leaves the row as it is, to the bit. See
// the package comment for tokens that the pass lacks. An unlisted tail is
// refused.
func (CFG) Apply(row *sampler.Row, set param.Values) error {
	g := set.Float("scale")
	if g == 1 {
		return nil
	}
	return against("cfg", row, g, 1-g)
}

// against combines the row with its only pass.
func against(op string, row *sampler.Row, own, other float64) error {
	if err := whole(op, row.Scores); err != nil {
		return err
	}
	p, err := newPass(op, row, 0)
	if err != nil {
		return err
	}
	return combine(op, row.Scores, p, own, other)
}

// ContextAware strengthens what a context changes.
type ContextAware struct{}

// Declare returns the declaration.
func (ContextAware) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name:    "context_aware",
		Aliases: []string{"context_aware_decoding", "cad"},
		Kind:    sampler.Reshape,
		Summary: "Favours tokens that the context makes likelier than they are without it (the further pass: the same question without the context); removed tokens stay removed.",
		Formula: "(1+alpha) ln p(y|c,x) - alpha ln p(y|x)",
		Source:  "Shi, Han, Lewis, Tsvetkov, Zettlemoyer, Yih 2023, Trusting your evidence: hallucinate less with context-aware decoding",
		Params: param.Specs{
			unbounded("alpha", "how much to favour them; 0 changes nothing", 0.5, 0, "a"),
		},
		Needs: sampler.Needs{Passes: 1},
	}
}

// Apply replaces the scores; an alpha of 0 leaves the row as it is, to the bit. It
// is guidance with a scale of 1 + alpha.
func (ContextAware) Apply(row *sampler.Row, set param.Values) error {
	a := set.Float("alpha")
	if a == 0 {
		return nil
	}
	return against("context_aware", row, 1+a, -a)
}

// Contrastive favours what a strong model knows and a weak one does not.
type Contrastive struct{}

// Declare returns the declaration.
func (Contrastive) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name:    "contrastive",
		Aliases: []string{"contrastive_decoding"},
		Kind:    sampler.Reshape,
		Summary: "Keeps the tokens that are plausible, not less likely than alpha times the likeliest, and scores them by how much likelier they are than for an amateur model (the further pass); removed tokens stay removed.",
		Formula: "ln p_expert - beta ln p_amateur where p_expert >= alpha max p_expert, else -inf",
		Source:  "Li, Holtzman, Fried, Liang, Eisner, Hashimoto, Zettlemoyer, Lewis 2023, Contrastive decoding; O'Brien, Lewis 2023 write (1+b) ln p_e - b ln p_a, which is beta = b/(1+b) at temperature 1/(1+b)",
		Params:  param.Specs{plausible(), unbounded("beta", "how much the amateur counts against a token; 1 is the paper's difference, 0 leaves the scores as they are", 1, 0, "strength")},
		Needs:   sampler.Needs{Passes: 1},
	}
}

func plausible() param.Spec {
	return param.Spec{Name: "alpha", Aliases: []string{"a", "plausibility"}, Type: param.Float, Default: 0.1, Min: 0, Max: 1,
		Meaning: "a token is plausible from this part of the largest probability on; 0 keeps all, 1 the likeliest and those tied with it"}
}

// Apply cuts and replaces the scores; alpha = 0 with beta = 0 leaves the row as it
// is, to the bit.
func (Contrastive) Apply(row *sampler.Row, set param.Values) error {
	alpha, beta := set.Float("alpha"), set.Float("beta")
	if beta == 0 && alpha == 0 {
		return nil
	}
	if err := whole("contrastive", row.Scores); err != nil {
		return err
	}
	if alpha > 0 {
		row.Scores.KeepFrom(plausibleFloor(vec.Max(row.Scores.Values), alpha))
	}
	if beta == 0 {
		return nil
	}
	return against("contrastive", row, 1, -beta)
}

// plausibleFloor returns the smallest score that is at least top + ln alpha.
func plausibleFloor(top float32, alpha float64) float32 {
	exact := float64(top) + math.Log(alpha)
	floor := float32(exact)
	if float64(floor) < exact {
		floor = math.Nextafter32(floor, float32(math.Inf(1)))
	}
	return min(max(floor, -math.MaxFloat32), top)
}
