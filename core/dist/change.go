package dist

import (
	"fmt"
	"math"

	"lab/core/dist/vec"
	"lab/core/fault"
)

// Change is what one stage did to one row: the numbers of the ledger.
// Before and after are the distributions (softmax) of the row before and after
// the stage; logarithms are base 2.
type Change struct {
	SupportBefore, SupportAfter int     // tokens with a finite score
	KeptMass                    float64 // probability before of the tokens still in the support after
	EntropyBefore, EntropyAfter float64 // bits; the lower bound where the row has an unlisted tail
	KL                          float64 // KL(after‖before) in bits; +Inf when a token entered the support
	TV                          float64 // half the L1 distance, 0..1

	// Truncation says that the survivors kept their scores to the bit and
	// nothing entered the support; then KL = -log2(KeptMass) and TV = 1-KeptMass.
	Truncation bool

	// The chosen token before and after the stage: probability, and rank from 1
	// by descending score, ties by ascending id. Rank 0: no token was chosen
	// yet, or (after) the stage removed it.
	RankBefore, RankAfter int
	ProbBefore, ProbAfter float64

	// UnlistedBefore and UnlistedAfter are the mass of tokens that a top-N
	// backend did not list, 0 for every other one. Where it is above 0 the
	// support counts listed tokens only.
	UnlistedBefore, UnlistedAfter float64
}

// identitySlack is what an identity of the ledger may be off: each side is a
// few float64 sums over at most a few hundred thousand terms of one sign, whose
// rounding stays below 262,144 * 2^-53 = 3e-11 of their value.
const (
	identitySlack = 1e-9
	relativeSlack = 1e-10
)

func slack(value float64) float64 { return identitySlack + relativeSlack*math.Abs(value) }

// smallestMass is where a kept mass stops to carry its logarithm: below it,
// weights are subnormal or have vanished.
const smallestMass = 1e-290

// Choose fills the rank and probability of a token in the rows before and after
// the stage. It costs one exponential per listed token; within a chain,
// [Workspace.Choose] has them already.
func (c *Change) Choose(before, after *Scores, token int32) {
	c.RankBefore, c.ProbBefore = place(before, token)
	c.RankAfter, c.ProbAfter = place(after, token)
}

func place(s *Scores, token int32) (rank int, p float64) {
	if !s.Has(token) {
		return 0, 0
	}
	top, support := topScore(s.Values)
	m := mass{top: float64(top), support: support}
	m.total = vec.Sum(s.Values, s.IDs, m.top)
	return standing(s, m, token)
}

// Check returns a plugin error naming the first identity that the numbers
// break, with both sides:
//   - supports, masses, entropies and probabilities within their ranges;
//   - KL >= -log2(kept mass) and TV >= 1 - kept mass for every stage (the data
//     processing inequality), with equality for a truncation (ID-05, ID-06);
//   - TV <= sqrt(KL ln 2 / 2) (Pinsker);
//   - a truncation keeps the ratios of probabilities and the order of ranks.
func (c Change) Check() error {
	name, problem := c.ranges()
	if problem == "" {
		name, problem = c.divergences()
	}
	if problem == "" {
		name, problem = c.chosen()
	}
	if problem == "" {
		return nil
	}
	return fault.New(fault.Plugin, "ledger", name, "%s", problem)
}

// unit reports whether x is a probability, up to rounding.
func unit(x float64) bool { return x >= 0 && x <= 1+identitySlack }

func (c Change) ranges() (name, problem string) {
	const name1 = "range"
	switch {
	case c.SupportAfter < 1 || c.SupportBefore < 1:
		return name1, fmt.Sprintf("the supports are %d and %d tokens, neither may be empty", c.SupportBefore, c.SupportAfter)
	case c.SupportAfter > c.SupportBefore && !math.IsInf(c.KL, 1):
		return name1, fmt.Sprintf("the support grew from %d to %d tokens but KL is %g, not +Inf", c.SupportBefore, c.SupportAfter, c.KL)
	case !unit(c.KeptMass):
		return name1, fmt.Sprintf("the kept mass is %g, outside [0, 1]", c.KeptMass)
	case !unit(c.TV):
		return name1, fmt.Sprintf("TV is %g, outside [0, 1]", c.TV)
	case !(c.KL >= 0):
		return name1, fmt.Sprintf("KL is %g bits, below 0", c.KL)
	case !(c.UnlistedBefore >= 0 && c.UnlistedBefore < 1 && c.UnlistedAfter >= 0 && c.UnlistedAfter <= c.UnlistedBefore):
		return name1, fmt.Sprintf("the unlisted mass goes from %g to %g", c.UnlistedBefore, c.UnlistedAfter)
	}
	for _, h := range []struct {
		when     string
		bits     float64
		support  int
		unlisted float64
	}{{"before", c.EntropyBefore, c.SupportBefore, c.UnlistedBefore}, {"after", c.EntropyAfter, c.SupportAfter, c.UnlistedAfter}} {
		most := math.Log2(float64(h.support))
		if h.unlisted > 0 {
			most = math.Inf(1)
		}
		if !(h.bits >= 0 && h.bits <= most+slack(most)) {
			return name1, fmt.Sprintf("the entropy %s is %g bits, outside [0, %g] for %d tokens", h.when, h.bits, most, h.support)
		}
	}
	return "", ""
}

func (c Change) divergences() (name, problem string) {
	dropped := 1 - c.KeptMass
	if !(c.TV >= dropped-slack(1)) {
		return "TV >= 1 - kept mass", fmt.Sprintf("TV is %.12g, the kept mass %.12g", c.TV, c.KeptMass)
	}
	if math.IsInf(c.KL, 1) {
		if c.Truncation {
			return "ID-05 (KL of a truncation)", "KL is +Inf, though nothing entered the support"
		}
		return "", ""
	}
	least := 0.0 // of KL, in bits, by the kept mass
	if c.KeptMass > smallestMass {
		least = -math.Log2(c.KeptMass)
	} else {
		least = -math.Log2(smallestMass)
	}
	if !(c.KL >= least-slack(least)) {
		return "KL >= -log2(kept mass)", fmt.Sprintf("KL is %.12g bits, -log2 of the kept mass %.12g", c.KL, least)
	}
	if most := math.Sqrt(c.KL * math.Ln2 / 2); !(c.TV <= most+pinskerSlack) {
		return "TV <= sqrt(KL ln 2 / 2) (Pinsker)", fmt.Sprintf("TV is %.12g, its bound %.12g", c.TV, most)
	}
	if !c.Truncation {
		return "", ""
	}
	if c.KeptMass > smallestMass && !(math.Abs(c.KL-least) <= slack(least)) {
		return "ID-05 (KL of a truncation)", fmt.Sprintf("KL is %.12g bits, -log2 of the kept mass %.12g", c.KL, least)
	}
	if !(math.Abs(c.TV-dropped) <= slack(1)) {
		return "ID-06 (TV of a truncation)", fmt.Sprintf("TV is %.12g, the dropped mass %.12g", c.TV, dropped)
	}
	return "", ""
}

// pinskerSlack is wider than the others: an error of 1e-12 in a KL near 0
// becomes 1e-6 under the root.
const pinskerSlack = 1e-5

func (c Change) chosen() (name, problem string) {
	const name1 = "the chosen token"
	for _, t := range []struct {
		when          string
		rank, support int
		p             float64
	}{{"before", c.RankBefore, c.SupportBefore, c.ProbBefore}, {"after", c.RankAfter, c.SupportAfter, c.ProbAfter}} {
		if t.rank < 0 || t.rank > t.support {
			return name1, fmt.Sprintf("its rank %s is %d among %d tokens", t.when, t.rank, t.support)
		}
		if !unit(t.p) || t.rank == 0 && t.p != 0 {
			return name1, fmt.Sprintf("its probability %s is %g at rank %d", t.when, t.p, t.rank)
		}
		if t.rank > 0 && !(t.p*float64(t.rank) <= 1+identitySlack) {
			return name1, fmt.Sprintf("its probability %s is %g at rank %d, more than its rank allows", t.when, t.p, t.rank)
		}
	}
	if !c.Truncation || c.RankAfter == 0 || c.KeptMass <= smallestMass {
		return "", ""
	}
	if c.RankBefore < c.RankAfter {
		return name1, fmt.Sprintf("a truncation moved it down from rank %d to %d", c.RankBefore, c.RankAfter)
	}
	if got := c.ProbAfter * c.KeptMass; !(math.Abs(got-c.ProbBefore) <= identitySlack) {
		return "a truncation keeps ratios", fmt.Sprintf("the chosen token has %.12g before, %.12g times the kept mass %.12g after",
			c.ProbBefore, c.ProbAfter, c.KeptMass)
	}
	return "", ""
}
