package script_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"lab/core/fault"
	"lab/core/script"
	"lab/core/script/scripttest"
)

type wordKey struct{}

// rowsKit has what host modules that hand rows of numbers to functions need.
func rowsKit() script.Module {
	f := script.Param{Name: "f", Type: script.Callback(), Meaning: "a function"}
	word := func(c *script.Call) string {
		w, _ := c.Context().Value(wordKey{}).(string)
		return w
	}
	return script.Module{Name: "rows", Doc: "Test functions.", Members: []script.Member{
		{Name: "word", Get: func(c *script.Call) (any, error) { return word(c), nil }},
		{Name: "with_word", Params: []script.Param{{Name: "word", Type: script.String()}, f}, Func: func(c *script.Call) (any, error) {
			return c.Func("f").Call(context.WithValue(c.Context(), wordKey{}, c.String("word")))
		}},
		{Name: "place", Params: []script.Param{f}, Func: func(c *script.Call) (any, error) {
			source, ok := c.Func("f").Source()
			return fmt.Sprintf("%v %s %v %d", c.Func("f").Position(), source.Path, ok, len(source.SHA256)), nil
		}},
		{Name: "blame", Params: []script.Param{f}, Func: func(c *script.Call) (any, error) {
			return nil, fault.Wrap(c.Func("f").Fault(fault.New(fault.Plugin, "", "", "its answer is 5")), fault.Plugin, "stage 1", "")
		}},
		{Name: "blame_limit", Params: []script.Param{f}, Func: func(c *script.Call) (any, error) {
			return nil, c.Func("f").Fault(fault.New(fault.Limit, "", "", "too late"))
		}},
		{Name: "sum", Params: []script.Param{{Name: "x", Type: script.Numbers()}}, Func: func(c *script.Call) (any, error) {
			sum := 0.0
			for _, x := range script.Arg[[]float64](c, "x") {
				sum += x
			}
			return sum, nil
		}},
		{Name: "number", Params: []script.Param{{Name: "x", Type: script.Number()}}, Func: func(c *script.Call) (any, error) { return c.Float("x"), nil }},
		{Name: "floats", Get: func(*script.Call) (any, error) { return []float64{0.5, math.Inf(-1)}, nil }},
		{Name: "ints", Get: func(*script.Call) (any, error) { return []int32{3, -1}, nil }},
		{Name: "record", Get: func(*script.Call) (any, error) {
			return script.Record{Name: "settings", Fields: map[string]any{"share": 0.5, "name": "x"}}, nil
		}},
	}}
}

func TestRowsOfNumbers(t *testing.T) {
	rows := []struct{ name, src, want string }{
		{"lists of floats", `a := rows.floats; a[0] += 1; print(a[0], rows.floats[0], a[1] < 0, type_name(a))`, "1.5 0.5 true array\n"},
		{"lists of ints", `a := rows.ints; print(a[0] + 1, a[1], len(a))`, "4 -1 2\n"},
		{"ints and floats are numbers", `print(rows.sum([1, 2.5]), rows.sum(immutable([1])), rows.sum([]))`, "3.5 1 0\n"},
		{"infinite numbers too", `print(rows.sum([1, rows.floats[1]]) < 0, rows.number(rows.floats[1]) < 0, rows.number(3))`, "true true 3\n"},
		{"a record is read by name, in the order of names", `r := rows.record; print(r.share, r.name); for k, v in r { print(k, v) }`, "0.5 x\nname x\nshare 0.5\n"},
		{"a function is at its first statement", `print(rows.place(func(x) {
  return x + 1 }))`, "test.tengo:3:3 test.tengo true 64\n"},
		{"a host function is nowhere", `print(rows.place(print))`, "-  false 0\n"},
		{"values of a context reach what the function calls", `f := func() { return rows.word }
			print(rows.word == "", rows.with_word("a", f), rows.with_word("a", func() { return rows.with_word("b", f) + rows.word }), rows.word == "")`,
			"true a ba true\n"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			scripttest.Run(t, "rows := import(\"rows\")\n"+r.src, rowsKit()).Printed(t, r.want)
		})
	}
}

func TestRowsThatAreWrong(t *testing.T) {
	rows := []struct {
		name, src string
		kind      fault.Kind
		want      string
	}{
		{"not a list", `rows.sum(3)`, fault.Script, "argument 1 (x): expected list of number, got int 3"},
		{"a text in a list", `rows.sum([1, "2"])`, fault.Script, `element 1: expected number, got`},
		{"a hole in a list", `rows.sum([1, undefined])`, fault.Script, `element 1 is undefined, expected number`},
		{"not a number", `rows.number("1")`, fault.Script, "expected number"},
		{"a member that a record lacks", `rows.record.shar`, fault.Script, `settings: unknown member "shar"; did you mean "share"?`},
		{"a record is not written to", `r := rows.record; r.share = 1`, fault.Script, "not index-assignable"},
		{"what a host finds wrong is at the function", "rows.blame(func() {\n  return 5 })", fault.Script, "script: test.tengo:3:3: stage 1: its answer is 5"},
		{"a limit is not the function's", "rows.blame_limit(func() {\n  return 5 })", fault.Limit, "script: test.tengo:2:1: too late"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			res := scripttest.Run(t, "rows := import(\"rows\")\n"+r.src, rowsKit())
			if res.Err == nil || fault.KindOf(res.Err) != r.kind || !strings.Contains(res.Err.Error(), r.want) {
				t.Errorf("kind %v, %v", fault.KindOf(res.Err), res.Err)
			}
			var e *fault.Error
			if !errors.As(res.Err, &e) {
				t.Errorf("a %T", res.Err)
			}
		})
	}
}
