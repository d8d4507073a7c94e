package sampler

import (
	"fmt"
	"sync"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
)

// Set is a group of samplers that can be applied: what a plugin serves, and
// what runs stages in process. Its samplers are untrusted: declarations are
// checked once, rows before and after every stage, and a panic becomes a plugin
// error. Safe for concurrent use.
type Set struct {
	members []member
	index   map[string]int // by name and alias
	texts   func(vocabulary string) func(id int32) []byte
	spaces  *sync.Pool // of *space
}

type member struct {
	decl    Declaration
	sampler Sampler
}

// NewSet returns the set of the given samplers, in their order. A declaration
// that contradicts itself, or a name or alias used twice, is a plugin error.
func NewSet(samplers ...Sampler) (*Set, error) {
	s := &Set{index: map[string]int{}, spaces: &sync.Pool{New: func() any { return new(space) }}}
	for i, smp := range samplers {
		d, err := declare(smp, i)
		if err != nil {
			return nil, err
		}
		for _, name := range append([]string{d.Name}, d.Aliases...) {
			if other, taken := s.index[name]; taken {
				return nil, fault.New(fault.Plugin, "declaration", fmt.Sprintf("sampler %q", d.Name),
					"the name %q is already one of sampler %q", name, s.members[other].decl.Name)
			}
			s.index[name] = i
		}
		s.members = append(s.members, member{decl: d, sampler: smp})
	}
	return s, nil
}

func declare(smp Sampler, index int) (d Declaration, err error) {
	subject := fmt.Sprintf("sampler %d", index+1)
	if smp == nil {
		return d, fault.New(fault.Plugin, "declaration", subject, "it is nil")
	}
	defer func() {
		if r := recover(); r != nil {
			err = fault.New(fault.Plugin, "declaration", subject, "Declare panicked: %v", r)
		}
	}()
	d = smp.Declare()
	return d, d.Validate()
}

// WithTexts returns a set that hands the bytes of vocabulary entries to stages
// that declare [Needs.TokenTexts]. lookup returns nil for a vocabulary it does
// not know. Without it such stages are refused.
func (s *Set) WithTexts(lookup func(vocabulary string) func(id int32) []byte) *Set {
	c := *s
	c.texts = lookup
	return &c
}

// Declarations returns what the samplers declare, in their order.
func (s *Set) Declarations() []Declaration {
	out := make([]Declaration, len(s.members))
	for i, m := range s.members {
		out[i] = m.decl
	}
	return out
}

// Lookup returns the declaration of a sampler by its name or an alias. An
// unknown name is a usage error with the nearest known one.
func (s *Set) Lookup(name string) (Declaration, error) {
	if i, ok := s.index[name]; ok {
		return s.members[i].decl, nil
	}
	known := make([]string, 0, len(s.index))
	for n := range s.index {
		known = append(known, n)
	}
	return Declaration{}, fault.Unknown("sampler", "sampler", name, known)
}

// stage is a [Stage] made ready to run.
type stage struct {
	member
	values param.Values
	system string
	op     string // begins every message: "stage 2 (top_p)"
	texts  func(id int32) []byte
}

// resolve finds and checks the stages of a call. Errors name the stage.
func (s *Set) resolve(call *Call) ([]stage, error) {
	out := make([]stage, len(call.Stages))
	for i, st := range call.Stages {
		if _, err := s.Lookup(st.Sampler); err != nil {
			return nil, fault.Wrap(err, fault.Usage, fmt.Sprintf("stage %d", i+1), "")
		}
		m := s.members[s.index[st.Sampler]]
		op := fmt.Sprintf("stage %d (%s)", i+1, m.decl.Name)
		if m.decl.Kind == Select && i != len(call.Stages)-1 {
			return nil, fault.New(fault.Usage, op, "", "it selects a token but %d more stage(s) follow", len(call.Stages)-1-i).
				Fix("a selector ends a chain: put it last")
		}
		specs, err := m.decl.ParamsFor(st.System)
		if err != nil {
			return nil, fault.Wrap(err, fault.Usage, op, "")
		}
		values, err := checked(specs, st.Values, op, m.decl.Name)
		if err != nil {
			return nil, err
		}
		out[i] = stage{member: m, values: values, system: st.System, op: op}
		if s.texts != nil && (m.decl.Needs.TokenTexts || values.HoldText()) {
			out[i].texts = s.texts(call.Vocabulary)
		}
		if m.decl.Needs.TokenTexts && out[i].texts == nil {
			return nil, fault.New(fault.Plugin, op, "", "it needs the texts of vocabulary %q, which were not handed over", call.Vocabulary)
		}
	}
	return out, nil
}

// checked returns values when they are one legal value per declared setting in
// order, and what they resolve to otherwise. They may come from another
// process, so nothing is taken on trust.
func checked(specs param.Specs, values param.Values, op, name string) (param.Values, error) {
	asDeclared := len(values) == len(specs)
	for i := 0; asDeclared && i < len(specs); i++ {
		// The text of a list is a legal value too, but stages read the list.
		_, list := values[i].Value.(param.TokenList)
		asDeclared = values[i].Name == specs[i].Name && list == (specs[i].Type == param.Tokens) && specs[i].Check(values[i].Value) == nil
	}
	if asDeclared {
		return values, nil
	}
	given := make([]param.Setting, len(values))
	for i, v := range values {
		given[i] = param.Setting(v)
	}
	return specs.Resolve(op, name, given)
}

// FillChosen fills the rank and probability of the chosen token into the
// ledger of stages that ran before the token was known. rows[i] is the row
// after stage i, as a call with Rows set returns it, and before is the row
// before the first. It stops at the shorter of rows and changes.
func FillChosen(before *dist.Scores, rows []dist.Scores, changes []dist.Change, token int32) {
	for i := range min(len(rows), len(changes)) {
		changes[i].Choose(before, &rows[i], token)
		before = &rows[i]
	}
}
