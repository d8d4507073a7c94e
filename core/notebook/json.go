package notebook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"lab/core/fault"
)

// Bounds on a notebook that is read.
const (
	maxFile  = 128 << 20 // bytes
	maxDepth = 100       // of nested JSON
	maxCells = 10_000
)

// decode returns the JSON value in data: map[string]any, []any, json.Number,
// string, bool or nil. Unlike encoding/json it refuses a key that comes twice,
// text that is not UTF-8 and whatever follows the value.
func decode(data []byte) (any, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("it is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := value(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something follows the JSON value")
	}
	return v, nil
}

func value(d *json.Decoder, depth int) (any, error) {
	tok, err := d.Token()
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	delim, ok := tok.(json.Delim)
	if !ok {
		return tok, nil
	}
	if depth >= maxDepth {
		return nil, fmt.Errorf("it is nested deeper than %d", maxDepth)
	}
	if delim == '[' {
		list := []any{}
		for d.More() {
			v, err := value(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, closed(d)
	}
	m := map[string]any{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name := key.(string) // the decoder admits no other key
		if _, twice := m[name]; twice {
			return nil, fmt.Errorf("the key %s comes twice", fault.Quote(name, 40))
		}
		if m[name], err = value(d, depth+1); err != nil {
			return nil, err
		}
	}
	return m, closed(d)
}

// closed reads the bracket that ends a list or object.
func closed(d *json.Decoder) error {
	_, err := d.Token()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// encode writes a value of the types that decode returns, and ints, in Jupyter's
// layout.
func encode(b *bytes.Buffer, v any, indent int) {
	line := func(n int) {
		b.WriteByte('\n')
		for range n {
			b.WriteByte(' ')
		}
	}
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			b.WriteString("{}")
			return
		}
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		b.WriteByte('{')
		for i, k := range keys {
			if i > 0 {
				b.WriteByte(',')
			}
			line(indent + 1)
			quote(b, k)
			b.WriteString(": ")
			encode(b, v[k], indent+1)
		}
		line(indent)
		b.WriteByte('}')
	case []any:
		if len(v) == 0 {
			b.WriteString("[]")
			return
		}
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			line(indent + 1)
			encode(b, e, indent+1)
		}
		line(indent)
		b.WriteByte(']')
	case string:
		quote(b, v)
	case json.Number:
		b.WriteString(string(v))
	case int:
		fmt.Fprint(b, v)
	case bool:
		fmt.Fprint(b, v)
	case nil:
		b.WriteString("null")
	default:
		panic(fmt.Sprintf("notebook: a %T is no JSON", v)) // only decode and this package make values
	}
}

// quote writes a string with no more escapes than JSON demands.
func quote(b *bytes.Buffer, s string) {
	b.WriteByte('"')
	for _, r := range s {
		switch r {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '\n':
			b.WriteString(`\n`)
		case '\t':
			b.WriteString(`\t`)
		case '\r':
			b.WriteString(`\r`)
		case '\b':
			b.WriteString(`\b`)
		case '\f':
			b.WriteString(`\f`)
		default:
			if r < 0x20 {
				fmt.Fprintf(b, `\u%04x`, r)
			} else {
				b.WriteRune(r)
			}
		}
	}
	b.WriteByte('"')
}

// object is a JSON object that is being checked: what was taken is known, so that
// the rest can be refused.
type object struct {
	where string
	m     map[string]any
	taken map[string]bool
	err   error // the first
}

func (o *object) fail(format string, args ...any) {
	if o.err == nil {
		o.err = fault.New(fault.Data, "notebook", o.where, format, args...)
	}
}

func objectOf(where string, v any) *object {
	o := &object{where: where, taken: map[string]bool{}}
	m, ok := v.(map[string]any)
	if !ok {
		o.fail("it is %s, not an object", kindOf(v))
	}
	o.m = m
	return o
}

func kindOf(v any) string {
	switch v.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case bool:
		return "true or false"
	}
	return "null"
}

// take returns a required key as a T.
func take[T any](o *object, key string) (v T) {
	raw, ok := o.m[key]
	o.taken[key] = true
	if !ok {
		o.fail("%q is missing", key)
		return v
	}
	v, ok = raw.(T)
	if !ok {
		o.fail("%q is %s", key, kindOf(raw))
	}
	return v
}

// optional returns a key as a T, or the zero value.
func optional[T any](o *object, key string) (v T) {
	if _, ok := o.m[key]; !ok {
		return v
	}
	return take[T](o, key)
}

// whole returns a required whole number of at least 0.
func (o *object) whole(key string) int {
	n := take[json.Number](o, key)
	i, ok := new(big.Int).SetString(string(n), 10)
	if o.err == nil && (!ok || !i.IsInt64() || i.Sign() < 0 || i.Int64() > 1<<31-1) {
		o.fail("%q is %s, not a whole number from 0", key, fault.Quote(string(n), 20))
	}
	if o.err != nil {
		return 0
	}
	return int(i.Int64())
}

// text returns a required text: a string, or a list of strings to be joined.
func (o *object) text(key string) string {
	raw, ok := o.m[key]
	if !ok {
		return take[string](o, key)
	}
	o.taken[key] = true
	s, ok := joined(raw)
	if !ok {
		o.fail("%q is neither a string nor a list of strings", key)
	}
	return s
}

func joined(raw any) (string, bool) {
	list, ok := raw.([]any)
	if !ok {
		s, ok := raw.(string)
		return s, ok
	}
	var b strings.Builder
	for _, e := range list {
		s, ok := e.(string)
		if !ok {
			return "", false
		}
		b.WriteString(s)
	}
	return b.String(), true
}

// lines returns a text as the list of its lines, each with its end.
func lines(s string) []any {
	out := []any{}
	for line := range strings.Lines(s) {
		out = append(out, line)
	}
	return out
}

// done refuses keys that nobody took.
func (o *object) done() error {
	for _, key := range sortedKeys(o.m) {
		if !o.taken[key] {
			o.fail("the key %s is not of nbformat 4.5", fault.Quote(key, 40))
		}
	}
	return o.err
}

func sortedKeys(m map[string]any) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
