package generate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"lab/core/chain"
	"lab/core/dist"
	"lab/core/plugin/model"
	"lab/core/seed"
	"lab/core/trace"
)

// batch is one Run under way: jobs waiting, trunks that hold a prefilled
// prompt, and live samples, each with a row of scores of its own.
type batch struct {
	e    *Engine
	opt  Options
	jobs []Job
	keys []string // of their prompts

	chainOpt chain.Options

	waiting []int             // indices of jobs not started, in order
	trunks  map[string]*trunk // by prompt
	live    []*sample
	rows    []dist.Scores // one per place in the batch
	places  []int         // free indices into rows

	passTrunks map[passTrunk]*Branch

	samples  []trace.Sample
	loose    []bool // by job: the seed could have changed a step
	usage    model.Usage
	finished int
	tokens   int
}

// trunk is the prompt of jobs under way.
type trunk struct {
	*prefix
	left int // jobs of this prompt not started
}

// sample is one live job.
type sample struct {
	job     int
	seq     uint64
	place   int
	history []int32
	prompt  int
	scored  bool // its row holds the scores of the next token
	stream  seed.Stream
	states  [][]byte
	text    *textStream
	out     *trace.Sample
	steps   int
	passes  []*Branch // further model passes
}

func newBatch(e *Engine, jobs []Job, opt Options) *batch {
	b := &batch{e: e, opt: opt, jobs: jobs, trunks: map[string]*trunk{},
		chainOpt: chain.Options{Ledger: opt.Ledger, EndOfText: e.info.EndOfText},
		samples:  make([]trace.Sample, len(jobs)), loose: make([]bool, len(jobs))}
	for i, j := range jobs {
		b.waiting = append(b.waiting, i)
		b.keys = append(b.keys, j.key())
		b.samples[i] = trace.Sample{Sample: j.Sample, Tokens: []int32{}, Stop: trace.Stop{Reason: trace.Interrupted}}
	}
	n := min(opt.Batch, len(jobs))
	b.chainOpt.Vocabulary = e.VocabularyKey()
	if l, ok := e.m.(lender); ok {
		b.rows = l.Rows(n)
	} else {
		for range n {
			b.rows = append(b.rows, e.heapRow())
		}
	}
	for i := n - 1; i >= 0; i-- {
		b.places = append(b.places, i)
	}
	return b
}

func (b *batch) run(ctx context.Context) error {
	for len(b.waiting) > 0 || len(b.live) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := b.admit(ctx); err != nil {
			return err
		}
		if err := b.forward(ctx); err != nil {
			return err
		}
		if err := b.sampleAll(ctx); err != nil {
			return err
		}
		if b.opt.OnStep != nil {
			b.opt.OnStep(b.finished, b.tokens)
		}
	}
	return nil
}

// admit starts waiting jobs while there is room. The prompts they need are
// prefilled in one forward call.
func (b *batch) admit(ctx context.Context) error {
	n := min(len(b.waiting), len(b.places))
	if n == 0 {
		return nil
	}
	starting := b.waiting[:n]
	if err := b.prefill(ctx, starting); err != nil {
		return err
	}
	for _, job := range starting {
		t := b.trunks[b.keys[job]]
		s := &sample{job: job, history: append([]int32(nil), t.tokens...), prompt: len(t.tokens), scored: true,
			stream: seed.New(b.jobs[job].Seed, b.jobs[job].Prompt),
			text:   newTextStream(b.jobs[job].Stop), out: &b.samples[job]}
		b.e.seq++
		s.seq = b.e.seq
		fork := model.Edit{Op: model.Fork, Seq: t.seq, To: s.seq, Length: len(t.tokens)}
		if err := b.e.m.Edit(ctx, []model.Edit{fork}); err != nil {
			return err
		}
		s.place = b.places[len(b.places)-1]
		b.places = b.places[:len(b.places)-1]
		copy(b.rows[s.place].Values, t.row.Values)
		b.live = append(b.live, s)
		if t.left--; t.left == 0 {
			delete(b.trunks, b.keys[job])
			b.e.unpin(t.prefix)
		}
		if err := b.follow(ctx, s); err != nil {
			return err
		}
	}
	b.waiting = b.waiting[n:]
	return nil
}

// prefill evaluates the prompts of the given jobs that no trunk holds yet.
func (b *batch) prefill(ctx context.Context, jobs []int) error {
	var prompts [][]int32
	var fresh []*trunk
	var names []string
	for _, job := range jobs {
		prompt := b.keys[job]
		if b.trunks[prompt] != nil || slices.Contains(names, prompt) {
			continue
		}
		tokens, err := b.e.tokens(ctx, b.jobs[job])
		if err != nil {
			return err
		}
		t := &trunk{}
		for _, w := range b.waiting {
			if b.keys[w] == prompt {
				t.left++
			}
		}
		fresh, names, prompts = append(fresh, t), append(names, prompt), append(prompts, tokens)
	}
	prefixes, err := b.e.prefill(ctx, &b.usage, prompts...)
	if err != nil {
		return err
	}
	for i, t := range fresh {
		t.prefix = prefixes[i]
		b.trunks[names[i]] = t
	}
	return nil
}

// forward evaluates the last token of every live sample whose row is used up.
func (b *batch) forward(ctx context.Context) error {
	var inputs []model.Input
	var owners []*sample
	for _, s := range b.live {
		if s.scored {
			continue
		}
		end := len(s.history)
		inputs = append(inputs, model.Input{Seq: s.seq, Start: end - 1, Tokens: s.history[end-1:], Want: model.Last,
			Scores: b.rows[s.place : s.place+1 : s.place+1]})
		owners = append(owners, s)
	}
	if err := b.growPasses(ctx); err != nil {
		return err
	}
	if len(inputs) == 0 {
		return nil
	}
	if err := b.e.forward(ctx, &b.usage, inputs); err != nil {
		return err
	}
	for _, s := range owners {
		s.scored = true
	}
	return nil
}

// sampleAll runs each live sample's chain over its row and accepts the token.
// Samples with the same chain travel together.
func (b *batch) sampleAll(ctx context.Context) error {
	byChain := map[*chain.Chain][]*sample{}
	var order []*chain.Chain
	for _, s := range b.live {
		c := b.jobs[s.job].Chain
		if byChain[c] == nil {
			order = append(order, c)
		}
		byChain[c] = append(byChain[c], s)
	}
	for _, c := range order {
		members := byChain[c]
		rows := make([]*chain.Row, len(members))
		for i, s := range members {
			rows[i] = &chain.Row{Scores: b.rows[s.place], History: s.history, Prompt: s.prompt, Step: s.steps,
				Stream: s.stream, Sample: b.jobs[s.job].Sample, States: s.states, Passes: s.passRows()}
		}
		if err := c.Apply(ctx, rows, b.chainOpt); err != nil {
			return err
		}
		for i, s := range members {
			b.accept(s, rows[i])
		}
	}
	kept := b.live[:0]
	for _, s := range b.live {
		if s.out.Stop.Reason == trace.Interrupted {
			kept = append(kept, s)
			continue
		}
		b.places = append(b.places, s.place)
		b.e.free(s.seq)
		s.leave()
		b.finished++
	}
	b.live = kept
	return nil
}

// accept appends the chosen token to the sample and decides whether it ends.
func (b *batch) accept(s *sample, r *chain.Row) {
	s.scored = false
	s.states = r.States
	s.history = append(s.history, r.Chosen)
	for _, p := range s.passes {
		p.Append(r.Chosen)
	}
	s.out.Tokens = append(s.out.Tokens, r.Chosen)
	if b.opt.Ledger {
		s.out.Steps = append(s.out.Steps, b.record(s, r))
	}
	s.steps++
	b.tokens++
	job := b.jobs[s.job]
	stop := trace.Stop{Reason: trace.Interrupted}
	var show []byte
	if b.e.end[r.Chosen] {
		stop.Reason = trace.EndOfText
	} else {
		var match *stopMatch
		show, match = s.text.add(b.e.Piece(r.Chosen))
		switch {
		case match != nil:
			stop = trace.Stop{Reason: trace.StopString, String: match.text, Offset: match.offset}
		case s.steps >= job.MaxTokens:
			stop.Reason = trace.MaxTokens
		case len(s.history) > b.e.info.ContextLength:
			stop.Reason = trace.ContextFull
		}
	}
	if b.opt.OnText != nil && len(show) > 0 {
		b.opt.OnText(s.job, show)
	}
	if stop.Reason != trace.Interrupted {
		b.finish(s)
	}
	s.out.Stop = stop
}

// finish releases what the text stream held back and fixes the sample's text.
func (b *batch) finish(s *sample) {
	if rest := s.text.flush(); len(rest) > 0 && b.opt.OnText != nil {
		b.opt.OnText(s.job, rest)
	}
	s.out.Text = strings.ToValidUTF8(string(s.text.raw), "\uFFFD")
	if !utf8.Valid(s.text.raw) {
		s.out.Raw = append([]byte(nil), s.text.raw...)
	}
}

func (b *batch) record(s *sample, r *chain.Row) trace.Step {
	first, last := r.Ledger[0], r.Ledger[len(r.Ledger)-1]
	m := trace.NewSide(first.ProbBefore, first.RankBefore, first.EntropyBefore, first.SupportBefore)
	q := trace.NewSide(last.ProbAfter, last.RankAfter, last.EntropyAfter, last.SupportAfter)
	step := trace.Step{Step: s.steps, Token: r.Chosen, Piece: b.e.Piece(r.Chosen), Model: &m, Sampling: &q}
	for _, e := range r.Ledger {
		step.Stages = append(step.Stages, trace.NewStage(e.Stage, e.Plugin, e.Change))
	}
	if last.SupportAfter > 1 {
		b.loose[s.job] = true
	}
	return step
}

// result closes the texts of unfinished samples and collects the warnings.
func (b *batch) result() *Result {
	for _, s := range b.live {
		b.finish(s)
	}
	r := &Result{Samples: b.samples, Usage: b.usage}
	if b.opt.Ledger {
		r.Warnings = b.warnings()
	}
	return r
}

// warnings says when a seed could have made no difference although the chain
// draws (field report 11).
func (b *batch) warnings() []string {
	var out []string
	for i, s := range b.samples {
		selector := b.jobs[i].Chain.Stages[len(b.jobs[i].Chain.Stages)-1]
		if len(s.Steps) == 0 || b.loose[i] || selector.Declaration.Needs.Uniforms == 0 {
			continue
		}
		out = append(out, fmt.Sprintf("sample %d: the support was 1 in 100%% of %d steps: the seed has no effect under %q",
			s.Sample, len(s.Steps), b.jobs[i].Chain))
	}
	return out
}

// close frees every sequence that is left and gives the rows back.
func (b *batch) close() {
	if l, ok := b.e.m.(lender); ok {
		l.Release(b.rows)
	}
	var seqs []uint64
	for _, s := range b.live {
		seqs = append(seqs, s.seq)
	}
	b.e.free(seqs...)
	for _, t := range b.trunks {
		b.e.unpin(t.prefix)
	}
	for _, s := range b.live {
		s.leave()
	}
	for _, t := range b.passTrunks {
		t.drop()
	}
}
