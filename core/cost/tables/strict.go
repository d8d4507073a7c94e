package tables

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sort"
	"strings"

	"lab/core/fault"
)

// mostElements bounds a list or an object of a file.
const mostElements = 20_000

// wrong is a mistake in a file: where, what and what to do.
type wrong struct{ at, problem, cure string }

func (w *wrong) Error() string {
	if w.at == "" {
		return "it " + w.problem
	}
	return w.at + " " + w.problem
}

// member is the place of a member of the object at a place.
func member(at, key string) string {
	if at == "" {
		return key
	}
	return at + "." + key
}

// strict reads one JSON value into v. Keys that the structs of v do not have, keys
// that come twice and null where a value is needed are errors of type *wrong; at is
// what they call the value.
func strict(data []byte, at string, v any) error {
	return fill(data, at, reflect.ValueOf(v).Elem())
}

var rawType = reflect.TypeFor[json.RawMessage]()

func fill(data []byte, at string, v reflect.Value) error {
	t := v.Type()
	null := bytes.Equal(bytes.TrimSpace(data), []byte("null"))
	switch {
	case t.Kind() == reflect.Pointer && null:
		return nil
	case t.Kind() == reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		return fill(data, at, v.Elem())
	case null:
		return &wrong{at, "is null", "leave it out"}
	case t == rawType:
		v.SetBytes(bytes.Clone(data))
		return nil
	case t.Kind() == reflect.Struct:
		return fillStruct(data, at, v)
	case t.Kind() == reflect.Map:
		v.Set(reflect.MakeMap(t))
		return object(data, at, func(key string, value json.RawMessage) error {
			element := reflect.New(t.Elem()).Elem()
			if err := fill(value, member(at, key), element); err != nil {
				return err
			}
			v.SetMapIndex(reflect.ValueOf(key), element)
			return nil
		})
	case t.Kind() == reflect.Slice:
		return fillList(data, at, v)
	}
	if err := json.Unmarshal(data, v.Addr().Interface()); err != nil {
		return &wrong{at, fmt.Sprintf("is %s and not %s", fault.Quote(string(data), 40), kindName(t)), ""}
	}
	return nil
}

// kindName says what a value must be, for a message.
func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int64, reflect.Int:
		return "a whole number"
	}
	return "a number that can be represented"
}

func fillList(data []byte, at string, v reflect.Value) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if open, err := d.Token(); err != nil || open != json.Delim('[') {
		return &wrong{at, "is not a list", ""}
	}
	for i := 0; d.More(); i++ {
		if i == mostElements {
			return &wrong{at, fmt.Sprintf("has more than %d elements", mostElements), "split the file"}
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return &wrong{at, fmt.Sprintf("is damaged (%v)", err), ""}
		}
		element := reflect.New(v.Type().Elem()).Elem()
		if err := fill(raw, fmt.Sprintf("%s[%d]", at, i), element); err != nil {
			return err
		}
		v.Set(reflect.Append(v, element))
	}
	return nil
}

func fillStruct(data []byte, at string, v reflect.Value) error {
	fields := map[string]reflect.Value{}
	fieldsOf(v, fields)
	return object(data, at, func(key string, value json.RawMessage) error {
		f, ok := fields[key]
		if !ok {
			w := &wrong{at, fmt.Sprintf("has no field %s", fault.Quote(key, 60)), ""}
			var names []string
			for name := range fields {
				names = append(names, name)
			}
			sort.Strings(names)
			if near := fault.Suggest(key, names); near != "" {
				w.cure = fmt.Sprintf("did you mean %q?", near)
			} else {
				w.cure = "known: " + strings.Join(names, ", ")
			}
			return w
		}
		return fill(value, member(at, key), f)
	})
}

// fieldsOf collects the fields that a file may set, those of embedded structs too.
func fieldsOf(v reflect.Value, out map[string]reflect.Value) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Anonymous {
			fieldsOf(v.Field(i), out)
			continue
		}
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && f.Tag.Get("set") == "" {
			out[name] = v.Field(i)
		}
	}
}

// object calls visit with every member of a JSON object, in order.
func object(data []byte, at string, visit func(key string, value json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return &wrong{at, "is not an object", ""}
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		key, ok := token.(string)
		if err != nil || !ok {
			return &wrong{at, "is damaged", ""}
		}
		if seen[key] {
			return &wrong{at, fmt.Sprintf("has %s twice", fault.Quote(key, 60)), "keep one of them"}
		}
		if seen[key] = true; len(seen) > mostElements {
			return &wrong{at, fmt.Sprintf("has more than %d keys", mostElements), ""}
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return &wrong{at, fmt.Sprintf("is damaged (%v)", err), ""}
		}
		if err := visit(key, value); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil { // the closing brace
		return &wrong{at, "is damaged", ""}
	}
	return nil
}

// asFault turns a mistake into the error of the file it is in.
func asFault(err error, origin string) error {
	var w *wrong
	if !errors.As(err, &w) {
		return fault.Wrap(err, fault.Data, op, fault.Quote(origin, 120))
	}
	e := fault.New(fault.Data, op, fault.Quote(origin, 120), "%s", w.Error())
	e.Cure = w.cure
	return e
}
