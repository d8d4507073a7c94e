package canvas

import (
	"encoding/hex"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"codeberg.org/go-fonts/dejavu/dejavumathtexgyre"
	"gonum.org/v1/plot/vg"
)

func TestVisible(t *testing.T) {
	rows := []struct{ name, in, want string }{
		{"plain", "nice", "nice"},
		{"space", " nice", "␣nice"},
		{"newline, tab, return", "\n\t\r", "↵⇥␍"},
		{"other controls", "\x00\x0b\x7f\u0085", "‹0000›‹000B›‹007F›‹0085›"},
		{"partial bytes", "\xe6\x97", "‹E6 97›"},
		{"bytes between letters", "a\xffb\xfe\xfdc", "a‹FF›b‹FE FD›c"},
		{"the replacement character itself", "\ufffd", "\ufffd"},
		{"zero width", "\u200b\u200d\ufeff", "‹200B›‹200D›‹FEFF›"},
		{"directions", "\u202e\u2066\u200f\u061c", "‹202E›‹2066›‹200F›‹061C›"},
		{"blanks of other widths", "\u00a0\u2003\u3000", "‹00A0›‹2003›‹3000›"},
		{"line and paragraph separators", "\u2028\u2029", "‹2028›‹2029›"},
		{"variation selector", "❤\ufe0f", "❤‹FE0F›"},
		{"tag characters and private use", "\U000e0041\ue000", "‹E0041›‹E000›"},
		{"the signs themselves", "␣↵⇥␍‹›◌", "‹2423›‹21B5›‹21E5›‹240D›‹2039›‹203A›‹25CC›"},
		{"combining mark on a letter", "e\u0301", "e\u0301"},
		{"combining mark alone", "\u0301", "◌\u0301"},
		{"combining mark after a space", " \u0301", "␣◌\u0301"},
		{"Hebrew and Arabic stay in order", "שלום مرحبا", "שלום␣مرحبا"},
		{"empty", "", ""},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if got := Visible(r.in); got != r.want {
				t.Errorf("Visible(%q) = %q, want %q", r.in, got, r.want)
			}
		})
	}
}

func TestCleanKeepsSentences(t *testing.T) {
	if got := Clean("a b\nc\td\u00a0%\u202e ‹x›\xff"); got != "a b c d %‹202E› ‹x›‹FF›" {
		t.Errorf("got %q", got)
	}
}

// invisible returns the bytes that Visible turned into s: the inverse by which
// "two tokens never look the same" is shown.
func invisible(t *testing.T, s string) string {
	t.Helper()
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		switch r {
		case '␣':
			b.WriteByte(' ')
		case '↵':
			b.WriteByte('\n')
		case '⇥':
			b.WriteByte('\t')
		case '␍':
			b.WriteByte('\r')
		case '◌': // only ever a seat for a mark
		case '‹':
			form, rest, ok := strings.Cut(s, "›")
			if !ok {
				t.Fatalf("an open form in %q", s)
			}
			s = rest
			if len(form) >= 4 && !strings.Contains(form, " ") {
				v, err := strconv.ParseUint(form, 16, 32)
				if err != nil {
					t.Fatal(err)
				}
				b.WriteRune(rune(v))
				continue
			}
			raw, err := hex.DecodeString(strings.ReplaceAll(form, " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			b.Write(raw)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func FuzzVisibleCanBeReadBack(f *testing.F) {
	for _, s := range []string{"", " a\n", "\xe6\x97\xa5", "\u200b\u0301", "‹00›", "e\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u0309\u030a", "\xff\xfe ‹FF›"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		shown := Visible(s)
		if got := invisible(t, shown); got != s {
			t.Errorf("%q is shown as %q, which reads %q", s, shown, got)
		}
		for _, text := range []string{shown, Clean(s)} {
			if !utf8.ValidString(text) {
				t.Errorf("%q is not UTF-8", text)
			}
			for _, r := range text {
				if !unicode.IsPrint(r) {
					t.Errorf("%q shows %U, which cannot be seen", text, r)
				}
			}
		}
	})
}

// page returns an empty page for measuring.
func page(t testing.TB, dirs ...string) *Page {
	t.Helper()
	p, err := NewPage(400, Light(), dirs)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func faceNames(l Label) []string {
	var names []string
	for _, g := range l.glyphs {
		if n := g.glyph.face.name; len(names) == 0 || names[len(names)-1] != n {
			names = append(names, n)
		}
	}
	return names
}

func TestEveryCharacterIsDrawn(t *testing.T) {
	rows := []struct {
		name, in, shown string
		faces           []string
	}{
		{"Latin", "Aä", "Aä", []string{"Liberation Sans"}},
		{"signs come from the fallback", "a␣", "a␣", []string{"Liberation Sans", "DejaVu Sans"}},
		{"Arabic", "مر", "مر", []string{"DejaVu Sans"}},
		{"a face", "😀", "😀", []string{"DejaVu Sans"}},
		{"no face has it", "a🎉b", "a‹1F389›b", []string{"Liberation Sans"}},
		{"East Asian", "天", "‹5929›", []string{"Liberation Sans"}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			p := page(t)
			l := p.Words(r.in, p.Ink(Sans, 8))
			if l.Text() != r.shown {
				t.Errorf("shown as %q, want %q", l.Text(), r.shown)
			}
			if got := faceNames(l); strings.Join(got, ",") != strings.Join(r.faces, ",") {
				t.Errorf("faces %v, want %v", got, r.faces)
			}
			for _, g := range l.glyphs {
				if g.glyph.index == 0 {
					t.Error("a box was drawn")
				}
			}
		})
	}
}

func TestAReturnWithoutASignShowsTheReturn(t *testing.T) {
	p := page(t)
	if got := p.Token("\r", p.Ink(Mono, 8)).Text(); got != "‹000D›" {
		t.Errorf("shown as %q; ‹240D› would be another token", got)
	}
}

func TestFontsFoundAtRunTime(t *testing.T) {
	const bold = "\U0001d400" // mathematical bold A: in none of the built-in faces
	dir := t.TempDir()
	files := map[string][]byte{
		"a-garbage.ttf": []byte("not a font"), "b-cut.ttf": dejavumathtexgyre.TTF[:4000], "c.txt": dejavumathtexgyre.TTF,
		"sub/math.TTF": dejavumathtexgyre.TTF,
	}
	for name, data := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := page(t)
	if got := p.Words(bold, p.Ink(Sans, 8)).Text(); got != "‹1D400›" {
		t.Errorf("without folders: %q", got)
	}
	p = page(t, filepath.Join(dir, "missing"), dir)
	l := p.Words(bold, p.Ink(Sans, 8))
	if l.Text() != bold || len(l.glyphs) != 1 {
		t.Errorf("with a folder: %q", l.Text())
	}
	if got := faceNames(l); len(got) != 1 || !strings.Contains(got[0], "DejaVu") {
		t.Errorf("faces %v", got)
	}
	if len(p.fonts.found.faces) != 1 {
		t.Errorf("%d faces opened, want the one real font", len(p.fonts.found.faces))
	}
	if len(SystemFontDirs()) == 0 {
		t.Error("no system folders known")
	}
}

func TestRightToLeftRunsAreReversedAndMarksStay(t *testing.T) {
	p := page(t)
	l := p.Words("aשלb", p.Ink(Sans, 8))
	var order []rune
	for _, g := range l.glyphs {
		order = append(order, g.r)
	}
	if string(order) != "aלשb" {
		t.Errorf("drawn from the left: %q", string(order))
	}
	if l.Text() != "aשלb" || len(l.segments) != 3 || l.segments[1].text != "של" || !l.segments[1].rtl {
		t.Errorf("text %q, segments %+v", l.Text(), l.segments)
	}
	alone, marked := p.Words("o", p.Ink(Sans, 8)), p.Words("o\u0301", p.Ink(Sans, 8))
	if !(math.Abs(float64(alone.Width()-marked.Width())) <= 1e-9) { // the same advance
		t.Errorf("a mark makes the letter %v wide instead of %v", marked.Width(), alone.Width())
	}
}

func TestShorten(t *testing.T) {
	for _, r := range []struct {
		in   string
		most int
		want string
	}{
		{"", 1, ""}, {"abc", 3, "abc"}, {"abcd", 3, "a…d"}, {"abcdef", 4, "a…ef"}, {"日本語の文", 5, "日本語の文"}, {"日本語の文章", 5, "日本…文章"}, {"abc", 1, "…"},
	} {
		if got := Shorten(r.in, r.most); got != r.want {
			t.Errorf("%q in %d is %q, want %q", r.in, r.most, got, r.want)
		}
	}
}

func TestElide(t *testing.T) {
	p := page(t)
	style := p.Ink(Mono, 8)
	long := p.Token(strings.Repeat("abc", 40)+"\u200b", style)
	full := p.Token("short", style)
	if full.Elide(full.Width()).Text() != "short" {
		t.Error("a label that fits is shortened")
	}
	for width := vg.Length(0); width < 120; width += 3.7 {
		got := long.Elide(width)
		if got.Width() > width {
			t.Fatalf("%q is %v wide, want at most %v", got.Text(), got.Width(), width)
		}
		text := got.Text()
		if strings.Count(text, "‹") != strings.Count(text, "›") {
			t.Errorf("a hexadecimal form was cut: %q", text)
		}
		if width > 60 && (!strings.HasPrefix(text, "a") || !strings.HasSuffix(text, "‹200B›") || !strings.Contains(text, "…")) {
			t.Errorf("width %v: %q does not keep both ends", width, text)
		}
	}
	if got := long.Elide(1).Text(); got != "" {
		t.Errorf("no room: %q", got)
	}
}

func TestWrap(t *testing.T) {
	p := page(t)
	style := p.Ink(Sans, 8)
	text := "the weather today is nice and " + strings.Repeat("x", 80) + " end"
	for _, width := range []vg.Length{20, 55, 90, 400} {
		for lines := 1; lines <= 6; lines++ {
			got := p.Words(text, style).Wrap(width, lines)
			if len(got) > lines || len(got) == 0 {
				t.Fatalf("%d lines, want 1 to %d", len(got), lines)
			}
			for _, l := range got {
				if l.Width() > width+0.01 { // kerning between the pieces is summed anew
					t.Errorf("width %v, %d lines: %q is %v wide", width, lines, l.Text(), l.Width())
				}
				if l.Text() != strings.TrimSpace(l.Text()) {
					t.Errorf("%q begins or ends with a blank", l.Text())
				}
			}
		}
	}
	whole := p.Words(text, style).Wrap(60, 100)
	var joined []string
	for _, l := range whole {
		joined = append(joined, l.Text())
	}
	if got := strings.ReplaceAll(strings.Join(joined, ""), " ", ""); got != strings.ReplaceAll(text, " ", "") {
		t.Errorf("wrapping lost something: %q", got)
	}
	if got := p.Words("", style).Wrap(60, 3); len(got) != 0 {
		t.Errorf("nothing wraps to %d lines", len(got))
	}
}

func TestHugeStringsAreCutBeforeTheyAreMeasured(t *testing.T) {
	p := page(t)
	l := p.Token(strings.Repeat("天", 1<<20), p.Ink(Mono, 8))
	if len(l.cells) > longest {
		t.Errorf("%d cells laid out", len(l.cells))
	}
	if !strings.Contains(l.Text(), "…") || strings.Contains(l.Text(), "‹E5") {
		t.Error("the cut is not marked, or went through a character")
	}
	raw := p.Token(strings.Repeat("\xff", 1<<20), p.Ink(Mono, 8))
	if !strings.HasPrefix(raw.Text(), "‹FF FF") {
		t.Errorf("bytes come out as %.20q", raw.Text())
	}
}

func TestWidthIsWhatIsDrawn(t *testing.T) {
	p := page(t)
	for _, s := range []string{"AVATAR To", "0.031", "␣nice"} {
		l := p.Words(s, p.Ink(Sans, 10))
		last := l.glyphs[len(l.glyphs)-1]
		end := (last.x + last.glyph.advance/last.glyph.face.upem) * 10
		if !(math.Abs(end-float64(l.Width())) <= 1e-9) { // the same sum in another order
			t.Errorf("%q: the last letter ends at %v, the label at %v", s, end, l.Width())
		}
	}
	if a, b := p.Words("AV", p.Ink(Sans, 10)).Width(), p.Words("A", p.Ink(Sans, 10)).Width()+p.Words("V", p.Ink(Sans, 10)).Width(); a >= b {
		t.Errorf("AV is %v wide, its letters %v: not kerned", a, b)
	}
}
