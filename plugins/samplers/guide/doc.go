// Package guide holds the samplers that compare the row with rows of other
// model passes: another prompt, a smaller model, an earlier layer.
//
// All of them work on natural-log probabilities, which they take of the row and
// of each pass by a log-softmax of its own. A token that was removed from the
// row stays removed. What the host must offer as passes is said in each
// declaration; how it comes by them is no concern of this package.
//
// A pass may lack a token of the row: it lists fewer tokens, or holds -Inf for
// it. Where the pass's probability counts in favour, such a token has none and
// is removed. Where it counts against, the formula would make the token
// infinitely likely; it is then treated as if the pass gave it the probability
// of the least likely token that it does list. A pass with an unlisted tail that
// lacks a token is refused, because the probability is not zero there but
// unknown.
//
// Start with [CFG].
package guide

import (
	"fmt"
	"math"

	"lab/core/dist"
	"lab/core/dist/vec"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// pass is the row of another model pass, normalised.
type pass struct {
	row   *dist.Scores
	shift float64 // natural-log probability = score - shift
	least float64 // of the least likely listed token
	at    int     // place in a sparse row from which the next search goes on
}

// newPass checks pass number k of a row and normalises it.
func newPass(op string, row *sampler.Row, k int) (*pass, error) {
	if k >= len(row.Passes) {
		return nil, fault.New(fault.Plugin, op, "", "it was given %d further rows and needs %d", len(row.Passes), k+1)
	}
	p := &row.Passes[k]
	subject := fmt.Sprintf("further row %d", k+1)
	if err := p.Check(); err != nil {
		return nil, fault.Wrap(err, fault.Data, op, subject)
	}
	if p.Vocab != row.Scores.Vocab {
		return nil, fault.New(fault.Data, op, subject, "its vocabulary has %d tokens, that of the row %d", p.Vocab, row.Scores.Vocab).
			Fix("both passes must share one vocabulary")
	}
	shift := logMass(p)
	return &pass{row: p, shift: shift, least: float64(vec.Least(p.Values)) - shift}, nil
}

// logMass returns what a row's scores exceed its natural-log probabilities by.
func logMass(s *dist.Scores) float64 {
	top := float64(vec.Max(s.Values))
	return top + math.Log(vec.Sum(s.Values, s.IDs, top)) - math.Log1p(-s.Unlisted)
}

// logP returns the natural-log probability of a token, -Inf when the pass gives
// it none. Tokens must be asked for in ascending order.
func (p *pass) logP(token int32) float64 {
	if p.row.IDs == nil {
		return float64(p.row.Values[token]) - p.shift
	}
	for p.at < len(p.row.IDs) && p.row.IDs[p.at] < token {
		p.at++
	}
	if p.at < len(p.row.IDs) && p.row.IDs[p.at] == token {
		return float64(p.row.Values[p.at]) - p.shift
	}
	return math.Inf(-1)
}

// whole returns a data error when the row has an unlisted tail.
func whole(op string, s *dist.Scores) error {
	if s.Unlisted == 0 {
		return nil
	}
	return fault.New(fault.Data, op, "", "a mass of %.4g is unlisted, and what it becomes is not known", s.Unlisted).
		Fix("truncate to listed tokens first, or use a backend that lists every token")
}

// combine sets every finite score to own*ln p_row + other*ln p_pass. A token
// whose result is -Inf is removed.
func combine(op string, s *dist.Scores, p *pass, own, other float64) error {
	shift, left := logMass(s), 0
	for i, v := range s.Values {
		if !dist.Finite(v) {
			continue
		}
		with, err := p.weighted(op, s.ID(i), other)
		if err != nil {
			return err
		}
		x := with
		if own != 0 {
			x += own * (float64(v) - shift)
		}
		if !(x <= math.MaxFloat32) {
			return fault.New(fault.Data, op, "", "the score of token %d becomes %g, which is too large", s.ID(i), x).Fix("choose a weaker guidance")
		}
		if math.IsInf(x, -1) {
			s.Values[i] = float32(x)
			continue
		}
		s.Values[i] = float32(max(x, -math.MaxFloat32))
		left++
	}
	if left == 0 {
		return fault.New(fault.Data, op, "", "no token is left: the further row gives a probability to none of this row's tokens").
			Fix("put truncations after this stage")
	}
	return nil
}

// weighted returns other * ln p of a token, see the package comment for one that
// the pass lacks.
func (p *pass) weighted(op string, token int32, other float64) (float64, error) {
	if other == 0 {
		return 0, nil
	}
	l := p.logP(token)
	if math.IsInf(l, -1) {
		if p.row.Unlisted > 0 {
			return 0, fault.New(fault.Data, op, "", "the further row does not list token %d, and leaves a mass of %.4g unlisted", token, p.row.Unlisted).
				Fix("use a backend that lists every token, or truncate this row to fewer tokens first")
		}
		if other < 0 {
			l = p.least
		}
	}
	return other * l, nil
}

func unbounded(name, meaning string, def, least float64, aliases ...string) param.Spec {
	return param.Spec{Name: name, Aliases: aliases, Type: param.Float, Default: def, Min: least, Max: 1e6, Meaning: meaning}
}
