package generate

import (
	"lab/core/plugin/model"
	"lab/core/trace"
)

// CostOf returns a usage that is all of one sample.
func CostOf(u model.Usage) trace.Cost {
	c := part(u, 1)
	c.CachedTokens = float64(u.CachedTokens)
	return c
}

// part returns a share of a usage, cached tokens and batch left out.
func part(u model.Usage, share float64) trace.Cost {
	return trace.Cost{PrefillTokens: share * float64(u.PrefillTokens), DecodeTokens: share * float64(u.DecodeTokens),
		PrefillSeconds: share * u.PrefillSeconds, DecodeSeconds: share * u.DecodeSeconds,
		FLOPs: share * float64(u.FLOPs), BytesMoved: share * float64(u.BytesMoved), CacheBytes: u.CacheBytes}
}

// pay adds what a call took to what the batch took, and a share of it to the cost
// of each of several samples; one that stands in the list twice pays twice.
func (b *batch) pay(u model.Usage, share float64, payers ...*sample) {
	b.usage = b.usage.Add(u)
	for _, s := range payers {
		s.cost = s.cost.Add(part(u, share))
	}
}

// payStep shares a call in which every node had one token.
func (b *batch) payStep(u model.Usage, nodes []*node) {
	b.usage = b.usage.Add(u)
	for _, n := range nodes {
		for _, s := range n.members {
			s.cost = s.cost.Add(part(u, 1/float64(len(nodes)*len(n.members))))
			s.calls++
			s.cost.Batch += (float64(len(nodes)) - s.cost.Batch) / float64(s.calls)
		}
	}
}

// payPrompts shares what evaluating prompts took between the samples that just
// started: a prompt's part, by tokens, is split between those that wait for it, and
// whoever found it there pays nothing.
func (b *batch) payPrompts(u model.Usage, evaluated map[*trunk]int, started []*sample) {
	b.usage = b.usage.Add(u)
	total, waiting := 0, map[*trunk]int{}
	for _, n := range evaluated {
		total += n
	}
	for _, s := range started {
		waiting[b.trunks[s.key]]++
	}
	for _, s := range started {
		t := b.trunks[s.key]
		mine := float64(evaluated[t]) / float64(waiting[t])
		s.cost.CachedTokens = float64(s.prompt) - mine
		if mine > 0 {
			s.cost = s.cost.Add(part(u, mine/float64(total)))
		}
	}
}
