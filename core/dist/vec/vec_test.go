package vec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func (l level) String() string { return [...]string{"portable", "avx2", "avx512"}[l] }

// levels returns what this machine runs besides the portable code. On a machine
// without any, the comparisons below have nothing to compare; the portable laws
// are tested all the same.
func levels() []level {
	var all []level
	for l := portable + 1; l <= best; l++ {
		all = append(all, l)
	}
	return all
}

var negInf = float32(math.Inf(-1))

// fills are kinds of rows: ordinary ones, and those where vector code likes to
// differ.
var fills = []struct {
	name string
	next func(r *rand.Rand) float32
}{
	{"gaussian", func(r *rand.Rand) float32 { return float32(r.NormFloat64() * 3) }},
	{"half removed", func(r *rand.Rand) float32 {
		if r.IntN(2) == 0 {
			return negInf
		}
		return float32(r.NormFloat64() * 3)
	}},
	{"few left", func(r *rand.Rand) float32 {
		if r.IntN(50) > 0 {
			return negInf
		}
		return float32(r.NormFloat64())
	}},
	{"ties", func(r *rand.Rand) float32 { return float32(r.IntN(3)) }},
	{"around where weights vanish", func(r *rand.Rand) float32 { return float32(r.Float64() * -720) }},
	{"all magnitudes", func(r *rand.Rand) float32 {
		return float32(math.Ldexp(r.NormFloat64(), r.IntN(250)-125))
	}},
	{"special", func(r *rand.Rand) float32 {
		s := []float32{0, float32(math.Copysign(0, -1)), 1, -1, math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32,
			math.MaxFloat32, -math.MaxFloat32, 1e-38, negInf, -708, -708.00006, -707.99994}
		return s[r.IntN(len(s))]
	}},
}

// filled returns a row at an address that is a multiple of 4 and of nothing
// else: a slice of the start-th element on.
func filled(r *rand.Rand, n, start int, next func(*rand.Rand) float32) []float32 {
	out := make([]float32, start+n)[start:]
	for i := range out {
		out[i] = next(r)
	}
	return out
}

func lengths() []int {
	var all []int
	for n := range 71 {
		all = append(all, n)
	}
	return append(all, 127, 128, 1000, 1023, 1024, 1025, 1031, 2047, 2048, 5000)
}

// twin returns the finite scores of a dense row with their ids.
func twin(values []float32) (left []float32, ids []int32) {
	ids = []int32{}
	for i, v := range values {
		if v >= -math.MaxFloat32 {
			left, ids = append(left, v), append(ids, int32(i))
		}
	}
	return left, ids
}

func bits(x ...float64) []uint64 {
	out := make([]uint64, len(x))
	for i, v := range x {
		out[i] = math.Float64bits(v)
	}
	return out
}

// passes returns the bits of everything that the passes give for a row.
func passes(l level, values []float32, ids []int32, floor float32, top, u float64) (scans []string, sums []uint64, weights []float64) {
	scans = []string{
		fmt.Sprint("max ", maxOf(l, values)+0), fmt.Sprint("least ", leastOf(l, values)+0), fmt.Sprint("finite ", finiteOf(l, values)),
		fmt.Sprint("count ", countOf(l, values, floor)), fmt.Sprint("find ", findAll(l, nil, values, floor)),
		fmt.Sprint("pick ", pickAll(l, nil, values, floor)),
	}
	weights = make([]float64, len(values))
	w1, w2 := leanOf(l, weights, values, ids, top)
	l1, l2 := leanOf(l, nil, values, ids, top)
	n, m1, m2 := momentsOf(l, values, ids, top/3)
	exps := make([]float64, len(values))
	expsInto(l, exps, values, top)
	sums = bits(sumOf(l, values, ids, top), w1, w2, l1, l2, float64(n), m1, m2)
	if !slices.Equal(bits(exps...), bits(weights...)) {
		scans = append(scans, "Exps and Weigh differ")
	}
	if slices.Max(append(exps, 0)) > 0 {
		at := drawFrom(l, values, ids, top, u)
		if ids != nil {
			at = int(ids[at])
		}
		scans = append(scans, fmt.Sprint("draw ", at))
	}
	return scans, sums, weights
}

func TestVectorCodeEqualsPortableBitForBit(t *testing.T) {
	for _, l := range levels() {
		for _, f := range fills {
			t.Run(l.String()+"/"+f.name, func(t *testing.T) {
				r := rand.New(rand.NewPCG(1, 2))
				for _, n := range lengths() {
					values := filled(r, n, r.IntN(4), f.next)
					floor, top := f.next(r), float64(Max(values))
					if n == 0 {
						top = 0
					}
					left, ids := twin(values)
					for _, row := range []struct {
						name   string
						values []float32
						ids    []int32
					}{{"dense", values, nil}, {"sparse", left, ids}} {
						u := r.Float64()
						s1, b1, w1 := passes(l, row.values, row.ids, floor, top, u)
						s2, b2, w2 := passes(portable, row.values, row.ids, floor, top, u)
						if !slices.Equal(s1, s2) || !slices.Equal(b1, b2) || !slices.Equal(bits(w1...), bits(w2...)) {
							t.Fatalf("%d scores, %s:\n%v\n%v\n%x\n%x", n, row.name, s1, s2, b1, b2)
						}
					}
				}
			})
		}
	}
}

// A removed token adds an exact 0, and a token's lane and block follow its id.
func TestSparseRowsGiveTheBitsOfTheirDenseTwin(t *testing.T) {
	for l := portable; l <= best; l++ {
		for _, f := range fills {
			t.Run(l.String()+"/"+f.name, func(t *testing.T) {
				r := rand.New(rand.NewPCG(3, 4))
				for _, n := range append(lengths(), 70000) {
					values := filled(r, n, r.IntN(4), f.next)
					left, ids := twin(values)
					if len(left) == 0 {
						continue
					}
					top := float64(Max(values))
					_, dense, all := passes(l, values, nil, 0, top, 0)
					_, sparse, w := passes(l, left, ids, 0, top, 0)
					if !slices.Equal(dense, sparse) {
						t.Fatalf("%d scores, %d left:\n%x\n%x", n, len(left), dense, sparse)
					}
					if a, b := Add(all, nil), Add(w, ids); a != b || a != math.Float64frombits(dense[0]) {
						t.Fatalf("Add of %d: %v dense, %v sparse", n, a, b)
					}
					for range 20 {
						u := r.Float64()
						if a, b := drawFrom(l, values, nil, top, u), drawFrom(l, left, ids, top, u); int32(a) != ids[b] {
							t.Fatalf("u = %v draws %d of the dense row, %d of the sparse one", u, a, ids[b])
						}
					}
				}
			})
		}
	}
}

func TestScansAtTheEdges(t *testing.T) {
	zero, inf := math.Copysign(0, -1), float32(math.Inf(1))
	rows := []struct {
		name           string
		values         []float32
		max, least     float32
		support, first int // first of the largest
		finite         bool
	}{
		{"nothing", nil, negInf, inf, 0, -1, true},
		{"one", []float32{-3}, -3, -3, 1, 0, true},
		{"a zero without its sign", []float32{float32(zero)}, 0, 0, 1, 0, true},
		{"the first of tied ones", []float32{1, 7, negInf, 7}, 7, 1, 3, 1, false},
		{"only removed", []float32{negInf, negInf}, negInf, inf, 0, 0, false},
		{"the limits of float32", []float32{-math.MaxFloat32, math.MaxFloat32}, math.MaxFloat32, -math.MaxFloat32, 2, 1, true},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if got := Max(r.values); math.Float32bits(got) != math.Float32bits(r.max) {
				t.Errorf("largest %v, want %v", got, r.max)
			}
			if got := Least(r.values); math.Float32bits(got) != math.Float32bits(r.least) {
				t.Errorf("least %v, want %v", got, r.least)
			}
			if got := Support(r.values); got != r.support {
				t.Errorf("support %d, want %d", got, r.support)
			}
			if got := First(r.values, Max(r.values)); got != r.first {
				t.Errorf("first of the largest at %d, want %d", got, r.first)
			}
			if got := AllFinite(r.values); got != r.finite {
				t.Errorf("all finite: %v", got)
			}
		})
	}
}

// One odd entry anywhere, at every length around whole vectors, is found.
func TestChecksFindOneOddEntryAnywhere(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	odd := []float32{nan, inf, math.Float32frombits(0xffffffff), math.Float32frombits(0x7f800001), math.Float32frombits(0xff800001)}
	usual := []float32{0, float32(math.Copysign(0, -1)), 1, -1, math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32}
	for l := portable; l <= best; l++ {
		for n := range 70 {
			row, ids := make([]float32, n), make([]int32, n)
			for i := range row {
				row[i], ids[i] = usual[i%len(usual)], int32(3*i)
			}
			removed := slices.Clone(row)
			for i := range removed {
				removed[i] = negInf
			}
			if !legalOf(l, row) || !finiteOf(l, row) || !legalOf(l, removed) || !withinOf(l, row, row) || !withinOf(l, removed, row) || !ascendingOf(l, ids) {
				t.Fatalf("%v: a row of %d is refused", l, n)
			}
			if n > 0 && (withinOf(l, row, removed) || finiteOf(l, removed)) {
				t.Fatalf("%v: %d removed tokens are not found", l, n)
			}
			for i := range row {
				old := row[i]
				for _, v := range odd {
					if row[i] = v; legalOf(l, row) || finiteOf(l, row) {
						t.Fatalf("%v, length %d: %v at %d is not found", l, n, v, i)
					}
				}
				row[i] = negInf
				if !legalOf(l, row) || finiteOf(l, row) || !withinOf(l, row, usualLike(row, old, i)) || withinOf(l, usualLike(row, old, i), row) {
					t.Fatalf("%v, length %d: -Inf at %d", l, n, i)
				}
				row[i] = old
				if i == 0 {
					continue
				}
				for _, by := range []int32{3, 4, math.MaxInt32} {
					was := ids[i]
					if ids[i] -= by; ascendingOf(l, ids) {
						t.Fatalf("%v, length %d: %d at %d after %d is not found", l, n, ids[i], i, ids[i-1])
					}
					ids[i] = was
				}
			}
		}
	}
}

// usualLike returns row with v at i.
func usualLike(row []float32, v float32, i int) []float32 {
	c := slices.Clone(row)
	c[i] = v
	return c
}

func TestFirstLooksAtEveryPlace(t *testing.T) {
	values := make([]float32, 3*block+5)
	for i := range values {
		values[i] = 1
		if got := First(values, 1); got != i {
			t.Fatalf("the first at %d is found at %d", i, got)
		}
		values[i] = 0
	}
	if got := First(values, 1); got != -1 {
		t.Errorf("nothing is found at %d", got)
	}
}

// A search writes places only into unused capacity, and ends before that does.
func TestSearchStaysInsideItsMemory(t *testing.T) {
	const guard = -77
	r := rand.New(rand.NewPCG(5, 6))
	values := filled(r, 400, 1, func(r *rand.Rand) float32 { return float32(r.IntN(3)) })
	for l := portable; l <= best; l++ {
		for size := range 200 {
			memory, floats := make([]int32, size+64), make([]float32, size+64)
			for i := range memory {
				memory[i], floats[i] = guard, guard
			}
			old := min(size, 3)
			found, seen := searchIn(l, memory[:old:size], values, 1000, 1)
			picked, seenToo := pickIn(l, floats[:old:size], values, 1)
			for i := range memory {
				if (i < old || i >= size) && (memory[i] != guard || floats[i] != guard) {
					t.Fatalf("%v, room for %d: wrote at %d", l, size, i)
				}
			}
			if seen < len(values) && size-len(found) >= slack || seen != seenToo {
				t.Fatalf("%v: stopped after %d and %d scores with room for %d of %d", l, seen, seenToo, size-len(found), size)
			}
			var want []int32
			for i, v := range values[:seen] {
				if v >= 1 {
					want = append(want, int32(1000+i))
				}
			}
			if !slices.Equal(found[old:], want) {
				t.Fatalf("%v, room for %d: found %v, want %v", l, size, found[old:], want)
			}
			for i, at := range want {
				if picked[old+i] != values[at-1000] {
					t.Fatalf("%v, room for %d: picked %v", l, size, picked[old:])
				}
			}
		}
	}
}

// Weights are written into dst alone.
func TestWeightsStayInsideTheirMemory(t *testing.T) {
	const guard = 0.5
	for l := portable; l <= best; l++ {
		for _, n := range lengths() {
			memory := make([]float64, n+40)
			for i := range memory {
				memory[i] = guard
			}
			values := make([]float32, n)
			expsInto(l, memory[20:20+n], values, 0)
			leanOf(l, memory[20:20+n], values, nil, 0)
			for i, w := range memory {
				if inside := i >= 20 && i < 20+n; inside != (w == 1) {
					t.Fatalf("%v, %d weights: %v at %d", l, n, w, i-20)
				}
			}
		}
	}
}

func FuzzPasses(f *testing.F) {
	for _, n := range []int{0, 3, 8, 17, 33, 70} {
		seed := make([]byte, 4*n)
		for i := range seed {
			seed[i] = byte(i * 37)
		}
		f.Add(seed, float32(1), uint16(n))
	}
	f.Add([]byte{0, 0, 128, 255, 0, 0, 128, 63}, float32(-1), uint16(3))
	f.Fuzz(func(t *testing.T, data []byte, floor float32, mask uint16) {
		values := make([]float32, 0, len(data)/4+1)
		for i := range len(data) / 4 {
			v := math.Float32frombits(uint32(data[4*i]) | uint32(data[4*i+1])<<8 | uint32(data[4*i+2])<<16 | uint32(data[4*i+3])<<24)
			if mask>>(i%16)&1 != 0 || !(v <= math.MaxFloat32) {
				v = negInf
			}
			values = append(values, v)
		}
		if floor != floor {
			return
		}
		left, ids := twin(values)
		top := 0.0
		if len(left) > 0 {
			top = float64(Max(left))
		}
		s1, dense, _ := passes(portable, values, nil, floor, top, 0.5)
		_, sparse, _ := passes(portable, left, ids, floor, top, 0.5)
		if !slices.Equal(dense, sparse) {
			t.Fatalf("dense %x, sparse %x", dense, sparse)
		}
		for _, l := range levels() {
			s2, b2, _ := passes(l, values, nil, floor, top, 0.5)
			_, b3, _ := passes(l, left, ids, floor, top, 0.5)
			if !slices.Equal(s1, s2) || !slices.Equal(dense, b2) || !slices.Equal(dense, b3) {
				t.Fatalf("%v:\n%v\n%v\n%x\n%x\n%x", l, s1, s2, dense, b2, b3)
			}
		}
	})
}
