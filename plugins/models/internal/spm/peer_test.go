package spm

import (
	"slices"
	"testing"

	"lab/plugins/models/internal/token/tokentest"
)

// TestHardTextGetsSentencePiecesTokens compares with what testdata/peer.py
// stored: SentencePiece's tokens for a vocabulary of Gemma's kind, and
// llama.cpp's for bytes that SentencePiece replaces because they are not UTF-8.
func TestHardTextGetsSentencePiecesTokens(t *testing.T) {
	var peer struct {
		Pieces []string  `json:"pieces"`
		Scores []float32 `json:"scores"`
		Types  []Type    `json:"types"`
		Cases  []struct {
			Text          []byte  `json:"text_base64"`
			LlamaCPP      []int32 `json:"llama_cpp"`
			SentencePiece []int32 `json:"sentencepiece"` // where it is not the same
		} `json:"cases"`
	}
	if tokentest.ReadJSON(t, "testdata/peer.json", &peer); len(peer.Cases) < 60 {
		t.Fatalf("%d cases", len(peer.Cases))
	}
	tok := tokentest.New(t, New, Vocab{Pieces: peer.Pieces, Scores: peer.Scores, Types: peer.Types, BOS: 2, EOS: 1, Unknown: 3, AddBOS: true})
	for _, c := range peer.Cases {
		want := c.LlamaCPP
		if c.SentencePiece != nil {
			want = c.SentencePiece
		}
		got := tok.Encode(c.Text)
		if !slices.Equal(got, want) {
			t.Errorf("%q becomes %v (%q), want %v (%q)", c.Text, got, tokentest.Spell(tok, got), want, tokentest.Spell(tok, want))
		}
		tokentest.ComesBack(t, tok, c.Text, got)
	}
}
