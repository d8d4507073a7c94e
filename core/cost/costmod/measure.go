package costmod

import (
	"fmt"

	"lab/core/cost/steptime"
	"lab/core/fault"
	"lab/core/machine"
	"lab/core/plugin/bench"
	"lab/core/profile"
	"lab/core/script"
	"lab/core/script/std"
)

// Profile is a [profile.Report] as a script holds it.
type Profile struct{ *profile.Report }

var wholes = script.List(script.Int())

func (env *Env) measureMembers() []script.Member {
	return []script.Member{{
		Name: "measure",
		Doc: "Measures what the calls of a model take on this machine, at every context and batch: decode steps, each sequence with a text and a cache of its own, and the prefill of every context. " +
			"Fits what a byte of weights, an operation, a byte of cache, a step and a row cost, and sets the times over the machine's floor (lab cost calibrate). Medians of rounds that visit the points in a shuffled order. Times differ from run to run.",
		Returns: "profile",
		Params:  []script.Param{{Name: "model", Type: script.Host[*std.Model](), Meaning: "a model, from lab.model"}},
		Options: []script.Param{
			{Name: "context", Type: wholes, Unit: "tokens", Meaning: "what sequences hold before a step; left out, 0 and an eighth, a quarter, a half and all of the context less the steps, at most 4096"},
			{Name: "batch", Type: wholes, Meaning: "sequences of a step; left out, 1, 2, 4, 8 and 16"},
			{Name: "steps", Type: script.Int(), Default: int64(16), Range: script.Between(1, 4096), Meaning: "steps of a visit to a point; its time is their median"},
			{Name: "repeats", Type: script.Int(), Default: int64(5), Range: script.Between(1, 1000), Meaning: "rounds that count; one goes before them"},
			{Name: "form", Type: script.String(), Choices: []string{"sum", "split"}, Meaning: "of the fit: weights and arithmetic add up, or the longer counts; left out, whichever explains the times better"},
			seedOption,
		},
		Func: func(c *script.Call) (any, error) { return env.measure(c) },
	}}
}

func (env *Env) measure(c *script.Call) (any, error) {
	if err := std.OutsideApply(c); err != nil {
		return nil, err
	}
	m := script.Arg[*std.Model](c, "model")
	opt := profile.Options{GridOptions: bench.GridOptions{Context: ladder(m.Info().ContextLength - int(c.Int("steps"))), Batch: []int{1, 2, 4, 8, 16},
		Steps: int(c.Int("steps")), Repeat: int(c.Int("repeats")), Seed: uint64(c.Int("seed")), Progress: env.Progress}}
	for name, list := range map[string]*[]int{"context": &opt.Context, "batch": &opt.Batch} {
		if c.Given(name) {
			*list = nil
			for _, v := range c.List(name) {
				*list = append(*list, int(v.(int64)))
			}
		}
	}
	if c.Given("form") {
		opt.Form = c.String("form")
	}
	opt.At = env.machine(c)
	var r *profile.Report
	err := c.Blocking(func() (err error) {
		r, err = profile.Measure(c.Context(), m.Ref, m.Handle(), opt)
		return err
	})
	if env.Done != nil {
		env.Done()
	}
	if err != nil {
		return nil, err
	}
	for _, n := range r.Notes {
		c.Warn("%s: %s", m.Ref, n)
	}
	return &Profile{r}, nil
}

// ladder is the contexts that are measured when none are asked for, of a model that
// holds at most so many tokens before its steps.
func ladder(most int) []int {
	most = min(max(most, 0), 4096)
	return []int{0, most / 8, most / 4, most / 2, most}
}

// machine returns the machine's rates; without them there are no floors, which is
// a warning.
func (env *Env) machine(c *script.Call) *machine.Rates {
	why := "this machine was not calibrated"
	var r *machine.Rates
	if env.Machine != nil {
		r, why = env.Machine()
	}
	if r == nil {
		c.Warn("there are no floors: %s", why)
	}
	return r
}

// ofProfile returns a getter of a profile.
func ofProfile(name, returns, doc string, f func(*Profile) any) script.Member {
	return script.Member{Name: name, Returns: returns, Doc: doc, Get: func(c *script.Call) (any, error) { return f(script.Self[*Profile](c)), nil }}
}

const fitDoc = "form, level (of the intervals), median_residual and max_residual (of |measured/fitted - 1|), and terms by name (weights, arithmetic, cache, step, row): unit, seconds_per_unit, lo, hi, " +
	"per_second (undefined when it takes no time) and holds, the terms whose time is in it, so that per_second is a lower bound; undefined where too few points were measured"

// Class implements script.Object.
func (*Profile) Class() script.Class {
	return script.Class{Name: "profile", Doc: "What the calls of a model took on this machine.", Members: []script.Member{
		ofProfile("model", "string", "As it was asked for.", func(p *Profile) any { return p.Model }),
		ofProfile("points", "list of map", `What was measured, a map each: phase ("decode" or "prefill"), context, batch, seconds, seconds_lo, seconds_hi (median, least and most of the rounds), backend_seconds, tokens_per_second, flops, bytes_moved, weight_bytes, cache_bytes_moved, cache_bytes, fitted_seconds, measured_over_fitted, floor_seconds, measured_over_floor, mfu, mbu; undefined where there is none. table.rows makes a table of them.`,
			func(p *Profile) any { return p.points() }),
		ofProfile("decode", "map", "The fit of decode steps: "+fitDoc+".", func(p *Profile) any { return fitMap(p.Decode) }),
		ofProfile("prefill", "map", "The fit of prefills, like decode.", func(p *Profile) any { return fitMap(p.Prefill) }),
		ofProfile("load", "list of float", "Threads that wanted to run before and after, the mean of a minute; empty where the system does not say.", func(p *Profile) any {
			if p.LoadBefore == nil || p.LoadAfter == nil {
				return []float64{}
			}
			return []float64{*p.LoadBefore, *p.LoadAfter}
		}),
		ofProfile("machine", "map", "What the floors are of: cpu, measured (the day), threads, bytes_per_second (of the largest buffer), operations_per_second; undefined when the machine was not calibrated.", func(p *Profile) any {
			m := p.Machine
			if m == nil {
				return nil
			}
			return map[string]any{"cpu": m.CPU, "measured": m.Measured.Format("2006-01-02"), "threads": m.Threads, "bytes_per_second": m.Memory[len(m.Memory)-1].PerSecond.Most, "operations_per_second": m.PerSecond()}
		}),
		{
			Name: "predict", Doc: "Returns what the fit says of a call: seconds with the interval lo to hi, floor_seconds (undefined without one), and beyond: empty, or what was measured when the call is outside of it. Such an extrapolation must be asked for.",
			Returns: "map",
			Params: []script.Param{
				{Name: "context", Type: script.Int(), Range: script.AtLeast(0), Unit: "tokens", Meaning: "what each sequence holds, or the prompt that is read"},
				{Name: "batch", Type: script.Int(), Range: script.Between(1, 1<<20), Meaning: "sequences"},
			},
			Options: []script.Param{
				{Name: "phase", Type: script.String(), Default: "decode", Choices: []string{"decode", "prefill"}, Meaning: "which call"},
				{Name: "extrapolate", Type: script.Bool(), Default: false, Meaning: "answer beyond the measured contexts and batches, too"},
			},
			Func: func(c *script.Call) (any, error) { return script.Self[*Profile](c).predict(c) },
		},
	}}
}

// String implements fmt.Stringer.
func (p *Profile) String() string {
	s := fmt.Sprintf("<profile of %s: %d points", p.Model, len(p.Points))
	if p.Decode != nil {
		s += fmt.Sprintf(", decode within %.1f %% in the median", 100*p.Decode.MedianResidual)
	}
	return s + ">"
}

func (p *Profile) predict(c *script.Call) (any, error) {
	r, err := p.Predict(bench.Phase(c.String("phase")), int(c.Int("context")), int(c.Int("batch")))
	if err != nil {
		return nil, err
	}
	if r.Beyond != "" && !c.Bool("extrapolate") {
		return nil, fault.New(fault.Script, "predict", "", "a context of %d and a batch of %d are outside of what was measured: %s", r.Context, r.Batch, r.Beyond).
			Fix("measure there, or ask with {extrapolate: true} and show it apart")
	}
	out := map[string]any{"seconds": r.Seconds, "lo": r.Lo, "hi": r.Hi, "floor_seconds": nil, "beyond": r.Beyond}
	if r.Floor != nil {
		out["floor_seconds"] = *r.Floor
	}
	return out, nil
}

func (p *Profile) points() []any {
	known := func(x float64) any { // 0 stands for none
		if x == 0 {
			return nil
		}
		return x
	}
	out := []any{}
	for _, x := range p.Points {
		out = append(out, map[string]any{"phase": string(x.Phase), "context": x.Context, "batch": x.Batch, "seconds": x.Seconds.Median, "seconds_lo": x.Seconds.Least, "seconds_hi": x.Seconds.Most,
			"backend_seconds": x.Backend.Median, "tokens_per_second": x.PerSecond, "flops": known(x.FLOPs), "bytes_moved": known(x.BytesMoved), "weight_bytes": known(x.Base), "cache_bytes_moved": x.CacheMoved,
			"cache_bytes": x.CacheBytes, "fitted_seconds": known(x.Fitted), "measured_over_fitted": known(x.OverFitted), "floor_seconds": known(x.Floor), "measured_over_floor": known(x.OverFloor),
			"mfu": known(x.OfFLOPs), "mbu": known(x.OfBandwidth)})
	}
	return out
}

func fitMap(f *steptime.Fitted) any {
	if f == nil {
		return nil
	}
	terms := map[string]any{}
	for _, t := range f.Terms {
		m := map[string]any{"unit": t.Unit, "seconds_per_unit": t.SecondsPer, "lo": t.Lo, "hi": t.Hi, "per_second": nil, "holds": append([]string{}, t.Holds...)}
		if t.PerSecond != nil {
			m["per_second"] = *t.PerSecond
		}
		terms[t.Name] = m
	}
	return map[string]any{"form": f.Form, "level": f.Level, "median_residual": f.MedianResidual, "max_residual": f.MostResidual, "terms": terms}
}
