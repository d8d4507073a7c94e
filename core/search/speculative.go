package search

import (
	"context"
	"math"
	"slices"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/generate"
	"lab/core/plugin/param"
	"lab/core/seed"
)

func speculative() Strategy {
	return Strategy{
		Name: "speculative",
		Summary: "A draft model, or a look at what followed the same tokens before, proposes tokens and the model accepts each with min(1, p/q), or draws from the rest: " +
			"the text is distributed exactly as without a draft, under any chain; with greedy it is the same text.",
		Source: "Leviathan, Kalman, Matias 2023, Fast inference from transformers via speculative decoding, algorithm 1; Chen et al. 2023; " +
			"lookup: Saxena 2023, Prompt lookup decoding; typical: Cai et al. 2024, Medusa, section 3.3.1",
		Params: param.Specs{
			{Name: "draft_tokens", Aliases: []string{"gamma"}, Type: param.Int, Default: int64(4), Min: 1, Max: 64, Unit: "tokens", Meaning: "how many tokens the draft proposes at a time"},
			{Name: "lookup", Type: param.Int, Default: int64(0), Min: 0, Max: 64, Unit: "tokens", Meaning: "propose, without a draft model, what followed the newest earlier place of the longest match of the context's end, of at most so many tokens; 0 asks the draft model"},
			{Name: "accept", Type: param.Text, Default: "exact", Choices: []string{"exact", "typical"}, Meaning: "exact keeps the distribution; typical accepts every proposal of p > min(epsilon, delta exp(-H)), which changes it in favour of the draft"},
			{Name: "epsilon", Type: param.Float, Default: 0.09, Min: 0, Max: 1, Meaning: "typical: a probability that is always enough"},
			{Name: "delta", Type: param.Float, Default: 0.3, Min: 0, Max: math.Inf(1), Meaning: "typical: factor on exp(-H), H being the entropy in nats of the distribution drawn from"},
			{Name: "samples", Type: param.Int, Default: int64(1), Min: 1, Max: 65536, Unit: "samples", Meaning: "how many samples, one after the other"},
		},
		run: runSpeculative,
	}
}

// Speculation is what speculative decoding saved, over all samples.
type Speculation struct {
	Proposed    int     `json:"proposed"`     // tokens of the draft that were judged
	Accepted    int     `json:"accepted"`     // of these
	TargetCalls int     `json:"target_calls"` // forward calls of the model
	DraftCalls  int     `json:"draft_calls"`
	Tokens      int     `json:"tokens"`          // generated
	Acceptance  float64 `json:"acceptance"`      // accepted / proposed; exact: its expectation is 1 - TV(p, q)
	PerCall     float64 `json:"tokens_per_call"` // tokens / target calls
}

// The lanes of the three kinds of random numbers, apart from those of stages.
var (
	draftLane  = seed.Lane("speculative_draft", 0)
	acceptLane = seed.Lane("speculative_accept", 0)
	restLane   = seed.Lane("speculative_rest", 0)
)

// Judge decides about a token that was proposed from q where p is wanted: it is
// accepted with probability min(1, p/q); otherwise a token is drawn from
// max(0, p - q), normalised. u and v are independent uniform numbers. The
// token returned is distributed as p.
func Judge(p, q dist.Distribution, proposed int32, u, v float64) (token int32, accepted bool) {
	if u*q.P(proposed) < p.P(proposed) {
		return proposed, true
	}
	total := 0.0
	p.Each(func(id int32, x float64) bool {
		total += max(0, x-q.P(id))
		return true
	})
	// Where rounding leaves nothing of p - q the two are equal, and p serves.
	if total == 0 {
		return draw(p, v), false
	}
	sum, token := 0.0, int32(-1)
	p.Each(func(id int32, x float64) bool {
		if d := x - q.P(id); d > 0 {
			sum += d
			token = id
		}
		return sum <= v*total || token < 0
	})
	return token, false
}

// Typical reports whether typical acceptance takes a token of probability
// p.P(proposed): above the lesser of epsilon and delta exp(-H), H being p's
// entropy in nats (Cai et al. 2024, Medusa, section 3.3.1). Errors are those of
// an entropy that is not known.
func Typical(p dist.Distribution, proposed int32, epsilon, delta float64) (bool, error) {
	h, err := p.EntropyBits()
	if err != nil {
		return false, err
	}
	return p.P(proposed) > min(epsilon, delta*math.Exp(-h*math.Ln2)), nil
}

type speculation struct {
	*searcher
	gamma          int
	lookup         int // longest match looked for, 0 with a draft model
	typical        bool
	epsilon, delta float64
	sample         uint64
	count          Speculation
	target         *node
	draft          *node // nil with lookup
}

func runSpeculative(ctx context.Context, w *searcher, set param.Values) (*Result, error) {
	lookup := int(set.Int("lookup"))
	switch {
	case lookup > 0 && w.Draft != nil:
		return nil, usage("speculative", "lookup = %d and a draft model were both given; one of them proposes", lookup)
	case lookup > 0:
	case w.Draft == nil:
		return nil, usage("speculative", "it needs a draft model; give one of the same vocabulary with --draft, or set lookup=3")
	default:
		if err := w.Engine.CheckPasses(w.Chain, []generate.Pass{{Engine: w.Draft}}); err != nil {
			return nil, err
		}
	}
	r := &Result{ScoreIs: "ln p under the sampling distribution"}
	s := &speculation{searcher: w, gamma: int(set.Int("draft_tokens")), lookup: lookup,
		typical: set.Text("accept") == "typical", epsilon: set.Float("epsilon"), delta: set.Float("delta")}
	var err error
	for i := range set.Int("samples") {
		s.sample = uint64(i)
		var one *Sequence
		if one, err = s.run(ctx); one != nil {
			r.Sequences = append(r.Sequences, *one)
		}
		if err != nil {
			break
		}
		w.finished++
		w.step()
	}
	c := &s.count
	if c.Proposed > 0 {
		c.Acceptance = float64(c.Accepted) / float64(c.Proposed)
	}
	if c.TargetCalls > 0 {
		c.PerCall = float64(c.Tokens) / float64(c.TargetCalls)
	}
	r.Speculation = c
	return r, err
}

// run generates one sample.
func (s *speculation) run(ctx context.Context) (*Sequence, error) {
	var err error
	if s.target, err = s.root(ctx, s.Engine); err != nil {
		return nil, err
	}
	defer s.target.Drop()
	if s.lookup == 0 {
		if s.draft, err = s.root(ctx, s.Draft); err != nil {
			return nil, err
		}
		defer s.draft.Drop()
	}
	for {
		stop, ok := s.done(s.target)
		if ok {
			one := s.sequence(s.target.completion(), s.target.modelLn, s.target.drawnLn, s.target.drawnLn, stop)
			return &one, nil
		}
		if err := s.round(ctx); err != nil {
			return nil, err
		}
		s.step()
	}
}

// uniform returns the random number of a lane for the token at a step.
func (s *speculation) uniform(step int, lane uint32) float64 {
	var u [1]float64
	s.stream.Uniforms(u[:], s.sample, uint64(step), lane)
	return u[0]
}

// round lets the draft propose tokens, judges them with one forward call of the
// model, and leaves the branches with the tokens that stand.
func (s *speculation) round(ctx context.Context) error {
	start := len(s.target.Tokens())
	first := len(s.target.completion())
	room := min(s.MaxTokens-first, s.Engine.Info().ContextLength-start) - 1
	propose := s.look
	if s.draft != nil {
		room = min(room, s.Draft.Info().ContextLength-start-1)
		propose = s.propose
	}
	proposals, qs, err := propose(ctx, first, min(s.gamma, max(0, room)))
	if err != nil {
		return err
	}
	context := append(slices.Clone(s.target.Tokens()), proposals...)
	rows, err := s.rows(ctx, proposals)
	if err != nil {
		return err
	}
	judge := &node{Branch: s.target.Branch, states: s.target.states, modelLn: s.target.modelLn, drawnLn: s.target.drawnLn}
	var stand []int32
	for i := range rows {
		if err := s.apply(ctx, []*node{judge}, [][]int32{context[:start+i]}, rows[i:i+1]); err != nil {
			return err
		}
		var token int32
		accepted := false
		if i == len(proposals) { // all were accepted: one more token for free
			token = draw(judge.sampling.Distribution, s.uniform(first+i, restLane))
		} else {
			s.count.Proposed++
			if token, accepted, err = s.judge(judge.sampling.Distribution, qs[i], proposals[i], first+i); err != nil {
				return err
			}
		}
		judge.modelLn += judge.model.LogP(token)
		judge.drawnLn += judge.sampling.LogP(token)
		stand = append(stand, token)
		s.count.Tokens++
		if accepted {
			s.count.Accepted++
		}
		if !accepted || s.Engine.IsEnd(token) {
			break
		}
	}
	s.target.states, s.target.modelLn, s.target.drawnLn = judge.states, judge.modelLn, judge.drawnLn
	return s.settle(ctx, start, stand)
}

// judge decides about the token proposed at a step.
func (s *speculation) judge(p, q dist.Distribution, proposed int32, step int) (token int32, accepted bool, err error) {
	rest := s.uniform(step, restLane)
	if !s.typical {
		token, accepted = Judge(p, q, proposed, s.uniform(step, acceptLane), rest)
		return token, accepted, nil
	}
	if accepted, err = Typical(p, proposed, s.epsilon, s.delta); accepted || err != nil {
		return proposed, accepted, err
	}
	return draw(p, rest), false, nil
}

// look proposes up to n tokens that followed, earlier in the context, the longest
// match of its end, with the certainty that makes each of them a q.
func (s *speculation) look(_ context.Context, _, n int) (tokens []int32, qs []dist.Distribution, err error) {
	for _, token := range followers(s.target.Tokens(), s.lookup, n) {
		row := dist.Scores{Vocab: s.Engine.Info().VocabSize, IDs: []int32{token}, Values: []float32{0}}
		q, err := dist.Softmax(&row)
		if err != nil {
			return nil, nil, err
		}
		tokens, qs = append(tokens, token), append(qs, q)
		if s.Engine.IsEnd(token) {
			break
		}
	}
	return tokens, qs, nil
}

// followers returns up to n tokens that followed the newest earlier place of the
// longest match, of at most longest tokens, of the end of a context. It is part
// of context, and empty when the last token is new.
func followers(context []int32, longest, n int) []int32 {
	best, from := 0, len(context)
	for end := len(context) - 1; end > 0; end-- {
		same := 0
		for same < min(longest, end) && context[end-1-same] == context[len(context)-1-same] {
			same++
		}
		if same > best {
			best, from = same, end
		}
	}
	return context[from:min(from+n, len(context))]
}

// propose lets the draft draw up to n tokens, and returns them with the
// distributions they were drawn from.
func (s *speculation) propose(ctx context.Context, first, n int) (tokens []int32, qs []dist.Distribution, err error) {
	states := s.draft.states
	for i := range n {
		s.count.DraftCalls++
		if err := s.expand(ctx, s.draft); fault.KindOf(err) == fault.Model && err != nil {
			break // what stands is impossible to the draft, which has no say then
		} else if err != nil {
			return nil, nil, err
		}
		if i == 0 {
			states = s.draft.states
		}
		token := draw(s.draft.sampling.Distribution, s.uniform(first+i, draftLane))
		tokens, qs = append(tokens, token), append(qs, s.draft.sampling.Distribution)
		s.draft.Append(token)
		if s.Draft.IsEnd(token) {
			break
		}
	}
	// What a stage of the draft keeps after tokens that may not stand is
	// forgotten: any draft is correct, this one only a little less apt.
	s.draft.states = states
	return tokens, qs, nil
}

// rows evaluates proposals in one call and returns the row that judges each of
// them, and the row after the last unless that one ends the text. A model that
// refuses the call, because a proposal is impossible to it, is asked for the
// row of the first proposal only.
func (s *speculation) rows(ctx context.Context, proposals []int32) ([]dist.Scores, error) {
	evaluate := proposals
	if n := len(evaluate); n > 0 && s.Engine.IsEnd(evaluate[n-1]) {
		evaluate = evaluate[:n-1]
	}
	stand := len(s.target.Tokens())
	for {
		s.count.TargetCalls++
		s.evaluated += len(evaluate) + 1
		s.target.Append(evaluate...)
		rows, err := s.target.Rows(ctx, &s.usage, len(evaluate)+1)
		if fault.KindOf(err) != fault.Model || err == nil || len(evaluate) == 0 {
			return rows, err
		}
		if err := s.target.Cut(ctx, stand); err != nil {
			return nil, err
		}
		evaluate = nil
	}
}

// settle leaves the branches at the tokens that stand.
func (s *speculation) settle(ctx context.Context, start int, stand []int32) error {
	for _, n := range []*node{s.target, s.draft} {
		if n == nil {
			continue
		}
		same := 0
		have := n.Tokens()[start:]
		for same < len(have) && same < len(stand) && have[same] == stand[same] {
			same++
		}
		if err := n.Cut(ctx, start+same); err != nil {
			return err
		}
		n.Append(stand[same:]...)
	}
	return nil
}
