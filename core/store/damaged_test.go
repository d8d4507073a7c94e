package store

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A damaged table is named and never a panic; the others can be read.
func TestDamagedTables(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir, 6, 4)
	fill(t, r)
	good := contents(t, dir)
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(7, 8))
	caught := 0
	for range 300 {
		data := []byte(good[StepsFile])
		switch rng.IntN(3) {
		case 0:
			data = data[:rng.IntN(len(data))]
		case 1:
			for range 1 + rng.IntN(8) {
				data[rng.IntN(len(data))] = byte(rng.Uint32())
			}
		default:
			tail := data[len(data)-min(len(data), 2000):]
			tail[rng.IntN(len(tail))] ^= 1 << rng.IntN(8)
		}
		if err := os.WriteFile(filepath.Join(dir, StepsFile), data, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := s.Records(true, func(*Record) error { return nil }); err != nil {
			caught++
			if !strings.Contains(err.Error(), StepsFile) {
				t.Fatalf("it is not named: %v", err)
			}
		}
		n := 0
		if err := s.Records(false, func(*Record) error { n++; return nil }); err != nil || n != 24 {
			t.Fatalf("samples: %d, %v", n, err)
		}
	}
	if caught < 150 {
		t.Errorf("%d of 300 damaged files were noticed", caught)
	}
}

func FuzzScan(f *testing.F) {
	var e encoder
	var log []byte
	for i := range 4 {
		r := made(i, i)
		b, err := e.frame(&r)
		if err != nil {
			f.Fatal(err)
		}
		log = append(log, b...)
	}
	f.Add(log)
	f.Add(log[:len(log)-3])
	f.Add(append([]byte("xx"), log...))
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := scan(bytes.NewReader(data), int64(len(data)), "log", &Manifest{Cells: mostCells, Samples: mostSamples})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range x.places {
			payload := data[p.offset+headBytes:][:p.length]
			if r, err := decode(payload); err == nil {
				again, err := new(encoder).frame(&r)
				if err != nil {
					t.Fatal(err)
				}
				back, err := decode(again[headBytes:])
				if err != nil {
					t.Fatalf("what was decoded cannot be encoded: %v", err)
				}
				third, err := new(encoder).frame(&back)
				if err != nil || !bytes.Equal(again, third) {
					t.Fatalf("%q became %q, %v", again, third, err)
				}
			}
		}
	})
}

func FuzzDecode(f *testing.F) {
	var e encoder
	for i := range 6 {
		r := made(i, 1)
		b, err := e.frame(&r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(bytes.Clone(b[headBytes:]))
		r = madeWithScores(i, 1, 5)
		if b, err = e.frame(&r); err != nil {
			f.Fatal(err)
		}
		f.Add(bytes.Clone(b[headBytes:]))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		r, err := decode(payload)
		if err != nil {
			return
		}
		var once, twice encoder
		once.record(&r)
		back, err := decode(once.b)
		if err != nil {
			t.Fatalf("what was decoded cannot be encoded: %v", err)
		}
		if twice.record(&back); !bytes.Equal(once.b, twice.b) {
			t.Fatalf("%q became %q", once.b, twice.b)
		}
	})
}
