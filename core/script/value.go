package script

import (
	"math"
	"reflect"
	"slices"
	"sort"
	"time"

	"github.com/d5/tengo/v2"

	"lab/core/fault"
)

// maxNesting bounds how deep a value may contain other values where it is
// walked: a map that contains itself would exhaust the Go stack, which kills
// the process.
const maxNesting = 500

// maxWalk bounds how many values one conversion or comparison visits. Lists
// that share elements can spell 2^500 values in a few lines of script.
const maxWalk = 5_000_000

// toGo returns the Go value of a script value: nil, bool, int64, float64,
// string, []byte, []any, map[string]any, time.Time, error for an error value,
// *Func for a function, and the wrapped Go value of a host object. Containers
// are copied. The interpreter lock must be held.
func (s *Session) toGo(o tengo.Object) (any, error) {
	w := walker{s: s, left: maxWalk}
	return w.toGo(o, 0)
}

// walker visits script values within the two bounds.
type walker struct {
	s    *Session
	left int
}

func (w *walker) toGo(o tengo.Object, depth int) (any, error) {
	if w.left--; w.left < 0 || depth > maxNesting {
		return nil, tooDeep()
	}
	if elems, ok := elements(o); ok {
		out := make([]any, len(elems))
		for i, e := range elems {
			v, err := w.toGo(e, depth+1)
			if err != nil {
				return nil, err
			}
			out[i] = v
		}
		return out, nil
	}
	if pairs, ok := entries(o); ok {
		out := make(map[string]any, len(pairs))
		for k, e := range pairs {
			v, err := w.toGo(e, depth+1)
			if err != nil {
				return nil, err
			}
			out[k] = v
		}
		return out, nil
	}
	switch o := o.(type) {
	case nil, *tengo.Undefined:
		return nil, nil
	case *tengo.Bool:
		return !o.IsFalsy(), nil
	case *tengo.Int:
		return o.Value, nil
	case *tengo.Float:
		return o.Value, nil
	case *tengo.String:
		return o.Value, nil
	case *tengo.Char:
		return string(o.Value), nil
	case *tengo.Bytes:
		return slices.Clone(o.Value), nil
	case *tengo.Time:
		return o.Value, nil
	case *tengo.Error:
		return fault.New(fault.Script, "", "", "%s", brief(o.Value)), nil
	case *hostObject:
		return o.value, nil
	}
	if o.CanCall() {
		return &Func{s: w.s, fn: o}, nil
	}
	return nil, fault.New(fault.Script, "", "", "a %s cannot be handed to a host function", o.TypeName())
}

// endless reports whether o contains values deeper than maxNesting, as a value
// that contains itself does, or more than maxWalk of them. The walks inside
// tengo have no bound of their own.
func endless(o tengo.Object) bool {
	w := walker{left: maxWalk}
	return w.endless(o, 0)
}

func (w *walker) endless(o tengo.Object, depth int) bool {
	if w.left--; w.left < 0 || depth > maxNesting {
		return true
	}
	if e, ok := elements(o); ok {
		for _, v := range e {
			if w.endless(v, depth+1) {
				return true
			}
		}
	} else if e, ok := entries(o); ok {
		for _, v := range e {
			if w.endless(v, depth+1) {
				return true
			}
		}
	} else if e, ok := o.(*tengo.Error); ok {
		return w.endless(e.Value, depth+1)
	}
	return false
}

// toScript returns the script value of a Go value: the inverse of toGo, and
// also every Go integer, float32, slices and maps of these, an [Object], and a
// nil pointer as undefined.
func (s *Session) toScript(v any) (tengo.Object, error) { return s.toScriptDeep(v, 0) }

func (s *Session) toScriptDeep(v any, depth int) (tengo.Object, error) {
	if depth > maxNesting {
		return nil, tooDeep()
	}
	switch v := v.(type) {
	case nil:
		return tengo.UndefinedValue, nil
	case bool:
		if v {
			return tengo.TrueValue, nil
		}
		return tengo.FalseValue, nil
	case int:
		return &tengo.Int{Value: int64(v)}, nil
	case int64:
		return &tengo.Int{Value: v}, nil
	case float64:
		return &tengo.Float{Value: v}, nil
	case string:
		if len(v) > tengo.MaxStringLen {
			return nil, tooLong("text", tengo.MaxStringLen)
		}
		return &tengo.String{Value: v}, nil
	case []byte:
		if len(v) > tengo.MaxBytesLen {
			return nil, tooLong("bytes", tengo.MaxBytesLen)
		}
		return &tengo.Bytes{Value: slices.Clone(v)}, nil
	case time.Time:
		return &tengo.Time{Value: v}, nil
	case []float64:
		return listOfFloats(v), nil
	case []int32:
		return listOfInts(v), nil
	case Record:
		return s.record(v, depth)
	case *Func:
		if v == nil {
			return tengo.UndefinedValue, nil
		}
		return v.fn, nil
	case Object:
		if r := reflect.ValueOf(v); r.Kind() == reflect.Pointer && r.IsNil() {
			return tengo.UndefinedValue, nil
		}
		return &hostObject{s: s, class: s.class(v), value: v}, nil
	case tengo.Object: // a value that a script handed over unconverted
		return v, nil
	case error:
		return &tengo.Error{Value: &tengo.String{Value: v.Error()}}, nil
	}
	return s.toScriptReflect(reflect.ValueOf(v), depth)
}

// listOfFloats and listOfInts make the long lists that rows of scores are: one piece of
// memory for all elements, and none of them goes through reflection.
func listOfFloats(v []float64) *tengo.Array {
	elements, out := make([]tengo.Float, len(v)), make([]tengo.Object, len(v))
	for i, x := range v {
		elements[i].Value = x
		out[i] = &elements[i]
	}
	return &tengo.Array{Value: out}
}

func listOfInts(v []int32) *tengo.Array {
	elements, out := make([]tengo.Int, len(v)), make([]tengo.Object, len(v))
	for i, x := range v {
		elements[i].Value = int64(x)
		out[i] = &elements[i]
	}
	return &tengo.Array{Value: out}
}

func (s *Session) toScriptReflect(r reflect.Value, depth int) (tengo.Object, error) {
	switch r.Kind() {
	case reflect.Bool:
		return s.toScriptDeep(r.Bool(), depth)
	case reflect.String:
		return s.toScriptDeep(r.String(), depth)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int:
		return &tengo.Int{Value: r.Int()}, nil
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint:
		if r.Uint() > math.MaxInt64 {
			return nil, fault.New(fault.Internal, "", "", "%d does not fit an int of a script", r.Uint())
		}
		return &tengo.Int{Value: int64(r.Uint())}, nil
	case reflect.Float32, reflect.Float64:
		return &tengo.Float{Value: r.Float()}, nil
	case reflect.Slice, reflect.Array:
		out := make([]tengo.Object, r.Len())
		for i := range out {
			o, err := s.toScriptDeep(r.Index(i).Interface(), depth+1)
			if err != nil {
				return nil, err
			}
			out[i] = o
		}
		return &tengo.Array{Value: out}, nil
	case reflect.Map:
		if r.Type().Key().Kind() != reflect.String {
			break
		}
		out := make(map[string]tengo.Object, r.Len())
		for _, k := range r.MapKeys() {
			o, err := s.toScriptDeep(r.MapIndex(k).Interface(), depth+1)
			if err != nil {
				return nil, err
			}
			out[k.String()] = o
		}
		return &tengo.Map{Value: out}, nil
	}
	return nil, fault.New(fault.Internal, "", "", "a Go %s has no script value; give it a Class method", r.Type())
}

func tooDeep() error {
	return fault.New(fault.Limit, "", "", "a value contains itself, or is nested deeper than %d or too large", maxNesting)
}

func tooLong(what string, limit int) error {
	return fault.New(fault.Limit, "", "", "%s longer than %d bytes", what, limit)
}

func elements(o tengo.Object) ([]tengo.Object, bool) {
	switch o := o.(type) {
	case *tengo.Array:
		return o.Value, true
	case *tengo.ImmutableArray:
		return o.Value, true
	}
	return nil, false
}

func entries(o tengo.Object) (map[string]tengo.Object, bool) {
	switch o := o.(type) {
	case *tengo.Map:
		return o.Value, true
	case *tengo.ImmutableMap:
		return o.Value, true
	}
	return nil, false
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
