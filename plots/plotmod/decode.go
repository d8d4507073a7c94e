package plotmod

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"lab/core/fault"
	"lab/core/script"
)

// A cost figure takes one map, whose keys are the fields of its data in package
// plots: StepMS is step_ms. Embedded structs count as their own fields. This file
// reads such maps; what a key means stands with the field.
//
// Slices of numbers, words and truth values may be given as rows instead: a list
// of maps under "rows" holds them as columns of the same names, or of the name
// that the key gives as a string. Rows may have more columns. undefined, and a
// column that a row lacks, is NaN.

// decoder reads one map; the first error stays.
type decoder struct {
	op  string // the member called, for errors
	err error
}

// decode fills the struct that out points to.
func decode(c *script.Call, name string, out any) error {
	d := &decoder{op: c.Name()}
	d.structure(name, c.Any(name), reflect.ValueOf(out).Elem())
	return d.err
}

func (d *decoder) refuse(where, problem string, args ...any) {
	if d.err == nil {
		d.err = fault.New(fault.Script, d.op, where, problem, args...)
	}
}

// keyOf returns the key of a field: words in lower case joined by _, where a run
// of capitals is one word.
func keyOf(field string) string {
	var b strings.Builder
	runes := []rune(field)
	for i, r := range runes {
		word := unicode.IsUpper(r) && i > 0 && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if word {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// fieldsOf returns the fields of a struct with those of embedded ones, in order.
func fieldsOf(t reflect.Type) []reflect.StructField {
	var out []reflect.StructField
	for _, f := range reflect.VisibleFields(t) {
		if !f.Anonymous && f.IsExported() {
			out = append(out, f)
		}
	}
	return out
}

// column reports whether a field can be a column of rows.
func isColumn(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && (t.Elem().Kind() == reflect.Float64 || t.Elem().Kind() == reflect.Bool || t.Elem().Kind() == reflect.String)
}

// hasColumns reports whether a struct can be given as rows: with two columns at
// least.
func hasColumns(t reflect.Type) bool {
	n := 0
	for _, f := range fieldsOf(t) {
		if isColumn(f.Type) {
			n++
		}
	}
	return n > 1
}

func (d *decoder) structure(where string, v any, out reflect.Value) {
	m, ok := asMap(v)
	if !ok {
		d.refuse(where, "expected a map, got %s", kindOf(v))
		return
	}
	fields := fieldsOf(out.Type())
	var keys []string
	for _, f := range fields {
		keys = append(keys, keyOf(f.Name))
	}
	rows, given := m["rows"]
	given = given && hasColumns(out.Type())
	for k := range m {
		if !slices.Contains(keys, k) && !(k == "rows" && given) && d.err == nil {
			e := fault.Unknown(d.op, "key", k, append(keys, "rows"))
			e.Kind, e.Subject = fault.Script, where
			d.err = e
			return
		}
	}
	for i, f := range fields {
		at := where + "." + keys[i]
		v, there := m[keys[i]]
		if given && isColumn(f.Type) {
			name, named := v.(string)
			switch {
			case there && !named && v != nil:
				d.refuse(at, "it is given beside rows; give it as the name of a column")
			case there && named:
				d.columnOf(at, rows, name, true, out.FieldByIndex(f.Index))
			default:
				d.columnOf(at, rows, keys[i], false, out.FieldByIndex(f.Index))
			}
			continue
		}
		if there && v != nil {
			d.value(at, v, out.FieldByIndex(f.Index))
		}
	}
}

// columnOf collects a column of rows; where no row has it, the field stays empty,
// unless it was asked for by name.
func (d *decoder) columnOf(where string, rows any, name string, wanted bool, out reflect.Value) {
	list, ok := rows.([]any)
	if !ok {
		d.refuse(where, "rows is %s, expected a list of maps", kindOf(rows))
		return
	}
	values := make([]any, len(list))
	found := false
	for i, r := range list {
		row, ok := asMap(r)
		if !ok {
			d.refuse(where, "row %d is %s, expected a map", i, kindOf(r))
			return
		}
		v, there := row[name]
		values[i], found = v, found || there
	}
	switch {
	case found:
		d.value(where, values, out)
	case wanted && len(list) > 0:
		d.refuse(where, "no row has the column %s", fault.Quote(name, 40))
	}
}

func (d *decoder) value(where string, v any, out reflect.Value) {
	if d.err != nil {
		return
	}
	switch out.Kind() {
	case reflect.Struct:
		d.structure(where, v, out)
	case reflect.Slice:
		list, ok := v.([]any)
		if !ok {
			d.refuse(where, "expected a list, got %s", kindOf(v))
			return
		}
		made := reflect.MakeSlice(out.Type(), len(list), len(list))
		for i, e := range list {
			d.value(fmt.Sprintf("%s[%d]", where, i), e, made.Index(i))
		}
		out.Set(made)
	case reflect.Float64:
		n, ok := asNumber(v)
		if !ok {
			d.refuse(where, "expected a number, got %s", kindOf(v))
		}
		out.SetFloat(n)
	case reflect.Int:
		n, ok := asNumber(v)
		if !ok || n != math.Trunc(n) || math.Abs(n) > 1<<31 {
			d.refuse(where, "expected a whole number, got %s", kindOf(v))
			return
		}
		out.SetInt(int64(n))
	case reflect.Bool:
		b, ok := v.(bool)
		if !ok && v != nil {
			d.refuse(where, "expected true or false, got %s", kindOf(v))
		}
		out.SetBool(b)
	case reflect.String:
		switch s := v.(type) {
		case nil:
		case string:
			out.SetString(s)
		case int64, float64:
			out.SetString(fmt.Sprint(s))
		default:
			d.refuse(where, "expected a string, got %s", kindOf(v))
		}
	default:
		d.refuse(where, "no map can give a %s", out.Type())
	}
}

func asNumber(v any) (float64, bool) {
	switch n := v.(type) {
	case nil:
		return math.NaN(), true
	case float64:
		return n, true
	case int64:
		return float64(n), true
	}
	return 0, false
}

func asMap(v any) (map[string]any, bool) {
	switch m := v.(type) {
	case map[string]any:
		return m, true
	case script.Record:
		return m.Fields, true
	}
	return nil, false
}

// kindOf names a value in an error.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "undefined"
	case float64, int64:
		return fmt.Sprint("the number ", v)
	case string:
		return "the string " + fault.Quote(v, 40)
	case bool:
		return fmt.Sprint(v)
	case []any:
		return "a list"
	case map[string]any:
		return "a map"
	case script.Object:
		return "a " + v.Class().Name
	}
	return fmt.Sprintf("%T", v)
}

// keysOf writes the keys of a struct for a reference page.
func keysOf(t reflect.Type) string {
	var parts []string
	for _, f := range fieldsOf(t) {
		text := keyOf(f.Name)
		switch k := f.Type; {
		case k.Kind() == reflect.Slice && k.Elem().Kind() == reflect.Struct:
			text += " [" + keysOf(k.Elem()) + "]"
		case k.Kind() == reflect.Struct:
			text += " " + keysOf(k)
		case k.Kind() == reflect.Slice && k.Elem().Kind() == reflect.Slice:
			text += " [[]]"
		case k.Kind() == reflect.Slice:
			text += " []"
		}
		parts = append(parts, text)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
