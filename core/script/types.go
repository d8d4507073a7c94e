package script

import (
	"fmt"
	"strings"

	"github.com/d5/tengo/v2"
)

// Type is what a parameter accepts. It is strict: a whole number is accepted
// where a number is wanted, and nothing else is converted, so "0.7" is never a
// temperature and 1.0 never a count.
type Type struct {
	label    func() string // lazily: a class may have its own type as an argument
	kind     typeKind
	takesMap bool
	isAny    bool
	params   []string // of a Callback
	// take returns the Go value, or what is wrong with the script's value.
	take func(s *Session, o tengo.Object) (any, string)
}

type typeKind uint8

const (
	kindOther typeKind = iota
	kindFloat
)

// String returns the type's name in messages and reference pages.
func (t Type) String() string { return t.label() }

// Called returns the type under another name in messages and reference pages.
func (t Type) Called(name string) Type {
	label, take := t.label, t.take
	t.label = named(name)
	t.take = func(s *Session, o tengo.Object) (any, string) {
		v, bad := take(s, o)
		if bad == mismatch(label(), o) {
			bad = mismatch(name, o)
		}
		return v, bad
	}
	return t
}

func named(name string) func() string { return func() string { return name } }

// basic returns a type that accepts what take accepts.
func basic(label func() string, take func(tengo.Object) (any, bool)) Type {
	return Type{label: label, take: func(s *Session, o tengo.Object) (any, string) {
		if v, ok := take(o); ok {
			return v, ""
		}
		return nil, mismatch(label(), o)
	}}
}

func mismatch(want string, o tengo.Object) string {
	if o == tengo.UndefinedValue {
		return fmt.Sprintf("is undefined, expected %s; a misspelt variable member reads as undefined", want)
	}
	return fmt.Sprintf("expected %s, got %s", want, describe(o))
}

// Any accepts every value but undefined, converted as [Call.Any] says.
func Any() Type {
	return Type{label: named("any value"), isAny: true, takesMap: true, take: func(s *Session, o tengo.Object) (any, string) {
		if o == tengo.UndefinedValue {
			return nil, mismatch("a value", o)
		}
		v, err := s.toGo(o)
		if err != nil {
			return nil, err.Error()
		}
		return v, ""
	}}
}

// String accepts a string: Go string.
func String() Type {
	return basic(named("string"), func(o tengo.Object) (any, bool) {
		s, ok := o.(*tengo.String)
		if !ok {
			return nil, false
		}
		return s.Value, true
	})
}

// Float accepts a finite float or int: Go float64.
func Float() Type {
	t := basic(named("number"), func(o tengo.Object) (any, bool) {
		switch n := o.(type) {
		case *tengo.Float:
			return n.Value, true
		case *tengo.Int:
			return float64(n.Value), true
		}
		return nil, false
	})
	t.kind = kindFloat
	return t
}

// Int accepts an int: Go int64. A float is refused even when it is whole, since
// a count that became a float was computed by mistake.
func Int() Type {
	return basic(named("whole number"), func(o tengo.Object) (any, bool) {
		n, ok := o.(*tengo.Int)
		if !ok {
			return nil, false
		}
		return n.Value, true
	})
}

// Bool accepts true and false: Go bool.
func Bool() Type {
	return basic(named("true or false"), func(o tengo.Object) (any, bool) {
		if _, ok := o.(*tengo.Bool); !ok {
			return nil, false
		}
		return !o.IsFalsy(), true
	})
}

// Bytes accepts bytes: Go []byte, which must not be written to.
func Bytes() Type {
	return basic(named("bytes"), func(o tengo.Object) (any, bool) {
		b, ok := o.(*tengo.Bytes)
		if !ok {
			return nil, false
		}
		return b.Value, true
	})
}

// List accepts an array, mutable or not, of elements of type elem: Go []any, a
// copy. See [Call.Floats] and [Call.Strings] for lists of those.
func List(elem Type) Type {
	label := func() string {
		if elem.isAny {
			return "list"
		}
		return "list of " + elem.label()
	}
	return Type{label: label, take: func(s *Session, o tengo.Object) (any, string) {
		elems, ok := elements(o)
		if !ok {
			return nil, mismatch(label(), o)
		}
		one := Param{Type: elem}
		out := make([]any, len(elems))
		for i, e := range elems {
			v, bad := elem.take(s, e)
			if bad == "" {
				bad = one.check(v)
			}
			if bad != "" {
				return nil, fmt.Sprintf("element %d %s", i, bad)
			}
			out[i] = v
		}
		return out, ""
	}}
}

// Number accepts a float or int, NaN and ±Inf included, which the host function
// has to look at: Go float64.
func Number() Type {
	return basic(named("number"), func(o tengo.Object) (any, bool) {
		switch n := o.(type) {
		case *tengo.Float:
			return n.Value, true
		case *tengo.Int:
			return float64(n.Value), true
		}
		return nil, false
	})
}

// Numbers accepts an array of what [Number] accepts: Go []float64, a copy. It is
// the quick way for long lists.
func Numbers() Type {
	label := named("list of number")
	return Type{label: label, take: func(_ *Session, o tengo.Object) (any, string) {
		elems, ok := elements(o)
		if !ok {
			return nil, mismatch(label(), o)
		}
		out := make([]float64, len(elems))
		for i, e := range elems {
			switch n := e.(type) {
			case *tengo.Float:
				out[i] = n.Value
			case *tengo.Int:
				out[i] = float64(n.Value)
			default:
				return nil, fmt.Sprintf("element %d%s", i, joint(mismatch("number", e)))
			}
		}
		return out, ""
	}}
}

// Map accepts a map, mutable or not, of values of type elem: Go map[string]any,
// a copy.
func Map(elem Type) Type {
	label := func() string {
		if elem.isAny {
			return "map"
		}
		return "map of " + elem.label()
	}
	return Type{label: label, takesMap: true, take: func(s *Session, o tengo.Object) (any, string) {
		pairs, ok := entries(o)
		if !ok {
			return nil, mismatch(label(), o)
		}
		one := Param{Type: elem}
		out := make(map[string]any, len(pairs))
		for _, k := range sortedKeys(pairs) {
			v, bad := elem.take(s, pairs[k])
			if bad == "" {
				bad = one.check(v)
			}
			if bad != "" {
				return nil, fmt.Sprintf("key %q %s", k, bad)
			}
			out[k] = v
		}
		return out, ""
	}}
}

// Callback accepts a function that can be called with one argument per name:
// Go *[Func]. The names document what it is called with. Without names any
// function is accepted.
func Callback(names ...string) Type {
	name := "function"
	if len(names) > 0 {
		name = "func(" + strings.Join(names, ", ") + ")"
	}
	return Type{label: named(name), params: names, take: func(s *Session, o tengo.Object) (any, string) {
		if !o.CanCall() {
			return nil, mismatch(name, o)
		}
		f := &Func{s: s, fn: o}
		n, variadic := f.Arity()
		if len(names) > 0 && n >= 0 && (n > len(names) || n < len(names) && !variadic) {
			return nil, fmt.Sprintf("expected %s, got a function of %s", name, plural(n, "argument"))
		}
		return f, ""
	}}
}

// Host accepts a host object whose Go value is a T: Go T.
func Host[T Object]() Type {
	label := func() string {
		var zero T
		return zero.Class().Name
	}
	return basic(label, func(o tengo.Object) (any, bool) {
		h, ok := o.(*hostObject)
		if !ok {
			return nil, false
		}
		v, ok := h.value.(T)
		return v, ok
	})
}

// Either accepts what the first matching one of types accepts.
func Either(types ...Type) Type {
	t := Type{label: func() string {
		names := make([]string, len(types))
		for i, u := range types {
			names[i] = u.label()
		}
		return strings.Join(names, " or ")
	}}
	for _, u := range types {
		t.takesMap = t.takesMap || u.takesMap
		if u.kind == kindFloat {
			t.kind = kindFloat
		}
	}
	t.take = func(s *Session, o tengo.Object) (any, string) {
		for _, u := range types {
			v, bad := u.take(s, o)
			if bad == "" || u.isAny && o != tengo.UndefinedValue { // one that no list of types explains
				return v, bad
			}
		}
		return nil, mismatch(t.label(), o)
	}
	return t
}
