package costmod

import (
	"lab/core/cost"
	"lab/core/cost/scenario"
	"lab/core/fault"
	"lab/core/script"
)

// curveMembers return points: over batches, operators and contexts.
func (env *Env) curveMembers() []script.Member {
	return []script.Member{
		{Name: "frontier", Returns: "record: points (list of maps: batch, step_seconds, per_user, per_chip, their _lo and _hi, usd_per_million, fits, dominated), max_batch, assumed, warnings",
			Doc:    "Returns what each batch gives one user and one chip, in tokens/s while decoding at a context. Batches that do not fit into the memory are marked, and those that another one beats in both.",
			Params: []script.Param{modelParam},
			Options: append([]script.Param{tokens("context", "of each sequence", 1, -1),
				{Name: "batches", Type: script.List(script.Int()), Required: true, Meaning: "sequences that decode together"}, asOfOption, drawsOption, seedOption}, servingOptions()...),
			Func: env.frontier},
		{Name: "operators", Returns: "record: points (list of maps: operator, flop, bytes, compute_seconds, memory_seconds, seconds, intensity, memory_bound), peak (FLOP/s), bandwidth (bytes/s), ridge (FLOP per byte), assumed, warnings; at the medians",
			Doc:    "Returns a decode step by operator, each bound by its arithmetic or its bytes: the points of a roofline, the parts of a stacked bar (F8, F9).",
			Params: []script.Param{modelParam},
			Options: append([]script.Param{tokens("context", "of each sequence", 1, -1), {Name: "batch", Type: script.Int(), Required: true, Range: script.AtLeast(1), Meaning: "sequences that decode together"},
				asOfOption}, servingOptions()...),
			Func: env.operators},
		{Name: "fit", Returns: "record: intercept, slope (quantities with their intervals), n, min, max, median_residual, weight_bandwidth, cache_bandwidth, at (list of maps: context, seconds, lo, hi, extrapolated)",
			Doc: "Fits seconds per token to contexts by least squares. The intercept is what does not grow with the context, the slope what one token of cache costs.",
			Params: []script.Param{{Name: "contexts", Type: script.Numbers(), Meaning: "tokens"},
				{Name: "seconds", Type: script.Numbers(), Meaning: "per token, measured"}},
			Options: []script.Param{{Name: "level", Type: script.Float(), Default: 0.95, Range: script.Interval(0, 1, true, true), Meaning: "confidence of the intervals"},
				{Name: "weight_bytes", Type: script.Float(), Range: script.MoreThan(0), Meaning: "read in a step, for the bandwidth of weights"},
				{Name: "cache_bytes_per_token", Type: script.Float(), Range: script.MoreThan(0), Meaning: "for the bandwidth of the cache"},
				{Name: "at", Type: script.Numbers(), Meaning: "contexts to predict; those beyond what was measured are marked"}},
			Func: fit},
	}
}

// served returns the setup of the options with its names looked up.
func (env *Env) served(c *script.Call) (*scenario.Resolved, error) {
	s, t, err := env.setup(c)
	if err != nil {
		return nil, err
	}
	if err := serving(c, &s); err != nil {
		return nil, err
	}
	day, err := env.day(c)
	if err != nil {
		return nil, err
	}
	return s.Resolve(t, day)
}

func (env *Env) frontier(c *script.Call) (any, error) {
	r, err := env.served(c)
	if err != nil {
		return nil, err
	}
	var batches []int64
	for _, b := range c.List("batches") {
		batches = append(batches, b.(int64))
	}
	var curve *scenario.Curve
	context, d := c.Int("context"), draws(c)
	if err := c.Blocking(func() (err error) { curve, err = scenario.Frontier(r, context, batches, d); return err }); err != nil {
		return nil, err
	}
	warn(c, r.Warnings)
	points := []any{}
	for _, p := range curve.Points {
		m := map[string]any{"batch": p.Batch, "fits": p.Fits, "dominated": p.Dominated, "model": r.Name, "hardware": r.Hardware}
		for name, q := range map[string]cost.Quantity{"step_seconds": p.Step, "per_user": p.PerUser, "per_chip": p.PerChip} {
			m[name], m[name+"_lo"], m[name+"_hi"] = q.Value, q.Lo, q.Hi
		}
		if p.Million != nil {
			m["usd_per_million"], m["usd_per_million_lo"], m["usd_per_million_hi"] = p.Million.Value, p.Million.Lo, p.Million.Hi
		}
		points = append(points, m)
	}
	return script.Record{Name: "frontier", Fields: map[string]any{"points": points, "max_batch": curve.MaxBatch, "assumed": curve.Assumed, "warnings": append([]string{}, r.Warnings...)}}, nil
}

func (env *Env) operators(c *script.Call) (any, error) {
	r, err := env.served(c)
	if err != nil {
		return nil, err
	}
	v := r.Serving
	if v == nil {
		return nil, scriptError(c, "no hardware is given").Fix("name one of lab cost hardware")
	}
	list, err := r.Arch.Operators(c.Int("context"), c.Int("batch"), cost.Serving{Format: *r.Format, Device: v.Device, Model: v.Model, Routing: v.Routing,
		Efficiency: cost.Efficiency{Compute: v.Compute.Median, Weights: v.Weights.Median, Cache: v.Cache.Median}})
	if err != nil {
		return nil, err
	}
	ridge, err := cost.Ridge(v.Device.Peak, v.Device.Bandwidth)
	if err != nil {
		return nil, err
	}
	warn(c, r.Warnings)
	points := []any{}
	for _, o := range list {
		points = append(points, map[string]any{"operator": o.Name, "flop": o.FLOP, "bytes": o.Weights + o.Cache, "compute_seconds": o.Compute, "memory_seconds": o.Memory,
			"seconds": o.Seconds, "intensity": o.Intensity, "memory_bound": o.MemoryBound})
	}
	return script.Record{Name: "operators", Fields: map[string]any{"points": points, "peak": v.Device.Peak * v.Device.Chips, "bandwidth": v.Device.Bandwidth * v.Device.Chips, "ridge": ridge,
		"assumed": r.Assumed, "warnings": append([]string{}, r.Warnings...)}}, nil
}

func fit(c *script.Call) (any, error) {
	contexts, _ := c.Any("contexts").([]float64)
	seconds, _ := c.Any("seconds").([]float64)
	l, err := cost.FitLine(contexts, seconds, c.Float("level"))
	if err != nil {
		return nil, err
	}
	fitted := func(v, lo, hi float64, unit string) any {
		return Quantity{cost.Of(v, unit, "F11", cost.Fitted, "").Within(lo, hi)}
	}
	fields := map[string]any{
		"intercept": fitted(l.Intercept, l.InterceptLo, l.InterceptHi, "s"), "slope": fitted(l.Slope, l.SlopeLo, l.SlopeHi, "s/token"),
		"n": l.N, "min": l.Min, "max": l.Max, "median_residual": l.MedianResidual,
	}
	if c.Given("weight_bytes") != c.Given("cache_bytes_per_token") {
		return nil, fault.New(fault.Script, c.Name(), "", "one of weight_bytes and cache_bytes_per_token is given without the other")
	}
	if c.Given("weight_bytes") {
		w, k, err := l.Bandwidths(c.Float("weight_bytes"), c.Float("cache_bytes_per_token"))
		if err != nil {
			return nil, err
		}
		fields["weight_bandwidth"] = Quantity{cost.Of(w, "bytes/s", "F11", cost.Fitted, "a floor: t0 is in it")}
		fields["cache_bandwidth"] = Quantity{cost.Of(k, "bytes/s", "F11", cost.Fitted, "")}
	}
	at := []any{}
	if c.Given("at") {
		for _, context := range c.Any("at").([]float64) {
			p, err := l.At(context)
			if err != nil {
				return nil, err
			}
			at = append(at, map[string]any{"context": context, "seconds": p.Seconds, "lo": p.Lo, "hi": p.Hi, "extrapolated": p.Extrapolated})
		}
	}
	fields["at"] = at
	return script.Record{Name: "fit", Fields: fields}, nil
}
