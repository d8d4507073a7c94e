package generate

import (
	"context"

	"lab/core/dist"
	"lab/core/plugin/model"
)

// node is a context that the model holds once, however many samples stand at it.
// Samples of one prompt start at one node and part where they draw different
// tokens: under common random numbers the cells of a sweep, whose chains differ
// little, share most of their forward passes. A model that is not deterministic
// gets a node for every sample, since each of its rows is a draw of its own.
type node struct {
	seq     uint64
	members []*sample // at least one, in the order of the live samples
	scored  bool      // the members' rows hold the scores of the next token
}

// assign puts scores into a row, whose memory it keeps when both are dense.
func assign(row *dist.Scores, scores dist.Scores) {
	if row.Dense() && scores.Dense() && len(row.Values) == len(scores.Values) {
		copy(row.Values, scores.Values)
		return
	}
	*row = scores.Clone() // of a backend that shows its top N only
}

// stand puts samples that were just admitted, whose rows hold their prompt's
// scores, at nodes that are forks of their trunks.
func (b *batch) stand(ctx context.Context, started []*sample) error {
	at := map[string]*node{}
	var forks []model.Edit
	for _, s := range started {
		n := at[s.key]
		if n == nil || !b.e.info.Deterministic {
			t := b.trunks[s.key]
			b.e.seq++
			n = &node{seq: b.e.seq, scored: true}
			at[s.key] = n
			forks = append(forks, model.Edit{Op: model.Fork, Seq: t.seq, To: n.seq, Length: len(t.tokens)})
			b.nodes = append(b.nodes, n)
		}
		n.members = append(n.members, s)
	}
	if len(forks) == 0 {
		return nil
	}
	return b.e.m.Edit(ctx, forks)
}

// forward evaluates the newest token of every node whose rows are used up, and
// gives each of its members the scores.
func (b *batch) forward(ctx context.Context) error {
	var inputs []model.Input
	var owners []*node
	for _, n := range b.nodes {
		if n.scored {
			continue
		}
		s := n.members[0]
		end := len(s.history)
		inputs = append(inputs, model.Input{Seq: n.seq, Start: end - 1, Tokens: s.history[end-1:], Want: model.Last,
			Scores: b.rows[s.place : s.place+1 : s.place+1]})
		owners = append(owners, n)
	}
	if err := b.growPasses(ctx); err != nil {
		return err
	}
	if len(inputs) == 0 {
		return nil
	}
	var took model.Usage
	err := b.e.forward(ctx, &took, inputs)
	b.payStep(took, owners)
	if err != nil {
		return err
	}
	for _, n := range owners {
		n.scored = true
		for _, s := range n.members[1:] {
			assign(&b.rows[s.place], b.rows[n.members[0].place])
		}
	}
	return nil
}

// move reports the samples that ended, and lets the others stand where their
// tokens took them: the first group of a node's members in its sequence, each
// other one in a fork. Samples that drew nothing, since their chain is to be
// applied again, get their scores again.
func (b *batch) move(ctx context.Context) error {
	var nodes []*node
	var edits []model.Edit
	var unused []uint64
	for _, n := range b.nodes {
		groups := n.part()
		for i, g := range groups {
			s := g.members[0]
			held := len(s.history) - 1 // tokens of it that the model is to hold
			g.seq = n.seq
			if i == 0 && s.drew {
				continue
			}
			if i > 0 || held == 0 {
				b.e.seq++
				g.seq = b.e.seq
			}
			switch {
			case held == 0: // it begins again
				if i == 0 {
					unused = append(unused, n.seq)
				}
			case i == 0: // the newest token is evaluated again
				edits = append(edits, model.Edit{Op: model.Truncate, Seq: n.seq, Length: held})
			default:
				edits = append(edits, model.Edit{Op: model.Fork, Seq: n.seq, To: g.seq, Length: held})
			}
		}
		if len(groups) == 0 {
			unused = append(unused, n.seq)
		}
		nodes = append(nodes, groups...)
	}
	b.nodes = nodes
	b.e.free(unused...)
	if len(edits) > 0 {
		if err := b.e.m.Edit(ctx, edits); err != nil {
			return err
		}
	}
	return b.report()
}

// part returns the nodes, without sequences yet, that the members of n which go
// on make: one for each token drawn, in the order of the first to draw it, and
// last one for those that drew nothing.
func (n *node) part() []*node {
	var groups []*node
	behind := &node{}
	at := map[int32]*node{}
	for _, s := range n.members {
		if s.ended || s.failed {
			continue
		}
		g := behind
		if s.drew {
			token := s.history[len(s.history)-1]
			if g = at[token]; g == nil {
				g = &node{}
				at[token] = g
				groups = append(groups, g)
			}
		}
		g.members = append(g.members, s)
	}
	if len(behind.members) > 0 {
		groups = append(groups, behind)
	}
	return groups
}

// report takes the samples that ended out of the batch.
func (b *batch) report() error {
	kept := b.live[:0]
	var ended []*sample
	for _, s := range b.live {
		if !s.ended && !s.failed {
			kept = append(kept, s)
			continue
		}
		b.places = append(b.places, s.place)
		s.leave()
		if s.ended {
			ended = append(ended, s)
		}
	}
	clear(b.live[len(kept):]) // so that what ended can be collected
	b.live = kept
	for _, s := range ended {
		b.finished++
		if err := b.feed.Done(Finished{Job: s.number, Sample: s.out, Cost: s.cost, Scores: s.scores, Warning: s.warning()}); err != nil {
			return err
		}
	}
	return nil
}
