package conform

import (
	"math"
	"math/rand/v2"
	"slices"

	"lab/core/dist"
)

var negInf = float32(math.Inf(-1))

// shape is a kind of row. Scores are whole multiples of 2^-10 and at most 64 in
// magnitude, so that adding a small whole number to them is exact.
type shape struct {
	name string
	n    func(g *rand.Rand) int
	fill func(g *rand.Rand, v []float32)
}

func shapes() []shape {
	return []shape{
		{"gaussian", some(2, 200), func(g *rand.Rand, v []float32) { fill(v, func() float64 { return g.NormFloat64() * 3 }) }},
		{"flat", some(2, 60), func(g *rand.Rand, v []float32) { x := g.NormFloat64(); fill(v, func() float64 { return x }) }},
		{"peaked", some(2, 100), func(g *rand.Rand, v []float32) {
			fill(v, g.NormFloat64)
			v[g.IntN(len(v))] = 40
		}},
		{"ties", some(2, 60), func(g *rand.Rand, v []float32) { fill(v, func() float64 { return float64(g.IntN(4)) }) }},
		{"masked", some(3, 100), func(g *rand.Rand, v []float32) {
			fill(v, g.NormFloat64)
			for i := range v {
				if g.IntN(3) == 0 {
					v[i] = negInf
				}
			}
			v[g.IntN(len(v))] = 1
		}},
		{"one survivor", some(2, 60), func(g *rand.Rand, v []float32) {
			fill(v, func() float64 { return math.Inf(-1) })
			v[g.IntN(len(v))] = float32(g.IntN(7) - 3)
		}},
		{"one token", some(1, 2), func(g *rand.Rand, v []float32) { fill(v, g.NormFloat64) }},
		{"two tokens", some(2, 3), func(g *rand.Rand, v []float32) { fill(v, func() float64 { return g.NormFloat64() * 2 }) }},
	}
}

func some(least, below int) func(*rand.Rand) int {
	return func(g *rand.Rand) int { return least + g.IntN(below-least) }
}

// fill gives every score a number drawn, rounded to a multiple of 2^-10 within
// 64 of zero; minus infinity stays.
func fill(v []float32, draw func() float64) {
	for i := range v {
		x := draw()
		if math.IsInf(x, -1) {
			v[i] = negInf
			continue
		}
		v[i] = float32(math.Round(min(max(x, -64), 64)*1024) / 1024)
	}
}

// wild draws a row of any finite scores, of all magnitudes or of the extreme
// ones, some of them equal, with tokens removed; every other row is sparse.
func wild(g *rand.Rand) dist.Scores {
	v := make([]float32, 1+g.IntN(40))
	extremes := []float32{math.MaxFloat32, -math.MaxFloat32, 0, float32(math.Copysign(0, -1)), 0x1p-149, -0x1p-149, 1, -1, negInf}
	for i := range v {
		switch g.IntN(3) {
		case 0:
			v[i] = extremes[g.IntN(len(extremes))]
		case 1:
			v[i] = math.Float32frombits(g.Uint32())
			if !dist.Finite(v[i]) {
				v[i] = negInf
			}
		default:
			v[i] = float32(g.NormFloat64() * 10)
		}
	}
	row := dist.NewDense(v)
	if row.Check() != nil {
		v[0] = -1e30
	}
	if g.IntN(2) == 0 {
		return Twin(&row)
	}
	return row
}

// Twin returns the sparse row that lists only the support.
func Twin(s *dist.Scores) dist.Scores {
	c := s.Clone()
	c.Keep(func(i int) bool { return dist.Finite(c.Values[i]) }, nil)
	return c
}

// sameBits reports whether two rows are equal to the bit and in form.
func sameBits(a, b *dist.Scores) bool {
	return a.Vocab == b.Vocab && a.Unlisted == b.Unlisted && a.Dense() == b.Dense() && slices.Equal(a.IDs, b.IDs) &&
		slices.EqualFunc(a.Values, b.Values, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// support lists the tokens of a row that have a finite score, with their bits.
func support(s *dist.Scores) (ids []int32, bits []uint32) {
	for i, v := range s.Values {
		if dist.Finite(v) {
			ids, bits = append(ids, s.ID(i)), append(bits, math.Float32bits(v))
		}
	}
	return ids, bits
}

// sameSupport reports whether two rows have the same tokens with the same bits,
// whatever their form.
func sameSupport(a, b *dist.Scores) bool {
	ids, bits := support(a)
	ids2, bits2 := support(b)
	return slices.Equal(ids, ids2) && slices.Equal(bits, bits2)
}
