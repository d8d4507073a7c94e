// Package token is what tokenizers of every kind have in common: the types of
// tokens, what each token prints, the begin token and its policy, and the
// finding of tokens that are written out in a text.
//
// How plain text is cut into tokens is not here: the packages beside this one
// ([lab/plugins/models/internal/spm] and others) bring a function for it and
// embed the [Tokenizer] that they get for it. Start with [New], then
// [Tokenizer.EncodePrompt].
package token

import (
	"fmt"
	"slices"

	"lab/core/fault"
)

// Type is the kind of a token, with the numbers of tokenizer.ggml.token_type.
type Type int32

// The token types.
const (
	Normal      Type = 1
	Unknown     Type = 2
	Control     Type = 3
	UserDefined Type = 4 // found in the text as it stands, before anything else
	Unused      Type = 5
	Byte        Type = 6 // piece "<0xHH>"
)

// String returns the type's name.
func (t Type) String() string {
	names := [...]string{"", "normal", "unknown", "control", "user defined", "unused", "byte"}
	if t >= 1 && int(t) < len(names) {
		return names[t]
	}
	return fmt.Sprintf("type(%d)", int32(t))
}

// Silent reports whether tokens of the type print nothing.
func (t Type) Silent() bool { return t == Control || t == Unknown }

// MaxPieceBytes bounds what one token spells, so that looking one up is cheap.
const MaxPieceBytes = 4096

// Table describes the tokens of a vocabulary; every slice has one element a
// token.
type Table struct {
	Pieces []string // as the file spells them; no two alike
	Types  []Type
	Texts  [][]byte // what each prints; empty for silent types
	BOS    int32    // begins a text, -1 for none
	AddBOS bool     // a prompt starts with BOS
	// LeadingSpace says that encoding puts one space before a text, which
	// decoding takes away again.
	LeadingSpace bool
}

// Encode cuts a plain text, which is not empty, into tokens that print exactly
// this text, after one more space where the table says LeadingSpace. One that
// normalises texts cuts, and prints, the normalised text, which may be empty.
type Encode func(text []byte) ([]int32, error)

// Tokenizer encodes prompts and decodes. It does not change after New and is
// safe for concurrent use when its Encode is.
type Tokenizer struct {
	table    Table
	encode   Encode
	controls *Finder
}

// New returns a tokenizer of a table that the caller has checked and no longer
// changes.
func New(t Table, encode Encode) *Tokenizer {
	controls := &Finder{}
	for id, typ := range t.Types {
		if typ == Control {
			controls.Add(t.Pieces[id], int32(id))
		}
	}
	return &Tokenizer{table: t, encode: encode, controls: controls}
}

// Size returns the number of tokens.
func (t *Tokenizer) Size() int { return len(t.table.Pieces) }

// Begin returns the token that begins a text, -1 when there is none.
func (t *Tokenizer) Begin() int32 { return t.table.BOS }

// Spelling returns how the file spells a token: "<s>" also for a control token,
// which prints nothing. The id is one of the vocabulary.
func (t *Tokenizer) Spelling(id int32) string { return t.table.Pieces[id] }

// Piece returns the bytes that a token prints; control tokens and the unknown
// token print nothing. The caller must not change them. An id outside the
// vocabulary is a usage error.
func (t *Tokenizer) Piece(id int32) ([]byte, error) {
	if id < 0 || int(id) >= len(t.table.Texts) {
		return nil, fault.New(fault.Usage, "decode", fmt.Sprintf("token %d", id), "ids are 0 to %d", len(t.table.Texts)-1)
	}
	return t.table.Texts[id], nil
}

// Texts returns the bytes of every token, as [Tokenizer.Piece] does one by one.
// The caller must not change them.
func (t *Tokenizer) Texts() [][]byte { return t.table.Texts }

// Silent returns the tokens without text of their own, control and unknown ones,
// ascending.
func (t *Tokenizer) Silent() []int32 {
	var out []int32
	for id, typ := range t.table.Types {
		if typ.Silent() {
			out = append(out, int32(id))
		}
	}
	return out
}

// Decode returns the text of a whole token sequence: its pieces one after
// another, without the one leading space that encoding puts there in some
// vocabularies. Decoding what was encoded gives back every byte string, or what
// a vocabulary that normalises texts has made of it.
func (t *Tokenizer) Decode(ids []int32) ([]byte, error) {
	out := make([]byte, 0, 4*len(ids))
	for _, id := range ids {
		p, err := t.Piece(id)
		if err != nil {
			return nil, err
		}
		out = append(out, p...)
	}
	if t.table.LeadingSpace && len(out) > 0 && out[0] == ' ' {
		out = out[1:]
	}
	return out, nil
}

// CheckNamed returns what is wrong with a token that the file names: it must be
// -1 for none, or a token of one of the given types.
func CheckNamed(what string, id int32, pieces []string, types []Type, want ...Type) error {
	if id == -1 {
		return nil
	}
	if id < -1 || int(id) >= len(pieces) {
		return Wrong("the %s token %d is outside 0 to %d", what, id, len(pieces)-1)
	}
	if got := types[id]; !slices.Contains(want, got) {
		return Wrong("the %s token %d (%s) has type %v, not %v", what, id, fault.Quote(pieces[id], 40), got, want[0])
	}
	return nil
}

// Wrong returns an error of kind data about a vocabulary.
func Wrong(format string, args ...any) *fault.Error {
	return fault.New(fault.Data, "tokenizer", "", format, args...)
}
