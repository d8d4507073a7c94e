package std

import (
	"fmt"
	"path/filepath"

	"lab/core/fault"
	"lab/core/measure"
	"lab/core/results"
	"lab/core/script"
	"lab/core/store"
	"lab/core/table"
)

// Run is a stored sweep as a script holds it.
type Run struct {
	env    *Env
	stored *store.Stored
	cells  []map[string]any
	counts [2]int // records, failures
	state  store.State
}

// openRun opens a run that is kept in a folder.
func (e *Env) openRun(dir string) (*Run, error) {
	r := &Run{env: e}
	var err error
	if r.stored, err = store.Open(dir); err != nil {
		return nil, err
	}
	if r.counts[0], r.counts[1], r.state, err = r.stored.Progress(); err != nil {
		return nil, err
	}
	t, err := results.Settings(r.stored)
	if err != nil {
		return nil, err
	}
	for i := range t.Rows() {
		row, err := t.Row(i)
		if err != nil {
			return nil, err
		}
		r.cells = append(r.cells, row)
	}
	return r, nil
}

func runMember(e *Env) script.Member {
	return script.Member{Name: "run", Doc: "Opens a run that lab sweep or lab.sweep left under runs/.", Returns: "run",
		Params: []script.Param{{Name: "name", Type: script.String(), Meaning: "of its folder"}},
		Func: func(c *script.Call) (any, error) {
			name := c.String("name")
			if e.Sweeps == nil || name != filepath.Base(name) || name == "." || name == ".." {
				return nil, fault.New(fault.Script, "run", "name", "%s is not the name of a run", fault.Quote(name, 60)).Fix("lab runs list shows them")
			}
			return blocking(c, func() (*Run, error) { return e.openRun(filepath.Join(e.Sweeps.Folder, name)) })
		}}
}

// Class implements script.Object.
func (*Run) Class() script.Class {
	measures := script.Param{Name: "measures", Type: script.List(script.String()), Meaning: "names of stats.measures"}
	optional := measures
	optional.Optional = true
	methods := []string{measure.MethodT, measure.MethodBootstrap, measure.MethodBCa, measure.MethodWilson, measure.MethodExact}
	return script.Class{Name: "run", Doc: "The samples of a sweep, kept in a folder.", Members: []script.Member{
		getter("folder", "string", "Where it is kept.", func(r *Run) any { return r.stored.Dir }),
		getter("complete", "bool", "Whether all samples are there, those that failed included.", func(r *Run) any { return r.state == store.Complete }),
		getter("failed", "int", "How many samples failed.", func(r *Run) any { return int64(r.counts[1]) }),
		getter("axes", "list of string", "What the grid varies.", func(r *Run) any { return r.stored.Manifest.Axes }),
		getter("cells", "list of map", "The settings of every cell: cell, prompt, model, chain, search, seed, max_tokens, stop and the keys of the grid; undefined where there is none.", func(r *Run) any { return r.cells }),
		{
			Name: "samples", Doc: "Reads the samples of a cell, in their order; those that failed are left out.", Returns: "list of sample",
			Params: []script.Param{{Name: "cell", Type: script.Int(), Range: script.AtLeast(0), Meaning: "index of the cell"}},
			Func:   func(c *script.Call) (any, error) { return script.Self[*Run](c).samples(c) },
		},
		{
			Name: "each", Doc: "Calls a function with the settings and the samples of every cell, in their order, and returns what it returns. Only one cell is in memory at a time.",
			Returns: "list of any",
			Params:  []script.Param{{Name: "function", Type: script.Callback("cell", "samples"), Meaning: "func(cell, samples)"}},
			Func:    func(c *script.Call) (any, error) { return script.Self[*Run](c).each(c) },
		},
		{
			Name: "table", Doc: "Returns a row for every sample: cell, what the grid varies, sample, prompt_tokens, tokens, text, stop and the measures.", Returns: "table",
			Params: []script.Param{optional},
			Func: func(c *script.Call) (any, error) {
				r, names := script.Self[*Run](c), optionalStrings(c, "measures")
				return r.table(c, func() (*table.Table, error) { return results.Samples(r.stored, names) })
			},
		},
		{
			Name: "stats", Doc: "Returns a row for every cell: cell, what the grid varies, samples, and for each measure x its estimate x, the interval x_lo, x_hi, and x_n.", Returns: "table",
			Params: []script.Param{measures},
			Options: []script.Param{
				{Name: "interval", Type: script.String(), Choices: methods, Meaning: "how intervals are made; left out, each measure's own way"},
				{Name: "level", Type: script.Float(), Default: 0.95, Range: script.Interval(0, 1, true, true), Meaning: "confidence of the intervals"},
				{Name: "resamples", Type: script.Int(), Default: int64(1999), Range: script.Between(99, 1e6), Meaning: "of the bootstrap"},
			},
			Func: func(c *script.Call) (any, error) {
				r, names := script.Self[*Run](c), c.Strings("measures")
				iv := measure.Interval{Level: c.Float("level"), Resamples: int(c.Int("resamples"))}
				if c.Given("interval") {
					iv.Method = c.String("interval")
				}
				return r.table(c, func() (*table.Table, error) { return results.Cells(r.stored, names, iv) })
			},
		},
		{
			Name: "redecode", Doc: "Applies another chain to the scores that the run kept (record: scores), under the same random numbers and without the model: a row for every sample with what the grid varies, steps (reached: up to the first at which the chain draws another token), left (that step, undefined where it never does), recorded and drawn (the tokens there).",
			Returns: "table", Params: []script.Param{chainParam},
			Func: func(c *script.Call) (any, error) {
				r := script.Self[*Run](c)
				built, err := r.env.chainOf(c, c.Any("chain"))
				if err != nil {
					return nil, err
				}
				return r.table(c, func() (*table.Table, error) {
					return results.Replay(c.Context(), r.env.Session, r.stored, built.String())
				})
			},
		},
		tableOf("costs", "Returns what every sample took, a row each, with what the grid varies; docs/runs.md has the columns. Measured, so it differs from run to run.", results.Costs),
		tableOf("steps", "Returns a row for every generated token, with what the grid varies; docs/runs.md has the columns.", results.Steps),
		tableOf("stages", "Returns a row for every stage of every step, with what the grid varies; docs/runs.md has the columns.", results.Stages),
	}}
}

func optionalStrings(c *script.Call, name string) []string {
	if !c.Given(name) {
		return nil
	}
	return c.Strings(name)
}

// tableOf declares a table of a run.
func tableOf(name, doc string, read func(*store.Stored) (*table.Table, error)) script.Member {
	return script.Member{Name: name, Doc: doc, Returns: "table", Func: func(c *script.Call) (any, error) {
		r := script.Self[*Run](c)
		return r.table(c, func() (*table.Table, error) { return read(r.stored) })
	}}
}

// table returns a table as scripts hold them.
func (r *Run) table(c *script.Call, read func() (*table.Table, error)) (any, error) {
	if r.env.Table == nil {
		return nil, fault.New(fault.Script, c.Name(), "", "there is no module table here")
	}
	t, err := blocking(c, read)
	if err != nil {
		return nil, err
	}
	return r.env.Table(t), nil
}

// Stored returns the run for modules that read it themselves.
func (r *Run) Stored() *store.Stored { return r.stored }

// Name is that of its folder.
func (r *Run) Name() string { return filepath.Base(r.stored.Dir) }

// Judgement is what a function of a script returned for a sample.
type Judgement struct {
	Cell, Sample int64
	Value        any
}

// Judge calls f with every sample of the run and the settings of its cell, in their
// order.
func (r *Run) Judge(c *script.Call, f *script.Func) ([]Judgement, error) {
	var out []Judgement
	err := r.read(func(cell int, samples []*Sample) error {
		for _, s := range samples {
			v, err := f.Call(c.Context(), s, r.cells[cell])
			if err != nil {
				return err
			}
			out = append(out, Judgement{int64(cell), int64(s.Sample.Sample), v})
		}
		return nil
	})
	return out, err
}

// String implements fmt.Stringer.
func (r *Run) String() string {
	return fmt.Sprintf("<run %s: %d cells, %d samples>", r.stored.Dir, len(r.cells), r.counts[0])
}

func (r *Run) samples(c *script.Call) (any, error) {
	want := int(c.Int("cell"))
	if want >= len(r.cells) {
		return nil, fault.New(fault.Script, "samples", "cell", "%d is outside [0, %d]", want, len(r.cells)-1)
	}
	return blocking(c, func() (out []*Sample, err error) {
		out = []*Sample{}
		err = r.read(func(cell int, samples []*Sample) error {
			if cell == want {
				out = samples
			}
			return nil
		})
		return out, err
	})
}

func (r *Run) each(c *script.Call) (any, error) {
	f := c.Func("function")
	out := []any{}
	call := func(cell int, samples []*Sample) error {
		for len(out) <= cell { // cells whose samples all failed have none
			list := []*Sample{}
			if len(out) == cell {
				list = samples
			}
			v, err := f.Call(c.Context(), r.cells[len(out)], list)
			if err != nil {
				return err
			}
			out = append(out, v)
		}
		return nil
	}
	if err := r.read(call); err != nil {
		return nil, err
	}
	return out, call(len(r.cells)-1, []*Sample{})
}

// read calls visit with the samples of every cell that has some.
func (r *Run) read(visit func(cell int, samples []*Sample) error) error {
	var of []*Sample
	cell := -1
	flush := func() error {
		if cell < 0 {
			return nil
		}
		return visit(cell, of)
	}
	err := r.stored.Records(true, func(rec *store.Record) error {
		if rec.Cell >= len(r.cells) {
			return fault.New(fault.Data, "run", r.stored.Dir, "it has a sample of cell %d, and %d cells", rec.Cell, len(r.cells))
		}
		if rec.Cell != cell {
			if err := flush(); err != nil {
				return err
			}
			cell, of = rec.Cell, []*Sample{}
		}
		if rec.Failure == "" {
			chain, _ := r.cells[cell]["chain"].(string)
			of = append(of, &Sample{Sample: &rec.Trace, chain: chain, cost: rec.Cost})
		}
		return nil
	})
	if err != nil {
		return err
	}
	return flush()
}
