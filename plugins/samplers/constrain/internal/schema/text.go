package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"lab/core/fault"
	"lab/plugins/samplers/constrain/internal/bytegram"
	"lab/plugins/samplers/constrain/internal/regex"
)

// formats are the texts of each format, as regular expressions. Each matches
// valid ones only, and may leave out unusual ones: no leap second, no shortened
// IPv6 address, no URI but those of the web.
var formats = map[string]string{
	"date":      date,
	"time":      clock,
	"date-time": date + "T" + clock,
	"uuid":      `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`,
	"ipv4":      octet + `\.` + octet + `\.` + octet + `\.` + octet,
	"ipv6":      `([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}`,
	"uri":       `https?://` + label + `(\.` + label + `){1,3}(:[1-9][0-9]{1,3})?(/[a-z0-9_~.-]{1,30}){0,8}/?`,
	"hostname":  label + `(\.` + label + `){0,3}`,
	"email":     `[a-z0-9]([a-z0-9_-]{0,20}[a-z0-9])?(\.[a-z0-9]{1,16}){0,2}@` + label + `(\.` + label + `){1,2}`,
	"duration":  `P([1-9][0-9]{0,3}D(T[1-9][0-9]{0,3}[HMS])?|T[1-9][0-9]{0,3}[HMS]|[1-9][0-9]{0,3}[YMW])`,
}

const (
	date = `(?:[0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))|` + leap + `-02-29)`
	// Of the years whose number is divisible by 4, whole centuries only by 400.
	leap  = `([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)`
	clock = `([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])`
	octet = `(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])`
	label = `[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?`
)

// str returns the expression of a string.
func (b *builder) str(s *jsonschema.Schema, keys []string) (*bytegram.Expr, error) {
	inside, err := b.inside(s, keys)
	if err != nil {
		return nil, err
	}
	return bytegram.Seq(text(`"`), inside, text(`"`)), nil
}

func (b *builder) inside(s *jsonschema.Schema, keys []string) (*bytegram.Expr, error) {
	lengths := s.MinLength != nil || s.MaxLength != nil
	source, search := "", false
	if s.Pattern != nil {
		source, search = s.Pattern.String(), true
	}
	if has(keys, "format") {
		name := b.formatOf(s)
		f, ok := formats[name]
		if !ok {
			return nil, b.cannot(s, "format", "the format %q cannot be followed", name)
		}
		if source != "" {
			return nil, b.cannot(s, "format", "the keyword \"format\" beside \"pattern\" cannot be followed")
		}
		source = f
	}
	if source == "" {
		least, most := 0, bytegram.Unlimited
		if s.MinLength != nil {
			least = *s.MinLength
		}
		if s.MaxLength != nil {
			most = *s.MaxLength
		}
		for k, n := range map[string]int{"minLength": least, "maxLength": most} {
			if n > mostRepeat {
				return nil, b.cannot(s, k, "characters are counted up to %d", mostRepeat)
			}
		}
		if most != bytegram.Unlimited && most < least {
			return bytegram.None(), nil
		}
		return bytegram.Repeat(char("character", regex.Any()), least, most), nil
	}
	if lengths {
		k := "minLength"
		if s.MinLength == nil {
			k = "maxLength"
		}
		return nil, b.cannot(s, k, "%q beside a pattern or a format cannot be followed", k).(*fault.Error).
			Fix("write the length into the pattern, as [a-z]{2,5}")
	}
	x, err := regex.Parse(source, regex.Options{Search: search, Char: char})
	if err != nil {
		e := fault.Wrap(err, fault.Usage, "json_schema", strings.TrimSuffix(pointer(s), "/")+"/pattern")
		return nil, e
	}
	return x, nil
}

// formatOf returns the format of a schema, which the library keeps only when it
// knows it.
func (b *builder) formatOf(s *jsonschema.Schema) string {
	if s.Format != nil {
		return s.Format.Name
	}
	return b.doc.texts[strings.TrimSuffix(pointer(s), "/")+"/format"]
}

// char returns the expression of one character of a JSON string: as it is, or
// escaped where JSON demands it.
func char(name string, ranges []bytegram.Range) *bytegram.Expr {
	var plain []bytegram.Range
	var escaped []*bytegram.Expr
	for _, r := range ranges {
		for lo := r.Lo; lo <= r.Hi; {
			if mustEscape(lo) {
				escaped = append(escaped, bytegram.Literal(name, quoteRune(lo)))
				lo++
				continue
			}
			hi := r.Hi
			for _, special := range []rune{'"', '\\'} {
				if lo < special && special <= hi {
					hi = special - 1
				}
			}
			plain = append(plain, bytegram.Range{Lo: lo, Hi: hi})
			lo = hi + 1
		}
	}
	if len(plain) > 0 {
		escaped = append([]*bytegram.Expr{bytegram.Class(name, plain...)}, escaped...)
	}
	return bytegram.Alt(escaped...)
}

func mustEscape(r rune) bool { return r < 0x20 || r == '"' || r == '\\' }

var short = map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\b': `\b`, '\f': `\f`}

func quoteRune(r rune) string {
	if s, ok := short[r]; ok {
		return s
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// quoted returns a string of known content.
func (b *builder) quoted(s string) *bytegram.Expr { return text(quote(s)) }

func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		if mustEscape(r) {
			b.WriteString(quoteRune(r))
		} else {
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// otherKey matches the keys that are none of names.
func (b *builder) otherKey(names []string) *bytegram.Expr {
	return bytegram.Seq(text(`"`), b.noneOf(names), text(`"`))
}

// noneOf matches the texts that are none of names, character by character.
func (b *builder) noneOf(names []string) *bytegram.Expr {
	rest := bytegram.Repeat(char("key", regex.Any()), 0, bytegram.Unlimited)
	next := map[rune][]string{}
	ends := false
	var first []rune
	for _, n := range names {
		if n == "" {
			ends = true
			continue
		}
		r, size := utf8.DecodeRuneInString(n)
		if next[r] == nil {
			first = append(first, r)
		}
		next[r] = append(next[r], n[size:])
	}
	slices.Sort(first)
	var list []*bytegram.Expr
	if !ends {
		list = append(list, bytegram.Empty())
	}
	var others []bytegram.Range
	for _, r := range regex.Any() {
		lo := r.Lo
		for _, x := range first {
			if x < lo || x > r.Hi {
				continue
			}
			if x > lo {
				others = append(others, bytegram.Range{Lo: lo, Hi: x - 1})
			}
			lo = x + 1
		}
		if lo <= r.Hi && lo <= unicode.MaxRune {
			others = append(others, bytegram.Range{Lo: lo, Hi: r.Hi})
		}
	}
	list = append(list, bytegram.Seq(char("key", others), rest))
	for _, r := range first {
		list = append(list, bytegram.Seq(char("key", []bytegram.Range{{Lo: r, Hi: r}}), b.noneOf(next[r])))
	}
	return bytegram.Alt(list...)
}

// value returns the text of a JSON value.
func (b *builder) value(v any) (*bytegram.Expr, error) {
	switch x := v.(type) {
	case string:
		return b.quoted(x), nil
	case []any:
		parts := []*bytegram.Expr{text("["), b.gap()}
		for i, e := range x {
			if i > 0 {
				parts = append(parts, b.comma())
			}
			y, err := b.value(e)
			if err != nil {
				return nil, err
			}
			parts = append(parts, y)
		}
		return bytegram.Seq(append(parts, b.gap(), text("]"))...), nil
	case map[string]any:
		keys := make([]string, 0, len(x))
		for k := range x {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		parts := []*bytegram.Expr{text("{"), b.gap()}
		for i, k := range keys {
			if i > 0 {
				parts = append(parts, b.comma())
			}
			y, err := b.value(x[k])
			if err != nil {
				return nil, err
			}
			parts = append(parts, b.quoted(k), b.colon(), y)
		}
		return bytegram.Seq(append(parts, b.gap(), text("}"))...), nil
	}
	out, err := json.Marshal(v)
	return text(string(out)), err
}

// anyValue returns any JSON value.
func (b *builder) anyValue() *bytegram.Expr {
	if b.any > 0 {
		return bytegram.Ref(b.any - 1)
	}
	n := b.g.Rule("any JSON value")
	b.any = n + 1
	value := bytegram.Ref(n)
	str := bytegram.Seq(text(`"`), bytegram.Repeat(char("character", regex.Any()), 0, bytegram.Unlimited), text(`"`))
	member := bytegram.Seq(str, b.colon(), value)
	list := func(open, shut string, item *bytegram.Expr) *bytegram.Expr {
		more := bytegram.Repeat(bytegram.Seq(b.comma(), item), 0, bytegram.Unlimited)
		return bytegram.Seq(text(open), b.gap(), bytegram.Opt(bytegram.Seq(item, more)), b.gap(), text(shut))
	}
	b.g.Define(n, bytegram.Alt(list("{", "}", member), list("[", "]", value), str, anyNumber(), text("true"), text("false"), text("null")))
	return value
}
