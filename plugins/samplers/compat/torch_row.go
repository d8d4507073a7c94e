package compat

import (
	"math"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// The torch systems see the whole vocabulary at every step, removed tokens at
// -Inf. Their rules are functions of such a row; the wrappers here make one from
// a row of ours and bring the result back.

// keeper is a rule that truncates: it returns which tokens of the vocabulary
// stay. nil keeps all.
type keeper func(x []float32, row *sampler.Row, set param.Values) []bool

// torchKeep turns a keeper into the rule of a stage. When no token is removed
// the row stays as it is, to the bit; a rule that removes every one is an error.
func torchKeep(op string, rule keeper) func(*sampler.Row, param.Values) error {
	return func(row *sampler.Row, set param.Values) error {
		x, err := wholeRow(op, row)
		if err != nil {
			return err
		}
		keep := rule(x, row, set)
		s := row.Scores
		left, gone := 0, 0
		for i, v := range s.Values {
			switch {
			case !dist.Finite(v):
			case keep == nil || keep[s.ID(i)]:
				left++
			default:
				gone++
			}
		}
		if gone == 0 {
			return nil
		}
		if left == 0 {
			return fault.New(fault.Data, op, row.System, "by that system's rule no token is left of %d", gone).
				Fix("choose a setting that keeps one, or leave compat out")
		}
		s.Keep(func(i int) bool { return keep[s.ID(i)] && dist.Finite(s.Values[i]) }, nil)
		return nil
	}
}

// changer is a rule that moves scores, in place. A removed token stays removed
// whatever it makes of it, but for a NaN, which would be the whole row's.
type changer func(x []float32, row *sampler.Row, set param.Values)

// torchChange turns a changer into the rule of a stage. A score that overflows
// to +Inf or becomes NaN is a data error; one that falls to -Inf is removed.
func torchChange(op string, rule changer) func(*sampler.Row, param.Values) error {
	return func(row *sampler.Row, set param.Values) error {
		x, err := wholeRow(op, row)
		if err != nil {
			return err
		}
		rule(x, row, set)
		for id, y := range x {
			if y != y || y > math.MaxFloat32 && row.Scores.Has(int32(id)) {
				return fault.New(fault.Data, op, row.System, "by that system's rule token %d gets the score %g", id, y).
					Fix("use smaller scores or another setting, or leave compat out")
			}
		}
		s := row.Scores
		left := 0
		for i, v := range s.Values {
			if !dist.Finite(v) {
				continue
			}
			if s.Values[i] = x[s.ID(i)]; dist.Finite(s.Values[i]) {
				left++
			}
		}
		if left == 0 {
			return fault.New(fault.Data, op, row.System, "by that system's rule no token is left").
				Fix("choose another setting, or leave compat out")
		}
		return nil
	}
}

// wholeRow returns the scores of the whole vocabulary, in memory of its own. A
// row with an unlisted tail is refused: those systems have none.
func wholeRow(op string, row *sampler.Row) ([]float32, error) {
	s := row.Scores
	if s.Unlisted > 0 {
		return nil, fault.New(fault.Data, op, row.System, "a mass of %.4g is unlisted, and that system's rule needs every token", s.Unlisted).
			Fix("truncate to listed tokens first without compat, or use a backend that lists every token")
	}
	x := make([]float32, s.Vocab)
	if s.IDs != nil {
		for i := range x {
			x[i] = float32(math.Inf(-1))
		}
	}
	for i, v := range s.Values {
		x[s.ID(i)] = v
	}
	return x, nil
}

// keepFrom keeps the tokens for which p is not below floor. A floor of NaN keeps
// all.
func keepFrom(p []float32, floor float32) []bool {
	keep := make([]bool, len(p))
	for i, v := range p {
		keep[i] = !(v < floor)
	}
	return keep
}

// keepFirst adds the n first of places to what is kept.
func keepFirst(keep []bool, places []int32, n int64) []bool {
	for _, p := range places[:min(n, int64(len(places)))] {
		keep[p] = true
	}
	return keep
}

// lacks holds a setting at the value that means nothing, for a system that has no
// such setting.
func lacks(name, system string) param.Spec {
	switch name {
	case "min_keep":
		s := minKeep(1)
		s.Min, s.Max, s.Meaning = 1, 1, "held at 1: "+system+" has no such setting"
		return s
	case "ties":
		return param.Spec{Name: name, Type: param.Text, Default: "keep_all", Choices: []string{"keep_all"},
			Meaning: "held at keep_all: " + system + " keeps every token equal to the k-th"}
	case "mode":
		return param.Spec{Name: name, Type: param.Text, Default: "coin", Choices: []string{"coin"},
			Meaning: "held at coin: " + system + " has no expected distribution"}
	case "cap":
		return param.Spec{Name: name, Aliases: []string{"top_n"}, Type: param.Int, Default: int64(100), Min: 100, Max: 100, Unit: "tokens",
			Meaning: "held at 100, the number of tokens that " + system + " looks at"}
	}
	panic("compat: no setting " + name + " to hold")
}

// unit is a range within [0, 1].
func unit(name string, def float64, leftOpen, rightOpen bool, meaning string, aliases ...string) param.Spec {
	return param.Spec{Name: name, Aliases: aliases, Type: param.Float, Default: def, Min: 0, Max: 1,
		MinOpen: leftOpen, MaxOpen: rightOpen, Meaning: meaning}
}
