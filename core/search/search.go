// Package search holds the decoding strategies that look at more than one
// distribution before they commit to a token: beam search, best of n,
// contrastive search, speculative decoding, and the exact enumeration of the
// likeliest continuations.
//
// All of them use the same chains as sampling. The distribution a strategy
// works on is the one that would have been drawn from: the row after the last
// stage of the chain, so that truncations, penalties and constraints act on
// search as well. A strategy is written like a stage, "beam:width=4,length=mean".
// Sampling token by token is core/generate. Start with [Run].
package search

import (
	"context"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"lab/core/chain"
	"lab/core/dist"
	"lab/core/fault"
	"lab/core/generate"
	"lab/core/plugin/model"
	"lab/core/plugin/param"
	"lab/core/seed"
	"lab/core/trace"
)

// Task is what a strategy continues and under which chain.
type Task struct {
	Engine    *generate.Engine
	Draft     *generate.Engine // proposes tokens in speculative decoding; nil elsewhere
	Prompt    []byte
	Chain     *chain.Chain
	Seed      uint64
	MaxTokens int // most tokens per sequence, at least 1

	// OnStep is called as the work goes on, with the sequences finished and the
	// tokens evaluated so far. May be nil; runs on the caller's goroutine.
	OnStep func(finished, tokens int)
}

// Sequence is one continuation that a strategy found.
type Sequence struct {
	Tokens []int32    `json:"tokens"`        // of the completion, the one that ended it included
	Text   string     `json:"text"`          // as UTF-8; invalid bytes become U+FFFD
	Raw    []byte     `json:"raw,omitempty"` // the exact bytes, when Text is not them
	Stop   trace.Stop `json:"stop"`

	// -log2 of the probability of all tokens together, under the model
	// distribution and under the distribution drawn from.
	ModelBits    trace.Real `json:"model_bits"`
	SamplingBits trace.Real `json:"sampling_bits"`

	// Score is what the strategy ranks by, larger being better; its meaning is
	// the strategy's.
	Score trace.Real `json:"score"`
}

// Result is what a strategy found, the best first.
type Result struct {
	Strategy  string     `json:"strategy"`
	ScoreIs   string     `json:"score_is"` // what Sequence.Score measures
	Sequences []Sequence `json:"sequences"`

	// Enumeration: the probability of the listed sequences together, and of all
	// others; the two sum to 1.
	Listed   *float64 `json:"listed_mass,omitempty"`
	Unlisted *float64 `json:"unlisted_mass,omitempty"`

	Speculation *Speculation `json:"speculation,omitempty"`

	Usage model.Usage `json:"-"`
}

// Strategy is one way to search.
type Strategy struct {
	Name    string
	Summary string
	Source  string
	Params  param.Specs
	run     func(context.Context, *searcher, param.Values) (*Result, error)
}

// All returns the strategies in the order in which they are listed.
func All() []Strategy {
	return []Strategy{beamStrategy(), bestOf(), enumeration(), contrastive(), speculative()}
}

// Parse reads a strategy, "name" or "name:key=value,...", and checks its
// settings. Errors are usage errors that name the nearest known word.
func Parse(text, origin string) (Strategy, param.Values, error) {
	const op = "strategy"
	requests, err := chain.Parse(text, origin)
	if err != nil {
		return Strategy{}, nil, err
	}
	if len(requests) != 1 {
		return Strategy{}, nil, fault.New(fault.Usage, op, fault.Quote(text, 60), "it is %d strategies, and one is wanted", len(requests)).
			Fix("for example beam:width=4")
	}
	var names []string
	for _, s := range All() {
		if s.Name == requests[0].Name {
			values, err := s.Params.Resolve(op, s.Name, requests[0].Settings)
			return s, values, err
		}
		names = append(names, s.Name)
	}
	return Strategy{}, nil, fault.Unknown(op, op, requests[0].Name, names)
}

// Run carries out a strategy with settings that [Parse] checked. When ctx ends,
// what was finished is returned with an error of kind Interrupted.
func Run(ctx context.Context, t Task, s Strategy, set param.Values) (*Result, error) {
	switch {
	case t.MaxTokens < 1:
		return nil, fault.New(fault.Usage, s.Name, "", "max_tokens = %d is below 1", t.MaxTokens)
	case t.Chain.Passes() > 0:
		return nil, fault.New(fault.Usage, s.Name, "", "the chain %q needs further model passes, which searches do not make", t.Chain).
			Fix("leave the guidance stage out, or sample with lab generate")
	}
	w := &searcher{Task: t, stream: seed.New(t.Seed, t.Prompt), mostOpen: mostFrontier}
	w.opt = chain.Options{EndOfText: t.Engine.Info().EndOfText, Vocabulary: t.Engine.VocabularyKey()}
	r, err := s.run(ctx, w, set)
	if r != nil {
		r.Strategy = s.Name
		r.Usage = w.usage
	}
	if err != nil && ctx.Err() != nil {
		err = fault.New(fault.Interrupted, s.Name, "", "stopped after %d tokens: %v", w.evaluated, context.Cause(ctx))
	}
	return r, err
}

// searcher is a task under way.
type searcher struct {
	Task
	stream    seed.Stream
	opt       chain.Options
	usage     model.Usage
	evaluated int
	finished  int
	mostOpen  int // of an enumeration's frontier
}

func (w *searcher) step() {
	if w.OnStep != nil {
		w.OnStep(w.finished, w.evaluated)
	}
}

// node is a context with its next distributions: a branch, what its stages keep,
// and the probabilities of its completion so far.
type node struct {
	*generate.Branch
	states   [][]byte
	modelLn  float64 // ln of the completion's probability under the model
	drawnLn  float64 // the same under the distributions drawn from
	model    dist.Model
	sampling dist.Sampling
}

func (n *node) completion() []int32 { return n.Tokens()[n.Prompt():] }

// expand evaluates nodes of one engine in one call and fills in both
// distributions over their next token.
func (w *searcher) expand(ctx context.Context, nodes ...*node) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	branches := make([]*generate.Branch, len(nodes))
	for i, n := range nodes {
		branches[i] = n.Branch
	}
	if err := generate.Grow(ctx, &w.usage, branches...); err != nil {
		return err
	}
	w.evaluated += len(nodes)
	rows := make([]dist.Scores, len(nodes))
	for i, n := range nodes {
		rows[i] = n.Row()
	}
	contexts := make([][]int32, len(nodes))
	for i, n := range nodes {
		contexts[i] = n.Tokens()
	}
	return w.apply(ctx, nodes, contexts, rows)
}

// apply runs the chain over the rows after the contexts of nodes. The rows are
// changed.
func (w *searcher) apply(ctx context.Context, nodes []*node, contexts [][]int32, rows []dist.Scores) error {
	crows := make([]*chain.Row, len(nodes))
	for i, n := range nodes {
		var err error
		if n.model, err = dist.NewModel(&rows[i]); err != nil {
			return err
		}
		crows[i] = &chain.Row{Scores: rows[i], History: contexts[i], Prompt: n.Prompt(), Step: len(contexts[i]) - n.Prompt(),
			Stream: w.stream, States: n.states}
	}
	if err := w.Chain.Apply(ctx, crows, w.opt); err != nil {
		return err
	}
	last := len(w.Chain.Stages) - 1
	for i, n := range nodes {
		if len(crows[i].States[last]) > 0 {
			return fault.New(fault.Usage, "search", "stage "+w.Chain.Stages[last].Name,
				"it keeps a state that depends on its own draw, and a search draws by itself").
				Fix("end the chain with sample or greedy")
		}
		n.states = crows[i].States
		var err error
		if n.sampling, err = dist.NewSampling(&crows[i].Scores); err != nil {
			return err
		}
	}
	return nil
}

// root returns the node of the prompt, not expanded.
func (w *searcher) root(ctx context.Context, e *generate.Engine) (*node, error) {
	b, err := e.Root(ctx, &w.usage, w.Prompt)
	if err != nil {
		return nil, err
	}
	return &node{Branch: b}, nil
}

// take extends a node by a token of its support.
func (n *node) take(token int32) {
	n.modelLn += n.model.LogP(token)
	n.drawnLn += n.sampling.LogP(token)
	n.Append(token)
}

// child returns a copy of a node, extended by a token.
func (n *node) child(ctx context.Context, token int32) (*node, error) {
	b, err := n.Fork(ctx)
	if err != nil {
		return nil, err
	}
	c := *n
	c.Branch = b
	c.states = slices.Clone(n.states)
	c.take(token)
	return &c, nil
}

// done says why a node is complete, if it is.
func (w *searcher) done(n *node) (trace.Stop, bool) {
	switch {
	case n.Ended():
		return trace.Stop{Reason: trace.EndOfText}, true
	case len(n.completion()) >= w.MaxTokens:
		return trace.Stop{Reason: trace.MaxTokens}, true
	case len(n.Tokens()) >= w.Engine.Info().ContextLength:
		return trace.Stop{Reason: trace.ContextFull}, true
	}
	return trace.Stop{}, false
}

// sequence records a completion.
func (w *searcher) sequence(tokens []int32, modelLn, drawnLn, score float64, stop trace.Stop) Sequence {
	s := Sequence{Tokens: slices.Clone(tokens), Stop: stop, Score: trace.Real(score),
		ModelBits: trace.Real(bits(modelLn)), SamplingBits: trace.Real(bits(drawnLn))}
	raw := w.bytesOf(tokens)
	s.Text = strings.ToValidUTF8(string(raw), "\uFFFD")
	if !utf8.Valid(raw) {
		s.Raw = raw
	}
	return s
}

// bits returns -ln p in bits, without a negative zero.
func bits(ln float64) float64 { return 0 - ln/math.Ln2 }

// bytesOf returns the text of a completion, without the token that ended it.
func (w *searcher) bytesOf(tokens []int32) []byte {
	var out []byte
	for _, t := range tokens {
		out = append(out, w.Engine.Piece(t)...)
	}
	return out
}

// draw returns the token of a distribution that a uniform number selects, by
// the running sum in ascending order of id.
func draw(d dist.Distribution, u float64) int32 {
	sum, chosen := 0.0, int32(-1)
	d.Each(func(id int32, p float64) bool {
		if p > 0 {
			sum += p
			chosen = id
		}
		return p == 0 || sum <= u
	})
	return chosen
}
