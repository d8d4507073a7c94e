package vec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// side weighs a row, dense for nil ids.
func side(values []float32, ids []int32) *Side {
	s := &Side{Values: values, IDs: ids, Weights: make([]float64, len(values)), Top: float64(Max(values))}
	total, _ := leanOf(portable, s.Weights, values, ids, s.Top)
	s.Share, s.Ln = 1/total, math.Log(total)
	return s
}

// bitsOf makes differences comparable to the bit.
func bitsOf(d Difference) string {
	return fmt.Sprintf("%x %t %t", bits(d.Kept, d.Dropped, d.DroppedLean, d.L1, d.KL), d.Entered, d.Moved)
}

// stages are what may happen to a score.
var stages = []struct {
	name string
	next func(r *rand.Rand, v float32) float32
}{
	{"nothing", func(_ *rand.Rand, v float32) float32 { return v }},
	{"rescale", func(_ *rand.Rand, v float32) float32 { return v / 1.7 }},
	{"drop half", func(r *rand.Rand, v float32) float32 {
		if r.IntN(2) == 0 {
			return negInf
		}
		return v
	}},
	{"leave a few", func(r *rand.Rand, v float32) float32 {
		if r.IntN(40) > 0 {
			return negInf
		}
		return v
	}},
	{"enter and move", func(r *rand.Rand, v float32) float32 {
		switch r.IntN(4) {
		case 0:
			return float32(r.NormFloat64())
		case 1:
			return negInf
		}
		return v
	}},
	{"lose a sign", func(_ *rand.Rand, v float32) float32 {
		if v == 0 {
			return 0
		}
		return v
	}},
}

// pairs calls f with rows before and after each stage: of every length around
// whole vectors and blocks, one survivor included.
func pairs(t *testing.T, f func(t *testing.T, before, after []float32)) {
	r := rand.New(rand.NewPCG(21, 22))
	for _, fill := range fills {
		for _, stage := range stages {
			t.Run(fill.name+"/"+stage.name, func(t *testing.T) {
				for _, n := range append(lengths()[1:], 9000) {
					before := filled(r, n, r.IntN(4), fill.next)
					before[r.IntN(n)] = 5
					after := filled(r, n, r.IntN(4), func(*rand.Rand) float32 { return 0 })
					for i, v := range before {
						after[i] = stage.next(r, v)
					}
					if Max(after) == negInf {
						after[r.IntN(n)] = 5
					}
					f(t, before, after)
				}
			})
		}
	}
}

// A difference depends neither on the machine nor on the form of the rows.
func TestDifferencesHaveTheSameBitsEverywhere(t *testing.T) {
	var c Comparer // one slate for all
	pairs(t, func(t *testing.T, before, after []float32) {
		want := bitsOf(new(Comparer).compare(portable, side(before, nil), side(after, nil)))
		for l := portable; l <= best; l++ {
			for form := range 4 {
				b, a := side(before, nil), side(after, nil)
				if form&1 != 0 {
					b = side(twin(before))
				}
				if form&2 != 0 {
					a = side(twin(after))
				}
				if got := bitsOf(c.compare(l, b, a)); got != want {
					t.Fatalf("%v, %d tokens, form %d:\n%s\n%s", l, len(before), form, got, want)
				}
			}
		}
	})
}

// The sums against plain ones, whose n additions are each off by 2^-53 of what
// has been added up, as are those of the vectors.
func TestDifferencesAreTheirDefinition(t *testing.T) {
	pairs(t, func(t *testing.T, before, after []float32) {
		b, a := side(before, nil), side(after, nil)
		var want Difference
		size := 0.0 // of the terms of KL
		for i, v := range after {
			q, p := a.Share*a.Weights[i], b.Share*b.Weights[i]
			was, left := before[i] != negInf, v != negInf
			switch {
			case left && !was:
				want.Entered, want.Moved = true, true
				want.L1 += q
			case left:
				want.Kept += b.Weights[i]
				want.L1 += math.Abs(q - p)
				lnQ, lnP := float64(v)-a.Top-a.Ln, float64(before[i])-b.Top-b.Ln
				want.KL += q * (lnQ - lnP)
				size += q * (math.Abs(float64(v)) + math.Abs(a.Top) + math.Abs(float64(before[i])) + math.Abs(b.Top) + 20)
				want.Moved = want.Moved || math.Float32bits(v) != math.Float32bits(before[i])
			case was:
				want.Dropped += b.Weights[i]
				want.DroppedLean += b.Weights[i] * (float64(before[i]) - b.Top)
			}
		}
		got := new(Comparer).Compare(b, a)
		const relative = 1e-12 // 9,000 terms of 2^-53
		if want.Entered {
			want.KL, size = math.Inf(1), 0
		}
		for _, c := range []struct {
			name            string
			got, want, size float64
		}{
			{"kept", got.Kept, want.Kept, want.Kept},
			{"dropped", got.Dropped, want.Dropped, want.Dropped},
			{"dropped lean", got.DroppedLean, want.DroppedLean, math.Abs(want.DroppedLean)},
			{"L1", got.L1, want.L1, 1},
			{"KL", got.KL, want.KL, size},
		} {
			if c.got != c.want && !(math.Abs(c.got-c.want) <= relative*c.size) {
				t.Fatalf("%d tokens: %s is %v, want %v", len(before), c.name, c.got, c.want)
			}
		}
		if got.Entered != want.Entered || got.Moved != want.Moved {
			t.Fatalf("%d tokens: entered %t, moved %t, want %+v", len(before), got.Entered, got.Moved, want)
		}
	})
}

// What drops nothing keeps the sum before, and what changes nothing differs in
// nothing, all to the bit.
func TestNoDifferenceIsExactlyNone(t *testing.T) {
	pairs(t, func(t *testing.T, before, after []float32) {
		b := side(before, nil)
		if d := new(Comparer).Compare(b, side(twin(before))); d != (Difference{Kept: Add(b.Weights, nil)}) {
			t.Fatalf("%d tokens: %+v", len(before), d)
		}
		d := new(Comparer).Compare(b, side(after, nil))
		if total := Add(b.Weights, nil); d.Dropped == 0 && !d.Entered && Support(after) == Support(before) && d.Kept != total {
			t.Fatalf("%d tokens: kept %v of %v", len(before), d.Kept, total)
		}
	})
}

// One token that entered, moved or differs is found anywhere.
func TestOneTokenThatDiffersIsFoundAnywhere(t *testing.T) {
	zero := float32(math.Copysign(0, -1))
	for l := portable; l <= best; l++ {
		for n := 1; n < 40; n++ {
			before := make([]float32, n)
			for i := range before {
				after := slices.Clone(before)
				after[i] = zero
				d := new(Comparer).compare(l, side(before, nil), side(after, nil))
				if !d.Moved || d.Entered || d.L1 != 0 || sameOf(l, before, after) || !sameOf(l, before, before) {
					t.Fatalf("%v, %d tokens: the sign of %d: %+v", l, n, i, d)
				}
				if n == 1 {
					continue
				}
				after[i] = negInf
				d = new(Comparer).compare(l, side(after, nil), side(before, nil))
				if !d.Entered || !d.Moved || !math.IsInf(d.KL, 1) || sameOf(l, before, after) {
					t.Fatalf("%v, %d tokens: %d enters: %+v", l, n, i, d)
				}
				d = new(Comparer).compare(l, side(before, nil), side(after, nil))
				if d.Entered || d.Moved || d.Dropped != 1 || d.Kept != float64(n-1) {
					t.Fatalf("%v, %d tokens: %d goes: %+v", l, n, i, d)
				}
			}
		}
	}
	if long := make([]float32, 3000); !Same(long, slices.Clone(long)) || Same(long, long[1:]) {
		t.Error("a row is not the same as its copy, or is as a shorter one")
	}
}

func FuzzCompare(f *testing.F) {
	for _, n := range []int{1, 8, 17, 70} {
		seed := make([]byte, 8*n)
		for i := range seed {
			seed[i] = byte(i * 41)
		}
		f.Add(seed)
	}
	f.Add([]byte{0, 0, 128, 255, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 255})
	f.Fuzz(func(t *testing.T, data []byte) {
		n := len(data) / 8
		if n == 0 || n > 5000 {
			return
		}
		rows := [2][]float32{make([]float32, n), make([]float32, n)}
		for i := range 2 * n {
			v := math.Float32frombits(uint32(data[4*i]) | uint32(data[4*i+1])<<8 | uint32(data[4*i+2])<<16 | uint32(data[4*i+3])<<24)
			if !(v <= math.MaxFloat32) {
				v = negInf
			}
			rows[i/n][i%n] = v
		}
		for _, row := range rows {
			if Max(row) == negInf {
				row[0] = 0
			}
		}
		var c Comparer
		want := bitsOf(c.compare(portable, side(rows[0], nil), side(rows[1], nil)))
		for l := portable; l <= best; l++ {
			for form := range 4 {
				b, a := side(rows[0], nil), side(rows[1], nil)
				if form&1 != 0 {
					b = side(twin(rows[0]))
				}
				if form&2 != 0 {
					a = side(twin(rows[1]))
				}
				if got := bitsOf(c.compare(l, b, a)); got != want {
					t.Fatalf("%v, form %d:\n%s\n%s", l, form, got, want)
				}
			}
		}
	})
}
