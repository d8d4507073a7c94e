package results

import (
	"context"

	"lab/core/experiment"
	"lab/core/store"
	"lab/core/sweep"
	"lab/core/table"
)

// Replay returns a row for every sample of what a chain makes of the scores that a
// run kept ([sweep.Replay]): cell, what the grid varies, sample, steps (reached),
// left (the step at which the chain draws another token), recorded and drawn (the
// tokens there); the last three are null where it never does.
func Replay(ctx context.Context, session *experiment.Session, run *store.Stored, chain string) (*table.Table, error) {
	var cells, samples, steps, left, recorded, drawn []int64
	var never []bool
	err := sweep.Replay(ctx, session, run, chain, func(p sweep.Replayed) error {
		cells, samples, steps, left = append(cells, int64(p.Cell)), append(samples, int64(p.Sample)), append(steps, int64(len(p.Steps))), append(left, int64(p.Left))
		token := int32(0)
		if p.Left >= 0 {
			token = p.Steps[p.Left].Token
		}
		recorded, drawn, never = append(recorded, int64(p.Recorded)), append(drawn, int64(token)), append(never, p.Left < 0)
		return nil
	})
	if err != nil {
		return nil, err
	}
	columns := []table.Named{{Name: "cell", Column: table.Of(cells)}, {Name: "sample", Column: table.Of(samples)}, {Name: "steps", Column: table.Of(steps)}}
	for _, c := range []struct {
		name   string
		values []int64
	}{{"left", left}, {"recorded", recorded}, {"drawn", drawn}} {
		column, err := table.OfNullable(c.values, never)
		if err != nil {
			return nil, err
		}
		columns = append(columns, table.Named{Name: c.name, Column: column})
	}
	return beside(run, columns)
}
