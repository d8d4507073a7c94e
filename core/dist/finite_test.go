package dist

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"
)

// One odd score anywhere, at every length around the unrolled part, is found;
// the largest and smallest finite numbers are not odd.
func TestAllFiniteFindsOneOddScoreAnywhere(t *testing.T) {
	odd := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), math.Float32frombits(0xffffffff), math.Float32frombits(0x7f800001)}
	usual := []float32{0, float32(math.Copysign(0, -1)), 1, -1, math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32}
	for n := 0; n <= 27; n++ {
		row := make([]float32, n)
		for i := range row {
			row[i] = usual[i%len(usual)]
		}
		if !AllFinite(row) {
			t.Fatalf("%d finite scores are said to hold an odd one", n)
		}
		for i := range row {
			for _, v := range odd {
				old := row[i]
				row[i] = v
				if AllFinite(row) {
					t.Errorf("length %d: %v at %d is not found", n, v, i)
				}
				row[i] = old
			}
		}
	}
}

// The check of a row agrees with its definition, at both alignments of the
// words it reads.
func FuzzCheck(f *testing.F) {
	for _, bits := range []uint32{0, 0x3f800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 1} {
		for n := range 12 {
			f.Add(binary.LittleEndian.AppendUint32(make([]byte, 4*n), bits))
		}
	}
	f.Add([]byte{0, 0, 0x80, 0xff, 0, 0, 0x80, 0xff}) // all removed
	f.Fuzz(func(t *testing.T, b []byte) {
		values := make([]float32, len(b)/4)
		for i := range values {
			values[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
		for start := range min(2, len(values)+1) {
			row := NewDense(values[start:])
			legal, finite := true, false
			for _, v := range row.Values {
				x := float64(v)
				legal = legal && !math.IsNaN(x) && !math.IsInf(x, 1)
				finite = finite || !math.IsNaN(x) && !math.IsInf(x, 0)
			}
			if err := row.Check(); (err == nil) != (legal && finite) {
				t.Errorf("%v: %v", row.Values, err)
			}
		}
	})
}

// A copy is the row to the bit, whatever was in its memory before, and says what
// Full says.
func TestCopyFromSaysWhetherTheRowIsFull(t *testing.T) {
	inf := float32(math.Inf(-1))
	var c Scores // one memory for all rows
	for _, n := range []int{1, 5, copyPiece - 1, copyPiece, copyPiece + 1, 3*copyPiece + 7, 2} {
		for _, at := range []int{-1, 0, n / 2, n - 1} {
			for _, bad := range []float32{inf, -inf, float32(math.NaN())} {
				row := NewDense(make([]float32, n))
				for i := range row.Values {
					row.Values[i] = -float32(i)
				}
				if at >= 0 {
					row.Values[at] = bad
				}
				full := c.CopyFrom(&row)
				same := slices.EqualFunc(c.Values, row.Values, func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) })
				if full != row.Full() || full != (at < 0) || !same || c.IDs != nil || c.Vocab != n {
					t.Errorf("%d scores, %v at %d: full %t, the same %t", n, bad, at, full, same)
				}
			}
		}
	}
	sparse := Scores{Vocab: 2, Values: []float32{1, 2}, IDs: []int32{0, 1}}
	if c.CopyFrom(&sparse) || !slices.Equal(c.IDs, sparse.IDs) || &c.IDs[0] == &sparse.IDs[0] {
		t.Errorf("a sparse row: %+v", c)
	}
	tail := Scores{Vocab: 2, Values: []float32{1, 2}, Unlisted: 0.5}
	if c.CopyFrom(&tail) || c.IDs != nil || c.Unlisted != 0.5 {
		t.Errorf("a row with a tail: %+v", c)
	}
}
