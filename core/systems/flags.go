package systems

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lab/core/fault"
)

// readFlags reads --name value, --name=value, and switches without a value. As in
// the systems themselves, the word after a flag that takes a value is the value,
// whatever it begins with.
func readFlags(s *system, words []string) ([]pair, error) {
	var out []pair
	for i := 0; i < len(words); i++ {
		w := words[i]
		if !strings.HasPrefix(w, "-") || len(w) < 2 {
			return nil, fault.New(fault.Usage, "chain import", s.name, "%s is not a flag", fault.Quote(w, 40)).Fix("write --name value")
		}
		if name, value, ok := strings.Cut(w, "="); ok {
			out = append(out, pair{name: name, value: value})
			continue
		}
		key := normal(w)
		t, known := s.params[key]
		_, lost := s.known[key]
		next := i + 1
		switch {
		case !known && !lost && !slices.Contains(s.unrelated, key):
			// Whether it takes a value is not known, nor is anything behind it.
			return merged(s, append(out, pair{name: w, value: ""})), nil
		case known && t.kind == truth || slices.Contains(s.switches, key):
			value := "true"
			if next < len(words) && (isTruth(words[next]) || !known && isSwitch(words[next])) {
				i, value = next, words[next]
			}
			out = append(out, pair{name: w, value: value})
		case next < len(words):
			i = next
			out = append(out, pair{name: w, value: words[i]})
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
		list := slices.Contains([]kind{texts, biases, ids, words}, s.params[key].kind)
		i, again := at[key]
		if !again || !list {
			at[key] = len(out)
			if list {
				p.value = []any{p.value}
			}
			out = append(out, p)
			continue
		}
		have, _ := out[i].value.([]any)
		out[i].value = append(have, p.value)
	}
	return out
}

func isTruth(w string) bool { return w == "true" || w == "false" }

// isSwitch reports whether a word is the optional value of a switch.
func isSwitch(w string) bool {
	_, err := strconv.ParseBool(w)
	return err == nil || w == "on" || w == "off" || w == "auto"
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
