package search

import (
	"cmp"
	"container/heap"
	"context"
	"math"
	"slices"

	"lab/core/fault"
	"lab/core/generate"
	"lab/core/plugin/param"
	"lab/core/trace"
)

func usage(op, format string, args ...any) error {
	return fault.New(fault.Usage, op, "", format, args...)
}

func enumeration() Strategy {
	return Strategy{
		Name: "enumerate",
		Summary: "Lists the likeliest continuations of at most max_tokens tokens with their exact probabilities under the distribution drawn from, " +
			"in order of probability, ties by token ids; what is not listed is said as a mass.",
		Source: "uniform-cost search over the tree of continuations (Dijkstra 1959)",
		Params: param.Specs{
			{Name: "sequences", Aliases: []string{"n"}, Type: param.Int, Default: int64(20), Min: 1, Max: 1 << 20, Unit: "sequences", Meaning: "how many to list"},
			{Name: "expand", Type: param.Int, Default: int64(4096), Min: 1, Max: 1 << 24, Unit: "contexts", Meaning: "most contexts to evaluate; when they do not suffice the list is shorter and the unlisted mass says so"},
			{Name: "mass", Type: param.Float, Default: 1.0, Min: 0, Max: 1, MinOpen: true, Meaning: "stop once the listed sequences hold this much probability"},
		},
		run: runEnumerate,
	}
}

// prefix is a continuation on the frontier of the enumeration.
type prefix struct {
	tokens           []int32
	modelLn, drawnLn float64
	states           [][]byte // of the stages, before the last token's row
	stop             trace.Stop
	complete         bool
}

type frontier []*prefix

func (f frontier) Len() int      { return len(f) }
func (f frontier) Swap(i, j int) { f[i], f[j] = f[j], f[i] }
func (f frontier) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(f[j].drawnLn, f[i].drawnLn), slices.Compare(f[i].tokens, f[j].tokens)) < 0
}
func (f *frontier) Push(x any) { *f = append(*f, x.(*prefix)) }
func (f *frontier) Pop() any {
	old := *f
	p := old[len(old)-1]
	old[len(old)-1] = nil
	*f = old[:len(old)-1]
	return p
}

// mostFrontier bounds the memory of an enumeration: some hundred bytes a prefix, and
// four for each of its tokens.
const mostFrontier = 1 << 22

func runEnumerate(ctx context.Context, w *searcher, set param.Values) (*Result, error) {
	want, expand, mass := int(set.Int("sequences")), int(set.Int("expand")), set.Float("mass")
	root, err := w.root(ctx, w.Engine)
	if err != nil {
		return nil, err
	}
	defer root.Drop()
	r := &Result{ScoreIs: "ln p under the sampling distribution"}
	open := &frontier{{}}
	listed := 0.0
	for open.Len() > 0 && len(r.Sequences) < want && listed < mass {
		p := heap.Pop(open).(*prefix)
		if p.complete {
			r.Sequences = append(r.Sequences, w.sequence(p.tokens, p.modelLn, p.drawnLn, p.drawnLn, p.stop))
			listed += math.Exp(p.drawnLn)
			w.finished++
			continue
		}
		if expand == 0 {
			heap.Push(open, p)
			break
		}
		expand--
		if err = w.extend(ctx, root, p, open); err != nil {
			heap.Push(open, p)
			break
		}
		w.step()
	}
	rest := 0.0
	for _, p := range *open {
		rest += math.Exp(p.drawnLn)
	}
	r.Listed, r.Unlisted = &listed, &rest
	if err == nil && !(math.Abs(listed+rest-1) <= 1e-9) {
		err = fault.New(fault.Internal, "enumerate", "", "the listed mass %.12g and the rest %.12g do not sum to 1", listed, rest)
	}
	return r, err
}

// extend puts the children of a prefix on the frontier, or none of them when it
// returns an error.
func (w *searcher) extend(ctx context.Context, root *node, p *prefix, open *frontier) error {
	b, err := root.Fork(ctx)
	if err != nil {
		return err
	}
	defer b.Drop()
	b.Append(p.tokens...)
	n := &node{Branch: b, states: p.states, modelLn: p.modelLn, drawnLn: p.drawnLn}
	if err := w.expand(ctx, n); err != nil {
		return err
	}
	if open.Len()+n.sampling.Support() > w.mostOpen {
		return fault.New(fault.Limit, "enumerate", "", "more than %d continuations are open", w.mostOpen).
			Fix("truncate with the chain (top_k, min_p), or list fewer tokens")
	}
	n.sampling.Each(func(token int32, prob float64) bool {
		ln := n.sampling.LogP(token)
		if math.IsInf(ln, -1) {
			return true
		}
		c := &prefix{tokens: append(slices.Clone(p.tokens), token), states: n.states,
			modelLn: p.modelLn + n.model.LogP(token), drawnLn: p.drawnLn + ln}
		c.stop, c.complete = w.completeAt(b, c.tokens)
		heap.Push(open, c)
		return true
	})
	return nil
}

func (w *searcher) completeAt(b *generate.Branch, tokens []int32) (trace.Stop, bool) {
	info := w.Engine.Info()
	switch {
	case slices.Contains(info.EndOfText, tokens[len(tokens)-1]):
		return trace.Stop{Reason: trace.EndOfText}, true
	case len(tokens) >= w.MaxTokens:
		return trace.Stop{Reason: trace.MaxTokens}, true
	case b.Prompt()+len(tokens) >= info.ContextLength:
		return trace.Stop{Reason: trace.ContextFull}, true
	}
	return trace.Stop{}, false
}
