package systems

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"lab/core/fault"
)

// readFlags reads --name value, --name=value, and switches without a value. As in
// the systems themselves, the word after a flag that takes a value is the value,
// whatever it begins with.
func readFlags(s *system, words []string) ([]pair, error) {
	var out []pair
	escapes := !slices.Contains(words, "--no-escape")
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
	for i, p := range out {
		if text, ok := p.value.(string); ok && escapes && slices.Contains(s.escaped, normal(p.name)) {
			if text = unescape(text); !utf8.ValidString(text) {
				return nil, fault.New(fault.Usage, "chain import", s.name, "%s %s is not UTF-8 text", p.name, fault.Quote(text, 40))
			}
			out[i].value = text
		}
	}
	return merged(s, out), nil
}

// unescape resolves the escapes of a text as llama.cpp does after the shell: those
// it does not know stay as they are.
func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		if at := strings.IndexByte(`nrt'"\`, text[i]); at >= 0 {
			b.WriteByte("\n\r\t'\"\\"[at])
			continue
		}
		if text[i] == 'x' && i+2 < len(text) {
			if v, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(v))
				i += 2
				continue
			}
		}
		b.WriteByte('\\')
		b.WriteByte(text[i])
	}
	return b.String()
}

// merged joins flags that may be repeated, under any of their names, into one
// list.
func merged(s *system, pairs []pair) []pair {
	var out []pair
	at := map[string]int{}
	for _, p := range pairs {
		key := normal(p.name)
		t := s.params[key]
		list := slices.Contains([]kind{texts, biases, ids, words}, t.kind)
		if t.stage != "" {
			key = t.stage + " " + t.param
		}
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
// blanks, a backslash outside of them takes the next character, in double quotes
// only one that has a meaning there, and at the end of a line it joins the next.
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
			if text[i] == '\n' || strings.HasPrefix(text[i:], "\r\n") {
				i += strings.IndexByte(text[i:], '\n')
				continue
			}
			if quote == '"' && strings.IndexByte("$`\"\\", text[i]) < 0 {
				b.WriteByte('\\')
			}
			b.WriteByte(text[i])
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
