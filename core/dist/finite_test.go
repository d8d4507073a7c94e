package dist

import (
	"math"
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
