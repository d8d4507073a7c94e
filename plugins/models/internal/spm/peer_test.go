package spm

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
)

// TestHardTextGetsSentencePiecesTokens compares with what testdata/peer.py
// stored: SentencePiece's tokens for a vocabulary of Gemma's kind, and
// llama.cpp's for bytes that SentencePiece replaces because they are not UTF-8.
func TestHardTextGetsSentencePiecesTokens(t *testing.T) {
	data, err := os.ReadFile("testdata/peer.json")
	if err != nil {
		t.Fatal(err)
	}
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
	if err := json.Unmarshal(data, &peer); err != nil || len(peer.Cases) < 60 {
		t.Fatalf("%d cases, %v", len(peer.Cases), err)
	}
	tok := mustNew(t, Vocab{Pieces: peer.Pieces, Scores: peer.Scores, Types: peer.Types, BOS: 2, EOS: 1, Unknown: 3, AddBOS: true})
	for _, c := range peer.Cases {
		want := c.LlamaCPP
		if c.SentencePiece != nil {
			want = c.SentencePiece
		}
		got := tok.Encode(c.Text)
		if !slices.Equal(got, want) {
			t.Errorf("%q becomes %v (%s), want %v (%s)", c.Text, got, written(tok, got), want, written(tok, want))
		}
		if back, err := tok.Decode(got); err != nil || string(back) != string(c.Text) {
			t.Errorf("%q comes back as %q, %v", c.Text, back, err)
		}
	}
}
