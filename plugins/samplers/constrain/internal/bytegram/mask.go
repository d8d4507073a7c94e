package bytegram

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// Mask is a set of tokens. It is immutable and safe for concurrent use.
type Mask struct {
	ids   []int32  // ascending, when they are few
	words []uint64 // otherwise a bit for each token of the vocabulary
	count int
}

// Count returns how many tokens there are.
func (k *Mask) Count() int { return k.count }

// Has reports whether a token is in the set.
func (k *Mask) Has(id int32) bool {
	if k.words == nil {
		_, ok := slices.BinarySearch(k.ids, id)
		return ok
	}
	return id >= 0 && int(id)>>6 < len(k.words) && k.words[id>>6]>>(id&63)&1 != 0
}

// Strike sets the scores of all tokens but those in the set and the given others
// to -Inf. values[i] is the score of token i.
func (k *Mask) Strike(values []float32, others []int32) {
	removed := float32(math.Inf(-1))
	kept := make([]float32, len(others))
	for i, id := range others {
		kept[i] = values[id]
	}
	if k.words == nil {
		next := 0
		for _, id := range k.ids {
			fill(values[next:id], removed)
			next = int(id) + 1
		}
		fill(values[next:], removed)
	}
	for i, w := range k.words {
		for w = ^w; w != 0; w &= w - 1 {
			if id := i<<6 + bits.TrailingZeros64(w); id < len(values) {
				values[id] = removed
			}
		}
	}
	for i, id := range others {
		values[id] = kept[i]
	}
}

func fill(values []float32, x float32) {
	for i := range values {
		values[i] = x
	}
}

// Append appends the tokens to ids in ascending order.
func (k *Mask) Append(ids []int32) []int32 {
	ids = append(ids, k.ids...)
	for i, w := range k.words {
		for ; w != 0; w &= w - 1 {
			ids = append(ids, int32(i<<6+bits.TrailingZeros64(w)))
		}
	}
	return ids
}

// newMask returns the set with the given bits, which it may keep.
func newMask(words []uint64) *Mask {
	k := &Mask{}
	for _, w := range words {
		k.count += bits.OnesCount64(w)
	}
	if k.count <= len(words) {
		k.ids = (&Mask{words: words}).Append(make([]int32, 0, k.count))
	} else {
		k.words = words
	}
	return k
}

func (k *Mask) size() int { return 64 + 4*len(k.ids) + 8*len(k.words) }

// local is what can be read from places of one rule, whatever called it.
type local struct {
	mask  *Mask   // the tokens that stay in the rule, or end with it
	exits []int32 // the points of the tree, with points below, where the rule can end
}

// walker is the part of a matcher that goes through the tree.
type walker struct {
	*machine
	t     *Trie
	stack []*state // by depth
}

// walk marks the tokens below a point that can be read from a state. exits, if
// not nil, collects the points where the text is complete.
func (w *walker) walk(from *state, at int32, words []uint64, exits *[]int32) error {
	t := w.t
	stop := t.nodes[at].after
	if w.work += int(stop - at); w.work > mostWork {
		return tooMuchWork()
	}
	w.stack[t.nodes[at].depth] = from
	class := &w.p.class
	for i := at + 1; i < stop; {
		n := &t.nodes[i]
		s := w.stack[n.depth-1]
		var to *state
		c := class[n.b]
		if s.next != nil {
			to = s.next[c]
		}
		if to == nil {
			var err error
			if to, err = w.step(s, c); err != nil {
				return err
			}
		}
		if to.dead() {
			i = n.after
			continue
		}
		w.stack[n.depth] = to
		for _, id := range t.order[n.tok:t.nodes[i+1].tok] {
			words[id>>6] |= 1 << (id & 63)
		}
		i++
		if exits != nil && to.complete && n.after > i {
			*exits = append(*exits, i-1)
		}
	}
	return nil
}

func (w *walker) words() []uint64 { return make([]uint64, (w.t.vocab+63)/64) }

// local returns what can be read from the given places of a rule.
func (w *walker) local(places []int32) (*local, error) {
	key := make([]byte, 0, 4*len(places))
	for _, n := range places {
		key = binary.LittleEndian.AppendUint32(key, uint32(n))
	}
	if l, ok := w.locals[string(key)]; ok {
		return l, nil
	}
	parses := make([]parse, len(places))
	for i, n := range places {
		parses[i] = parse{n, w.bottom}
	}
	l := &local{}
	words := w.words()
	if err := w.walk(w.intern(parses, false), 0, words, &l.exits); err != nil {
		return nil, err
	}
	l.mask = newMask(words)
	w.remember(l.mask.size() + 4*len(l.exits))
	w.locals[string(key)] = l
	return l, nil
}

// remember counts the bytes of a mask and forgets everything when they are too
// many.
func (w *walker) remember(size int) {
	if w.masked+size > mostMaskBytes {
		w.flush()
	}
	w.masked += size
}

// below returns the tokens of the tree that can be read from a state, a bit for
// each.
func (w *walker) below(s *state) ([]uint64, error) {
	words := w.words()
	for _, g := range groups(s) {
		l, err := w.local(g.places)
		if err != nil {
			return nil, err
		}
		for i, x := range l.mask.words {
			words[i] |= x
		}
		for _, id := range l.mask.ids {
			words[id>>6] |= 1 << (id & 63)
		}
		if g.top == w.bottom || len(l.exits) == 0 {
			continue
		}
		after, err := w.after(g.top)
		if err != nil {
			return nil, err
		}
		if len(after.parses) == 0 {
			continue
		}
		for _, at := range l.exits {
			if err := w.walk(after, at, words, nil); err != nil {
				return nil, err
			}
		}
	}
	return words, nil
}

// group is the places of the parses that share a frame.
type group struct {
	top    *frame
	places []int32 // ascending
}

// groups returns the parses of a state by frame.
func groups(s *state) []group {
	var out []group
	at := map[*frame]int{}
	for _, q := range s.parses {
		i, ok := at[q.top]
		if !ok {
			i = len(out)
			at[q.top] = i
			out = append(out, group{top: q.top})
		}
		out[i].places = append(out[i].places, q.node)
	}
	return out
}
