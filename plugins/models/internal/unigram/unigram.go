// Package unigram is the tokenizer that GGUF files call "t5": SentencePiece's
// unigram model, which takes the segmentation of the highest probability. What
// no piece covers becomes byte tokens, so that every byte string comes back
// unchanged; a vocabulary without them refuses such a text.
//
// A vocabulary may ask for its texts to be normalised first: characters replaced
// by a character map, spaces squeezed (charmap.go). What is decoded is then the
// normalised text, and a byte that is no part of UTF-8 has become U+FFFD. It does
// not read files. Start with [New], then Tokenizer.EncodePrompt.
//
// Source: Kudo, "Subword Regularization" (ACL 2018), equation 3, decoded with
// Viterbi's algorithm; Kudo and Richardson, "SentencePiece" (EMNLP 2018), section
// 3, for the normalisation, of which they give no more than the idea.
package unigram

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"lab/core/fault"
	"lab/plugins/models/internal/token"
)

// Space is the sign that stands for a space inside pieces (U+2581).
const Space = "▁"

// Vocab is what a tokenizer is made of: one piece, score and type per token id.
type Vocab struct {
	Pieces []string
	Scores []float32 // natural logarithms of probabilities; finite
	Types  []token.Type
	BOS    int32 // -1 for none
	AddBOS bool
	// AddSpacePrefix puts one space before a text that is not empty.
	AddSpacePrefix bool
	// Charmap is SentencePiece's precompiled map of characters, empty for none; New
	// keeps it.
	Charmap []byte
	// SqueezeSpaces makes one space of several, and none of those at both ends of a
	// text (SentencePiece's remove_extra_whitespaces).
	SqueezeSpaces bool
}

// Tokenizer encodes and decodes; EncodePrompt and Decode come from the embedded
// type. It does not change after New and is safe for concurrent use.
type Tokenizer struct {
	*token.Tokenizer
	scores  []float64
	pieces  token.Finder // normal ones, spaces written as the space sign
	user    token.Finder // user-defined ones, as a text has them
	bytes   [256]int32   // -1 for none
	unknown float64      // score of a character without a piece
	prefix  bool
	normal  *normaliser // nil: texts stay as they are
}

// penalty is how much less than the worst piece a character without a piece
// scores, as SentencePiece has it.
const penalty = 10

// New checks v and returns its tokenizer, which keeps v's slices. The error, of
// kind data, names the first token that is wrong.
func New(v Vocab) (*Tokenizer, error) {
	n := len(v.Pieces)
	switch {
	case n == 0:
		return nil, token.Wrong("the vocabulary is empty")
	case n > math.MaxInt32:
		return nil, token.Wrong("%d tokens are more than token ids can count", n)
	case len(v.Scores) != n || len(v.Types) != n:
		return nil, token.Wrong("%d pieces, %d scores and %d types; there must be as many of each", n, len(v.Scores), len(v.Types))
	case v.AddBOS && v.BOS < 0:
		return nil, token.Wrong("texts are to start with BOS, but there is none")
	}
	if err := token.CheckNamed("BOS", v.BOS, v.Pieces, v.Types, token.Control); err != nil {
		return nil, err
	}
	t := &Tokenizer{scores: make([]float64, n), prefix: v.AddSpacePrefix, unknown: math.Inf(1)}
	for b := range t.bytes {
		t.bytes[b] = -1
	}
	if len(v.Charmap) > 0 || v.SqueezeSpaces {
		t.normal = &normaliser{squeeze: v.SqueezeSpaces}
	}
	if len(v.Charmap) > 0 {
		var err error
		if t.normal.chars, err = newCharmap(v.Charmap); err != nil {
			return nil, err
		}
	}
	texts, seen := make([][]byte, n), make(map[string]int, n)
	for i, piece := range v.Pieces {
		if first, twice := seen[piece]; twice {
			return nil, token.Wrong("piece %s is both token %d and token %d", fault.Quote(piece, 40), first, i)
		}
		seen[piece] = i
		t.scores[i] = float64(v.Scores[i])
		if math.IsNaN(t.scores[i]) || math.IsInf(t.scores[i], 0) {
			return nil, token.Wrong("token %d (%s) has the score %g", i, fault.Quote(piece, 40), t.scores[i])
		}
		var err error
		if texts[i], err = t.add(int32(i), piece, v.Types[i]); err != nil {
			return nil, err
		}
	}
	t.Tokenizer = token.New(token.Table{Pieces: v.Pieces, Types: v.Types, Texts: texts, BOS: v.BOS, AddBOS: v.AddBOS,
		LeadingSpace: v.AddSpacePrefix}, t.encode)
	return t, nil
}

// add files one token under its type and returns what it prints.
func (t *Tokenizer) add(id int32, piece string, typ token.Type) ([]byte, error) {
	if len(piece) > token.MaxPieceBytes {
		return nil, token.Wrong("token %d has a piece of %d bytes; the most is %d", id, len(piece), token.MaxPieceBytes)
	}
	text := strings.ReplaceAll(piece, Space, " ")
	switch typ {
	case token.Normal, token.Unused, token.UserDefined:
		if piece == "" || !utf8.ValidString(piece) {
			return nil, token.Wrong("token %d: the %v piece %q is empty or not UTF-8", id, typ, piece)
		}
		if typ == token.Normal {
			t.pieces.Add(strings.ReplaceAll(piece, " ", Space), id)
			t.unknown = min(t.unknown, t.scores[id]-penalty)
		}
		if typ == token.UserDefined {
			t.user.Add(text, id)
		}
		return []byte(text), nil
	case token.Byte:
		b, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimPrefix(piece, "<0x"), ">"), 16, 8)
		if err != nil || piece != fmt.Sprintf("<0x%02X>", b) {
			return nil, token.Wrong("token %d: the byte piece %q is not of the form <0xHH>", id, piece)
		}
		t.bytes[b] = id
		return []byte{byte(b)}, nil
	case token.Control, token.Unknown:
		return []byte{}, nil
	}
	return nil, token.Wrong("token %d (%s) has the type %d; types are 1 to 6", id, fault.Quote(piece, 40), int32(typ))
}

// encode returns the tokens of a plain text: user-defined tokens where they are
// written out, leftmost and longest first, and between them the best
// segmentation.
func (t *Tokenizer) encode(text []byte) ([]int32, error) {
	switch {
	case t.normal != nil:
		var err error
		if text, err = t.normal.apply(text, t.prefix, &t.user); err != nil {
			return nil, err
		}
	case t.prefix:
		text = append([]byte{' '}, text...)
	}
	out := make([]int32, 0, len(text)/3+1)
	for len(text) > 0 {
		at, id, n := t.user.Find(text)
		var err error
		if out, err = t.best(out, text[:at]); err != nil {
			return nil, err
		}
		if n > 0 {
			out = append(out, id)
		}
		text = text[at+n:]
	}
	return out, nil
}

// node is the best way to a place of the text: where its last token begins, and
// which it is, -1 for a character without a piece.
type node struct {
	score float64
	from  int
	token int32
	set   bool
}

// best appends the segmentation of the highest sum of scores, which is taken in
// float64 (SentencePiece takes it in float32, and may find others equal); of equal
// ones, at
// every place the one whose last token is the longest. A literal space sign and
// bytes that are not UTF-8 are no part of a piece.
func (t *Tokenizer) best(out []int32, raw []byte) ([]int32, error) {
	text := bytes.ReplaceAll(raw, []byte(Space), []byte("\xff\xfe\xfd")) // three bytes that no piece has
	text = bytes.ReplaceAll(text, []byte(" "), []byte(Space))
	nodes := make([]node, len(text)+1)
	nodes[0].set = true
	for at := 0; at < len(text); {
		_, size := utf8.DecodeRune(text[at:])
		single := false
		reach := func(n int, id int32, score float64) {
			to := &nodes[at+n]
			if total := nodes[at].score + score; !to.set || total > to.score {
				*to = node{score: total, from: at, token: id, set: true}
			}
		}
		t.pieces.Prefixes(text[at:], func(n int, id int32) {
			single = single || n == size
			reach(n, id, t.scores[id])
		})
		if !single {
			reach(size, -1, t.unknown)
		}
		at += size
	}
	type span struct {
		from, end int
		token     int32
	}
	var back []span
	for end := len(text); end > 0; end = nodes[end].from {
		back = append(back, span{nodes[end].from, end, nodes[end].token})
	}
	done := 0 // bytes of raw
	for i := len(back) - 1; i >= 0; i-- {
		n := back[i]
		size := width(text[n.from:n.end])
		if n.token >= 0 {
			out = append(out, n.token)
		} else {
			for _, b := range raw[done : done+size] {
				if t.bytes[b] < 0 {
					return nil, fault.New(fault.Data, "encode", fmt.Sprintf("byte 0x%02X", b), "the vocabulary has no token for it")
				}
				out = append(out, t.bytes[b])
			}
		}
		done += size
	}
	return out, nil
}

// width returns how many bytes of the text a stretch stands for, in which a
// space takes three.
func width(stretch []byte) int {
	return len(stretch) - (len(Space)-1)*bytes.Count(stretch, []byte(Space))
}
