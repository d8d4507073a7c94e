package chat

import "strings"

// word is one token of an expression.
type word struct {
	kind byte   // 'n' name, 'i' whole number, 'f' number with a point, 's' string, 'o' sign, 0 the end
	text string // of a string: what it spells
}

// lex returns the tokens of an expression, the last of kind 0.
func lex(s string) ([]word, error) {
	var words []word
	for i := 0; i < len(s); {
		c, from := s[i], i
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		case c == '"' || c == '\'':
			text, length := quoted(s[i:])
			if length < 0 {
				return nil, wrong("a string is not closed: %.60q", s[i:])
			}
			words = append(words, word{'s', text})
			i += length
		case digit(c):
			kind := byte('i')
			i += digits(s[i:])
			if i+1 < len(s) && s[i] == '.' && digit(s[i+1]) {
				kind = 'f'
				i += 1 + digits(s[i+1:])
			}
			words = append(words, word{kind, s[from:i]})
		case letter(c):
			for i < len(s) && (letter(s[i]) || digit(s[i])) {
				i++
			}
			words = append(words, word{'n', s[from:i]})
		default:
			n := 1
			if i+1 < len(s) && strings.Contains(" ** // == != <= >= ", " "+s[i:i+2]+" ") {
				n = 2
			} else if strings.IndexByte(",.:()[]{}|~+-*/%<>=", c) < 0 {
				return nil, wrong("an expression has the sign %q", c)
			}
			words = append(words, word{'o', s[i : i+n]})
			i += n
		}
	}
	return append(words, word{}), nil
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func letter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }

func digits(s string) int {
	n := 0
	for n < len(s) && digit(s[n]) {
		n++
	}
	return n
}

// quoted returns what the string literal at the beginning of s spells and how
// many bytes it takes, -1 when it is not closed.
func quoted(s string) (string, int) {
	escapes := map[byte]string{'n': "\n", 't': "\t", 'r': "\r", '\\': `\`, '\'': "'", '"': `"`}
	var out strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == s[0]:
			return out.String(), i + 1
		case s[i] == '\\' && i+1 < len(s):
			i++
			if e, known := escapes[s[i]]; known {
				out.WriteString(e)
			} else {
				out.WriteString(s[i-1 : i+1])
			}
		default:
			out.WriteByte(s[i])
		}
	}
	return "", -1
}

// quote writes a string literal of the library.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

func among(s string, list string) bool {
	return s != "" && strings.Contains(" "+list+" ", " "+s+" ")
}
