package generate

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"lab/core/chain"
	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/model"
	"lab/core/seed"
	"lab/core/trace"
)

// batch is a stream of jobs under way: jobs waiting, trunks that hold a
// prefilled prompt, live samples, and the contexts they stand at.
type batch struct {
	e     *Engine
	opt   Options
	feed  Feed
	ahead int // most jobs waiting

	chainOpt chain.Options

	pulled  int  // jobs taken from the feed
	drained bool // the feed has no more
	waiting []waiting
	trunks  map[string]*trunk // by prompt
	live    []*sample
	nodes   []*node
	rows    []dist.Scores // one per place in the batch
	places  []int         // free indices into rows

	passTrunks map[passTrunk]*Branch

	usage    model.Usage
	finished int
	tokens   int
	checked  *Job // the last one whose passes were found right
}

// waiting is a job that has not started.
type waiting struct {
	Job
	number int
	key    string // of its prompt
}

// trunk is the prompt of jobs under way.
type trunk struct {
	*prefix
	left int // waiting jobs of this prompt
}

// sample is one live job.
type sample struct {
	waiting
	place   int
	history []int32
	prompt  int
	drew    bool // this step
	ended   bool // out is final
	failed  bool // it came to nothing, and that was said
	alone   bool // its chain failed in company and is to be applied to it alone
	stream  seed.Stream
	states  [][]byte
	text    *textStream
	out     trace.Sample
	raw     dist.Scores // what is kept of the model's row at this step
	scores  []dist.Scores
	steps   int
	loose   bool      // the seed could have changed a step
	passes  []*Branch // further model passes
	cost    trace.Cost
	calls   int // of one token, that it took part in
}

func newBatch(e *Engine, feed Feed, opt Options) *batch {
	b := &batch{e: e, opt: opt, feed: feed, ahead: feed.ahead, trunks: map[string]*trunk{},
		chainOpt: chain.Options{Ledger: opt.Ledger, EndOfText: e.info.EndOfText, Vocabulary: e.VocabularyKey()}}
	if l, ok := e.m.(lender); ok {
		b.rows = l.Rows(opt.Batch)
	} else {
		for range opt.Batch {
			b.rows = append(b.rows, e.heapRow())
		}
	}
	for i := opt.Batch - 1; i >= 0; i-- {
		b.places = append(b.places, i)
	}
	return b
}

func (b *batch) run(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := b.admit(ctx); err != nil {
			return err
		}
		if len(b.live) == 0 {
			if b.drained && len(b.waiting) == 0 {
				return nil
			}
			continue // every job that was admitted failed at once
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
}

// pull takes jobs from the feed until enough are waiting.
func (b *batch) pull() error {
	for !b.drained && len(b.waiting) < b.ahead {
		job, ok := b.feed.Next()
		if !ok {
			b.drained = true
			return nil
		}
		w := waiting{Job: job, number: b.pulled, key: job.key()}
		b.pulled++
		if err := b.check(w); err != nil {
			if err := b.fail(w.number, err); err != nil {
				return err
			}
			continue
		}
		b.waiting = append(b.waiting, w)
	}
	return nil
}

// fail reports a job that came to nothing; without anybody to report it to, its
// error ends the stream.
func (b *batch) fail(number int, err error) error {
	b.finished++
	if b.feed.Failed == nil {
		return err
	}
	return b.feed.Failed(number, err)
}

// admit starts waiting jobs while there is room. The prompts they need are
// prefilled in one forward call, and those of one prompt stand at one context.
func (b *batch) admit(ctx context.Context) error {
	if err := b.pull(); err != nil {
		return err
	}
	n := min(len(b.waiting), len(b.places))
	if n == 0 {
		return nil
	}
	starting := b.waiting[:n]
	b.waiting = b.waiting[n:]
	var took model.Usage
	failed, evaluated, err := b.prefill(ctx, &took, starting)
	if err != nil {
		b.usage = b.usage.Add(took)
		return err
	}
	var started []*sample
	for _, w := range starting {
		if err := failed[w.key]; err != nil {
			if err := b.fail(w.number, err); err != nil {
				return err
			}
			continue
		}
		t := b.trunks[w.key]
		s := &sample{waiting: w, history: slices.Clone(t.tokens), prompt: len(t.tokens),
			stream: seed.New(w.Seed, w.Prompt), text: newTextStream(w.Stop), place: b.places[len(b.places)-1],
			out: trace.Sample{Sample: w.Sample, Tokens: []int32{}, Stop: trace.Stop{Reason: trace.Interrupted}}}
		b.places = b.places[:len(b.places)-1]
		assign(&b.rows[s.place], t.row)
		b.live = append(b.live, s)
		started = append(started, s)
	}
	b.payPrompts(took, evaluated, started)
	for _, s := range started {
		if err := b.follow(ctx, s); err != nil {
			return err
		}
	}
	if err := b.stand(ctx, started); err != nil {
		return err
	}
	for _, w := range starting {
		if t := b.trunks[w.key]; t != nil {
			if t.left--; t.left == 0 {
				delete(b.trunks, w.key)
				b.e.unpin(t.prefix)
			}
		}
	}
	return nil
}

// prefill evaluates the prompts of the given jobs that no trunk holds yet, and
// returns why those that cannot be evaluated cannot, and how many tokens of the
// others were.
func (b *batch) prefill(ctx context.Context, usage *model.Usage, jobs []waiting) (failed map[string]error, evaluated map[*trunk]int, err error) {
	var prompts [][]int32
	var fresh []*trunk
	var names []string
	failed = map[string]error{}
	for _, w := range jobs {
		if b.trunks[w.key] != nil || failed[w.key] != nil || slices.Contains(names, w.key) {
			continue
		}
		tokens, err := b.e.tokens(ctx, w.Job)
		if err != nil {
			if k := fault.KindOf(err); k != fault.Usage && k != fault.Limit {
				return nil, nil, err
			}
			failed[w.key] = err // of this prompt alone
			continue
		}
		t := &trunk{}
		for _, o := range slices.Concat(jobs, b.waiting) {
			if o.key == w.key {
				t.left++
			}
		}
		fresh, names, prompts = append(fresh, t), append(names, w.key), append(prompts, tokens)
	}
	prefixes, tokens, err := b.e.prefill(ctx, usage, prompts...)
	if err != nil {
		return nil, nil, err
	}
	evaluated = map[*trunk]int{}
	for i, t := range fresh {
		t.prefix = prefixes[i]
		b.trunks[names[i]] = t
		evaluated[t] = tokens[i]
	}
	return failed, evaluated, nil
}

// sampleAll runs each live sample's chain over its row and accepts the token.
// Samples with the same chain travel together.
func (b *batch) sampleAll(ctx context.Context) error {
	for _, s := range b.live {
		s.drew = false
	}
	if err := b.keepScores(); err != nil {
		return err
	}
	for _, members := range b.byChain() {
		rows := make([]*chain.Row, len(members))
		for i, s := range members {
			rows[i] = &chain.Row{Scores: b.rows[s.place], History: s.history, Prompt: s.prompt, Step: s.steps,
				Stream: s.stream, Sample: s.Sample, States: s.states, Passes: s.passRows()}
		}
		err := members[0].Chain.Apply(ctx, rows, b.chainOpt)
		switch {
		case err == nil:
			for i, s := range members {
				b.accept(s, rows[i])
			}
		case ctx.Err() != nil || b.feed.Failed == nil:
			return err
		case len(members) > 1: // whose fault it is shows when each is alone
			for _, s := range members {
				s.alone = true
			}
		default:
			members[0].failed = true
			if err := b.fail(members[0].number, err); err != nil {
				return err
			}
		}
	}
	return b.move(ctx)
}

// keepScores keeps what is wanted of the rows that the model gave, before stages
// change them.
func (b *batch) keepScores() error {
	if b.opt.Scores == nil {
		return nil
	}
	for _, s := range b.live {
		row, err := b.opt.Scores(&b.rows[s.place])
		if err != nil {
			s.failed = true
			if err := b.fail(s.number, err); err != nil {
				return err
			}
		}
		s.raw = row
	}
	return nil
}

// byChain returns the live samples that travel together.
func (b *batch) byChain() [][]*sample {
	var out [][]*sample
	at := map[*chain.Chain]int{}
	for _, s := range b.live {
		if s.failed {
			continue
		}
		if s.alone {
			out = append(out, []*sample{s})
			continue
		}
		i, ok := at[s.Chain]
		if !ok {
			i = len(out)
			at[s.Chain] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], s)
	}
	return out
}

// accept appends the chosen token to the sample and decides whether it ends.
func (b *batch) accept(s *sample, r *chain.Row) {
	s.drew, s.alone = true, false
	s.states = r.States
	s.history = append(s.history, r.Chosen)
	for _, p := range s.passes {
		p.Append(r.Chosen)
	}
	s.out.Tokens = append(s.out.Tokens, r.Chosen)
	if b.opt.Ledger {
		s.record(r, b.e.Piece(r.Chosen))
	}
	if b.opt.Scores != nil {
		s.scores = append(s.scores, s.raw)
	}
	s.steps++
	b.tokens++
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
		case s.steps >= s.MaxTokens:
			stop.Reason = trace.MaxTokens
		case len(s.history) > b.e.info.ContextLength:
			stop.Reason = trace.ContextFull
		}
	}
	if b.opt.OnText != nil && len(show) > 0 {
		b.opt.OnText(s.number, show)
	}
	if s.ended = stop.Reason != trace.Interrupted; s.ended {
		b.finish(s)
	}
	s.out.Stop = stop
}

// finish releases what the text stream held back and fixes the sample's text.
func (b *batch) finish(s *sample) {
	if rest := s.text.flush(); len(rest) > 0 && b.opt.OnText != nil {
		b.opt.OnText(s.number, rest)
	}
	s.out.Text = strings.ToValidUTF8(string(s.text.raw), "\uFFFD")
	if !utf8.Valid(s.text.raw) {
		s.out.Raw = slices.Clone(s.text.raw)
	}
}

// close reports the unfinished samples, frees every sequence that is left and
// gives the rows back.
func (b *batch) close() {
	for _, s := range b.live {
		if b.feed.unfinished != nil && !s.failed {
			if !s.ended {
				b.finish(s)
			}
			b.feed.unfinished(Finished{Job: s.number, Sample: s.out, Cost: s.cost, Scores: s.scores, Warning: s.warning()})
		}
		s.leave()
	}
	if l, ok := b.e.m.(lender); ok {
		l.Release(b.rows)
	}
	var seqs []uint64
	for _, n := range b.nodes {
		seqs = append(seqs, n.seq)
	}
	b.e.free(seqs...)
	for _, t := range b.trunks {
		b.e.unpin(t.prefix)
	}
	for _, t := range b.passTrunks {
		t.drop()
	}
}
