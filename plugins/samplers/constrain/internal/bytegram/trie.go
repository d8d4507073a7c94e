package bytegram

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"lab/core/fault"
)

// Trie is the tree of a vocabulary's texts. It is immutable and safe for
// concurrent use.
type Trie struct {
	vocab int
	text  []byte  // all texts, by token
	at    []int32 // vocab + 1 places in text
	order []int32 // tokens that have a text, in order of text, then of number
	nodes []point // in preorder, a root without a byte first and a closing one last
	deep  int     // bytes of the longest text
	hash  uint64  // of the texts
}

// point is a node of the tree: a text that some token begins with. The tokens
// whose text it is are order[tok : next point's tok].
type point struct {
	tok   int32
	after int32 // the first point that is not below this one
	depth int32
	b     byte
}

// mostText bounds the bytes of a vocabulary.
const mostText = 1 << 29

// NewTrie returns the tree of the texts of tokens 0 to vocab-1; tokens without a
// text are not in it. It copies the texts. A vocabulary of more than 512 MiB is
// a limit error.
func NewTrie(vocab int, texts func(id int32) []byte) (*Trie, error) {
	t := &Trie{vocab: vocab, at: make([]int32, 1, vocab+1), hash: mix(fnvStart, uint64(vocab))}
	type entry struct {
		first uint64 // eight bytes, which mostly decide the order
		id    int32
	}
	var list []entry
	for id := range int32(vocab) {
		text := texts(id)
		if len(t.text)+len(text) > mostText {
			return nil, fault.New(fault.Limit, "", "", "the texts of the vocabulary have more than %d bytes", mostText)
		}
		t.text = append(t.text, text...)
		t.at = append(t.at, int32(len(t.text)))
		var b [8]byte
		copy(b[:], text)
		if len(text) > 0 {
			list = append(list, entry{binary.BigEndian.Uint64(b[:]), id})
		}
		t.deep = max(t.deep, len(text))
		t.hash = mix(t.hash, uint64(len(text)))
		for ; len(text) >= 8; text = text[8:] {
			t.hash = mix(t.hash, binary.LittleEndian.Uint64(text))
		}
		for _, c := range text {
			t.hash = mix(t.hash, uint64(c))
		}
	}
	slices.SortFunc(list, func(a, b entry) int {
		if a.first != b.first {
			return cmp.Compare(a.first, b.first)
		}
		return cmp.Or(bytes.Compare(t.Text(a.id), t.Text(b.id)), cmp.Compare(a.id, b.id))
	})
	t.order = make([]int32, len(list))
	for i, e := range list {
		t.order[i] = e.id
	}
	t.grow()
	return t, nil
}

// grow makes the points from the ordered tokens.
func (t *Trie) grow() {
	t.nodes = append(make([]point, 0, len(t.text)/2+2), point{})
	open := []int32{0} // the points of the text before, by depth
	var last []byte
	for i, id := range t.order {
		text := t.Text(id)
		same := 0
		for same < len(last) && same < len(text) && last[same] == text[same] {
			same++
		}
		for _, n := range open[same+1:] {
			t.nodes[n].after = int32(len(t.nodes))
		}
		open = open[:same+1]
		for _, b := range text[same:] {
			open = append(open, int32(len(t.nodes)))
			t.nodes = append(t.nodes, point{tok: int32(i), depth: int32(len(open) - 1), b: b})
		}
		last = text
	}
	for _, n := range open {
		t.nodes[n].after = int32(len(t.nodes))
	}
	t.nodes = append(t.nodes, point{tok: int32(len(t.order))})
}

// Text returns the text of a token, which must not be changed; nil for one
// outside the vocabulary.
func (t *Trie) Text(id int32) []byte {
	if id < 0 || int(id) >= t.vocab {
		return nil
	}
	return t.text[t.at[id]:t.at[id+1]:t.at[id+1]]
}

// Vocab returns the size of the vocabulary.
func (t *Trie) Vocab() int { return t.vocab }

// find returns the lowest token with a text, or -1.
func (t *Trie) find(text string) int32 {
	i, ok := slices.BinarySearchFunc(t.order, text, func(id int32, text string) int {
		return cmp.Compare(string(t.Text(id)), text)
	})
	if !ok {
		return -1
	}
	return t.order[i]
}
