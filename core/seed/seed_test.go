package seed

import (
	"math"
	"testing"
)

// The known answers are those of the authors' Random123 distribution
// (kat_vectors, philox4x32 10 rounds).
func TestPhiloxKnownAnswers(t *testing.T) {
	rows := []struct {
		name string
		ctr  [4]uint32
		key  [2]uint32
		want [4]uint32
	}{
		{"zeros", [4]uint32{}, [2]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{"ones", [4]uint32{^uint32(0), ^uint32(0), ^uint32(0), ^uint32(0)}, [2]uint32{^uint32(0), ^uint32(0)},
			[4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{"pi", [4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if got := philox(r.ctr, r.key); got != r.want {
				t.Errorf("got %08x, want %08x", got, r.want)
			}
		})
	}
}

func draw(s Stream, sample, step uint64, lane uint32) float64 {
	var u [1]float64
	s.Uniforms(u[:], sample, step, lane)
	return u[0]
}

func TestEveryPartOfTheKeyChangesTheDraw(t *testing.T) {
	base := draw(New(1, []byte("a")), 0, 0, Draw)
	rows := []struct {
		name string
		got  float64
	}{
		{"run seed", draw(New(2, []byte("a")), 0, 0, Draw)},
		{"prompt", draw(New(1, []byte("b")), 0, 0, Draw)},
		{"sample", draw(New(1, []byte("a")), 1, 0, Draw)},
		{"step", draw(New(1, []byte("a")), 0, 1, Draw)},
		{"lane", draw(New(1, []byte("a")), 0, 0, Lane("xtc", 0))},
		{"occurrence", draw(New(1, []byte("a")), 0, 0, Lane("xtc", 1))},
	}
	seen := map[float64]string{base: "base"}
	for _, r := range rows {
		if other, ok := seen[r.got]; ok {
			t.Errorf("changing the %s gives the draw of %s", r.name, other)
		}
		seen[r.got] = r.name
	}
	if again := draw(New(1, []byte("a")), 0, 0, Draw); again != base {
		t.Errorf("the same key gave %v, then %v", base, again)
	}
}

func TestAPrefixOfALongerFillIsTheShorterFill(t *testing.T) {
	s := New(9, []byte("p"))
	long := make([]float64, 512)
	s.Uniforms(long, 3, 4, Draw)
	for _, n := range []int{1, 2, 3, 511} {
		short := make([]float64, n)
		s.Uniforms(short, 3, 4, Draw)
		for i := range short {
			if short[i] != long[i] {
				t.Fatalf("n=%d: number %d differs", n, i)
			}
		}
	}
	seen := map[float64]bool{}
	for _, u := range long {
		if seen[u] {
			t.Fatal("a number repeats within one fill")
		}
		seen[u] = true
	}
}

// Chi-squared of 64 equal cells over 64,000 first draws of consecutive samples.
// 63 degrees of freedom: the 0.1 % limit is 103.4. The seed is fixed, so the
// test cannot fail by chance.
func TestConsecutiveSamplesAreUniform(t *testing.T) {
	const n, cells, limit = 64000, 64, 103.4
	s := New(7, []byte("The weather today is"))
	var count [cells]int
	for i := uint64(0); i < n; i++ {
		u := draw(s, i, 0, Draw)
		if !(u >= 0 && u < 1) {
			t.Fatalf("draw %v is outside [0, 1)", u)
		}
		count[int(u*cells)]++
	}
	chi := 0.0
	for _, c := range count {
		d := float64(c) - n/cells
		chi += d * d / (n / cells)
	}
	if !(chi <= limit) || math.IsNaN(chi) {
		t.Errorf("chi-squared %.1f over %d cells, limit %.1f", chi, cells, limit)
	}
}
