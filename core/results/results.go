// Package results makes tables of stored runs: a row for every sample, cell, step
// or stage, with the settings of the cell beside it; and compares two runs pair by
// pair.
//
// Measures are those of core/measure, tables those of core/table. Start with
// [Samples] or [Cells].
package results

import (
	"math"
	"path/filepath"

	"lab/core/fault"
	"lab/core/measure"
	"lab/core/store"
	"lab/core/table"
	"lab/core/trace"
)

const op = "results"

// Settings returns cells.parquet: the column cell and a column for every setting
// of the cells.
func Settings(run *store.Stored) (*table.Table, error) {
	return table.ReadFile(filepath.Join(run.Dir, store.CellsFile), table.CSV{})
}

// varying returns the column cell and those that the grid varies.
func varying(run *store.Stored) (*table.Table, error) {
	t, err := Settings(run)
	if err != nil {
		return nil, err
	}
	return t.Select(append([]string{"cell"}, run.Manifest.Axes...)...)
}

// needSteps reports whether a measure looks at steps, which the run must have then.
func needSteps(run *store.Stored, measures []measure.Measure) (bool, error) {
	for _, m := range measures {
		if !m.Steps {
			continue
		}
		if !run.Manifest.Ledger {
			return false, fault.New(fault.Usage, op, m.Name, "it needs what happened at every step, and the run %s did not record that", run.Dir).
				Fix("run the sweep with record: ledger")
		}
		return true, nil
	}
	return false, nil
}

// eachCell calls visit with the samples of every cell that has some, in order.
func eachCell(run *store.Stored, steps bool, visit func(cell int, samples []trace.Sample) error) error {
	cell := -1
	var of []trace.Sample
	flush := func() error {
		if cell < 0 || len(of) == 0 {
			return nil
		}
		return visit(cell, of)
	}
	err := run.Records(steps, func(r *store.Record) error {
		if r.Cell != cell {
			if err := flush(); err != nil {
				return err
			}
			cell, of = r.Cell, nil
		}
		if r.Failure == "" {
			of = append(of, r.Trace)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return flush()
}

// Samples returns a row for every sample: cell, sample, what the grid varies,
// prompt_tokens, tokens (their number), text, stop, and the value of each measure
// for the sample by itself, null where it is not defined. Samples that failed have
// no row. Measures of whole sets are a usage error.
func Samples(run *store.Stored, names []string) (*table.Table, error) {
	measures, err := measure.NamedAll(names)
	if err != nil {
		return nil, err
	}
	for _, m := range measures {
		if m.Set {
			return nil, fault.New(fault.Usage, op, m.Name, "it is a measure of a set of samples, and a single one has no value").Fix("ask for it by cell")
		}
	}
	steps, err := needSteps(run, measures)
	if err != nil {
		return nil, err
	}
	var cells, samples, prompt, tokens []int64
	var texts, stops []string
	err = run.Records(false, func(r *store.Record) error {
		if r.Failure == "" {
			cells, samples, prompt, tokens = append(cells, int64(r.Cell)), append(samples, int64(r.Sample)), append(prompt, int64(r.PromptTokens)), append(tokens, int64(len(r.Trace.Tokens)))
			texts, stops = append(texts, r.Trace.Text), append(stops, r.Trace.Stop.Reason)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	values := make([][]float64, len(measures))
	if len(measures) > 0 {
		err = eachCell(run, steps, func(cell int, list []trace.Sample) error {
			for i, m := range measures {
				v, err := m.Each(list)
				if err != nil {
					return err
				}
				values[i] = append(values[i], v...)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	columns := []table.Named{{Name: "cell", Column: table.Of(cells)}, {Name: "sample", Column: table.Of(samples)}, {Name: "prompt_tokens", Column: table.Of(prompt)},
		{Name: "tokens", Column: table.Of(tokens)}, {Name: "text", Column: table.Of(texts)}, {Name: "stop", Column: table.Of(stops)}}
	for i, m := range measures {
		c, err := numbers(values[i])
		if err != nil {
			return nil, err
		}
		columns = append(columns, table.Named{Name: m.Name, Column: c})
	}
	return beside(run, columns)
}

// numbers returns a column in which NaN is null.
func numbers(v []float64) (*table.Column, error) {
	null := make([]bool, len(v))
	for i, x := range v {
		null[i] = math.IsNaN(x)
	}
	return table.OfNullable(v, null)
}

// beside returns the columns with those that the grid varies behind the cell.
func beside(run *store.Stored, columns []table.Named) (*table.Table, error) {
	t, err := table.New(columns...)
	if err != nil {
		return nil, err
	}
	axes, err := varying(run)
	if err != nil {
		return nil, err
	}
	return axes.Join(t, table.Join{On: []string{"cell"}})
}

// Steps returns steps.parquet with what the grid varies beside the cell, and
// Stages stages.parquet. The run must be complete and have recorded them.
func Steps(run *store.Stored) (*table.Table, error) { return recorded(run, store.StepsFile) }

// Stages is like [Steps].
func Stages(run *store.Stored) (*table.Table, error) { return recorded(run, store.StagesFile) }

func recorded(run *store.Stored, file string) (*table.Table, error) {
	_, _, state, err := run.Progress()
	switch {
	case err != nil:
		return nil, err
	case !run.Manifest.Ledger:
		return nil, fault.New(fault.Usage, op, run.Dir, "it did not record what happened at every step").Fix("run the sweep with record: ledger")
	case state != store.Complete:
		return nil, fault.New(fault.Usage, op, run.Dir, "it is not complete, and has no tables yet").Fix("run the sweep again, it goes on where it stopped")
	}
	t, err := table.ReadFile(filepath.Join(run.Dir, file), table.CSV{})
	if err != nil {
		return nil, err
	}
	axes, err := varying(run)
	if err != nil {
		return nil, err
	}
	return axes.Join(t, table.Join{On: []string{"cell"}})
}
