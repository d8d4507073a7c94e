package unigram

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"

	"lab/core/fault"
	"lab/plugins/models/internal/token"
)

// Bounds of a character map: far beyond the quarter of a mebibyte, the 18 bytes
// and the 33 bytes of Unicode's compatibility forms.
const (
	maxCharmapBytes  = 4 << 20
	maxKeyBytes      = 256
	maxReplacedBytes = 255
)

// charmap says what becomes of sequences of characters: a trie of their bytes,
// whose leaves are places in a list of texts that end in a zero byte.
//
// The trie is a double array (Aoe 1989, "An Efficient Digital Search Algorithm by
// Using a Double-Array Structure") in the units of 32 bits of the darts-clone
// library. The child by byte b of a node with base p is unit p^b, if its low byte
// is b and its highest bit is clear; the base of that child is its own place ^ its
// offset, bits 10 to 30, shifted left by 8 where bit 9 is set. Where bit 8 is set, a
// sequence ends there, and the unit at the base holds its text's place in 31 bits
// below a highest bit that is set.
type charmap struct {
	units []uint32
	texts []byte
}

const (
	leafBit     = 1 << 31
	endsBit     = 1 << 8
	wideBit     = 1 << 9
	offsetShift = 10
)

// newCharmap reads SentencePiece's precompiled_charsmap: the trie's length in
// bytes as a little-endian uint32, the trie, the texts.
func newCharmap(blob []byte) (*charmap, error) {
	if len(blob) > maxCharmapBytes {
		return nil, token.Wrong("the character map has %d bytes; the most is %d", len(blob), maxCharmapBytes)
	}
	if len(blob) < 4 {
		return nil, token.Wrong("the character map ends after %d bytes", len(blob))
	}
	size, rest := binary.LittleEndian.Uint32(blob), blob[4:]
	if size == 0 || size%4 != 0 || uint64(size) > uint64(len(rest)) {
		return nil, token.Wrong("the trie of the character map has %d bytes of the %d that follow; it must be whole units of 4", size, len(rest))
	}
	m := &charmap{units: make([]uint32, size/4), texts: rest[size:]}
	for i := range m.units {
		m.units[i] = binary.LittleEndian.Uint32(rest[4*i:])
	}
	if n := len(m.texts); n > 0 && m.texts[n-1] != 0 || !utf8.Valid(m.texts) {
		return nil, token.Wrong("the texts of the character map are not UTF-8 that ends in a zero byte")
	}
	if _, err := m.check(m.base(0), 0, map[uint32]int{}); err != nil {
		return nil, err
	}
	return m, nil
}

// base is where the children of the node in a unit begin.
func (m *charmap) base(place uint32) uint32 {
	u := m.units[place]
	offset := u &^ leafBit >> offsetShift
	if u&wideBit != 0 {
		offset <<= 8
	}
	return place ^ offset
}

// child returns the place of a node's child by a byte.
func (m *charmap) child(base uint32, b byte) (place uint32, ok bool) {
	place = base ^ uint32(b)
	if uint64(place) >= uint64(len(m.units)) {
		return 0, false
	}
	return place, m.units[place]&(leafBit|0xff) == uint32(b)
}

// check returns the length of the longest sequence below a node, all of which end
// in proper texts. Nodes may share what is below them; heights are those that are
// known, -1 on the way down.
func (m *charmap) check(base uint32, depth int, heights map[uint32]int) (int, error) {
	if h, seen := heights[base]; seen && h >= 0 {
		return h, nil
	} else if seen {
		return 0, token.Wrong("the trie of the character map runs in a circle")
	}
	if depth > maxKeyBytes {
		return 0, token.Wrong("the character map replaces more than %d bytes at a time", maxKeyBytes)
	}
	heights[base] = -1
	height := 0
	for b := range 256 {
		place, ok := m.child(base, byte(b))
		if !ok {
			continue
		}
		next := m.base(place)
		if m.units[place]&endsBit != 0 {
			if _, err := m.text(next); err != nil {
				return 0, err
			}
		}
		below, err := m.check(next, depth+1, heights)
		if err != nil {
			return 0, err
		}
		if height = max(height, below+1); depth+height > maxKeyBytes {
			return 0, token.Wrong("the character map replaces more than %d bytes at a time", maxKeyBytes)
		}
	}
	heights[base] = height
	return height, nil
}

// text returns the text of the sequence that ends in a node with this base.
func (m *charmap) text(base uint32) ([]byte, error) {
	if uint64(base) >= uint64(len(m.units)) || m.units[base]&leafBit == 0 {
		return nil, token.Wrong("the trie of the character map has an end without a text")
	}
	at := m.units[base] &^ leafBit
	if uint64(at) >= uint64(len(m.texts)) || !utf8.RuneStart(m.texts[at]) {
		return nil, token.Wrong("the character map names a text at byte %d of %d, where none begins", at, len(m.texts))
	}
	text := m.texts[at:]
	n := bytes.IndexByte(text, 0) // there is one at the end
	if n > maxReplacedBytes {
		return nil, token.Wrong("the character map has a text of %d bytes; the most is %d", n, maxReplacedBytes)
	}
	return text[:n], nil
}

// longest returns the text of the longest known sequence that raw starts with, and
// the length of that sequence, 0 when there is none.
func (m *charmap) longest(raw []byte) (text []byte, n int) {
	if m == nil {
		return nil, 0
	}
	base := m.base(0)
	for i, b := range raw {
		place, ok := m.child(base, b)
		if !ok {
			break
		}
		base = m.base(place)
		if m.units[place]&endsBit != 0 {
			text, _ = m.text(base) // newCharmap has met it
			n = i + 1
		}
	}
	return text, n
}

// maxNormal bounds a text after its characters were replaced.
const maxNormal = 64 << 20

// normaliser is what SentencePiece does to a text before it is cut.
type normaliser struct {
	chars *charmap // nil: characters stay
	// squeeze makes one space of several and none of those at both ends.
	squeeze bool
}

// apply returns a text that is not empty as it is to be cut, with one space in
// front where prefix says so, unless nothing is left of it: the longest known
// sequences replaced, from the left; what keep finds, left as it is; every byte
// that is no part of UTF-8 as U+FFFD; a literal space sign as a space. Errors:
// limit, where the result is above 64 MiB.
func (n *normaliser) apply(raw []byte, prefix bool, keep *token.Finder) ([]byte, error) {
	out := make([]byte, 0, len(raw)+1)
	if prefix {
		out = append(out, ' ')
	}
	start := len(out)
	blank := n.squeeze // a space here is one of several
	for len(raw) > 0 {
		text, size := n.next(raw, keep)
		raw = raw[size:]
		if blank {
			text = bytes.TrimLeft(text, " ")
		}
		if len(out)+len(text) > maxNormal {
			return nil, fault.New(fault.Limit, "encode", "", "the text has more than %d bytes after its characters were replaced", maxNormal).
				Fix("encode it in parts")
		}
		out = append(out, text...)
		if len(text) > 0 {
			blank = n.squeeze && text[len(text)-1] == ' '
		}
	}
	body := bytes.ReplaceAll(out[start:], []byte(Space), []byte(" "))
	if n.squeeze {
		if body = bytes.TrimRight(body, " "); len(body) == 0 {
			return nil, nil
		}
	}
	return append(out[:start], body...), nil
}

// next returns what becomes of the first characters of raw, and their bytes.
func (n *normaliser) next(raw []byte, keep *token.Finder) (text []byte, size int) {
	if _, size := keep.At(raw); size > 0 {
		return raw[:size], size
	}
	if text, size := n.chars.longest(raw); size > 0 {
		return text, size
	}
	r, size := utf8.DecodeRune(raw)
	if r == utf8.RuneError && size == 1 {
		return []byte("\uFFFD"), 1
	}
	return raw[:size], size
}
