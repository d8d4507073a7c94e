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
	trimmed := strings.TrimSpace(settings)
	switch {
	case strings.HasPrefix(trimmed, "{"):
		return readObject(s, []byte(trimmed))
	case strings.HasPrefix(trimmed, "-"):
		words, err := split(trimmed)
		if err != nil {
			return nil, fault.New(fault.Usage, "chain import", s.name, "%v", err)
		}
		return readFlags(s, words)
	case trimmed == "":
		return nil, nil
	}
	return readLines(s, trimmed)
}

// readObject reads a JSON object, in its order. Objects called options,
// parameters or sampling_params inside it are opened.
func readObject(s *system, data []byte) ([]pair, error) {
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
		if slices.Contains([]string{"options", "parameters", "sampling_params"}, name) && bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
			inner, err := readObject(s, raw)
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
		out = append(out, pair{name, value})
	}
	if _, err := d.Token(); err != nil {
		return nil, bad(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, bad(fmt.Errorf("something follows it"))
	}
	return out, nil
}

// readFlags reads --name value, --name=value, and switches without a value.
func readFlags(s *system, words []string) ([]pair, error) {
	var out []pair
	for i := 0; i < len(words); i++ {
		w := words[i]
		if !strings.HasPrefix(w, "-") || len(w) < 2 {
			return nil, fault.New(fault.Usage, "chain import", s.name, "%s is not a flag", fault.Quote(w, 40)).Fix("write --name value")
		}
		if name, value, ok := strings.Cut(w, "="); ok {
			out = append(out, pair{name, value})
			continue
		}
		t, known := s.params[normal(w)]
		_, useless := s.known[normal(w)]
		next := i + 1
		has := next < len(words) && (!strings.HasPrefix(words[next], "-") || isNumber(words[next]))
		switch {
		case known && t.kind == truth && !(has && isTruth(words[next])):
			out = append(out, pair{w, "true"})
		case has:
			i = next
			out = append(out, pair{w, words[i]})
		case useless:
			out = append(out, pair{w, "true"})
		default:
			return nil, fault.New(fault.Usage, "chain import", s.name, "%s has no value", fault.Quote(w, 40))
		}
	}
	return merged(s, out), nil
}

// merged joins flags that may be repeated into one list.
func merged(s *system, pairs []pair) []pair {
	var out []pair
	at := map[string]int{}
	for _, p := range pairs {
		key := normal(p.name)
		k := s.params[key].kind
		i, again := at[key]
		if !again || k != texts && k != biases && k != ids {
			at[key] = len(out)
			if k == texts || k == biases || k == ids {
				p.value = []any{p.value}
			}
			out = append(out, p)
			continue
		}
		list, _ := out[i].value.([]any)
		out[i].value = append(list, p.value)
	}
	return out
}

func isNumber(w string) bool {
	_, err := strconv.ParseFloat(w, 64)
	return err == nil
}

func isTruth(w string) bool { return w == "true" || w == "false" }

// readLines reads the PARAMETER lines of a Modelfile, or lines "name value".
func readLines(s *system, settings string) ([]pair, error) {
	var out []pair
	for n, line := range strings.Split(settings, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		words, err := split(line)
		if err != nil {
			return nil, fault.New(fault.Usage, "chain import", s.name, "line %d: %v", n+1, err)
		}
		if strings.EqualFold(words[0], "PARAMETER") {
			words = words[1:]
		} else if strings.ToUpper(words[0]) == words[0] && len(words) > 1 {
			continue // FROM, TEMPLATE and the like concern other things
		}
		if len(words) != 2 {
			return nil, fault.New(fault.Usage, "chain import", s.name, "line %d: %s is not \"name value\"", n+1, fault.Quote(line, 60)).
				Fix("give %s", s.format)
		}
		out = append(out, pair{words[0], words[1]})
	}
	return merged(s, out), nil
}

// split cuts a text into words, as a shell does: quotes of either kind hold
// blanks, and a backslash in double quotes or outside takes the next character.
func split(text string) ([]string, error) {
	var out []string
	var b strings.Builder
	quote, in := byte(0), false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && quote != '\'':
			if i++; i == len(text) {
				return nil, fmt.Errorf("the text ends with a backslash")
			}
			if quote == '"' && text[i] == 'n' {
				b.WriteByte('\n')
			} else {
				b.WriteByte(text[i])
			}
			in = true
		case quote != 0:
			b.WriteByte(c)
		case c == '"' || c == '\'':
			quote, in = c, true
		case strings.IndexByte(" \t\r\n", c) >= 0:
			if in {
				out = append(out, b.String())
				b.Reset()
				in = false
			}
		default:
			b.WriteByte(c)
			in = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote does not end")
	}
	if in {
		out = append(out, b.String())
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
	case ids:
		return idsOf(v)
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
