package schema

import (
	"github.com/santhosh-tekuri/jsonschema/v6"

	"lab/plugins/samplers/constrain/internal/bytegram"
)

// array returns the expression of an array: its first items each by a schema of
// their own, the others by one for all.
func (b *builder) array(s *jsonschema.Schema) (*bytegram.Expr, error) {
	prefix, rest, err := b.items(s)
	if err != nil {
		return nil, err
	}
	least, most := 0, bytegram.Unlimited
	if s.MinItems != nil {
		least = *s.MinItems
	}
	if s.MaxItems != nil {
		most = *s.MaxItems
	}
	for k, n := range map[string]int{"minItems": least, "maxItems": most} {
		if n > mostRepeat {
			return nil, b.cannot(s, k, "items are counted up to %d", mostRepeat)
		}
	}
	if rest == nil && (most == bytegram.Unlimited || most > len(prefix)) {
		most = len(prefix)
	}
	if most != bytegram.Unlimited && most < least {
		return bytegram.None(), nil
	}
	return bytegram.Seq(text("["), b.gap(), b.listOf(prefix, rest, least, most), b.gap(), text("]")), nil
}

// items returns the schemas of the first items, and of the others: nil when
// there may be none.
func (b *builder) items(s *jsonschema.Schema) (prefix []*bytegram.Expr, rest *bytegram.Expr, err error) {
	add := func(list []*jsonschema.Schema) error {
		for _, item := range list {
			x, err := b.ref(item)
			if err != nil {
				return err
			}
			prefix = append(prefix, x)
		}
		return nil
	}
	other := any(nil)
	if s.Items2020 != nil {
		other = s.Items2020
	}
	if err := add(s.PrefixItems); err != nil {
		return nil, nil, err
	}
	switch items := s.Items.(type) {
	case []*jsonschema.Schema:
		if err := add(items); err != nil {
			return nil, nil, err
		}
		other = s.AdditionalItems
	case *jsonschema.Schema:
		other = items
	case bool:
		other = items
	}
	switch x := other.(type) {
	case nil:
		return prefix, b.anyValue(), nil
	case bool:
		if x {
			return prefix, b.anyValue(), nil
		}
		return prefix, nil, nil
	case *jsonschema.Schema:
		if x.Bool != nil && !*x.Bool {
			return prefix, nil, nil
		}
		rest, err = b.ref(x)
	}
	return prefix, rest, err
}

// listOf returns least to most items with commas between.
func (b *builder) listOf(prefix []*bytegram.Expr, rest *bytegram.Expr, least, most int) *bytegram.Expr {
	item := func(i int) *bytegram.Expr {
		x := rest
		if i < len(prefix) {
			x = prefix[i]
		}
		if i > 0 {
			return bytegram.Seq(b.comma(), x)
		}
		return x
	}
	singles := max(1, len(prefix)) // the first has no comma
	if most != bytegram.Unlimited {
		singles = min(singles, most)
	}
	tail := bytegram.Empty()
	if more := most - singles; most == bytegram.Unlimited || more > 0 {
		if most == bytegram.Unlimited {
			more = bytegram.Unlimited
		}
		tail = bytegram.Repeat(bytegram.Seq(b.comma(), rest), max(0, least-singles), more)
	}
	for i := singles - 1; i >= 0; i-- {
		tail = bytegram.Seq(item(i), tail)
		if i >= least {
			tail = bytegram.Opt(tail)
		}
		tail = bytegram.Ref(b.g.Add("items", tail))
	}
	return tail
}
