package models_test

import (
	"bytes"
	"context"
	"os"
	"testing"

	"lab/core/plugin/model"
	"lab/core/plugin/param"
	"lab/plugins/models/grammar"
	"lab/plugins/models/internal/gguf"
	"lab/plugins/models/transformer"
)

const weights = "transformer/tiny.gguf"

// The embedded weights are at most 4 MiB, and were trained on the grammar as it
// stands: whoever changes the grammar trains again.
func TestTinyBelongsToTheGrammar(t *testing.T) {
	info, err := os.Stat(weights)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 4<<20 {
		t.Errorf("%s has %d bytes, more than 4 MiB", weights, info.Size())
	}
	f, err := gguf.Open(weights)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, _, err := f.Text("lab.grammar.sha256"); err != nil || got != grammar.EnglishDigest() {
		t.Errorf("tiny was trained on grammar %s (%v), the committed one is %s; run make train-tiny", got, err, grammar.EnglishDigest())
	}
}

// tiny and the grammar speak about the same tokens.
func TestTinyAndGrammarShareTheirTokens(t *testing.T) {
	ctx := context.Background()
	var pieces [2][][]byte
	for i, b := range []model.Backend{transformer.Tiny(), grammar.New()} {
		d := b.Declare()
		set, err := d.Params.Resolve("test", d.Name, []param.Setting(nil))
		if err != nil {
			t.Fatal(err)
		}
		m, err := b.Open(ctx, d.Name, set)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		if pieces[i], err = m.Pieces(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if len(pieces[0]) != len(pieces[1]) {
		t.Fatalf("vocabularies of %d and %d tokens", len(pieces[0]), len(pieces[1]))
	}
	for id := range pieces[0] {
		if !bytes.Equal(pieces[0][id], pieces[1][id]) {
			t.Errorf("token %d is %q and %q", id, pieces[0][id], pieces[1][id])
		}
	}
}
