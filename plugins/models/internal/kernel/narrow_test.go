package kernel

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"lab/plugins/models/internal/gguf"
)

// TestBlocksAreStoredAsGGMLStoresThem compares with testdata/narrow.gguf, which
// testdata/peer/narrow.py has written; see the README there.
func TestBlocksAreStoredAsGGMLStoresThem(t *testing.T) {
	file, err := gguf.Open("testdata/narrow.gguf")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	values, ok := file.Tensor("values")
	if !ok || values.Type != gguf.F32 || values.Elements() < 40*256 {
		t.Fatalf("no values: %+v", values)
	}
	x := make([]float32, values.Elements())
	widenF32(x, file.Data(values))
	for _, f := range Formats() {
		if f == F32 {
			continue // what the values are written in
		}
		stored, ok := file.Tensor(f.String() + ".stored")
		if !ok || stored.Elements() != values.Elements() {
			t.Fatalf("%v: no blocks: %+v", f, stored)
		}
		want, got := file.Data(stored), make([]byte, stored.Size)
		Narrow(got, x, f)
		size := f.Bytes(f.Block())
		different := 0
		for b := 0; b*size < len(want); b++ {
			if g, w := got[b*size:][:size], want[b*size:][:size]; !bytes.Equal(g, w) {
				if different++; different == 1 {
					t.Errorf("%v: block %d of values %v\n got %x\nwant %x", f, b, x[b*f.Block():][:f.Block()], g, w)
				}
			}
		}
		if different > 0 {
			t.Errorf("%v: %d of %d blocks differ", f, different, len(want)/size)
		}
	}
}

// What was widened exactly is stored as it was: half precision and bfloat16 are
// float32 numbers.
func TestHalvesComeBack(t *testing.T) {
	for i := range 1 << 16 {
		if v := halfToFloat(uint16(i)); v == v && floatToHalf(v) != uint16(i) {
			t.Fatalf("half %#04x became %#04x", i, floatToHalf(v))
		}
		if v := math.Float32frombits(uint32(i) << 16); v == v && brainBits(v) != uint16(i) {
			t.Fatalf("bfloat16 %#04x became %#04x", i, brainBits(v))
		}
	}
	nan := float32(math.NaN())
	if !math.IsNaN(float64(halfToFloat(floatToHalf(nan)))) || brainBits(nan)&0x7fff <= 0x7f80 {
		t.Error("NaN became a number")
	}
}

// Half precision is the nearest one, ties to even: against the neighbours.
func TestHalvesAreTheNearest(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for range 200_000 {
		v := math.Float32frombits(r.Uint32())
		if !(abs(v) < 65520) {
			continue
		}
		h := floatToHalf(v)
		miss := math.Abs(float64(halfToFloat(h)) - float64(v))
		for _, other := range []uint16{h + 1, h - 1} {
			w := halfToFloat(other)
			if w-w != 0 {
				continue
			}
			if m := math.Abs(float64(w) - float64(v)); m < miss || m == miss && h&1 == 1 {
				t.Fatalf("%g is stored as %g, and %g is nearer", v, halfToFloat(h), w)
			}
		}
	}
}

// Storing what a format can hold loses nothing more: values widened from blocks of
// 32 with one scale are stored in the same numbers.
func TestStoringTwiceChangesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	x, y, z := make([]float32, 256*20), make([]float32, 256*20), make([]float32, 256*20)
	for i := range x {
		x[i] = float32(r.NormFloat64() * 0.05)
	}
	for _, f := range []Format{F32, F16, BF16, Q8_0, Q4_0, Q5_0} {
		b := make([]byte, f.Bytes(len(x)))
		Narrow(b, x, f)
		portableKernels().Widen(y, b, f)
		Narrow(b, y, f)
		portableKernels().Widen(z, b, f)
		for i := range y {
			// The scale is kept in 11 bits, so that the second one may be an ulp of these away.
			if !(math.Abs(float64(y[i]-z[i])) <= math.Abs(float64(y[i]))/1024) {
				t.Fatalf("%v: value %d: %g, then %g", f, i, y[i], z[i])
			}
		}
	}
}

// The error of a format is what its bits allow.
func TestErrorsOfTheFormats(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	x, y := make([]float32, 256*200), make([]float32, 256*200)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	// Relative L2 error on normal values, measured once and rounded up by a tenth:
	// a bound on regressions, not a theorem.
	for f, bound := range map[Format]float64{F32: 0, F16: 3e-4, BF16: 2.2e-3, Q8_0: 6.3e-3, Q5_1: 0.046, Q5_0: 0.054, Q6_K: 0.022,
		Q5_K: 0.04, Q4_1: 0.095, Q4_0: 0.11, IQ4_NL: 0.085, Q4_K: 0.083, Q3_K: 0.16, Q2_K: 0.33} {
		b := make([]byte, f.Bytes(len(x)))
		Narrow(b, x, f)
		portableKernels().Widen(y, b, f)
		var miss, size float64
		for i := range x {
			d := float64(y[i]) - float64(x[i])
			miss, size = miss+d*d, size+float64(x[i])*float64(x[i])
		}
		if e := math.Sqrt(miss / size); !(e <= bound) || e < bound/2 {
			t.Errorf("%v: relative error %.4g, bound %g", f, e, bound)
		}
	}
}

func TestValuesTooLargeForAScaleAreFound(t *testing.T) {
	x := make([]float32, 256)
	x[5] = 1e9
	x[6] = -1e9
	for _, f := range Formats() {
		b := make([]byte, f.Bytes(len(x)))
		Narrow(b, x, f)
		if f.Block() > 1 && BadScale(b, f) < 0 {
			t.Errorf("%v: a value of 1e9 is kept in half precision", f)
		}
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a part of a block was stored")
			}
		}()
		Narrow(make([]byte, 100), x[:33], Q4_0)
	}()
}

func FuzzNarrow(f *testing.F) {
	f.Add(uint8(Q4_K), uint64(1), float32(0.1))
	f.Add(uint8(Q3_K), uint64(2), float32(1e-20))
	f.Fuzz(func(t *testing.T, format uint8, seed uint64, size float32) {
		kind := Format(format % formats)
		r := rand.New(rand.NewPCG(seed, 3))
		x := make([]float32, 512)
		for i := range x {
			x[i] = float32(r.NormFloat64()) * size
			if x[i]-x[i] != 0 {
				x[i] = 0
			}
		}
		b := make([]byte, kind.Bytes(len(x))+4)
		binary.LittleEndian.PutUint32(b[len(b)-4:], 0xdeadbeef)
		Narrow(b, x, kind)
		if binary.LittleEndian.Uint32(b[len(b)-4:]) != 0xdeadbeef {
			t.Fatal("it wrote behind the blocks")
		}
	})
}
