package explore

import (
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/dop251/goja"

	"lab/core/dist/vec"
	"lab/core/seed"
)

// engine runs the page's arithmetic, and defines a function of the test's own.
func engine(t *testing.T, function string) func(args ...any) any {
	t.Helper()
	vm := goja.New()
	if _, err := vm.RunString(arithmetic()); err != nil {
		t.Fatal(err)
	}
	v, err := vm.RunString("(" + function + ")")
	if err != nil {
		t.Fatal(err)
	}
	call, _ := goja.AssertFunction(v)
	return func(args ...any) any {
		t.Helper()
		values := make([]goja.Value, len(args))
		for i, a := range args {
			values[i] = vm.ToValue(a)
		}
		out, err := call(goja.Undefined(), values...)
		if err != nil {
			t.Fatal(err)
		}
		return out.Export()
	}
}

func floats(t *testing.T, v any) []float64 {
	t.Helper()
	list, ok := v.([]any)
	if !ok {
		t.Fatalf("the page answers %T", v)
	}
	out := make([]float64, len(list))
	for i, x := range list {
		switch x := x.(type) {
		case int64:
			out[i] = float64(x)
		case float64:
			out[i] = x
		default:
			t.Fatalf("number %d is %T", i, x)
		}
	}
	return out
}

func TestUniformsAreTheCores(t *testing.T) {
	uniform := engine(t, "(seed, prompt, step) => lab.uniform(BigInt(seed), Array.from(prompt), step)")
	prompts := [][]byte{nil, []byte("The weather today is"), []byte("größer ☂"), {0xff, 0}}
	for n := 37; n <= 128; n += 13 { // around the borders of the blocks of SHA-256
		prompts = append(prompts, []byte(strings.Repeat("a", n)))
	}
	for i, prompt := range prompts {
		runs := []uint64{0, 1, 42, 1 << 53, math.MaxUint64}
		if i > 3 {
			runs = runs[:1]
		}
		for _, run := range runs {
			for _, step := range []uint64{0, 77, 1<<32 - 1} {
				var want [1]float64
				seed.New(run, prompt).Uniforms(want[:], 0, step, seed.Draw)
				list := make([]any, len(prompt))
				for i, b := range prompt {
					list[i] = b
				}
				got := uniform(uintText(run), list, step)
				if x, ok := got.(int64); ok {
					got = float64(x)
				}
				if got != want[0] {
					t.Fatalf("seed %d, prompt %q, step %d: got %v, want %v", run, prompt, step, got, want[0])
				}
			}
		}
	}
}

// The last bits of products and sums that cancel are where an emulation fails.
func TestFusedStepsAreExact(t *testing.T) {
	fma := engine(t, "(a, b, c) => a.map((x, i) => lab.fma(x, b[i], c[i]))")
	r := rand.New(rand.NewPCG(5, 6))
	var a, b, c []float64
	for i := range 6000 {
		x, y := r.NormFloat64(), r.NormFloat64()*math.Exp2(float64(r.IntN(40)-20))
		z := r.NormFloat64()
		switch i % 5 {
		case 1: // nearly all cancels
			z = -x * y
		case 2: // far apart: the product decides about half a unit
			z = math.Exp2(float64(r.IntN(120)-60)) * (1 + float64(r.IntN(8))*0x1p-52)
			x, y = math.Exp2(float64(r.IntN(60)-60)), 1+float64(r.IntN(3)-1)*0x1p-52
		case 3:
			z = 3 << 51
		case 4: // a tie that the last bit of the product decides
			x, y = 1+float64(r.IntN(17)-8)*0x1p-52, 1+float64(r.IntN(17)-8)*0x1p-52
			z = 3.5 + float64(r.IntN(64))*0x1p-51
		}
		a, b, c = append(a, x), append(b, y), append(c, z)
	}
	for i, got := range floats(t, fma(a, b, c)) {
		if want := math.FMA(a[i], b[i], c[i]); got != want {
			t.Fatalf("%x * %x + %x is %x, want %x", a[i], b[i], c[i], got, want)
		}
	}
}

func TestExponentialsAndLogarithmsAreTheCores(t *testing.T) {
	of := engine(t, "list => list.flatMap(x => [lab.exp(-x), lab.log(x)])")
	r := rand.New(rand.NewPCG(7, 8))
	list := []float64{1, 708, 708.0001, 0.5, math.Nextafter(1, 0), math.Nextafter(1, 2), 1e-300, 262144, 1e300}
	for range 1500 {
		list = append(list, r.ExpFloat64()*8, math.Exp2(r.Float64()*40-20))
	}
	// On machines where Go fuses steps of its own accord, math.Log may differ in
	// its last bit.
	logTol := 0.0
	if runtime.GOARCH != "amd64" {
		logTol = 0x1p-51
	}
	if got := floats(t, of([]float64{5e-324})); got[1] != -744.4400719213812 { // math.Log itself errs below 2^-1022 on amd64
		t.Errorf("the logarithm of the least number is %v", got[1])
	}
	got := floats(t, of(list))
	for i, x := range list {
		if want := vec.Exp(-x); got[2*i] != want {
			t.Errorf("exp(%v) is %x, want %x", -x, got[2*i], want)
		}
		if want := math.Log(x); !(math.Abs(got[2*i+1]-want) <= logTol*math.Abs(want)) {
			t.Errorf("log(%v) is %x, want %x", x, got[2*i+1], want)
		}
	}
}

// A uniform number at the very border of two tokens, and one unit to each side of
// it, gives the token that the core gives.
func TestDrawsAtTheBordersOfTokensAreTheCores(t *testing.T) {
	draw := engine(t, `(values, ids, us) => {
		const row = { ids: ids && Int32Array.from(ids), values: Float32Array.from(values), vocab: 1e6, unlisted: 0 };
		return us.map(u => lab.draw(row, u));
	}`)
	r := rand.New(rand.NewPCG(9, 10))
	for _, n := range []int{1, 2, 7, 300, 2500} {
		for _, sparse := range []bool{false, true} {
			values := make([]float32, n)
			var ids []int32
			for i := range values {
				values[i] = float32(r.NormFloat64() * 3)
				if r.IntN(5) == 0 && i > 0 {
					values[i] = float32(math.Inf(-1))
				}
				if sparse {
					ids = append(ids, int32(i*3+r.IntN(3)))
				}
			}
			top := float64(vec.Max(values))
			total, run := vec.Sum(values, ids, top), 0.0
			us := []float64{0, math.Nextafter(1, 0)}
			for i, v := range values {
				run += vec.Exp(float64(v) - top)
				if u := run / total; (n < 100 || i%(n/15) == 0) && u < 1 {
					us = append(us, math.Nextafter(u, 0), u, min(math.Nextafter(u, 1), math.Nextafter(1, 0)))
				}
			}
			var given any
			if sparse {
				given = ids
			}
			for i, got := range floats(t, draw(values, given, us)) {
				at := vec.Draw(values, ids, top, us[i])
				if sparse {
					at = int(ids[at])
				}
				if int(got) != at {
					t.Errorf("%d tokens, listed %t, u = %x: token %v, the core draws %d", n, sparse, us[i], got, at)
				}
			}
		}
	}
}
