package std

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"

	"lab/core/fault"
	"lab/core/script"
	"lab/core/sweep"
)

// Sweeps says where the sweeps of a script are kept and how they are begun.
type Sweeps struct {
	Folder      string // that holds the runs
	Script      string // name of the script, which its sweeps are named after
	Lab         string // version
	ForceNew    bool   // start anew beside runs that are there
	RetryFailed bool
	Stopping    func()           // called when an interrupt lets samples under way finish; may be nil
	Made        func(dir string) // is told the folder of each sweep that has samples; may be nil

	begun int
}

func sweepMember(e *Env) script.Member {
	names, meanings := sweep.Keys()
	keys := ""
	for i, n := range names {
		keys += fmt.Sprintf("%s (%s), ", n, meanings[i])
	}
	return script.Member{
		Name: "sweep", Doc: "Generates samples for every cell of a grid, and goes on where an earlier run of the script stopped. What is finished is kept whatever ends it; docs/runs.md.",
		Returns: "run",
		Params: []script.Param{
			{Name: "grid", Type: script.Either(script.Map(script.Any()), script.List(script.Map(script.Any()))),
				Meaning: `what varies: a map of keys to lists of values, one cell for each combination, or a list of such maps; keys are ` + keys + `or a stage ("temperature") or a setting of one ("top_p.min_keep"), whose value "off" leaves the stage out`},
		},
		Options: []script.Param{
			{Name: "name", Type: script.String(), Meaning: "folder under runs/; left out, the script's name and a number"},
			{Name: "fixed", Type: script.Map(script.Any()), Optional: true, Meaning: "stages and settings that all cells share, keys as in the grid"},
			{Name: "prompt", Type: script.String(), Meaning: "prompt of all cells"},
			{Name: "model", Type: script.Either(script.String(), script.Host[*Model]()), Meaning: "model of all cells"},
			{Name: "chain", Type: chainParam.Type, Meaning: "chain of all cells; stages of the grid are set in it"},
			{Name: "samples", Type: script.Int(), Default: int64(sweep.DefaultSamples), Range: script.Between(1, 1e6), Meaning: "samples of each cell"},
			{Name: "max_tokens", Type: script.Int(), Default: int64(64), Range: script.Between(1, 1e6), Unit: "tokens", Meaning: "most tokens per sample"},
			{Name: "seed", Type: script.Int(), Range: seedRange, Meaning: "run seed; left out, lab.seed"},
			{Name: "stop", Type: script.List(script.String()), Optional: true, Meaning: "stop strings"},
			{Name: "record", Type: script.String(), Default: sweep.RecordLedger, Meaning: "samples leaves out what happened at every token, scores keeps the model's whole distribution as well, scores:N its N likeliest tokens: run.redecode"},
			{Name: "batch", Type: script.Int(), Default: int64(0), Range: script.AtLeast(0), Meaning: "most samples in one model call, 0 for as many as 32 MiB of scores hold; changes nothing but speed"},
		},
		Func: e.sweep,
	}
}

func (e *Env) sweep(c *script.Call) (any, error) {
	if err := OutsideApply(c); err != nil {
		return nil, err
	}
	if e.Sweeps == nil {
		return nil, fault.New(fault.Script, "sweep", "", "there is no folder for runs here")
	}
	values := map[string]any{"samples": c.Int("samples"), "record": c.String("record")}
	if fixed, ok := c.Any("fixed").(map[string]any); ok {
		maps.Copy(values, fixed)
	}
	grid, err := e.plainGrid(c, c.Any("grid"))
	if err != nil {
		return nil, err
	}
	values["grid"] = grid
	for _, key := range []string{"prompt", "model", "chain", "max_tokens", "seed", "stop"} {
		v := c.Any(key)
		switch {
		case !c.Given(key) && key == "seed" && !varies(grid, key):
			v = int64(e.Seed)
		case !c.Given(key) && key == "max_tokens" && !varies(grid, key):
		case !c.Given(key):
			continue
		}
		if _, twice := values[key]; twice {
			return nil, fault.New(fault.Script, "sweep", key, "it is an option and in fixed").Fix("give it once")
		}
		if values[key], err = e.plainValue(c, key, v); err != nil {
			return nil, err
		}
	}
	spec, err := sweep.Read(values)
	if err != nil {
		return nil, err
	}
	name := c.String("name")
	if name == "" {
		e.Sweeps.begun++
		name = fmt.Sprintf("%s.sweep-%d", e.Sweeps.Script, e.Sweeps.begun)
	} else if name != filepath.Base(name) || name == "." || name == ".." {
		return nil, fault.New(fault.Script, "sweep", "name", "%s is not the name of a folder", fault.Quote(name, 60))
	}
	var o sweep.Outcome
	r, err := blocking(c, func() (*Run, error) {
		plan, err := sweep.New(c.Context(), e.Session, spec)
		if err != nil {
			return nil, err
		}
		ctx, done := e.Sweeps.untilDeadline(c.Context())
		defer done()
		opt := sweep.Options{Batch: int(c.Int("batch")), Stopping: func() bool { return c.Context().Err() != nil }}
		if e.Track != nil {
			finish := func() {}
			opt.Watch = func(missing int) (step func(finished, tokens int)) {
				step, finish = e.Track(name, missing)
				return step
			}
			defer func() { finish() }()
		}
		o, err = plan.Execute(ctx, sweep.Folder{Dir: filepath.Join(e.Sweeps.Folder, name), Name: name, Lab: e.Sweeps.Lab,
			ForceNew: e.Sweeps.ForceNew, RetryFailed: e.Sweeps.RetryFailed}, opt)
		if o.Dir != "" && o.Records > 0 && e.Sweeps.Made != nil {
			e.Sweeps.Made(o.Dir)
		}
		if err == nil && !o.Complete {
			err = fault.New(fault.Interrupted, "sweep", o.Dir, "%d of %d samples are there", o.Records, plan.Total(sweep.Options{})).Fix("running the script again goes on with the others")
		}
		if err != nil {
			return nil, err
		}
		return e.openRun(o.Dir)
	})
	if err != nil {
		return nil, err
	}
	for _, w := range o.Warnings {
		c.Warn("%s", w)
	}
	if o.Failures > 0 {
		c.Warn("%d of %d samples failed; lab runs show %s says why, --retry-failed tries them again", o.Failures, o.Records, o.Dir)
	}
	return r, nil
}

// untilDeadline returns a context that outlives an interrupt of ctx, so that the
// samples under way can be finished, but not its deadline.
func (s *Sweeps) untilDeadline(ctx context.Context) (context.Context, func()) {
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if cause := context.Cause(ctx); fault.KindOf(cause) == fault.Limit || errors.Is(cause, context.DeadlineExceeded) {
			cancel(cause)
		} else if s.Stopping != nil {
			s.Stopping()
		}
	})
	return inner, func() { stop(); cancel(nil) }
}

// varies reports whether a key is in a grid.
func varies(grid []any, key string) bool {
	for _, b := range grid {
		if _, ok := b.(map[string]any)[key]; ok {
			return true
		}
	}
	return false
}

// plainGrid returns a grid with models and chains as text.
func (e *Env) plainGrid(c *script.Call, grid any) ([]any, error) {
	blocks, ok := grid.([]any)
	if !ok {
		blocks = []any{grid}
	}
	out := make([]any, len(blocks))
	for i, b := range blocks {
		block := map[string]any{}
		for key, values := range b.(map[string]any) {
			list, ok := values.([]any)
			if !ok {
				list = []any{values}
			}
			texts := make([]any, len(list))
			for j, v := range list {
				var err error
				if texts[j], err = e.plainValue(c, key, v); err != nil {
					return nil, err
				}
			}
			block[key] = texts
		}
		out[i] = block
	}
	return out, nil
}

// plainValue returns a value of a key as a specification has it: chains in any of
// their forms and models as text.
func (e *Env) plainValue(c *script.Call, key string, v any) (any, error) {
	if m, ok := v.(*Model); ok {
		return m.Ref, nil
	}
	if key != "chain" {
		return v, nil
	}
	built, err := e.chainOf(c, v)
	if err != nil {
		return nil, err
	}
	return built.String(), nil
}
