package schema

import (
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"lab/core/fault"
	"lab/plugins/samplers/constrain/internal/bytegram"
)

// fields is an object in the making: its properties in order, which of them must
// be there, and what other ones hold.
type fields struct {
	names    []string
	values   map[string]*jsonschema.Schema
	required []string
	other    *bytegram.Expr // nil: none
}

// object returns the expression of an object.
func (b *builder) object(s *jsonschema.Schema) (*bytegram.Expr, error) {
	f, err := b.fieldsOf(s)
	if err != nil {
		return nil, err
	}
	return b.braces(s, f)
}

func (b *builder) fieldsOf(s *jsonschema.Schema) (*fields, error) {
	f := &fields{values: map[string]*jsonschema.Schema{}, required: s.Required}
	for _, k := range b.doc.keys(strings.TrimSuffix(pointer(s), "/") + "/properties") {
		if p, ok := s.Properties[k]; ok {
			f.names = append(f.names, k)
			f.values[k] = p
		}
	}
	switch other := s.AdditionalProperties.(type) {
	case bool:
		if other {
			f.other = b.anyValue()
		}
	case *jsonschema.Schema:
		x, err := b.ref(other)
		if err != nil {
			return nil, err
		}
		f.other = x
	}
	return f, nil
}

// braces returns the text of an object. A property that is required but has no
// schema holds any value, unless additionalProperties says what it holds.
func (b *builder) braces(s *jsonschema.Schema, f *fields) (*bytegram.Expr, error) {
	names := slices.Clone(f.names)
	contents := map[string]*bytegram.Expr{}
	for _, n := range names {
		x, err := b.ref(f.values[n])
		if err != nil {
			return nil, err
		}
		contents[n] = x
	}
	for _, n := range f.required {
		if contents[n] != nil {
			continue
		}
		if closed, ok := s.AdditionalProperties.(bool); ok && !closed {
			return nil, b.cannot(s, "required", "the property %q is required, and additionalProperties forbids it", n)
		}
		names = append(names, n)
		if contents[n] = f.other; f.other == nil {
			contents[n] = b.anyValue()
		}
	}
	return bytegram.Seq(text("{"), b.gap(), b.members(names, contents, f), b.gap(), text("}")), nil
}

// members returns the members of an object. There are two rules for each
// property, for whether a member came before it.
func (b *builder) members(names []string, contents map[string]*bytegram.Expr, f *fields) *bytegram.Expr {
	first, later := bytegram.Empty(), bytegram.Empty()
	if f.other != nil {
		one := bytegram.Seq(b.otherKey(names), b.colon(), f.other)
		more := bytegram.Repeat(bytegram.Seq(b.comma(), one), 0, bytegram.Unlimited)
		first, later = bytegram.Opt(bytegram.Seq(one, more)), more
	}
	for i := len(names) - 1; i >= 0; i-- {
		member := bytegram.Seq(b.quoted(names[i]), b.colon(), contents[names[i]])
		begin := bytegram.Seq(member, later)
		join := bytegram.Seq(b.comma(), member, later)
		if !slices.Contains(f.required, names[i]) {
			begin, join = bytegram.Alt(begin, first), bytegram.Alt(join, later)
		}
		first = bytegram.Ref(b.g.Add("members from "+names[i], begin))
		later = bytegram.Ref(b.g.Add("members after one, from "+names[i], join))
	}
	return first
}

// allOf joins schemas of objects: the properties of all, each as the one that
// has it says.
func (b *builder) allOf(s *jsonschema.Schema) (*bytegram.Expr, error) {
	if err := b.only(s, "allOf", "allOf", "type", "properties", "required", "additionalProperties"); err != nil {
		return nil, err
	}
	all := s.AllOf
	if len(b.keywords(s)) == 1 && len(all) == 1 {
		return b.ref(all[0])
	}
	f, err := b.fieldsOf(s)
	if err != nil {
		return nil, err
	}
	if s.AdditionalProperties != nil {
		return nil, b.cannot(s, "additionalProperties", "beside allOf it speaks of its own properties only, which cannot be followed")
	}
	for _, part := range all {
		for part.Ref != nil && len(b.keywords(part)) == 1 {
			part = part.Ref
		}
		if err := b.only(part, "", "type", "properties", "required"); err != nil {
			return nil, err
		}
		if part.Types != nil && !slices.Equal(part.Types.ToStrings(), []string{"object"}) {
			return nil, b.cannot(part, "type", "a part of allOf is no object, and only objects are joined")
		}
		g, err := b.fieldsOf(part)
		if err != nil {
			return nil, err
		}
		for _, n := range g.names {
			if f.values[n] != nil && f.values[n] != g.values[n] {
				return nil, b.cannot(part, "properties/"+escape(n), "two parts of allOf describe this property, and they cannot be joined")
			}
			if f.values[n] == nil {
				f.names = append(f.names, n)
				f.values[n] = g.values[n]
			}
		}
		for _, n := range g.required {
			if !slices.Contains(f.required, n) {
				f.required = append(slices.Clip(f.required), n)
			}
		}
	}
	return b.braces(s, f)
}

// apart refuses a oneOf whose schemas may be valid together: then a text could
// match two, and be invalid. Schemas of different types are apart, and objects
// that require the same property with different constants.
func (b *builder) apart(s *jsonschema.Schema) error {
	for i, x := range s.OneOf {
		for _, y := range s.OneOf[:i] {
			if !disjoint(resolved(x), resolved(y)) {
				return b.cannot(s, "oneOf", "two of its schemas may be valid together").(*fault.Error).
					Fix("use anyOf, or tell them apart by type or by a required property with a const in each")
			}
		}
	}
	return nil
}

func resolved(s *jsonschema.Schema) *jsonschema.Schema {
	for range mostDepth {
		if s.Ref == nil {
			break
		}
		s = s.Ref
	}
	return s
}

func disjoint(x, y *jsonschema.Schema) bool {
	if x.Bool != nil && !*x.Bool || y.Bool != nil && !*y.Bool {
		return true
	}
	if vx, vy := constants(x), constants(y); vx != nil && (vy != nil || y.Types != nil) {
		return !slices.ContainsFunc(vx, func(v any) bool { return y.Validate(v) == nil })
	} else if vy != nil && x.Types != nil {
		return !slices.ContainsFunc(vy, func(v any) bool { return x.Validate(v) == nil })
	}
	if x.Types == nil || y.Types == nil {
		return false
	}
	shared := false
	for _, t := range x.Types.ToStrings() {
		for _, u := range y.Types.ToStrings() {
			shared = shared || t == u || t == "number" && u == "integer" || t == "integer" && u == "number"
		}
	}
	if !shared {
		return true
	}
	for _, n := range x.Required {
		if !slices.Contains(y.Required, n) || x.Properties[n] == nil || y.Properties[n] == nil {
			continue
		}
		p, q := resolved(x.Properties[n]), resolved(y.Properties[n])
		if v := constants(p); v != nil && constants(q) != nil {
			if !slices.ContainsFunc(v, func(v any) bool { return q.Validate(v) == nil }) {
				return true
			}
		}
	}
	return false
}

// constants returns the values that a schema lists, or nil.
func constants(s *jsonschema.Schema) []any {
	switch {
	case s.Const != nil:
		return []any{*s.Const}
	case s.Enum != nil:
		return s.Enum.Values
	}
	return nil
}
