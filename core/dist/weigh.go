package dist

import (
	"math"

	"lab/core/dist/vec"
)

// mass is what one pass over a row finds. Weights are relative to the largest
// score, so that no exponential overflows: token i weighs exp(score_i - top),
// and its probability is weight / total (times 1 - Unlisted). A score more than
// about 708 below the top weighs exactly 0, and still belongs to the support.
//
// Sums run in the order of package vec, which follows token ids: a dense row
// and its sparse twin give the same bits.
type mass struct {
	top     float64 // largest score
	total   float64 // sum of weights, at least 1
	lean    float64 // sum of weight * (score - top), at most 0
	support int     // tokens with a finite score
}

// Finite reports whether a score of a checked row is that of a token in the
// support: anything but -Inf.
func Finite(v float32) bool { return v >= -math.MaxFloat32 }

func removed(v float32) bool { return !Finite(v) }

// topScore returns the largest score and the size of the support.
func topScore(values []float32) (top float32, support int) {
	return vec.Max(values), vec.Support(values)
}

// weigh fills w, of the length of the row, with the weights of s.
func weigh(s *Scores, w []float64) mass {
	top, support := topScore(s.Values)
	m := mass{top: float64(top), support: support}
	m.total, m.lean = vec.Weigh(w, s.Values, s.IDs, m.top)
	return m
}

// lnTotal returns the logarithm of the normaliser relative to top: the natural
// log probability of a token is score - top - lnTotal.
func (m mass) lnTotal(unlisted float64) float64 {
	if unlisted == 0 {
		return math.Log(m.total)
	}
	return math.Log(m.total) - math.Log1p(-unlisted)
}

// entropy returns the entropy in bits of the listed tokens among themselves.
// Both terms are non-negative, so nothing cancels.
func (m mass) entropy() float64 { return (math.Log(m.total) - m.lean/m.total) / math.Ln2 }

// entropyBounds returns the least and the greatest entropy in bits of a row
// whose unlisted mass u is spread in an unknown way over hidden tokens, none of
// them likelier than the least likely listed one (pMin). They are equal for
// u = 0. With the grouping property (Shannon 1948) the listed part is known
// exactly; the tail adds at least u log2(1/min(u, pMin)) and at most
// u log2(hidden/u).
func (m mass) entropyBounds(u, pMin float64, hidden int) Bounds {
	listed := m.entropy()
	if u == 0 {
		return Bounds{Low: listed, High: listed}
	}
	listed = (1 - u) * (listed - math.Log1p(-u)/math.Ln2)
	low := listed
	if cap := min(u, pMin); cap > 0 {
		low -= u * math.Log2(cap)
	}
	return Bounds{Low: low, High: max(low, listed+u*math.Log2(float64(hidden)/u))}
}

// pMin returns the smallest probability among the support.
func pMin(s *Scores, m mass) float64 {
	least := float64(vec.Least(s.Values))
	return (1 - s.Unlisted) * vec.Exp(least-m.top) / m.total
}

// tailSlack is how far the exponentials of a row with an unlisted tail may sum
// from 1 - Unlisted, in nats. Hosted backends round log probabilities to a few
// decimals.
const tailSlack = 1e-3

// checkTail returns a data error when a row with an unlisted tail does not hold
// log probabilities that sum to the listed mass.
func checkTail(s *Scores, m mass) error {
	if s.Unlisted == 0 {
		return nil
	}
	got, want := m.top+math.Log(m.total), math.Log1p(-s.Unlisted)
	if !(math.Abs(got-want) <= tailSlack) {
		return badScores("the listed tokens hold a mass of %.6g, but %.6g is unlisted", math.Exp(got), s.Unlisted).
			Fix("rows with an unlisted tail hold natural-log probabilities; only a stage that truncates may change them")
	}
	return nil
}
