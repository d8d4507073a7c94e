package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/host"
	"lab/core/plugin/model"
)

// ThroughputOptions say what is measured of every model.
type ThroughputOptions struct {
	Prompt   int   // tokens of a prompt that is read at once; 0: none is
	Generate int   // tokens that every sequence is extended by, one at a time; 0: none
	Batch    []int // sequences that are extended together
	Repeat   int   // rounds that count; one more goes before them
	Fork     int   // forks made of a prompt of ForkPrompt tokens; 0: none
	// ForkPrompt is cut to what the context holds; [Throughput] has what it was.
	ForkPrompt int

	// Between is called once in every round, before the models, for what is
	// measured beside them; nil: nothing is.
	Between func(counts bool)
	// Draw chooses the next token of every sequence from rows that it may change;
	// nil: the tokens are random, or those that the model wrote before.
	Draw func(ctx context.Context, m *host.Model, step int, rows []dist.Scores, histories [][]int32) ([]int32, error)
	// Progress is told how many measurements are done and which comes next.
	Progress func(done, total int, next string)
}

// Throughput is how fast one model does one thing. Seconds are of a whole test
// as the caller sees it, through the plugin, scores included, one of every round.
type Throughput struct {
	Model  string
	Test   string // pp: a prompt at once, tg: token by token, fork
	Batch  int    // sequences; of a fork, copies made
	Tokens int    // of each sequence; of a fork, those that are copied
	// Rounds that count. Usage is what the backend counted in the last of them.
	Seconds []float64
	Usage   model.Usage
	// Steps are the seconds of every step of the rounds that count, in order; of
	// tests that generate only.
	Steps []float64
	// Prefill are the seconds that reading the forked prompt took; of forks only.
	Prefill []float64
}

// Name is what llama-bench calls the test: pp512, tg64.
func (t *Throughput) Name() string {
	if t.Test == "fork" {
		return "fork"
	}
	return fmt.Sprintf("%s%d", t.Test, t.Tokens)
}

// PerSecond returns tokens a second, of all sequences, in a test that took so
// many seconds.
func (t *Throughput) PerSecond(seconds float64) float64 {
	return float64(t.Batch*t.Tokens) / seconds
}

// Measure measures models in rounds that take every test of every model in turn,
// so that a busy moment spoils all alike. The first round warms up and does not
// count. A model that refuses random tokens is measured with a text that it wrote
// itself. What was measured is returned with an error, too.
func Measure(ctx context.Context, subjects []Subject, opt ThroughputOptions) ([]Throughput, error) {
	var tests []*throughput
	for _, s := range subjects {
		more, err := newThroughputs(ctx, s, opt)
		if err != nil {
			return nil, fault.Wrap(err, fault.Plugin, "bench", s.Label)
		}
		tests = append(tests, more...)
	}
	collect := func() []Throughput {
		out := make([]Throughput, len(tests))
		for i, t := range tests {
			out[i] = t.Throughput
		}
		return out
	}
	total := (1 + opt.Repeat) * len(tests)
	for round := range 1 + opt.Repeat {
		if opt.Between != nil {
			opt.Between(round > 0)
		}
		for i, t := range tests {
			if opt.Progress != nil {
				opt.Progress(round*len(tests)+i, total, fmt.Sprintf("%s of %s, batch %d", t.Name(), t.Model, t.Batch))
			}
			if err := t.run(ctx, round > 0); err != nil {
				if ctx.Err() != nil {
					err = fault.New(fault.Interrupted, "bench", "", "stopped after %d of %d measurements: %v", round*len(tests)+i, total, context.Cause(ctx))
					return collect(), err
				}
				return collect(), fault.Wrap(err, fault.Plugin, "bench", fmt.Sprintf("%s of %s, batch %d", t.Name(), t.Model, t.Batch))
			}
		}
	}
	return collect(), nil
}

// throughput is one test of one model.
type throughput struct {
	Throughput
	m     *host.Model
	opt   *ThroughputOptions
	first int32 // token that every sequence begins with
	text  []int32
	seq   *uint64
	rng   *rand.Rand
}

// firstSequence keeps the tests' sequences apart from those that wrote a text.
const firstSequence = 1 << 40

func newThroughputs(ctx context.Context, s Subject, opt ThroughputOptions) ([]*throughput, error) {
	info := s.Model.Info()
	need := max(opt.Prompt, opt.Generate+1)
	if need > info.ContextLength {
		return nil, fault.New(fault.Usage, "", "", "%d tokens exceed its context of %d", need, info.ContextLength).
			Fix("measure a shorter --prompt or --generate")
	}
	forked := min(opt.ForkPrompt, info.ContextLength-1)
	text, first, err := textFor(ctx, s, max(need, forked))
	if err != nil {
		return nil, err
	}
	if text != nil { // it may have ended early
		forked = min(forked, len(text))
		opt.Prompt, opt.Generate = min(opt.Prompt, len(text)), min(opt.Generate, len(text)-1)
	}
	seq := uint64(firstSequence)
	var out []*throughput
	add := func(test string, batch, tokens int) {
		if batch < 1 || tokens < 1 {
			return
		}
		out = append(out, &throughput{Throughput: Throughput{Model: s.Label, Test: test, Batch: batch, Tokens: tokens},
			m: s.Model, opt: &opt, first: first, text: text, seq: &seq, rng: rand.New(rand.NewPCG(1, uint64(info.VocabSize)))})
	}
	add("pp", 1, opt.Prompt)
	for _, b := range opt.Batch {
		if b*info.VocabSize > maxScores {
			return nil, fault.New(fault.Usage, "", "", "a batch of %d rows of %d tokens is more than %d scores", b, info.VocabSize, maxScores)
		}
		add("tg", b, opt.Generate)
	}
	add("fork", opt.Fork, forked)
	return out, nil
}

// textFor returns nil when the model accepts random tokens, else a text that it
// wrote, of at most so many tokens, and the token that sequences begin with.
func textFor(ctx context.Context, s Subject, tokens int) (text []int32, first int32, err error) {
	t := &throughput{m: s.Model, seq: new(uint64), rng: rand.New(rand.NewPCG(2, 1))}
	*t.seq = firstSequence << 1
	info := s.Model.Info()
	if first = info.Begin; first < 0 {
		first = t.random(1)[0]
	}
	probe := append([]int32{first}, t.random(min(8, info.ContextLength-1))...)
	err = t.m.Edit(ctx, nil)
	if err == nil {
		_, err = t.m.Forward(ctx, []model.Input{{Seq: *t.seq, Tokens: probe}})
	}
	if err == nil {
		return nil, first, t.free(ctx, *t.seq)
	}
	if fault.KindOf(err) != fault.Model {
		return nil, 0, err
	}
	b := &modelBench{label: s.Label, m: s.Model, opt: Options{Prefill: tokens}}
	if err := b.write(ctx); err != nil {
		return nil, 0, err
	}
	if len(b.context) < 2 {
		return nil, 0, fault.New(fault.Model, "", "", "it refuses random tokens, and the text it wrote is %d token long", len(b.context))
	}
	return b.context, b.context[0], nil
}

// random returns tokens with a text of their own.
func (t *throughput) random(n int) []int32 {
	info := t.m.Info()
	out := make([]int32, n)
	for i := range out {
		for try := 0; ; try++ {
			out[i] = int32(t.rng.IntN(info.VocabSize))
			if _, control := slices.BinarySearch(info.Control, out[i]); !control || try == 64 {
				break
			}
		}
	}
	return out
}

// prompt returns the tokens of a prompt.
func (t *throughput) prompt(n int) []int32 {
	if t.text != nil {
		return t.text[:n]
	}
	return append([]int32{t.first}, t.random(n-1)...)
}

func (t *throughput) next() uint64 { *t.seq++; return *t.seq }

func (t *throughput) free(ctx context.Context, seqs ...uint64) error {
	edits := make([]model.Edit, len(seqs))
	for i, s := range seqs {
		edits[i] = model.Edit{Op: model.Free, Seq: s}
	}
	return t.m.Edit(ctx, edits)
}

// run makes the test once.
func (t *throughput) run(ctx context.Context, counts bool) error {
	var seconds, prefill float64
	var err error
	before := t.Usage
	t.Usage = model.Usage{}
	defer func() {
		if err != nil { // what is told is of a round that ended
			t.Usage = before
		}
	}()
	switch t.Test {
	case "pp":
		seconds, err = t.read(ctx, t.next(), true)
	case "tg":
		var steps []float64
		if steps, seconds, err = t.extend(ctx); err == nil && counts {
			t.Steps = append(t.Steps, steps...)
		}
	default:
		prefill, seconds, err = t.fork(ctx)
	}
	if err == nil && counts {
		t.Seconds = append(t.Seconds, seconds)
		if t.Test == "fork" {
			t.Prefill = append(t.Prefill, prefill)
		}
	}
	return err
}

// read reads a prompt at once, with the scores after its last token.
func (t *throughput) read(ctx context.Context, seq uint64, free bool) (seconds float64, err error) {
	rows := t.m.Rows(1)
	defer t.m.Release(slices.Clone(rows))
	in := []model.Input{{Seq: seq, Tokens: t.prompt(t.Tokens), Want: model.Last, Scores: slices.Clone(rows)}}
	start := time.Now()
	u, err := t.m.Forward(ctx, in)
	seconds = time.Since(start).Seconds()
	t.Usage = t.Usage.Add(u)
	if err == nil && free {
		err = t.free(ctx, seq)
	}
	return seconds, err
}

// extend extends a batch of sequences of one token, token by token.
func (t *throughput) extend(ctx context.Context) (steps []float64, seconds float64, err error) {
	rows := t.m.Rows(t.Batch)
	defer t.m.Release(rows)
	seqs, begin := make([]uint64, t.Batch), make([]model.Input, t.Batch)
	histories := make([][]int32, t.Batch)
	for i := range seqs {
		seqs[i] = t.next()
		histories[i] = []int32{t.first}
		begin[i] = model.Input{Seq: seqs[i], Tokens: []int32{t.first}, Want: model.Last, Scores: []dist.Scores{rows[i]}}
	}
	defer func() {
		if freeErr := t.free(context.WithoutCancel(ctx), seqs...); err == nil {
			err = freeErr
		}
	}()
	if _, err := t.m.Forward(ctx, begin); err != nil {
		return nil, 0, err
	}
	tokens := t.random(t.Batch * t.Tokens)
	start := time.Now()
	last := start
	for step := range t.Tokens {
		next := tokens[step*t.Batch:][:t.Batch]
		switch {
		case t.text != nil:
			for i := range next {
				next[i] = t.text[step+1]
			}
		case t.opt.Draw != nil:
			drawn := make([]dist.Scores, t.Batch)
			for i := range begin {
				drawn[i] = begin[i].Scores[0]
			}
			if next, err = t.opt.Draw(ctx, t.m, step, drawn, histories); err != nil {
				return nil, 0, err
			}
		}
		for i := range begin {
			begin[i] = model.Input{Seq: seqs[i], Start: step + 1, Tokens: next[i : i+1], Want: model.Last, Scores: []dist.Scores{rows[i]}}
			histories[i] = append(histories[i], next[i])
		}
		u, err := t.m.Forward(ctx, begin)
		if err != nil {
			return nil, 0, err
		}
		t.Usage = t.Usage.Add(u)
		now := time.Now()
		steps, last = append(steps, now.Sub(last).Seconds()), now
	}
	return steps, last.Sub(start).Seconds(), nil
}

// fork reads a prompt and makes copies of its sequence.
func (t *throughput) fork(ctx context.Context) (prefill, seconds float64, err error) {
	seq := t.next()
	if prefill, err = t.read(ctx, seq, false); err != nil {
		return 0, 0, err
	}
	edits, seqs := make([]model.Edit, t.Batch), []uint64{seq}
	for i := range edits {
		edits[i] = model.Edit{Op: model.Fork, Seq: seq, To: t.next(), Length: t.Tokens}
		seqs = append(seqs, edits[i].To)
	}
	start := time.Now()
	if err := t.m.Edit(ctx, edits); err != nil {
		return 0, 0, err
	}
	seconds = time.Since(start).Seconds()
	return prefill, seconds, t.free(ctx, seqs...)
}
