package sweep

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/generate"
	"lab/core/plugin/model"
	"lab/core/store"
)

// Keeper keeps records. Its methods are called one at a time.
type Keeper interface {
	Has(cell, sample int) bool // a record is kept, of a failure too
	Put(store.Record) error
}

// Options say how a plan is run.
type Options struct {
	Batch int // most samples in one forward call; 0: as many as 32 MiB of rows hold, 32 to 1,024

	// FailFast ends the run at the first cell that fails; otherwise its failure is
	// kept and the others go on.
	FailFast bool

	// Mine says which cells to run, nil for all of them.
	Mine func(cell int) bool

	// Stopping is asked before a sample is begun: once it is true, those under way
	// are finished and no others begun. May be nil.
	Stopping func() bool

	// Watch is told before the work how many samples are missing, and returns what is
	// called as it goes on, with those of them that are there and the tokens generated.
	// May be nil.
	Watch func(missing int) (step func(finished, tokens int))
}

// Summary is what a run did.
type Summary struct {
	Finished int // samples generated now, failures not counted
	Failed   int // samples that failed now
	Kept     int // samples that were kept before
	Left     int // samples that were not begun, since it was stopping
	Tokens   int
	Usage    model.Usage
	Warnings []string // what is odd about samples, at most a few of each kind
}

// Total returns how many samples of the plan a run is to have.
func (p *Plan) Total(opt Options) int {
	n := 0
	for i := range p.Cells {
		if opt.Mine == nil || opt.Mine(i) {
			n += p.Samples
		}
	}
	return n
}

// Run generates every sample that the keeper does not have. Cells of one model
// advance together; those that differ in their chain only share forward passes for
// as long as their tokens agree. What a sample is does not depend on the others,
// on the order or on earlier runs. When ctx ends, samples under way are lost and
// the error is of kind Interrupted; an error of the keeper ends the run as well.
func (p *Plan) Run(ctx context.Context, keep Keeper, opt Options) (Summary, error) {
	r := &running{plan: p, keep: keep, opt: opt}
	if opt.Watch != nil {
		r.onStep = opt.Watch(r.missing())
	}
	for _, m := range p.models() {
		if err := r.sampled(ctx, m); err != nil {
			return r.sum, err
		}
		if err := r.searched(ctx, m); err != nil {
			return r.sum, err
		}
	}
	return r.sum, nil
}

// missing counts the samples that are wanted and not kept.
func (r *running) missing() int {
	n := r.plan.Total(r.opt)
	for cell := range r.plan.Cells {
		if r.opt.Mine != nil && !r.opt.Mine(cell) {
			continue
		}
		for sample := range r.plan.Samples {
			if r.keep.Has(cell, sample) {
				n--
			}
		}
	}
	return n
}

// models returns the references of the models in the order of the cells.
func (p *Plan) models() []string {
	var out []string
	for _, c := range p.Cells {
		if !slices.Contains(out, c.Model) {
			out = append(out, c.Model)
		}
	}
	return out
}

// running is a plan under way.
type running struct {
	plan *Plan
	keep Keeper
	opt  Options
	sum  Summary
	odd  map[int]bool // cells whose oddness was said

	onStep func(finished, tokens int) // may be nil
}

// work is one sample to be generated.
type work struct{ cell, sample int }

// pending calls visit with the work that is left, of the cells of a model that do
// or do not search, until it returns false. Cells that differ in their chain alone
// come together, sample by sample, so that they can share forward passes.
func (r *running) pending(ref string, searching bool, visit func(work) bool) {
	type context struct {
		prompt string
		seed   uint64
	}
	var order []context
	groups := map[context][]int{}
	for i, c := range r.plan.Cells {
		if c.Model != ref || (c.strategy != nil) != searching || r.opt.Mine != nil && !r.opt.Mine(i) {
			continue
		}
		k := context{c.Prompt, c.Seed}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], i)
	}
	for _, k := range order {
		for sample := range r.plan.Samples {
			for _, cell := range groups[k] {
				if !visit(work{cell, sample}) {
					return
				}
			}
		}
	}
}

// sampled generates the cells of a model that sample token by token.
func (r *running) sampled(ctx context.Context, ref string) error {
	next, stop := iter.Pull(func(yield func(work) bool) { r.pending(ref, false, yield) })
	defer stop()
	first, ok := r.next(next)
	if !ok {
		return nil
	}
	engine := r.plan.Cells[first.cell].engine
	under := map[int]work{} // jobs that were begun, by number
	given := 0
	feed := generate.Feed{
		Next: func() (generate.Job, bool) {
			w := first
			if given > 0 {
				if w, ok = r.next(next); !ok {
					return generate.Job{}, false
				}
			}
			under[given] = w
			given++
			c := &r.plan.Cells[w.cell]
			return generate.Job{Prompt: []byte(c.Prompt), Chain: c.Chain, Seed: c.Seed, Sample: uint64(w.sample), MaxTokens: c.MaxTokens, Stop: c.Stop}, true
		},
		Done: func(f generate.Finished) error {
			w := under[f.Job]
			delete(under, f.Job)
			r.warn(w, f.Warning)
			r.sum.Finished++
			return r.keep.Put(store.Record{Cell: w.cell, Sample: w.sample, PromptTokens: r.plan.Cells[w.cell].promptTokens, Trace: f.Sample, Cost: &f.Cost, Scores: f.Scores})
		},
		Failed: func(job int, err error) error {
			w := under[job]
			delete(under, job)
			return r.fail(w, err)
		},
	}
	base := r.sum
	keep, err := r.plan.Spec.Recording()
	if err != nil {
		return err
	}
	var scores func(*dist.Scores) (dist.Scores, error)
	if keep.Any() {
		scores = keep.Row
	}
	usage, err := engine.Stream(ctx, feed, generate.Options{Batch: r.batch(engine.Info().VocabSize), Ledger: r.plan.Spec.Ledger(), Scores: scores,
		OnStep: func(_, tokens int) {
			r.sum.Tokens = base.Tokens + tokens
			r.step()
		}})
	r.sum.Usage = r.sum.Usage.Add(usage)
	if !r.survives(ctx, err) {
		return err
	}
	if err == nil {
		return nil
	}
	for _, job := range slices.Sorted(maps.Keys(under)) { // the model died: what it had begun fails, and what it was to begin
		if err := r.fail(under[job], err); err != nil {
			return err
		}
	}
	for w, ok := r.next(next); ok; w, ok = r.next(next) {
		if err := r.fail(w, err); err != nil {
			return err
		}
	}
	return nil
}

// survives reports whether the run goes on after an error of a model's stream:
// when it is the model's or a plugin's, nobody wanted to stop, and it is not asked
// to end at the first failure.
func (r *running) survives(ctx context.Context, err error) bool {
	if err == nil {
		return true
	}
	k := fault.KindOf(err)
	return ctx.Err() == nil && !r.opt.FailFast && (k == fault.Model || k == fault.Plugin)
}

// next returns the next work that is wanted, false when there is none.
func (r *running) next(pull func() (work, bool)) (work, bool) {
	for {
		if w, ok := pull(); !ok || r.wanted(w) {
			return w, ok
		}
	}
}

// wanted reports whether work is to be done: it is not kept, and the run is not
// stopping.
func (r *running) wanted(w work) bool {
	switch {
	case r.keep.Has(w.cell, w.sample):
		r.sum.Kept++
	case r.opt.Stopping != nil && r.opt.Stopping():
		r.sum.Left++
	default:
		return true
	}
	return false
}

// fail keeps a failure, or ends the run with it when that is wanted.
func (r *running) fail(w work, err error) error {
	c := &r.plan.Cells[w.cell]
	if fault.KindOf(err) == fault.Interrupted { // of a function of a script, say: no fault of the sample's
		return err
	}
	if r.opt.FailFast {
		return fault.Wrap(err, fault.KindOf(err), op, fmt.Sprintf("%s, sample %d", c.name(r.plan.Axes), w.sample))
	}
	r.sum.Failed++
	return r.keep.Put(store.Record{Cell: w.cell, Sample: w.sample, PromptTokens: c.promptTokens, Failure: err.Error()})
}

// warn notes what is odd about a sample, once for each cell and at most so often.
func (r *running) warn(w work, text string) {
	const most = 10
	if text == "" || r.odd[w.cell] || len(r.odd) > most {
		return
	}
	if r.odd == nil {
		r.odd = map[int]bool{}
	}
	r.odd[w.cell] = true
	if len(r.odd) > most {
		r.sum.Warnings = append(r.sum.Warnings, "more cells have such samples")
		return
	}
	r.sum.Warnings = append(r.sum.Warnings, r.plan.Cells[w.cell].name(r.plan.Axes)+": "+text)
}

func (r *running) step() {
	if r.onStep != nil {
		r.onStep(r.sum.Finished+r.sum.Failed, r.sum.Tokens)
	}
}

// batch returns how many samples advance together: as many as rows of the
// vocabulary fit into 32 MiB, where larger batches win nothing and smaller ones
// read the weights more often than they must.
func (r *running) batch(vocab int) int {
	const rows = 32 << 20
	if r.opt.Batch > 0 {
		return r.opt.Batch
	}
	return min(max(rows/(4*vocab), 32), 1024)
}
