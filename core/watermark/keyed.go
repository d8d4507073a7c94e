package watermark

import (
	"math"

	"lab/core/fault"
)

// The work of one detection of a keyed sequence grows with text, list and
// permutations, its memory with text and list: some seconds and 128 MB at most.
const (
	mostAdditions = 1 << 32
	mostCosts     = 1 << 24
)

// keyed looks for the place of the list at which the numbers of the text's
// tokens, or of its best block, add up to the most, and does the same for lists
// under other keys. In a text without the mark all of these are alike, so the
// rank of the true list gives an exact p-value (Kuditipudi et al. 2023,
// algorithm 4).
func (x *text) keyed(v values) error {
	tokens := x.tokens[x.from:]
	r := &x.result
	r.Scored = len(tokens)
	if err := x.enough(); err != nil {
		return err
	}
	length, block, n := int(v.int("length")), int(v.int("block")), int(v.int("permutations"))
	switch {
	case block == 0:
		block = len(tokens)
	case block > len(tokens):
		return fault.New(fault.Data, "", "", "not enough tokens: a block of %d is looked for and the text has %d", block, len(tokens)).
			Fix("choose a block of at most %d, or 0 for the whole text", len(tokens))
	}
	if int64(length)*int64(len(tokens)) > mostCosts {
		return fault.New(fault.Limit, "", "", "%d tokens against a list of %d are more than %d pairs", len(tokens), length, mostCosts).
			Fix("test a part of the text")
	}
	if work := float64(length) * float64(len(tokens)) * float64(n+1); work > mostAdditions {
		return fault.New(fault.Limit, "", "", "%d tokens, a list of %d and %d permutations are %.3g additions, more than %.3g",
			len(tokens), length, n, work, float64(mostAdditions)).Fix("lower permutations, or test a part of the text")
	}
	s := newScan(tokens, length, block)
	best, place := s.best(NewSequence(v.int("key"), length))
	reached, sum, squares := 0, 0.0, 0.0
	for i := range n {
		if err := x.ended(); err != nil {
			return err
		}
		other, _ := s.best(NewSequence(int64(digest("lab/watermark/permutation/1", uint64(v.int("seed")), uint64(i))), length))
		if other >= best {
			reached++
		}
		// Deviations from the score itself: their squares do not cancel.
		sum += other - best
		squares += (other - best) * (other - best)
	}
	mean := sum / float64(n)
	sd := math.Sqrt(max(0, squares/float64(n)-mean*mean))
	r.Statistic, r.Tail = "best sum of -ln(1-u) over places of the list", "permutation"
	r.Score, r.Expected = best, best+mean
	if sd > 0 {
		r.Z = -mean / sd
	}
	r.P = float64(reached+1) / float64(n+1)
	r.LnP = math.Log(r.P)
	x.detail("place in the list", float64(place.list))
	x.detail("start of the best block", float64(place.text))
	x.detail("length of the block", float64(block))
	return nil
}

// scan is the search of one text, with the memory it reuses.
type scan struct {
	place  []int   // of every token of the text among the distinct ones
	tokens []int32 // the distinct ones
	length int     // of the list
	block  int
	cost   []float64 // -ln(1-u) by place of the list and distinct token
}

func newScan(text []int32, length, block int) *scan {
	s := &scan{length: length, block: block}
	index := map[int32]int{}
	for _, t := range text {
		at, known := index[t]
		if !known {
			at = len(s.tokens)
			index[t] = at
			s.tokens = append(s.tokens, t)
		}
		s.place = append(s.place, at)
	}
	s.cost = make([]float64, length*len(s.tokens))
	return s
}

// alignment is where a block of the text lies in the list.
type alignment struct{ list, text int }

// best returns the largest sum over one block of the text, against every place of
// the list, and the first alignment that has it.
func (s *scan) best(list *Sequence) (most float64, at alignment) {
	wide := len(s.tokens)
	for i := range s.length {
		for j, t := range s.tokens {
			s.cost[i*wide+j] = -math.Log(Unit(list.seeds[i], t))
		}
	}
	most = math.Inf(-1)
	for start := range s.length {
		// Token l of the text meets place start+l of the list.
		sum, in, out := 0.0, start*wide, start*wide
		for l, token := range s.place {
			sum += s.cost[in+token]
			if in += wide; in == len(s.cost) {
				in = 0
			}
			if l < s.block-1 {
				continue
			}
			first := l - s.block + 1
			if sum > most {
				most, at = sum, alignment{list: (start + first) % s.length, text: first}
			}
			sum -= s.cost[out+s.place[first]]
			if out += wide; out == len(s.cost) {
				out = 0
			}
		}
	}
	return most, at
}
