package generate

import (
	"context"
	"slices"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/model"
)

// prefix is a prompt that the model holds, with the scores after it; samples fork
// from it. One that nobody uses any more stays for later runs, which find their
// prompt, or its beginning, evaluated already. The least recently used goes
// first, and all unused ones go when the model has no room for a call. Those of a
// model that is not deterministic do not stay: its scores would depend on what
// ran before.
type prefix struct {
	seq    uint64
	tokens []int32
	row    dist.Scores
	pins   int // users; at 0 it may go
}

const (
	// mostPrefixes is how many unused prefixes stay.
	mostPrefixes = 8
	// leastShared is how many tokens a prompt must have in common with a prefix to
	// be worth a fork, a hop of its own.
	leastShared = 16
)

// start is where the evaluation of a new prefix begins: after so many tokens of
// another, or at the beginning.
type start struct {
	*prefix
	from   *prefix // nil at the beginning
	length int
}

// prefill returns the prefixes of prompts, each with one more pin, and evaluates
// what the model does not hold of them yet: so many tokens of each. A prompt may
// also begin like another of the list. Tokens that need no evaluation are counted as
// cached.
func (e *Engine) prefill(ctx context.Context, usage *model.Usage, prompts ...[]int32) (out []*prefix, evaluated []int, err error) {
	out, evaluated = make([]*prefix, len(prompts)), make([]int, len(prompts))
	var waves [2][]start // those of the second begin like one of the first
	var first []*prefix  // of the first wave
	var cached int
	for i, tokens := range prompts {
		known := slices.Concat(e.prefixes, first)
		at := slices.IndexFunc(known, func(p *prefix) bool { return slices.Equal(p.tokens, tokens) })
		if at >= 0 {
			out[i] = known[at]
			cached += len(tokens)
		} else {
			e.seq++
			s := start{prefix: &prefix{seq: e.seq, tokens: slices.Clone(tokens), row: e.heapRow()}}
			s.from, s.length = nearest(known, tokens)
			cached += s.length
			evaluated[i] = len(tokens) - s.length
			if slices.Contains(first, s.from) {
				waves[1] = append(waves[1], s)
			} else {
				waves[0] = append(waves[0], s)
				first = append(first, s.prefix)
			}
			out[i] = s.prefix
		}
		out[i].pins++
	}
	for _, wave := range waves {
		if err := e.evaluate(ctx, usage, wave); err != nil {
			for _, s := range slices.Concat(waves[0], waves[1]) {
				e.forget(s.prefix)
			}
			for _, p := range out {
				e.unpin(p)
			}
			return nil, nil, err
		}
	}
	for _, p := range out { // the newest use last
		e.prefixes = append(slices.DeleteFunc(e.prefixes, func(q *prefix) bool { return q == p }), p)
	}
	e.used.CachedTokens += int64(cached)
	if usage != nil {
		usage.CachedTokens += int64(cached)
	}
	return out, evaluated, nil
}

// nearest returns the prefix that has most of the first tokens in common with a
// prompt, and how many; nil when it is not worth a fork. The last token is left:
// it is what the scores come from.
func nearest(known []*prefix, tokens []int32) (from *prefix, length int) {
	length = leastShared - 1
	for _, p := range known {
		n := 0
		for n < len(p.tokens) && n < len(tokens)-1 && p.tokens[n] == tokens[n] {
			n++
		}
		if n > length {
			from, length = p, n
		}
	}
	if from == nil {
		return nil, 0
	}
	return from, length
}

// evaluate forks what is shared and evaluates the rest, in one call each.
func (e *Engine) evaluate(ctx context.Context, usage *model.Usage, wave []start) error {
	if len(wave) == 0 {
		return nil
	}
	var forks []model.Edit
	inputs := make([]model.Input, len(wave))
	for i, s := range wave {
		if s.from != nil {
			forks = append(forks, model.Edit{Op: model.Fork, Seq: s.from.seq, To: s.seq, Length: s.length})
		}
		inputs[i] = model.Input{Seq: s.seq, Start: s.length, Tokens: s.tokens[s.length:], Want: model.Last, Scores: []dist.Scores{s.row}}
	}
	if len(forks) > 0 {
		if err := e.m.Edit(ctx, forks); err != nil {
			return err
		}
	}
	if err := e.forward(ctx, usage, inputs); err != nil {
		return err
	}
	for i, s := range wave {
		s.row = inputs[i].Scores[0] // a top-N backend replaces it
	}
	return nil
}

// forward makes a forward call and adds what it cost to usage, which may be nil.
// When the model has no room, unused prefixes make some.
func (e *Engine) forward(ctx context.Context, usage *model.Usage, inputs []model.Input) error {
	for {
		u, err := e.m.Forward(ctx, inputs)
		e.used = e.used.Add(u)
		if usage != nil {
			*usage = usage.Add(u)
		}
		if fault.KindOf(err) != fault.Limit || !e.evict(0) {
			return err
		}
	}
}

// unpin gives a prefix back.
func (e *Engine) unpin(p *prefix) {
	p.pins--
	if !e.info.Deterministic {
		e.evict(0)
		return
	}
	e.evict(mostPrefixes)
}

// evict forgets unused prefixes, the least recently used first, until no more
// than so many are left, and reports whether there were any to forget.
func (e *Engine) evict(most int) (any bool) {
	unused := 0
	for _, p := range e.prefixes {
		if p.pins == 0 {
			unused++
		}
	}
	for i := 0; i < len(e.prefixes) && unused > most; {
		p := e.prefixes[i]
		if p.pins > 0 {
			i++
			continue
		}
		e.forget(p)
		unused--
		any = true
	}
	return any
}

// forget makes the model forget a prefix.
func (e *Engine) forget(p *prefix) {
	e.free(p.seq)
	e.prefixes = slices.DeleteFunc(e.prefixes, func(q *prefix) bool { return q == p })
}

// Forget gives back what the model holds of the prompts of earlier runs. It is
// not needed for results, which are the same either way, only for memory.
func (e *Engine) Forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.evict(0)
}
