package script

import "strings"

// Names returns what a script of this session can refer to without defining it:
// the variables of earlier runs and the functions of [Globals], sorted. Like
// [Session.Members], it waits for the interpreter and so must not be called by
// a host function of the session.
func (s *Session) Names() []string {
	s.lock()
	defer s.unlock()
	seen := map[string]bool{}
	for _, sl := range s.slots {
		if sl.name != "" && sl.name[0] != ':' {
			seen[sl.name] = true
		}
	}
	return sortedKeys(seen)
}

// Members returns what can follow "name." where name is a variable of an
// earlier run: the members of a host object or module with their declarations,
// the keys of a map by name alone. It returns nil when there are none.
func (s *Session) Members(name string) []Member {
	s.lock()
	defer s.unlock()
	for i := len(s.slots) - 1; i >= 0; i-- {
		if s.slots[i].name != name {
			continue
		}
		o := s.globals[i]
		if h, ok := o.(*hostObject); ok {
			return h.class.Members
		}
		pairs, ok := entries(o)
		if n, isModule := o.(*namespace); isModule {
			pairs, ok = n.members, true
		}
		if !ok {
			return nil
		}
		var out []Member
		for _, key := range sortedKeys(pairs) {
			m := Member{Name: key}
			if b, ok := pairs[key].(*bound); ok {
				m = *b.member
			}
			out = append(out, m)
		}
		return out
	}
	return nil
}

// Variable is what a session knows of a name.
type Variable struct {
	Name string
	Type string // "int", "list", "function", "distribution", "module lab"
	Text string // its value, as [Shown] has it
	// Class is the class of a host object, whose members can follow the name.
	Class *Class
	// Module is the declared name of an imported module, "lab"; empty for others.
	Module string
	// Func is the declaration of a function that a module or lab offers.
	Func *Member
}

// Look returns what a name means to the next script: a variable of an earlier
// run or a function of [Globals]. It waits for the interpreter, as
// [Session.Names] does.
func (s *Session) Look(name string) (Variable, bool) {
	s.lock()
	defer s.unlock()
	for i := len(s.slots) - 1; i >= 0; i-- {
		if s.slots[i].name != name || name == "" || name[0] == ':' {
			continue
		}
		o := s.globals[i]
		v := Variable{Name: name, Type: typeName(o), Text: quoted(o)}
		switch o := o.(type) {
		case *hostObject:
			v.Class = &o.class.Class
		case *namespace:
			if !o.file {
				v.Module = strings.TrimPrefix(o.name, "module ")
			}
		case *bound:
			v.Func, v.Type = o.member, "function"
		}
		return v, true
	}
	return Variable{}, false
}
