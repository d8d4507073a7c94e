package conform

import (
	"fmt"
	"math"
	"math/rand/v2"

	"lab/core/dist"
	"lab/core/plugin/sampler"
)

// ledgerSlack is what a number of the ledger may be off, of its size or at all:
// sums of many terms in another order differ by less than 1e-10.
const ledgerSlack = 1e-8

// ledger computes what happened to a row anew and compares.
func ledger(b *Bench, d sampler.Declaration) finding {
	var ws dist.Workspace
	return b.survey("ledger", d, b.rounds, b.anyKind(d), func(_ *rand.Rand, q *Question, a Answer) string {
		it := copyItem(q.Item)
		call := b.call([]*Question{q})
		call.Items, call.Rows = []*sampler.Item{it}, true
		b.asked++
		if err := b.apply(b.runner, call); err != nil {
			return "with the rows between stages asked for, an error: " + err.Error()
		}
		if len(it.Rows) != 1 || !sameBits(&it.Rows[0], &it.Scores) || !sameBits(&it.Scores, &a.Row) {
			return fmt.Sprintf("the row after the stage is %v, the row left %v", it.Rows, a.Row)
		}
		want, err := dist.Compare(&q.Item.Scores, &a.Row, &ws)
		if err != nil {
			return err.Error()
		}
		if a.Chosen >= 0 {
			want.Choose(&q.Item.Scores, &a.Row, a.Chosen)
		}
		return changes(a.Change, want)
	})
}

// changes says in which number two lines of a ledger differ.
func changes(got, want dist.Change) string {
	for _, x := range []struct {
		name      string
		got, want float64
	}{
		{"the support before", float64(got.SupportBefore), float64(want.SupportBefore)},
		{"the support after", float64(got.SupportAfter), float64(want.SupportAfter)},
		{"the kept mass", got.KeptMass, want.KeptMass},
		{"the entropy before", got.EntropyBefore, want.EntropyBefore},
		{"the entropy after", got.EntropyAfter, want.EntropyAfter},
		{"the KL divergence", got.KL, want.KL},
		{"the TV distance", got.TV, want.TV},
		{"the rank of the chosen token before", float64(got.RankBefore), float64(want.RankBefore)},
		{"the rank of the chosen token after", float64(got.RankAfter), float64(want.RankAfter)},
		{"the probability of the chosen token before", got.ProbBefore, want.ProbBefore},
		{"the probability of the chosen token after", got.ProbAfter, want.ProbAfter},
	} {
		if x.got != x.want && !(math.Abs(x.got-x.want) <= ledgerSlack*(1+math.Abs(x.want))) {
			return fmt.Sprintf("%s is %.12g in the ledger, and %.12g computed from the rows", x.name, x.got, x.want)
		}
	}
	if got.Truncation != want.Truncation {
		return fmt.Sprintf("the ledger says that the survivors kept their scores: %t; by the rows: %t", got.Truncation, want.Truncation)
	}
	return ""
}
