package script

import (
	"slices"
	"strings"

	"github.com/d5/tengo/v2/stdlib"
)

// Meaning is what the declarations of modules say of an expression without
// running it. The zero value is an expression of which nothing is known.
type Meaning struct {
	Owner  string  // of Member: "lab", "distribution"
	Member *Member // a function that is not called yet, or the value that was read
	Module *Module // what import returned
	Class  *Class  // a host object
	Elem   *Meaning
	Word   string // what the declaration calls it: "float", "list of int"
	Either bool   // the declaration names more than one kind; this is the first
}

// Declarations answers what names of modules and of host objects mean.
type Declarations struct {
	modules map[string]*Module
	classes map[string]*Class
	globals map[string]*Member
}

// Declared returns the declarations of modules and of what scripts always find,
// of Tengo's own modules by their names alone. Of two classes of one name the
// last is meant.
func Declared(modules []Module) *Declarations {
	d := &Declarations{modules: map[string]*Module{}, classes: map[string]*Class{}, globals: map[string]*Member{}}
	always := Globals()
	for i := range always {
		d.globals[always[i].Name] = &always[i]
	}
	for _, name := range stockModules() {
		m := &Module{Name: name, Doc: "Of the standard library of Tengo."}
		for _, key := range sortedKeys(stdlib.BuiltinModules[name]) {
			m.Members = append(m.Members, Member{Name: key})
		}
		d.modules[name] = m
	}
	all := slices.Concat(StandardModules(), modules)
	for i := range all {
		m := &all[i]
		d.modules[m.Name] = m
		for j := range m.Classes {
			d.classes[m.Classes[j].Name] = &m.Classes[j]
		}
	}
	return d
}

// Import returns what import(name) is.
func (d *Declarations) Import(name string) Meaning { return Meaning{Module: d.modules[name]} }

// Global returns what a function of [Globals] is.
func (d *Declarations) Global(name string) Meaning { return Meaning{Member: d.globals[name]} }

// Members returns what can follow a dot, and what it is of; nil when nothing is
// known of that.
func (m Meaning) Members() (owner string, members []Member) {
	switch {
	case m.Class != nil:
		return m.Class.Name, m.Class.Members
	case m.Module != nil:
		return m.Module.Name, m.Module.Members
	}
	return "", nil
}

// Read returns what a member is when it is read, without a call.
func (d *Declarations) Read(owner string, m *Member) Meaning {
	if m.Get == nil {
		return Meaning{Owner: owner, Member: m}
	}
	out := d.returned(m.Returns)
	out.Owner, out.Member = owner, m
	return out
}

// Called returns what a call of m gives.
func (d *Declarations) Called(m Meaning) Meaning {
	if m.Member == nil || m.Member.Func == nil {
		return Meaning{}
	}
	return d.returned(m.Member.Returns)
}

// returned reads the words of a declaration: "distribution", "list of sample",
// "scoring, or list of scoring".
func (d *Declarations) returned(words string) Meaning {
	first, rest, _ := strings.Cut(words, ",")
	out := Meaning{Word: first, Either: strings.HasPrefix(rest, " or ") || strings.Contains(first, " or ")}
	if elem, ok := strings.CutPrefix(first, "list of "); ok {
		e := d.returned(elem)
		out.Elem = &e
	}
	out.Class = d.classes[first]
	return out
}

// Element returns what an element of a list is.
func (m Meaning) Element() Meaning {
	if m.Elem == nil {
		return Meaning{}
	}
	return *m.Elem
}
