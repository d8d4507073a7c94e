package check

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// operation is one function that a file may call.
type operation struct {
	run    func(inputs json.RawMessage) (map[string]value, error)
	inputs []Input
}

// Input is one input of an operation.
type Input struct {
	Name     string
	Optional bool
}

// value is one output: a number or a list, +Inf for never. lacks says which input
// the file would have to give; assumed says what was taken where it is silent.
type value struct {
	numbers []float64
	list    bool
	lacks   string
	assumed string
}

func one(v float64) value           { return value{numbers: []float64{v}} }
func list(v []float64) value        { return value{numbers: v, list: true} }
func lacks(what string) value       { return value{lacks: what} }
func (v value) note(s string) value { v.assumed = s; return v }

// op makes an operation of a function of typed inputs. Every field of the
// struct must be in the file, but for pointers and fields tagged input:"optional"; every field in
// the file must be in the struct.
func op[I any](f func(I) (map[string]value, error)) operation {
	t := reflect.TypeFor[I]()
	o := operation{inputs: make([]Input, t.NumField())}
	for i := range o.inputs {
		o.inputs[i] = input(t.Field(i))
	}
	o.run = func(raw json.RawMessage) (map[string]value, error) {
		var in I
		if err := take(raw, &in); err != nil {
			return nil, err
		}
		return f(in)
	}
	return o
}

// input reads the declaration of a field.
func input(f reflect.StructField) Input {
	return Input{Name: f.Tag.Get("json"), Optional: f.Type.Kind() == reflect.Pointer || f.Tag.Get("input") == "optional"}
}

// take fills a struct from a JSON object, strictly.
func take(raw json.RawMessage, to any) error {
	fields, err := object(raw)
	if err != nil {
		return fmt.Errorf("inputs: %w", err)
	}
	s := reflect.ValueOf(to).Elem()
	var names []string
	for i := range s.NumField() {
		in := input(s.Type().Field(i))
		name := in.Name
		names = append(names, name)
		raw, ok := fields[name]
		if !ok {
			if in.Optional {
				continue
			}
			return fmt.Errorf("inputs: field %q is missing", name)
		}
		if string(raw) == "null" {
			return fmt.Errorf("inputs: field %q is null", name)
		}
		if err := json.Unmarshal(raw, s.Field(i).Addr().Interface()); err != nil {
			return fmt.Errorf("inputs: field %q does not hold %s", name, strings.SplitN(strings.TrimSpace(string(raw[:min(len(raw), 40)])), "\n", 2)[0])
		}
		if k := s.Field(i); k.Kind() == reflect.Slice && k.Type().Elem().Kind() != reflect.Uint8 && k.Len() > mostNumbers {
			return fmt.Errorf("inputs: field %q has %d entries, more than %d", name, k.Len(), mostNumbers)
		}
	}
	for name := range fields {
		if err := oneOf(name, names); err != nil {
			return fmt.Errorf("inputs: %w", err)
		}
	}
	return nil
}

// results puts the numbers of a function's outputs together and keeps the first
// error, so that an operation reads as a list of calls.
type results struct {
	out map[string]value
	err error
}

func collect() *results { return &results{out: map[string]value{}} }

func (r *results) set(name string) func(float64, error) {
	return func(v float64, err error) {
		if err != nil && r.err == nil {
			r.err = err
		}
		r.out[name] = one(v)
	}
}

func (r *results) put(name string, v float64) { r.out[name] = one(v) }

func (r *results) each(name string, n int, f func(i int) (float64, error)) {
	v := make([]float64, n)
	for i := range v {
		x, err := f(i)
		if err != nil && r.err == nil {
			r.err = err
		}
		v[i] = x
	}
	r.out[name] = list(v)
}

func (r *results) done() (map[string]value, error) { return r.out, r.err }
