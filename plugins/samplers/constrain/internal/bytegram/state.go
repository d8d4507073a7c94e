package bytegram

import (
	"cmp"
	"encoding/binary"
	"slices"

	"lab/core/fault"
)

// frame is what a place returns to when its rule ends: each caller is the place
// after a call, and the frame of the rule that called. Frames are immutable once
// interned; the one with id 0 is the bottom, where a text is complete.
type frame struct {
	id      uint64 // order of creation, differs between processes
	hash    uint64 // of the content, the same everywhere
	callers []caller
	after   *state // what follows the frame's rule, when it has been asked for

	// While the parses at one byte are collected:
	fresh, popped bool
	done          *frame // its interned form
}

type caller struct {
	next int32
	to   *frame
}

// parse is one parse of a text: a place, and what is above it.
type parse struct {
	node int32
	top  *frame
}

// state is a set of parses of one text, those that can read on, and whether the
// text is complete. States are immutable but for what they remember, which the
// machine's lock guards.
type state struct {
	id       uint64
	parses   []parse // in order of node, then of hash
	complete bool
	next     []*state // by class of byte; nil: not asked for yet
	mask     *Mask
}

// dead reports whether nothing can follow and the text is not complete.
func (s *state) dead() bool { return len(s.parses) == 0 && !s.complete }

// machine holds the states of one program. Not safe for concurrent use.
type machine struct {
	p      *Program
	bottom *frame
	frames map[string]*frame
	states map[string]*state
	locals map[string]*local
	ids    uint64

	// The parses at one byte, while they are collected.
	seen     map[parse]struct{}
	list     []parse
	created  map[int32]*frame // by rule
	complete bool
	err      error
	key      []byte
	masked   int // bytes of all masks

	// work counts what a call does that is not remembered from earlier ones: 1
	// for a point of the vocabulary tree, workOfParse for a parse.
	work int
}

const workOfParse = 8

func newMachine(p *Program) *machine {
	m := &machine{p: p, bottom: &frame{}, seen: map[parse]struct{}{}, created: map[int32]*frame{}}
	m.flush()
	return m
}

// flush forgets all tables. States in use stay valid: they are only not found
// again.
func (m *machine) flush() {
	m.frames, m.states, m.locals = map[string]*frame{}, map[string]*state{}, map[string]*local{}
	m.masked = 0
}

// begin starts a new set of parses.
func (m *machine) begin() {
	clear(m.seen)
	clear(m.created)
	m.list, m.complete, m.err = m.list[:0], false, nil
}

// add adds a parse and everything it reaches without reading.
func (m *machine) add(n int32, top *frame) {
	first := len(m.list)
	m.put(n, top)
	for i := first; i < len(m.list) && m.err == nil; i++ {
		q := m.list[i]
		at := &m.p.nodes[q.node]
		if at.end {
			m.pop(q.top)
		}
		for _, e := range at.edges {
			if e.what == eCall {
				m.call(e.arg, e.next, q.top)
			}
		}
	}
}

func (m *machine) put(n int32, top *frame) {
	q := parse{n, top}
	if _, ok := m.seen[q]; ok {
		return
	}
	if len(m.list) >= mostParses {
		m.err = fault.New(fault.Limit, "", "", "the grammar has more than %d parses of one text", mostParses).
			Fix("make it less ambiguous")
		return
	}
	if m.work += workOfParse; m.work > mostWork {
		m.err = tooMuchWork()
		return
	}
	m.seen[q] = struct{}{}
	m.list = append(m.list, q)
}

func tooMuchWork() *fault.Error {
	return fault.New(fault.Limit, "", "", "the parses of the text are too many to be followed over the vocabulary").
		Fix("make the grammar less ambiguous, or its repetitions shorter")
}

func (m *machine) pop(f *frame) {
	if f == m.bottom {
		m.complete = true
		return
	}
	f.popped = f.popped || f.fresh
	for _, c := range f.callers {
		m.put(c.next, c.to)
	}
}

// call enters a rule. All calls of one rule at one byte share a frame.
func (m *machine) call(rule, next int32, from *frame) {
	f := m.created[rule]
	if f == nil {
		f = &frame{fresh: true}
		m.created[rule] = f
		m.put(m.p.starts[rule], f)
	}
	if next == end && !from.fresh && from != m.bottom {
		// A call that ends its rule returns to what the rule returns to, so that
		// recursion at the end needs no stack.
		for _, c := range from.callers {
			m.returnTo(f, c)
		}
		return
	}
	m.returnTo(f, caller{next, from})
}

func (m *machine) returnTo(f *frame, c caller) {
	if slices.Contains(f.callers, c) {
		return
	}
	if len(f.callers) >= mostCallers {
		m.err = fault.New(fault.Limit, "", "", "a rule of the grammar is called in more than %d ways at one byte", mostCallers)
		return
	}
	f.callers = append(f.callers, c)
	if f.popped {
		m.put(c.next, c.to)
	}
}

// finish returns the state of the parses collected.
func (m *machine) finish() (*state, error) {
	if m.err != nil {
		return nil, m.err
	}
	if len(m.states) >= mostStates || len(m.frames) >= mostFrames {
		m.flush()
	}
	parses := make([]parse, 0, len(m.list))
	for _, q := range m.list {
		if len(m.p.nodes[q.node].edges) > 0 && m.reads(q.node) {
			parses = append(parses, parse{q.node, m.settled(q.top)})
		}
	}
	return m.intern(parses, m.complete), nil
}

// reads reports whether something can be read at a node itself.
func (m *machine) reads(n int32) bool {
	for _, e := range m.p.nodes[n].edges {
		if e.what != eCall {
			return true
		}
	}
	return false
}

// settled returns the interned form of a frame. Fresh frames form no cycle,
// because left recursion is refused.
func (m *machine) settled(f *frame) *frame {
	if !f.fresh {
		return f
	}
	if f.done != nil {
		return f.done
	}
	var callers []caller
	for _, c := range f.callers {
		to := m.settled(c.to)
		if c.next == end && to != m.bottom {
			callers = append(callers, to.callers...)
		} else {
			callers = append(callers, caller{c.next, to})
		}
	}
	f.done = m.frame(callers)
	return f.done
}

// frame interns a frame; it takes the slice over.
func (m *machine) frame(callers []caller) *frame {
	slices.SortFunc(callers, func(a, b caller) int {
		return cmp.Or(cmp.Compare(a.next, b.next), cmp.Compare(a.to.hash, b.to.hash), cmp.Compare(a.to.id, b.to.id))
	})
	callers = slices.Compact(callers)
	key := m.key[:0]
	hash := uint64(fnvStart)
	for _, c := range callers {
		key = binary.LittleEndian.AppendUint32(key, uint32(c.next))
		key = binary.LittleEndian.AppendUint64(key, c.to.id)
		hash = mix(mix(hash, uint64(c.next)), c.to.hash)
	}
	m.key = key
	if f, ok := m.frames[string(key)]; ok {
		return f
	}
	m.ids++
	f := &frame{id: m.ids, hash: hash, callers: callers}
	m.frames[string(key)] = f
	return f
}

// intern returns the state of the given parses; it takes the slice over.
func (m *machine) intern(parses []parse, complete bool) *state {
	slices.SortFunc(parses, func(a, b parse) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.top.hash, b.top.hash), cmp.Compare(a.top.id, b.top.id))
	})
	parses = slices.Compact(parses)
	key := m.key[:0]
	if complete {
		key = append(key, 1)
	}
	for _, q := range parses {
		key = binary.LittleEndian.AppendUint32(key, uint32(q.node))
		key = binary.LittleEndian.AppendUint64(key, q.top.id)
	}
	m.key = key
	if s, ok := m.states[string(key)]; ok {
		return s
	}
	m.ids++
	s := &state{id: m.ids, parses: parses, complete: complete}
	m.states[string(key)] = s
	return s
}

const (
	fnvStart = 14695981039346656037
	fnvPrime = 1099511628211
)

// mix adds a number to a hash (Fowler, Noll and Vo's, eight bytes at a time with
// a shift, as the high bits would not come down otherwise).
func mix(h, x uint64) uint64 {
	h = (h ^ x) * fnvPrime
	return h ^ h>>29
}

// start returns the state of the empty text.
func (m *machine) start() (*state, error) {
	m.begin()
	m.add(m.p.starts[m.p.root], m.bottom)
	return m.finish()
}

// step returns the state after one more byte of the given class.
func (m *machine) step(s *state, class uint8) (*state, error) {
	if s.next != nil {
		if to := s.next[class]; to != nil {
			return to, nil
		}
	}
	b := m.p.reps[class]
	m.begin()
	for _, q := range s.parses {
		for _, e := range m.p.nodes[q.node].edges {
			if e.what == eByte && e.lo <= b && b <= e.hi {
				m.add(e.next, q.top)
			}
		}
	}
	to, err := m.finish()
	if err != nil {
		return nil, err
	}
	if s.next == nil {
		s.next = make([]*state, len(m.p.reps))
	}
	s.next[class] = to
	return to, nil
}

// read returns the state after the bytes of text, and how many of them could be
// read: all of them, unless the state is dead.
func (m *machine) read(s *state, text []byte) (*state, int, error) {
	for i, b := range text {
		to, err := m.step(s, m.p.class[b])
		if err != nil {
			return nil, i, err
		}
		if to.dead() {
			return to, i, nil
		}
		s = to
	}
	return s, len(text), nil
}

// after returns what follows a frame's rule once it has ended.
func (m *machine) after(f *frame) (*state, error) {
	if f.after != nil {
		return f.after, nil
	}
	m.begin()
	for _, c := range f.callers {
		m.add(c.next, c.to)
	}
	s, err := m.finish()
	if err == nil {
		f.after = s
	}
	return s, err
}
