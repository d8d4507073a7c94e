// Package schema reads JSON Schemas as expressions of package bytegram: the
// JSON texts that are valid under the schema.
//
// Parsing the schema, its drafts and its references is the work of a library;
// here its meaning becomes texts. What is generated is always valid; where a
// schema leaves freedom that only costs tokens, less than all of it is
// generated: properties come in the order in which the schema lists them,
// properties that it does not list only when additionalProperties says true or
// gives a schema, and characters are escaped only when JSON demands it. A
// keyword that cannot be followed is an error that names it by its JSON pointer;
// none is ignored. Start with [Parse].
package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"lab/core/fault"
	"lab/plugins/samplers/constrain/internal/bytegram"
)

// Blanks says which blanks stand between the parts of a text.
type Blanks string

// The choices of blanks.
const (
	Compact Blanks = "compact" // none
	Spaced  Blanks = "spaced"  // one after every comma and colon
	Free    Blanks = "free"    // any of up to 16 between parts
)

// Limits of a schema.
const (
	mostBytes  = 1 << 20
	mostDepth  = 200
	mostRepeat = 1 << 14 // of items and characters
)

// Parse returns the grammar of the JSON texts that are valid under a schema, and
// the number of its root rule. Errors are usage errors with a JSON pointer.
func Parse(text string, blanks Blanks) (*bytegram.Grammar, int, error) {
	if len(text) > mostBytes {
		return nil, 0, fault.New(fault.Limit, "json_schema", "", "it has %d bytes, more than %d", len(text), mostBytes)
	}
	doc, err := readOrdered(text)
	if err != nil {
		return nil, 0, fault.New(fault.Usage, "json_schema", "", "it is no JSON: %v", err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, 0, fault.New(fault.Usage, "json_schema", "", "it is no JSON: %v", err)
	}
	s, err := compile(value)
	if err != nil {
		return nil, 0, refusal(err)
	}
	b := &builder{doc: doc, blanks: blanks, rules: map[*jsonschema.Schema]int{}}
	root, err := b.rule(s)
	if err != nil {
		return nil, 0, err
	}
	return &b.g, root, nil
}

// builder turns schemas into rules, each once.
type builder struct {
	doc    *ordered
	blanks Blanks
	g      bytegram.Grammar
	rules  map[*jsonschema.Schema]int
	any    int // the rule of any JSON value, +1; 0: not made yet
	depth  int
}

// pointer returns where in the text a schema stands.
func pointer(s *jsonschema.Schema) string {
	_, p, _ := strings.Cut(s.Location, "#")
	if p == "" {
		return "/"
	}
	return p
}

func (b *builder) cannot(s *jsonschema.Schema, keyword, format string, args ...any) error {
	at := strings.TrimSuffix(pointer(s), "/") + "/" + keyword
	return fault.New(fault.Usage, "json_schema", at, format, args...)
}

// rule returns the number of the rule of a schema, which is made at the first
// call; a schema may contain itself.
func (b *builder) rule(s *jsonschema.Schema) (int, error) {
	if n, ok := b.rules[s]; ok {
		return n, nil
	}
	if b.depth++; b.depth > mostDepth {
		return 0, fault.New(fault.Limit, "json_schema", pointer(s), "schemas lie more than %d deep", mostDepth)
	}
	defer func() { b.depth-- }()
	n := b.g.Rule("schema " + pointer(s))
	b.rules[s] = n
	x, err := b.schema(s)
	if err != nil {
		return 0, err
	}
	b.g.Define(n, x)
	return n, nil
}

func (b *builder) ref(s *jsonschema.Schema) (*bytegram.Expr, error) {
	n, err := b.rule(s)
	if err != nil {
		return nil, err
	}
	return bytegram.Ref(n), nil
}

// annotations are keywords that say nothing about the texts.
var annotations = []string{"$schema", "$id", "$anchor", "$comment", "$defs", "definitions", "title", "description", "default", "examples",
	"readOnly", "writeOnly", "deprecated"}

// keywords returns the keywords of a schema in the order of the text, without
// annotations.
func (b *builder) keywords(s *jsonschema.Schema) []string {
	var out []string
	for _, k := range b.doc.keys(pointer(s)) {
		if !slices.Contains(annotations, k) {
			out = append(out, k)
		}
	}
	return out
}

// only refuses keywords other than the given ones.
func (b *builder) only(s *jsonschema.Schema, beside string, allowed ...string) error {
	for _, k := range b.keywords(s) {
		if !slices.Contains(allowed, k) {
			if beside == "" {
				return b.cannot(s, k, "the keyword %q cannot be followed", k).(*fault.Error).Fix("leave it out, or check it afterwards")
			}
			return b.cannot(s, k, "the keyword %q beside %q cannot be followed", k, beside).(*fault.Error).
				Fix("put what both say into one schema")
		}
	}
	return nil
}

func has(s []string, k string) bool { return slices.Contains(s, k) }

// drafts are the drafts, first and last, of keywords that not all of them have;
// elsewhere the library passes them over.
var drafts = map[string][2]int{"const": {6, 9999}, "prefixItems": {2020, 9999}, "additionalItems": {4, 2019}}

// ofDraft refuses keywords that the draft of a schema does not have.
func (b *builder) ofDraft(s *jsonschema.Schema, keys []string) error {
	for _, k := range keys {
		if d, ok := drafts[k]; ok && (s.DraftVersion < d[0] || s.DraftVersion > d[1]) {
			return b.cannot(s, k, "draft %d of JSON Schema has no keyword %q", s.DraftVersion, k).(*fault.Error).
				Fix("name another draft in $schema, or say it in the words of this one")
		}
		if k == "nullable" {
			return b.cannot(s, k, "\"nullable\" is OpenAPI's and no keyword of JSON Schema").(*fault.Error).
				Fix(`write "type": [..., "null"]`)
		}
	}
	return nil
}

// schema returns the expression of a schema.
func (b *builder) schema(s *jsonschema.Schema) (*bytegram.Expr, error) {
	if s.Bool != nil {
		if *s.Bool {
			return b.anyValue(), nil
		}
		return bytegram.None(), nil
	}
	keys := b.keywords(s)
	if err := b.ofDraft(s, keys); err != nil {
		return nil, err
	}
	switch {
	case has(keys, "$ref"):
		if err := b.only(s, "$ref", "$ref"); err != nil {
			return nil, err
		}
		return b.ref(s.Ref)
	case has(keys, "const"), has(keys, "enum"):
		return b.listed(s)
	case has(keys, "anyOf"):
		if err := b.only(s, "anyOf", "anyOf"); err != nil {
			return nil, err
		}
		return b.choices(s.AnyOf)
	case has(keys, "oneOf"):
		if err := b.only(s, "oneOf", "oneOf"); err != nil {
			return nil, err
		}
		if err := b.apart(s); err != nil {
			return nil, err
		}
		return b.choices(s.OneOf)
	case has(keys, "allOf"):
		return b.allOf(s)
	}
	types, err := b.types(s, keys)
	if err != nil {
		return nil, err
	}
	var list []*bytegram.Expr
	for _, t := range types {
		x, err := b.typed(s, t, keys)
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	if err := b.known(s, keys, types); err != nil {
		return nil, err
	}
	return bytegram.Alt(list...), nil
}

// words are the keywords of each type.
var words = map[string][]string{
	"object":  {"properties", "required", "additionalProperties"},
	"array":   {"items", "prefixItems", "minItems", "maxItems", "additionalItems"},
	"string":  {"pattern", "minLength", "maxLength", "format"},
	"number":  {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"},
	"integer": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"},
}

// types returns the types that a schema allows. Without the keyword they are
// those that its other keywords speak of.
func (b *builder) types(s *jsonschema.Schema, keys []string) ([]string, error) {
	if s.Types != nil {
		types := s.Types.ToStrings()
		if has(types, "number") {
			types = slices.DeleteFunc(types, func(t string) bool { return t == "integer" })
		}
		return types, nil
	}
	var types []string
	for _, t := range []string{"object", "array", "string", "number"} {
		if slices.ContainsFunc(keys, func(k string) bool { return has(words[t], k) }) {
			types = append(types, t)
		}
	}
	if len(types) == 0 && len(keys) == 0 {
		return []string{"any"}, nil
	}
	if len(types) == 0 {
		return nil, b.only(s, "")
	}
	return types, nil
}

// known refuses keywords that none of the types has.
func (b *builder) known(s *jsonschema.Schema, keys, types []string) error {
	for _, k := range keys {
		if k == "type" || slices.ContainsFunc(types, func(t string) bool { return has(words[t], k) }) {
			continue
		}
		for _, list := range words {
			if has(list, k) { // of a type that cannot occur: it says nothing
				k = ""
				break
			}
		}
		if k != "" {
			return b.cannot(s, k, "the keyword %q cannot be followed", k).(*fault.Error).Fix("leave it out, or check it afterwards")
		}
	}
	return nil
}

func (b *builder) typed(s *jsonschema.Schema, t string, keys []string) (*bytegram.Expr, error) {
	switch t {
	case "any":
		return b.anyValue(), nil
	case "null":
		return text("null"), nil
	case "boolean":
		return bytegram.Alt(text("true"), text("false")), nil
	case "string":
		return b.str(s, keys)
	case "integer":
		return b.integer(s)
	case "number":
		return b.number(s)
	case "array":
		return b.array(s)
	case "object":
		return b.object(s)
	}
	return nil, b.cannot(s, "type", "the type %q is unknown", t)
}

func text(s string) *bytegram.Expr { return bytegram.Literal(fmt.Sprintf("%q", s), s) }

func (b *builder) choices(list []*jsonschema.Schema) (*bytegram.Expr, error) {
	var out []*bytegram.Expr
	for _, s := range list {
		x, err := b.ref(s)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return bytegram.Alt(out...), nil
}

// judged are the keywords that the library holds values to.
var judged = []string{"type", "const", "enum", "allOf", "anyOf", "oneOf", "not", "if", "then", "else",
	"pattern", "minLength", "maxLength", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
	"items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems", "contains",
	"properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties", "maxProperties"}

// listed returns the values of const or enum that are valid under the whole
// schema, by the library's judgement.
func (b *builder) listed(s *jsonschema.Schema) (*bytegram.Expr, error) {
	if err := b.only(s, "enum", judged...); err != nil {
		return nil, err
	}
	if name := b.formatOf(s); name != "" && s.Format == nil {
		return nil, b.cannot(s, "format", "the format %q cannot be followed", name)
	}
	var values []any
	if s.Const != nil {
		values = append(values, *s.Const)
	} else {
		values = s.Enum.Values
	}
	var out []*bytegram.Expr
	for _, v := range values {
		if s.Validate(v) != nil {
			continue
		}
		x, err := b.value(v)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	if len(out) == 0 {
		return bytegram.None(), nil
	}
	return bytegram.Alt(out...), nil
}

// comma and colon are the marks with the blanks around them.
func (b *builder) comma() *bytegram.Expr { return b.mark(",") }
func (b *builder) colon() *bytegram.Expr { return b.mark(":") }

func (b *builder) mark(m string) *bytegram.Expr {
	switch b.blanks {
	case Spaced:
		return text(m + " ")
	case Free:
		return bytegram.Seq(b.gap(), text(m), b.gap())
	}
	return text(m)
}

// gap is what may stand inside a bracket.
func (b *builder) gap() *bytegram.Expr {
	if b.blanks != Free {
		return bytegram.Empty()
	}
	return bytegram.Repeat(bytegram.Class("blank", bytegram.Range{Lo: '\t', Hi: '\n'}, bytegram.Range{Lo: ' ', Hi: ' '}), 0, 16)
}
