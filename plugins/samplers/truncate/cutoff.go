package truncate

import (
	"math"

	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// TopA keeps the tokens above a share of the squared largest probability.
type TopA struct{}

// Epsilon keeps the tokens above a fixed probability (Hewitt, Manning and Liang
// 2022).
type Epsilon struct{}

// Eta keeps the tokens above a probability that falls with the entropy (Hewitt,
// Manning and Liang 2022).
type Eta struct{}

const hewitt = "Hewitt, Manning, Liang 2022, Truncation sampling as language model desmoothing"

// Declare returns the declaration.
func (TopA) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "top_a", Kind: sampler.Reshape,
		Summary: "Keeps the tokens whose probability is at least a times the square of the largest one: the surer the model, the fewer stay. The likeliest stays in any case.",
		Formula: "keep i when p_i >= top_a · p_max²",
		Source:  "BlinkDL 2022, top-a sampling, in the README of RWKV-LM",
		Params: param.Specs{
			{
				Name: "top_a", Aliases: []string{"a"}, Type: param.Float, Default: 0.2, Min: 0, Max: math.Inf(1),
				Meaning: "the factor of the squared largest probability; 0 keeps all",
			},
			minKeep(),
		},
	}
}

// Apply keeps the tokens above the threshold.
func (TopA) Apply(row *sampler.Row, set param.Values) error {
	a := set.Float("top_a")
	if a == 0 {
		return nil
	}
	s := row.Scores
	d := shapeOf(s)
	best := (1 - s.Unlisted) / d.total
	return keepAbove(s, "top_a", d.floorOf(a*best*best, s.Unlisted), set.Int("min_keep"))
}

func cutoff(alias, meaning string) param.Specs {
	return param.Specs{
		{Name: "epsilon", Aliases: []string{alias}, Type: param.Float, Default: 3e-4, Min: 0, Max: 1, MaxOpen: true, Meaning: meaning},
		minKeep(),
	}
}

// Declare returns the declaration.
func (Epsilon) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "epsilon", Aliases: []string{"epsilon_cutoff"}, Kind: sampler.Reshape,
		Summary: "Keeps the tokens of at least a given probability; when none reaches it, the likeliest alone, of tied ones the lowest id.",
		Formula: "keep i when p_i >= epsilon",
		Source:  hewitt + ", epsilon sampling",
		Params:  cutoff("epsilon_cutoff", "the least probability, as a plain number; 0 keeps all"),
	}
}

// Apply keeps the tokens above the threshold.
func (Epsilon) Apply(row *sampler.Row, set param.Values) error {
	eps := set.Float("epsilon")
	if eps == 0 {
		return nil
	}
	s := row.Scores
	return keepAbove(s, "epsilon", shapeOf(s).floorOf(eps, s.Unlisted), set.Int("min_keep"))
}

// Declare returns the declaration.
func (Eta) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "eta", Aliases: []string{"eta_cutoff"}, Kind: sampler.Reshape,
		Summary: "Keeps the tokens above a probability that is lower the flatter the distribution; when none reaches it, the likeliest alone, of tied ones the lowest id.",
		Formula: "keep i when p_i >= min(epsilon, sqrt(epsilon) · exp(-H)), H in nats",
		Source:  hewitt + ", eta sampling, equation 6",
		Params:  cutoff("eta_cutoff", "the largest threshold, as a plain number; 0 keeps all"),
	}
}

// Apply keeps the tokens above the threshold.
func (Eta) Apply(row *sampler.Row, set param.Values) error {
	eps := set.Float("epsilon")
	if eps == 0 {
		return nil
	}
	s := row.Scores
	if err := listedOnly(s, "eta"); err != nil {
		return err
	}
	d := shapeOf(s)
	return keepAbove(s, "eta", d.floorOf(min(eps, math.Sqrt(eps)*math.Exp(-d.entropy)), 0), set.Int("min_keep"))
}
