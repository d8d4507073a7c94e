package bpe

import (
	"slices"
	"testing"

	"lab/plugins/models/internal/token"
	"lab/plugins/models/internal/token/tokentest"
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
	var p peerVocabulary
	if tokentest.ReadJSON(t, "testdata/peer.json", &p); len(p.Cases) < 100 {
		t.Fatalf("%d cases", len(p.Cases))
	}
	return p
}

func (p peerVocabulary) vocab(pre string) Vocab {
	begin := int32(slices.Index(p.Pieces, "<|endoftext|>"))
	return Vocab{Pieces: p.Pieces, Types: p.Types, Merges: p.Merges, Pre: pre, BOS: begin}
}

// The tokens are those of the tokenizers library, and of llama.cpp where the
// models' own files are not at hand.
func TestHardTextGetsTheOriginalTokens(t *testing.T) {
	p := readPeer(t)
	for _, m := range methods() {
		tok, seen := tokentest.New(t, New, p.vocab(m.names[0])), 0
		for _, c := range p.Cases {
			for _, want := range c.Tokens {
				if !slices.ContainsFunc(want.Pre, func(pre string) bool { return slices.Contains(m.names, pre) }) {
					continue
				}
				seen++
				got := tokentest.Encode(t, tok, []byte(c.Text))
				if !slices.Equal(got, want.IDs) {
					t.Errorf("%s: %q becomes %q, want %q", m.names[0], c.Text, tokentest.Spell(tok, got), tokentest.Spell(tok, want.IDs))
				}
				tokentest.ComesBack(t, tok, []byte(c.Text), got)
			}
		}
		if seen < len(p.Cases) {
			t.Errorf("%s: %d of %d texts have tokens to compare with", m.names[0], seen, len(p.Cases))
		}
	}
}
