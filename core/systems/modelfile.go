package systems

import (
	"slices"
	"strings"

	"lab/core/fault"
)

// instructions are those of a Modelfile that hold no settings.
var instructions = []string{"FROM", "TEMPLATE", "SYSTEM", "ADAPTER", "LICENSE", "MESSAGE", "REQUIRES", "RENDERER", "PARSER", "DRAFT"}

// readLines reads the PARAMETER lines of a Modelfile, or lines "name value". A text
// that begins with three quotes ends with three, perhaps lines later.
func readLines(s *system, settings string) ([]pair, error) {
	const block = `"""`
	var out []pair
	lines := strings.Split(settings, "\n")
	for n := 0; n < len(lines); n++ {
		line, first := strings.TrimSpace(lines[n]), n+1
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if at := strings.Index(line, block); at >= 0 && strings.Count(line[at+len(block):], block) == 0 {
			for n++; ; n++ {
				if n >= len(lines) {
					return nil, fault.New(fault.Usage, "chain import", s.name, "line %d: a text in three quotes does not end", first)
				}
				if strings.Contains(lines[n], block) {
					break
				}
			}
			line = strings.TrimSpace(strings.Join(lines[first-1:n+1], "\n"))
		}
		word, rest := cut(line)
		if slices.Contains(instructions, strings.ToUpper(word)) {
			continue
		}
		if strings.EqualFold(word, "PARAMETER") {
			word, rest = cut(rest)
		}
		value, ok := s.valueOf(word, rest)
		if !ok {
			return nil, fault.New(fault.Usage, "chain import", s.name, "line %d: %s is not \"name value\"", first, fault.Quote(line, 60)).
				Fix("give %s", s.format)
		}
		out = append(out, pair{name: word, value: value})
	}
	return merged(s, out), nil
}

// cut splits a line at the first run of blanks.
func cut(line string) (word, rest string) {
	at := strings.IndexAny(line, " \t\r\n")
	if at < 0 {
		return line, ""
	}
	return line[:at], strings.TrimSpace(line[at:])
}

// valueOf returns what the rest of a line says: one word, or one text in quotes.
// A setting that is a text may have several words without quotes.
func (s *system) valueOf(name, rest string) (string, bool) {
	if name == "" || rest == "" {
		return "", false
	}
	if inner, ok := strings.CutPrefix(rest, `"""`); ok {
		inner, ok = strings.CutSuffix(inner, `"""`)
		return inner, ok
	}
	if list, err := split(rest); err == nil && len(list) == 1 {
		return list[0], true
	}
	k := s.params[normal(name)].kind
	return rest, k == texts || k == text
}
