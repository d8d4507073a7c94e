//go:build vocabularies

package bpe

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lab/plugins/models/internal/token"
	"lab/plugins/models/internal/token/tokentest"
)

// Real vocabularies, too large and not ours to keep here: LAB_TEST_VOCABULARIES
// is a folder with, for each, NAME.json (a tokenizer.json of the tokenizers
// library) and NAME.peer.json (what testdata/peer/peer.py made of it).
func TestVocabularies(t *testing.T) {
	peers, err := filepath.Glob(filepath.Join(os.Getenv("LAB_TEST_VOCABULARIES"), "*.peer.json"))
	if err != nil || len(peers) == 0 {
		t.Fatalf("no *.peer.json in LAB_TEST_VOCABULARIES, %v", err)
	}
	for _, path := range peers {
		name := strings.TrimSuffix(filepath.Base(path), ".peer.json")
		t.Run(name, func(t *testing.T) {
			var peer struct {
				Pre   string `json:"pre"`
				Cases []struct {
					Text string  `json:"text"`
					IDs  []int32 `json:"ids"`
				} `json:"cases"`
			}
			tokentest.ReadJSON(t, path, &peer)
			tok := tokentest.New(t, New, readLibrary(t, strings.TrimSuffix(path, ".peer.json")+".json", peer.Pre))
			tokens := 0
			for _, c := range peer.Cases {
				got := tokentest.Encode(t, tok, []byte(c.Text))
				tokens += len(got)
				if !slices.Equal(got, c.IDs) {
					t.Errorf("%q becomes %q, want %q", c.Text, tokentest.Spell(tok, got), tokentest.Spell(tok, c.IDs))
				}
				tokentest.ComesBack(t, tok, []byte(c.Text), got)
			}
			t.Logf("%s: %d tokens, %d texts, %d tokens of text", peer.Pre, tok.Size(), len(peer.Cases), tokens)
		})
	}
}

// readLibrary reads a tokenizer.json as the converters to GGUF do.
func readLibrary(t *testing.T, path, pre string) Vocab {
	var file struct {
		Added []struct {
			ID      int32  `json:"id"`
			Content string `json:"content"`
			Special bool   `json:"special"`
		} `json:"added_tokens"`
		Model struct {
			Vocab  map[string]int32  `json:"vocab"`
			Merges []json.RawMessage `json:"merges"`
		} `json:"model"`
	}
	tokentest.ReadJSON(t, path, &file)
	size := int32(0)
	for _, id := range file.Model.Vocab {
		size = max(size, id+1)
	}
	for _, a := range file.Added {
		size = max(size, a.ID+1)
	}
	v := Vocab{Pieces: make([]string, size), Types: slices.Repeat([]token.Type{token.Unused}, int(size)), Pre: pre, BOS: -1}
	for id := range v.Pieces {
		v.Pieces[id] = "[PAD" + string(rune(0xE000+id)) + "]"
	}
	for piece, id := range file.Model.Vocab {
		v.Pieces[id], v.Types[id] = piece, token.Normal
	}
	for _, a := range file.Added {
		v.Pieces[a.ID], v.Types[a.ID] = a.Content, token.UserDefined
		if a.Special {
			v.Types[a.ID] = token.Control
		}
	}
	for _, raw := range file.Model.Merges {
		var both []string
		var line string
		if json.Unmarshal(raw, &both) == nil && len(both) == 2 {
			line = both[0] + " " + both[1]
		} else if err := json.Unmarshal(raw, &line); err != nil {
			t.Fatal(err)
		}
		v.Merges = append(v.Merges, line)
	}
	return v
}
