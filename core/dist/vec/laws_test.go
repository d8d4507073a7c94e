package vec

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The sums against plain ones: n additions of one sign, each off by 2^-53.
func TestSumsAreNearPlainOnes(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, f := range fills[:4] {
		for _, n := range []int{1, 9, 1000, 5000, 70000} {
			values := filled(r, n, 0, f.next)
			values[r.IntN(n)] = 4
			top := float64(Max(values))
			total, lean, sum, squares, support := 0.0, 0.0, 0.0, 0.0, 0
			for _, v := range values {
				if v < -math.MaxFloat32 {
					continue
				}
				x := float64(v)
				w := math.Exp(x - top)
				total += w
				lean += w * (x - top)
				sum += x - 1
				squares += (x - 1) * (x - 1)
				support++
			}
			gotTotal, gotLean := Lean(values, nil, top)
			gotSupport, gotSum, gotSquares := Moments(values, nil, 1)
			for _, c := range []struct {
				name           string
				got, want, tol float64
			}{
				// The exponentials differ by 2 units in the last place at most.
				{"total", gotTotal, total, total * 1e-15 * (4 + math.Sqrt(float64(n)))},
				{"lean", gotLean, lean, (1 - lean) * 1e-15 * (4 + math.Sqrt(float64(n)))},
				{"support", float64(gotSupport), float64(support), 0},
				{"sum", gotSum, sum, squares * 1e-15 * (4 + math.Sqrt(float64(n)))},
				{"squares", gotSquares, squares, squares * 1e-15 * (4 + math.Sqrt(float64(n)))},
			} {
				if !(math.Abs(c.got-c.want) <= c.tol) {
					t.Errorf("%s, %d scores: %s is %v, want %v", f.name, n, c.name, c.got, c.want)
				}
			}
		}
	}
}

// drawn is the rule of Draw in plain words.
func drawn(values []float32, top, u float64) int {
	var before, after []float64 // running sums by block
	total := 0.0
	for at := 0; at < len(values); at += block {
		before = append(before, total)
		total += Sum(values[at:min(at+block, len(values))], nil, top)
		after = append(after, total)
	}
	target := u * total
	for b := range after {
		// A product rounded up to the total belongs to the last block with weight.
		if !(after[b] > target || after[b] == total) {
			continue
		}
		run, last := before[b], -1
		for i := b * block; i < min((b+1)*block, len(values)); i++ {
			if w := Exp(float64(values[i]) - top); w > 0 {
				run += w
				last = i
				if run > target {
					break
				}
			}
		}
		return last
	}
	return -1
}

func TestDrawIsTheFirstRunningSumAboveTheTarget(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, f := range fills[:5] {
		for _, n := range []int{1, 7, 1023, 1024, 1025, 3000, 9000} {
			values := filled(r, n, 0, f.next)
			values[r.IntN(n)] = 5
			if n > 5000 { // blocks without weight, also the last
				for i := range values {
					if i/block%3 == 2 || i > 5000 {
						values[i] = negInf
					}
				}
				values[1] = 5
			}
			top := float64(Max(values))
			for _, u := range []float64{0, 1 - 0x1p-53, 0.5, r.Float64(), r.Float64(), r.Float64(), r.Float64()} {
				got, want := Draw(values, nil, top, u), drawn(values, top, u)
				if got != want {
					t.Fatalf("%s, %d scores, u = %v: drew %d, want %d", f.name, n, u, got, want)
				}
				if !(Exp(float64(values[got])-top) > 0) {
					t.Fatalf("%s, %d scores, u = %v: drew a token of weight 0", f.name, n, u)
				}
			}
		}
	}
}
