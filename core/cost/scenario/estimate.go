package scenario

import (
	"fmt"
	"math"

	"lab/core/cost"
	"lab/core/fault"
)

// Request is one request to a served model, and how it is served.
type Request struct {
	Arch       *cost.Arch
	Prompt     int64 // new tokens of the prompt, at least 1
	Cached     int64 // tokens of its prefix that a cache holds
	Output     int64 // tokens of each completion, at least 1
	Samples    int64 // completions of the prompt, drawn in one batch
	Batch      int64 // sequences that decode together, these completions among them
	Convention cost.Convention
	Judge      bool        // each completion is scored once, with its prompt, by the same model
	Draft      *cost.Draft // speculative decoding; nil: plain

	Format  *cost.Format // nil: no bytes, times, energy or rented money
	Serving *Serving     // nil: no times, energy or rented money
	Price   *cost.Price  // nil: no price
	Batched bool         // the batch prices of Price
	Draws   Draws
}

// Serving is the device and how well it is used.
type Serving struct {
	Device                  cost.Device
	Memory, Usable          float64 // bytes of one chip and the share of it that counts; Memory 0: not known
	Model                   cost.Model
	Routing                 cost.Routing
	Compute, Weights, Cache cost.Uncertain // efficiencies; [cost.Known](1) is a floor
	Offset                  cost.Uncertain // t0, seconds; Known(0) without
	Power                   *Power         // nil: no energy
	USDPerHour              *cost.Uncertain
	PriceNote               string // date and source of USDPerHour
}

// Power is [cost.Power] with uncertain parts.
type Power struct {
	Watts, Load, PUE cost.Uncertain
	Note             string // where the watts come from
}

const estimating = "cost estimate"

// Estimate returns what a request costs in parameters, operations, bytes, time,
// energy and money, as far as what was given says. A batch that does not fit into
// the memory is an error of the kind limit, which says by how much and what would.
func Estimate(r Request) (*Answer, error) {
	if r.Arch == nil {
		return nil, usage(estimating, "no architecture was given")
	}
	if r.Samples < 1 || r.Batch < r.Samples {
		return nil, usage(estimating, "%d samples decode in a batch of %d", r.Samples, r.Batch).Fix("the batch holds all samples of the request: give at least as many, and 1")
	}
	a := &Answer{}
	a.assume("%s; no operations for softmax, norms, rotary embeddings and activations", r.Convention)
	steps := []func(*Answer, *Request) error{sizes, operations, price, memory, times}
	for _, step := range steps {
		if err := step(a, &r); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func sizes(a *Answer, r *Request) error {
	s, err := r.Arch.Size()
	if err != nil {
		return err
	}
	for _, p := range []struct {
		name string
		n    int64
		note string
	}{{"params_total", s.Total, "every stored parameter"}, {"params_active", s.Active, "what one token touches"},
		{"params_non_embedding", s.NonEmbedding, "without embedding, head and positions"}, {"params_matmul", s.Matmul, "M, multiplied for one token"}} {
		a.add(p.name, cost.Of(float64(p.n), "parameters", "F1", cost.Exact, p.note))
	}
	return nil
}

func operations(a *Answer, r *Request) error {
	prefill, err := r.Arch.Prefill(cost.Prefill{New: r.Prompt, Cached: r.Cached}, r.Convention)
	if err != nil {
		return err
	}
	decode, err := r.Arch.DecodeRun(r.Prompt+r.Cached, r.Output-1, r.Convention)
	if err != nil {
		return err
	}
	decode *= float64(r.Samples)
	kind, note := cost.Exact, "every token after the first of each sample"
	if r.Draft != nil {
		s, err := r.Draft.Speculative()
		if err != nil {
			return err
		}
		decode *= s.Operations
		kind, note = cost.Scenario, fmt.Sprintf("%s; × %.4g by speculation", note, s.Operations)
		a.assume("speculative decoding: %d tokens proposed, each accepted with the chance %g whatever the place, %.4g kept a time, %.4g times as fast", r.Draft.Length, r.Draft.Accept, s.Tokens, s.Speedup)
	}
	judge := 0.0
	if r.Judge {
		one, err := r.Arch.Prefill(judged(r), r.Convention)
		if err != nil {
			return err
		}
		judge = one * float64(r.Samples)
		a.add("judge_flop", cost.Of(judge, "FLOP", "F20", cost.Exact, "each completion with its prompt, scored once"))
	}
	a.add("prefill_flop", cost.Of(prefill, "FLOP", "F4", cost.Exact, "the prompt once, scores of the last position"))
	a.add("decode_flop", cost.Of(decode, "FLOP", "F3", kind, note))
	total := prefill + decode + judge
	a.add("flop", cost.Of(total, "FLOP", "F20", kind, ""))
	a.add("flop_per_output_token", cost.Of(total/float64(r.Output*r.Samples), "FLOP/token", "F20", kind, "the prompt's share included"))
	return nil
}

// judged is what a judge reads of a completion.
func judged(r *Request) cost.Prefill {
	return cost.Prefill{New: r.Prompt + r.Cached + r.Output, AllLogits: true}
}

func price(a *Answer, r *Request) error {
	if r.Price == nil {
		a.absent("no price was given", "usd_price")
		return nil
	}
	b, err := r.Price.Bill(cost.Ledger{Prompt: r.Prompt, Cached: r.Cached, Output: r.Output * r.Samples}, r.Batched)
	if err != nil {
		return err
	}
	a.add("usd_price", cost.Of(b.Total(), "USD", "F16", cost.Scenario, fmt.Sprintf("list price of %s, %s (%s); revenue, not what computing it costs", r.Price.Name, r.Price.Date, r.Price.Source)))
	return nil
}

func memory(a *Answer, r *Request) error {
	if r.Format == nil {
		a.absent("no bytes per element were given", "weight_bytes", "cache_bytes_per_token", "cache_bytes", "step_bytes")
		return nil
	}
	context := r.Prompt + r.Cached + r.Output
	each, err := r.Arch.CachePerToken(r.Format.Cache)
	if err != nil {
		return err
	}
	total, err := r.Arch.Cache(context, r.Samples, r.Format.Cache)
	if err != nil {
		return err
	}
	routing := cost.Expected
	if r.Serving != nil {
		routing = r.Serving.Routing
	}
	b, err := r.Arch.StepBytes(context-1, r.Batch, *r.Format, routing)
	if err != nil {
		return err
	}
	s, err := r.Arch.Size()
	if err != nil {
		return err
	}
	w, err := cost.WeightBytes(float64(s.Total), 8*r.Format.Weight)
	if err != nil {
		return err
	}
	a.add("weight_bytes", cost.Of(w, "bytes", "F7", cost.Exact, "all parameters, as stored"))
	a.add("cache_bytes_per_token", cost.Of(each, "bytes/token", "F2", cost.Exact, "while no window is full"))
	a.add("cache_bytes", cost.Of(total, "bytes", "F2", cost.Exact, "of the request at its end, each sample with the prompt"))
	bytes := cost.Of(moved(b), "bytes", "F7", cost.Exact, "moved by the last decode step of the batch")
	if bytes, err = routed(r, context-1, bytes); err != nil {
		return err
	}
	a.add("step_bytes", bytes)
	v := r.Serving
	if v == nil || v.Memory == 0 {
		a.absent("no memory size was given", "max_batch")
		return nil
	}
	fit, err := r.Arch.MaxBatch(context-1, v.Memory*v.Device.Chips, v.Usable, *r.Format)
	if err != nil {
		return err
	}
	if r.Batch > fit.MaxBatch {
		return tooLarge(r, fit)
	}
	a.add("max_batch", cost.Of(float64(fit.MaxBatch), "sequences", "F13", cost.Exact, fmt.Sprintf("that fit into %.4g GB usable, %.4g GB of them weights", fit.Usable/1e9, fit.Weights/1e9)))
	return nil
}

func moved(b cost.StepBytes) float64 { return b.Weights + b.CacheRead + b.CacheWrite + b.Embedding }

// routed gives the bytes of a mixture the band between a batch that all passes the
// same experts and one that passes as many as it can.
func routed(r *Request, context int64, q cost.Quantity) (cost.Quantity, error) {
	low, err := r.Arch.StepBytes(context, r.Batch, *r.Format, cost.Same)
	if err != nil {
		return q, err
	}
	high, err := r.Arch.StepBytes(context, r.Batch, *r.Format, cost.Distinct)
	if err != nil || moved(low) == moved(high) {
		return q, err
	}
	q.Kind, q.Note = cost.Scenario, join(q.Note, "from the same experts for all to as many as the batch can pass")
	return q.Within(moved(low), moved(high)), nil
}

// tooLarge says by how much a batch does not fit, and what would.
func tooLarge(r *Request, fit cost.Fit) error {
	v := r.Serving
	need := fit.Weights + float64(r.Batch)*fit.PerSeq
	perChip := v.Memory * v.Usable
	e := fault.New(fault.Limit, estimating, "", "batch %d needs %.4g GB (%.4g GB of weights and %.4g GB of cache for each sequence), and %.4g GB are usable: %.4g GB too many",
		r.Batch, need/1e9, fit.Weights/1e9, fit.PerSeq/1e9, fit.Usable/1e9, (need-fit.Usable)/1e9)
	chips := math.Ceil(need / perChip)
	if fit.MaxBatch > 0 {
		return e.Fix("a batch of %d fits, and so do %g chips, or fewer bytes per element", fit.MaxBatch, chips)
	}
	return e.Fix("%g chips would do, or fewer bytes per element", chips)
}

// times adds everything that needs a device.
func times(a *Answer, r *Request) error {
	names := []string{"ttft", "tpot", "e2e", "tokens_per_second_user", "tokens_per_second", "chip_seconds", "mfu", "mbu", "energy", "usd_rented", "usd_per_million_output"}
	v := r.Serving
	switch {
	case v == nil:
		a.absent("no hardware was given", names...)
		return nil
	case r.Format == nil:
		a.absent("no bytes per element were given", names...)
		return nil
	}
	t, err := newTimer(r)
	if err != nil {
		return err
	}
	e := t.efficiency(t.in.medians())
	kind, note := e.Kind(), ""
	if r.Draft != nil {
		kind = cost.Scenario
	}
	if e.IsFloor() && v.Compute.IsKnown() && v.Weights.IsKnown() && v.Cache.IsKnown() {
		a.assume("times are floors: every efficiency is 1")
		note = "floor"
	} else {
		if kind != cost.Scenario {
			kind = cost.Fitted
		}
		a.assume("efficiencies: compute %s, weight reads %s, cache reads %s of the peak", band(v.Compute), band(v.Weights), band(v.Cache))
	}
	a.assume("%s step times, offset %s s, batch %d, %g chip(s) of %.4g FLOP/s dense and %.4g bytes/s", v.Model, band(v.Offset), r.Batch, v.Device.Chips, v.Device.Peak, v.Device.Bandwidth)
	rate := func(f func(timing) float64) func([]float64) (float64, error) {
		return func(x []float64) (float64, error) {
			p, err := t.at(x)
			if err != nil {
				return 0, err
			}
			return f(p), nil
		}
	}
	add := func(name, unit, formula string, kind cost.Kind, note string, f func([]float64) (float64, error)) {
		if err != nil {
			return
		}
		var q cost.Quantity
		if q, err = t.in.quantity(r.Draws, f, func(v float64) cost.Quantity { return cost.Of(v, unit, formula, kind, note) }); err == nil {
			a.add(name, q)
		}
	}
	ceiling := "" // a rate at a floor of time is a ceiling, a bound too
	if note != "" {
		ceiling = "ceiling"
	}
	add("ttft", "s", "F12", kind, join(note, "no queue"), rate(func(p timing) float64 { return p.ttft }))
	if r.Output > 1 {
		add("tpot", "s/token", "F13", kind, note, rate(func(p timing) float64 { return p.decode / p.steps }))
		add("tokens_per_second_user", "tokens/s", "F13", kind, ceiling, rate(func(p timing) float64 { return p.steps / p.decode }))
		add("tokens_per_second", "tokens/s", "F13", kind, join(ceiling, "of the whole batch, while it decodes"), rate(func(p timing) float64 { return float64(r.Batch) * p.steps / p.decode }))
		add("mfu", "share", "F14", kind, join(ceiling, "of decoding"), rate(func(p timing) float64 { return t.flop / (p.decode * v.Device.Chips * v.Device.Peak) }))
		if r.Draft == nil {
			add("mbu", "share", "F14", kind, join(ceiling, "of decoding"), rate(func(p timing) float64 { return t.bytes / (p.decode * v.Device.Chips * v.Device.Bandwidth) }))
		} else {
			a.absent("a verification reads the weights once for several tokens", "mbu")
		}
	} else {
		a.absent("one output token has no time per token after the first", "tpot", "tokens_per_second_user", "tokens_per_second", "mfu", "mbu")
	}
	add("e2e", "s", "F13", kind, note, rate(func(p timing) float64 { return p.ttft + p.decode + p.judge }))
	chips := func(p timing) float64 {
		return v.Device.Chips * (p.ttft + p.decode*float64(r.Samples)/float64(r.Batch))
	}
	add("chip_seconds", "chip·s", "F16", kind, "the prefill alone and a share of each decode step", rate(chips))
	if v.Power != nil {
		add("energy", "J", "F15", cost.Scenario, v.Power.Note, func(x []float64) (float64, error) {
			p, err := t.at(x)
			if err != nil {
				return 0, err
			}
			return cost.Energy(chips(p), cost.Power{Watts: x[t.watts], Load: x[t.load], PUE: x[t.pue]})
		})
	} else {
		a.absent("no power was given", "energy")
	}
	if v.USDPerHour == nil {
		a.absent("no price per chip-hour was given", "usd_rented", "usd_per_million_output")
		return err
	}
	rented := func(x []float64) (float64, error) {
		p, err := t.at(x)
		if err != nil {
			return 0, err
		}
		return cost.Rented(chips(p)/3600, x[t.usd])
	}
	add("usd_rented", "USD", "F16", cost.Scenario, v.PriceNote, rented)
	add("usd_per_million_output", "USD/million tokens", "F16", cost.Scenario, join(v.PriceNote, "the prompt's share included"), func(x []float64) (float64, error) {
		u, err := rented(x)
		return u / float64(r.Output*r.Samples) * 1e6, err
	})
	return err
}

// band writes an uncertain number for a line of assumptions.
func band(u cost.Uncertain) string {
	if u.IsKnown() {
		return Number(u.Median)
	}
	return fmt.Sprintf("%s [%s, %s]", Number(u.Median), Number(u.Lo), Number(u.Hi))
}
