package scenario

import "lab/core/cost"

// timer holds the work of a request, so that a draw costs a few divisions.
type timer struct {
	in                              inputs
	compute, weights, cache, offset int // places in in
	watts, load, pue, usd           int
	device                          cost.Device
	model                           cost.Model
	prefill                         cost.Work
	steps                           []cost.Work // the decode steps; one for all where the model adds up
	judge                           cost.Work   // of one completion; nothing without a judge
	judges, speedup                 float64     // completions that are judged; of speculation, 1 without
	n                               float64     // decode steps
	flop, bytes                     float64     // of all decode steps of the batch
}

// timing is the seconds of a request.
type timing struct{ ttft, decode, judge, steps float64 }

// mostTimed bounds the steps that are timed one by one, over all draws and over all
// layers.
const mostTimed = 1e7

func newTimer(r *Request) (*timer, error) {
	v := r.Serving
	t := &timer{device: v.Device, model: v.Model, n: float64(r.Output - 1), speedup: 1}
	t.compute, t.weights, t.cache, t.offset = t.in.put(v.Compute), t.in.put(v.Weights), t.in.put(v.Cache), t.in.put(v.Offset)
	if v.Power != nil {
		t.watts, t.load, t.pue = t.in.put(v.Power.Watts), t.in.put(v.Power.Load), t.in.put(v.Power.PUE)
	}
	if v.USDPerHour != nil {
		t.usd = t.in.put(*v.USDPerHour)
	}
	var err error
	if t.prefill, err = r.Arch.PrefillWork(cost.Prefill{New: r.Prompt, Cached: r.Cached}, *r.Format, v.Routing); err != nil {
		return nil, err
	}
	if r.Draft != nil {
		s, err := r.Draft.Speculative()
		if err != nil {
			return nil, err
		}
		t.speedup = s.Speedup
	}
	if r.Judge {
		t.judges = float64(r.Samples)
		if t.judge, err = r.Arch.PrefillWork(judged(r), *r.Format, v.Routing); err != nil {
			return nil, err
		}
	}
	start := r.Prompt + r.Cached
	sum, err := r.Arch.StepsWork(start, r.Output-1, r.Batch, *r.Format, v.Routing)
	if err != nil {
		return nil, err
	}
	t.flop, t.bytes = sum.Linear+sum.Attention, sum.Weights+sum.Cache
	if v.Model != cost.Overlap {
		if t.n > 0 {
			// Split adds its parts, and what is under its maximum is the same in every
			// step: the mean step, n times, is their sum.
			t.steps = []cost.Work{{Linear: sum.Linear / t.n, Weights: sum.Weights / t.n, Cache: sum.Cache / t.n}}
		}
		return t, nil
	}
	switch {
	case float64(r.Output-1)*float64(len(r.Arch.Layers)) > mostTimed:
		return nil, usage(estimating, "%d decode steps of %d layers are too many to time one by one", r.Output-1, len(r.Arch.Layers)).Fix("use split step times")
	case !t.in.known() && float64(r.Output-1)*float64(r.Draws.N) > mostTimed:
		return nil, usage(estimating, "%d decode steps at each of %d draws are too many to time one by one", r.Output-1, r.Draws.N).Fix("use split step times, fewer draws or fewer tokens")
	}
	for i := int64(1); i < r.Output; i++ {
		w, err := r.Arch.StepWork(start+i, r.Batch, *r.Format, v.Routing)
		if err != nil {
			return nil, err
		}
		t.steps = append(t.steps, w)
	}
	return t, nil
}

func (t *timer) efficiency(x []float64) cost.Efficiency {
	return cost.Efficiency{Compute: x[t.compute], Weights: x[t.weights], Cache: x[t.cache]}
}

// at returns the times at one draw of the inputs.
func (t *timer) at(x []float64) (timing, error) {
	e := t.efficiency(x)
	first, err := cost.StepTimeOf(t.prefill, t.device, e, t.model, x[t.offset])
	if err != nil {
		return timing{}, err
	}
	out := timing{ttft: first.Total, steps: t.n}
	for _, w := range t.steps {
		s, err := cost.StepTimeOf(w, t.device, e, t.model, x[t.offset])
		if err != nil {
			return timing{}, err
		}
		out.decode += s.Total
	}
	if t.model != cost.Overlap {
		out.decode *= t.n
	}
	out.decode /= t.speedup
	if t.judges > 0 {
		j, err := cost.StepTimeOf(t.judge, t.device, e, t.model, x[t.offset])
		if err != nil {
			return timing{}, err
		}
		out.judge = j.Total * t.judges
	}
	return out, nil
}
