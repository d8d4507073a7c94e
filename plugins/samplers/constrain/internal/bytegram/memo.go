package bytegram

import (
	"encoding/binary"

	"lab/core/fault"
)

// memoVersion begins every memo.
const memoVersion = 1

// memo is what a matcher keeps for a sequence: the state after the tokens read
// so far. Only a memo whose grammar, vocabulary and tokens are the ones at hand
// is used.
type memo struct {
	state *state
	read  int  // tokens
	ended bool // an end-of-text token was among them
}

// header returns what a memo of the first n tokens begins with.
func (x *Matcher) header(tokens []int32) []byte {
	b := append(make([]byte, 0, 256), memoVersion)
	b = binary.LittleEndian.AppendUint64(b, x.id)
	h := uint64(fnvStart)
	for _, id := range tokens {
		h = mix(h, uint64(uint32(id)))
	}
	b = binary.LittleEndian.AppendUint64(b, h)
	return binary.AppendUvarint(b, uint64(len(tokens)))
}

// encode returns the bytes of a memo. A state that needs more than mostMemo
// bytes is a limit error.
func (x *Matcher) encode(m memo, tokens []int32) ([]byte, error) {
	b := x.header(tokens[:m.read])
	flags := byte(0)
	if m.state.complete {
		flags |= 1
	}
	if m.ended {
		flags |= 2
	}
	b = append(b, flags)
	number := map[*frame]uint64{x.bottom: 0}
	var frames []byte
	var visit func(f *frame)
	visit = func(f *frame) {
		if _, ok := number[f]; ok || len(frames) > mostMemo {
			return
		}
		for _, c := range f.callers {
			visit(c.to)
		}
		frames = binary.AppendUvarint(frames, uint64(len(f.callers)))
		for _, c := range f.callers {
			frames = binary.AppendUvarint(frames, uint64(c.next))
			frames = binary.AppendUvarint(frames, number[c.to])
		}
		number[f] = uint64(len(number))
	}
	for _, q := range m.state.parses {
		visit(q.top)
	}
	b = binary.AppendUvarint(b, uint64(len(number)-1))
	b = append(b, frames...)
	b = binary.AppendUvarint(b, uint64(len(m.state.parses)))
	for _, q := range m.state.parses {
		b = binary.AppendUvarint(b, uint64(q.node))
		b = binary.AppendUvarint(b, number[q.top])
	}
	if len(b) > mostMemo {
		return nil, fault.New(fault.Limit, "", "", "the text is nested too deeply, or in too many ways, to be followed: its parses take more than %d bytes", mostMemo)
	}
	return b, nil
}

// decode reads a memo of a prefix of tokens. It reports false for bytes that are
// no such thing; nothing in them is taken on trust.
func (x *Matcher) decode(b []byte, tokens []int32) (memo, bool) {
	r := reader{b: b}
	version, id, hash := r.byte(), r.word(), r.word()
	n := r.number(uint64(len(tokens)))
	if r.bad || version != memoVersion || id != x.id {
		return memo{}, false
	}
	h := uint64(fnvStart)
	for _, id := range tokens[:n] {
		h = mix(h, uint64(uint32(id)))
	}
	flags := r.byte()
	if h != hash || flags > 3 {
		return memo{}, false
	}
	frames := []*frame{x.bottom}
	for range r.number(uint64(len(r.b))) {
		callers := make([]caller, r.number(uint64(min(len(r.b), mostCallers))))
		for i := range callers {
			next := r.number(uint64(len(x.p.nodes) - 1))
			callers[i] = caller{int32(next), frames[r.number(uint64(len(frames)-1))]}
		}
		if r.bad || len(callers) == 0 {
			return memo{}, false
		}
		frames = append(frames, x.frame(callers))
	}
	parses := make([]parse, r.number(uint64(min(len(r.b), mostParses))))
	for i := range parses {
		node := r.number(uint64(len(x.p.nodes) - 1))
		parses[i] = parse{int32(node), frames[r.number(uint64(len(frames)-1))]}
	}
	if r.bad || len(r.b) != 0 {
		return memo{}, false
	}
	return memo{state: x.intern(parses, flags&1 != 0), read: int(n), ended: flags&2 != 0}, true
}

// reader takes numbers off a string of bytes; after the first that is missing or
// too large, bad is set and every number is 0.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) fail() { r.b, r.bad = nil, true }

func (r *reader) byte() byte {
	if len(r.b) < 1 {
		r.fail()
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

func (r *reader) word() uint64 {
	if len(r.b) < 8 {
		r.fail()
		return 0
	}
	v := binary.LittleEndian.Uint64(r.b)
	r.b = r.b[8:]
	return v
}

func (r *reader) number(most uint64) uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > most {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}
