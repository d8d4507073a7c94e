package cost

import "math"

// FirstToken is what the time to the first token is made of.
type FirstToken struct {
	Queue    float64 // seconds waited before the prefill starts
	Prefill  float64 // FLOP of the prefill
	Weights  float64 // bytes of weights
	Overhead float64 // seconds of the first step besides
}

// TTFT returns the time to the first token in seconds (F12): queue +
// max(prefill/(n P η_c), weights/(n W η_w)) + overhead.
func TTFT(f FirstToken, d Device, e Efficiency) (float64, error) {
	g := guarded("time to first token")
	g.nonNegative("queue", f.Queue)
	g.positive("prefill FLOP", f.Prefill)
	g.positive("weight bytes", f.Weights)
	g.nonNegative("overhead", f.Overhead)
	d.check(g)
	e.check(g)
	return g.of(f.Queue + max(f.Prefill/(d.Chips*d.Peak*e.Compute), f.Weights/(d.Chips*d.Bandwidth*e.Weights)) + f.Overhead)
}

// Prompt returns the seconds to process a prompt of that many new tokens in
// chunks of at most chunk (F12): ⌈S/C⌉ steps, each the greater of its arithmetic
// and the weights, and the read of the cache so far. chunk = 0 takes the prompt in one piece. t0 is
// paid in each step.
func (a *Arch) Prompt(p Prefill, chunk int64, s Serving) (float64, error) {
	g := guarded("prefill time")
	g.atLeast("chunk", chunk, 0)
	g.atLeast("prompt", p.New, 1)
	g.atLeast("cached prefix", p.Cached, 0)
	a.attended(g, p.New+p.Cached)
	s.Format.check(g)
	if chunk == 0 {
		chunk = p.New
	}
	if steps := (p.New - 1) / max(1, chunk); g.err == nil && (steps >= mostChunks || steps*int64(len(a.Layers)) > 256*mostChunks) {
		g.refuse("use larger chunks", "%d tokens in chunks of %d are too many steps to add up", p.New, chunk)
	}
	if err := a.usable(g); err != nil {
		return 0, err
	}
	sum := 0.0
	for done := int64(0); done < p.New; done += chunk {
		n := min(chunk, p.New-done)
		w, err := a.PrefillWork(Prefill{New: n, Cached: p.Cached + done, AllLogits: p.AllLogits}, s.Format, s.Routing)
		if err != nil {
			return 0, err
		}
		t, err := StepTimeOf(w, s.Device, s.Efficiency, s.Model, s.Offset)
		if err != nil {
			return 0, err
		}
		sum += t.Total
	}
	return g.of(sum)
}

// PrefillWork returns what one pass over a prompt does (F4 and F12): its FLOP,
// attention included, as prefill attention is matrix products too; the weights; the
// read of the cached prefix and the write of the new tokens.
func (a *Arch) PrefillWork(p Prefill, f Format, r Routing) (Work, error) {
	g := guarded("prefill bytes")
	f.check(g)
	if g.err != nil {
		return Work{}, g.err
	}
	flop, err := a.Prefill(p, Convention{})
	if err != nil {
		return Work{}, err
	}
	n, read := float64(p.New), 0.0
	if p.Cached > 0 {
		read = a.cached(float64(p.Cached))
	}
	return Work{Linear: flop, Weights: f.Weight * a.touched(r, n), Cache: (read + n*a.cachePerToken()) * f.Cache}, nil
}

// mostChunks bounds the steps of one prefill that are added up.
const mostChunks = 1 << 16

// E2E returns the seconds of a whole request (F13): TTFT + (T−1) TPOT. T counts
// tokens by the model's own ids.
func E2E(ttft, tpot float64, output int64) (float64, error) {
	g := guarded("end-to-end time")
	g.nonNegative("ttft", ttft)
	g.nonNegative("tpot", tpot)
	g.atLeast("output", output, 1)
	return g.of(ttft + float64(output-1)*tpot)
}

// TPOT returns the time per output token of one request (F13): (e2e − ttft)/(T−1).
// A request of one token has none, which is an error and not 0.
func TPOT(e2e, ttft float64, output int64) (float64, error) {
	g := guarded("tpot")
	g.nonNegative("ttft", ttft)
	g.nonNegative("e2e", e2e)
	g.atLeast("output", output, 1)
	if output == 1 {
		g.refuse("leave requests of one token out and say how many", "a request of 1 output token has no time per token after the first")
	}
	if e2e < ttft {
		g.refuse("", "e2e = %g s is before ttft = %g s", e2e, ttft)
	}
	return g.of((e2e - ttft) / float64(output-1))
}

// NTPOT returns e2e / T, which some tools call time per output token or
// inter-token latency; it holds the first token's time too.
func NTPOT(e2e float64, output int64) (float64, error) {
	g := guarded("ntpot")
	g.nonNegative("e2e", e2e)
	g.atLeast("output", output, 1)
	return g.of(e2e / float64(output))
}

// Throughput returns the tokens per second of a step that gives each of batch
// sequences one (F13): B / t. The rate of one user is 1 / t.
func Throughput(batch int64, step float64) (float64, error) {
	g := guarded("throughput")
	g.atLeast("batch", batch, 1)
	g.positive("step seconds", step)
	return g.of(float64(batch) / step)
}

// Concurrency returns the requests under way at once (F13; Little 1961): rate in
// requests/s × the seconds of each.
func Concurrency(rate, e2e float64) (float64, error) {
	g := guarded("concurrency")
	g.positive("rate", rate)
	g.positive("e2e", e2e)
	return g.of(rate * e2e)
}

// FrontierPoint is one batch of a throughput-latency frontier.
type FrontierPoint struct {
	Batch     int64
	Step      StepTime
	PerUser   float64 // tokens/s of one sequence
	PerChip   float64 // tokens/s of all sequences over the chips
	Fits      bool    // within the memory
	Dominated bool    // another point that fits is at least as good in both rates and better in one
}

// Frontier returns the points of the batches, in their order, at a context of
// that many tokens each (F9 and F13): rates of a user and of a chip, whether the
// cache fits into memory (bytes, all chips together, of which the usable share
// counts) and whether another batch is better in both. A batch that does not fit
// is marked, not left out, and dominates nothing.
func (a *Arch) Frontier(context int64, batches []int64, memory, usable float64, s Serving) ([]FrontierPoint, Fit, error) {
	if len(batches) == 0 || len(batches) > 1<<16 {
		g := guarded("frontier")
		g.refuse("give from 1 to 65536 batches", "%d batches were given", len(batches))
		return nil, Fit{}, g.err
	}
	fit, err := a.MaxBatch(context, memory, usable, s.Format)
	if err != nil {
		return nil, Fit{}, err
	}
	points := make([]FrontierPoint, len(batches))
	for i, b := range batches {
		t, err := a.Step(context, b, s)
		if err != nil {
			return nil, Fit{}, err
		}
		points[i] = FrontierPoint{Batch: b, Step: t, PerUser: 1 / t.Total, PerChip: float64(b) / t.Total / s.Device.Chips, Fits: b <= fit.MaxBatch}
	}
	mark(points)
	return points, fit, nil
}

// mark sets Dominated by one pass from the highest rate of a user down.
func mark(points []FrontierPoint) {
	order := make([]int, len(points))
	for i := range order {
		order[i] = i
	}
	sortBy(order, func(i, j int) bool {
		if points[i].PerUser != points[j].PerUser {
			return points[i].PerUser > points[j].PerUser
		}
		return points[i].PerChip > points[j].PerChip
	})
	best, user := math.Inf(-1), math.NaN() // best rate of a chip so far and the user's rate there
	for _, i := range order {
		p := &points[i]
		p.Dominated = p.PerChip < best || p.PerChip == best && p.PerUser < user
		if p.Fits && p.PerChip > best {
			best, user = p.PerChip, p.PerUser
		}
	}
}
