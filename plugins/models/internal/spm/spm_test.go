package spm

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"lab/core/fault"
	"lab/plugins/models/internal/token/tokentest"
)

// withBytes returns a vocabulary of <unk>, <s>, </s>, the 256 byte tokens and
// the given pieces, in that order, with falling scores.
func withBytes(pieces ...string) Vocab {
	v := Vocab{BOS: 1, EOS: 2, Unknown: 0, AddBOS: true, AddSpacePrefix: true}
	put := func(p string, score float32, typ Type) {
		v.Pieces, v.Scores, v.Types = append(v.Pieces, p), append(v.Scores, score), append(v.Types, typ)
	}
	put("<unk>", 0, Unknown)
	put("<s>", 0, Control)
	put("</s>", 0, Control)
	for b := range 256 {
		put(fmt.Sprintf("<0x%02X>", b), 0, Byte)
	}
	for i, p := range pieces {
		put(p, -float32(i), Normal)
	}
	return v
}

func TestEncode(t *testing.T) {
	tok := tokentest.New(t, New, withBytes("he", "▁t", "▁the", "ll", "hell", "o", "t", "h", "e", "▁", "l", "é", "a", "aa", "<", "s", ">", "<s"))
	v := withBytes("ab", "abc", "a", "b", "c", "d", "cd")
	v.Types[slices.Index(v.Pieces, "ab")] = Unused
	v.Types[slices.Index(v.Pieces, "abc")] = Unused
	unused := tokentest.New(t, New, v)
	v = withBytes("a", "b", "ab", "▁", "b▁b", "ba")
	v.Types[slices.Index(v.Pieces, "b▁b")] = UserDefined
	v.Types[slices.Index(v.Pieces, "ba")] = UserDefined
	user := tokentest.New(t, New, v)
	rows := []struct {
		name string
		tok  *Tokenizer
		text string
		want string
	}{
		{"the empty text has no tokens", tok, "", ""},
		{"a space alone keeps its own space", tok, " ", "▁ ▁"},
		{"a text is given a space", tok, "the", "▁the"},
		{"a text that starts with a space has two", tok, " the", "▁ ▁the"},
		{"the highest score merges first", tok, "hell", "▁ hell"},
		{"the leftmost of equal pairs merges first", tok, "aaa", "▁ aa a"},
		{"a character that is no piece becomes bytes", tok, "ñe", "▁ <0xC3> <0xB1> e"},
		{"a character outside ASCII can be a piece", tok, "é", "▁ é"},
		{"a byte that is not UTF-8 becomes a byte token", tok, "\xffe", "▁ <0xFF> e"},
		{"a cut character becomes byte tokens", tok, "\xe2\x96", "▁ <0xE2> <0x96>"},
		{"a literal space sign is not a space", tok, "▁the", "▁ <0xE2> <0x96> <0x81> t he"},
		{"a control token typed by a user is text", tok, "<s>", "▁ <s >"},
		{"a newline without a piece is a byte", tok, "\nhe", "▁ <0x0A> he"},
		{"an unused piece still beats a worse merge", unused, "abcd", "<0x20> a b c d"},
		{"an unused piece is split into what made it", unused, "abc", "<0x20> a b c"},
		{"a user-defined piece is matched before merging", user, "ab ba", "▁ a b▁b a"},
		{"the leftmost user-defined piece wins", user, "baba", "▁ ba ba"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			ids := r.tok.Encode([]byte(r.text))
			if got := tokentest.Spell(r.tok, ids); got != r.want {
				t.Errorf("got %q, want %q", got, r.want)
			}
			tokentest.ComesBack(t, r.tok, []byte(r.text), ids)
		})
	}
}

// slowEncode is the rule word for word: look at all neighbours, merge the best,
// start again.
func slowEncode(t *Tokenizer, text []byte) []int32 {
	m := &merger{t: t}
	if len(text) == 0 {
		return []int32{}
	}
	m.start(text)
	type piece struct {
		s      string
		frozen bool
	}
	var list []piece
	for _, s := range m.syms {
		list = append(list, piece{m.text[s.start:s.end], s.token != loose})
	}
	for {
		best, bestScore := -1, float32(0)
		for i := 0; i+1 < len(list); i++ {
			if list[i].frozen || list[i+1].frozen {
				continue
			}
			if id, ok := t.mergeable(list[i].s + list[i+1].s); ok && (best < 0 || t.vocab.Scores[id] > bestScore) {
				best, bestScore = i, t.vocab.Scores[id]
			}
		}
		if best < 0 {
			break
		}
		list[best].s += list[best+1].s
		list = slices.Delete(list, best+1, best+2)
	}
	out := []int32{}
	for _, p := range list {
		if id, ok := t.mergeable(p.s); ok && !p.frozen {
			out = append(out, id)
			continue
		}
		s := p.s
		if s == Space && !p.frozen {
			s = " "
		}
		for _, b := range []byte(s) {
			out = append(out, t.bytes[b])
		}
	}
	return out
}

func FuzzEncode(f *testing.F) {
	for _, s := range []string{"", " ", "  the  the", "hello hell", "\n\t\x00", "café ▁ \xff\xfe", "<s></s><0x41>", "aaaaaaa", "the\xe2\x96"} {
		f.Add([]byte(s))
	}
	tok := tokentest.New(f, New, withBytes("he", "▁t", "▁the", "ll", "hell", "o", "t", "h", "e", "▁", "l", "é", "a", "aa", "aaa", "▁▁", "th", "lo", "<", "s"))
	v := tok.Vocab()
	v.AddSpacePrefix = false
	bare := tokentest.New(f, New, v)
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 500 {
			return
		}
		for _, tok := range []*Tokenizer{tok, bare} {
			ids := tok.Encode(text)
			back, err := tok.Decode(ids)
			if err != nil || !bytes.Equal(back, text) {
				t.Fatalf("decoded %q, %v; want %q", back, err, text)
			}
			if want := slowEncode(tok, text); !slices.Equal(ids, want) {
				t.Fatalf("encoded %q as %v, the rule gives %v", text, ids, want)
			}
			for _, id := range ids {
				if typ := tok.vocab.Types[id]; typ == Control || typ == Unknown {
					t.Fatalf("%q contains the %v token %d", text, typ, id)
				}
			}
		}
	})
}

func TestBadVocabulariesAreRefused(t *testing.T) {
	with := func(change func(*Vocab)) Vocab {
		v := withBytes("a", "b")
		change(&v)
		return v
	}
	rows := []struct {
		name string
		v    Vocab
		want string
	}{
		{"empty", Vocab{}, "empty"},
		{"too few scores", with(func(v *Vocab) { v.Scores = v.Scores[1:] }), "scores"},
		{"too few types", with(func(v *Vocab) { v.Types = v.Types[1:] }), "types"},
		{"a duplicate piece", with(func(v *Vocab) { v.Pieces[260] = "a" }), "both token 259 and token 260"},
		{"a byte token missing", with(func(v *Vocab) { v.Pieces[3+0x41] = "q"; v.Types[3+0x41] = Normal }), "no byte token <0x41>"},
		{"a byte token misspelt", with(func(v *Vocab) { v.Pieces[3+0xAB] = "<0xab>" }), "<0xHH>"},
		{"a type out of range", with(func(v *Vocab) { v.Types[259] = 9 }), "type 9"},
		{"an empty piece", with(func(v *Vocab) { v.Pieces[259] = "" }), "empty"},
		{"a piece that is not UTF-8", with(func(v *Vocab) { v.Pieces[259] = "\xff" }), "not UTF-8"},
		{"a huge piece", with(func(v *Vocab) { v.Pieces[259] = strings.Repeat("x", maxPieceBytes+1) }), "the most is"},
		{"BOS out of range", with(func(v *Vocab) { v.BOS = 1000 }), "outside"},
		{"EOS below -1", with(func(v *Vocab) { v.EOS = -2 }), "outside"},
		{"BOS that is no control token", with(func(v *Vocab) { v.BOS = 259 }), "not control"},
		{"user-defined pieces alike but for the space sign", with(func(v *Vocab) {
			v.Pieces[259], v.Pieces[260] = "x y", "x▁y"
			v.Types[259], v.Types[260] = UserDefined, UserDefined
		}), "match the same text"},
		{"an unknown token that is a piece", with(func(v *Vocab) { v.Unknown = 259 }), "not unknown"},
		{"BOS wanted but absent", with(func(v *Vocab) { v.BOS = -1 }), "BOS"},
		{"an infinite score", with(func(v *Vocab) { v.Scores[259] = float32(inf()) }), "score"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			_, err := New(r.v)
			if err == nil || !strings.Contains(err.Error(), r.want) || fault.KindOf(err) != fault.Data {
				t.Errorf("got %v, want a data error with %q", err, r.want)
			}
		})
	}
}

func inf() float64 { zero := 0.0; return 1 / zero }

func TestPiecesOfBadIdsAreErrors(t *testing.T) {
	tok := tokentest.New(t, New, withBytes("a"))
	for _, id := range []int32{-1, int32(tok.Size())} {
		if _, err := tok.Piece(id); err == nil {
			t.Errorf("Piece(%d) gave no error", id)
		}
		if _, err := tok.Decode([]int32{id}); err == nil {
			t.Errorf("Decode(%d) gave no error", id)
		}
	}
	if p, err := tok.Piece(1); err != nil || len(p) != 0 {
		t.Errorf("BOS prints %q, %v", p, err)
	}
}

func TestVocabIsACopy(t *testing.T) {
	v := withBytes("a")
	tok := tokentest.New(t, New, v)
	v.Pieces[259] = "z"
	tok.Vocab().Pieces[259] = "y"
	if got := tok.Vocab().Pieces[259]; got != "a" {
		t.Errorf("the vocabulary changed to %q", got)
	}
}

// A quadratic encoder needs minutes for a megabyte of one word.
func TestLongTextsEncode(t *testing.T) {
	tok := tokentest.New(t, New, withBytes("a", "aa", "aaaa", "aaaaaaaa", "▁"))
	text := bytes.Repeat([]byte("a"), 1<<20)
	ids := tok.Encode(text)
	back, err := tok.Decode(ids)
	if err != nil || !bytes.Equal(back, text) {
		t.Fatalf("the round trip failed: %v", err)
	}
	if want := 1 + 1<<17; len(ids) != want {
		t.Errorf("%d tokens, want %d", len(ids), want)
	}
}

func BenchmarkEncode(b *testing.B) {
	tok := tokentest.New(b, New, withBytes("he", "▁t", "▁the", "ll", "hell", "o", "t", "h", "e", "▁", "l"))
	text := bytes.Repeat([]byte("the hell the "), 400)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		tok.Encode(text)
	}
}
