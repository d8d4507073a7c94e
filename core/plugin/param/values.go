package param

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"lab/core/fault"
)

// Specs are the settings of one sampler or backend in the order in which its
// author declared them. The first one can be given without its name.
type Specs []Spec

// Setting is one value as a user gave it, before it is checked.
type Setting struct {
	Name   string // empty: the first declared setting
	Value  any    // string as typed, or float64, int64, int, bool, []any, map[string]any from a script
	Origin string // where it came from: "chain", "flag --temperature", "script run.tengo:3"
}

// Value is one checked value and where it came from ("default" when nobody
// gave it).
type Value struct {
	Name   string
	Value  any // float64, int64, bool, string or TokenList
	Origin string
}

// Values are the checked settings of one stage, one per declared [Spec] and in
// the declared order. They are immutable by convention and safe for concurrent
// use.
type Values []Value

// DefaultOrigin is the origin of a value that nobody gave.
const DefaultOrigin = "default"

// Find returns the spec called name, directly or by an alias.
func (s Specs) Find(name string) (Spec, bool) {
	for _, spec := range s {
		if spec.Name == name {
			return spec, true
		}
		for _, alias := range spec.Aliases {
			if alias == name {
				return spec, true
			}
		}
	}
	return Spec{}, false
}

// Names returns the names of the settings, without aliases.
func (s Specs) Names() []string {
	out := make([]string, len(s))
	for i, spec := range s {
		out[i] = spec.Name
	}
	return out
}

// Resolve checks given against the declarations and fills in the defaults.
// op and subject begin each message, for instance "sampler" and "top_p".
// Unknown names, names given twice, values of another type and values outside
// the range are usage errors.
func (s Specs) Resolve(op, subject string, given []Setting) (Values, error) {
	chosen := make(map[string]Value, len(given))
	for _, g := range given {
		spec, err := s.pick(op, subject, g.Name)
		if err != nil {
			return nil, err
		}
		if old, twice := chosen[spec.Name]; twice {
			return nil, fault.New(fault.Usage, op, subject, "%s is given twice (%s, then %s)",
				spec.Name, Format(old.Value), show(g.Value))
		}
		v, err := spec.Convert(g.Value)
		if err == nil {
			err = spec.Check(v)
		}
		if err != nil {
			return nil, prefix(err, op, subject)
		}
		chosen[spec.Name] = Value{Name: spec.Name, Value: v, Origin: g.Origin}
	}
	out := make(Values, len(s))
	var err error
	for i, spec := range s {
		v, ok := chosen[spec.Name]
		if !ok {
			v = Value{Name: spec.Name, Value: spec.Default, Origin: DefaultOrigin}
			if text, ok := spec.Default.(string); ok && spec.Type == Tokens {
				if v.Value, err = ParseTokens(text, spec.Weighted); err != nil {
					return nil, fault.Wrap(err, fault.Plugin, op, subject)
				}
			}
		}
		out[i] = v
	}
	return out, nil
}

func (s Specs) pick(op, subject, name string) (Spec, error) {
	if name == "" {
		if len(s) == 0 {
			return Spec{}, fault.New(fault.Usage, op, subject, "it takes no settings").Fix("write it without a value")
		}
		return s[0], nil
	}
	if spec, ok := s.Find(name); ok {
		return spec, nil
	}
	if len(s) == 0 {
		return Spec{}, fault.New(fault.Usage, op, subject, "unknown setting %q: it takes none", name)
	}
	e := fault.Unknown(op, "setting", name, s.Names())
	e.Subject = subject
	return Spec{}, e
}

func prefix(err error, op, subject string) error {
	var f *fault.Error
	if !errors.As(err, &f) {
		return fault.Wrap(err, fault.Usage, op, subject)
	}
	c := *f
	c.Op = op
	if f.Subject != "" && f.Subject != subject && !strings.HasPrefix(f.Problem, f.Subject) {
		c.Problem = f.Subject + ": " + f.Problem
	}
	c.Subject = subject
	return &c
}

// Convert turns v into the Go type of the setting: text is parsed, a Go int
// becomes an int64, and a whole number is accepted where a real one is wanted.
// A real number is never rounded to a whole one.
func (s Spec) Convert(v any) (any, error) {
	bad := func() error {
		what := "a " + s.Type.String()
		if s.Type == Bool {
			what = s.Type.String()
		}
		return fault.New(fault.Usage, "", s.Name, "%s = %s is not %s", s.Name, show(v), what)
	}
	if s.Type == Tokens {
		list, err := s.tokensOf(v)
		if err != nil {
			return nil, fault.New(fault.Usage, "", s.Name, "%s: %v", s.Name, err)
		}
		return list, nil
	}
	switch x := v.(type) {
	case int:
		return s.Convert(int64(x))
	case int64:
		if s.Type == Float {
			return float64(x), nil
		}
	case string:
		return s.parse(x, bad)
	}
	var ok bool
	switch s.Type {
	case Float:
		_, ok = v.(float64)
	case Int:
		_, ok = v.(int64)
	case Bool:
		_, ok = v.(bool)
	}
	if !ok {
		return nil, bad()
	}
	return v, nil
}

func (s Spec) parse(text string, bad func() error) (any, error) {
	switch s.Type {
	case Float:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(f) {
			return nil, bad()
		}
		return f, nil
	case Int:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, bad()
		}
		return n, nil
	case Bool:
		switch text {
		case "true", "yes", "on":
			return true, nil
		case "false", "no", "off":
			return false, nil
		}
		return nil, bad()
	}
	return text, nil
}

// Format returns a value in the shortest form that reads back exactly.
func Format(v any) string {
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}

// get panics for a name that was not declared: that is a defect of the sampler,
// and its plugin turns the panic into a plugin error.
func (v Values) get(name string) any {
	for _, x := range v {
		if x.Name == name {
			return x.Value
		}
	}
	panic(fmt.Sprintf("param: setting %q is read but was not declared", name))
}

// Float returns the value of a setting declared as Float.
func (v Values) Float(name string) float64 { return v.get(name).(float64) }

// Int returns the value of a setting declared as Int.
func (v Values) Int(name string) int64 { return v.get(name).(int64) }

// Bool returns the value of a setting declared as Bool.
func (v Values) Bool(name string) bool { return v.get(name).(bool) }

// Text returns the value of a setting declared as Text.
func (v Values) Text(name string) string { return v.get(name).(string) }

// String returns "name=value,name=value" in declared order.
func (v Values) String() string {
	parts := make([]string, len(v))
	for i, x := range v {
		parts[i] = x.Name + "=" + Format(x.Value)
	}
	return strings.Join(parts, ",")
}
