package systems

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"lab/core/fault"
)

// mostSettings bounds the bytes of settings that are read.
const mostSettings = 1 << 20

// read returns the settings in a text: a JSON object, flags, or lines
// "PARAMETER name value".
func read(s *system, settings string) ([]pair, error) {
	if len(settings) > mostSettings {
		return nil, fault.New(fault.Limit, "chain import", s.name, "the settings have %d bytes, more than %d", len(settings), mostSettings)
	}
	if !utf8.ValidString(settings) {
		return nil, fault.New(fault.Usage, "chain import", s.name, "the settings are not UTF-8 text")
	}
	trimmed := strings.TrimSpace(strings.TrimPrefix(settings, "\ufeff"))
	switch {
	case strings.HasPrefix(trimmed, "{"):
		return readObject(s, []byte(trimmed), true)
	case trimmed == "":
		return nil, nil
	case strings.HasPrefix(trimmed, "-") || s.isCommand(trimmed):
		words, err := split(trimmed)
		if err != nil {
			return nil, fault.New(fault.Usage, "chain import", s.name, "%v", err)
		}
		if !strings.HasPrefix(words[0], "-") {
			words = words[1:]
		}
		return readFlags(s, words)
	case !s.lines:
		return nil, fault.New(fault.Usage, "chain import", s.name, "the settings begin with %s", fault.Quote(strings.Fields(trimmed)[0], 40)).
			Fix("give %s", s.format)
	}
	return readLines(s, strings.TrimPrefix(settings, "\ufeff"))
}

// isCommand reports whether a text begins with one of the system's programs, as a
// command line does.
func (s *system) isCommand(text string) bool {
	first := strings.Trim(strings.Fields(text)[0], `'"`)
	first = first[strings.LastIndexAny(first, `/\\`)+1:]
	return slices.ContainsFunc(s.programs, func(p string) bool { return strings.HasPrefix(first, p) })
}

// nested are the objects that requests keep their settings in.
var nested = []string{"options", "parameters", "sampling_params", "extra_body"}

// readObject reads a JSON object, in its order. The nested objects of an outer one
// are opened.
func readObject(s *system, data []byte, outer bool) ([]pair, error) {
	bad := func(err error) error {
		return fault.New(fault.Usage, "chain import", s.name, "the settings are no JSON object: %v", err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var out []pair
	if _, err := d.Token(); err != nil {
		return nil, bad(err)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, bad(err)
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, bad(err)
		}
		name, _ := key.(string)
		if outer && slices.Contains(nested, name) && bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
			inner, err := readObject(s, raw, false)
			if err != nil {
				return nil, err
			}
			out = append(out, inner...)
			continue
		}
		v := json.NewDecoder(bytes.NewReader(raw))
		v.UseNumber()
		var value any
		if err := v.Decode(&value); err != nil {
			return nil, bad(err)
		}
		if _, object := value.(map[string]any); object && s.params[normal(name)].kind == text {
			var compact bytes.Buffer // in its own order: that of a schema's properties counts
			if err := json.Compact(&compact, raw); err != nil {
				return nil, bad(err)
			}
			value = compact.String()
		}
		out = append(out, pair{name, value, true})
	}
	if _, err := d.Token(); err != nil {
		return nil, bad(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, bad(fmt.Errorf("something follows it"))
	}
	return out, nil
}

// convert turns a value as it was read into the Go type of a kind: float64,
// int64, bool, string, []string, or the text of a token list.
func (k kind) convert(v any) (any, error) {
	switch k {
	case number, whole:
		var s string
		switch x := v.(type) {
		case json.Number:
			s = x.String()
		case string:
			s = x
		default:
			return nil, fmt.Errorf("is not a number")
		}
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("is not a number")
		}
		if k == number {
			return f, nil
		}
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n, nil // exact, where a float64 is not
		}
		if f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			return nil, fmt.Errorf("is not a whole number")
		}
		return int64(f), nil
	case truth:
		switch x := v.(type) {
		case bool:
			return x, nil
		case string:
			if b, err := strconv.ParseBool(x); err == nil {
				return b, nil
			}
		}
		return nil, fmt.Errorf("is not true or false")
	case text:
		if s, ok := v.(string); ok {
			return s, nil
		}
		b, err := json.Marshal(v)
		return string(b), err
	case texts:
		return textsOf(v)
	case seeds:
		return seedOf(v)
	case ids:
		return idsOf(v)
	case words:
		return wordsOf(v)
	case biases:
		return biasesOf(v)
	}
	return nil, fmt.Errorf("has an unknown kind")
}

func textsOf(v any) ([]string, error) {
	switch x := v.(type) {
	case string:
		return []string{x}, nil
	case []any:
		var out []string
		for _, e := range x {
			s, ok := e.(string)
			if !ok {
				return nil, fmt.Errorf("is not a list of texts")
			}
			out = append(out, s)
		}
		return out, nil
	}
	return nil, fmt.Errorf("is not a list of texts")
}

// seedOf returns a seed as a uint64, or an int64 below 0.
func seedOf(v any) (any, error) {
	s := fmt.Sprint(v)
	if n, err := strconv.ParseUint(s, 10, 64); err == nil {
		return n, nil
	}
	n, err := whole.convert(v)
	if n, ok := n.(int64); ok && n >= 0 {
		return uint64(n), nil // written with a fraction or an exponent
	}
	return n, err
}
