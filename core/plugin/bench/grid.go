package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/model"
)

// GridOptions say at which contexts and batches a model is measured.
type GridOptions struct {
	Context []int // tokens that a sequence holds before a step, and that a prompt has
	Batch   []int // sequences that a step extends together
	Steps   int   // steps of a visit; 0: 16
	Repeat  int   // rounds that count, of one visit to every point; 0: 5. One more goes before them
	Seed    uint64
	// Progress is told how many visits are done and which comes next.
	Progress func(done, total int, next string)
}

// Point is what was measured at one context and batch.
type Point struct {
	Phase   Phase
	Context int // tokens held before the step; of a prefill, tokens that are read
	Batch   int
	// Seconds are of one call as the caller sees it, through the plugin and scores
	// included, one of every round: of a decode the median of the round's steps.
	// Backend are the seconds that the backend itself counted, of the same calls.
	Seconds, Backend []float64
	// Usage is what the backend counted in one call, the mean of a visit's steps;
	// Empty is a step of the same batch whose sequences hold nothing yet, so that
	// the difference is what the context costs. They are the same in every round.
	Usage, Empty Counts
}

// Counts are what a backend counted in a call.
type Counts struct{ FLOPs, BytesMoved, CacheBytes float64 }

func (c Counts) add(u model.Usage, of int) Counts {
	n := float64(of)
	return Counts{c.FLOPs + float64(u.FLOPs)/n, c.BytesMoved + float64(u.BytesMoved)/n, max(c.CacheBytes, float64(u.CacheBytes))}
}

// Limits of a grid.
const (
	mostPoints = 1024
	mostSteps  = 1 << 12
)

// Check refuses what cannot be measured of any model, and fills in what was not
// given. Lists are sorted and lose what stands in them twice.
func (o GridOptions) Check() (GridOptions, error) {
	bad := func(format string, args ...any) (GridOptions, error) {
		return o, fault.New(fault.Usage, "bench", "", format, args...)
	}
	if o.Steps == 0 {
		o.Steps = 16
	}
	if o.Repeat == 0 {
		o.Repeat = 5
	}
	list := func(x []int) []int { return slices.Compact(slices.Sorted(slices.Values(x))) }
	o.Context, o.Batch = list(o.Context), list(o.Batch)
	switch {
	case len(o.Context) == 0 || len(o.Batch) == 0:
		return bad("the list of contexts or of batches is empty")
	case o.Context[0] < 0 || o.Context[len(o.Context)-1] > 1<<24:
		return bad("a context of %d tokens is outside 0 to %d", cmpOut(o.Context, 0), 1<<24)
	case o.Batch[0] < 1 || o.Batch[len(o.Batch)-1] > maxBatch:
		return bad("a batch of %d is outside 1 to %d", cmpOut(o.Batch, 1), maxBatch)
	case o.Steps < 1 || o.Steps > mostSteps:
		return bad("%d steps are outside 1 to %d", o.Steps, mostSteps)
	case o.Repeat < 1 || o.Repeat > 1000:
		return bad("%d rounds are outside 1 to 1000", o.Repeat)
	case len(o.Context)*(len(o.Batch)+1) > mostPoints:
		return bad("%d contexts and %d batches are more than %d points", len(o.Context), len(o.Batch), mostPoints)
	}
	return o, nil
}

// cmpOut returns the end of a sorted list that is out of bounds.
func cmpOut(x []int, least int) int {
	if x[0] < least {
		return x[0]
	}
	return x[len(x)-1]
}

// Grid measures decode steps at every context and batch, and the prefill of every
// context above 0, in rounds that visit all points in an order shuffled by the
// seed, so that a busy moment spoils none more than another. The first round warms
// up and does not count. Every sequence has its own random tokens and its own
// cache: sequences that share a prompt would read one cache, which is faster than
// serving different texts. A model that refuses random tokens is measured with a
// text that it wrote itself. What was measured is returned with an error, too;
// when ctx ends, that is of kind Interrupted.
func Grid(ctx context.Context, s Subject, opt GridOptions) ([]Point, error) {
	opt, err := opt.Check()
	if err != nil {
		return nil, err
	}
	g, err := newGrid(ctx, s, opt)
	if err != nil {
		return nil, fault.Wrap(err, fault.Plugin, "bench", s.Label)
	}
	done, total := 0, (1+opt.Repeat)*len(g.points)
	err = g.open(ctx)
	for round := range 1 + opt.Repeat {
		order := rand.New(rand.NewPCG(opt.Seed, uint64(round))).Perm(len(g.points))
		for _, i := range order {
			if err != nil {
				break
			}
			p := &g.points[i]
			if opt.Progress != nil {
				opt.Progress(done, total, p.String())
			}
			if err = g.visit(ctx, p, round > 0); err == nil {
				done++
			}
		}
	}
	if closeErr := g.close(context.WithoutCancel(ctx)); err == nil {
		err = closeErr
	}
	points := slices.DeleteFunc(g.points, func(p Point) bool { return len(p.Seconds) == 0 })
	if err != nil && ctx.Err() != nil {
		return points, fault.New(fault.Interrupted, "bench", "", "stopped after %d of %d measurements: %v", done, total, context.Cause(ctx))
	}
	if err != nil {
		return points, fault.Wrap(err, fault.Plugin, "bench", s.Label)
	}
	return points, nil
}

// String names a point.
func (p *Point) String() string {
	if p.Phase == Prefill {
		return fmt.Sprintf("prefill of %d tokens", p.Context)
	}
	return fmt.Sprintf("decode at %d tokens, batch %d", p.Context, p.Batch)
}

// grid is a grid under way.
type grid struct {
	*throughput // tokens and sequences
	opt         GridOptions
	points      []Point
	held        []uint64       // a sequence of the longest context for every place in the largest batch
	empty       map[int]Counts // by batch
}

func newGrid(ctx context.Context, s Subject, opt GridOptions) (*grid, error) {
	info := s.Model.Info()
	longest, largest := opt.Context[len(opt.Context)-1], opt.Batch[len(opt.Batch)-1]
	if longest+opt.Steps > info.ContextLength {
		return nil, fault.New(fault.Usage, "", "", "a context of %d tokens and %d steps after it exceed its context of %d", longest, opt.Steps, info.ContextLength).
			Fix("measure a context of at most %d, or fewer steps", info.ContextLength-opt.Steps)
	}
	if largest*info.VocabSize > maxScores {
		return nil, fault.New(fault.Usage, "", "", "a batch of %d rows of %d tokens is more than %d scores", largest, info.VocabSize, maxScores)
	}
	text, first, err := textFor(ctx, s, longest+opt.Steps)
	if err != nil {
		return nil, err
	}
	if text != nil && len(text) < longest+opt.Steps {
		return nil, fault.New(fault.Model, "", "", "it refuses random tokens, and the text it wrote ended after %d tokens, before %d", len(text), longest+opt.Steps).
			Fix("measure shorter contexts")
	}
	seq := uint64(firstSequence)
	g := &grid{opt: opt, empty: map[int]Counts{}, throughput: &throughput{m: s.Model, first: first, text: text, seq: &seq,
		rng: rand.New(rand.NewPCG(opt.Seed, uint64(info.VocabSize)))}}
	for _, c := range opt.Context {
		if c > 0 {
			g.points = append(g.points, Point{Phase: Prefill, Context: c, Batch: 1})
		}
		for _, b := range opt.Batch {
			g.points = append(g.points, Point{Phase: Decode, Context: c, Batch: b})
		}
	}
	return g, nil
}

// open makes the sequences that the points fork from, and counts empty steps.
func (g *grid) open(ctx context.Context) error {
	if longest := g.opt.Context[len(g.opt.Context)-1]; longest > 0 {
		for range g.opt.Batch[len(g.opt.Batch)-1] {
			seq := g.next()
			if _, err := g.m.Forward(ctx, []model.Input{{Seq: seq, Tokens: g.prompt(longest)}}); err != nil {
				return err
			}
			g.held = append(g.held, seq)
		}
	}
	for _, b := range append([]int{1}, g.opt.Batch...) {
		p := Point{Phase: Decode, Batch: b}
		steps := g.opt.Steps
		g.opt.Steps = 1
		err := g.decode(ctx, &p, false)
		g.opt.Steps = steps
		if err != nil {
			return err
		}
		g.empty[b] = p.Usage
	}
	return nil
}

func (g *grid) close(ctx context.Context) error { return g.free(ctx, g.held...) }

func (g *grid) visit(ctx context.Context, p *Point, counts bool) error {
	if p.Phase == Prefill {
		return g.prefill(ctx, p, counts)
	}
	return g.decode(ctx, p, counts)
}

// prefill reads a prompt once.
func (g *grid) prefill(ctx context.Context, p *Point, counts bool) error {
	rows := g.m.Rows(1)
	defer g.m.Release(slices.Clone(rows))
	seq := g.next()
	in := []model.Input{{Seq: seq, Tokens: g.prompt(p.Context), Want: model.Last, Scores: slices.Clone(rows)}}
	start := time.Now()
	u, err := g.m.Forward(ctx, in)
	seconds := time.Since(start).Seconds()
	if err != nil {
		return err
	}
	p.Usage, p.Empty = Counts{}.add(u, 1), g.empty[1]
	if counts {
		p.Seconds, p.Backend = append(p.Seconds, seconds), append(p.Backend, u.Seconds().Seconds())
	}
	return g.free(ctx, seq)
}

// decode makes the steps of a visit.
func (g *grid) decode(ctx context.Context, p *Point, counts bool) (err error) {
	rows := g.m.Rows(p.Batch)
	defer g.m.Release(rows)
	seqs := make([]uint64, p.Batch)
	var edits []model.Edit
	for i := range seqs {
		seqs[i] = g.next()
		if p.Context > 0 {
			edits = append(edits, model.Edit{Op: model.Fork, Seq: g.held[i], To: seqs[i], Length: p.Context})
		}
	}
	defer func() {
		if freeErr := g.free(context.WithoutCancel(ctx), seqs...); err == nil {
			err = freeErr
		}
	}()
	if len(edits) > 0 {
		if err := g.m.Edit(ctx, edits); err != nil {
			return err
		}
	}
	tokens := g.random(p.Batch * g.opt.Steps)
	batch := make([]model.Input, p.Batch)
	var seconds, backend []float64
	usage := Counts{}
	for step := range g.opt.Steps {
		at := p.Context + step
		for i := range batch {
			token := tokens[step*p.Batch+i:][:1]
			switch {
			case g.text != nil:
				token = g.text[at : at+1]
			case at == 0:
				token = []int32{g.first}
			}
			batch[i] = model.Input{Seq: seqs[i], Start: at, Tokens: token, Want: model.Last, Scores: []dist.Scores{rows[i]}}
		}
		start := time.Now()
		u, err := g.m.Forward(ctx, batch)
		took := time.Since(start).Seconds()
		if err != nil {
			return err
		}
		seconds, backend, usage = append(seconds, took), append(backend, u.Seconds().Seconds()), usage.add(u, g.opt.Steps)
	}
	p.Usage, p.Empty = usage, g.empty[p.Batch]
	if counts {
		p.Seconds, p.Backend = append(p.Seconds, median(seconds)), append(p.Backend, median(backend))
	}
	return nil
}

// median returns the middle of at least one value, of the two in the middle their
// mean.
func median(x []float64) float64 {
	sorted := slices.Sorted(slices.Values(x))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
