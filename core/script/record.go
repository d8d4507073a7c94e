package script

import "github.com/d5/tengo/v2"

// Record is a Go value that a script holds as an immutable object with the given
// members. Unlike a map, which reads as undefined there, it says when a member
// is asked for that it does not have. Loops walk it in the order of its keys.
type Record struct {
	Name   string // what messages call it
	Fields map[string]any
}

func (s *Session) record(r Record, depth int) (tengo.Object, error) {
	n := &namespace{s: s, name: r.Name, file: true, members: make(map[string]tengo.Object, len(r.Fields))}
	for key, v := range r.Fields {
		o, err := s.toScriptDeep(v, depth+1)
		if err != nil {
			return nil, err
		}
		n.members[key] = o
	}
	return n, nil
}
