package mask

import (
	"math"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// Repair replaces what no score may be: NaN and +Inf. Without it such a row is
// refused.
type Repair struct{}

// Declare returns the declaration.
func (Repair) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "repair", Aliases: []string{"inf_nan_remove"}, Kind: sampler.Reshape,
		Summary: "As the first stage, replaces scores that are no number or infinite, which are refused otherwise; tokens with a score of -Inf stay removed.",
		Formula: "NaN ← nan, +Inf ← inf, -Inf stays",
		Source:  "transformers, InfNanRemoveLogitsProcessor, without its revival of removed tokens",
		Params: param.Specs{{
			Name: "nan", Type: param.Float, Default: 0.0, Min: -math.MaxFloat32, Max: math.MaxFloat32, Unit: "nats",
			Meaning: "the score that takes the place of NaN",
		}, {
			Name: "inf", Type: param.Float, Default: math.MaxFloat32, Min: -math.MaxFloat32, Max: math.MaxFloat32, Unit: "nats",
			Meaning: "the score that takes the place of +Inf; the default is the largest float32",
		}},
		Needs: sampler.Needs{Raw: true},
	}
}

// Apply replaces the scores. A sound row stays as it is, to the bit. A row of
// which nothing is left is a data error, and so is a broken one with an unlisted
// tail: its listed scores are log-probabilities, and what they were is lost.
func (Repair) Apply(row *sampler.Row, set param.Values) error {
	const op = "repair"
	values := row.Scores.Values
	nan, inf := float32(set.Float("nan")), float32(set.Float("inf"))
	for i, v := range values {
		if v <= math.MaxFloat32 {
			continue
		}
		if row.Scores.Unlisted > 0 {
			return fault.New(fault.Data, op, "", "token %d has score %v beside an unlisted mass of %.4g, and its probability is not known", row.Scores.ID(i), v, row.Scores.Unlisted).
				Fix("the backend is at fault: it lists probabilities")
		}
		if v > 0 {
			values[i] = inf
		} else {
			values[i] = nan
		}
	}
	for _, v := range values {
		if dist.Finite(v) {
			return nil
		}
	}
	return fault.New(fault.Data, op, "", "no token is left: all %d scores are -Inf", len(values)).
		Fix("there is nothing to repair; the backend is at fault")
}
