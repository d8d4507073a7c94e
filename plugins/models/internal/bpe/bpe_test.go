package bpe

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"lab/core/fault"
	"lab/plugins/models/internal/token"
	"lab/plugins/models/internal/token/tokentest"
)

// inAlphabet spells bytes in the alphabet of GPT-2.
func inAlphabet(text string) string {
	spelled := [256]rune{}
	for r, b := range newAlphabet().bytes {
		spelled[b] = r
	}
	var b strings.Builder
	for _, c := range []byte(text) {
		b.WriteRune(spelled[c])
	}
	return b.String()
}

// withMerges returns a vocabulary of all bytes, "<s>" and the products of the
// given merges, which are written as plain text with a "|" between.
func withMerges(pre string, merges ...string) Vocab {
	v := Vocab{Pre: pre, BOS: 256, AddBOS: true}
	for b := range 256 {
		v.Pieces = append(v.Pieces, inAlphabet(string([]byte{byte(b)})))
	}
	v.Pieces = append(v.Pieces, "<s>")
	v.Types = append(slices.Repeat([]token.Type{token.Normal}, 256), token.Control)
	for _, m := range merges {
		left, right, _ := strings.Cut(m, "|")
		if piece := inAlphabet(left + right); !slices.Contains(v.Pieces, piece) {
			v.Pieces, v.Types = append(v.Pieces, piece), append(v.Types, token.Normal)
		}
		v.Merges = append(v.Merges, inAlphabet(left)+" "+inAlphabet(right))
	}
	return v
}

func put(v Vocab, piece string, typ token.Type) Vocab {
	v.Pieces, v.Types = append(slices.Clone(v.Pieces), piece), append(slices.Clone(v.Types), typ)
	return v
}

func TestEncode(t *testing.T) {
	plain := tokentest.New(t, New, withMerges("gpt-2", "a|b", "b|c", "ab|c", "d|d", " |a", "é|é", "\xc3|\xa9"))
	whole := tokentest.New(t, New, put(withMerges("llama-bpe", "a|b"), "wxyz", token.Normal))
	user := tokentest.New(t, New, put(put(withMerges("gpt-2", "a|b", "b|<"), "<é ü>", token.UserDefined), "<é", token.UserDefined))
	rows := []struct {
		name string
		tok  *Tokenizer
		text string
		want string
	}{
		{"the empty text has no tokens", plain, "", ""},
		{"the best merge comes first", plain, "abc", "abc"},
		{"a worse merge is left when its half is taken", plain, "xabcabx", "x abc ab x"},
		{"the leftmost of equal merges comes first", plain, "ddd", "dd d"},
		{"merges stay inside words", plain, "a b", "a Ġ b"},
		{"a space belongs to the word behind it", plain, "x ab", "x Ġ ab"},
		{"characters are made of bytes", plain, "éë", "Ã© Ã «"},
		{"bytes that are not UTF-8 have tokens", plain, "\xff\xc3(", "ÿ Ã ("},
		{"a control token typed by a user is text", plain, "<s>", "< s >"},
		{"a whole word that is a token needs no merges", whole, "wxyz", "wxyz"},
		{"but part of a word does", whole, "wxyzz", "w x y z z"},
		{"a user-defined token is taken as it stands", user, "ab<é ü>b", "ab <é ü> b"},
		{"the longest that starts at a place", user, "<é ü<é", "<é Ġ Ã ¼ <é"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			ids := tokentest.Encode(t, r.tok, []byte(r.text))
			if got := tokentest.Spell(r.tok, ids); got != r.want {
				t.Errorf("got %q, want %q", got, r.want)
			}
			tokentest.ComesBack(t, r.tok, []byte(r.text), ids)
		})
	}
}

func TestBadVocabulariesAreRefused(t *testing.T) {
	with := func(change func(*Vocab)) Vocab {
		v := withMerges("gpt-2", "a|b", "ab|c")
		change(&v)
		return v
	}
	rows := []struct {
		name string
		v    Vocab
		want string
	}{
		{"empty", Vocab{Pre: "gpt-2"}, "empty"},
		{"too few types", with(func(v *Vocab) { v.Types = v.Types[1:] }), "types"},
		{"a duplicate piece", with(func(v *Vocab) { v.Pieces[258] = "a" }), `piece "a" is both token 97 and token 258`},
		{"an empty piece", with(func(v *Vocab) { v.Pieces[258] = "" }), "is empty"},
		{"a huge piece", with(func(v *Vocab) { v.Pieces[258] = strings.Repeat("x", token.MaxPieceBytes+1) }), "the most is"},
		{"a byte token", with(func(v *Vocab) { v.Types[258] = token.Byte }), "byte token"},
		{"a type out of range", with(func(v *Vocab) { v.Types[258] = 9 }), "type 9"},
		{"BOS out of range", with(func(v *Vocab) { v.BOS = 1000 }), "outside"},
		{"BOS that is text", with(func(v *Vocab) { v.BOS = 1 }), "not control"},
		{"BOS wanted but absent", with(func(v *Vocab) { v.BOS = -1 }), "BOS"},
		{"no merges", with(func(v *Vocab) { v.Merges = nil }), "no merges"},
		{"a merge of one piece", with(func(v *Vocab) { v.Merges[0] = "ab" }), `merge 0 ("ab"): it is not two pieces`},
		{"a merge of three pieces", with(func(v *Vocab) { v.Merges[0] = "a b c" }), "not two pieces"},
		{"a merge of nothing", with(func(v *Vocab) { v.Merges[0] = " b" }), "not two pieces"},
		{"a merge of unknown pieces", with(func(v *Vocab) { v.Merges[1] = "a zz" }), "as tokens of the vocabulary"},
		{"a merge into an unknown piece", with(func(v *Vocab) { v.Merges[1] = "b a" }), "as tokens of the vocabulary"},
		{"a merge into a control token", with(func(v *Vocab) { v.Types[258] = token.Control }), "as tokens of the vocabulary"},
		{"a merge twice", with(func(v *Vocab) { v.Merges[1] = v.Merges[0] }), "it is merge 0 already"},
		{"an unknown pre-tokenizer", with(func(v *Vocab) { v.Pre = "gpt2" }), "known: a.x-4.0, bloom, codeshell"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			_, err := New(r.v)
			kind := fault.Data
			if r.name == "a byte token" || r.name == "an unknown pre-tokenizer" {
				kind = fault.Model
			}
			if err == nil || !strings.Contains(err.Error(), r.want) || fault.KindOf(err) != kind {
				t.Errorf("got %v, want a %v error with %q", err, kind, r.want)
			}
		})
	}
}

// A byte without a token is no reason to refuse a model, for none may ever come
// up; a text with it is refused.
func TestAByteWithoutATokenIsAnError(t *testing.T) {
	v := withMerges("gpt-2", "a|b")
	v.Pieces[0xC0] = "[no byte]"
	tok := tokentest.New(t, New, v)
	if _, err := tok.EncodePrompt([]byte("a\xc0"), false, false); fault.KindOf(err) != fault.Data || !strings.Contains(err.Error(), "byte 0xC0") {
		t.Errorf("got %v", err)
	}
	if ids := tokentest.Encode(t, tok, []byte("ab\xc1")); len(ids) != 2 {
		t.Errorf("got %v", ids)
	}
}

// Names are distinct, and every pattern compiles and loses nothing.
func TestPreTokenizersAreKnownByOneName(t *testing.T) {
	names := Names()
	if len(slices.Compact(slices.Clone(names))) != len(names) || len(names) < 30 {
		t.Errorf("%d names, some twice: %v", len(names), names)
	}
	if !BeginsTexts("llama3") || BeginsTexts("gpt-2") || BeginsTexts("none such") {
		t.Error("texts of Llama 3 begin with BOS, those of GPT-2 do not")
	}
}

// slowWord is the rule word for word: look at all neighbours, merge the best,
// start again.
func slowWord(t *Tokenizer, word []byte) []int32 {
	if id, ok := t.words[string(word)]; ok {
		return []int32{id}
	}
	var list []int32
	for _, b := range word {
		list = append(list, t.bytes[b])
	}
	for {
		best, at := merge{}, -1
		for i := 0; i+1 < len(list); i++ {
			if m, ok := t.merges[pair{list[i], list[i+1]}]; ok && (at < 0 || m.rank < best.rank) {
				best, at = m, i
			}
		}
		if at < 0 {
			return list
		}
		list[at] = best.token
		list = slices.Delete(list, at+1, at+2)
	}
}

func FuzzEncode(f *testing.F) {
	for i, s := range []string{"", " ", "  the  the", "hello don't", "\n\t\x00", "café \xff\xfe", "<s><|im_end|>", "aaaaaaa", "\r\n  x", "12345",
		"\xe2\x96", "สวัสดี", "    <tool_call>", "Ⅷ½\u3000x", "\xf0\x9f\x98 x", "\xed\xa0\x80"} {
		f.Add([]byte(s), uint8(i))
	}
	p := readPeer(f)
	var all []*Tokenizer
	for _, m := range methods() {
		all = append(all, tokentest.New(f, New, p.vocab(m.names[0])))
	}
	f.Fuzz(func(t *testing.T, text []byte, which uint8) {
		if len(text) > 500 {
			return
		}
		tok := all[int(which)%len(all)]
		ids, err := tok.EncodePrompt(text, false, false)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := tok.Decode(ids); err != nil || !bytes.Equal(back, text) {
			t.Fatalf("decoded %q, %v; want %q", back, err, text)
		}
		var want []int32
		rest := text
		for len(rest) > 0 {
			at, id, n := tok.user.Find(rest)
			if err := tok.split.words(rest[:at], func(word []byte) error {
				want = append(want, slowWord(tok, word)...)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if n > 0 {
				want = append(want, id)
			}
			rest = rest[at+n:]
		}
		if !slices.Equal(ids, want) {
			t.Fatalf("encoded %q as %v, the rule gives %v", text, ids, want)
		}
		for _, id := range ids {
			if p.Types[id].Silent() {
				t.Fatalf("%q contains the silent token %d", text, id)
			}
		}
	})
}

// A quadratic encoder needs many minutes for a megabyte of one word.
func TestLongTextsEncode(t *testing.T) {
	p := readPeer(t)
	check := func(pre, unit string, size int) {
		tok := tokentest.New(t, New, p.vocab(pre))
		text := bytes.Repeat([]byte(unit), size/len(unit))
		tokentest.ComesBack(t, tok, text, tokentest.Encode(t, tok, text))
	}
	for _, m := range methods() {
		for _, unit := range []string{"a", "A", " ", "\n", "1", "ส", "e\u0301", "=", " \n", "ab", "\xff", "'", "a "} {
			check(m.names[0], unit, 1<<14)
		}
	}
	for _, unit := range []string{"a", "A", " ", "\r", "ส"} {
		check("gpt-4o", unit, 1<<20)
	}
}

func BenchmarkEncode(b *testing.B) {
	tok := tokentest.New(b, New, readPeer(b).vocab("llama-bpe"))
	text := bytes.Repeat([]byte("The weather today is cold, and I don't know why.\n"), 200)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := tok.EncodePrompt(text, false, false); err != nil {
			b.Fatal(err)
		}
	}
}
