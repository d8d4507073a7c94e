package sweep

import (
	"context"
	"math"
	"slices"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/generate"
	"lab/core/search"
	"lab/core/seed"
	"lab/core/store"
	"lab/core/trace"
)

// searched runs the cells of a model that search, one sample after the other. A
// sample is the best sequence that the strategy found; that of sample i > 0 is
// searched for under a run seed derived from the cell's and i, so that strategies
// that draw find others.
func (r *running) searched(ctx context.Context, ref string) error {
	var failure error
	r.pending(ref, true, func(w work) bool {
		if r.wanted(w) {
			failure = r.search(ctx, w)
		}
		return failure == nil
	})
	return failure
}

func (r *running) search(ctx context.Context, w work) error {
	c := &r.plan.Cells[w.cell]
	base := r.sum.Tokens
	task := search.Task{Engine: c.engine.Engine, Prompt: []byte(c.Prompt), Chain: c.Chain, Seed: seed.Sub(c.Seed, uint64(w.sample)), MaxTokens: c.MaxTokens,
		OnStep: func(_, tokens int) {
			r.sum.Tokens = base + tokens
			r.step()
		}}
	found, err := search.Run(ctx, task, c.strategy.Strategy, c.strategy.set)
	if found != nil {
		r.sum.Usage = r.sum.Usage.Add(found.Usage)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return err
	case err != nil:
		return r.fail(w, err)
	case len(found.Sequences) == 0:
		return r.fail(w, fault.New(fault.Limit, c.strategy.Name, "", "it found no sequence"))
	}
	best, cost := found.Sequences[0], generate.CostOf(found.Usage)
	var rows []dist.Scores
	s := trace.Sample{Sample: uint64(w.sample), Text: best.Text, Raw: best.Raw, Tokens: best.Tokens, Stop: best.Stop}
	if r.plan.Spec.Ledger() {
		if s.Steps, rows, err = r.read(ctx, c, best.Tokens); err != nil {
			if ctx.Err() != nil {
				return err
			}
			return r.fail(w, err)
		}
	}
	r.sum.Finished++
	r.step()
	return r.keep.Put(store.Record{Cell: w.cell, Sample: w.sample, PromptTokens: c.promptTokens, Trace: s, Cost: &cost, Scores: rows})
}

// readAtOnce is how many tokens of a sequence are looked up in one call.
const readAtOnce = 16

// read returns what the model says of every token of a sequence, and the rows that
// are to be kept. There is no sampling distribution: a search chose the tokens.
func (r *running) read(ctx context.Context, c *Cell, tokens []int32) ([]trace.Step, []dist.Scores, error) {
	keep, err := r.plan.Spec.Recording()
	if err != nil {
		return nil, nil, err
	}
	var kept []dist.Scores
	b, err := c.engine.Root(ctx, &r.sum.Usage, []byte(c.Prompt))
	if err != nil {
		return nil, nil, err
	}
	defer b.Drop()
	steps := make([]trace.Step, 0, len(tokens))
	rows := []dist.Scores{b.Row()}
	for piece := range slices.Chunk(tokens, readAtOnce) {
		news := piece // the scores after the last token are not wanted
		if len(steps)+len(piece) == len(tokens) {
			news = piece[:len(piece)-1]
		}
		if len(news) > 0 {
			b.Append(news...)
			more, err := b.Rows(ctx, &r.sum.Usage, len(news))
			if err != nil {
				return nil, nil, err
			}
			rows = append(rows, more...)
		}
		for i, t := range piece {
			side, err := modelSide(&rows[i], t)
			if err != nil {
				return nil, nil, err
			}
			if keep.Any() {
				row, err := keep.Row(&rows[i])
				if err != nil {
					return nil, nil, err
				}
				kept = append(kept, row)
			}
			steps = append(steps, trace.Step{Step: len(steps), Token: t, Piece: c.engine.Piece(t), Model: &side})
		}
		rows = rows[len(piece):]
	}
	return steps, kept, nil
}

// modelSide is what the model says of a token.
func modelSide(row *dist.Scores, token int32) (trace.Side, error) {
	m, err := dist.NewModel(row)
	if err != nil {
		return trace.Side{}, err
	}
	entropy := math.NaN() // a backend that lists its top N tells bounds only
	if h := m.EntropyBounds(); h.Exact() {
		entropy = h.Low
	}
	return trace.NewSide(m.P(token), m.Rank(token), entropy, m.Support()), nil
}
