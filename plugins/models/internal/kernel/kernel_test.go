package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// vectors returns every implementation but the portable one. On a machine
// without any the comparisons below have nothing to compare; the portable
// laws are tested all the same.
func vectors() []*Kernels {
	all := All()
	return all[:len(all)-1]
}

// sameBits compares bit by bit, except that every NaN is like another.
func sameBits(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

func requireSame(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if !sameBits(got[i], want[i]) {
			t.Fatalf("%s: element %d is %x (%g), want %x (%g)", what, i,
				math.Float32bits(got[i]), got[i], math.Float32bits(want[i]), want[i])
		}
	}
}

// fills are kinds of numbers: ordinary ones, and those where vector code likes
// to differ.
var fills = []struct {
	name string
	next func(r *rand.Rand) float32
}{
	{"normal", func(r *rand.Rand) float32 { return float32(r.NormFloat64()) }},
	{"wide range", func(r *rand.Rand) float32 {
		return float32(math.Ldexp(r.NormFloat64(), r.IntN(200)-100))
	}},
	{"any bits", func(r *rand.Rand) float32 { return math.Float32frombits(r.Uint32()) }},
	{"special", func(r *rand.Rand) float32 {
		s := []float32{0, float32(math.Copysign(0, -1)), 1, -1, math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32,
			math.MaxFloat32, -math.MaxFloat32, 1e-38, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())}
		return s[r.IntN(len(s))]
	}},
	{"signed zeros and ones", func(r *rand.Rand) float32 {
		return []float32{0, float32(math.Copysign(0, -1)), 1, -1}[r.IntN(4)]
	}},
}

func filled(r *rand.Rand, n int, next func(*rand.Rand) float32) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = next(r)
	}
	return out
}

var lengths = []int{1, 2, 3, 7, 8, 9, 15, 16, 17, 23, 24, 31, 32, 33, 48, 63, 64, 65, 100, 129, 192, 511}

func TestVectorDotsEqualPortableBitForBit(t *testing.T) {
	portable := portableKernels()
	for _, k := range vectors() {
		for _, f := range fills {
			t.Run(k.Name()+"/"+f.name, func(t *testing.T) {
				r := rand.New(rand.NewPCG(1, 2))
				for _, length := range lengths {
					for _, size := range [][2]int{{1, 1}, {3, 2}, {4, 1}, {4, 4}, {5, 5}, {8, 3}, {9, 6}, {16, 1}, {23, 3}, {32, 2}, {16, 7}, {4, 33}} {
						n, b := size[0], size[1]
						ws, xs, ys := length+r.IntN(3), length+r.IntN(3), n+r.IntN(3)
						w, x := filled(r, n*ws, f.next), filled(r, b*xs, f.next)
						got, want := filled(r, b*ys, f.next), make([]float32, b*ys)
						copy(want, got)
						k.Dots(got, ys, w, ws, n, x, xs, b, length)
						portable.Dots(want, ys, w, ws, n, x, xs, b, length)
						requireSame(t, fmt.Sprintf("length %d, %d rows, %d activations", length, n, b), got, want)
					}
				}
			})
		}
	}
}

// Columns between one sum and the next are to stay as they were.
func TestVectorWeightedSumsEqualPortableBitForBit(t *testing.T) {
	portable := portableKernels()
	for _, k := range vectors() {
		for _, f := range fills {
			t.Run(k.Name()+"/"+f.name, func(t *testing.T) {
				r := rand.New(rand.NewPCG(7, 8))
				for _, length := range lengths {
					for _, size := range [][2]int{{1, 1}, {2, 3}, {3, 16}, {4, 5}, {5, 2}, {7, 31}, {9, 1}, {16, 64}} {
						b, n := size[0], size[1]
						os, vs, as := length+r.IntN(3), length+r.IntN(3), n+r.IntN(3)
						v, a := filled(r, n*vs, f.next), filled(r, b*as, f.next)
						got, want := filled(r, b*os, f.next), make([]float32, b*os)
						copy(want, got)
						k.AddWeighted(got, os, b, v, vs, n, a, as, length)
						portable.AddWeighted(want, os, b, v, vs, n, a, as, length)
						requireSame(t, fmt.Sprintf("length %d, %d sums, %d rows", length, b, n), got, want)
					}
				}
			})
		}
	}
}

func TestDotsEqualDotWhateverTheTile(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, k := range All() {
		const n, b, length = 13, 11, 77
		w, x := filled(r, n*length, fills[0].next), filled(r, b*length, fills[0].next)
		y := make([]float32, n*b)
		k.Dots(y, n, w, length, n, x, length, b, length)
		for j := range b {
			for i := range n {
				want := k.Dot(w[i*length:][:length], x[j*length:][:length])
				if !sameBits(y[j*n+i], want) {
					t.Fatalf("%s: row %d, activation %d: %g in a tile, %g alone", k.Name(), i, j, y[j*n+i], want)
				}
			}
		}
	}
}

func TestDotIsNearTheExactSum(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, length := range lengths {
		w, x := filled(r, length, fills[0].next), filled(r, length, fills[0].next)
		exact, size := 0.0, 0.0
		for i := range w {
			exact += float64(w[i]) * float64(x[i])
			size += math.Abs(float64(w[i]) * float64(x[i]))
		}
		// Each element passes through length/16 additions of its lane and 4 of the
		// tree, each with a relative error of 2^-24.
		tol := size * float64(length/lanes+5) / (1 << 24)
		if got := float64(portableDot(w, x)); !(math.Abs(got-exact) <= tol) {
			t.Errorf("length %d: %g, exact %g", length, got, exact)
		}
	}
	if got := portableKernels().Dot(nil, nil); got != 0 {
		t.Errorf("an empty dot product is %g", got)
	}
}

func TestVectorElementwiseEqualPortableBitForBit(t *testing.T) {
	portable := portableKernels()
	for _, k := range vectors() {
		for _, f := range fills {
			t.Run(k.Name()+"/"+f.name, func(t *testing.T) {
				r := rand.New(rand.NewPCG(7, 8))
				for _, n := range append([]int{0}, lengths...) {
					label := fmt.Sprintf("%d values", n)
					a, b := filled(r, n, f.next), filled(r, n, f.next)

					got, want := append([]float32(nil), a...), append([]float32(nil), a...)
					gotMax, wantMax := k.scaleMax(got, 0.37), portable.scaleMax(want, 0.37)
					requireSame(t, label+": scale", got, want)
					// The sign of a zero is the one thing a maximum leaves open.
					if gotMax != wantMax {
						t.Fatalf("%s: largest is %g, want %g", label, gotMax, wantMax)
					}

					got, want = append(got[:0], a...), append(want[:0], a...)
					gotSum, wantSum := k.expSum(got, 0.5), portable.expSum(want, 0.5)
					requireSame(t, label+": exponentials", append(got, gotSum), append(want, wantSum))

					got, want = append(got[:0], a...), append(want[:0], a...)
					k.SiLUMul(got, b)
					portable.SiLUMul(want, b)
					requireSame(t, label+": silu", got, want)

					got, want = append(got[:0], a...), append(want[:0], a...)
					k.GELU(got)
					portable.GELU(want)
					requireSame(t, label+": gelu", got, want)

					got, want = append(got[:0], a...), append(want[:0], a...)
					k.GELUMul(got, b)
					portable.GELUMul(want, b)
					requireSame(t, label+": gated gelu", got, want)

					got, want = append(got[:0], a...), append(want[:0], a...)
					k.Add(got, b)
					portable.Add(want, b)
					requireSame(t, label+": sum", got, want)

					got, want = append(got[:0], a...), append(want[:0], a...)
					k.RMSNorm(got, b, 1e-5)
					portable.RMSNorm(want, b, 1e-5)
					requireSame(t, label+": norm", got, want)

					c := filled(r, n, f.next)
					got, want = append(got[:0], a[:n&^1]...), append(want[:0], a[:n&^1]...)
					k.Rotate(got, b, c)
					portable.Rotate(want, b, c)
					requireSame(t, label+": rotation", got, want)
				}
			})
		}
	}
}

func TestVectorCodeStaysInsideItsSlices(t *testing.T) {
	const guard = 12345
	for _, k := range All() {
		for _, n := range lengths {
			buffer := make([]float32, n+32)
			for i := range buffer {
				buffer[i] = guard
			}
			s := buffer[16 : 16+n]
			for i := range s {
				s[i] = 0.1
			}
			k.Softmax(s, 1)
			k.SiLUMul(s, s)
			k.GELU(s)
			k.GELUMul(s, s)
			k.AddWeighted(s, 0, 1, s, 0, 1, []float32{0.5}, 0, n)
			k.Add(s, s)
			k.RMSNorm(s, s, 1)
			k.Rotate(s[:n&^1], s, s)
			for i, v := range buffer {
				if (i < 16 || i >= 16+n) && v != guard {
					t.Fatalf("%s, %d values: wrote at %d", k.Name(), n, i-16)
				}
			}
		}
	}
}
