package script

import (
	"fmt"
	"reflect"

	"github.com/d5/tengo/v2"

	"lab/core/fault"
)

// Object is implemented by the Go values that scripts hold as host objects:
// return one from a host function and the script gets an object with the
// members of its class, which is immutable from the script's side.
//
// Class must not depend on the receiver, which may be nil: it is called once
// per session and type. A value that is also a fmt.Stringer prints as it says,
// an [Indexer] can be indexed, counted with len and iterated over, and an
// [Equaler] decides what == means; otherwise it is equal to itself alone.
type Object interface {
	Class() Class
}

// Class declares the members of one kind of host object.
type Class struct {
	Name    string // in messages and type_name: "distribution"
	Doc     string
	Members []Member
}

// Indexer gives a host object elements: x[i], len(x) and for i, v in x.
// At is called with 0 <= i < Len().
type Indexer interface {
	Len() int
	At(i int) any
}

// Equaler decides equality of two host objects.
type Equaler interface {
	EqualTo(other any) bool
}

func (c Class) validate() error {
	if c.Name == "" {
		return declared("a class has no name")
	}
	return validateMembers("class "+c.Name, c.Members)
}

// classOf is a class ready for look-ups.
type classOf struct {
	Class
	byName map[string]*Member
	err    error // the declaration is wrong
}

// class returns the class of v, declared at its first use in the session.
func (s *Session) class(v Object) *classOf {
	t := reflect.TypeOf(v)
	s.classMu.Lock()
	defer s.classMu.Unlock()
	if c, ok := s.classes[t]; ok {
		return c
	}
	decl := v.Class()
	c := &classOf{Class: decl, byName: map[string]*Member{}, err: decl.validate()}
	for i := range c.Members {
		c.byName[c.Members[i].Name] = &c.Members[i]
	}
	s.classes[t] = c
	return c
}

// hostObject is a Go value as a script sees it.
type hostObject struct {
	tengo.ObjectImpl
	s     *Session
	class *classOf
	value Object
}

func (h *hostObject) TypeName() string   { return h.class.Name }
func (h *hostObject) Copy() tengo.Object { return h }

func (h *hostObject) String() (out string) {
	str, ok := h.value.(fmt.Stringer)
	if !ok {
		return "<" + h.class.Name + ">"
	}
	defer func() {
		if p := recover(); p != nil {
			out = fmt.Sprintf("<%s: String panicked: %v>", h.class.Name, p)
		}
	}()
	return str.String()
}

func (h *hostObject) Equals(other tengo.Object) (same bool) {
	o, ok := other.(*hostObject)
	if !ok {
		return false
	}
	defer func() {
		if recover() != nil { // an EqualTo that panics, or values that == cannot compare
			same = false
		}
	}()
	if e, ok := h.value.(Equaler); ok {
		return e.EqualTo(o.value)
	}
	return h.value == o.value
}

func (h *hostObject) IndexGet(index tengo.Object) (tengo.Object, error) {
	if h.class.err != nil {
		return nil, h.class.err
	}
	if i, ok := index.(*tengo.Int); ok {
		return h.at(i.Value)
	}
	name, ok := index.(*tengo.String)
	if !ok {
		return nil, fault.New(fault.Script, "", h.class.Name, "cannot be indexed by %s", describe(index))
	}
	m, ok := h.class.byName[name.Value]
	if !ok {
		return nil, h.s.unknownMember(h.class.Name, name.Value, sortedKeys(h.class.byName))
	}
	b := &bound{s: h.s, owner: h.class.Name, member: m, self: h.value}
	if m.Get != nil {
		return b.s.invoke(b, nil)
	}
	return b, nil
}

func (h *hostObject) at(i int64) (v tengo.Object, err error) {
	x, ok := h.value.(Indexer)
	if !ok {
		return nil, fault.New(fault.Script, "", h.class.Name, "has no elements to index")
	}
	defer h.s.contain(h.class.Name+"["+fmt.Sprint(i)+"]", &err)
	if n := x.Len(); i < 0 || i >= int64(n) {
		return nil, fault.New(fault.Script, "", h.class.Name, "index %d is outside 0 to %d", i, n-1)
	}
	return h.s.toScript(x.At(int(i)))
}

func (h *hostObject) CanIterate() bool {
	_, ok := h.value.(Indexer)
	return ok
}

func (h *hostObject) Iterate() tengo.Iterator {
	return &indexIterator{h: h, n: h.value.(Indexer).Len(), i: -1}
}

// indexIterator walks the elements of an Indexer.
type indexIterator struct {
	tengo.ObjectImpl
	h    *hostObject
	n, i int
}

func (it *indexIterator) TypeName() string   { return "iterator" }
func (it *indexIterator) String() string     { return "<iterator>" }
func (it *indexIterator) Copy() tengo.Object { c := *it; return &c }
func (it *indexIterator) Next() bool         { it.i++; return it.i < it.n }
func (it *indexIterator) Key() tengo.Object  { return &tengo.Int{Value: int64(it.i)} }

func (it *indexIterator) Value() tengo.Object {
	v, err := it.h.at(int64(it.i))
	if err != nil {
		panic(err) // an iterator cannot return an error; the runner turns this into one
	}
	return v
}

// namespace is a module as a script sees it: named members and nothing else.
// A misspelt one is an error, where a map would read as undefined.
type namespace struct {
	tengo.ObjectImpl
	s       *Session
	name    string // "module lab"
	file    bool   // a file of the script, not a host module
	members map[string]tengo.Object
}

func (n *namespace) TypeName() string   { return n.name }
func (n *namespace) String() string     { return "<" + n.name + ">" }
func (n *namespace) Copy() tengo.Object { return n }
func (n *namespace) CanIterate() bool   { return n.file }

// Equals reports whether other is the same module. Files are run anew by each
// import, so two imports of one file are two modules.
func (n *namespace) Equals(other tengo.Object) bool { return tengo.Object(n) == other }

func (n *namespace) Iterate() tengo.Iterator { return newMapIterator(n.members) }

func (n *namespace) IndexGet(index tengo.Object) (tengo.Object, error) {
	name, ok := index.(*tengo.String)
	if !ok {
		return nil, fault.New(fault.Script, "", n.name, "cannot be indexed by %s", describe(index))
	}
	o, ok := n.members[name.Value]
	if !ok {
		return nil, n.s.unknownMember(n.name, name.Value, sortedKeys(n.members))
	}
	if b, ok := o.(*bound); ok && b.member.Get != nil {
		return n.s.invoke(b, nil)
	}
	return o, nil
}

func (s *Session) unknownMember(owner, got string, names []string) error {
	e := fault.Unknown("", "member", got, names)
	e.Kind, e.Subject = fault.Script, owner
	return e
}

// mapIterator walks a map in the order of its keys, so that what a script
// prints is the same in every run. Tengo's own order is random.
type mapIterator struct {
	tengo.ObjectImpl
	m    map[string]tengo.Object
	keys []string
	i    int
}

func newMapIterator(m map[string]tengo.Object) *mapIterator {
	return &mapIterator{m: m, keys: sortedKeys(m), i: -1}
}

func (it *mapIterator) TypeName() string   { return "iterator" }
func (it *mapIterator) String() string     { return "<iterator>" }
func (it *mapIterator) Copy() tengo.Object { c := *it; return &c }
func (it *mapIterator) Next() bool         { it.i++; return it.i < len(it.keys) }
func (it *mapIterator) Key() tengo.Object  { return &tengo.String{Value: it.keys[it.i]} }

func (it *mapIterator) Value() tengo.Object {
	if v, ok := it.m[it.keys[it.i]]; ok {
		return v
	}
	return tengo.UndefinedValue // deleted inside the loop
}

// ordered is what a for loop iterates over in place of a map.
type ordered struct {
	tengo.ObjectImpl
	m map[string]tengo.Object
}

func (o *ordered) TypeName() string        { return "map" }
func (o *ordered) String() string          { return "<map>" }
func (o *ordered) Copy() tengo.Object      { return o }
func (o *ordered) CanIterate() bool        { return true }
func (o *ordered) Iterate() tengo.Iterator { return newMapIterator(o.m) }
