package compat

import (
	"math"

	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// The two processors of transformers for classifier-free guidance.
const (
	onLogSoftmax = "log_softmax" // two passes of generate()
	onLogits     = "logits"      // both conditions in one batch
)

const hfGuidanceDiffers = "a scale of 1 still takes the logarithm of the softmax; float32"

// hfGuidance is guidance in transformers.
func hfGuidance() Rule {
	return Rule{
		Sampler: "cfg", Term: "guidance_scale",
		Differs: hfGuidanceDiffers + "; form=logits, the batched processor, works on the scores as they are, which gives the same distribution, and its scale must exceed 1",
		Params: param.Specs{{Name: "form", Type: param.Text, Default: onLogSoftmax, Choices: []string{onLogSoftmax, onLogits},
			Meaning: "log_softmax is the processor of generate(), logits the one for batches that hold both conditions"}},
		Needs: sampler.Needs{Passes: 1},
		Apply: func(row *sampler.Row, set param.Values) error {
			if set.Text("form") == onLogSoftmax {
				return hfGuide(row, set)
			}
			if g := set.Float("scale"); !(g > 1) {
				return fault.New(fault.Usage, "cfg", "scale", "scale = %g is outside (1, ∞) for form=logits", g).
					Fix("use a scale above 1, or form=log_softmax")
			}
			return guideWith(row, set, func(x []float32) []float32 { return x })
		},
	}
}

// hfGuide is guidance on log probabilities.
func hfGuide(row *sampler.Row, set param.Values) error { return guideWith(row, set, torchLogSoftmax) }

// guideWith extrapolates from the further row through the row, both in a form.
func guideWith(row *sampler.Row, set param.Values, form func([]float32) []float32) error {
	other := &row.Passes[0]
	switch err := other.Check(); {
	case err != nil:
		return fault.Wrap(err, fault.Data, "cfg", "further row 1")
	case other.Vocab != row.Scores.Vocab:
		return fault.New(fault.Data, "cfg", "further row 1", "its vocabulary has %d tokens, that of the row %d", other.Vocab, row.Scores.Vocab).
			Fix("both passes must share one vocabulary")
	}
	u, err := wholeRow("cfg", &sampler.Row{Scores: other, System: row.System})
	if err != nil {
		return err
	}
	u = form(u)
	g := float32(set.Float("scale"))
	return torchChange("cfg", func(x []float32, _ *sampler.Row, _ param.Values) {
		c := form(x)
		for i := range x {
			// Certain against impossible is a NaN, and refused as one.
			if x[i] > float32(math.Inf(-1)) {
				x[i] = float32(g*(c[i]-u[i])) + u[i]
			}
		}
	})(row, set)
}
