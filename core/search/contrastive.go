package search

import (
	"context"
	"math"

	"lab/core/generate"
	"lab/core/plugin/param"
	"lab/core/trace"
)

func contrastive() Strategy {
	return Strategy{
		Name: "contrastive",
		Summary: "Takes, among the k likeliest tokens, the one with the best (1 - alpha) p - alpha max cos, the largest cosine between its hidden state and one of the context; " +
			"ties go to the likelier token, then the lower id. It draws nothing.",
		Source: "Su, Lan, Wang, Yogatama, Kong, Collier 2022, A contrastive framework for neural text generation, equation 5",
		Params: param.Specs{
			{Name: "k", Aliases: []string{"top_k"}, Type: param.Int, Default: int64(4), Min: 1, Max: 1024, Unit: "tokens", Meaning: "candidates per step; 1 is greedy"},
			{Name: "alpha", Aliases: []string{"penalty_alpha"}, Type: param.Float, Default: 0.6, Min: 0, Max: 1, Meaning: "weight of the degeneration penalty; 0 is greedy"},
		},
		run: runContrastive,
	}
}

func runContrastive(ctx context.Context, w *searcher, set param.Values) (*Result, error) {
	k, alpha := int(set.Int("k")), set.Float("alpha")
	b, states, err := w.Engine.RootHidden(ctx, &w.usage, w.Prompt)
	if err != nil {
		return nil, err
	}
	n := &node{Branch: b}
	defer func() { n.Drop() }()
	r := &Result{ScoreIs: "mean of (1 - alpha) p - alpha max cos over the tokens"}
	sum := 0.0
	finish := func(stop trace.Stop) {
		tokens := n.completion()
		r.Sequences = []Sequence{w.sequence(tokens, n.modelLn, n.drawnLn, sum/float64(max(1, len(tokens))), stop)}
	}
	for {
		if stop, ok := w.done(n); ok {
			w.finished++
			finish(stop)
			return r, nil
		}
		var score float64
		if score, states, err = w.contrast(ctx, &n, states, k, alpha); err != nil {
			finish(trace.Stop{Reason: trace.Interrupted})
			return r, err
		}
		sum += score
		w.step()
	}
}

// contrast moves a node by the best of its candidates and returns its score and
// the states with that of the new token.
func (w *searcher) contrast(ctx context.Context, at **node, states [][]float32, k int, alpha float64) (float64, [][]float32, error) {
	n := *at
	if err := w.expand(ctx, n); err != nil {
		return 0, states, err
	}
	likeliest, _ := n.sampling.Top(k)
	var candidates []*node
	var branches []*generate.Branch
	defer func() {
		for _, c := range candidates {
			c.Drop() // all but the chosen one, which has moved to the node
		}
	}()
	for _, t := range likeliest {
		c, err := n.child(ctx, t.ID)
		if err != nil {
			return 0, states, err
		}
		candidates, branches = append(candidates, c), append(branches, c.Branch)
	}
	hidden, err := generate.GrowHidden(ctx, &w.usage, branches...)
	if err != nil {
		return 0, states, err
	}
	w.evaluated += len(branches)
	chosen, best := 0, math.Inf(-1)
	for i, t := range likeliest {
		penalty := math.Inf(-1)
		for _, s := range states {
			penalty = max(penalty, cosine(hidden[i], s))
		}
		if score := (1-alpha)*t.P - alpha*penalty; score > best {
			chosen, best = i, score
		}
	}
	n.Drop()
	*at = candidates[chosen]
	candidates = append(candidates[:chosen], candidates[chosen+1:]...)
	return best, append(states, hidden[chosen]), nil
}

// cosine returns the cosine of the angle between two vectors, 0 when one of
// them has no direction.
func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i, x := range a {
		y := float64(b[i])
		ab += float64(x) * y
		aa += float64(x) * float64(x)
		bb += y * y
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return ab / math.Sqrt(aa*bb)
}
