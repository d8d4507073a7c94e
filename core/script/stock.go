package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/d5/tengo/v2"
	"github.com/d5/tengo/v2/stdlib"

	"lab/core/fault"
)

// stockModules are the modules of the Tengo standard library, written in Go,
// that scripts may import as they are: none touches the system. fmt and json
// are ours, see [StandardModules].
func stockModules() []string { return []string{"base64", "hex", "math", "text"} }

// stockSource returns a module of Tengo that is itself a script, or "".
func stockSource(name string) string {
	if name == "enum" {
		return stdlib.SourceModules[name]
	}
	return ""
}

// refusal says what to use instead of a module of Tengo that scripts do not
// get, or is "" for any other name.
func refusal(name string) string {
	switch name {
	case "os":
		return "scripts have no access to the system; results and figures are written by the functions that make them"
	case "rand":
		return "randomness comes from a seed: pass the option seed to the function that draws"
	case "times":
		return "a script gives the same output whenever it runs; the record of a run holds its times"
	}
	return ""
}

// stock returns the standard modules with their functions made strict: an error
// value is raised, a string is not a number, and a value without end is refused.
func (s *Session) stock() []*namespace {
	var out []*namespace
	for _, name := range stockModules() {
		n := &namespace{s: s, name: "module " + name, members: map[string]tengo.Object{}}
		for key, o := range stdlib.BuiltinModules[name] {
			if f, ok := o.(*tengo.UserFunction); ok {
				o = &tengo.UserFunction{Name: name + "." + key, Value: strict(name, f.Value)}
			}
			n.members[key] = o
		}
		out = append(out, n)
	}
	return out
}

func strict(module string, f tengo.CallableFunc) tengo.CallableFunc {
	return func(args ...tengo.Object) (tengo.Object, error) {
		for i, a := range args {
			if _, ok := a.(*tengo.String); ok && module == "math" {
				return nil, fault.New(fault.Script, "", "", "argument %d: expected number, got %s", i+1, describe(a))
			}
			if container(a) && endless(a) {
				return nil, tooDeep()
			}
		}
		o, err := f(args...)
		if e, ok := o.(*tengo.Error); ok && err == nil {
			return nil, fault.New(fault.Script, "", "", "%s", brief(e.Value))
		}
		return o, err
	}
}

// StandardModules returns the declarations of fmt and json, which take the
// place of Tengo's modules of the same name: what fmt prints goes where print
// writes, and json refuses what JSON cannot hold.
func StandardModules() []Module {
	rest := Param{Name: "values", Type: anything(), Meaning: "what to write"}
	layout := Param{Name: "format", Type: String(), Meaning: "a format of Tengo, as %v, %d, %.3f"}
	sprint := func(c *Call) (string, error) {
		args := []tengo.Object{&tengo.String{Value: c.String("format")}}
		for _, v := range c.rest {
			args = append(args, v.(tengo.Object))
		}
		o, err := format(args...)
		if err != nil {
			return "", err
		}
		return text(o)
	}
	joined := func(end string) func(c *Call) (any, error) {
		return func(c *Call) (any, error) {
			var b strings.Builder
			for _, v := range c.rest {
				t, err := text(v.(tengo.Object))
				if err != nil {
					return nil, err
				}
				b.WriteString(t)
			}
			return nil, c.s.write(b.String() + end)
		}
	}
	data := Param{Name: "data", Type: Either(Bytes(), String()), Meaning: "JSON text"}
	return []Module{
		{Name: "fmt", Doc: "Formatted output, to where print writes.", Members: []Member{
			{Name: "print", Doc: "Writes the values without anything between them.", Params: []Param{rest}, Variadic: true, Func: joined("")},
			{Name: "println", Doc: "Writes the values without anything between them, and a new line.", Params: []Param{rest}, Variadic: true, Func: joined("\n")},
			{Name: "printf", Doc: "Writes the values as the format says.", Params: []Param{layout, rest}, Variadic: true,
				Func: func(c *Call) (any, error) {
					t, err := sprint(c)
					if err != nil {
						return nil, err
					}
					return nil, c.s.write(t)
				}},
			{Name: "sprintf", Doc: "Returns the values as the format says.", Params: []Param{layout, rest}, Variadic: true, Returns: "string",
				Func: func(c *Call) (any, error) { return sprint(c) }},
		}},
		{Name: "json", Doc: "JSON, with the keys of maps sorted.", Members: []Member{
			{Name: "encode", Doc: "Returns a value as JSON. NaN, ±Inf, functions and host objects are errors that name their place.",
				Params: []Param{{Name: "value", Type: anything(), Meaning: "numbers, strings, true, false, undefined (null), lists and maps"}}, Returns: "bytes",
				Func: func(c *Call) (any, error) {
					e := encoder{}
					if err := e.value(c.Any("value").(tengo.Object), 0); err != nil {
						return nil, err
					}
					return e.b.Bytes(), nil
				}},
			{Name: "decode", Doc: "Returns the value of JSON text: an int for a number without point and exponent that fits, else a float.",
				Params: []Param{data}, Returns: "any value",
				Func: func(c *Call) (any, error) { return decode(jsonBytes(c)) }},
			{Name: "indent", Doc: "Returns JSON text laid out over lines.",
				Params:  []Param{data, {Name: "prefix", Type: String(), Meaning: "what each line starts with"}, {Name: "indent", Type: String(), Meaning: "what each level adds"}},
				Returns: "bytes",
				Func: func(c *Call) (any, error) {
					var out bytes.Buffer
					if err := json.Indent(&out, jsonBytes(c), c.String("prefix"), c.String("indent")); err != nil {
						return nil, fault.New(fault.Data, "", "", "not JSON: %v", err)
					}
					return out.Bytes(), nil
				}},
			{Name: "html_escape", Doc: "Returns JSON text that is safe inside HTML.", Params: []Param{data}, Returns: "bytes",
				Func: func(c *Call) (any, error) {
					var out bytes.Buffer
					json.HTMLEscape(&out, jsonBytes(c))
					return out.Bytes(), nil
				}},
		}},
	}
}

func jsonBytes(c *Call) []byte {
	if t, ok := c.Any("data").(string); ok {
		return []byte(t)
	}
	return c.Bytes("data")
}

// encoder writes JSON; path is where in the value it is.
type encoder struct {
	b    bytes.Buffer
	path []string
}

func (e *encoder) refuse(what string) error {
	at := strings.Join(e.path, "")
	if at == "" {
		at = "the value"
	}
	return fault.New(fault.Script, "", "", "%s is %s, which JSON cannot hold", at, what)
}

func (e *encoder) value(o tengo.Object, depth int) error {
	if depth > maxNesting {
		return tooDeep()
	}
	if e.b.Len() > tengo.MaxBytesLen {
		return tooLong("JSON", tengo.MaxBytesLen)
	}
	if list, ok := elements(o); ok {
		return e.list('[', ']', len(list), func(i int) error {
			return e.inside(fmt.Sprintf("[%d]", i), list[i], depth)
		})
	}
	if m, ok := entries(o); ok {
		keys := sortedKeys(m)
		return e.list('{', '}', len(keys), func(i int) error {
			e.text(keys[i])
			e.b.WriteByte(':')
			return e.inside("."+keys[i], m[keys[i]], depth)
		})
	}
	switch o := o.(type) {
	case *tengo.Undefined:
		e.b.WriteString("null")
	case *tengo.Bool:
		e.b.WriteString(o.String())
	case *tengo.Int:
		e.b.WriteString(o.String())
	case *tengo.Float:
		if math.IsNaN(o.Value) || math.IsInf(o.Value, 0) {
			return e.refuse(number(o.Value))
		}
		n := number(o.Value)
		if !strings.ContainsAny(n, ".e") {
			n += ".0" // stays a float when read back
		}
		e.b.WriteString(n)
	case *tengo.String:
		e.text(o.Value)
	case *tengo.Char:
		e.text(string(o.Value))
	default:
		return e.refuse("a " + typeName(o))
	}
	return nil
}

func (e *encoder) inside(step string, o tengo.Object, depth int) error {
	e.path = append(e.path, step)
	err := e.value(o, depth+1)
	e.path = e.path[:len(e.path)-1]
	return err
}

func (e *encoder) list(open, shut byte, n int, item func(int) error) error {
	e.b.WriteByte(open)
	for i := range n {
		if i > 0 {
			e.b.WriteByte(',')
		}
		if err := item(i); err != nil {
			return err
		}
	}
	e.b.WriteByte(shut)
	return nil
}

func (e *encoder) text(s string) {
	enc := json.NewEncoder(&e.b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string cannot fail
	e.b.Truncate(e.b.Len() - 1)
}

func decode(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fault.New(fault.Data, "", "", "not JSON: %v", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fault.New(fault.Data, "", "", "not JSON: something follows the value")
	}
	return numbers(v)
}

// numbers replaces the numbers as read by ints and floats.
func numbers(v any) (any, error) {
	switch v := v.(type) {
	case json.Number:
		if i, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return i, nil
		}
		f, err := strconv.ParseFloat(string(v), 64)
		if err != nil {
			return nil, fault.New(fault.Data, "", "", "the number %s does not fit a float", v)
		}
		return f, nil
	case []any:
		for i := range v {
			n, err := numbers(v[i])
			if err != nil {
				return nil, err
			}
			v[i] = n
		}
	case map[string]any:
		for k := range v {
			n, err := numbers(v[k])
			if err != nil {
				return nil, err
			}
			v[k] = n
		}
	}
	return v, nil
}
