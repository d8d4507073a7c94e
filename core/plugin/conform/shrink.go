package conform

import (
	"math"
	"slices"
	"time"

	"lab/core/dist"
	"lab/core/plugin/param"
)

// What shrinking may cost: a smaller question is a kindness, not a duty.
const (
	shrinkTries = 200
	shrinkTime  = 2 * time.Second
	shrinkRow   = 4096 // tokens above which only halves are tried
)

// shrink returns a smaller question that is answered wrongly too, and the wrong
// answer. It stops at once when a question ends the plugin's process.
func (b *Bench) shrink(q *Question, got string, wrong func(*Question) string) (*Question, string) {
	if b.late {
		return q, got // every question would have to be waited for
	}
	end := time.Now().Add(shrinkTime)
	tries, deaths := 0, b.died()
	try := func(c *Question) bool {
		if tries++; tries > shrinkTries || time.Now().After(end) || b.died() != deaths || b.ctx.Err() != nil {
			return false
		}
		if _, err := dist.NewModel(&c.Item.Scores); err != nil {
			return false
		}
		g := wrong(c)
		if g != "" {
			q, got = c, g
		}
		return g != ""
	}
	for smaller := true; smaller; {
		smaller = false
		for _, c := range simpler(q) {
			if try(c) {
				smaller = true
				break // the others were made from the larger question
			}
		}
	}
	return q, got
}

func (b *Bench) died() int {
	if b.deaths == nil {
		return 0
	}
	return b.deaths()
}

// simpler returns questions a little simpler than q, the boldest first.
func simpler(q *Question) []*Question {
	var out []*Question
	add := func(change func(c *Question)) {
		c := q.clone()
		change(c)
		out = append(out, c)
	}
	for _, part := range parts(q.Item.Scores.Len()) {
		if len(q.Item.Passes) == 0 { // they would have to shrink in step
			add(func(c *Question) { c.cut(part[0], part[1]) })
		}
	}
	if n := len(q.Item.History); n > 0 {
		for _, keep := range []int{0, n / 2, n - 1} {
			add(func(c *Question) { c.forget(n - keep) })
		}
	}
	for k, v := range q.Values {
		spec, ok := q.Decl.Params.Find(v.Name)
		if ok && v.Origin != param.DefaultOrigin {
			if d, err := spec.Convert(spec.Default); err == nil {
				add(func(c *Question) { c.Values[k] = param.Value{Name: v.Name, Value: d, Origin: param.DefaultOrigin} })
			}
		}
	}
	whole := func(x float32) float32 { return float32(math.Round(float64(x))) }
	if slices.ContainsFunc(q.Item.Scores.Values, func(x float32) bool { return dist.Finite(x) && x != whole(x) }) {
		add(func(c *Question) {
			for i, x := range c.Item.Scores.Values {
				if dist.Finite(x) {
					c.Item.Scores.Values[i] = whole(x)
				}
			}
		})
	}
	return out
}

// parts returns ranges of n tokens to leave out: halves, quarters, single ones.
func parts(n int) [][2]int {
	var out [][2]int
	for size := n / 2; size > 0; size /= 2 {
		for from := 0; from+size <= n && len(out) < 64; from += size {
			out = append(out, [2]int{from, from + size})
		}
		if n > shrinkRow && size < n/4 {
			break
		}
	}
	return out
}

// cut leaves out the tokens at places [from, to) of the row; those of a dense
// row that follow take other ids.
func (q *Question) cut(from, to int) {
	s := &q.Item.Scores
	s.Values = slices.Delete(s.Values, from, to)
	if !s.Dense() {
		s.IDs = slices.Delete(s.IDs, from, to)
		return
	}
	s.Vocab = len(s.Values)
	outside := func(id int32) bool { return int(id) >= s.Vocab }
	q.End = slices.DeleteFunc(slices.Clone(q.End), outside)
	if slices.ContainsFunc(q.Item.History, outside) {
		q.forget(len(q.Item.History))
	}
}

// forget drops the oldest tokens of the context.
func (q *Question) forget(n int) {
	q.Item.History = slices.Clone(q.Item.History[n:])
	q.Item.Prompt = max(0, q.Item.Prompt-n)
	q.Item.Step = len(q.Item.History) - q.Item.Prompt
}
