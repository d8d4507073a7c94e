package yield

import (
	"math"

	"lab/core/fault"
	"lab/core/trace"
)

const (
	noCost  = "some samples of the run do not say what they took"
	noCount = "the backend counts none"
)

// rates are what tokens took on average in a run, on one model: a token of a prompt
// and one that was generated in seconds, and either of them in FLOP.
type rates struct {
	promptSeconds, ownSeconds, flop float64
	counted                         bool // every sample says what it took
}

// ratesOf returns the rates by model.
func ratesOf(groups []*group) (map[string]rates, error) {
	sums, all := map[string]trace.Cost{}, map[string]bool{}
	for _, g := range groups {
		if _, there := all[g.model]; !there {
			all[g.model] = true
		}
		for _, w := range g.works {
			if w.cost == nil {
				all[g.model] = false
				continue
			}
			for _, v := range []float64{w.cost.PrefillTokens, w.cost.DecodeTokens, w.cost.CachedTokens, w.cost.PrefillSeconds, w.cost.DecodeSeconds, w.cost.FLOPs} {
				if !(v >= 0) || math.IsInf(v, 1) {
					return nil, fault.New(fault.Data, op, "", "a sample took %v of something", v).Fix("costs.parquet of the run is damaged")
				}
			}
			sums[g.model] = sums[g.model].Add(*w.cost)
		}
	}
	out := map[string]rates{}
	for model, c := range sums {
		r := rates{promptSeconds: c.PrefillSeconds / c.PrefillTokens, ownSeconds: c.DecodeSeconds / c.DecodeTokens, flop: c.FLOPs / (c.PrefillTokens + c.DecodeTokens), counted: all[model]}
		switch {
		case c.PrefillTokens+c.DecodeTokens == 0:
			r = rates{counted: r.counted}
		case c.PrefillTokens == 0: // prompts of a single token
			r.promptSeconds = r.ownSeconds
		case c.DecodeTokens == 0:
			r.ownSeconds = r.promptSeconds
		}
		out[model] = r
	}
	return out, nil
}

// taken returns the seconds and the FLOP of an attempt that was sampled, as if it had
// been alone with its prompt: a sample pays equal parts of what it shares with others, so
// its decoding is scaled to the tokens it has, and the prompt, which others may have
// paid for, is taken at the rate of the model's prompts. Further passes, as of
// guidance, are more tokens than it has, and are not scaled.
func (r rates) taken(w work) (seconds, flop Spend) {
	steps := math.Max(float64(w.output)-1, 0) // the first token comes with the prompt
	seconds.Prompt, flop.Prompt = r.promptSeconds*float64(w.prompt), r.flop*float64(w.prompt)
	if w.cost.DecodeTokens == 0 {
		seconds.Own, flop.Own = r.ownSeconds*steps, r.flop*steps
		return seconds, flop
	}
	scale := math.Max(1, steps/w.cost.DecodeTokens)
	decoding := w.cost.DecodeTokens / (w.cost.DecodeTokens + w.cost.PrefillTokens)
	return Spend{seconds.Prompt, w.cost.DecodeSeconds * scale}, Spend{flop.Prompt, w.cost.FLOPs * decoding * scale}
}

// searched returns the tokens, seconds and FLOP of an attempt that a search made: all
// that it evaluated, whatever it threw away. Nothing of it is shared.
func searched(c *trace.Cost) (tokens, seconds, flop float64) {
	return c.PrefillTokens + c.DecodeTokens, c.PrefillSeconds + c.DecodeSeconds, c.FLOPs
}
