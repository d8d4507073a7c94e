// Package bpe is the tokenizer that GGUF files call "gpt2": byte-pair encoding
// over bytes, inside the words into which a pre-tokenizer splits the text. Every
// byte has a token of its own, so that any byte string can be encoded and comes
// back unchanged.
//
// It does not read files, and it normalises nothing: where the original
// tokenizer of a model composes characters first (Unicode NFC), the text is taken
// as it stands here, as llama.cpp takes it. Pre-tokenizers go by the names of
// tokenizer.ggml.pre and are listed in split.go. Start with [New], then
// Tokenizer.EncodePrompt.
//
// Source: Sennrich, Haddow and Birch, "Neural Machine Translation of Rare Words
// with Subword Units" (ACL 2016); over bytes, Radford et al., "Language Models
// are Unsupervised Multitask Learners" (2019).
package bpe

import (
	"fmt"
	"math"
	"strings"

	"lab/core/fault"
	"lab/plugins/models/internal/token"
)

// Vocab is what a tokenizer is made of: one piece and type per token id, and
// the merges, the best first.
type Vocab struct {
	Pieces []string // bytes written in the alphabet of GPT-2, special tokens as they are
	Types  []token.Type
	Merges []string // "left right", pieces of the vocabulary
	Pre    string   // name of the pre-tokenizer, one of [Names]
	BOS    int32    // -1 for none
	AddBOS bool
}

// Tokenizer encodes and decodes; EncodePrompt and Decode come from the embedded
// type. It does not change after New and is safe for concurrent use.
type Tokenizer struct {
	*token.Tokenizer
	split  splitter
	user   token.Finder
	bytes  [256]int32 // the token of a byte, -1 for none
	merges map[pair]merge
	words  map[string]int32 // text of a whole word to its token; nil: merges decide
}

// pair is two neighbouring tokens, merge what becomes of them.
type pair struct{ left, right int32 }

type merge struct{ rank, token int32 }

// New checks v and returns its tokenizer, which keeps v's slices. The error, of
// kind data, names the first token or merge that is wrong; an unknown
// pre-tokenizer is a model error.
func New(v Vocab) (*Tokenizer, error) {
	if err := checkShape(v); err != nil {
		return nil, err
	}
	method, err := findMethod(v.Pre)
	if err != nil {
		return nil, err
	}
	t := &Tokenizer{merges: make(map[pair]merge, len(v.Merges))}
	if t.split, err = method.compile(); err != nil {
		return nil, err
	}
	if method.wholeWords {
		t.words = make(map[string]int32, len(v.Pieces))
	}
	ids, texts, err := t.addPieces(v)
	if err != nil {
		return nil, err
	}
	if err := t.addMerges(v, ids); err != nil {
		return nil, err
	}
	t.Tokenizer = token.New(token.Table{Pieces: v.Pieces, Types: v.Types, Texts: texts, BOS: v.BOS, AddBOS: v.AddBOS}, t.encode)
	return t, nil
}

func checkShape(v Vocab) error {
	n := len(v.Pieces)
	switch {
	case n == 0:
		return token.Wrong("the vocabulary is empty")
	case n > math.MaxInt32 || len(v.Merges) > math.MaxInt32:
		return token.Wrong("%d tokens and %d merges are more than can be counted", n, len(v.Merges))
	case len(v.Types) != n:
		return token.Wrong("%d pieces and %d types; there must be as many of each", n, len(v.Types))
	case v.AddBOS && v.BOS < 0:
		return token.Wrong("texts are to start with BOS, but there is none")
	}
	return token.CheckNamed("BOS", v.BOS, v.Pieces, v.Types, token.Control)
}

// addPieces files every token under its type, and returns the ids by spelling
// of those that may take part in merges, and what each token prints.
func (t *Tokenizer) addPieces(v Vocab) (ids map[string]int32, texts [][]byte, err error) {
	for b := range t.bytes {
		t.bytes[b] = -1
	}
	alphabet := newAlphabet()
	ids, texts = make(map[string]int32, len(v.Pieces)), make([][]byte, len(v.Pieces))
	all := make(map[string]int32, len(v.Pieces))
	for i, piece := range v.Pieces {
		id, typ := int32(i), v.Types[i]
		if first, twice := all[piece]; twice {
			return nil, nil, token.Wrong("piece %s is both token %d and token %d", fault.Quote(piece, 40), first, id)
		}
		all[piece] = id
		if len(piece) > token.MaxPieceBytes {
			return nil, nil, token.Wrong("token %d has a piece of %d bytes; the most is %d", id, len(piece), token.MaxPieceBytes)
		}
		if piece == "" && !typ.Silent() {
			return nil, nil, token.Wrong("token %d: the %v piece is empty", id, typ)
		}
		text, spelled := alphabet.decode(piece)
		switch typ {
		case token.Normal, token.Unused:
			texts[id] = text
		case token.UserDefined:
			spelled = spelled && string(text) == piece
			texts[id] = []byte(piece)
			t.user.Add(piece, id)
		case token.Control, token.Unknown:
			texts[id] = []byte{}
			continue
		case token.Byte:
			return nil, nil, fault.New(fault.Model, "tokenizer", "", "token %d (%s) is a byte token, which byte-level merges have no place for",
				id, fault.Quote(piece, 40))
		default:
			return nil, nil, token.Wrong("token %d (%s) has the type %d; types are 1 to 6", id, fault.Quote(piece, 40), int32(typ))
		}
		if !spelled {
			continue // prints what is written, and no merge can lead to it
		}
		ids[piece] = id
		if len(text) == 1 {
			t.bytes[text[0]] = id
		}
		if t.words != nil {
			t.words[string(text)] = id
		}
	}
	return ids, texts, nil
}

// addMerges reads the merges. A control token never comes of one: text that a
// user wrote must not become one.
func (t *Tokenizer) addMerges(v Vocab, ids map[string]int32) error {
	if len(v.Merges) == 0 {
		return token.Wrong("it has no merges").Fix("without tokenizer.ggml.merges text cannot be encoded; convert the model again")
	}
	for rank, line := range v.Merges {
		bad := func(format string, args ...any) error {
			return fault.New(fault.Data, "tokenizer", fmt.Sprintf("merge %d (%s)", rank, fault.Quote(line, 60)), format, args...)
		}
		left, right, ok := strings.Cut(line, " ")
		if !ok || left == "" || right == "" || strings.Contains(right, " ") {
			return bad("it is not two pieces with a space between them")
		}
		a, okA := ids[left]
		b, okB := ids[right]
		c, okC := ids[left+right]
		if !okA || !okB || !okC {
			return bad("it needs %s, %s and the two together as tokens of the vocabulary", fault.Quote(left, 30), fault.Quote(right, 30))
		}
		if first, twice := t.merges[pair{a, b}]; twice {
			return bad("it is merge %d already", first.rank)
		}
		t.merges[pair{a, b}] = merge{int32(rank), c}
	}
	return nil
}

// alphabet is GPT-2's way to write bytes as characters that can be seen: most
// printable characters of Latin-1 stand for themselves, the other bytes, in
// order, for the characters from U+0100 on.
type alphabet struct {
	bytes map[rune]byte
}

func newAlphabet() alphabet {
	a := alphabet{bytes: make(map[rune]byte, 256)}
	next := rune(0x100)
	for b := range rune(256) {
		if b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE {
			a.bytes[b] = byte(b)
			continue
		}
		a.bytes[next] = byte(b)
		next++
	}
	return a
}

// decode returns the bytes that a piece spells. A piece that uses other
// characters spells nothing and stands for itself, which the second result says.
func (a alphabet) decode(piece string) ([]byte, bool) {
	out := make([]byte, 0, len(piece))
	for _, r := range piece {
		b, ok := a.bytes[r]
		if !ok {
			return []byte(piece), false
		}
		out = append(out, b)
	}
	return out, true
}
