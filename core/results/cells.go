package results

import (
	"lab/core/measure"
	"lab/core/store"
	"lab/core/table"
	"lab/core/trace"
)

// Estimates are measures of the cells of a run with what is known about their
// errors.
type Estimates struct {
	Measures []measure.Measure
	Cells    []CellEstimates // those that have samples, in their order
}

// CellEstimates are the measures of one cell.
type CellEstimates struct {
	Cell    int
	Samples int                // that did not fail
	Of      []measure.Estimate // in the order of Estimates.Measures
}

// Estimate measures every cell of a run that has samples: all that is known about
// the numbers of [Cells].
func Estimate(run *store.Stored, names []string, iv measure.Interval) (*Estimates, error) {
	measures, err := measure.NamedAll(names)
	if err != nil {
		return nil, err
	}
	steps, err := needSteps(run, measures)
	if err != nil {
		return nil, err
	}
	out := &Estimates{Measures: measures}
	err = eachCell(run, steps, func(cell int, list []trace.Sample) error {
		c := CellEstimates{Cell: cell, Samples: len(list), Of: make([]measure.Estimate, len(measures))}
		for i, m := range measures {
			if c.Of[i], err = m.Estimate(list, iv); err != nil {
				return err
			}
		}
		out.Cells = append(out.Cells, c)
		return nil
	})
	return out, err
}

// Cells returns a row for every cell that has samples: cell, what the grid varies,
// samples (their number), and for each measure x the columns x, x_lo, x_hi, the
// interval, and x_n, the samples it was made from; null where they are not known.
func Cells(run *store.Stored, names []string, iv measure.Interval) (*table.Table, error) {
	est, err := Estimate(run, names, iv)
	if err != nil {
		return nil, err
	}
	var cells, counts []int64
	for _, c := range est.Cells {
		cells, counts = append(cells, int64(c.Cell)), append(counts, int64(c.Samples))
	}
	columns := []table.Named{{Name: "cell", Column: table.Of(cells)}, {Name: "samples", Column: table.Of(counts)}}
	for i, m := range est.Measures {
		parts := map[string][]float64{}
		n := make([]int64, len(cells))
		for j, c := range est.Cells {
			e := c.Of[i]
			parts[""], parts["_lo"], parts["_hi"] = append(parts[""], e.Value), append(parts["_lo"], e.Lo), append(parts["_hi"], e.Hi)
			n[j] = int64(e.N)
		}
		for _, end := range []string{"", "_lo", "_hi"} {
			c, err := numbers(parts[end])
			if err != nil {
				return nil, err
			}
			columns = append(columns, table.Named{Name: m.Name + end, Column: c})
		}
		columns = append(columns, table.Named{Name: m.Name + "_n", Column: table.Of(n)})
	}
	return beside(run, columns)
}
