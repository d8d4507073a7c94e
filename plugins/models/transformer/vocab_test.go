package transformer

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"lab/core/plugin/model"
)

// byteLevelTokens returns an edit that makes the tokenizer one of GPT-2's kind
// with n tokens: bytes, "th", "the", and special ones up to n.
func byteLevelTokens(n int) func(*ingredients) {
	var tokens []string
	var types []int32
	put := func(piece string, typ int32) { tokens, types = append(tokens, piece), append(types, typ) }
	next := rune(0x100)
	for b := range rune(256) {
		if b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE {
			put(string(b), 1)
			continue
		}
		put(string(next), 1)
		next++
	}
	put("th", 1)
	put("the", 1)
	put("<|begin|>", 3)
	put("<|end_of_text|>", 3)
	put("<|im_end|>", 4) // a converter's mistake: it is no text
	put("<tool>", 4)
	for len(tokens) < n {
		put("<|reserved_"+string(rune('a'+len(tokens)%26))+string(rune('a'+len(tokens)/26))+"|>", 3)
	}
	return func(m *ingredients) {
		drop("tokenizer.ggml.scores")(m)
		drop("tokenizer.ggml.unknown_token_id")(m)
		drop("tokenizer.ggml.add_bos_token")(m)
		for key, value := range map[string]any{
			"model": "gpt2", "pre": "llama-bpe", "tokens": tokens, "token_type": types, "merges": []string{"t h", "th e"},
			"bos_token_id": uint32(258), "eos_token_id": uint32(259),
		} {
			set("tokenizer.ggml."+key, value)(m)
		}
	}
}

// A file with a byte-level vocabulary opens, and its policies are kept.
func TestByteLevelVocabulariesAreRead(t *testing.T) {
	s := small()
	s.edit = byteLevelTokens(s.vocab)
	e, err := openBytes(t, s.bytes(t, 7))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	info := e.Info()
	if info.Begin != 258 || !slices.Equal(info.EndOfText, []int32{259, 260}) {
		t.Errorf("begin %d, end %v", info.Begin, info.EndOfText)
	}
	if !slices.Contains(info.Control, 260) || slices.Contains(info.Control, 261) {
		t.Errorf("control tokens are %v", info.Control)
	}
	ctx := context.Background()
	text := []byte("the <|im_end|>\xff<tool>")
	ids, err := e.Encode(ctx, text, model.EncodeOptions{Begin: true})
	if err != nil {
		t.Fatal(err)
	}
	if ids[0] != 258 || ids[1] != 257 || slices.Contains(ids, 260) || ids[len(ids)-1] != 261 {
		t.Errorf("%q becomes %v", text, ids)
	}
	if back, err := e.Decode(ctx, ids); err != nil || !bytes.Equal(back, text) {
		t.Errorf("%q comes back as %q, %v", text, back, err)
	}
	ids, err = e.Encode(ctx, []byte("the<|im_end|>"), model.EncodeOptions{Special: true})
	if err != nil || !slices.Equal(ids, []int32{257, 260}) {
		t.Errorf("read: %v, %v", ids, err)
	}
}

// A file with a unigram vocabulary opens; its text is encoded by scores alone.
func TestUnigramVocabulariesAreRead(t *testing.T) {
	s := small()
	s.edit = set("tokenizer.ggml.model", "t5")
	e, err := openBytes(t, s.bytes(t, 7))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	text := []byte("w1 w3\xff <s>")
	ids, err := e.Encode(context.Background(), text, model.EncodeOptions{Begin: true})
	if err != nil || ids[0] != 1 || ids[1] != 260 || ids[2] != 262 {
		t.Errorf("%q becomes %v, %v", text, ids, err)
	}
	if back, err := e.Decode(context.Background(), ids); err != nil || !bytes.Equal(back, text) {
		t.Errorf("%q comes back as %q, %v", text, back, err)
	}
}

// A unigram vocabulary may have its texts normalised; the tokens are those of the
// normalised text, and lab model info says so.
func TestUnigramTextsAreNormalisedAsTheFileSays(t *testing.T) {
	// Rules of a small map that SentencePiece compiled: "x" becomes a space, "abcd"
	// nothing.
	data, err := os.ReadFile("../internal/unigram/testdata/normal.json")
	if err != nil {
		t.Fatal(err)
	}
	var peer struct {
		Own struct {
			Charmap []byte `json:"charsmap"`
		} `json:"own"`
	}
	if err := json.Unmarshal(data, &peer); err != nil || len(peer.Own.Charmap) == 0 {
		t.Fatal(err)
	}
	s := small()
	s.edit = func(m *ingredients) {
		set("tokenizer.ggml.model", "t5")(m)
		set("tokenizer.ggml.precompiled_charsmap", peer.Own.Charmap)(m)
		set("tokenizer.ggml.remove_extra_whitespaces", true)(m)
	}
	e, err := openBytes(t, s.bytes(t, 7))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	text := []byte(" w1xabcdx \xff ")
	ids, err := e.Encode(context.Background(), text, model.EncodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if back, err := e.Decode(context.Background(), ids); err != nil || string(back) != "w1 \ufffd" {
		t.Errorf("%q comes back as %q, %v", text, back, err)
	}
	said := false
	for _, d := range e.Info().Details {
		said = said || d.Name == model.DetailTokenizer && strings.Contains(d.Value, "t5, texts are normalised")
	}
	if !said {
		t.Errorf("the details do not say so: %v", e.Info().Details)
	}
}
