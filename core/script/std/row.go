package std

import (
	"fmt"
	"math"
	"slices"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/script"
)

// row is the row of scores that a script's sampler sees and returns. Like every
// object of a script it is immutable: what changes it returns another one, made
// from the same origin, so a token that is gone cannot come back.
type row struct {
	turn   *turn
	origin *row // the row of the turn, or of a pass, that it was made from
	s      dist.Scores

	shape *dist.Distribution // of s, once asked for
	probs []float64          // by place
	ranks []int32            // places by falling score, once asked for
}

// from returns a row made from r with scores of its own.
func (r *row) from(s dist.Scores) *row { return &row{turn: r.turn, origin: r.origin, s: s} }

// Class implements script.Object.
func (*row) Class() script.Class {
	members := append(readingMembers(), cuttingMembers()...)
	members = append(members, rescoringMembers()...)
	return script.Class{Name: "row", Members: append(members, choosingMembers()...),
		Doc: "The scores at one step, as the apply function of lab.sampler sees and returns them. Lists are in the order of ids; a removed token that is still listed has the score -lab.infinity and probability 0. Rows are immutable: methods return another row."}
}

// String implements fmt.Stringer.
func (r *row) String() string { return fmt.Sprintf("<row: %d tokens of %d>", r.s.Len(), r.s.Vocab) }

func readingMembers() []script.Member {
	return []script.Member{
		getter("size", "int", "Number of listed tokens, the length of the lists.", func(r *row) any { return r.s.Len() }),
		getter("ids", "list of int", "The listed token ids, ascending.", func(r *row) any { return r.ids() }),
		getter("scores", "list of float", "Their scores.", func(r *row) any {
			out := make([]float64, r.s.Len())
			for i, v := range r.s.Values {
				out[i] = float64(v)
			}
			return out
		}),
		ofShape("probabilities", "list of float", "Their probabilities, the softmax of the scores.", func(r *row) any { return r.probs }),
		ofShape("support", "int", "Number of tokens with a finite score.", func(r *row) any { return r.shape.Support() }),
		{Name: "entropy_bits", Returns: "float", Doc: "Entropy in bits.", Get: func(c *script.Call) (any, error) {
			r := script.Self[*row](c)
			if err := r.reckon(); err != nil {
				return nil, err
			}
			return r.shape.EntropyBits()
		}},
		getter("max_score", "float", "The largest score.", func(r *row) any { return float64(r.s.Values[r.best()]) }),
		ofShape("max_p", "float", "The largest probability.", func(r *row) any { return r.probs[r.best()] }),
		getter("order", "list of int", "The places in the lists of the tokens with a finite score, the likeliest first, ties by ascending id.",
			func(r *row) any { return slices.Clone(r.ranked()) }),
		{Name: "top", Returns: "list of record", Doc: "Lists the n likeliest tokens, each a record of token, score, p and rank.",
			Params: []script.Param{{Name: "n", Type: script.Int(), Default: int64(10), Range: script.Between(1, 1<<22)}},
			Func: func(c *script.Call) (any, error) {
				r := script.Self[*row](c)
				if err := r.reckon(); err != nil {
					return nil, err
				}
				out := []script.Record{}
				for i, at := range r.ranked()[:min(int(c.Int("n")), len(r.ranked()))] {
					out = append(out, script.Record{Name: "token", Fields: map[string]any{
						"token": r.s.ID(int(at)), "score": float64(r.s.Values[at]), "p": r.probs[at], "rank": i + 1}})
				}
				return out, nil
			}},
		ofToken("score", "float", "Returns the score of a token, -lab.infinity when it is gone.", func(r *row, id int32) any {
			if at := r.s.Index(id); at >= 0 {
				return float64(r.s.Values[at])
			}
			return math.Inf(-1)
		}),
		ofToken("p", "float", "Returns the probability of a token, 0 when it is gone.", func(r *row, id int32) any {
			if at := r.s.Index(id); at >= 0 {
				return r.probs[at]
			}
			return 0.0
		}),
		ofToken("rank", "int", "Returns the rank of a token from 1, 0 when it is gone.", func(r *row, id int32) any { return r.s.Rank(id) }),
	}
}

func choosingMembers() []script.Member {
	return []script.Member{
		getter("best", "int", "The token of the highest score, the lowest id on ties.", func(r *row) any { return r.s.ID(r.best()) }),
		{Name: "draw", Returns: "int", Doc: "Returns the token that a uniform number draws: the first whose probability, summed in order of ids, exceeds it.",
			Params: []script.Param{{Name: "u", Type: script.Float(), Range: script.Interval(0, 1, false, true), Meaning: "one of turn.uniforms"}},
			Func: func(c *script.Call) (any, error) {
				r := script.Self[*row](c)
				if err := r.whole("draw"); err != nil {
					return nil, err
				}
				if err := r.reckon(); err != nil {
					return nil, err
				}
				return r.draw(c.Float("u")), nil
			}},
	}
}

// ofShape declares a value that needs the probabilities.
func ofShape(name, returns, doc string, get func(*row) any) script.Member {
	return script.Member{Name: name, Doc: doc, Returns: returns, Get: func(c *script.Call) (any, error) {
		r := script.Self[*row](c)
		if err := r.reckon(); err != nil {
			return nil, err
		}
		return get(r), nil
	}}
}

func ofToken(name, returns, doc string, get func(*row, int32) any) script.Member {
	return script.Member{Name: name, Doc: doc, Returns: returns,
		Params: []script.Param{{Name: "token", Type: script.Int(), Meaning: "a token id"}},
		Func: func(c *script.Call) (any, error) {
			r, id := script.Self[*row](c), c.Int("token")
			if id < 0 || id >= int64(r.s.Vocab) {
				return nil, outside(id, r.s.Vocab)
			}
			if err := r.reckon(); err != nil {
				return nil, err
			}
			return get(r, int32(id)), nil
		}}
}

// reckon computes the probabilities, once.
func (r *row) reckon() error {
	if r.shape != nil {
		return nil
	}
	d, err := dist.Softmax(&r.s)
	if err != nil {
		return err
	}
	probs := make([]float64, r.s.Len())
	at := 0
	d.Each(func(id int32, p float64) bool {
		for r.s.ID(at) != id {
			at++
		}
		probs[at] = p
		at++
		return true
	})
	r.shape, r.probs = &d, probs
	return nil
}

func (r *row) ids() []int32 {
	if r.s.IDs != nil {
		return slices.Clone(r.s.IDs)
	}
	out := make([]int32, r.s.Len())
	for i := range out {
		out[i] = int32(i)
	}
	return out
}

// ranked returns the places of the support by falling score, ties by id. Scores
// and places are sorted as whole numbers, which takes a tenth of the time: the
// bits of a float, turned so that they grow as it falls, and the place behind.
func (r *row) ranked() []int32 {
	if r.ranks != nil {
		return r.ranks
	}
	keys := make([]uint64, 0, r.s.Len())
	for i, v := range r.s.Values {
		if !dist.Finite(v) {
			continue
		}
		bits := math.Float32bits(v + 0) // zeros of either sign are equal
		if bits>>31 == 0 {
			bits = ^(bits | 1<<31)
		}
		keys = append(keys, uint64(bits)<<32|uint64(i))
	}
	slices.Sort(keys)
	r.ranks = make([]int32, len(keys))
	for i, key := range keys {
		r.ranks[i] = int32(uint32(key))
	}
	return r.ranks
}

// best returns the place of the first of the largest scores.
func (r *row) best() int {
	at := 0
	for i, v := range r.s.Values {
		if v > r.s.Values[at] {
			at = i
		}
	}
	return at
}

// draw returns the first token whose running sum exceeds u; when rounding leaves
// the whole sum at u or below it, the last one that has any probability.
func (r *row) draw(u float64) int32 {
	sum, last := 0.0, 0
	for i, p := range r.probs {
		if p == 0 {
			continue
		}
		sum, last = sum+p, i
		if sum > u {
			break
		}
	}
	return r.s.ID(last)
}

// whole refuses a row of which a part is not listed, for what depends on it.
func (r *row) whole(what string) error {
	if r.s.Unlisted == 0 {
		return nil
	}
	return fault.New(fault.Data, "row."+what, "", "a mass of %.4g is unlisted", r.s.Unlisted).
		Fix("truncate to listed tokens first: keep_top, keep_mass or keep with a list")
}
