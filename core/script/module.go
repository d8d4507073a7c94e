package script

import (
	"fmt"
	"math"
	"reflect"
	"strings"

	"lab/core/fault"
)

// Module is what import("name") gives a script: a fixed set of functions and
// values. The declaration is also the source of the checks of every argument,
// of completion and of the reference pages, so it says everything once.
type Module struct {
	Name    string
	Doc     string   // what it is for, one or more sentences
	Members []Member // in the order of the reference page
	Classes []Class  // the host objects that its functions return
}

// Member is one function or value of a module or of a host object. Exactly one
// of Func and Get is set.
type Member struct {
	Name string // snake_case, as in the script
	Doc  string // what it returns or does, one sentence first

	// Params are the positional arguments; those that may be left out come
	// last. Variadic lets the last one be given any number of times, none
	// included.
	Params   []Param
	Variadic bool

	// Options are the keys of the options map that may be given as the last
	// argument. Every key is optional unless it is Required.
	Options []Param

	Returns string // what comes back, in the script's words: "distribution"

	Func func(*Call) (any, error) // a function
	Get  func(*Call) (any, error) // a value, computed at each access
}

// Param declares one argument or option. What a script gives is checked against
// it before the host function runs.
type Param struct {
	Name     string
	Type     Type
	Optional bool     // a positional argument that may be left out
	Required bool     // an option that must be given
	Default  any      // the value when it is not given; implies Optional
	Range    Range    // the legal values of a Float or Int
	Choices  []string // the legal values of a String
	Unit     string   // "bits", "tokens"; empty when there is none
	Meaning  string   // one sentence, with what the limits do
}

// Range bounds a number. The zero value bounds nothing. NaN and ±Inf are never
// within a Float parameter, whatever its range.
type Range struct {
	set              bool
	min, max         float64
	minOpen, maxOpen bool
}

// Between returns the range lo <= v <= hi.
func Between(lo, hi float64) Range { return Range{set: true, min: lo, max: hi} }

// AtLeast returns the range v >= lo.
func AtLeast(lo float64) Range { return Range{set: true, min: lo, max: math.Inf(1)} }

// MoreThan returns the range v > lo.
func MoreThan(lo float64) Range {
	return Range{set: true, min: lo, max: math.Inf(1), minOpen: true}
}

// Interval returns the range from lo to hi without the ends that are open.
func Interval(lo, hi float64, loOpen, hiOpen bool) Range {
	return Range{set: true, min: lo, max: hi, minOpen: loOpen, maxOpen: hiOpen}
}

func (r Range) contains(v float64) bool {
	return !r.set || (v > r.min || v == r.min && !r.minOpen) && (v < r.max || v == r.max && !r.maxOpen)
}

// String returns the range in mathematical notation, or "" for no bound.
func (r Range) String() string {
	if !r.set {
		return ""
	}
	left, right := "[", "]"
	if r.minOpen || math.IsInf(r.min, -1) {
		left = "("
	}
	if r.maxOpen || math.IsInf(r.max, 1) {
		right = ")"
	}
	end := strings.NewReplacer("-Inf", "-∞", "+Inf", "∞")
	return end.Replace(fmt.Sprintf("%s%s, %s%s", left, number(r.min), number(r.max), right))
}

// Signature returns how the function is called, for help and completion:
// "generate(prompt, {samples, seed})".
func (m Member) Signature() string {
	if m.Func == nil {
		return m.Name
	}
	var args []string
	for i, p := range m.Params {
		name := p.Name
		if m.Variadic && i == len(m.Params)-1 {
			name += "..."
		} else if p.optional() {
			name = "[" + name + "]"
		}
		args = append(args, name)
	}
	if len(m.Options) > 0 {
		names := make([]string, len(m.Options))
		for i, o := range m.Options {
			names[i] = o.Name
		}
		args = append(args, "{"+strings.Join(names, ", ")+"}")
	}
	return m.Name + "(" + strings.Join(args, ", ") + ")"
}

func (p Param) optional() bool { return p.Optional || p.Default != nil }

// fallback returns the default as the Go type that the accessors expect.
func (p *Param) fallback() any {
	n, ok := p.Default.(int)
	switch {
	case !ok:
		return p.Default
	case p.Type.kind == kindFloat:
		return float64(n)
	}
	return int64(n)
}

// Validate returns an error when the declaration contradicts itself: a bad or
// repeated name, a default that its own range refuses, an optional argument in
// front of a required one. It is for the author's own tests; [New] calls it.
func (m Module) Validate() error {
	if !isName(m.Name) {
		return declared("module %q: the name is not snake_case", m.Name)
	}
	if err := validateMembers("module "+m.Name, m.Members); err != nil {
		return err
	}
	for _, c := range m.Classes {
		if err := c.validate(); err != nil {
			return err
		}
	}
	return nil
}

func declared(format string, args ...any) error {
	return fault.New(fault.Internal, "declaration", "", format, args...)
}

func validateMembers(owner string, members []Member) error {
	seen := map[string]bool{}
	for i := range members {
		m := &members[i]
		where := owner + ": " + m.Name
		switch {
		case !isName(m.Name):
			return declared("%s: member name %q is not snake_case", owner, m.Name)
		case seen[m.Name]:
			return declared("%s: declared twice", where)
		case (m.Func == nil) == (m.Get == nil):
			return declared("%s: exactly one of Func and Get must be set", where)
		case m.Get != nil && len(m.Params)+len(m.Options) > 0:
			return declared("%s: a value takes no arguments", where)
		case m.Variadic && len(m.Params) == 0:
			return declared("%s: variadic without a parameter", where)
		}
		seen[m.Name] = true
		if err := validateParams(where, m); err != nil {
			return err
		}
	}
	return nil
}

func validateParams(where string, m *Member) error {
	seen := map[string]bool{}
	left := false // an earlier positional argument may be left out
	for i, p := range append(append([]Param(nil), m.Params...), m.Options...) {
		positional := i < len(m.Params)
		repeated := positional && m.Variadic && i == len(m.Params)-1
		may := p.optional() || repeated
		switch {
		case !isName(p.Name):
			return declared("%s: parameter name %q is not snake_case", where, p.Name)
		case seen[p.Name]:
			return declared("%s: parameter %s is declared twice", where, p.Name)
		case p.Type.take == nil:
			return declared("%s: parameter %s has no type", where, p.Name)
		case positional && left && !may:
			return declared("%s: %s is required but follows an optional argument", where, p.Name)
		case positional && may && p.Type.takesMap && len(m.Options) > 0:
			return declared("%s: an optional map %s cannot be told from the options", where, p.Name)
		}
		seen[p.Name] = true
		left = left || positional && may
		if bad := p.checkDefault(); bad != "" {
			return declared("%s: default of %s%s", where, p.Name, joint(bad))
		}
	}
	return nil
}

// checkDefault returns what is wrong with the default, or "".
func (p *Param) checkDefault() string {
	v := p.fallback()
	if _, isObject := v.(Object); isObject || v == nil {
		return ""
	}
	o, err := (*Session)(nil).toScript(v)
	if err != nil {
		return err.Error()
	}
	taken, bad := p.Type.take(nil, o)
	if bad == "" && reflect.TypeOf(taken) != reflect.TypeOf(v) {
		return fmt.Sprintf("is a Go %T, not a %T", v, taken)
	}
	if bad == "" {
		bad = p.check(v)
	}
	return bad
}

// check returns what is wrong with a value of the right type, or "".
func (p *Param) check(v any) string {
	switch x := v.(type) {
	case float64:
		if p.Type.kind == kindFloat && (math.IsNaN(x) || math.IsInf(x, 0)) {
			return fmt.Sprintf("is %s, not a finite number", number(x))
		}
		if !p.Range.contains(x) {
			return fmt.Sprintf("= %s is outside %s", number(x), p.Range)
		}
	case int64:
		if !p.Range.contains(float64(x)) {
			return fmt.Sprintf("= %d is outside %s", x, p.Range)
		}
	case string:
		if len(p.Choices) == 0 {
			return ""
		}
		for _, c := range p.Choices {
			if c == x {
				return ""
			}
		}
		bad := fmt.Sprintf("= %s is not one of %s", fault.Quote(x, 40), strings.Join(p.Choices, ", "))
		if s := fault.Suggest(x, p.Choices); s != "" {
			bad += fmt.Sprintf("; did you mean %q?", s)
		}
		return bad
	}
	return ""
}

// isName reports whether s is snake_case: a-z, 0-9 and _, starting with a
// letter.
func isName(s string) bool {
	if s == "" || len(s) > 64 || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' {
			return false
		}
	}
	return true
}
