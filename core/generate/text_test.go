package generate

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTextStream(t *testing.T) {
	rows := []struct {
		name   string
		stops  []string
		pieces []string
		shown  []string // after each piece; then what flush releases
		stop   string
		offset int
	}{
		{"plain pieces pass through", nil, []string{" nice", "."}, []string{" nice", ".", ""}, "", 0},
		{"a character split over two tokens is held until it is whole", nil,
			[]string{"\xf0\x9f", "\x8c\xa7!"}, []string{"", "🌧!", ""}, "", 0},
		{"an incomplete character is flushed at the end", nil, []string{"a\xe6\x97"}, []string{"a", "\xe6\x97"}, "", 0},
		{"invalid bytes do not block the stream", nil, []string{"\xff", "b\x80", "c"}, []string{"\xff", "b\x80", "c", ""}, "", 0},
		{"a stop string over three tokens", []string{"O P Q"}, []string{" N", " O", " P", " Q", " R"},
			[]string{" N", " ", "", "", ""}, "O P Q", 3},
		{"what began like a stop string and was not is shown", []string{"O P Q"}, []string{"O", " P", " R"},
			[]string{"", "", "O P R", ""}, "", 0},
		{"text before the stop in the same token is kept", []string{"\n"}, []string{"?\n"}, []string{"?", ""}, "\n", 1},
		{"the first of two stops wins", []string{"b", "a"}, []string{"xab"}, []string{"x", ""}, "a", 1},
		{"the longer of two at one place wins", []string{"ab", "abc"}, []string{"xabc"}, []string{"x", ""}, "abc", 1},
		{"an overlapping beginning is not lost", []string{"aab"}, []string{"a", "a", "a", "b"}, []string{"", "", "a", "", ""}, "aab", 1},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			s := newTextStream(r.stops)
			var shown []string
			var match *stopMatch
			for _, p := range r.pieces {
				show, m := s.add([]byte(p))
				shown = append(shown, string(show))
				if m != nil {
					match = m
					break
				}
			}
			shown = append(shown, string(s.flush()))
			if got, want := strings.Join(shown, "|"), strings.Join(r.shown, "|"); got != want {
				t.Errorf("shown %q, want %q", got, want)
			}
			switch {
			case match == nil && r.stop != "":
				t.Errorf("no stop, want %q", r.stop)
			case match != nil && (match.text != r.stop || match.offset != r.offset):
				t.Errorf("stop %q at %d, want %q at %d", match.text, match.offset, r.stop, r.offset)
			}
		})
	}
}

// Whatever the cuts between tokens, the pieces shown are the text before the
// stop string, and valid text is never cut inside a character.
func FuzzTextStreamIsIndependentOfTokenBorders(f *testing.F) {
	f.Add("The sun ☀ and the 🌧 came. STOP here", "STOP", uint64(0x5555))
	f.Add("aaaaab", "aab", uint64(1))
	f.Add("é\xc3", "é", uint64(7))
	f.Fuzz(func(t *testing.T, text, stop string, cuts uint64) {
		if stop == "" || len(text) > 64 {
			return
		}
		s := newTextStream([]string{stop})
		var shown []byte
		start, done := 0, false
		for i := 1; i <= len(text) && !done; i++ {
			if i < len(text) && cuts>>(i%64)&1 == 0 {
				continue
			}
			show, m := s.add([]byte(text[start:i]))
			if utf8.ValidString(text) && utf8.ValidString(stop) && !utf8.Valid(show) {
				t.Fatalf("a character was cut: %q", show)
			}
			shown, start, done = append(shown, show...), i, m != nil
		}
		shown = append(shown, s.flush()...)
		want, _, _ := strings.Cut(text, stop)
		if string(shown) != want {
			t.Fatalf("shown %q, want %q", shown, want)
		}
	})
}
