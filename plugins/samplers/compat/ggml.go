package compat

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// llama.cpp and koboldcpp keep the row as an array of candidates, which their
// steps sort and shorten. Sums run in float32 in the array's order, so that a
// nucleus drifts as the vocabulary grows. Products and sums are converted
// one by one below, so that no machine fuses them.

// candidate is a token with its score and, after a softmax, its probability.
type candidate struct {
	id       int32
	logit, p float32
}

// candidates is the array. A masked token (-Inf) is an entry like any other
// until a step shortens the array.
type candidates struct {
	list   []candidate
	sorted bool // by descending score
	intro  bool // koboldcpp: a full sort is an introsort, not a partial sort of the whole
}

var negInf = float32(math.Inf(-1))

func likelier(a, b candidate) bool { return a.logit > b.logit }

// load returns the array of a row. A dense row is in the order of ids, as the
// model's output is; a sparse one was truncated before, and truncations leave
// the array sorted. The order of tied tokens that they left is not known: it is
// taken to be that of ids.
func load(row *sampler.Row, op string) (*candidates, error) {
	s := row.Scores
	if err := listed(row, op); err != nil {
		return nil, err
	}
	c := &candidates{list: make([]candidate, len(s.Values))}
	for i, v := range s.Values {
		c.list[i] = candidate{id: s.ID(i), logit: v}
	}
	if !s.Dense() {
		slices.SortStableFunc(c.list, func(a, b candidate) int { return cmp.Compare(b.logit, a.logit) })
		c.sorted = true
	}
	return c, nil
}

// loadXTC is load for XTC, of which neither system protects tokens.
func loadXTC(row *sampler.Row, set param.Values) (*candidates, error) {
	if len(set.Tokens("protect")) > 0 {
		return nil, fault.New(fault.Usage, "xtc", "protect", "%s protects no tokens", row.System).Fix("leave protect or compat out")
	}
	return load(row, "xtc")
}

// listed refuses a row with an unlisted tail: the systems see whole
// vocabularies, so none of their rules says what to do with one.
func listed(row *sampler.Row, op string) error {
	if row.Scores.Unlisted > 0 {
		return fault.New(fault.Data, op, "", "a mass of %.4g is unlisted, and %s's rule is known for whole rows only",
			row.Scores.Unlisted, row.System).
			Fix("leave compat out, or use a backend that lists every token")
	}
	return nil
}

// store puts the array back into the row, in the order of ids. A row that the
// system's arithmetic broke is refused, where the system would carry on.
func (c *candidates) store(row *sampler.Row, op string) error {
	s := row.Scores
	best := negInf
	for _, x := range c.list {
		if !(x.logit <= math.MaxFloat32) {
			return broken(row, op, fmt.Sprintf("gives token %d the score %v", x.id, x.logit))
		}
		best = max(best, x.logit)
	}
	if !dist.Finite(best) {
		return broken(row, op, "leaves no token")
	}
	if s.Dense() && len(c.list) == len(s.Values) {
		for _, x := range c.list {
			s.Values[x.id] = x.logit
		}
		return nil
	}
	c.byID()
	if len(c.list) < len(s.Values) {
		s.IDs = make([]int32, len(c.list))
		for i, x := range c.list {
			s.IDs[i] = x.id
		}
		s.Values = s.Values[:len(c.list)]
	}
	for i, x := range c.list {
		s.Values[i] = x.logit
	}
	return nil
}

// broken is the error for a row that a system would go on with.
func broken(row *sampler.Row, op, what string) error {
	return fault.New(fault.Data, op, "", "the rule of %s %s for this row", row.System, what).
		Fix("leave compat out: the sampler's own rule has no such case")
}

// sort sorts the whole array.
func (c *candidates) sort() {
	switch {
	case c.sorted:
	case c.intro:
		introsort(c.list, likelier)
		c.sorted = true
	default:
		c.first(len(c.list))
	}
}

// softmax fills in the probabilities, in the array's order.
func (c *candidates) softmax() {
	top := c.list[0].logit
	if !c.sorted {
		for _, x := range c.list {
			top = max(top, x.logit)
		}
	}
	sum := float32(0)
	for i := range c.list {
		p := expf(c.list[i].logit - top)
		c.list[i].p = p
		sum += p
	}
	for i := range c.list {
		c.list[i].p /= sum
	}
}

// first sorts the k likeliest to the front and cuts the rest off: by a heap up to
// 128 of them, above that by buckets of the score.
func (c *candidates) first(k int) {
	if !c.sorted {
		if k <= 128 {
			partialSort(c.list, k, likelier)
		} else {
			c.list = bucketSort(c.list, k)
		}
		c.sorted = true
	}
	c.list = c.list[:k]
}

// bucketSort returns a new array with at least the k likeliest, of which the
// first k are sorted.
func bucketSort(list []candidate, k int) []candidate {
	const buckets = 128
	var count [buckets]int
	place := make([]uint8, len(list))
	for i, x := range list {
		place[i] = bucketOf(x.logit)
		count[place[i]]++
	}
	have, last := 0, buckets-1
	for ; last > 0; last-- {
		if have += count[last]; have >= k {
			break
		}
	}
	if last == 0 && have < k {
		have += count[0]
	}
	var start [buckets]int
	for b, at := buckets-1, 0; b >= last; b-- {
		start[b] = at
		at += count[b]
	}
	out := make([]candidate, have)
	fill := start
	for i, x := range list {
		if b := int(place[i]); b >= last {
			out[fill[b]] = x
			fill[b]++
		}
	}
	for b := buckets - 1; b > last; b-- {
		introsort(out[start[b]:start[b]+count[b]], likelier)
	}
	tail := out[start[last] : start[last]+count[last]]
	partialSort(tail, k-start[last], likelier)
	return out
}

// bucketOf is the bucket of a score: 128 of them between -10 and 10. A score
// beyond the range of int32 becomes its lowest number on the machines that the
// systems run on, whatever its sign.
func bucketOf(logit float32) uint8 {
	const scale = float32(128) / 20
	at := float32(scale*logit) + 10*scale
	if !(at > -(1<<31) && at < 1<<31) {
		return 0
	}
	return uint8(max(0, min(127, int32(at))))
}

// expf, logf, log2f and powf round the float64 result once, which is what the
// C library's functions return but for very few arguments.
func expf(x float32) float32    { return float32(math.Exp(float64(x))) }
func logf(x float32) float32    { return float32(math.Log(float64(x))) }
func log2f(x float32) float32   { return float32(math.Log2(float64(x))) }
func powf(x, y float32) float32 { return float32(math.Pow(float64(x), float64(y))) }

// entropy returns the entropy in nats in the array's order. guarded leaves
// tokens of probability 0 out; without it one of them makes the result NaN.
func (c *candidates) entropy(guarded bool) float32 {
	h := float32(0)
	for _, x := range c.list {
		if x.p > 0 || !guarded {
			h -= float32(x.p * logf(x.p))
		}
	}
	return h
}

// discrete draws a place by probability: normalised in float64, added up, and
// the first running sum that reaches the random number, the last one counting as
// 1. A single candidate takes no random number.
func (c *candidates) discrete(g *mt19937) int {
	if len(c.list) < 2 {
		return 0
	}
	sum := 0.0
	for _, x := range c.list {
		sum += float64(x.p)
	}
	u, run, last := g.double(), 0.0, 0
	for i, x := range c.list {
		if x.p > 0 { // a masked token is not drawn, whatever rounding does
			last = i
			if run += float64(x.p) / sum; run >= u {
				break
			}
		}
	}
	return last
}

// byID puts the array into the order of ids, byScore into that of scores.
func (c *candidates) byID() {
	slices.SortFunc(c.list, func(a, b candidate) int { return cmp.Compare(a.id, b.id) })
	c.sorted = false
}

func (c *candidates) byScore() {
	slices.SortStableFunc(c.list, func(a, b candidate) int { return cmp.Compare(b.logit, a.logit) })
	c.sorted = true
}
