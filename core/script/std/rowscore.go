package std

import (
	"math"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/script"
)

// rescoringMembers are the methods that change scores.
func rescoringMembers() []script.Member {
	positive := func(name, meaning string) []script.Param {
		return []script.Param{{Name: name, Type: script.Float(), Range: script.MoreThan(0), Meaning: meaning}}
	}
	list := func(name, meaning string) []script.Param {
		return []script.Param{{Name: name, Type: script.Numbers(), Meaning: meaning}}
	}
	return []script.Member{
		cutting("temperature", "Divides every score; what would leave the range of a score becomes its lowest, which draws nothing.", positive("temperature", "below 1 sharpens, above 1 flattens"), nil,
			func(r *row, c *script.Call) (*row, error) { return r.divided(c.Float("temperature")) }),
		cutting("scale", "Multiplies every score, as a temperature of 1/factor does.", positive("factor", "above 1 sharpens, below 1 flattens"), nil,
			func(r *row, c *script.Call) (*row, error) { return r.divided(1 / c.Float("factor")) }),
		cutting("with_scores", "Returns the row with other scores.", list("scores", "one for each listed token; -lab.infinity removes it, and what is removed stays so"), nil,
			func(r *row, c *script.Call) (*row, error) {
				return r.withScores("with_scores", script.Arg[[]float64](c, "scores"))
			}),
		cutting("with_probabilities", "Returns the row with other probabilities; they need not sum to 1.", list("weights", "one for each listed token, none negative; 0 removes it"), nil, (*row).withWeights),
		cutting("map", "Returns the row with the score of each token that a function gives. It is called for every token, which takes about a microsecond each.",
			[]script.Param{{Name: "f", Type: script.Callback("token", "score", "p"), Meaning: "returns the new score, a number"}}, nil, (*row).mapped),
	}
}

// spread is the magnitude of a score above which float32 is too coarse to keep
// the ratios of the likeliest tokens; the largest is subtracted first then, as
// the stage temperature does.
const spread = 65536

// divided divides the finite scores in float64 and rounds.
func (r *row) divided(by float64) (*row, error) {
	if by == 1 {
		return r, nil
	}
	if err := r.whole("temperature"); err != nil {
		return nil, err
	}
	large := 0.0
	for _, v := range r.s.Values {
		if dist.Finite(v) {
			large = max(large, math.Abs(float64(v)))
		}
	}
	shift := 0.0
	if large/by > spread {
		shift = float64(r.s.Values[r.best()])
	}
	s := r.s.Clone()
	for i, v := range s.Values {
		if dist.Finite(v) {
			s.Values[i] = float32(max((float64(v)-shift)/by, -math.MaxFloat32))
		}
	}
	return r.from(s), nil
}

// withScores checks what a script would put in place of the scores.
func (r *row) withScores(what string, scores []float64) (*row, error) {
	wrong := func(format string, args ...any) *fault.Error {
		return fault.New(fault.Script, what, "", format, args...)
	}
	if err := r.whole(what); err != nil {
		return nil, err
	}
	if len(scores) != r.s.Len() {
		return nil, wrong("%d scores for a row of %d listed tokens", len(scores), r.s.Len()).Fix("one score for each of row.ids")
	}
	s := r.s.Clone()
	left := false
	for i, x := range scores {
		id := s.ID(i)
		switch {
		case math.IsNaN(x) || math.IsInf(x, 1):
			return nil, wrong("token %d has score %v", id, x).Fix("scores are finite, or -lab.infinity for a removed token")
		case !math.IsInf(x, -1) && !(math.Abs(x) <= math.MaxFloat32):
			return nil, wrong("token %d has score %g, beyond ±3.4e38", id, x)
		case !math.IsInf(x, -1) && !dist.Finite(s.Values[i]):
			return nil, wrong("token %d has score %g, and was removed before", id, x).Fix("leave -lab.infinity where row.scores has it")
		}
		s.Values[i] = float32(x)
		left = left || !math.IsInf(x, -1)
	}
	if !left {
		return nil, wrong("no token is left: all %d scores are -lab.infinity", len(scores)).Fix("a sampler keeps at least one")
	}
	return r.from(s), nil
}

func (r *row) withWeights(c *script.Call) (*row, error) {
	weights := script.Arg[[]float64](c, "weights")
	scores := make([]float64, len(weights))
	for i, w := range weights {
		if !(w >= 0) || math.IsInf(w, 1) {
			return nil, fault.New(fault.Script, "with_probabilities", "", "element %d is %v", i, w).Fix("probabilities are finite and not negative")
		}
		scores[i] = math.Log(w)
	}
	return r.withScores("with_probabilities", scores)
}

func (r *row) mapped(c *script.Call) (*row, error) {
	if err := r.reckon(); err != nil {
		return nil, err
	}
	scores := make([]float64, r.s.Len())
	for i, v := range r.s.Values {
		if scores[i] = float64(v); !dist.Finite(v) {
			continue
		}
		out, err := c.Func("f").CallFor(c.Context(), script.Number(), r.s.ID(i), float64(v), r.probs[i])
		if err != nil {
			return nil, err
		}
		scores[i] = out.(float64)
	}
	return r.withScores("map", scores)
}
