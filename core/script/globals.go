package script

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/d5/tengo/v2"

	"lab/core/fault"
)

// maxRange bounds range(): longer lists are better written as a loop.
const maxRange = 10_000_000

// anything accepts every value, undefined included, unconverted.
func anything() Type {
	return Type{label: named("any value"), takesMap: true, take: func(_ *Session, o tengo.Object) (any, string) { return o, "" }}
}

// Globals returns the functions that every script and every imported file can
// call without an import.
func Globals() []Member {
	value := func(name, meaning string) Param { return Param{Name: name, Type: anything(), Meaning: meaning} }
	return []Member{
		{
			Name: "print", Doc: "Writes the values with a space between them, and a new line.",
			Params: []Param{value("values", "what to write; strings are written bare, maps with their keys sorted")}, Variadic: true,
			Func: func(c *Call) (any, error) {
				parts := make([]string, len(c.rest))
				for i, v := range c.rest {
					t, err := text(v.(tengo.Object))
					if err != nil {
						return nil, err
					}
					parts[i] = t
				}
				return nil, c.s.write(strings.Join(parts, " ") + "\n")
			},
		},
		{
			Name: "say", Doc: "Writes a text with its {} filled in by the values in turn, and a new line.",
			Params: []Param{
				{Name: "format", Type: String(), Meaning: "text with {} or {:.3f}, {:>8}, {:6.1f}, {:d}, {:x}, {:%}; {{ and }} are braces"},
				value("values", "one for each {}"),
			}, Variadic: true,
			Func: func(c *Call) (any, error) {
				args := make([]tengo.Object, len(c.rest))
				for i, v := range c.rest {
					args[i] = v.(tengo.Object)
				}
				line, err := fill(c.String("format"), args)
				if err != nil {
					return nil, err
				}
				return nil, c.s.write(line + "\n")
			},
		},
		{
			Name: "show", Doc: "Shows each value as the end of a notebook cell does: a figure as a picture, a table as a table; without a notebook it prints them, one a line.",
			Params: []Param{value("values", "what to show")}, Variadic: true, Func: show,
		},
		{
			Name: "fail", Doc: "Ends the script, or the try around it, with an error.",
			Params: []Param{value("message", "what went wrong")},
			Func: func(c *Call) (any, error) {
				return nil, fault.New(fault.Script, "", "", "%s", brief(c.Any("message").(tengo.Object)))
			},
		},
		{
			Name: "assert", Doc: "Fails when the condition is false.",
			Params: []Param{
				{Name: "condition", Type: Bool(), Meaning: "what must hold"},
				{Name: "message", Type: anything(), Optional: true, Meaning: "what to say when it does not"},
			},
			Func: func(c *Call) (any, error) {
				switch {
				case c.Bool("condition"):
					return nil, nil
				case c.Given("message"):
					return nil, fault.New(fault.Script, "", "", "assertion failed: %s", brief(c.Any("message").(tengo.Object)))
				}
				return nil, fault.New(fault.Script, "", "", "assertion failed")
			},
		},
		{
			Name: "try", Doc: "Calls a function and returns its result, or an error value when it fails: is_error(r) tells, r.value is the message. An interrupt is not caught.",
			Params: []Param{
				{Name: "fn", Type: Callback(), Meaning: "what to call"},
				value("args", "what to call it with"),
			}, Variadic: true,
			Func: try,
		},
		{
			Name: "must", Doc: "Returns the value, and fails when it is an error value or undefined.",
			Params: []Param{value("value", "what to check")},
			Func: func(c *Call) (any, error) {
				switch o := c.Any("value").(tengo.Object).(type) {
				case *tengo.Error:
					return nil, fault.New(fault.Script, "", "", "%s", brief(o.Value))
				case *tengo.Undefined:
					return nil, fault.New(fault.Script, "", "", "the value is undefined")
				default:
					return o, nil
				}
			},
		},
		{
			Name: "near", Doc: "Reports whether two numbers differ by at most the tolerance; == holds between an int and a float never. NaN is near nothing.",
			Params: []Param{
				{Name: "a", Type: anyNumber(), Meaning: "a number"},
				{Name: "b", Type: anyNumber(), Meaning: "another"},
				{Name: "tolerance", Type: Float(), Range: AtLeast(0), Meaning: "the largest difference"},
			},
			Func: func(c *Call) (any, error) {
				a, b := c.Float("a"), c.Float("b")
				return a == b || math.Abs(a-b) <= c.Float("tolerance"), nil
			},
		},
	}
}

// anyNumber is Float with NaN and ±Inf.
func anyNumber() Type {
	t := Float()
	t.kind = kindOther
	return t
}

func try(c *Call) (any, error) {
	f := c.Func("fn")
	v, err := f.call(c.Context(), func(o tengo.Object) (any, error) { return o, nil }, c.rest)
	if err == nil || c.Context().Err() != nil {
		return v, err
	}
	message := strings.TrimPrefix(err.Error(), "script: ")
	return &tengo.Error{Value: &tengo.String{Value: shorten(message, 4000)}}, nil
}

func (s *Session) write(line string) error {
	if _, err := io.WriteString(s.config.Out, line); err != nil {
		return fault.Wrap(err, fault.Data, "write output", "")
	}
	return nil
}

// helpers are the functions behind the language: those that the rewriter calls,
// and replacements of built-in functions that would walk or allocate without a
// bound, or not know host objects.
func (s *Session) helpers() []*tengo.UserFunction {
	equal := func(args []tengo.Object) (bool, error) {
		for _, a := range args {
			if container(a) && container(args[0]) && container(args[1]) && endless(a) {
				return false, tooDeep()
			}
		}
		return args[0].Equals(args[1]), nil
	}
	list := []*tengo.UserFunction{
		{Name: helperFinish, Value: func(args ...tengo.Object) (tengo.Object, error) {
			th := s.running.Load()
			th.finished = true
			if len(args) > 0 {
				th.result = args[0]
			}
			return nil, nil
		}},
		{Name: helperEach, Value: func(args ...tengo.Object) (tengo.Object, error) {
			if m, ok := entries(args[0]); ok {
				return &ordered{m: m}, nil
			}
			return args[0], nil
		}},
		{Name: helperExport, Value: func(args ...tengo.Object) (tengo.Object, error) {
			m, ok := args[0].(*tengo.ImmutableMap)
			if !ok {
				return args[0], nil
			}
			file := "file"
			if at := s.frames(s.running.Load().vm, -1); len(at) > 0 {
				file = at[0].File
			}
			return &namespace{s: s, name: "module " + file, file: true, members: m.Value}, nil
		}},
		{Name: helperEqual, Value: func(args ...tengo.Object) (tengo.Object, error) {
			same, err := equal(args)
			return truth(same), err
		}},
		{Name: helperUnequal, Value: func(args ...tengo.Object) (tengo.Object, error) {
			same, err := equal(args)
			return truth(!same), err
		}},
		{Name: helperText, Value: func(args ...tengo.Object) (tengo.Object, error) {
			if !container(args[0]) {
				return args[0], nil
			}
			return textObject(args[0])
		}},
	}
	for name, f := range map[string]tengo.CallableFunc{"len": length, "string": toString, "copy": deepCopy, "format": format, "range": rangeList} {
		list = append(list, &tengo.UserFunction{Name: name, Value: f})
	}
	return list
}

func truth(b bool) tengo.Object {
	if b {
		return tengo.TrueValue
	}
	return tengo.FalseValue
}

// container reports whether o can hold other values.
func container(o tengo.Object) bool {
	switch o.(type) {
	case *tengo.Array, *tengo.ImmutableArray, *tengo.Map, *tengo.ImmutableMap, *tengo.Error:
		return true
	}
	return false
}

func textObject(o tengo.Object) (tengo.Object, error) {
	t, err := text(o)
	if err != nil {
		return nil, err
	}
	return &tengo.String{Value: t}, nil
}

// builtin returns tengo's function of that name.
func builtin(name string) tengo.CallableFunc {
	for _, f := range tengo.GetAllBuiltinFunctions() {
		if f.Name == name {
			return f.Value
		}
	}
	panic("tengo has no function " + name) // TestBuiltinsExist
}

func length(args ...tengo.Object) (o tengo.Object, err error) {
	if len(args) == 1 {
		switch x := args[0].(type) {
		case *hostObject:
			if x, ok := x.value.(Indexer); ok {
				return &tengo.Int{Value: int64(x.Len())}, nil
			}
		case *namespace:
			return &tengo.Int{Value: int64(len(x.members))}, nil
		}
	}
	return builtin("len")(args...)
}

func toString(args ...tengo.Object) (tengo.Object, error) {
	if len(args) == 0 || len(args) > 2 {
		return nil, tengo.ErrWrongNumArguments
	}
	if args[0] == tengo.UndefinedValue {
		if len(args) == 2 {
			return args[1], nil
		}
		return tengo.UndefinedValue, nil
	}
	return textObject(args[0])
}

func deepCopy(args ...tengo.Object) (tengo.Object, error) {
	if len(args) == 1 && endless(args[0]) {
		return nil, tooDeep()
	}
	return builtin("copy")(args...)
}

func format(args ...tengo.Object) (tengo.Object, error) {
	args, err := flatten(args)
	if err != nil {
		return nil, err
	}
	return builtin("format")(args...)
}

// printed stands for a container in a format: what it prints as is settled.
type printed struct {
	tengo.ObjectImpl
	o    tengo.Object
	text string
}

func (p *printed) TypeName() string   { return typeName(p.o) }
func (p *printed) String() string     { return p.text }
func (p *printed) Copy() tengo.Object { return p }

// flatten replaces containers by their text, for functions that would print
// them in an order and to a depth of their own.
func flatten(args []tengo.Object) ([]tengo.Object, error) {
	out := make([]tengo.Object, len(args))
	for i, a := range args {
		if container(a) {
			t, err := text(a)
			if err != nil {
				return nil, err
			}
			a = &printed{o: a, text: t}
		}
		out[i] = a
	}
	return out, nil
}

// rangeList is range(start, stop[, step]) with an upper bound on its length.
func rangeList(args ...tengo.Object) (tengo.Object, error) {
	if len(args) < 2 || len(args) > 3 {
		return nil, tengo.ErrWrongNumArguments
	}
	n := [3]int64{0, 0, 1}
	for i, a := range args {
		v, ok := a.(*tengo.Int)
		if !ok {
			return nil, fault.New(fault.Script, "range", "", "argument %d: expected whole number, got %s", i+1, describe(a))
		}
		n[i] = v.Value
	}
	start, stop, step := n[0], n[1], n[2]
	if step < 1 {
		return nil, fault.New(fault.Script, "range", "", "step %d is less than 1; it counts down by itself when stop is below start", step)
	}
	span := float64(stop) - float64(start)
	count := math.Ceil(math.Abs(span) / float64(step))
	if count > maxRange {
		return nil, fault.New(fault.Limit, "range", "", "%.0f elements, more than %d; use a loop", count, maxRange)
	}
	list := make([]tengo.Object, int(count))
	if span < 0 {
		step = -step
	}
	for i := range list {
		list[i] = &tengo.Int{Value: start + int64(i)*step}
	}
	return &tengo.Array{Value: list}, nil
}

func badFormat(format string, args ...any) error {
	return fault.New(fault.Script, "", "", "%s", fmt.Sprintf(format, args...))
}
