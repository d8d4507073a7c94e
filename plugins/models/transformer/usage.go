package transformer

import "lab/core/plugin/model"

// usage counts what a call cost. Everything but the seconds follows from the
// batch alone:
//
//   - FLOPs (F3 and F4 of the cost model): 2 per weight that a token is
//     multiplied with (of experts, those it picks), the matrix of the scores for wanted rows only, and
//     4*heads*headSize per layer and attended position; the token's own counts,
//     and in a layer with a window only those within.
//   - BytesMoved (F7): the stored weights once per pass of maxRows tokens (of
//     experts, those that a token of the pass has picked; the matrix of the scores where a pass has wanted rows), the embedding row and
//     the new keys and values of every token, and for every token the keys and
//     values it attends to.
//
// A call that mixes prefill and decode shares its seconds between them as its
// FLOPs are.
func (e *engine) usage(batch []model.Input, passes passCount, seconds float64) model.Usage {
	var u model.Usage
	var prefillFLOPs, tokens, attended int64
	for _, in := range batch {
		n := int64(len(in.Tokens))
		positions := e.hyper.attended(int64(in.Start), n)
		flops := e.flops(n, int64(len(in.Scores)), positions)
		u.FLOPs += flops
		attended += positions
		tokens += n
		if n > 1 {
			u.PrefillTokens += n
			prefillFLOPs += flops
		} else {
			u.DecodeTokens += n
		}
	}
	if u.FLOPs > 0 {
		u.PrefillSeconds = seconds * float64(prefillFLOPs) / float64(u.FLOPs)
		u.DecodeSeconds = seconds * float64(u.FLOPs-prefillFLOPs) / float64(u.FLOPs)
	}
	u.BytesMoved = passes.body*e.weight.bodyBytes - passes.unread + passes.head*e.weight.headBytes +
		tokens*e.weight.embedRowBytes + attended*(e.hyper.kvBytes()/int64(e.hyper.layers)) + tokens*e.hyper.kvBytes()
	u.CacheBytes = e.cache.bytes()
	return u
}

// flops is the work of n tokens of one sequence of which so many want scores,
// attending to so many positions in all layers together.
func (e *engine) flops(n, scores, positions int64) int64 {
	h := &e.hyper
	return 2*(e.weight.bodyMultiplied*n+e.weight.headMultiplied*scores) +
		4*int64(h.heads)*int64(h.headSize)*positions
}

// attended is how many positions n tokens from start on attend to, in all
// layers together.
func (h *hyper) attended(start, n int64) int64 {
	// Σ (start+i) for i = 1 to n
	whole := n*start + n*(n+1)/2
	locals := int64(0)
	for layer := range h.layers {
		if h.local(layer) {
			locals++
		}
	}
	within := whole
	if window := int64(h.window); locals > 0 {
		// The first rising tokens see fewer positions than the window has.
		rising := min(max(window-start, 0), n)
		within = rising*start + rising*(rising+1)/2 + (n-rising)*window
	}
	return (int64(h.layers)-locals)*whole + locals*within
}
