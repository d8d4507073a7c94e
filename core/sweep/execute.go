package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"lab/core/chain"
	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/store"
)

// Folder says where and how a plan is kept.
type Folder struct {
	Dir    string          // of the run
	Name   string          // of the sweep, in its record
	Part   *store.Part     // the share of the cells; nil: all
	Source json.RawMessage // where the specification came from, for the record
	Lab    string          // version

	RetryFailed bool // samples that failed are tried again
	ForceNew    bool // when there is a run in Dir, take Dir-2, Dir-3, ... for a new one
}

// Outcome is what [Plan.Execute] did.
type Outcome struct {
	Dir      string
	Resumed  bool // there was a run already
	Complete bool // all samples are there, failures included
	Records  int  // that are there now
	Failures int  // of them
	Summary
}

// Execute runs a plan into a folder, or goes on with the run that is in it. A run
// of another sweep, or one whose models, plugins or source have changed since, is
// refused with what differs. Whatever ends the work, what was finished is kept.
func (p *Plan) Execute(ctx context.Context, at Folder, opt Options) (o Outcome, err error) {
	started := time.Now().UTC()
	run, resumed, err := p.open(ctx, at)
	if err != nil {
		return o, err
	}
	o.Dir, o.Resumed = run.Dir, resumed
	var outcome error // of the work
	defer func() {
		o.Records, o.Failures = run.Stored()
		closeErr := run.Close(session(started, o, outcome))
		if err == nil {
			err = closeErr
		}
	}()
	for _, problem := range run.Problems {
		o.Warnings = append(o.Warnings, problem.Error())
	}
	if run.Complete() {
		o.Complete, o.Kept = true, p.Total(opt)
		return o, nil
	}
	if at.RetryFailed {
		run.ForgetFailures()
	}
	if at.Part != nil {
		opt.Mine = run.Manifest.Mine
	}
	warnings := o.Warnings
	o.Summary, outcome = p.Run(ctx, run, opt)
	o.Warnings = append(warnings, o.Warnings...)
	if outcome == nil {
		records, _ := run.Stored()
		o.Complete = records == run.Manifest.Total()
		_, outcome = run.Finish()
	}
	return o, outcome
}

// session is the line of a run's sessions for this work.
func session(started time.Time, o Outcome, err error) store.Session {
	s := store.Session{Started: started, Seconds: time.Since(started).Seconds(), Outcome: "interrupted",
		Finished: o.Finished, Failed: o.Failed, Tokens: o.Tokens, Warnings: o.Warnings}
	switch {
	case err != nil:
		s.Outcome, s.Error = fault.KindOf(err).String(), err.Error()
	case o.Complete:
		s.Outcome = "complete"
	}
	if usage, err := json.Marshal(o.Usage); err == nil {
		s.Usage = usage
	}
	return s
}

// open makes or resumes the run of a folder.
func (p *Plan) open(ctx context.Context, at Folder) (*store.Run, bool, error) {
	m, err := p.manifest(ctx, at)
	if err != nil {
		return nil, false, err
	}
	dir := at.Dir
	old, err := store.Open(dir)
	for n := 2; at.ForceNew && !missing(dir, err) && n < 1000; n++ {
		dir = fmt.Sprintf("%s-%d", at.Dir, n)
		old, err = store.Open(dir)
	}
	if missing(dir, err) {
		run, err := store.Create(dir, *m, p.columns())
		return run, false, err
	}
	if err != nil {
		return nil, false, err
	}
	differ, err := store.Differences(old.Manifest, m)
	if err != nil {
		return nil, false, err
	}
	if len(differ) > 0 {
		text := differ[0].String()
		if more := len(differ) - 1; more > 0 {
			text += fmt.Sprintf(" (and %d more differences)", more)
		}
		return nil, false, fault.New(fault.Usage, op, dir, "the run in it is of something else: its %s", text).
			Fix("--force-new starts a new run beside it")
	}
	if !samePart(old.Manifest.Part, at.Part) {
		return nil, false, fault.New(fault.Usage, op, dir, "the run in it is another share of this sweep").Fix("give each shard a folder of its own")
	}
	run, err := store.Resume(dir)
	return run, true, err
}

// missing reports whether a folder holds no run.
func missing(dir string, err error) bool {
	if err == nil {
		return false
	}
	_, statErr := os.Stat(store.ManifestPath(dir))
	return errors.Is(statErr, os.ErrNotExist)
}

func samePart(a, b *store.Part) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func (p *Plan) manifest(ctx context.Context, at Folder) (*store.Manifest, error) {
	spec, err := json.Marshal(p.Spec)
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, op, "spec")
	}
	used, err := json.Marshal(p.Uses(ctx))
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, op, "record")
	}
	keep, err := p.Spec.Recording()
	if err != nil {
		return nil, err
	}
	contexts, err := p.contexts(ctx, keep)
	if err != nil {
		return nil, err
	}
	return &store.Manifest{Format: store.Format, Scores: keep.String(), Contexts: contexts, Name: at.Name, Spec: spec, Axes: p.Axes, Cells: len(p.Cells), Samples: p.Samples,
		Ledger: p.Spec.Ledger(), Part: at.Part, Used: used, Source: at.Source, Lab: at.Lab}, nil
}

// Uses returns the models, chains and plugins of the cells.
func (p *Plan) Uses(ctx context.Context) experiment.Record {
	var models []*experiment.Model
	var chains []*chain.Chain
	seen := map[*chain.Chain]bool{}
	for i := range p.Cells {
		c := &p.Cells[i]
		if !slices.Contains(models, c.engine) {
			models = append(models, c.engine)
		}
		if !seen[c.Chain] {
			seen[c.Chain] = true
			chains = append(chains, c.Chain)
		}
	}
	return p.session.Uses(ctx, models, chains)
}

// columns are those of cells.parquet: every setting, then the stages of the grid.
func (p *Plan) columns() []store.Column {
	var out []store.Column
	at := map[string]int{}
	for i := range p.Cells {
		for _, v := range p.values(i) {
			if _, ok := at[v.name]; !ok {
				at[v.name] = len(out)
				out = append(out, store.Column{Name: v.name, Values: make([]any, 0, len(p.Cells))})
			}
			c := &out[at[v.name]]
			c.Values = append(c.Values, v.value)
		}
	}
	return out
}

// named is one setting of a cell.
type named struct {
	name  string
	value any // nil where there is none
}

// values returns every setting of a cell, the same names for each cell.
func (p *Plan) values(cell int) []named {
	c := &p.Cells[cell]
	out := []named{{"prompt", c.Prompt}, {"model", c.Model}, {"chain", c.Chain.String()}, {"search", nil},
		{"seed", int64(c.Seed)}, {"max_tokens", int64(c.MaxTokens)}, {"stop", nil}}
	if c.Search != "" {
		out[3].value = c.Search
	}
	if len(c.Stop) > 0 {
		out[6].value = show(c.Stop)
	}
	names, _ := Keys()
	for i, a := range p.Axes {
		if slices.Contains(names, a) {
			continue
		}
		v := c.Values[i]
		if v == Off {
			v = nil
		}
		out = append(out, named{a, v})
	}
	return out
}

// Columns returns the settings of a cell by name, with its index as "cell";
// those that it lacks, and stages that are off, are nil.
func (p *Plan) Columns(cell int) map[string]any {
	out := map[string]any{"cell": int64(cell)}
	for _, v := range p.values(cell) {
		out[v.name] = v.value
	}
	return out
}
