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
	n                               float64     // decode steps
	flop, bytes                     float64     // of all decode steps of the batch
}

// timing is the seconds of a request.
type timing struct{ ttft, decode, steps float64 }

// mostSteps bounds the decode steps that are timed one by one.
const mostSteps = 1 << 16

// mostTimed bounds the steps that are timed one by one over all draws.
const mostTimed = 1e7

func newTimer(r *Request) (*timer, error) {
	v := r.Serving
	t := &timer{device: v.Device, model: v.Model, n: float64(r.Output - 1)}
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
	if r.Output > mostSteps {
		return nil, usage(estimating, "%d output tokens are more than %d", r.Output, mostSteps)
	}
	if v.Model == cost.Overlap && !t.in.known() && (r.Output-1)*int64(r.Draws.N) > mostTimed {
		return nil, usage(estimating, "%d decode steps at each of %d draws are more than %d", r.Output-1, r.Draws.N, int64(mostTimed)).Fix("use split step times, fewer draws or fewer tokens")
	}
	var sum cost.Work
	for i := int64(1); i < r.Output; i++ {
		w, err := r.Arch.StepWork(r.Prompt+r.Cached+i, r.Batch, *r.Format, v.Routing)
		if err != nil {
			return nil, err
		}
		t.flop += w.Linear + w.Attention
		t.bytes += w.Weights + w.Cache
		sum = cost.Work{Linear: sum.Linear + w.Linear, Weights: sum.Weights + w.Weights, Cache: sum.Cache + w.Cache, Attention: sum.Attention + w.Attention}
		if v.Model == cost.Overlap {
			t.steps = append(t.steps, w)
		}
	}
	if v.Model != cost.Overlap && t.n > 0 {
		// Split adds its parts, and what is under its maximum is the same in every
		// step: the mean step, n times, is their sum.
		t.steps = []cost.Work{{Linear: sum.Linear / t.n, Weights: sum.Weights / t.n, Cache: sum.Cache / t.n}}
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
	return out, nil
}
