package spm

import (
	"slices"
	"strings"

	"lab/core/fault"
)

// spelledControl is a control token as it may be written out in a text.
type spelledControl struct {
	text string
	id   int32
}

// spelledControls returns the control tokens of v by their first byte, the longest
// first and then by id.
func spelledControls(v Vocab) map[byte][]spelledControl {
	out := map[byte][]spelledControl{}
	for id, p := range v.Pieces {
		if v.Types[id] == Control && p != "" {
			out[p[0]] = append(out[p[0]], spelledControl{p, int32(id)})
		}
	}
	for _, list := range out {
		slices.SortStableFunc(list, func(a, b spelledControl) int { return len(b.text) - len(a.text) })
	}
	return out
}

// EncodePrompt returns the tokens of a text as a model is given it. begin puts
// BOS in front when the vocabulary's policy is to (AddBOS). Control tokens
// written out in the text stay text unless special asks to read them; of those
// that start at one place the longest is read. A text that starts with a BOS to
// be read while the policy puts one in front is a usage error, for two are never
// meant. Without special it cannot fail.
func (t *Tokenizer) EncodePrompt(text []byte, begin, special bool) ([]int32, error) {
	out := []int32{}
	begin = begin && t.vocab.AddBOS
	if begin {
		out = append(out, t.vocab.BOS)
	}
	rest := string(text)
	for special {
		at, token, found := t.findControl(rest)
		if !found {
			break
		}
		if begin && at == 0 && len(rest) == len(text) && token.id == t.vocab.BOS {
			return nil, fault.New(fault.Usage, "encode", fault.Quote(string(text), 40),
				"the text starts with %q and the model's policy puts another in front", token.text).
				Fix("leave it out of the text, or encode without the begin token")
		}
		out = append(append(out, t.Encode([]byte(rest[:at]))...), token.id)
		rest = rest[at+len(token.text):]
	}
	return append(out, t.Encode([]byte(rest))...), nil
}

// findControl returns the first control token written out in a text, and where.
func (t *Tokenizer) findControl(text string) (at int, token spelledControl, found bool) {
	for at := range len(text) {
		for _, w := range t.controls[text[at]] {
			if strings.HasPrefix(text[at:], w.text) {
				return at, w, true
			}
		}
	}
	return 0, spelledControl{}, false
}

// Texts returns the bytes of every token, as [Tokenizer.Piece] does one by one.
// The caller must not change them.
func (t *Tokenizer) Texts() [][]byte { return t.texts }

// Silent returns the tokens without text of their own, control and unknown ones,
// ascending.
func (t *Tokenizer) Silent() []int32 {
	var out []int32
	for id, typ := range t.vocab.Types {
		if typ == Control || typ == Unknown {
			out = append(out, int32(id))
		}
	}
	return out
}
