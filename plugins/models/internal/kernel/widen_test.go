package kernel

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"lab/plugins/models/internal/gguf"
)

// TestBlocksWidenToWhatGGMLMakesOfThem compares with testdata/blocks.gguf, which
// testdata/peer/blocks.py has written; see the README there.
func TestBlocksWidenToWhatGGMLMakesOfThem(t *testing.T) {
	file, err := gguf.Open("testdata/blocks.gguf")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, f := range Formats() {
		if f == F32 {
			continue // what the others are written in
		}
		stored, ok := file.Tensor(f.String() + ".stored")
		values, has := file.Tensor(f.String() + ".values")
		if !ok || !has || stored.Type.String() != f.String() || values.Type != gguf.F32 || stored.Elements() < 300 {
			t.Fatalf("%v: no blocks: %+v, %+v", f, stored, values)
		}
		n := int(stored.Elements())
		if int64(f.Bytes(n)) != stored.Size || values.Elements() != int64(n) {
			t.Errorf("%v: %d values take %d bytes, the file has %d", f, n, f.Bytes(n), stored.Size)
		}
		want := make([]float32, n)
		widenF32(want, file.Data(values))
		for _, k := range All() {
			got := make([]float32, n)
			k.Widen(got, file.Data(stored), f)
			requireSame(t, f.String()+" by "+k.Name(), got, want)
		}
	}
}

// widenAlike widens the whole blocks of src by every implementation and compares
// them, and what lies around them, with the portable one.
func widenAlike(t *testing.T, f Format, src []byte) {
	t.Helper()
	const guard = 12345
	n := len(src) / f.Bytes(f.Block()) * f.Block()
	want := make([]float32, n)
	portableKernels().Widen(want, src, f)
	for _, k := range vectors() {
		got := make([]float32, n+16)
		got[n], got[n+15] = guard, guard
		k.Widen(got[:n], src, f)
		requireSame(t, f.String()+" by "+k.Name(), got[:n], want)
		if got[n] != guard || got[n+15] != guard {
			t.Fatalf("%v by %s: wrote behind %d values", f, k.Name(), n)
		}
	}
	if f.Block() == 1 {
		return
	}
	finite := true
	for _, v := range want {
		finite = finite && v-v == 0
	}
	// A scale that is not finite shows in the values: infinity times zero is NaN.
	if bad := BadScale(src[:f.Bytes(n)], f); finite != (bad < 0) {
		t.Fatalf("%v: values finite: %v, first block with a bad scale: %d", f, finite, bad)
	}
}

func TestVectorWideningEqualsPortableBitForBit(t *testing.T) {
	for _, f := range Formats() {
		t.Run(f.String(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(13, uint64(f)))
			for _, blocks := range []int{0, 1, 2, 3, 7, 15, 16, 17, 31, 40} {
				for range 10 {
					src := make([]byte, f.Bytes(blocks*f.Block())+1)[1:] // unaligned
					for i := range src {
						src[i] = byte(r.Uint32())
					}
					widenAlike(t, f, src)
				}
			}
		})
	}
}

func FuzzWiden(f *testing.F) {
	for _, format := range Formats() {
		f.Add(uint8(format), make([]byte, format.Bytes(format.Block())))
		ones := make([]byte, 3*format.Bytes(format.Block())+1)
		for i := range ones {
			ones[i] = 0xff
		}
		f.Add(uint8(format), ones)
	}
	f.Fuzz(func(t *testing.T, format uint8, src []byte) { widenAlike(t, Format(format%formats), src) })
}

func TestAPartOfABlockIsNotWidened(t *testing.T) {
	for _, f := range Formats() {
		if f.Block() == 1 {
			continue
		}
		for _, k := range All() {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s widened a block and one value of %v", k.Name(), f)
					}
				}()
				k.Widen(make([]float32, f.Block()+1), make([]byte, 1000), f)
			}()
		}
	}
}

func TestABadScaleIsFoundInItsBlock(t *testing.T) {
	for _, f := range Formats() {
		size := f.Bytes(f.Block())
		for _, at := range layouts[f].scales {
			for _, r := range []struct {
				half uint16
				bad  bool
			}{{0x7c00, true}, {0xfc00, true}, {0x7c01, true}, {0xffff, true}, {0x7bff, false}, {0x8000, false}} {
				src := make([]byte, 5*size)
				binary.LittleEndian.PutUint16(src[3*size+at:], r.half)
				if got := BadScale(src, f); (got == 3) != r.bad || (got == -1) == r.bad {
					t.Errorf("%v: %#04x at byte %d of block 3: found in block %d", f, r.half, at, got)
				}
			}
		}
	}
	for _, f := range []Format{F32, F16, BF16} {
		if got := BadScale([]byte{255, 255, 255, 255}, f); got != -1 {
			t.Errorf("%v has a scale in block %d", f, got)
		}
	}
}

func TestFormatsHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range append(Formats(), Format(200)) {
		if s := f.String(); s == "" || seen[s] {
			t.Errorf("format %d is called %q", uint8(f), s)
		}
		seen[f.String()] = true
	}
}

func TestEveryHalfPrecisionValueWidensExactly(t *testing.T) {
	src := make([]byte, 2<<16)
	for i := range 1 << 16 {
		binary.LittleEndian.PutUint16(src[2*i:], uint16(i))
	}
	want := make([]float32, 1<<16)
	portableKernels().Widen(want, src, F16)
	for i, v := range want {
		exponent, fraction := i>>10&31, float64(i&0x3ff)
		exact := math.Ldexp(1+fraction/1024, exponent-15)
		switch {
		case exponent == 0:
			exact = math.Ldexp(fraction/1024, -14)
		case exponent == 31 && fraction == 0:
			exact = math.Inf(1)
		case exponent == 31:
			exact = math.NaN()
		}
		if i >= 1<<15 {
			exact = -exact
		}
		if !sameBits(v, float32(exact)) {
			t.Fatalf("half %#04x is %g, want %g", i, v, exact)
		}
	}
	for _, k := range vectors() {
		got := make([]float32, 1<<16)
		k.Widen(got, src, F16)
		requireSame(t, k.Name(), got, want)
		few := make([]float32, 13)
		k.Widen(got[:13], src[7:], F16) // unaligned, no multiple of 8
		portableKernels().Widen(few, src[7:], F16)
		requireSame(t, k.Name()+" unaligned", got[:13], few)
	}
}

func TestQ8BlocksWidenToScaleTimesByte(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	src := make([]byte, 9*34+1)[1:]
	for i := range src {
		src[i] = byte(r.Uint32())
	}
	n := 9 * 32
	want := make([]float32, n)
	for i := range want {
		block := src[i/32*34:]
		exact := float64(halfToFloat(binary.LittleEndian.Uint16(block))) * float64(int8(block[2+i%32]))
		want[i] = float32(exact)
		if !math.IsNaN(exact) && float64(want[i]) != exact {
			t.Fatalf("value %d, %g, is no float32", i, exact)
		}
	}
	for _, k := range All() {
		got := make([]float32, n)
		k.Widen(got, src, Q8_0)
		requireSame(t, k.Name(), got, want)
	}
}

func TestStoredFloatsAreViewedOnlyWhenAligned(t *testing.T) {
	src := make([]byte, 4*8+4)
	r := rand.New(rand.NewPCG(11, 12))
	for i := range src {
		src[i] = byte(r.Uint32()) &^ 0x40 // no NaN
	}
	views := 0
	for shift := range 4 {
		want := make([]float32, 8)
		portableKernels().Widen(want, src[shift:], F32)
		got, ok := View(src[shift:][:32])
		if !ok {
			continue
		}
		views++
		requireSame(t, "view", got, want)
	}
	if views != 1 {
		t.Errorf("%d of 4 neighbouring addresses could be viewed", views)
	}
	if _, ok := View(nil); ok {
		t.Error("nothing was viewed")
	}
}
