package generate

import (
	"bytes"
	"unicode/utf8"
)

// textStream turns the bytes of tokens into text as it may be shown: it never
// ends in the middle of a character and never shows the beginning of what may
// become a stop string. What it releases, put together, is exactly the bytes
// before the stop string, or all bytes when there was none.
type textStream struct {
	stops    [][]byte
	longest  int
	raw      []byte // everything so far, up to the stop string
	released int
}

// stopMatch is a stop string that was found and where it begins in the text.
type stopMatch struct {
	text   string
	offset int
}

func newTextStream(stops []string) *textStream {
	t := &textStream{}
	for _, s := range stops {
		t.stops = append(t.stops, []byte(s))
		t.longest = max(t.longest, len(s))
	}
	return t
}

// add appends the bytes of one token and returns what may be shown now. When
// stop strings end within this token, the one that begins first wins, the
// longer one on ties; the stream is then closed and holds nothing back.
func (t *textStream) add(piece []byte) (show []byte, match *stopMatch) {
	from := max(0, len(t.raw)-t.longest+1)
	t.raw = append(t.raw, piece...)
	for _, s := range t.stops {
		i := bytes.Index(t.raw[from:], s)
		if i < 0 {
			continue
		}
		i += from
		if match == nil || i < match.offset || i == match.offset && len(s) > len(match.text) {
			match = &stopMatch{text: string(s), offset: i}
		}
	}
	if match != nil {
		t.raw = t.raw[:match.offset]
		return t.flush(), match
	}
	return t.release(len(t.raw) - t.held()), nil
}

// flush releases everything, an incomplete character included.
func (t *textStream) flush() []byte { return t.release(len(t.raw)) }

func (t *textStream) release(end int) []byte {
	if end <= t.released {
		return nil
	}
	show := t.raw[t.released:end]
	t.released = end
	return show
}

// held returns how many of the last bytes cannot be shown yet.
func (t *textStream) held() int {
	hold := 0
	for _, s := range t.stops {
		for n := min(len(s)-1, len(t.raw)); n > hold; n-- {
			if bytes.HasSuffix(t.raw, s[:n]) {
				hold = n
				break
			}
		}
	}
	rest := t.raw[:len(t.raw)-hold]
	for n := 1; n < utf8.UTFMax && n <= len(rest); n++ {
		tail := rest[len(rest)-n:]
		if utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				hold += n
			}
			break
		}
	}
	return hold
}
