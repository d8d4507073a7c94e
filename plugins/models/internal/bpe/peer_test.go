package bpe

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"lab/plugins/models/internal/token"
)

// peerVocabulary is what testdata/peer/peer.py stored: a small vocabulary whose
// merges cross every border of words, and the tokens of hard text for each
// pre-tokenizer.
type peerVocabulary struct {
	Pieces []string     `json:"pieces"`
	Types  []token.Type `json:"types"`
	Merges []string     `json:"merges"`
	Cases  []struct {
		Text   string `json:"text"`
		Tokens []struct {
			Pre []string `json:"pre"`
			IDs []int32  `json:"ids"`
		} `json:"tokens"`
	} `json:"cases"`
}

func readPeer(t testing.TB) peerVocabulary {
	t.Helper()
	data, err := os.ReadFile("testdata/peer.json")
	if err != nil {
		t.Fatal(err)
	}
	var p peerVocabulary
	if err := json.Unmarshal(data, &p); err != nil || len(p.Cases) < 100 {
		t.Fatalf("%d cases, %v", len(p.Cases), err)
	}
	return p
}

func (p peerVocabulary) vocab(pre string) Vocab {
	begin := int32(slices.Index(p.Pieces, "<|endoftext|>"))
	return Vocab{Pieces: p.Pieces, Types: p.Types, Merges: p.Merges, Pre: pre, BOS: begin}
}

func mustNew(t testing.TB, v Vocab) *Tokenizer {
	t.Helper()
	tok, err := New(v)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// spell writes tokens as the file spells them, for readable failures.
func spell(t *Tokenizer, ids []int32) string {
	var parts []string
	for _, id := range ids {
		parts = append(parts, fmt.Sprintf("%q", t.Spelling(id)))
	}
	return strings.Join(parts, " ")
}

func encode(t testing.TB, tok *Tokenizer, text string) []int32 {
	t.Helper()
	ids, err := tok.EncodePrompt([]byte(text), false, false)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// The tokens are those of the tokenizers library, and of llama.cpp where the
// models' own files are not at hand.
func TestHardTextGetsTheOriginalTokens(t *testing.T) {
	p := readPeer(t)
	for _, m := range methods() {
		tok, seen := mustNew(t, p.vocab(m.names[0])), 0
		for _, c := range p.Cases {
			for _, want := range c.Tokens {
				if !slices.ContainsFunc(want.Pre, func(pre string) bool { return slices.Contains(m.names, pre) }) {
					continue
				}
				seen++
				got := encode(t, tok, c.Text)
				if !slices.Equal(got, want.IDs) {
					t.Errorf("%s: %q becomes %s, want %s", m.names[0], c.Text, spell(tok, got), spell(tok, want.IDs))
				}
				if back, err := tok.Decode(got); err != nil || string(back) != c.Text {
					t.Errorf("%s: %q comes back as %q, %v", m.names[0], c.Text, back, err)
				}
			}
		}
		if seen < len(p.Cases) {
			t.Errorf("%s: %d of %d texts have tokens to compare with", m.names[0], seen, len(p.Cases))
		}
	}
}
