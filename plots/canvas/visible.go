package canvas

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A unit is the smallest piece of text that is drawn, wrapped and elided as a
// whole: a letter with its combining marks, a visible blank, or a hexadecimal
// form.
type unit struct {
	text  string // as shown
	blank bool   // a space of ordinary text: a line may break here
	rtl   bool   // a letter written from right to left
	code  string // shown instead when no face has the sign; "": the code point of text
}

// Visible returns a token's bytes as text in which everything can be seen:
// space ␣, newline ↵, tab ⇥, carriage return ␍; other controls, zero-width and
// directional characters, unusual blanks and code points that are no character
// as ‹200B›; bytes that are not UTF-8 as ‹E6 97›. The signs used for this, when
// a token holds them itself, are shown as code points too, so two different
// tokens never look the same. A combining mark without a letter sits on ◌.
func Visible(token string) string { return shown(split(token, true)) }

// Clean returns words for a title or a note as text in which everything can be
// seen, as [Visible] does, but spaces stay spaces, and a newline, a tab or a
// carriage return becomes a space.
func Clean(words string) string { return shown(split(words, false)) }

// Shorten cuts the middle out of a text of more than most characters, so that it has
// that many, the mark of the cut among them.
func Shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	head := (most - 1) / 2
	return string(r[:head]) + "…" + string(r[len(r)-(most-1-head):])
}

func shown(units []unit) string {
	var b strings.Builder
	for _, u := range units {
		b.WriteString(u.text)
	}
	return b.String()
}

// split cuts s into units. token selects the rules of [Visible], otherwise
// those of [Clean].
func split(s string, token bool) []unit {
	units := make([]unit, 0, len(s))
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && size == 1 {
			n := invalidPrefix(s)
			units = append(units, unit{text: hexBytes(s[:n])})
			s = s[n:]
			continue
		}
		s = s[size:]
		units = appendRune(units, r, token)
	}
	return units
}

// invalidPrefix returns how many bytes at the start of s belong to no valid
// sequence.
func invalidPrefix(s string) int {
	n := 0
	for n < len(s) {
		if r, size := utf8.DecodeRuneInString(s[n:]); r != utf8.RuneError || size != 1 {
			break
		}
		n++
	}
	return n
}

func hexBytes(s string) string { return fmt.Sprintf("‹% X›", []byte(s)) }

func hexRune(r rune) string { return fmt.Sprintf("‹%04X›", r) }

func appendRune(units []unit, r rune, token bool) []unit {
	if text, ok := blankSign(r, token); ok {
		return append(units, unit{text: text, blank: !token, code: hexRune(r)})
	}
	switch {
	case !token && unicode.Is(unicode.Zs, r): // a no-break or thin space in a sentence
		return append(units, unit{text: " "})
	case token && reserved(r), hidden(r):
		return append(units, unit{text: hexRune(r)})
	case unicode.Is(unicode.M, r):
		if len(units) == 0 || !carries(units[len(units)-1]) {
			return append(units, unit{text: "◌" + string(r)})
		}
		units[len(units)-1].text += string(r)
		return units
	}
	return append(units, unit{text: string(r), rtl: rightToLeft(r)})
}

// blankSign returns how an ordinary blank is shown.
func blankSign(r rune, token bool) (string, bool) {
	if !token {
		switch r {
		case ' ', '\n', '\t', '\r':
			return " ", true
		}
		return "", false
	}
	switch r {
	case ' ':
		return "␣", true
	case '\n':
		return "↵", true
	case '\t':
		return "⇥", true
	case '\r':
		return "␍", true
	}
	return "", false
}

// reserved reports whether r is one of the signs that stand for something else
// in a token.
func reserved(r rune) bool { return strings.ContainsRune("␣↵⇥␍‹›◌", r) }

// hidden reports whether r has no ink of its own or no meaning of its own:
// controls, format and directional characters, blanks other than the space,
// variation selectors, the joiner of graphemes, and code points that are
// unassigned, private or no character.
func hidden(r rune) bool {
	switch {
	case r == ' ':
		return false
	case r == '\u034f', r == '\u115f', r == '\u1160', r == '\u3164', r == '\uffa0': // joiner and Hangul fillers
		return true
	case r == '\u2800', r == '\ufffc': // empty Braille cell, object replacement
		return true
	case unicode.Is(unicode.Variation_Selector, r):
		return true
	}
	return !unicode.IsGraphic(r) || unicode.Is(unicode.Zs, r)
}

// carries reports whether a combining mark may sit on u: not on a blank, nor on
// a form we made up, and not on a letter that has eight marks already, since a
// pile of marks would hide its neighbours and grow without bound.
func carries(u unit) bool {
	const most = 8
	return !u.blank && !strings.HasPrefix(u.text, "‹") && !strings.ContainsAny(u.text, "␣↵⇥␍") &&
		utf8.RuneCountInString(u.text) <= most
}

// rightToLeft reports whether r is a letter of a right-to-left script (strong
// types R and AL of UAX #9, by block).
func rightToLeft(r rune) bool {
	switch {
	case r >= 0x0660 && r <= 0x0669, r >= 0x06f0 && r <= 0x06f9: // Arabic digits run left to right
		return false
	case r >= 0x0590 && r <= 0x08ff, r >= 0xfb1d && r <= 0xfdff, r >= 0xfe70 && r <= 0xfefc:
		return unicode.IsLetter(r)
	case r >= 0x10800 && r <= 0x10fff, r >= 0x1e800 && r <= 0x1efff:
		return unicode.IsLetter(r)
	}
	return false
}
