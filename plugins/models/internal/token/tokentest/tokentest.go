// Package tokentest is what the tests of tokenizers have in common. It knows
// tokenizers by what they do, so that the tests of package token may use it as
// well. Only tests import it. Start with [Encode] and [ComesBack].
package tokentest

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// Tokenizer is what is tested.
type Tokenizer interface {
	EncodePrompt(text []byte, begin, special bool) ([]int32, error)
	Decode(ids []int32) ([]byte, error)
	Spelling(id int32) string
}

// New returns the tokenizer that open makes of a vocabulary; an error ends the test.
func New[V, T any](t testing.TB, open func(V) (T, error), v V) T {
	t.Helper()
	tok, err := open(v)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// ReadJSON fills a value from a file, or ends the test.
func ReadJSON(t testing.TB, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// Encode returns the tokens of a plain text; an error ends the test.
func Encode(t testing.TB, tok Tokenizer, text []byte) []int32 {
	t.Helper()
	ids, err := tok.EncodePrompt(text, false, false)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return ids
}

// Spell writes tokens as the file spells them, a blank between two.
func Spell(tok Tokenizer, ids []int32) string {
	var b strings.Builder
	for i, id := range ids {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(tok.Spelling(id))
	}
	return b.String()
}

// ComesBack fails when tokens do not decode to a text.
func ComesBack(t testing.TB, tok Tokenizer, text []byte, ids []int32) {
	t.Helper()
	back, err := tok.Decode(ids)
	switch {
	case err != nil || len(text) <= 200 && string(back) != string(text):
		t.Errorf("%.200q comes back as %.200q, %v", text, back, err)
	case string(back) != string(text):
		t.Errorf("%.200q… of %d bytes comes back as %d other bytes", text, len(text), len(back))
	}
}
