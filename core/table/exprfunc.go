package table

import (
	"go/token"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"lab/core/fault"
)

// mathFunctions are those of one number. Outside of their domain they are NaN.
var mathFunctions = map[string]func(float64) float64{
	"log2": math.Log2, "ln": math.Log, "log10": math.Log10, "exp": math.Exp, "exp2": math.Exp2, "sqrt": math.Sqrt,
	"round": math.RoundToEven, "floor": math.Floor, "ceil": math.Ceil,
}

var functionNames = []string{"abs", "ceil", "coalesce", "col", "exp", "exp2", "float", "floor", "int", "is_nan", "is_null", "len",
	"ln", "log10", "log2", "max", "min", "pow", "round", "sqrt", "string", "where"}

// Functions returns the functions of an expression (see [Table.Evaluate]).
//
//   - log2, ln, log10, exp, exp2, sqrt, round (halves to even), floor, ceil, pow(x, y):
//     floats of numbers; abs keeps ints;
//   - min(x, y, …), max(x, y, …): of numbers, NaN when one is;
//   - where(condition, x, y): x where the condition holds, y where it does not or is null;
//   - coalesce(x, y): x, or y where x is null; is_null(x); is_nan(x);
//   - len(x): characters of text, bytes, or elements of a list;
//   - float(x), int(x), string(x): conversions; int cuts fractions off and refuses
//     what does not fit, text that is no number is an error;
//   - col("name"): a column whose name is no Go name.
func Functions() []string { return slices.Clone(functionNames) }

// function applies a function to its arguments.
func (e evaluation) function(name string, args []*Column) (*Column, error) {
	n := e.rows(args...)
	numbers := len(args) > 0
	for _, a := range args {
		numbers = numbers && a.Type().numeric()
	}
	switch f := mathFunctions[name]; {
	case f != nil:
		if len(args) != 1 || !numbers {
			return nil, wrongCall(name, name+"(number)", args)
		}
		return mapFloats(n, func(v []float64) float64 { return f(v[0]) }, args), nil
	case name == "abs" && len(args) == 1 && args[0].Type() == Int:
		negative, err := comparison("<", args[0], Of([]int64{0}), n)
		if err != nil {
			return nil, err
		}
		minus, err := unary(token.SUB, args[0])
		if err != nil {
			return nil, err
		}
		return choose(negative, minus, args[0], n), nil
	case name == "abs" && len(args) == 1 && numbers:
		return mapFloats(n, func(v []float64) float64 { return math.Abs(v[0]) }, args), nil
	case name == "pow" && len(args) == 2 && numbers:
		return mapFloats(n, func(v []float64) float64 { return math.Pow(v[0], v[1]) }, args), nil
	case (name == "min" || name == "max") && len(args) > 1 && numbers:
		return mapFloats(n, func(v []float64) float64 {
			out := v[0]
			for _, x := range v[1:] {
				if name == "min" {
					out = math.Min(out, x)
				} else {
					out = math.Max(out, x)
				}
			}
			return out
		}, args), nil
	case name == "where" && len(args) == 3 && args[0].Type() == Bool:
		x, y, err := alike(args[1], args[2])
		if err != nil {
			return nil, err
		}
		return choose(args[0], x, y, n), nil
	case name == "coalesce" && len(args) == 2:
		x, y, err := alike(args[0], args[1])
		if err != nil {
			return nil, err
		}
		return choose(isNull(x), y, x, n), nil
	case name == "is_null" && len(args) == 1:
		return isNull(args[0]), nil
	case name == "is_nan" && len(args) == 1 && args[0].Type() == Float:
		v := must[float64](args[0])
		out := make([]bool, len(v))
		for i, x := range v {
			out[i] = x != x
		}
		return nullable(out, args[0].null), nil
	case (name == "float" || name == "int" || name == "string" || name == "len") && len(args) == 1:
		return convert(name, args[0])
	}
	usage := map[string]string{"abs": "abs(number)", "pow": "pow(number, number)", "min": "min(number, number, …)", "max": "max(number, number, …)",
		"where": "where(bool, x, y)", "coalesce": "coalesce(x, y)", "is_null": "is_null(x)", "is_nan": "is_nan(float)", "float": "float(x)",
		"int": "int(x)", "string": "string(x)", "len": "len(x)", "col": "col(\"name\")"}[name]
	if usage == "" {
		return nil, fault.Unknown("", "function", name, functionNames)
	}
	return nil, wrongCall(name, usage, args)
}

func mapFloats(n int, f func([]float64) float64, args []*Column) *Column {
	in := make([][]float64, len(args))
	for k, a := range args {
		in[k] = must[float64](toFloat(a))
	}
	out, v := make([]float64, n), make([]float64, len(args))
	for i := range out {
		for k, a := range args {
			v[k] = in[k][at(a, i)]
		}
		out[i] = f(v)
	}
	return nullable(out, nullsOf(n, args...))
}

func isNull(c *Column) *Column {
	out := make([]bool, c.Len())
	for i := range out {
		out[i] = c.Null(i)
	}
	return Of(out)
}

// alike brings two columns to one type: ints beside floats become floats, and the
// constant null is of any type.
func alike(x, y *Column) (*Column, *Column, error) {
	if x == nothing {
		x = nullColumn(y.Type(), 1)
	}
	if y == nothing {
		y = nullColumn(x.Type(), 1)
	}
	if x.Type().numeric() && y.Type().numeric() && x.Type() != y.Type() {
		x, y = toFloat(x), toFloat(y)
	}
	if x.Type() != y.Type() {
		return nil, nil, unfit("a choice between types %s and %s", x.Type(), y.Type()).Fix("convert with float(x), int(x) or string(x)")
	}
	return x, y, nil
}

// choose takes x where the condition holds, and y elsewhere.
func choose(condition, x, y *Column, n int) *Column {
	rows, c := make([]int, n), must[bool](condition)
	for i := range rows {
		if k := at(condition, i); c[k] && !condition.Null(k) {
			rows[i] = at(x, i)
		} else {
			rows[i] = x.Len() + at(y, i)
		}
	}
	return concatColumns([]*Column{x, y}).Take(rows)
}

// convert is float, int, string and len.
func convert(name string, c *Column) (*Column, error) {
	in := make([]any, c.Len())
	for i := range in {
		if c.Null(i) {
			continue
		}
		v, ok := converted(name, c.At(i))
		if !ok {
			return nil, unfit("row %d: %s of %s %s", i, name, c.Type(), c.cell(i))
		}
		in[i] = v
	}
	kind := map[string]Type{"float": Float, "int": Int, "string": String, "len": Int}[name]
	return FromAnyAs("expression", name, in, kind)
}

func converted(name string, v any) (any, bool) {
	if name == "len" {
		switch x := v.(type) {
		case string:
			return int64(utf8.RuneCountInString(x)), true
		case []byte:
			return int64(len(x)), true
		case []int64:
			return int64(len(x)), true
		}
		return nil, false
	}
	switch x := v.(type) {
	case float64:
		switch name {
		case "float":
			return x, true
		case "int":
			return int64(x), x >= -(1<<63) && x < 1<<63
		}
		return strconv.FormatFloat(x, 'g', -1, 64), true
	case int64:
		switch name {
		case "float":
			return float64(x), true
		case "int":
			return x, true
		}
		return strconv.FormatInt(x, 10), true
	case bool:
		if name == "string" {
			return strconv.FormatBool(x), true
		}
		n := int64(0)
		if x {
			n = 1
		}
		if name == "float" {
			return float64(n), true
		}
		return n, true
	case string:
		switch name {
		case "string":
			return x, true
		case "int":
			n, err := strconv.ParseInt(x, 10, 64)
			return n, err == nil
		}
		f, err := strconv.ParseFloat(x, 64)
		return f, err == nil
	case []byte:
		return string(x), name == "string"
	}
	return nil, false
}
