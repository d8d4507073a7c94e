package systems

import (
	"slices"
	"strconv"
	"strings"

	"lab/core/fault"
)

// instructions are those of a Modelfile that hold no settings.
var instructions = []string{"FROM", "TEMPLATE", "SYSTEM", "ADAPTER", "LICENSE", "MESSAGE", "REQUIRES", "RENDERER", "PARSER", "DRAFT"}

// readLines reads the instructions of a Modelfile, of which PARAMETER has
// settings, or lines "name value" as ollama show --parameters prints them.
func readLines(s *system, settings string) ([]pair, error) {
	var out []pair
	lines := strings.Split(settings, "\n")
	for n := 0; n < len(lines); n++ {
		first := n + 1
		word, rest := cut(strings.TrimSpace(lines[n]))
		if word == "" || strings.HasPrefix(word, "#") {
			continue
		}
		instruction := strings.ToUpper(word)
		if instruction == "PARAMETER" || instruction == "MESSAGE" {
			word, rest = cut(rest)
		}
		// A text that begins with one or three quotes ends with as many, at the end
		// of this line or a later one.
		mark := quoteOf(rest)
		if !ends(rest, mark) {
			for n++; n < len(lines) && !strings.HasSuffix(strings.TrimSpace(lines[n]), mark); n++ {
			}
			if n == len(lines) {
				return nil, fault.New(fault.Usage, "chain import", s.name, "line %d: a text in quotes does not end", first)
			}
			rest = strings.TrimSpace(rest + "\n" + strings.Join(lines[first:n+1], "\n"))
		}
		if slices.Contains(instructions, instruction) {
			continue
		}
		if word == "" || rest == "" {
			return nil, fault.New(fault.Usage, "chain import", s.name, "line %d: %s is not \"name value\"", first, fault.Quote(strings.TrimSpace(lines[first-1]), 60)).
				Fix("give %s", s.format)
		}
		value := rest[len(mark) : len(rest)-len(mark)] // without escapes, as Ollama reads it
		if instruction != "PARAMETER" && mark == `"` {
			if text, err := strconv.Unquote(rest); err == nil { // as Ollama prints it
				value = text
			}
		}
		out = append(out, pair{name: word, value: value})
	}
	return merged(s, out), nil
}

// quoteOf returns the quotes that a text begins with: three, one or none.
func quoteOf(text string) string {
	for _, mark := range []string{`"""`, `"`} {
		if strings.HasPrefix(text, mark) {
			return mark
		}
	}
	return ""
}

// ends reports whether a text that begins with the mark ends with another.
func ends(text, mark string) bool {
	return mark == "" || len(text) >= 2*len(mark) && strings.HasSuffix(text, mark)
}

// cut splits a line at the first run of blanks.
func cut(line string) (word, rest string) {
	at := strings.IndexAny(line, " \t\r\n")
	if at < 0 {
		return line, ""
	}
	return line[:at], strings.TrimSpace(line[at:])
}
