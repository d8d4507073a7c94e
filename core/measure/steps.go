package measure

import (
	"math"

	"lab/core/fault"
	"lab/core/trace"
)

// stepSum adds a number over the recorded steps of a sample. Steps that were not
// recorded are a usage error, a number that is NaN a data error that names the
// step.
func stepSum(s *trace.Sample, what string, f func(*trace.Step) (float64, bool)) (total, steps float64, err error) {
	if len(s.Steps) != len(s.Tokens) {
		return 0, 0, notRecorded(what)
	}
	values := make([]float64, len(s.Steps))
	for i := range s.Steps {
		v, ok := f(&s.Steps[i])
		if !ok {
			return 0, 0, notRecorded(what)
		}
		if math.IsNaN(v) {
			return 0, 0, bad(what, "step %d is NaN", i).Fix("a backend that lists its top tokens only does not know it")
		}
		values[i] = v
	}
	return sumOrInf(values), float64(len(values)), nil
}

func notRecorded(what string) error {
	return fault.New(fault.Usage, what, "", "its steps were not recorded").Fix("generate with {ledger: true}")
}

// sumOrInf is sum, where an infinite value makes the total infinite and not NaN.
func sumOrInf(values []float64) float64 {
	for _, v := range values {
		if math.IsInf(v, 0) {
			return v
		}
	}
	return sum(values)
}

// model and sampling choose a side of a step.
func model(s *trace.Step) *trace.Side    { return s.Model }
func sampling(s *trace.Step) *trace.Side { return s.Sampling }

// ofSide returns the part of a measure that averages a number of one side.
func ofSide(what string, side func(*trace.Step) *trace.Side, f func(*trace.Side) float64) part {
	return func(s *trace.Sample) (float64, float64, error) {
		return stepSum(s, what, func(t *trace.Step) (float64, bool) {
			if d := side(t); d != nil {
				return f(d), true
			}
			return 0, false
		})
	}
}

func surprisal(d *trace.Side) float64 { return float64(d.SurprisalBits) }
func entropy(d *trace.Side) float64   { return float64(d.EntropyBits) }
func rank(d *trace.Side) float64      { return float64(d.Rank) }
func support(d *trace.Side) float64   { return float64(d.Support) }

// keptMass averages over steps the product of what the stages kept, each of the
// distribution before it.
func keptMass(s *trace.Sample) (float64, float64, error) {
	return stepSum(s, "kept_mass", func(t *trace.Step) (float64, bool) {
		kept := 1.0
		for _, stage := range t.Stages {
			kept *= float64(stage.KeptMass)
		}
		return kept, t.Model != nil
	})
}

// bitsPerByte divides a sample's model surprisal by the bytes of its tokens.
func bitsPerByte(s *trace.Sample) (float64, float64, error) {
	bits, _, err := ofSide("model_bits_per_byte", model, surprisal)(s)
	bytes := 0
	for i := range s.Steps {
		bytes += len(s.Steps[i].Piece)
	}
	return bits, float64(bytes), err
}

// Content returns a sample's tokens without the one that ended the text.
func Content(s *trace.Sample) []int32 {
	if n := len(s.Tokens); n > 0 && s.Stop.Reason == trace.EndOfText {
		return s.Tokens[:n-1]
	}
	return s.Tokens
}

// Output returns a sample's exact bytes.
func Output(s *trace.Sample) string {
	if s.Raw != nil {
		return string(s.Raw)
	}
	return s.Text
}

// loops is the number of rounds from which on [Named] calls an end a loop.
const loops = 3

// looping is 1 for a text that ends in a loop.
func looping(s *trace.Sample) (float64, float64, error) {
	l, err := FindLoop(Content(s), loops)
	if l.Period > 0 {
		return 1, 1, err
	}
	return 0, 1, err
}

// ofLoop is a number of the loop; without one it is undefined.
func ofLoop(f func(Loop) int) part {
	return func(s *trace.Sample) (float64, float64, error) {
		l, err := FindLoop(Content(s), loops)
		if err != nil || l.Period == 0 {
			return 0, 0, err
		}
		return float64(f(l)), 1, nil
	}
}

// ofTokens is a measure of the tokens of one text.
func ofTokens(f func([]int32) (float64, error)) part {
	return func(s *trace.Sample) (float64, float64, error) {
		v, err := f(Content(s))
		return v, 1, err
	}
}
