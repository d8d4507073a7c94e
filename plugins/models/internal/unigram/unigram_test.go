package unigram

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"lab/core/fault"
	"lab/plugins/models/internal/token"
	"lab/plugins/models/internal/token/tokentest"
)

type peerFile struct {
	Pieces []string     `json:"pieces"`
	Scores []float32    `json:"scores"`
	Types  []token.Type `json:"types"`
	Cases  []struct {
		Text string  `json:"text"`
		IDs  []int32 `json:"ids"`
	} `json:"cases"`
}

func readPeer(t testing.TB) (peerFile, *Tokenizer) {
	t.Helper()
	var p peerFile
	if tokentest.ReadJSON(t, "testdata/peer.json", &p); len(p.Cases) < 50 {
		t.Fatalf("%d cases", len(p.Cases))
	}
	return p, tokentest.New(t, New, Vocab{Pieces: p.Pieces, Scores: p.Scores, Types: p.Types, BOS: 1, AddSpacePrefix: true})
}

func TestHardTextGetsSentencePiecesTokens(t *testing.T) {
	p, tok := readPeer(t)
	near := 0
	for _, c := range p.Cases {
		got, same := compareCase(t, tok, []byte(c.Text), c.IDs)
		if !same {
			near++
		}
		tokentest.ComesBack(t, tok, []byte(c.Text), got)
	}
	if near > 3 {
		t.Errorf("%d texts have other tokens of the same worth; three would do for chance", near)
	}
}

// compareCase fails when a text gets other tokens than SentencePiece's, unless they
// are of the same worth for it: its sums are of float32, and what differs by less
// than their rounding, at most half a unit in the last place for each token, it takes
// for equal. It returns our tokens and whether they are the same.
func compareCase(t *testing.T, tok *Tokenizer, text []byte, want []int32) (got []int32, same bool) {
	t.Helper()
	sum := func(ids []int32) (total float64) {
		for _, id := range ids {
			total += tok.scores[id]
		}
		return total
	}
	got, err := tok.EncodePrompt(text, false, false)
	if err == nil && slices.Equal(got, want) {
		return got, true
	}
	ours, theirs := sum(got), sum(want)
	if err != nil || !(math.Abs(ours-theirs) <= math.Abs(theirs)*float64(len(want))/(1<<24)) || ours < theirs {
		t.Errorf("%q becomes %q, %v; want %q", text, tokentest.Spell(tok, got), err, tokentest.Spell(tok, want))
	}
	return got, false
}

// worth is the sum of scores of the best segmentation, found by trying all.
func worth(t *Tokenizer, text string, known map[string]float64) float64 {
	if text == "" {
		return 0
	}
	best := math.Inf(-1)
	first := 0
	for i := range text {
		if i > 0 && first == 0 {
			first = i
		}
	}
	if first == 0 {
		first = len(text)
	}
	for n := 1; n <= len(text); n++ {
		if score, ok := known[text[:n]]; ok {
			best = max(best, score+worth(t, text[n:], known))
		}
	}
	if _, ok := known[text[:first]]; !ok {
		best = max(best, t.unknown+worth(t, text[first:], known))
	}
	return best
}

func TestTheSegmentationIsTheBestOfAll(t *testing.T) {
	v := Vocab{BOS: -1}
	known := map[string]float64{}
	for i, piece := range []string{"a", "b", "ab", "ba", "aba", "bb", "abb", "c"} {
		score := -float32(1+(i*7)%5) * float32(len(piece)) / 2
		v.Pieces, v.Scores, v.Types = append(v.Pieces, piece), append(v.Scores, score), append(v.Types, token.Normal)
		known[piece] = float64(score)
	}
	for b := range 256 {
		v.Pieces, v.Scores, v.Types = append(v.Pieces, fmt.Sprintf("<0x%02X>", b)), append(v.Scores, 0), append(v.Types, token.Byte)
	}
	tok, err := New(v)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 4 * 4 * 4 * 4 * 4 * 4 {
		var b strings.Builder
		for m := n; m > 0; m /= 4 {
			b.WriteByte("abcd"[m%4])
		}
		ids, err := tok.EncodePrompt([]byte(b.String()), false, false)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, id := range ids {
			if v.Types[id] == token.Byte {
				sum += tok.unknown
				continue
			}
			sum += tok.scores[id]
		}
		if want := worth(tok, b.String(), known); !(math.Abs(sum-want) <= 1e-9) { // sums of few halves are exact
			t.Fatalf("%q becomes %q, worth %g; the best is worth %g", b.String(), tokentest.Spell(tok, ids), sum, want)
		}
	}
}

func TestBadVocabulariesAreRefused(t *testing.T) {
	with := func(change func(*Vocab)) Vocab {
		v := Vocab{Pieces: []string{"<s>", "a", "<0x41>"}, Scores: []float32{0, -1, 0}, Types: []token.Type{token.Control, token.Normal, token.Byte}}
		change(&v)
		return v
	}
	for _, r := range []struct {
		name string
		v    Vocab
		want string
	}{
		{"empty", Vocab{}, "empty"},
		{"too few scores", with(func(v *Vocab) { v.Scores = v.Scores[1:] }), "scores"},
		{"a duplicate piece", with(func(v *Vocab) { v.Pieces[1] = "<s>" }), "both token 0 and token 1"},
		{"an infinite score", with(func(v *Vocab) { v.Scores[1] = float32(math.Inf(-1)) }), "has the score"},
		{"a byte token misspelt", with(func(v *Vocab) { v.Pieces[2] = "<0x4g>" }), "<0xHH>"},
		{"an empty piece", with(func(v *Vocab) { v.Pieces[1] = "" }), "empty"},
		{"a huge piece", with(func(v *Vocab) { v.Pieces[1] = strings.Repeat("x", token.MaxPieceBytes+1) }), "the most is"},
		{"a type out of range", with(func(v *Vocab) { v.Types[1] = 7 }), "type 7"},
		{"BOS that is text", with(func(v *Vocab) { v.BOS = 1 }), "not control"},
		{"BOS wanted but absent", with(func(v *Vocab) { v.BOS, v.AddBOS = -1, true }), "BOS"},
	} {
		t.Run(r.name, func(t *testing.T) {
			if _, err := New(r.v); err == nil || !strings.Contains(err.Error(), r.want) || fault.KindOf(err) != fault.Data {
				t.Errorf("got %v, want a data error with %q", err, r.want)
			}
		})
	}
	tok, err := New(with(func(*Vocab) {}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tok.EncodePrompt([]byte("aB"), false, false); fault.KindOf(err) != fault.Data || !strings.Contains(err.Error(), "byte 0x42") {
		t.Errorf("a byte without a token: %v", err)
	}
}

func TestLongTextsEncode(t *testing.T) {
	_, tok := readPeer(t)
	for _, unit := range []string{"a", " ", "ab", "\xff", "ส", "the weather "} {
		text := bytes.Repeat([]byte(unit), 1<<20/len(unit))
		tokentest.ComesBack(t, tok, text, tokentest.Encode(t, tok, text))
	}
}

func FuzzEncode(f *testing.F) {
	for _, s := range []string{"", " ", "  the  the", "weather", "\n\t\x00", "café ▁ \xff\xfe\xfd", "<s></s><0x41>", "[multi] [multi token]", "\xe2\x96"} {
		f.Add([]byte(s))
	}
	p, tok := readPeer(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		ids, err := tok.EncodePrompt(text, false, false)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := tok.Decode(ids); err != nil || !bytes.Equal(back, text) {
			t.Fatalf("decoded %q, %v; want %q", back, err, text)
		}
		for _, id := range ids {
			if p.Types[id].Silent() {
				t.Fatalf("%q contains the silent token %d", text, id)
			}
		}
	})
}
