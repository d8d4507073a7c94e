package bytegram

import (
	"fmt"
	"slices"
	"sync"

	"lab/core/fault"
)

// Matcher follows texts of a grammar made of the tokens of a vocabulary. It is
// safe for concurrent use; what it remembers is bounded.
type Matcher struct {
	mu sync.Mutex
	walker
	ends   []int32 // end-of-text tokens, ascending
	tokens []Token // those of the program, by number
	id     uint64  // of grammar, vocabulary and end tokens
}

// NewMatcher returns a matcher of texts of p. ends are the tokens that end a
// text: they are not text themselves, whatever theirs is. A token that the
// grammar names and the vocabulary lacks is a usage error.
func NewMatcher(p *Program, t *Trie, ends []int32) (*Matcher, error) {
	x := &Matcher{walker: walker{machine: newMachine(p), t: t, stack: make([]*state, t.deep+1)}}
	x.ends = slices.Clone(ends)
	slices.Sort(x.ends)
	x.id = mix(p.hash, t.hash)
	for _, id := range x.ends {
		x.id = mix(x.id, uint64(uint32(id)))
	}
	for _, tok := range p.tokens {
		if tok.Text != "" {
			if tok.ID = t.find(tok.Text); tok.ID < 0 {
				return nil, fault.New(fault.Usage, "", "", "no token of the vocabulary has the text %s", fault.Quote(tok.Text, 60)).
					Fix("name it by number, <[ID]>: control tokens have no text")
			}
		}
		if tok.ID < 0 || int(tok.ID) >= t.vocab {
			return nil, fault.New(fault.Usage, "", "", "token <[%d]> is outside the vocabulary of %d", tok.ID, t.vocab)
		}
		if !tok.Not && x.isEnd(tok.ID) {
			return nil, fault.New(fault.Usage, "", "", "token <[%d]> ends a text: it is allowed where the grammar is complete, and nowhere else", tok.ID).
				Fix("leave it out of the grammar")
		}
		x.tokens = append(x.tokens, tok)
	}
	return x, nil
}

func (x *Matcher) isEnd(id int32) bool {
	_, ok := slices.BinarySearch(x.ends, id)
	return ok
}

// Next is what may follow a text.
type Next struct {
	Tokens *Mask // the tokens that may come next, end-of-text tokens aside
	Ends   bool  // the text is complete: the end-of-text tokens may come next
	Memo   []byte

	program *Program
	state   *state
	ended   bool
	tail    []byte
}

// Next returns what may follow the given tokens. memo is what an earlier call
// for a prefix of the same tokens returned, which saves reading them again; one
// for other tokens, or bytes that are no memo, change nothing. Tokens that are no
// beginning of a text of the grammar are a data error; a limit error says that
// the grammar is too much to be followed.
func (x *Matcher) Next(tokens []int32, memo []byte) (Next, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.work = 0
	m, ok := x.decode(memo, tokens)
	if !ok {
		s, err := x.start()
		if err != nil {
			return Next{}, err
		}
		m.state, m.read, m.ended = s, 0, false
	}
	for m.read < len(tokens) {
		if err := x.accept(&m, tokens); err != nil {
			return Next{}, err
		}
		m.read++
	}
	n := Next{program: x.p, state: m.state, ended: m.ended, Ends: m.state.complete, tail: x.tail(tokens)}
	var err error
	if m.ended {
		n.Tokens = &Mask{}
	} else if n.Tokens, err = x.allowed(m.state); err != nil {
		return Next{}, err
	}
	n.Memo, err = x.encode(m, tokens)
	return n, err
}

// accept reads tokens[m.read].
func (x *Matcher) accept(m *memo, tokens []int32) error {
	id := tokens[m.read]
	refuse := func() error {
		n := Next{program: x.p, state: m.state, ended: m.ended, tail: x.tail(tokens[:m.read])}
		return fault.New(fault.Data, "", "", "generated token %d (%s) at index %d is not one that the grammar allows %s, where it expects %s",
			id, fault.Quote(string(x.t.Text(id)), 40), m.read, n.Where(), n.Expected())
	}
	if x.isEnd(id) {
		if !m.state.complete {
			return refuse()
		}
		m.ended = true
		return nil
	}
	if m.ended {
		return refuse()
	}
	to, err := x.token(m.state, id)
	if err != nil {
		return err
	}
	if to.dead() {
		return refuse()
	}
	m.state = to
	return nil
}

// token returns the state after one more token.
func (x *Matcher) token(s *state, id int32) (*state, error) {
	text := x.t.Text(id)
	to, _, err := x.read(s, text)
	if err != nil {
		return nil, err
	}
	if len(text) == 0 {
		to = x.intern(nil, false)
	}
	if len(x.tokens) == 0 {
		return to, nil
	}
	x.begin()
	for _, q := range s.parses {
		for _, e := range x.p.nodes[q.node].edges {
			if e.what == eToken && x.takes(x.tokens[e.arg], id) {
				x.add(e.next, q.top)
			}
		}
	}
	for _, q := range to.parses {
		x.add(q.node, q.top)
	}
	x.complete = x.complete || to.complete
	return x.finish()
}

func (x *Matcher) takes(tok Token, id int32) bool {
	if tok.Not {
		return tok.ID != id && len(x.t.Text(id)) > 0
	}
	return tok.ID == id
}

// allowed returns the tokens that can be read from a state.
func (x *Matcher) allowed(s *state) (*Mask, error) {
	if s.mask != nil {
		return s.mask, nil
	}
	words, err := x.below(s)
	if err != nil {
		return nil, err
	}
	for _, q := range s.parses {
		for _, e := range x.p.nodes[q.node].edges {
			if e.what != eToken {
				continue
			}
			tok := x.tokens[e.arg]
			if !tok.Not {
				words[tok.ID>>6] |= 1 << (tok.ID & 63)
				continue
			}
			for _, id := range x.t.order {
				if id != tok.ID {
					words[id>>6] |= 1 << (id & 63)
				}
			}
		}
	}
	for _, id := range x.ends {
		if id >= 0 && int(id) < x.t.vocab {
			words[id>>6] &^= 1 << (id & 63)
		}
	}
	k := newMask(words)
	x.remember(k.size())
	s.mask = k
	return k, nil
}

// tail returns the end of a text, for messages.
func (x *Matcher) tail(tokens []int32) []byte {
	const most = 24
	var out []byte
	for i := len(tokens) - 1; i >= 0 && len(out) < most; i-- {
		out = append(slices.Clone(x.t.Text(tokens[i])), out...)
	}
	return out[max(0, len(out)-most):]
}

// Where says how far the text is: what it ends with, and the place in the
// grammar's source.
func (n *Next) Where() string {
	after := "at the start of the text"
	if len(n.tail) > 0 {
		after = fmt.Sprintf("after %q", n.tail)
	}
	var labels []string
	for _, q := range n.state.parses {
		at := n.program.nodes[q.node]
		l := n.program.labels[at.label]
		if name := n.program.names[at.rule]; name != "" && l != "" {
			l = fmt.Sprintf("rule %s, %s", name, l)
		} else if name != "" {
			l = "rule " + name
		}
		if l != "" && !slices.Contains(labels, l) {
			labels = append(labels, l)
		}
	}
	switch {
	case len(labels) == 0:
		return after
	case len(labels) > 2:
		labels = append(labels[:2:2], fmt.Sprintf("%d more places", len(labels)-2))
	}
	text := labels[0]
	for i, l := range labels[1:] {
		if i == len(labels)-2 {
			text += " and " + l
		} else {
			text += "; " + l
		}
	}
	return after + " (" + text + ")"
}

// Expected says which bytes may come next.
func (n *Next) Expected() string {
	var can [256]bool
	var items []string
	if !n.ended {
		for _, q := range n.state.parses {
			for _, e := range n.program.nodes[q.node].edges {
				switch e.what {
				case eByte:
					for b := int(e.lo); b <= int(e.hi); b++ {
						can[b] = true
					}
				case eToken:
					items = append(items, n.program.tokens[e.arg].String())
				}
			}
		}
	}
	for b := 0; b < len(can); b++ {
		if !can[b] {
			continue
		}
		last := b
		for last+1 < len(can) && can[last+1] {
			last++
		}
		item := show(byte(b))
		if last > b {
			item += " to " + show(byte(last))
		}
		items = append(items, item)
		b = last
	}
	if len(items) > 10 {
		items = append(items[:10:10], fmt.Sprintf("%d more", len(items)-10))
	}
	if n.state.complete {
		items = append(items, "the end of the text")
	}
	if len(items) == 0 {
		return "nothing"
	}
	text := items[0]
	for i, it := range items[1:] {
		if i == len(items)-2 {
			text += " or " + it
		} else {
			text += ", " + it
		}
	}
	return text
}

// String returns the token in the notation of grammars.
func (t Token) String() string {
	s := t.Text
	if s == "" {
		s = fmt.Sprintf("<[%d]>", t.ID)
	}
	if t.Not {
		return "!" + s
	}
	return s
}

func show(b byte) string {
	if b < 0x20 || b > 0x7E {
		return fmt.Sprintf("byte 0x%02X", b)
	}
	return fmt.Sprintf("%q", rune(b))
}
