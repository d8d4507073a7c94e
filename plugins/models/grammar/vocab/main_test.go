package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lab/core/fault"
	"lab/plugins/models/grammar"
	"lab/plugins/models/internal/spm"
)

const englishFile = "../english.pcfg"

func TestWords(t *testing.T) {
	rows := []struct {
		name, text string
		want       []string
	}{
		{"words take the space before", " The dog", []string{"▁The", "▁dog"}},
		{"marks stand alone", " a, b.", []string{"▁a", ",", "▁b", "."}},
		{"apostrophes inside a word", " Anna's don't 'x", []string{"▁Anna's", "▁don't", "▁'", "x"}},
		{"a quotation mark takes its space", ` said, "I`, []string{"▁said", ",", `▁"`, "I"}},
		{"a line break stands alone", " a\nb", []string{"▁a", "\n", "b"}},
		{"letters of every script", " crème brûlée", []string{"▁crème", "▁brûlée"}},
		{"a space without a word", "  a ", []string{"▁", "▁a", "▁"}},
		{"nothing", "", nil},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			got := words(r.text)
			if !slices.Equal(got, r.want) {
				t.Errorf("got %q, want %q", got, r.want)
			}
			if plain(strings.Join(got, "")) != r.text {
				t.Errorf("the words do not join to the text")
			}
		})
	}
}

func TestTrainMergesTheMostFrequentPairFirst(t *testing.T) {
	counts := map[string]int{"▁ab": 10, "▁abc": 5, "▁cd": 20}
	v, err := train(counts, len(bare().Pieces)+5+4)
	if err != nil {
		t.Fatal(err)
	}
	// 20 × "cd" and "▁c"; of equals the pair that sorts first, then what is left.
	want := []string{"cd", "▁cd", "ab", "▁ab", "a", "b", "c", "d", "▁"}
	if got := v.Pieces[len(bare().Pieces):]; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if !slices.IsSortedFunc(v.Scores[len(bare().Pieces):], func(a, b float32) int {
		if a > b {
			return -1
		}
		return 1
	}) {
		t.Errorf("the scores do not fall: %v", v.Scores[len(bare().Pieces):])
	}
	if _, err := train(counts, len(bare().Pieces)+2); err == nil {
		t.Error("a vocabulary too small for its characters is built")
	}
	all, err := train(counts, 10000)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := spm.New(all)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []string{"ab", "abc", "cd"} {
		if ids := tok.Encode([]byte(w)); len(ids) != 1 {
			t.Errorf("%q is %d tokens where there is room for all words", w, len(ids))
		}
	}
}

// The committed vocabulary was built by this command from the grammar; small
// corrections of the grammar's text since then leave it as it is, so that
// models keep their tokens. What the command builds today must agree with it
// nearly everywhere.
func TestCommittedVocabularyComesFromThisCommand(t *testing.T) {
	text, err := os.ReadFile(englishFile)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile("../vocab.json")
	if err != nil {
		t.Fatal(err)
	}
	committed, err := grammar.ReadVocabulary("vocab.json", file)
	if err != nil {
		t.Fatal(err)
	}
	var s settings
	flags(&s, io.Discard)
	built, report, err := build(filepath.Base(englishFile), text, s)
	if err != nil {
		t.Fatal(err)
	}
	now, err := grammar.ReadVocabulary("built", built)
	if err != nil {
		t.Fatal(err)
	}
	if len(now.Pieces) != len(committed.Pieces) || now.BOS != committed.BOS || now.EOS != committed.EOS || now.Unknown != committed.Unknown ||
		now.AddBOS != committed.AddBOS || now.AddSpacePrefix != committed.AddSpacePrefix {
		t.Errorf("the frame differs: %d tokens now, %d committed", len(now.Pieces), len(committed.Pieces))
	}
	missing := 0
	for _, p := range committed.Pieces {
		if !slices.Contains(now.Pieces, p) {
			missing++
		}
	}
	if missing > len(committed.Pieces)/50 {
		t.Errorf("%d of the %d committed pieces are not built today (%s)", missing, len(committed.Pieces), report)
	}
	s.documents = 3000
	counts, err := count(filepath.Base(englishFile), text, s)
	if err != nil {
		t.Fatal(err)
	}
	share, report, err := fit(committed, counts)
	if err != nil {
		t.Fatal(err)
	}
	if !(share > 0.9) {
		t.Errorf("committed: %s", report)
	}
}

func TestSameSettingsBuildTheSameBytes(t *testing.T) {
	text, err := os.ReadFile(englishFile)
	if err != nil {
		t.Fatal(err)
	}
	var s settings
	flags(&s, io.Discard)
	s.documents, s.whole = 2000, ""
	one, _, err := build("english.pcfg", text, s)
	if err != nil {
		t.Fatal(err)
	}
	two, _, err := build("english.pcfg", text, s)
	if err != nil || !bytes.Equal(one, two) {
		t.Errorf("the two differ (%v)", err)
	}
	s.seed = 2
	if three, _, err := build("english.pcfg", text, s); err != nil || bytes.Equal(one, three) {
		t.Errorf("another seed gives the same bytes (%v)", err)
	}
}

func TestAnExistingFileIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "v.json")
	if err := os.WriteFile(path, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"--grammar", englishFile, "-o", path, "--documents", "3000"}
	err := run(args, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "--force") || fault.KindOf(err) != fault.Usage {
		t.Errorf("got %v", err)
	}
	if b, _ := os.ReadFile(path); string(b) != "precious" {
		t.Error("the file was changed")
	}
	if err := run(append(args, "--force"), io.Discard); err != nil {
		t.Error(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := grammar.ReadVocabulary(path, b); err != nil {
		t.Error(err)
	}
}

func TestBadArguments(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.pcfg")
	if err := os.WriteFile(bad, []byte("start s\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "v.json")
	rows := []struct {
		name string
		args []string
		want string
	}{
		{"nothing", nil, "--grammar"},
		{"no grammar there", []string{"--grammar", filepath.Join(dir, "none"), "-o", out}, "none"},
		{"no grammar in it", []string{"--grammar", bad, "-o", out}, "bad.pcfg:1"},
		{"too small", []string{"--grammar", englishFile, "-o", out, "--size", "300", "--documents", "2000"}, "--size"},
		{"a word that does not occur", []string{"--grammar", englishFile, "-o", out, "--whole", "zebra", "--documents", "500"}, "zebra"},
		{"an unknown flag", []string{"--sise", "3"}, "sise"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			err := run(r.args, io.Discard)
			if err == nil || !strings.Contains(err.Error(), r.want) {
				t.Errorf("got %v, want an error with %q", err, r.want)
			}
		})
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a failed run leaves a file")
	}
}
