package generate

import (
	"context"
	"fmt"
	"slices"

	"lab/core/chain"
	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/model"
	"lab/core/trace"
)

// Job is one sample to be generated.
type Job struct {
	Prompt []byte
	// Tokens are those of the prompt where its text does not tell them, as in a
	// conversation with control tokens; nil for those of Prompt.
	Tokens    []int32
	Chain     *chain.Chain
	Seed      uint64   // of the run
	Sample    uint64   // index of the sample; with Seed and Prompt it fixes every draw
	MaxTokens int      // at least 1
	Stop      []string // stop strings, none empty; they may span tokens
	Passes    []Pass   // further model passes, for chains that want them
}

// Options says how jobs are run and what is recorded.
type Options struct {
	Batch  int  // most samples in one forward call; 0 means 32
	Ledger bool // record both distributions and every stage at every step

	// Scores returns what is to be kept of the model's row at a step, in memory of
	// its own; nil keeps nothing. Its error is that of the sample.
	Scores func(row *dist.Scores) (dist.Scores, error)

	// OnText is called with text as it becomes showable, in order within a job.
	// OnStep is called after every step with the jobs finished and the tokens
	// generated so far. Both may be nil and run on the caller's goroutine.
	OnText func(job int, text []byte)
	OnStep func(finished, tokens int)
}

const defaultBatch = 32

// Result holds one sample per job, in the order of the jobs.
type Result struct {
	Samples  []trace.Sample
	Costs    []trace.Cost // what each of them took
	Usage    model.Usage
	Warnings []string
}

// Finished is a job that came to its end.
type Finished struct {
	Job     int // its number, in the order in which Next gave them, from 0
	Sample  trace.Sample
	Cost    trace.Cost    // its share of Usage
	Scores  []dist.Scores // what Options.Scores kept, by step
	Warning string        // what is odd about it, "" mostly
}

// Feed is where a stream of jobs comes from and where its samples go. Its
// functions are called one at a time on the caller's goroutine.
type Feed struct {
	// Next returns the next job, and false when there is none any more. Jobs that
	// differ in nothing but their chain share forward passes when they come one
	// after the other.
	Next func() (Job, bool)
	// Done takes the sample of a job. Its error ends the stream.
	Done func(Finished) error
	// Failed takes the error of a job that could not be begun or whose chain
	// failed; the others go on unless it returns an error. When it is nil the first
	// such error ends the stream.
	Failed func(job int, err error) error
	// Engines are those of the jobs' passes.
	Engines []*Engine

	ahead      int            // most jobs taken before there is room for them
	unfinished func(Finished) // nil: nobody wants them
}

// Stream generates the jobs of a feed, so many at a time as opt.Batch says, and
// starts one whenever another ends: memory does not grow with their number.
// Samples reach Done in the order in which they end; when ctx does, those under
// way are lost and the error is of kind Interrupted.
//
// Samples that stand at the same context share its forward pass and the memory
// of the model. Usage counts what was evaluated, so a sample's tokens may exceed
// it.
func (e *Engine) Stream(ctx context.Context, feed Feed, opt Options) (model.Usage, error) {
	if opt.Batch == 0 {
		opt.Batch = defaultBatch
	}
	if opt.Batch < 0 {
		return model.Usage{}, fault.New(fault.Usage, "generate", "batch", "batch = %d is below 1", opt.Batch)
	}
	if feed.ahead == 0 {
		feed.ahead = 2 * opt.Batch
	}
	defer e.lockWith(feed.Engines)()
	b := newBatch(e, feed, opt)
	defer b.close()
	err := b.run(ctx)
	if err != nil && ctx.Err() != nil {
		err = fault.New(fault.Interrupted, "generate", "", "stopped after %d tokens, %d samples finished: %v",
			b.tokens, b.finished, context.Cause(ctx))
	}
	return b.usage, err
}

// Run generates all jobs. When ctx ends, the samples so far are returned with
// an error of kind Interrupted; unfinished ones carry the stop reason
// "interrupted". On any other error the finished samples are returned with it.
func (e *Engine) Run(ctx context.Context, jobs []Job, opt Options) (*Result, error) {
	if opt.Batch == 0 {
		opt.Batch = defaultBatch
	}
	opt.Batch = min(opt.Batch, max(1, len(jobs)))
	r := &Result{Samples: make([]trace.Sample, len(jobs)), Costs: make([]trace.Cost, len(jobs))}
	for i, j := range jobs {
		r.Samples[i] = trace.Sample{Sample: j.Sample, Tokens: []int32{}, Stop: trace.Stop{Reason: trace.Interrupted}}
	}
	warnings := make([]string, len(jobs))
	keep := func(f Finished) { r.Samples[f.Job], r.Costs[f.Job], warnings[f.Job] = f.Sample, f.Cost, f.Warning }
	next := 0
	feed := Feed{Engines: passEngines(jobs), ahead: max(1, len(jobs)), unfinished: keep,
		Next: func() (Job, bool) {
			if next == len(jobs) {
				return Job{}, false
			}
			next++
			return jobs[next-1], true
		},
		Done: func(f Finished) error {
			keep(f)
			return nil
		}}
	var err error
	r.Usage, err = e.Stream(ctx, feed, opt)
	r.Warnings = slices.DeleteFunc(warnings, func(w string) bool { return w == "" })
	return r, err
}

// passEngines returns the engines of the passes of jobs.
func passEngines(jobs []Job) []*Engine {
	var out []*Engine
	for _, j := range jobs {
		for _, p := range j.Passes {
			if p.Engine != nil && !slices.Contains(out, p.Engine) {
				out = append(out, p.Engine)
			}
		}
	}
	return out
}

// check returns a usage error for a job that cannot be generated.
func (b *batch) check(w waiting) error {
	subject := fmt.Sprintf("job %d", w.number)
	foreign := func(p Pass) bool {
		return p.Engine != nil && p.Engine != b.e && !slices.Contains(b.feed.Engines, p.Engine)
	}
	switch {
	case w.Chain == nil:
		return fault.New(fault.Usage, "generate", subject, "it has no chain")
	case w.MaxTokens < 1:
		return fault.New(fault.Usage, "generate", subject, "max_tokens = %d is below 1", w.MaxTokens)
	case w.Tokens != nil && slices.ContainsFunc(w.Passes, func(p Pass) bool { return len(p.Prompt) == 0 }):
		return fault.New(fault.Usage, "generate", subject, "a further pass is to see the prompt, which is a conversation in the form of one model").
			Fix("give the pass a prompt of its own")
	case w.Sample > maxSample:
		return fault.New(fault.Usage, "generate", subject, "sample %d is above %d", w.Sample, uint64(maxSample))
	case slices.ContainsFunc(w.Passes, foreign):
		return fault.New(fault.Internal, "generate", subject, "the model of a pass is not among the engines of the feed")
	case slices.Contains(w.Stop, ""):
		return fault.New(fault.Usage, "generate", subject, "a stop string is empty").Fix("leave it out")
	}
	if c := b.checked; c != nil && w.Chain == c.Chain && samePasses(w.Passes, c.Passes) {
		return nil // comparing vocabularies takes a while
	}
	if err := b.e.CheckPasses(w.Chain, w.Passes); err != nil {
		return err
	}
	b.checked = &w.Job
	return nil
}

// maxSample is the largest sample index the streams of core/seed tell apart.
const maxSample = 1<<32 - 2
