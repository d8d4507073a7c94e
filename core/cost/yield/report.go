package yield

import (
	"math"
	"slices"
	"strings"

	"lab/core/fault"
	"lab/core/measure"
	"lab/core/table"
)

// columns collects the columns of a table, row by row.
type columns struct {
	names []string
	cells map[string][]any
	rows  int
}

// put sets a cell of the row under way; columns of which a row says nothing are null
// there.
func (c *columns) put(name string, v any) {
	list, ok := c.cells[name]
	if !ok {
		c.names = append(c.names, name)
	}
	for len(list) < c.rows {
		list = append(list, nil)
	}
	c.cells[name] = append(list, v)
}

func (c *columns) number(name string, v float64) {
	if math.IsNaN(v) {
		c.put(name, nil)
		return
	}
	c.put(name, v)
}

func (c *columns) estimate(name string, e *measure.Estimate) {
	if e == nil {
		return
	}
	c.number(name, e.Value)
	c.number(name+"_lo", e.Lo)
	c.number(name+"_hi", e.Hi)
}

// reserved reports whether a name is one of the table's own columns.
func reserved(name string) bool {
	base := strings.TrimSuffix(strings.TrimSuffix(name, "_lo"), "_hi")
	if slices.Contains([]string{"n", "prompts", "attempts", "failed", "quality", "useful", "tries", "front"}, base) {
		return true
	}
	for _, u := range unitNames {
		if base == u || base == "quality_per_"+u || base == u+"_until" || base == u+"_per_useful" || base == u+"_until_per_useful" {
			return true
		}
	}
	return false
}

// Table returns a row for each row of the report: the axes of its setting, n,
// prompts, attempts, failed, and x, x_lo, x_hi for quality, useful and tries and, of
// each unit u that is known, for u (n attempts), u_until, u_per_useful,
// u_until_per_useful and quality_per_u; then front. What is not known is null, and
// a column that would hold nothing is not there; a cost that nothing was ever useful
// for is infinite. An axis must not be called like another column.
func (r *Report) Table() (*table.Table, error) {
	c := &columns{cells: map[string][]any{}}
	for i := range r.Settings {
		for _, a := range r.Settings[i].Axes {
			if reserved(a.Name) {
				return nil, fault.New(fault.Usage, op, a.Name, "the run varies it, and the table has a column of that name").Fix("call it otherwise in the grid")
			}
		}
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		s := &r.Settings[row.Setting]
		for _, a := range s.Axes {
			c.put(a.Name, a.Value)
		}
		for _, n := range []struct {
			name string
			v    int
		}{{"n", row.N}, {"prompts", len(s.Prompts)}, {"attempts", s.Attempts()}, {"failed", s.Failed}} {
			c.put(n.name, int64(n.v))
		}
		c.estimate("quality", &row.Quality)
		c.estimate("useful", row.Useful)
		c.estimate("tries", row.Tries)
		for _, u := range Units() {
			a := row.Amounts[u]
			if a == nil {
				continue
			}
			c.estimate(u.String(), &a.Answer)
			c.estimate(u.String()+"_until", a.Until)
			c.estimate(u.String()+"_per_useful", a.PerUseful)
			c.estimate(u.String()+"_until_per_useful", a.UntilPerUseful)
			c.estimate("quality_per_"+u.String(), a.QualityPer)
		}
		if r.HasFront {
			c.put("front", row.Front)
		}
		c.rows++
	}
	named := make([]table.Named, len(c.names))
	for i, name := range c.names {
		list := c.cells[name]
		for len(list) < c.rows {
			list = append(list, nil)
		}
		column, err := table.FromAny(op, name, list)
		if err != nil {
			return nil, err
		}
		named[i] = table.Named{Name: name, Column: column}
	}
	return table.New(named...)
}
