package token

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Mark returns a text that a user wrote, made ready to be put into a template
// whose control tokens will be read by [Tokenizer.EncodeMarked] with the same
// mark: the mark stands before every place where a control token begins in the
// text, or would begin if the right text came behind it, and in front when the
// text could complete a token that the template began. Whatever the template
// puts around the text, and whether or not it trims it, no control token is read
// that has a byte of this text in it. The mark is a character that does not
// occur in the text.
func (t *Tokenizer) Mark(text, mark string) string {
	var b strings.Builder
	trimmed := strings.TrimRightFunc(text, unicode.IsSpace)
	first := len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace))
	for i := 0; i < len(text); {
		begins := t.controls.begins([]byte(text[i:])) || i < len(trimmed) && t.controls.begins([]byte(trimmed[i:]))
		if begins || (i == 0 || i == first) && t.completes(text[i:]) {
			b.WriteString(mark)
		}
		_, n := utf8.DecodeRuneInString(text[i:])
		b.WriteString(text[i : i+n])
		i += n
	}
	return b.String()
}

// begins reports whether a token starts at the beginning of a text or would, if
// the text went on.
func (f *Finder) begins(text []byte) bool {
	found := false
	whole := f.walk(text, func(_ int, token int32) { found = found || token >= 0 })
	return found || whole && len(text) > 0 && f.children != nil
}

// completes reports whether a text starts with the end of a control token.
func (t *Tokenizer) completes(text string) bool {
	for id, typ := range t.table.Types {
		if typ != Control {
			continue
		}
		piece := t.table.Pieces[id]
		for cut := 1; cut < len(piece); cut++ {
			if strings.HasPrefix(text, piece[cut:]) {
				return true
			}
		}
	}
	return false
}

// unmarked reports whether a control token found at a place of a text is the
// template's own.
func unmarked(text, mark []byte, at int) bool {
	return len(mark) == 0 || !bytes.HasSuffix(text[:at], mark)
}
