package chat

import (
	"maps"
	"math/bits"
	"slices"
	"strings"

	"github.com/ardanlabs/jinja"
)

// filters are those that a template may use. fromjson is not one of jinja2's.
const filters = "tojson items join default d trim lower upper title capitalize first last length count reverse sort unique " +
	"list int float string safe replace round abs map select reject selectattr rejectattr indent wordcount escape e dictsort max min sum batch"

// filter calls a filter: args are the filter, its name, what it works on, and its
// own arguments.
func (b *budget) filter(args []value, named keywords) (value, error) {
	f, name := args[0].AsCallable(), args[1].AsString()
	args = args[2:]
	if err := b.filterCost(name, args, named); err != nil {
		return jinja.Undefined(), err
	}
	return f.Fn(args, named)
}

// filterCost charges what a filter makes, before it does.
func (b *budget) filterCost(name string, args []value, named keywords) error {
	x := args[0]
	if among(name, "default d first last safe length count items") {
		if name == "items" {
			return b.charge(entry * (1 + top(x)))
		}
		return b.charge(node + 4*top(x)) // its characters are counted as four bytes each
	}
	total, others, err := b.sizes(args, named)
	if err != nil {
		return err
	}
	n := top(x)
	switch name {
	case "tojson":
		if err := b.wide(named["indent"], named["separators"]); err != nil {
			return err
		}
		// Six bytes for a control character; each node may have a line of its own.
		return b.charge(8*total + total/node*mostNest*mostWide/8)
	case "indent":
		if err := b.wide(append([]value{named["width"]}, args[1:min(2, len(args))]...)...); err != nil {
			return err
		}
		return b.charge(2*total + int64(strings.Count(printed(x), "\n"))*(element+mostWide))
	case "replace":
		if len(args) < 3 {
			return wrong("the filter replace takes two texts")
		}
		return b.replaced(printed(x), printed(args[1]), printed(args[2]))
	case "join":
		return b.charge(total + n*others)
	case "map":
		if _, has := named["attribute"]; !has {
			return wrong("the filter map is known only with attribute=")
		}
	case "sort", "dictsort", "max", "min":
		return b.charge((n + 1) * int64(bits.Len64(uint64(n))) * (element + longestOf(x)))
	case "select", "reject", "selectattr", "rejectattr":
		return b.charge(n*(element+others) + 3*total)
	case "trim":
		if others > node+mostWide {
			return b.spent("it strips more than %d characters", mostWide)
		}
	}
	// A character becomes up to twelve bytes meanwhile, or an element.
	if name == "list" || name == "reverse" || name == "unique" || name == "batch" || name == "map" {
		return b.charge(total + n*element)
	}
	return b.charge(12 * total)
}

// sizes charges for what a filter is given: what it works on, and the rest.
func (b *budget) sizes(args []value, named keywords) (first, others int64, err error) {
	if first, err = b.size(args[0], 0); err != nil {
		return 0, 0, err
	}
	for _, a := range slices.AppendSeq(slices.Clone(args[1:]), maps.Values(named)) {
		n, err := b.size(a, 0)
		if err != nil {
			return 0, 0, err
		}
		others += n
	}
	return first, others, nil
}

// wide bounds what says how much white space to write.
func (b *budget) wide(settings ...value) error {
	for _, s := range settings {
		switch {
		case s.IsInt() && (s.AsInt() < 0 || s.AsInt() > mostWide):
			return b.spent("an indent of %d; the most is %d", s.AsInt(), mostWide)
		case s.IsList() && slices.ContainsFunc(s.AsList().Items, func(v value) bool { return top(v) > mostWide }):
			return b.spent("a separator has more than %d bytes", mostWide)
		case s.IsString() || s.IsFloat() || s.IsDict():
			return wrong("an indent is not a whole number")
		}
	}
	return nil
}

// longestOf is the size of the largest text or key of a list or dict.
func longestOf(v value) int64 {
	most := 0
	switch {
	case v.IsList():
		for _, e := range v.AsList().Items {
			if e.IsString() {
				most = max(most, len(e.AsString()))
			}
		}
	case v.IsDict():
		for _, k := range v.AsDict().Keys {
			most = max(most, len(k))
		}
	}
	return int64(most)
}
