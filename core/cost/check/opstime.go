package check

import (
	"fmt"

	"lab/core/cost"
)

// timeOperations are roofline times, latencies and energy.
var timeOperations = map[string]operation{
	"ridge": op(func(in struct {
		Peak      float64 `json:"peak_flops"`
		Bandwidth float64 `json:"bandwidth"`
	}) (map[string]value, error) {
		r := collect()
		r.set("ridge")(cost.Ridge(in.Peak, in.Bandwidth))
		return r.done()
	}),
	"weight_stream_time": op(func(in struct {
		Bytes     float64 `json:"bytes"`
		Bandwidth float64 `json:"bandwidth"`
		Chips     float64 `json:"chips"`
	}) (map[string]value, error) {
		r := collect()
		r.set("seconds")(cost.Stream(in.Bytes, in.Bandwidth, in.Chips))
		// The name of this output carries its input.
		if u, err := cost.MBU(in.Bytes, 0.029, cost.Device{Bandwidth: in.Bandwidth, Chips: in.Chips}); err == nil {
			r.put("mbu_at_29ms", u)
		}
		return r.done()
	}),
	"step_time_split": op(stepTimeSplit),
	"decode_step":     op(decodeStep),
	"time_from_mfu": op(func(in struct {
		Params float64 `json:"params"`
		Tokens float64 `json:"tokens"`
		Chips  float64 `json:"chips"`
		Peak   float64 `json:"peak_flops"`
		MFU    float64 `json:"mfu"`
	}) (map[string]value, error) {
		r := collect()
		r.set("seconds")(cost.TimeFromMFU(2*in.Params*in.Tokens, in.MFU, cost.Device{Peak: in.Peak, Chips: in.Chips}))
		return r.done()
	}),
	"linear_fit": op(func(in struct {
		Context []float64 `json:"mean_context"`
		Rate    []float64 `json:"tokens_per_second"`
		Weights float64   `json:"weight_bytes"`
		Cache   float64   `json:"kv_bytes_per_token"`
	}) (map[string]value, error) {
		seconds := make([]float64, len(in.Rate))
		for i, v := range in.Rate {
			seconds[i] = 1 / v
		}
		l, err := cost.FitLine(in.Context, seconds, 0.95)
		if err != nil {
			return nil, err
		}
		w, c, err := l.Bandwidths(in.Weights, in.Cache)
		r := collect()
		r.put("intercept_seconds", l.Intercept)
		r.put("slope_seconds_per_token", l.Slope)
		r.put("weight_bandwidth", w)
		r.put("kv_bandwidth", c)
		r.err = err
		return r.done()
	}),
	"latency_metrics": op(func(in struct {
		TTFT   float64 `json:"ttft"`
		ITL    float64 `json:"itl"`
		Output int64   `json:"output_tokens"`
	}) (map[string]value, error) {
		e2e, err := cost.E2E(in.TTFT, in.ITL, in.Output)
		if err != nil {
			return nil, err
		}
		r := collect()
		r.put("e2e", e2e)
		r.set("tpot_vllm")(cost.TPOT(e2e, in.TTFT, in.Output))
		r.set("tpot_guidellm")(cost.NTPOT(e2e, in.Output))
		r.set("itl_llmperf")(cost.NTPOT(e2e, in.Output))
		r.put("e2e_neuron_formula", in.TTFT+float64(in.Output)*in.ITL) // one tpot too many
		return r.done()
	}),
	"littles_law": op(func(in struct {
		Rate float64 `json:"rate"`
		E2E  float64 `json:"e2e"`
	}) (map[string]value, error) {
		r := collect()
		r.set("concurrency")(cost.Concurrency(in.Rate, in.E2E))
		return r.done()
	}),
	"energy_query": op(func(in struct {
		Params float64 `json:"active_params"`
		Output float64 `json:"output_tokens"`
		Peak   float64 `json:"peak_flops"`
		MFU    float64 `json:"mfu"`
		Watts  float64 `json:"watts"`
		Load   float64 `json:"load"`
		PUE    float64 `json:"pue" input:"optional"`
	}) (map[string]value, error) {
		seconds, err := cost.TimeFromMFU(2*in.Params*in.Output, in.MFU, cost.Device{Peak: in.Peak, Chips: 1})
		if err != nil {
			return nil, err
		}
		pue, silent := in.PUE, in.PUE == 0
		if silent {
			pue = 1 // the file's watts are all-in
		}
		joules, err := cost.Energy(seconds, cost.Power{Watts: in.Watts, Load: in.Load, PUE: pue})
		r := collect()
		for name, v := range map[string]float64{"joules": joules, "watt_hours": joules / cost.JoulesPerWh} {
			r.put(name, v)
			if silent {
				r.out[name] = one(v).note("PUE 1, as the file gives none")
			}
		}
		r.err = err
		return r.done()
	}),
	"energy_training": op(func(in struct {
		GPUs   float64 `json:"gpus" input:"optional"`
		Days   float64 `json:"days" input:"optional"`
		Hours  float64 `json:"gpu_hours" input:"optional"`
		Watts  float64 `json:"watts"`
		PUE    float64 `json:"pue"`
		Tonnes float64 `json:"tonnes_co2" input:"optional"`
	}) (map[string]value, error) {
		hours := in.Hours
		if hours == 0 {
			hours = in.GPUs * in.Days * 24
		} else if in.GPUs != 0 || in.Days != 0 {
			return nil, fmt.Errorf("it gives gpu_hours and gpus or days")
		}
		joules, err := cost.Energy(hours*3600, cost.Power{Watts: in.Watts, Load: 1, PUE: in.PUE})
		r := collect()
		r.put("mwh", joules/cost.JoulesPerMWh)
		r.out["kg_per_kwh"] = lacks("tonnes_co2, which intensity follows from")
		if in.Tonnes > 0 {
			r.put("kg_per_kwh", in.Tonnes*1000/(joules/cost.JoulesPerKWh))
		}
		r.err = err
		return r.done()
	}),
}

type splitInputs struct {
	Weights   float64 `json:"weight_bytes"`
	Cache     float64 `json:"kv_bytes_total"`
	Linear    float64 `json:"linear_flops"`
	Peak      float64 `json:"peak_flops"`
	Bandwidth float64 `json:"bandwidth"`
	Chips     float64 `json:"chips"`
	Batch     int64   `json:"batch" input:"optional"`
}

func stepTimeSplit(in splitInputs) (map[string]value, error) {
	w := cost.Work{Linear: in.Linear, Weights: in.Weights, Cache: in.Cache}
	d := cost.Device{Peak: in.Peak, Bandwidth: in.Bandwidth, Chips: in.Chips}
	split, err := cost.StepTimeOf(w, d, cost.Floor(), cost.Split, 0)
	if err != nil {
		return nil, err
	}
	overlap, err := cost.StepTimeOf(w, d, cost.Floor(), cost.Overlap, 0)
	r := collect()
	r.put("seconds", split.Total)
	r.put("overlap_seconds", overlap.Total)
	batch, note := float64(in.Batch), ""
	if in.Batch == 0 {
		// 2 M B FLOP over 2 M bytes.
		batch, note = in.Linear/in.Weights, "weights of two bytes, so that batch = linear_flops/weight_bytes; the file gives no batch"
	}
	r.out["tokens_per_second"] = one(batch / split.Total).note(note)
	r.err = err
	return r.done()
}

type stepInputs struct {
	Arch      arch    `json:"arch"`
	Batch     int64   `json:"batch"`
	Context   int64   `json:"context"`
	Weight    float64 `json:"bytes_per_weight"`
	Cache     float64 `json:"bytes_per_element"`
	Peak      float64 `json:"peak_flops"`
	Bandwidth float64 `json:"bandwidth"`
	Chips     float64 `json:"chips"`
}

// decodeStep leaves the rows of the embedding out, as the schema's decode_step
// does.
func decodeStep(in stepInputs) (map[string]value, error) {
	b, err := in.Arch.StepBytes(in.Context, in.Batch, cost.Format{Weight: in.Weight, Cache: in.Cache}, cost.Expected)
	if err != nil {
		return nil, err
	}
	s, err := in.Arch.Size()
	if err != nil {
		return nil, err
	}
	t, err := cost.StepTimeOf(cost.Work{Linear: 2 * float64(s.Matmul) * float64(in.Batch), Weights: b.Weights, Cache: b.CacheRead + b.CacheWrite},
		cost.Device{Peak: in.Peak, Bandwidth: in.Bandwidth, Chips: in.Chips}, cost.Floor(), cost.Split, 0)
	r := collect()
	r.put("weight_bytes", b.Weights)
	r.put("kv_read_bytes", b.CacheRead)
	r.put("seconds", t.Total)
	r.put("tokens_per_second", float64(in.Batch)/t.Total)
	r.err = err
	return r.done()
}
