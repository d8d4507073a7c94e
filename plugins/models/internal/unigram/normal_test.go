package unigram

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"lab/core/fault"
	"lab/plugins/models/internal/token"
	"lab/plugins/models/internal/token/tokentest"
)

// normalPeer is what SentencePiece makes of texts that it normalises; see
// testdata/peer/normal.py.
type normalPeer struct {
	Alphabet   []string `json:"alphabet"`
	Characters string   `json:"characters_sha256"`

	Squeezed, Spaced, Own normalCase
}

type normalCase struct {
	Squeeze bool         `json:"squeeze"`
	Pieces  []string     `json:"pieces"`
	Scores  []float32    `json:"scores"`
	Types   []token.Type `json:"types"`
	Charmap []byte       `json:"charsmap"`
	Cases   []struct {
		Text []byte  `json:"text"`
		IDs  []int32 `json:"ids"`
	} `json:"cases"`
	Drawn string `json:"drawn_sha256"`
}

func readNormal(t testing.TB) *normalPeer {
	t.Helper()
	p := &normalPeer{}
	tokentest.ReadJSON(t, "testdata/normal.json", p)
	p.Squeezed.Charmap = nmtNFKC(t)
	p.Spaced.Pieces, p.Spaced.Scores, p.Spaced.Types, p.Spaced.Charmap = p.Squeezed.Pieces, p.Squeezed.Scores, p.Squeezed.Types, p.Squeezed.Charmap
	return p
}

// nmtNFKC is the character map that SentencePiece trains with unless told
// otherwise.
func nmtNFKC(t testing.TB) []byte {
	t.Helper()
	file, err := os.Open("testdata/nmt_nfkc.charsmap.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	blob, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return blob
}

func (c *normalCase) open(t testing.TB) *Tokenizer {
	t.Helper()
	return tokentest.New(t, New, Vocab{Pieces: c.Pieces, Scores: c.Scores, Types: c.Types, BOS: 1, AddSpacePrefix: true, Charmap: c.Charmap, SqueezeSpaces: c.Squeeze})
}

// normalised is a text as SentencePiece's Normalize returns it.
func normalised(t testing.TB, tok *Tokenizer, text string) string {
	t.Helper()
	if text == "" {
		return ""
	}
	out, err := tok.normal.apply([]byte(text), true, &tok.user)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(out), " ", Space)
}

func TestNormalisedTextGetsSentencePiecesTokens(t *testing.T) {
	p := readNormal(t)
	for name, c := range map[string]*normalCase{"squeezed": &p.Squeezed, "spaced": &p.Spaced, "own rules": &p.Own} {
		t.Run(name, func(t *testing.T) {
			tok := c.open(t)
			if len(c.Cases) < 80 {
				t.Fatalf("%d cases", len(c.Cases))
			}
			for _, x := range c.Cases {
				compareCase(t, tok, x.Text, x.IDs)
			}
		})
	}
}

// Every character of Unicode, and strings in which marks follow letters and spaces
// follow what becomes nothing.
func TestEveryCharacterIsNormalisedAsSentencePieceDoes(t *testing.T) {
	p := readNormal(t)
	tok := p.Squeezed.open(t)
	sum := sha256.New()
	for c := rune(0); c <= 0x10ffff; c++ {
		if c < 0xd800 || c > 0xdfff {
			sum.Write([]byte(normalised(t, tok, "a"+string(c)+"b") + "\n"))
		}
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != p.Characters {
		t.Errorf("all characters become %s, want %s", got, p.Characters)
	}
	for name, c := range map[string]*normalCase{"squeezed": &p.Squeezed, "spaced": &p.Spaced, "own rules": &p.Own} {
		tok, sum, state := c.open(t), sha256.New(), uint32(1)
		below := func(n int) int {
			state = state*1664525 + 1013904223
			return int(state>>16) % n
		}
		for range 20000 {
			var b strings.Builder
			for range 1 + below(12) {
				b.WriteString(p.Alphabet[below(len(p.Alphabet))])
			}
			sum.Write([]byte(normalised(t, tok, b.String()) + "\n"))
		}
		if got := hex.EncodeToString(sum.Sum(nil)); got != c.Drawn {
			t.Errorf("%s: drawn strings become %s, want %s", name, got, c.Drawn)
		}
	}
}

// What is decoded is a text that normalising leaves as it is, unless bytes became
// U+FFFD, which this map takes for a space.
func TestDecodedTextIsNormal(t *testing.T) {
	p := readNormal(t)
	for _, c := range []*normalCase{&p.Squeezed, &p.Spaced} {
		tok := c.open(t)
		for _, x := range c.Cases {
			once, err := tok.Decode(tokentest.Encode(t, tok, x.Text))
			if err != nil {
				t.Fatal(err)
			}
			if !utf8.Valid(x.Text) {
				continue
			}
			if again := strings.TrimPrefix(strings.ReplaceAll(normalised(t, tok, string(once)), Space, " "), " "); again != string(once) {
				t.Errorf("%q becomes %q, and that %q", x.Text, once, again)
			}
		}
	}
}

func TestSpacesAreSqueezedWithoutAMap(t *testing.T) {
	tok, err := New(Vocab{Pieces: []string{"▁", "a"}, Scores: []float32{-1, -2}, Types: []token.Type{token.Normal, token.Normal}, BOS: -1,
		AddSpacePrefix: true, SqueezeSpaces: true})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"  a   a ": " a a", " ": "", "a": " a", "": ""} {
		ids, err := tok.EncodePrompt([]byte(text), false, false)
		got := ""
		for _, id := range ids {
			piece, _ := tok.Piece(id)
			got += string(piece)
		}
		if err != nil || got != want {
			t.Errorf("%q becomes %q, %v; want %q", text, got, err, want)
		}
	}
}

// childless returns n units from a place on that are nobody's children, where bases
// are multiples of 256.
func childless(from, n int) []uint32 {
	out := make([]uint32, n)
	for i := range out {
		out[i] = uint32(from+i)&0xff ^ 1
	}
	return out
}

// trie returns a map of the given units and texts.
func trie(texts string, units ...uint32) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(4*len(units)))
	for _, u := range units {
		b = binary.LittleEndian.AppendUint32(b, u)
	}
	return append(b, texts...)
}

func TestBadCharacterMapsAreRefused(t *testing.T) {
	// The root's base is 256, so that unit 256^'a' is the child by 'a'.
	const a = 256 ^ 'a'
	one := func(set map[int]uint32) []uint32 {
		units := append([]uint32{256 << offsetShift}, childless(1, 767)...)
		for i, u := range set {
			units[i] = u
		}
		return units
	}
	// 'a' ends a sequence whose text is at the unit 512.
	ends := uint32('a') | endsBit | (a^512)<<offsetShift
	good := trie("xyz\x00", one(map[int]uint32{a: ends, 512: leafBit})...)
	if m, err := newCharmap(good); err != nil {
		t.Fatal(err)
	} else if text, n := m.longest([]byte("ab")); n != 1 || string(text) != "xyz" {
		t.Fatalf("a becomes %q, %d", text, n)
	}
	long := one(nil)
	for range maxKeyBytes + 2 {
		base := uint32(len(long))
		long = append(long, childless(len(long), 256)...)
		from := base - 256
		if from == 512 {
			long[0] = base << offsetShift // the first node is the child of the root
			continue
		}
		long[from^'a'] = 'a' | (from^'a'^base)<<offsetShift
	}
	for _, r := range []struct {
		name string
		blob []byte
		want string
	}{
		{"no length", []byte{1, 2}, "ends after 2 bytes"},
		{"no trie", []byte{0, 0, 0, 0, 'x'}, "has 0 bytes"},
		{"a trie that is too long", []byte{8, 0, 0, 0, 1, 2, 3, 4}, "has 8 bytes of the 4"},
		{"a trie of no whole units", []byte{3, 0, 0, 0, 1, 2, 3, 4}, "whole units"},
		{"a trie without end", []byte{0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4}, "of the 4 that follow"},
		{"a map beyond all bounds", make([]byte, maxCharmapBytes+1), "the most is"},
		{"texts without an end", good[:len(good)-1], "zero byte"},
		{"texts that are not UTF-8", append(good[:len(good):len(good)], "\xff\x00"...), "not UTF-8"},
		{"a sequence without a text", trie("x\x00", one(map[int]uint32{a: ends})...), "an end without a text"},
		{"a text outside the trie", trie("x\x00", one(map[int]uint32{a: uint32('a') | endsBit | 1<<20<<offsetShift})...), "an end without a text"},
		{"a text beyond the texts", trie("x\x00", one(map[int]uint32{a: ends, 512: leafBit | 2})...), "where none begins"},
		{"a text within a character", trie("é\x00", one(map[int]uint32{a: ends, 512: leafBit | 1})...), "where none begins"},
		{"a long text", trie(strings.Repeat("x", maxReplacedBytes+1)+"\x00", one(map[int]uint32{a: ends, 512: leafBit})...), "the most is 255"},
		{"a circle", trie("x\x00", one(map[int]uint32{a: 'a' | (a^256)<<offsetShift})...), "circle"},
		{"a long sequence", trie("x\x00", long...), "256 bytes at a time"},
	} {
		t.Run(r.name, func(t *testing.T) {
			v := Vocab{Pieces: []string{"a"}, Scores: []float32{-1}, Types: []token.Type{token.Normal}, BOS: -1, Charmap: r.blob}
			if _, err := New(v); err == nil || !strings.Contains(err.Error(), r.want) || fault.KindOf(err) != fault.Data {
				t.Errorf("got %v, want a data error with %q", err, r.want)
			}
		})
	}
}

func TestATextThatGrowsWithoutEndIsRefused(t *testing.T) {
	units := append([]uint32{256 << offsetShift}, childless(1, 767)...)
	units[256^'a'] = 'a' | endsBit | (256^'a'^512)<<offsetShift
	units[512] = leafBit
	tok, err := New(Vocab{Pieces: []string{"a"}, Scores: []float32{-1}, Types: []token.Type{token.Normal}, BOS: -1,
		Charmap: trie(strings.Repeat("x", maxReplacedBytes)+"\x00", units...)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = tok.EncodePrompt(bytes.Repeat([]byte("a"), maxNormal/maxReplacedBytes+1), false, false)
	if fault.KindOf(err) != fault.Limit || !strings.Contains(err.Error(), "in parts") {
		t.Errorf("got %v, want an error of kind limit", err)
	}
}

// FuzzCharmap reads anything as a map and any text with it: errors, never a panic,
// and a normalised text is UTF-8.
func FuzzCharmap(f *testing.F) {
	p := readNormal(f)
	f.Add(p.Own.Charmap, []byte("abcd xy éa 日本"))
	f.Add(trie("x\x00", 0), []byte("a"))
	f.Fuzz(func(t *testing.T, blob, text []byte) {
		m, err := newCharmap(blob)
		if err != nil {
			if fault.KindOf(err) != fault.Data {
				t.Fatalf("an error of kind %v: %v", fault.KindOf(err), err)
			}
			return
		}
		for _, squeeze := range []bool{false, true} {
			n := normaliser{chars: m, squeeze: squeeze}
			out, err := n.apply(text, true, &token.Finder{})
			if err != nil && fault.KindOf(err) != fault.Limit {
				t.Fatal(err)
			}
			if !bytes.Equal(out, bytes.ToValidUTF8(out, nil)) {
				t.Fatalf("%q becomes %q", text, out)
			}
		}
	})
}

func BenchmarkNormalise(b *testing.B) {
	p := readNormal(b)
	tok := p.Squeezed.open(b)
	text := []byte(strings.Repeat("The weather today is cold. ＡＢＣ か\u3099 e\u0301 ", 200))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := tok.normal.apply(text, true, &tok.user); err != nil {
			b.Fatal(err)
		}
	}
}
