package dist

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The short way gives the bits of the long one, for listed, removed, unlisted and
// foreign tokens.
func TestSurprisalBitsAreThoseOfTheDistribution(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	half := float32(math.Log(0.25))
	rows := []*Scores{
		{Vocab: 8, IDs: []int32{1, 4, 6}, Values: []float32{half, half, float32(math.Inf(-1))}, Unlisted: 0.5},
		{Vocab: 8, IDs: []int32{2, 3}, Values: []float32{-1, 2}},
	}
	for range 200 {
		s := random(r, 1+r.IntN(70), 30, r.IntN(4))
		rows = append(rows, s, sparse(s))
	}
	scratch := make([]float64, 16) // too small for some
	for k, s := range rows {
		d, err := Softmax(s)
		if err != nil {
			t.Fatal(err)
		}
		for token := int32(-1); token <= int32(s.Vocab); token++ {
			got, err := SurprisalBits(s, token, scratch)
			if err != nil {
				t.Fatal(err)
			}
			want := d.SurprisalBits(token)
			if math.Float64bits(got) != math.Float64bits(want) && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Errorf("row %d, token %d: %v bits, the distribution says %v", k, token, got, want)
			}
		}
	}
	for _, bad := range []*Scores{{Vocab: 2, Values: []float32{1, float32(math.NaN())}}, {Vocab: 2, Values: []float32{1}}} {
		if _, err := SurprisalBits(bad, 0, nil); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}

func BenchmarkSurprisalBits(b *testing.B) {
	s := random(rand.New(rand.NewPCG(3, 1)), 262_144, 20, 0)
	b.Run("distribution", func(b *testing.B) {
		for b.Loop() {
			if d, err := Softmax(s); err != nil || d.SurprisalBits(7) < 0 {
				b.Fatal(err)
			}
		}
	})
	b.Run("sums", func(b *testing.B) {
		scratch := make([]float64, len(s.Values))
		for b.Loop() {
			if x, err := SurprisalBits(s, 7, scratch); err != nil || x < 0 {
				b.Fatal(err)
			}
		}
	})
}
