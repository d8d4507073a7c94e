package kernel

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
)

// requireWords checks packed words against the numbers they came from: each is
// within half a step, numbers with at most 11 bits above a step are exact, and no
// unit is longer than sums have room for.
func requireWords(t *testing.T, what string, packed []byte, want []float32, rows, cols int) {
	t.Helper()
	group := cols / wordsUnit * wordsBytes
	for row := range rows {
		for c := 0; c < cols; c += wordsUnit {
			w := packed[row/groupRows*group+c/wordsUnit*wordsBytes:]
			scale, squares := float64(wordsScale(w, row%groupRows)), 0.0
			for i := range wordsUnit {
				q := float64(wordsValue(w, row%groupRows, i))
				squares += q * q
				v := float64(want[row*cols+c+i])
				if d := math.Abs(v - q*scale); !(d <= scale/2) || math.Abs(v) >= 2048*scale && d != 0 {
					t.Fatalf("%s: row %d, column %d: %g becomes %g times %g", what, row, c+i, v, q, scale)
				}
			}
			requireLength(t, what, squares)
		}
	}
}

// requireLength: two lengths of so much, multiplied, fit 31 bits.
func requireLength(t *testing.T, what string, squares float64) {
	t.Helper()
	if !(squares <= math.MaxInt32) {
		t.Fatalf("%s: the squares of a unit sum to %g, more than %d", what, squares, math.MaxInt32)
	}
}

// TestRoundedWordsFitTheirSums: whatever the activations, a value is within half a
// step of its word, which is as fine as the length and 16 bits allow.
func TestRoundedWordsFitTheirSums(t *testing.T) {
	fills := append([]struct {
		name string
		next func(r *rand.Rand) float32
	}{
		{"one large", func(r *rand.Rand) float32 {
			if r.IntN(32) == 0 {
				return 1000
			}
			return float32(r.NormFloat64())
		}},
		{"all alike", func(*rand.Rand) float32 { return 0.7 }},
	}, activationFills...)
	for _, k := range All() {
		for _, fill := range fills {
			r := rand.New(rand.NewPCG(1, 2))
			for range 200 {
				x := filled(r, wordsUnit, fill.next)
				out := make([]byte, ByWords.RoundedBytes(wordsUnit, 1))
				k.Round(out, x, ByWords, 0, 1)
				scale := float64(float(out[wordsScaleAt:]))
				if scale != scale {
					continue // there is a number that is none, or infinite
				}
				squares, largest := 0.0, 0.0
				for i, v := range x {
					q := float64(int16(binary.LittleEndian.Uint16(out[2*i:])))
					squares, largest = squares+q*q, max(largest, math.Abs(q))
					// The value is rounded twice before, each by 2^-24 of itself.
					if d := math.Abs(float64(v) - q*scale); !(d <= scale/2+math.Abs(float64(v))*0x1p-22) && math.Abs(float64(v)) >= leastOfWords {
						t.Fatalf("%s, %s: %g becomes %g times %g", k.Name(), fill.name, v, q, scale)
					}
				}
				requireLength(t, fill.name, squares)
				if scale > 0 && largest < mostWord-1 && squares < 46200*46200 {
					t.Fatalf("%s, %s: words up to %g of length %g: there is room for finer ones", k.Name(), fill.name, largest, math.Sqrt(squares))
				}
			}
		}
	}
}

// TestWordsOfOneDirectionDoNotOverflow: where weights and activations are the same
// up to a factor, a sum is as large as lengths allow.
func TestWordsOfOneDirectionDoNotOverflow(t *testing.T) {
	l, ok := Packs(F16, wordsUnit, false)
	if !ok || !packings[l].words {
		t.Fatal("F16 has no words")
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, k := range All() {
		for turn := range 300 {
			x, src := make([]float32, wordsUnit), make([]byte, F16.Bytes(wordsUnit))
			for i := range x {
				v := float32(r.NormFloat64() * math.Exp(math.Min(float64(turn%5)*r.NormFloat64(), 8)))
				if turn%7 == 0 {
					v = 1 - 0x1p-11
				}
				h := floatToHalf(v)
				binary.LittleEndian.PutUint16(src[2*i:], h)
				x[i] = halfToFloat(h)
			}
			w, rounded, y := make([]byte, l.PackedBytes(1, wordsUnit)), make([]byte, ByWords.RoundedBytes(wordsUnit, 1)), make([]float32, 1)
			l.Pack(w, src, 1, wordsUnit)
			k.Round(rounded, x, ByWords, 0, 1)
			k.Products(y, 1, w, l, 1, rounded, 1, wordsUnit, nil)
			want := 0.0
			for _, v := range x {
				want += float64(v) * float64(v)
			}
			// Steps are at most 2^-12 of a unit's length on either side; where it
			// overflowed the sign would be another.
			if !(math.Abs(float64(y[0])-want) <= want/1024) {
				t.Fatalf("%s, turn %d: %g, want %g", k.Name(), turn, y[0], want)
			}
		}
	}
}
