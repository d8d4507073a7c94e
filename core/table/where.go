package table

import (
	"math"
	"slices"

	"lab/core/fault"
)

// Condition is a comparison of a column with a value.
type Condition struct {
	Column string
	Op     string // one of Operators
	// Value is a float64, int64, string, bool or []byte of the column's type (an
	// int64 also for a float column and the reverse), a []any of these for "in" and
	// "not_in", and a bool for "null".
	Value any
}

var operators = []string{"==", "!=", "<", "<=", ">", ">=", "in", "not_in", "null"}

// Operators returns the operators of a [Condition]. "null" with true holds where
// the column is null, and with false where it is not; no other one holds for null.
func Operators() []string { return slices.Clone(operators) }

// Where returns the rows for which all conditions hold. NaN is as in Go: only !=
// holds for it.
func (t *Table) Where(conditions ...Condition) (*Table, error) {
	keep := make([]bool, t.rows)
	for i := range keep {
		keep[i] = true
	}
	for _, cond := range conditions {
		c, err := t.column("filter", cond.Column)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(operators, cond.Op) {
			return nil, fault.Unknown("filter", "operator", cond.Op, operators)
		}
		holds, err := cond.test(c)
		if err != nil {
			return nil, err
		}
		for i := range keep {
			keep[i] = keep[i] && holds(i)
		}
	}
	return t.Filter(keep)
}

// test returns whether the condition holds in a row.
func (cond Condition) test(c *Column) (func(i int) bool, error) {
	switch cond.Op {
	case "null":
		want, ok := cond.Value.(bool)
		if !ok {
			return nil, fault.New(fault.Usage, "filter", subject(cond.Column), "null must be true or false")
		}
		return func(i int) bool { return c.Null(i) == want }, nil
	case "in", "not_in":
		list, ok := cond.Value.([]any)
		if !ok {
			return nil, fault.New(fault.Usage, "filter", subject(cond.Column), "%s needs a list", cond.Op)
		}
		tests := make([]func(int) bool, len(list))
		for k, v := range list {
			one, err := Condition{cond.Column, "==", v}.test(c)
			if err != nil {
				return nil, err
			}
			tests[k] = one
		}
		in := cond.Op == "in"
		return func(i int) bool {
			return !c.Null(i) && slices.ContainsFunc(tests, func(f func(int) bool) bool { return f(i) }) == in
		}, nil
	}
	order, err := cond.against(c)
	if err != nil {
		return nil, err
	}
	return func(i int) bool { return !c.Null(i) && satisfies(cond.Op, order(i)) }, nil
}

// unordered is the result of comparing with NaN.
const unordered = 2

// satisfies reports whether an order of -1, 0, 1 or unordered is what op asks for.
func satisfies(op string, order int) bool {
	switch op {
	case "==":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order == -1
	case "<=":
		return order == -1 || order == 0
	case ">":
		return order == 1
	}
	return order == 0 || order == 1
}

// numberOrder compares two numbers.
func numberOrder(a, b float64) int {
	if a != a || b != b {
		return unordered
	}
	return compareFloats(a, b)
}

// against returns how the value of a row compares with the condition's.
func (cond Condition) against(c *Column) (func(i int) int, error) {
	switch x := c.data.(type) {
	case values[float64]:
		switch v := cond.Value.(type) {
		case float64:
			return func(i int) int { return numberOrder(x.v[i], v) }, nil
		case int64:
			return func(i int) int {
				if order := intFloatOrder(v, x.v[i]); order != unordered {
					return -order
				}
				return unordered
			}, nil
		}
	case values[int64]:
		switch v := cond.Value.(type) {
		case float64:
			return func(i int) int { return intFloatOrder(x.v[i], v) }, nil
		case int64:
			return func(i int) int { return ints.compare(x.v[i], v) }, nil
		}
	case values[string]:
		if v, ok := cond.Value.(string); ok {
			return func(i int) int { return texts.compare(x.v[i], v) }, nil
		}
	case values[bool]:
		if v, ok := cond.Value.(bool); ok {
			return func(i int) int { return compareBools(x.v[i], v) }, nil
		}
	case values[[]byte]:
		if v, ok := cond.Value.([]byte); ok {
			return func(i int) int { return blobs.compare(x.v[i], v) }, nil
		}
	case values[[]int64]:
		return nil, typeError("filter", cond.Column, c.Type(), "a type that compares with a value").Fix("filter with a function")
	}
	if cond.Value == nil {
		return nil, fault.New(fault.Usage, "filter", subject(cond.Column), "nothing equals null").Fix("write {null: true}")
	}
	return nil, fault.New(fault.Usage, "filter", subject(cond.Column), "its type is %s, which does not compare with a value of type %s", c.Type(), goType(cond.Value))
}

// intFloatOrder compares exactly, also beyond 2^53.
func intFloatOrder(a int64, b float64) int {
	switch {
	case b != b:
		return unordered
	case b >= 1<<63:
		return -1
	case b < -(1 << 63):
		return 1
	}
	whole := math.Floor(b)
	if order := ints.compare(a, int64(whole)); order != 0 {
		return order
	}
	if b > whole {
		return -1
	}
	return 0
}

// goType names the type of a Go value in the words of this package.
func goType(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case float64:
		return Float.String()
	case int64:
		return Int.String()
	case string:
		return String.String()
	case bool:
		return Bool.String()
	case []byte:
		return Bytes.String()
	case []any, []int64:
		return "list"
	case map[string]any:
		return "map"
	}
	return "another kind"
}
