package table

import (
	"math"
	"slices"

	"lab/core/fault"
)

// Aggregation makes one column of a row per group.
type Aggregation struct {
	Name     string  // of the new column
	Function string  // one of Aggregations
	Column   string  // what it is computed from; "" only for count
	Q        float64 // of quantile, in [0, 1]
	// Custom, when it is set, is used in place of Function: it is given the rows of
	// the group of its column and returns a Go value as [FromAny] takes.
	Custom func(group *Column) (any, error)
}

var aggregations = []string{"count", "sum", "mean", "sd", "var", "min", "max", "median", "quantile", "first", "last", "list", "unique"}

// Aggregations returns the functions of an [Aggregation].
//
//   - count: rows without a column, values that are not null with one;
//   - sum: an int for ints, where an overflow is an error, and 0 of no values;
//   - mean, var, sd: of no values null; the variance divides by n-1 and is null for
//     one value;
//   - min, max: of any type but ints, null of no values, NaN when there is one;
//   - median, quantile: linear between order statistics (type 7 of Hyndman and Fan,
//     "Sample quantiles in statistical packages", 1996), null of no values;
//   - first, last: the value in the first and last row, null included;
//   - list: the ints of the group as one list; a null among them is an error;
//   - unique: the number of different values that are not null.
//
// All but first and last leave nulls out. Numbers are float, int or bool.
func Aggregations() []string { return slices.Clone(aggregations) }

// Aggregate returns the keys of the groups with a column per aggregation.
func (g *Group) Aggregate(list ...Aggregation) (*Table, error) {
	keys, err := g.Keys()
	if err != nil {
		return nil, err
	}
	names, cols := keys.Names(), slices.Clone(keys.cols)
	for _, a := range list {
		c, err := g.aggregate(a)
		if err != nil {
			return nil, err
		}
		names, cols = append(names, a.Name), append(cols, c)
	}
	return build("group", names, cols)
}

func (g *Group) aggregate(a Aggregation) (*Column, error) {
	if a.Custom == nil && !slices.Contains(aggregations, a.Function) {
		return nil, fault.Unknown("group", "aggregation", a.Function, aggregations)
	}
	if a.Column == "" && a.Function == "count" && a.Custom == nil {
		n := make([]int64, g.Len())
		for i := range n {
			n[i] = int64(len(g.Rows(i)))
		}
		return Of(n), nil
	}
	c, err := g.table.column("group", a.Column)
	if err != nil {
		return nil, err
	}
	switch {
	case a.Custom != nil:
		return g.custom(a, c)
	case a.Function == "count":
		return g.count(c), nil
	case a.Function == "unique":
		return g.different(c), nil
	case a.Function == "first", a.Function == "last", a.Function == "min", a.Function == "max":
		return g.pick(a, c)
	case a.Function == "list":
		return g.list(a, c)
	case a.Function == "sum" && c.Type() == Int:
		return g.sumInts(a, c)
	}
	if a.Function == "quantile" && !(a.Q >= 0 && a.Q <= 1) {
		return nil, fault.New(fault.Usage, "group", subject(a.Column), "quantile %g is outside [0, 1]", a.Q)
	}
	if a.Function == "median" {
		a.Q = 0.5
	}
	return g.numbers(a, c)
}

func (g *Group) custom(a Aggregation, c *Column) (*Column, error) {
	out := make([]any, g.Len())
	for i := range out {
		v, err := a.Custom(c.Take(g.Rows(i)))
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return FromAny("group", a.Name, out)
}

func (g *Group) count(c *Column) *Column {
	n := make([]int64, g.Len())
	for i := range n {
		for _, r := range g.Rows(i) {
			if !c.Null(r) {
				n[i]++
			}
		}
	}
	return Of(n)
}

func (g *Group) different(c *Column) *Column {
	codes := c.data.codes(c.null)
	seen := make([]int, codes.count) // the group that had it last, plus 1
	n := make([]int64, g.Len())
	for i := range n {
		for _, r := range g.Rows(i) {
			if !c.Null(r) && seen[codes.of[r]] != i+1 {
				seen[codes.of[r]] = i + 1
				n[i]++
			}
		}
	}
	return Of(n)
}

// pick is the aggregations that are one of the values.
func (g *Group) pick(a Aggregation, c *Column) (*Column, error) {
	extreme := a.Function == "min" || a.Function == "max"
	if extreme && c.Type() == Ints {
		return nil, typeError("group", a.Column, c.Type(), "a type with one value in a row")
	}
	rows := make([]int, g.Len())
	for i := range rows {
		rows[i] = -1
		in := g.Rows(i)
		switch {
		case len(in) == 0:
		case a.Function == "first":
			rows[i] = in[0]
		case a.Function == "last":
			rows[i] = in[len(in)-1]
		default:
			rows[i] = c.extreme(in, a.Function == "max")
		}
	}
	return c.Take(rows), nil
}

// extreme returns the first row of the smallest or largest value, that of a NaN
// if there is one, or -1.
func (c *Column) extreme(rows []int, largest bool) int {
	best := -1
	for _, r := range rows {
		switch {
		case c.Null(r):
			continue
		case c.missing(r):
			return r
		case best < 0:
			best = r
			continue
		}
		if order := c.data.compare(r, best); order < 0 && !largest || order > 0 && largest {
			best = r
		}
	}
	return best
}

func (g *Group) list(a Aggregation, c *Column) (*Column, error) {
	v, ok := Values[int64](c)
	if !ok {
		return nil, typeError("group", a.Column, c.Type(), "int")
	}
	out := make([][]int64, g.Len())
	for i := range out {
		out[i] = make([]int64, 0, len(g.Rows(i)))
		for _, r := range g.Rows(i) {
			if c.Null(r) {
				return nil, fault.New(fault.Usage, "group", subject(a.Column), "row %d is null, which a list cannot hold", r).Fix("filter with {null: false} first")
			}
			out[i] = append(out[i], v[r])
		}
	}
	return Of(out), nil
}

func (g *Group) sumInts(a Aggregation, c *Column) (*Column, error) {
	v := must[int64](c) // 0 where null
	out := make([]int64, g.Len())
	for i := range out {
		for _, r := range g.Rows(i) {
			sum := out[i] + v[r]
			if (sum > out[i]) != (v[r] > 0) && v[r] != 0 {
				return nil, fault.New(fault.Usage, "group", subject(a.Column), "the sum of group %d does not fit an int of 64 bits", i).
					Fix("derive a float column first")
			}
			out[i] = sum
		}
	}
	return Of(out), nil
}

// numbers is the aggregations that make a float of numbers.
func (g *Group) numbers(a Aggregation, c *Column) (*Column, error) {
	if t := c.Type(); !t.numeric() && t != Bool {
		return nil, typeError("group", a.Column, t, "float, int or bool for "+a.Function)
	}
	out, null := make([]float64, g.Len()), newBitmap(g.Len())
	plain, isFloat := Values[float64](c)
	for i := range out {
		var v []float64
		if rows := g.Rows(i); isFloat && c.null == nil && a.Function == "mean" { // the common case, without a copy
			if len(rows) == 0 {
				null.set(i)
				continue
			}
			sum := 0.0
			for _, r := range rows {
				sum += plain[r]
			}
			out[i] = sum / float64(len(rows))
			continue
		}
		v, _, _ = c.Numbers(g.Rows(i))
		x, ok := number(a, v)
		if !ok {
			null.set(i)
		}
		out[i] = x
	}
	return nullable(out, null), nil
}

// number computes an aggregation; ok is false when it is not defined.
func number(a Aggregation, v []float64) (x float64, ok bool) {
	sum := 0.0
	for _, y := range v {
		sum += y
	}
	n := float64(len(v))
	switch a.Function {
	case "sum":
		return sum, true
	case "mean":
		return sum / n, n > 0
	case "var", "sd":
		if n < 2 {
			return 0, false
		}
		// The corrected two-pass algorithm: Chan, Golub and LeVeque, "Algorithms for
		// computing the sample variance", 1983, equation 1.7.
		mean, squares, rest := sum/n, 0.0, 0.0
		for _, y := range v {
			squares += (y - mean) * (y - mean)
			rest += y - mean
		}
		variance := (squares - rest*rest/n) / (n - 1)
		if a.Function == "sd" {
			return math.Sqrt(variance), true
		}
		return variance, true
	}
	return quantile(v, a.Q)
}

// quantile sorts v, which the caller owns. At whole positions it is the value
// there, so that infinities beside it do not make NaN.
func quantile(v []float64, q float64) (float64, bool) {
	if len(v) == 0 {
		return 0, false
	}
	slices.SortFunc(v, compareFloats)
	if last := v[len(v)-1]; last != last {
		return last, true
	}
	at := q * float64(len(v)-1)
	low := int(at)
	part := at - float64(low)
	if part == 0 || v[low] == v[low+1] {
		return v[low], true
	}
	return v[low]*(1-part) + v[low+1]*part, true
}
