package transformer

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"lab/core/fault"
	"lab/core/plugin/model"
	"lab/plugins/models/internal/gguf"
	"lab/plugins/models/internal/kernel"
)

// TestRoundedActivationsAreNearFloat32 runs models of each format both ways: the
// results must differ, or nothing was rounded, and by little.
func TestRoundedActivationsAreNearFloat32(t *testing.T) {
	for _, kind := range kinds() {
		s := wide()
		form, ok := kernel.Packs(formats[kind], s.width, false)
		if !ok {
			continue
		}
		// 8 bits are 4e-3 of the largest of a block, half of it at most, in each of
		// some 15 products whose errors add up as squares; words have 5 to 7 bits more.
		least, most := 1e-4, 6e-2
		if form.Rounding() == kernel.ByWords {
			least, most = 1e-6, 6e-4
		}
		t.Run(kind.String(), func(t *testing.T) {
			s.untied = true
			s.kind = func(string) gguf.Type { return kind }
			tokens := s.tokens(rand.New(rand.NewPCG(4, 9)), 12)
			rounded, float := all(t, s.open(t, 7, 1, kernel.Best()), 1, tokens), all(t, exactly(s.open(t, 7, 1, kernel.Best())), 1, tokens)
			for p := range tokens {
				d := distance(rounded[p], float[p])
				if !(d > least && d <= most) {
					t.Errorf("position %d: relative distance %g, want %g to %g", p, d, least, most)
				}
			}
		})
	}
}

// What was packed from a file is not computed with once the file is another, nor
// are its bytes: a run with two models' weights would be nobody's.
func TestAChangedFileIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.gguf")
	s := small()
	s.kind = tinyShape().kind
	first, second := s.bytes(t, 7), s.bytes(t, 8)
	write := func(data []byte, seconds int64) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		// Two writes within one tick of the clock leave the same time.
		if err := os.Chtimes(path, time.Unix(seconds, 0), time.Unix(seconds, 0)); err != nil {
			t.Fatal(err)
		}
	}
	write(first, 1)
	e := openWith(t, path, 1, kernel.Best())
	tokens := []int32{4, 5, 6}
	want := all(t, e, 1, tokens)
	write(second, 2)
	in := []model.Input{{Seq: 2, Tokens: tokens, Want: model.All, Scores: rowsFor(e, len(tokens))}}
	_, err := e.Forward(context.Background(), in)
	wantError(t, err, fault.Data, "changed while in use")
	if d, err := e.Verify(context.Background()); err != nil || d == e.Info().Digest {
		t.Fatalf("a changed file verifies as %s, %v", d, err)
	}
	_, err = e.Forward(context.Background(), in)
	wantError(t, err, fault.Data, "changed while in use")
	write(first, 3)
	got := all(t, e, 2, tokens)
	for p := range want {
		for id := range want[p] {
			if math.Float32bits(got[p][id]) != math.Float32bits(want[p][id]) {
				t.Fatalf("position %d, token %d: %g, at first it was %g", p, id, got[p][id], want[p][id])
			}
		}
	}
}

func TestLargeModelsArePackedInMappedMemory(t *testing.T) {
	a := newArena(1 << 40)
	x, y := a.take(100), a.take(arenaChunk+1)
	for _, b := range [][]byte{x, y} {
		for i := range b {
			if b[i] != 0 {
				t.Fatal("memory is not zero")
			}
			b[i] = 1
		}
	}
	if len(x) != 100 || len(y) != arenaChunk+1 {
		t.Errorf("%d and %d bytes", len(x), len(y))
	}
	a.free()
	if len(a.mapped) != 0 || newArena(1000).chunk != 0 {
		t.Error("memory is left, or a small model takes pages of its own")
	}
}
