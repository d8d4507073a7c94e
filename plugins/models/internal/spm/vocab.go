// Package spm is the tokenizer that GGUF files call "llama": SentencePiece's
// byte-pair encoding with scores, where a character without a piece of its own
// becomes byte tokens, so that every byte string can be encoded and comes back
// unchanged.
//
// It does not read files (the GGUF reader and the grammar bring a [Vocab]),
// knows no normalisation beyond the space sign, and never reads control tokens
// out of text: "<s>" typed by a user is three characters. Start with [New],
// then [Tokenizer.Encode].
package spm

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"lab/plugins/models/internal/token"
)

// Type is the kind of a token.
type Type = token.Type

// The token types. Unused pieces may appear while merging, as SentencePiece
// has it, but are split again before the tokens are handed out.
const (
	Normal      = token.Normal
	Unknown     = token.Unknown
	Control     = token.Control
	UserDefined = token.UserDefined
	Unused      = token.Unused
	Byte        = token.Byte
)

// Space is the sign that stands for a space inside pieces (U+2581).
const Space = "▁"

const maxPieceBytes = token.MaxPieceBytes

// Vocab is what a tokenizer is made of: one piece, score and type per token
// id.
type Vocab struct {
	Pieces []string  // unique; spaces written as [Space], in user-defined ones also as they are
	Scores []float32 // the higher, the earlier a merge; finite
	Types  []Type
	// BOS, EOS and Unknown are token ids, or -1 for none.
	BOS, EOS, Unknown int32
	AddBOS            bool // a text starts with BOS; Encode leaves that to its caller
	AddSpacePrefix    bool // Encode puts one space before a text that is not empty
}

// Tokenizer encodes and decodes; EncodePrompt, Decode and what tokens print come
// from the embedded type. It does not change after New and is safe for concurrent
// use.
type Tokenizer struct {
	*token.Tokenizer
	vocab    Vocab
	ids      map[string]int32 // of all pieces
	user     map[string]int32 // with spaces written as the space sign
	userLens [256][]int       // by first byte: lengths of user-defined pieces, longest first
	bytes    [256]int32
	texts    [][]byte // what each token prints
	longest  int      // bytes of the longest mergeable piece
}

// New checks v and returns its tokenizer; it keeps copies of v's slices. The
// error, of kind data, names the first token that is wrong.
func New(v Vocab) (*Tokenizer, error) {
	v.Pieces, v.Scores, v.Types = slices.Clone(v.Pieces), slices.Clone(v.Scores), slices.Clone(v.Types)
	t := &Tokenizer{vocab: v, ids: make(map[string]int32, len(v.Pieces)), user: make(map[string]int32)}
	if err := t.checkShape(); err != nil {
		return nil, err
	}
	for i := range t.bytes {
		t.bytes[i] = -1
	}
	t.texts = make([][]byte, len(v.Pieces))
	for i, piece := range v.Pieces {
		id := int32(i)
		if t.ids[piece] = id; len(t.ids) != i+1 {
			first := slices.Index(v.Pieces, piece)
			return nil, token.Wrong("piece %q is both token %d and token %d", piece, first, id)
		}
		if err := t.add(id, piece); err != nil {
			return nil, err
		}
	}
	for b, id := range t.bytes {
		if id < 0 {
			return nil, token.Wrong("there is no byte token <0x%02X>", b).
				Fix("give the vocabulary all 256 byte tokens; without them some text cannot be encoded")
		}
	}
	for s := range t.user {
		if lens := &t.userLens[s[0]]; !slices.Contains(*lens, len(s)) {
			*lens = append(*lens, len(s))
		}
	}
	for _, lens := range t.userLens {
		slices.Sort(lens)
		slices.Reverse(lens)
	}
	t.Tokenizer = token.New(token.Table{Pieces: v.Pieces, Types: v.Types, Texts: t.texts, BOS: v.BOS, AddBOS: v.AddBOS,
		LeadingSpace: v.AddSpacePrefix}, func(text []byte) ([]int32, error) { return t.Encode(text), nil })
	return t, nil
}

// checkShape checks lengths, scores and the three named ids.
func (t *Tokenizer) checkShape() error {
	v := t.vocab
	n := len(v.Pieces)
	switch {
	case n == 0:
		return token.Wrong("the vocabulary is empty")
	case n > math.MaxInt32:
		return token.Wrong("%d tokens are more than token ids can count", n)
	case len(v.Scores) != n || len(v.Types) != n:
		return token.Wrong("%d pieces, %d scores and %d types; there must be as many of each", n, len(v.Scores), len(v.Types))
	}
	for i, s := range v.Scores {
		if f := float64(s); math.IsNaN(f) || math.IsInf(f, 0) {
			return token.Wrong("token %d (%q) has the score %g", i, v.Pieces[i], s)
		}
	}
	for _, err := range []error{
		token.CheckNamed("BOS", v.BOS, v.Pieces, v.Types, Control), token.CheckNamed("EOS", v.EOS, v.Pieces, v.Types, Control),
		// Some converters mark the unknown token as a control token; it is silent either way.
		token.CheckNamed("unknown", v.Unknown, v.Pieces, v.Types, Unknown, Control),
	} {
		if err != nil {
			return err
		}
	}
	if v.AddBOS && v.BOS < 0 {
		return token.Wrong("texts are to start with BOS, but there is none")
	}
	return nil
}

// add files one token under its type.
func (t *Tokenizer) add(id int32, piece string) error {
	typ := t.vocab.Types[id]
	if len(piece) > maxPieceBytes {
		return token.Wrong("token %d has a piece of %d bytes; the most is %d", id, len(piece), maxPieceBytes)
	}
	switch typ {
	case Normal, Unused, UserDefined:
		if piece == "" || !utf8.ValidString(piece) {
			return token.Wrong("token %d: the %v piece %q is empty or not UTF-8", id, typ, piece)
		}
		t.texts[id] = []byte(piece)
		if strings.Contains(piece, Space) {
			t.texts[id] = []byte(strings.ReplaceAll(piece, Space, " "))
		}
		if typ == UserDefined {
			// Converters write the spaces of these pieces either way.
			piece = strings.ReplaceAll(piece, " ", Space)
			if first, twice := t.user[piece]; twice {
				return token.Wrong("the user-defined pieces of token %d and token %d match the same text", first, id)
			}
			t.user[piece] = id
			return nil
		}
		t.longest = max(t.longest, len(piece))
	case Byte:
		b, ok := byteOf(piece)
		if !ok {
			return token.Wrong("token %d: the byte piece %q is not of the form <0xHH>", id, piece)
		}
		t.bytes[b] = id
		t.texts[id] = []byte{b}
	case Unknown, Control:
		t.texts[id] = []byte{}
	default:
		return token.Wrong("token %d (%q) has the type %d; types are 1 to 6", id, piece, int32(typ))
	}
	return nil
}

// byteOf reads "<0xHH>"; the digits are upper case, so that no byte has two
// spellings.
func byteOf(piece string) (byte, bool) {
	if len(piece) != 6 || !strings.HasPrefix(piece, "<0x") || piece[5] != '>' {
		return 0, false
	}
	b, err := strconv.ParseUint(piece[3:5], 16, 8)
	if err != nil || fmt.Sprintf("<0x%02X>", b) != piece {
		return 0, false
	}
	return byte(b), true
}

// mergeable returns the normal or unused token of a piece.
func (t *Tokenizer) mergeable(piece string) (int32, bool) {
	id, ok := t.ids[piece]
	if ok {
		typ := t.vocab.Types[id]
		ok = typ == Normal || typ == Unused
	}
	return id, ok
}

// Vocab returns a copy of the vocabulary.
func (t *Tokenizer) Vocab() Vocab {
	v := t.vocab
	v.Pieces, v.Scores, v.Types = slices.Clone(v.Pieces), slices.Clone(v.Scores), slices.Clone(v.Types)
	return v
}
