package main

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lab/core/fault"
	"lab/plugins/models/grammar"
)

// block is one block as a reader sees it.
type block struct {
	lengths             []uint32
	tokens, counts, ids []uint16
	probs               []float32
}

// read is a reader of the documented format, written from its description.
func read(t *testing.T, b []byte) (header []byte, blocks []block, totals [3]uint64) {
	t.Helper()
	r := bytes.NewReader(b)
	get := func(into any) {
		t.Helper()
		if err := binary.Read(r, binary.LittleEndian, into); err != nil {
			t.Fatal(err)
		}
	}
	header = make([]byte, 64)
	get(header)
	for {
		var n [3]uint32
		get(&n)
		if n[0] == 0 {
			if n != [3]uint32{} {
				t.Fatalf("the end mark is %v", n)
			}
			break
		}
		x := block{lengths: make([]uint32, n[0]), tokens: make([]uint16, n[1])}
		get(x.lengths)
		get(x.tokens)
		if binary.LittleEndian.Uint32(header[12:])&flagTruth != 0 {
			x.counts, x.ids, x.probs = make([]uint16, n[1]), make([]uint16, n[2]), make([]float32, n[2])
			get(x.counts)
			get(x.ids)
			get(x.probs)
		}
		blocks = append(blocks, x)
	}
	get(&totals)
	if r.Len() != 0 {
		t.Fatalf("%d bytes follow the trailer", r.Len())
	}
	return header, blocks, totals
}

func output(t *testing.T, args ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := run(append(args, "-o", "-"), &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestTargetsAreTheTruth(t *testing.T) {
	header, blocks, totals := read(t, output(t, "--seed", "5", "--tokens", "30000", "--targets"))
	lang, err := grammar.English()
	if err != nil {
		t.Fatal(err)
	}
	if string(header[:8]) != magic || binary.LittleEndian.Uint64(header[24:]) != 5 ||
		int(binary.LittleEndian.Uint32(header[8:])) != lang.Tokenizer().Size() ||
		hex.EncodeToString(header[32:]) != grammar.EnglishDigest() {
		t.Errorf("header % x", header)
	}
	row := make([]float64, lang.Tokenizer().Size())
	var docs, tokens, entries uint64
	for _, b := range blocks {
		at, entry := 0, 0
		for _, n := range b.lengths {
			doc := b.tokens[at : at+int(n)]
			if doc[0] != 1 || doc[n-1] != 2 || b.counts[at+int(n)-1] != 0 {
				t.Fatalf("document %d runs from %d to %d", docs, doc[0], doc[n-1])
			}
			state := lang.Start()
			for i := range int(n) - 1 {
				if err := state.Distribution(row); err != nil {
					t.Fatal(err)
				}
				for range int(b.counts[at+i]) {
					id := b.ids[entry]
					if b.probs[entry] != float32(row[id]) {
						t.Fatalf("document %d, position %d: token %d has %v, the truth is %v", docs, i, id, b.probs[entry], row[id])
					}
					row[id] = 0
					entry++
				}
				for id, p := range row {
					if p != 0 {
						t.Fatalf("document %d, position %d: token %d is missing", docs, i, id)
					}
				}
				if state, err = state.Advance(int32(doc[i+1])); err != nil {
					t.Fatal(err)
				}
			}
			at += int(n)
			docs++
		}
		if at != len(b.tokens) || entry != len(b.ids) {
			t.Fatalf("a block holds %d of %d tokens and %d of %d entries", at, len(b.tokens), entry, len(b.ids))
		}
		tokens += uint64(at)
		entries += uint64(entry)
	}
	if totals != [3]uint64{docs, tokens, entries} || tokens < 30000 {
		t.Errorf("totals %v, counted %d, %d, %d", totals, docs, tokens, entries)
	}
}

func TestACorpusIsThePrefixOfALongerOne(t *testing.T) {
	flat := func(b []byte) (out []uint16) {
		_, blocks, _ := read(t, b)
		for _, x := range blocks {
			out = append(out, x.tokens...)
		}
		return out
	}
	short, long := flat(output(t, "--seed", "9", "--tokens", "3000")), flat(output(t, "--seed", "9", "--tokens", "40000"))
	for i := range short {
		if short[i] != long[i] {
			t.Fatalf("token %d differs", i)
		}
	}
	if other := flat(output(t, "--seed", "10", "--tokens", "3000")); slicesEqual(other[:100], short[:100]) {
		t.Error("another seed gives the same text")
	}
	if !bytes.Equal(output(t, "--seed", "9", "--tokens", "3000", "--targets"), output(t, "--seed", "9", "--tokens", "3000", "--targets")) {
		t.Error("the same command gives other bytes")
	}
}

func slicesEqual(a, b []uint16) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestTextIsReadable(t *testing.T) {
	out := string(output(t, "--seed", "2", "--tokens", "500", "--text"))
	lang, err := grammar.English()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := lang.Sample(rand.New(rand.NewPCG(2, 0)))
	if err != nil {
		t.Fatal(err)
	}
	first, err := lang.Tokenizer().Decode(doc)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out, string(first)+"\n\n") || !strings.HasSuffix(out, "\n") {
		t.Errorf("the text begins %q", out[:min(200, len(out))])
	}
}

func TestFilesAndBadArguments(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "c.bin")
	if err := run([]string{"--tokens", "100", "-o", file}, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	rows := []struct {
		name string
		args []string
		want string
	}{
		{"an existing file", []string{"--tokens", "100", "-o", file}, "--force"},
		{"no tokens", []string{"-o", "-"}, "--tokens"},
		{"negative tokens", []string{"--tokens", "-3", "-o", "-"}, "-3 is not above 0"},
		{"no output", []string{"--tokens", "3"}, "-o"},
		{"text with targets", []string{"--tokens", "3", "--text", "--targets", "-o", "-"}, "no targets"},
		{"an argument too many", []string{"--tokens", "3", "-o", "-", "x"}, `"x"`},
		{"an unknown flag", []string{"--token", "3"}, "token"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			err := run(r.args, io.Discard, io.Discard)
			if err == nil || !strings.Contains(err.Error(), r.want) || fault.KindOf(err) != fault.Usage {
				t.Errorf("got %v, want a usage error with %q", err, r.want)
			}
		})
	}
	if err := run([]string{"--tokens", "200", "--force", "-o", file}, io.Discard, io.Discard); err != nil {
		t.Error(err)
	}
	if err := run([]string{"--tokens", "200", "-o", filepath.Join(dir, "none", "c.bin")}, io.Discard, io.Discard); fault.KindOf(err) != fault.Data {
		t.Errorf("an unwritable folder gives %v", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}

// full is a disk that takes so many bytes.
type full struct{ left int }

func (f *full) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}

func TestAWriteThatFailsIsTold(t *testing.T) {
	for _, room := range []int{0, 2 << 20} {
		err := run([]string{"--tokens", "200000", "--targets", "-o", "-"}, &full{room}, io.Discard)
		if fault.KindOf(err) != fault.Data {
			t.Errorf("with room for %d bytes: %v", room, err)
		}
	}
}

func TestProbabilitiesSumToOneInFloat32(t *testing.T) {
	_, blocks, _ := read(t, output(t, "--seed", "6", "--tokens", "20000", "--targets"))
	for _, b := range blocks {
		entry := 0
		for _, n := range b.counts {
			sum := 0.0
			for _, p := range b.probs[entry : entry+int(n)] {
				sum += float64(p)
			}
			entry += int(n)
			// every entry is rounded to 24 bits
			if n > 0 && !(math.Abs(sum-1) <= 1e-6) {
				t.Fatalf("a target sums to %v", sum)
			}
		}
	}
}
