package truncate

import (
	"math"

	"lab/core/dist/vec"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// TopH keeps the likeliest tokens up to a share of the entropy.
type TopH struct{}

// Declare returns the declaration.
func (TopH) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "top_h", Kind: sampler.Reshape,
		Summary: "Keeps likeliest tokens while their terms -p ln p sum to at most a share of the entropy, among a number of best ones made to sum to 1; the first always stays, and tied tokens enter in order of id.",
		Formula: "keep rank j while Σ_(k<=j) -p_k ln p_k <= top_h · H, p over the cap best tokens",
		Source:  "Potraghloo, Azizi, Kundu, Pedram 2025, Top-H decoding: adapting the creativity and coherence with bounded entropy in text generation; cap as in transformers",
		Params: param.Specs{
			{
				Name: "top_h", Aliases: []string{"h"}, Type: param.Float, Default: 0.4, Min: 0, Max: 1, MinOpen: true,
				Meaning: "the share of the entropy to keep; 1 keeps every token among the best",
			},
			{
				Name: "cap", Aliases: []string{"top_n"}, Type: param.Int, Default: int64(100), Min: 1, Max: math.Inf(1), Unit: "tokens",
				Meaning: "how many of the best tokens come into question",
			},
			minKeep(),
		},
	}
}

// Apply cuts the row to its best tokens and then to the share. With an unlisted
// tail the result is exact when at least cap tokens are listed, and refused
// otherwise.
func (TopH) Apply(row *sampler.Row, set param.Values) error {
	h, cap, least := set.Float("top_h"), set.Int("cap"), set.Int("min_keep")
	s := row.Scores
	support := int64(vec.Support(s.Values))
	if s.Unlisted > 0 && max(cap, least) > support {
		return fault.New(fault.Data, "top_h", "", "the %d best tokens are wanted but only %d are listed", max(cap, least), support).
			Fix("choose cap and min_keep up to %d, or a backend that lists every token", support)
	}
	s.Unlisted = 0
	if h == 1 && cap >= support {
		return nil
	}
	if cap < support {
		cutTo(s, int(max(cap, least)), false)
	}
	p := falling(s)
	if h == 1 || cap < least {
		return nil
	}
	total := 0.0
	for _, x := range p {
		total -= xlnx(x)
	}
	kept, running := 0, 0.0
	for _, x := range p {
		if running -= xlnx(x); running > h*total*(1+1e-9) {
			break
		}
		kept++
	}
	if kept = max(kept, 1, int(min(least, int64(len(p))))); kept < len(p) {
		cutTo(s, kept, false)
	}
	return nil
}

func xlnx(x float64) float64 {
	if x == 0 {
		return 0
	}
	return x * math.Log(x)
}
