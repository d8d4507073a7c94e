package truncate

import (
	"math"

	"lab/core/dist"
	"lab/core/dist/vec"
	"lab/core/fault"
)

// border slack: a token exactly at a threshold stays although the logarithms
// that compare them round.
const atBorder = 1e-12

// ceil32 returns the least float32 that is at least v.
func ceil32(v float64) float32 {
	f := float32(v)
	if float64(f) < v {
		f = math.Nextafter32(f, float32(math.Inf(1)))
	}
	return f
}

// keepAbove keeps the tokens with a score of at least floor, and at least the
// least best ones, or one. op names the stage. With an unlisted tail the result
// is exact when a listed token falls below the floor, since no unlisted one is
// likelier than that, and refused otherwise.
func keepAbove(s *dist.Scores, op string, floor float64, least int64) error {
	f := max(ceil32(floor), lowest)
	n := int64(vec.Count(s.Values, f))
	if s.Unlisted > 0 {
		switch support := int64(vec.Support(s.Values)); {
		case n == support:
			return fault.New(fault.Data, op, "", "all %d listed tokens are above the threshold, and what of the unlisted mass %.4g is, is not known", support, s.Unlisted).
				Fix("choose a higher threshold, or a backend that lists every token")
		case least > support:
			return fault.New(fault.Data, op, "", "%d tokens are to be kept but only %d are listed", least, support).
				Fix("choose min_keep up to %d, or a backend that lists every token", support)
		}
	}
	if least = max(least, 1); n < least {
		cutTo(s, int(min(least, int64(len(s.Values)))), false)
	} else {
		s.KeepFrom(f)
	}
	s.Unlisted = 0
	return nil
}

// listedOnly refuses a row with an unlisted tail for a stage whose threshold
// depends on the whole distribution.
func listedOnly(s *dist.Scores, op string) error {
	if s.Unlisted == 0 {
		return nil
	}
	return fault.New(fault.Data, op, "", "a mass of %.4g is unlisted, on which the threshold depends", s.Unlisted).
		Fix("truncate to listed tokens first, with top_k or top_p, or use a backend that lists every token")
}

// shape is what thresholds are made of.
type shape struct {
	top     float64 // the largest score
	total   float64 // sum of exp(score - top)
	entropy float64 // nats
}

func shapeOf(s *dist.Scores) shape {
	top := float64(vec.Max(s.Values))
	total, lean := vec.Lean(s.Values, s.IDs, top)
	return shape{top: top, total: total, entropy: math.Log(total) - lean/total}
}

// floorOf returns the score of a token of probability p.
func (d shape) floorOf(p, unlisted float64) float64 {
	return d.top + math.Log(p*d.total/(1-unlisted)) - atBorder
}
