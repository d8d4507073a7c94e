package table

import (
	"slices"

	"lab/core/fault"
)

// Key is a column to sort by.
type Key struct {
	Column     string
	Descending bool
}

// Sort returns the rows ordered by the keys, the first one first. Rows that are
// equal in all keys stay in their order. Text is ordered by its bytes, false is
// before true, lists by their first difference. In both directions NaN comes
// behind the numbers and null behind NaN.
func (t *Table) Sort(keys ...Key) (*Table, error) {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.Column
	}
	if len(keys) == 0 {
		return nil, fault.New(fault.Usage, "sort", "", "no column to sort by")
	}
	cols, err := t.columns("sort", names)
	if err != nil {
		return nil, err
	}
	rows := allRows(t.rows)
	if v, ok := Values[float64](cols[0]); ok && len(keys) == 1 && cols[0].null == nil { // the common case, without indirection
		sign := 1
		if keys[0].Descending {
			sign = -1
		}
		slices.SortStableFunc(rows, func(i, j int) int {
			switch a, b := v[i], v[j]; {
			case a < b:
				return -sign
			case a > b:
				return sign
			case a == b:
				return 0
			default: // NaN behind the numbers
				return compareBools(a != a, b != b)
			}
		})
		return t.take(rows), nil
	}
	slices.SortStableFunc(rows, func(i, j int) int {
		for k, c := range cols {
			order := c.compare(i, j)
			if keys[k].Descending && !c.missing(i) && !c.missing(j) {
				order = -order
			}
			if order != 0 {
				return order
			}
		}
		return 0
	})
	return t.take(rows), nil
}

func allRows(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}
