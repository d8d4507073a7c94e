package conform

import (
	"fmt"
	"math"
	"math/rand/v2"

	"lab/core/dist"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// lowestID asks about rows with few different scores. A sampler may have a
// reason to tell equal tokens apart; one that in every row keeps the best of
// them, whatever they are, or chooses one of the best without a random number,
// has none.
func lowestID(b *Bench, d sampler.Declaration) finding {
	f := b.facts[d.Name]
	if f.ByID != "" {
		return skip("%s", f.ByID)
	}
	answered, byScore := 0, true
	found := b.survey("lowest_id", d, b.rounds, func(g *rand.Rand, _ int) *Question { return b.ties(g, d) },
		func(_ *rand.Rand, q *Question, a Answer) string { return outOfOrder(q, a, f.Head) })
	if found.outcome != Fail {
		return found
	}
	for i := range b.rounds {
		q := b.ties(b.Random("lowest_id", d.Name, d.Kind, i), d)
		if a := b.Run(q)[0]; a.Err == nil {
			answered, byScore = answered+1, byScore && bestStay(q, a)
		}
	}
	found.certain = byScore && answered > b.rounds/2 && d.Needs.Passes == 0
	return found
}

// ties draws a question about a row with few different scores.
func (b *Bench) ties(g *rand.Rand, d sampler.Declaration) *Question {
	v := make([]float32, 2+g.IntN(50))
	few := 1 + g.IntN(4)
	fill(v, func() float64 { return float64(g.IntN(few)) })
	q := b.About(g, d, dist.NewDense(v), "ties")
	if !b.strict(d) { // without what names tokens, and so has a reason to tell equals apart
		q.End, q.Item.History, q.Item.Prompt, q.Item.Step = nil, nil, 0, 0
		for k, s := range d.Params {
			if s.Type == param.Tokens {
				q.Values[k], _ = defaultOf(d, s.Name)
			}
		}
	}
	return q
}

// outOfOrder says how a token was preferred to its equal of a lower id, of a
// higher one where the best tokens are removed.
func outOfOrder(q *Question, a Answer, head bool) string {
	row := &q.Item.Scores
	gone := map[float32]int32{} // a removed token of each score
	for k := range row.Values {
		if head {
			k = len(row.Values) - 1 - k
		}
		v, id := row.Values[k], row.ID(k)
		other, any := gone[v]
		switch stays := a.Row.Has(id); {
		case !stays:
			gone[v] = id
		case any:
			return fmt.Sprintf("it keeps token %d and removes its equal %d", id, other)
		}
	}
	if q.Decl.Kind == sampler.Reshape || q.Decl.Needs.Uniforms > 0 {
		return ""
	}
	at := a.Row.Index(a.Chosen)
	if at < 0 {
		return fmt.Sprintf("it chooses token %d, which is not listed", a.Chosen)
	}
	left := a.Row.Values[at]
	for k, v := range a.Row.Values {
		if id := a.Row.ID(k); v == left && id < a.Chosen {
			return fmt.Sprintf("it chooses token %d and not its equal %d", a.Chosen, id)
		}
	}
	return ""
}

// bestStay reports whether no token that stays, or is chosen, has a lower score
// than one that is removed, or was not.
func bestStay(q *Question, a Answer) bool {
	row := &q.Item.Scores
	least, most, top := math.Inf(1), math.Inf(-1), math.Inf(-1) // of those that stay, that go, of all
	for k, v := range row.Values {
		x := float64(v)
		if top = max(top, x); a.Row.Has(row.ID(k)) {
			least = min(least, x)
		} else {
			most = max(most, x)
		}
	}
	if q.Decl.Kind == sampler.Select && q.Decl.Needs.Uniforms == 0 {
		at := row.Index(a.Chosen)
		return at >= 0 && float64(row.Values[at]) == top
	}
	return least >= most
}
