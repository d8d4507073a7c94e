package param

import (
	"encoding/json"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Token is one item of a [Tokens] setting: a sequence of token ids, or a text
// that stands for the tokens whose bytes equal it.
type Token struct {
	IDs    []int32 // at least one, unless Text is set
	Text   string  // not empty when IDs is nil
	Weight float64 // of a weighted list, otherwise 0; may be -Inf, never NaN or +Inf
}

// TokenList is the value of a [Tokens] setting. It is immutable and safe for
// concurrent use. Its String reads back to the same list.
type TokenList struct {
	text     string
	items    []Token
	weighted bool // the items carry numbers
}

// mostTokens bounds the items of a list and the ids of one item.
const mostTokens = 1 << 16

// Items returns the items in the order in which they were given; the slice must
// not be changed.
func (l TokenList) Items() []Token { return l.items }

// String returns the list in its text form.
func (l TokenList) String() string { return l.text }

// MarshalJSON returns the text form as a JSON string.
func (l TokenList) MarshalJSON() ([]byte, error) { return json.Marshal(l.text) }

// ParseTokens reads the text form of a token list: items separated by blanks,
// each an id (15), a sequence of ids (4+7+15) or a text in single quotes
// ('\n', with \', \\, \n, \t and \r as escapes), followed by "=NUMBER" when the list is
// weighted; the number may be -inf.
func ParseTokens(text string, weighted bool) (TokenList, error) {
	p := tokenParser{text: text}
	l := TokenList{weighted: weighted}
	for p.blanks(); p.at < len(text); p.blanks() {
		if len(l.items) == mostTokens {
			return TokenList{}, fmt.Errorf("it has more than %d items", mostTokens)
		}
		t, err := p.item(weighted)
		if err != nil {
			return TokenList{}, err
		}
		l.items = append(l.items, t)
	}
	l.text = formatTokens(l.items, weighted)
	return l, nil
}

type tokenParser struct {
	text string
	at   int
}

func (p *tokenParser) blanks() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// wrong returns an error about what stands at a byte of the text.
func (p *tokenParser) wrong(at int, problem string) error {
	rest := p.text[at:]
	if len(rest) > 20 {
		rest = rest[:20]
	}
	return fmt.Errorf("%q at byte %d %s; write 15, 4+7 or 'text'", rest, at+1, problem)
}

func (p *tokenParser) item(weighted bool) (t Token, err error) {
	start := p.at
	if p.text[p.at] == '\'' {
		t.Text, err = p.quoted()
	} else {
		t.IDs, err = p.ids()
	}
	if err != nil {
		return t, err
	}
	has := p.at < len(p.text) && p.text[p.at] == '='
	switch {
	case has && !weighted:
		return t, p.wrong(start, "has a weight, and this list takes none")
	case !has && weighted:
		return t, p.wrong(start, "has no weight: append =NUMBER")
	case has:
		word := p.word(p.at + 1)
		t.Weight, err = strconv.ParseFloat(word, 64)
		if err != nil || math.IsNaN(t.Weight) || math.IsInf(t.Weight, 1) {
			return t, p.wrong(start, "has a weight that is no number")
		}
		p.at += 1 + len(word)
	}
	if p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) < 0 {
		return t, p.wrong(start, "does not end where an item ends")
	}
	return t, nil
}

// word returns the text from a byte to the next blank.
func (p *tokenParser) word(from int) string {
	rest := p.text[from:]
	if i := strings.IndexAny(rest, " \t\r\n"); i >= 0 {
		return rest[:i]
	}
	return rest
}

func (p *tokenParser) ids() ([]int32, error) {
	var ids []int32
	start := p.at
	for {
		from := p.at
		for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
			p.at++
		}
		id, err := strconv.ParseInt(p.text[from:p.at], 10, 32)
		if err != nil || len(ids) == mostTokens {
			return nil, p.wrong(start, "is not a token id")
		}
		ids = append(ids, int32(id))
		if p.at == len(p.text) || p.text[p.at] != '+' {
			return ids, nil
		}
		p.at++
	}
}

var escapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', '\\': '\\', '\'': '\''}

func (p *tokenParser) quoted() (string, error) {
	start := p.at
	var b strings.Builder
	for p.at++; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; c {
		case '\'':
			p.at++
			if b.Len() == 0 {
				return "", p.wrong(start, "is an empty text")
			}
			return b.String(), nil
		case '\\':
			p.at++
			if p.at == len(p.text) || escapes[p.text[p.at]] == 0 {
				return "", p.wrong(start, `has an escape other than \' \\ \n \t \r`)
			}
			b.WriteByte(escapes[p.text[p.at]])
		default:
			b.WriteByte(c)
		}
	}
	return "", p.wrong(start, "is a text that does not end")
}

func formatTokens(items []Token, weighted bool) string {
	parts := make([]string, len(items))
	for i, t := range items {
		parts[i] = t.String()
		if weighted {
			parts[i] += "=" + strings.ToLower(strconv.FormatFloat(t.Weight, 'g', -1, 64))
		}
	}
	return strings.Join(parts, " ")
}

// String returns the item in its text form, without its weight.
func (t Token) String() string {
	if t.IDs == nil {
		r := strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\t", `\t`, "\r", `\r`)
		return "'" + r.Replace(t.Text) + "'"
	}
	ids := make([]string, len(t.IDs))
	for i, id := range t.IDs {
		ids[i] = strconv.Itoa(int(id))
	}
	return strings.Join(ids, "+")
}

// tokensOf turns what a user or script gave into a list: the text form, one id,
// or a list of ids, texts and lists of ids; a weighted list also a map from
// items in text form to numbers, or pairs of an item and a number.
func (s Spec) tokensOf(v any) (TokenList, error) {
	switch x := v.(type) {
	case TokenList:
		if x.weighted == s.Weighted { // checked when it was made
			return x, nil
		}
		return ParseTokens(x.text, s.Weighted)
	case string:
		return ParseTokens(x, s.Weighted)
	case map[string]any:
		if !s.Weighted {
			return TokenList{}, fmt.Errorf("it takes a list without weights")
		}
		keys := make([]string, 0, len(x))
		for k := range x {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		return joined(len(keys), func(i int) (string, error) { return weighted(keys[i], x[keys[i]]) }, true)
	case []any:
		return joined(len(x), func(i int) (string, error) {
			if !s.Weighted {
				return item(x[i])
			}
			pair, ok := x[i].([]any)
			if !ok || len(pair) != 2 {
				return "", fmt.Errorf("element %d is not [item, number]", i)
			}
			text, err := item(pair[0])
			if err != nil {
				return "", err
			}
			return weighted(text, pair[1])
		}, s.Weighted)
	}
	text, err := item(v)
	if err != nil {
		return TokenList{}, err
	}
	return ParseTokens(text, s.Weighted)
}

func joined(n int, part func(int) (string, error), weighted bool) (TokenList, error) {
	parts := make([]string, n)
	for i := range parts {
		var err error
		if parts[i], err = part(i); err != nil {
			return TokenList{}, err
		}
	}
	return ParseTokens(strings.Join(parts, " "), weighted)
}

func weighted(item string, weight any) (string, error) {
	switch w := weight.(type) {
	case float64:
		return item + "=" + strconv.FormatFloat(w, 'g', -1, 64), nil
	case int64:
		return item + "=" + strconv.FormatInt(w, 10), nil
	}
	return "", fmt.Errorf("the weight of %s is not a number", show(item))
}

// item returns the text form of one element of a script's list: an id, a text
// that stands for itself, or a list of ids.
func item(v any) (string, error) {
	switch x := v.(type) {
	case int:
		return strconv.Itoa(x), nil
	case int64:
		return strconv.FormatInt(x, 10), nil
	case string:
		if !utf8.ValidString(x) || x == "" {
			return "", fmt.Errorf("%s is not a text", show(x))
		}
		return Token{Text: x}.String(), nil
	case []any:
		ids := make([]string, len(x))
		for i, e := range x {
			id, ok := e.(int64)
			if !ok {
				return "", fmt.Errorf("%s in a sequence is not a token id", show(e))
			}
			ids[i] = strconv.FormatInt(id, 10)
		}
		return strings.Join(ids, "+"), nil
	}
	return "", fmt.Errorf("%s is neither a token id, a text nor a list of them", show(v))
}

// Tokens returns the items of a setting declared as Tokens; they must not be
// changed.
func (v Values) Tokens(name string) []Token { return v.get(name).(TokenList).items }

// HoldText reports whether an item of one of the Tokens settings is a text, so
// that the texts of the vocabulary are needed to read it.
func (v Values) HoldText() bool {
	for _, x := range v {
		if list, ok := x.Value.(TokenList); ok {
			for _, t := range list.items {
				if t.IDs == nil {
					return true
				}
			}
		}
	}
	return false
}
