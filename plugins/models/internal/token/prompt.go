package token

import (
	"bytes"

	"lab/core/fault"
)

// EncodePrompt returns the tokens of a text as a model is given it. begin puts
// BOS in front when the vocabulary's policy is to (AddBOS). Control tokens
// written out in the text stay text unless special asks to read them; of those
// that start at one place the longest is read. A text that starts with a BOS to
// be read while the policy puts one in front is a usage error, for two are never
// meant. Other errors are those of the vocabulary: data, when a byte has no
// token.
func (t *Tokenizer) EncodePrompt(text []byte, begin, special bool) ([]int32, error) {
	out := []int32{}
	begin = begin && t.table.AddBOS
	if begin {
		out = append(out, t.table.BOS)
	}
	if !special {
		return t.plain(out, text)
	}
	if id, n := t.controls.At(text); begin && n > 0 && id == t.table.BOS {
		return nil, fault.New(fault.Usage, "encode", fault.Quote(string(text), 40),
			"the text starts with %q and the model's policy puts another in front", t.table.Pieces[id]).
			Fix("leave it out of the text, or encode without the begin token")
	}
	return t.read(out, text, nil)
}

// EncodeMarked returns the tokens of a text that was put together from a
// template and of what users wrote: control tokens are read, and the marks,
// which [Tokenizer.Mark] put where a user's text could be taken for one, are
// removed. The result starts with exactly one BOS when the policy asks for it,
// whether or not the template writes it.
func (t *Tokenizer) EncodeMarked(text, mark []byte) ([]int32, error) {
	out := []int32{}
	if id, n := t.controls.At(text); t.table.AddBOS && !(n > 0 && id == t.table.BOS) {
		out = append(out, t.table.BOS)
	}
	return t.read(out, text, mark)
}

// read appends the tokens of a text in which control tokens are read where no
// mark stands before them.
func (t *Tokenizer) read(out []int32, text, mark []byte) ([]int32, error) {
	start, from := 0, 0 // of the plain text before a token, and of the search
	for {
		at, id, n := t.controls.Find(text[from:])
		at += from
		if n > 0 && !unmarked(text, mark, at) {
			from = at + 1
			continue
		}
		before := text[start:at]
		if len(mark) > 0 {
			before = bytes.ReplaceAll(before, mark, nil)
		}
		var err error
		if out, err = t.plain(out, before); err != nil || n == 0 {
			return out, err
		}
		out = append(out, id)
		start, from = at+n, at+n
	}
}

// plain appends the tokens of a text in which no control token is read.
func (t *Tokenizer) plain(out []int32, text []byte) ([]int32, error) {
	if len(text) == 0 {
		return out, nil
	}
	ids, err := t.encode(text)
	if err != nil {
		return nil, err
	}
	return append(out, ids...), nil
}
