package table

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"strconv"

	"lab/core/fault"
)

// maxExpression bounds the text of an expression.
const maxExpression = 4096

// Evaluate returns the column that an expression of columns makes, for all rows at
// once: "log2(p) * -1", "n > 3 && !done", "where(x < 0, 0, x)".
//
// It is written as in Go: numbers, "text", true, false, null; the names of columns,
// col("any name") for those that are no Go names; + - * / % == != < <= > >= && || !
// and parentheses; the functions of [Functions]. Ints stay ints under + - * %, where
// an overflow or a division by zero is an error; / is always a float; an int beside a
// float becomes one. + joins texts. The result for null is null, but for && and ||
// where the other side decides (false && null is false).
func (t *Table) Evaluate(text string) (*Column, error) {
	const op = "expression"
	if len(text) > maxExpression {
		return nil, fault.New(fault.Usage, op, "", "%d characters, more than %d", len(text), maxExpression)
	}
	tree, err := parser.ParseExpr(text)
	if err != nil {
		message := err.Error()
		if list, ok := err.(scanner.ErrorList); ok && len(list) > 0 {
			message = list[0].Msg
		}
		return nil, fault.New(fault.Usage, op, fault.Quote(text, 60), "%s", message)
	}
	e := evaluation{t}
	out, err := e.value(tree)
	if err != nil {
		return nil, fault.Wrap(err, fault.Usage, op, fault.Quote(text, 60))
	}
	if out.Len() != t.rows { // a constant
		out = out.Take(make([]int, t.rows))
	}
	return out, nil
}

// nothing is the constant null.
var nothing = nullColumn(Float, 1)

// evaluation computes trees over the rows of a table. A constant is a column of one
// row, which stands for all; so is every column of a table of one row.
type evaluation struct{ t *Table }

func unfit(format string, args ...any) *fault.Error {
	return fault.New(fault.Usage, "", "", format, args...)
}

func (e evaluation) value(tree ast.Expr) (*Column, error) {
	switch x := tree.(type) {
	case *ast.ParenExpr:
		return e.value(x.X)
	case *ast.BasicLit:
		return literal(x)
	case *ast.Ident:
		return e.name(x.Name)
	case *ast.UnaryExpr:
		v, err := e.value(x.X)
		if err != nil {
			return nil, err
		}
		return unary(x.Op, v)
	case *ast.BinaryExpr:
		a, err := e.value(x.X)
		if err != nil {
			return nil, err
		}
		b, err := e.value(x.Y)
		if err != nil {
			return nil, err
		}
		return e.binary(x.Op, a, b)
	case *ast.CallExpr:
		return e.call(x)
	}
	return nil, unfit("it holds something that is no value, operator or call")
}

func (e evaluation) name(name string) (*Column, error) {
	if e.t.Has(name) {
		return e.t.cols[e.t.at[name]], nil
	}
	switch name {
	case "true", "false":
		return Of([]bool{name == "true"}), nil
	case "null":
		return nothing, nil
	}
	return nil, fault.Unknown("", "column", name, e.t.names)
}

func literal(x *ast.BasicLit) (*Column, error) {
	switch x.Kind {
	case token.INT:
		n, err := strconv.ParseInt(x.Value, 0, 64)
		if err != nil {
			return nil, unfit("%s does not fit an int of 64 bits", x.Value)
		}
		return Of([]int64{n}), nil
	case token.FLOAT:
		v, err := strconv.ParseFloat(x.Value, 64)
		if err != nil {
			return nil, unfit("%s is no float of 64 bits", x.Value)
		}
		return Of([]float64{v}), nil
	case token.STRING:
		s, err := strconv.Unquote(x.Value)
		if err != nil {
			return nil, unfit("%s is no text", x.Value)
		}
		return Of([]string{s}), nil
	}
	return nil, unfit("%s is no number or text", x.Value)
}

// call evaluates a function of expr functions, or col("name").
func (e evaluation) call(x *ast.CallExpr) (*Column, error) {
	id, ok := x.Fun.(*ast.Ident)
	if !ok {
		return nil, unfit("something is called that is no function")
	}
	if id.Name == "col" && len(x.Args) == 1 {
		if lit, ok := x.Args[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
			name, err := strconv.Unquote(lit.Value)
			if err != nil {
				return nil, unfit("%s is no text", lit.Value)
			}
			return e.t.column("", name)
		}
	}
	args := make([]*Column, len(x.Args))
	for i, a := range x.Args {
		v, err := e.value(a)
		if err != nil {
			return nil, err
		}
		args[i] = v
	}
	return e.function(id.Name, args)
}

// rows returns the number of rows of a result: 1 when all are constants.
func (e evaluation) rows(args ...*Column) int {
	for _, a := range args {
		if a.Len() != 1 {
			return a.Len()
		}
	}
	return 1
}

// at returns the index of row i in a column or constant.
func at(c *Column, i int) int {
	if c.Len() == 1 {
		return 0
	}
	return i
}

// nullsOf marks the rows in which one of the arguments is null.
func nullsOf(n int, args ...*Column) bitmap {
	var out bitmap
	for _, a := range args {
		if a.null == nil {
			continue
		}
		if out == nil {
			out = newBitmap(n)
		}
		for i := range n {
			if a.null.get(at(a, i)) {
				out.set(i)
			}
		}
	}
	return out
}

// toFloat returns a numeric column as floats.
func toFloat(c *Column) *Column {
	v, ok := Values[int64](c)
	if !ok {
		return c
	}
	out := make([]float64, len(v))
	for i, n := range v {
		out[i] = float64(n)
	}
	return &Column{data: vectorOf(out), null: c.null}
}
