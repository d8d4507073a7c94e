package kernel

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// packedForms returns every packed form.
func packedForms() []Form {
	var all []Form
	for _, f := range Formats() {
		for _, exact := range []bool{false, true} {
			if l, ok := Packs(f, 256, exact); ok && !slices.Contains(all, l) {
				all = append(all, l)
			}
		}
	}
	return all
}

// String names a form in tests.
func (l Form) String() string {
	if packings[l].words {
		return l.format().String() + "-words"
	}
	return l.format().String()
}

// blockFills are ways to fill stored blocks with bytes.
var blockFills = []struct {
	name string
	next func(r *rand.Rand) byte
}{
	{"random", func(r *rand.Rand) byte { return byte(r.Uint32()) }},
	{"all zeros", func(*rand.Rand) byte { return 0 }},
	{"all ones", func(*rand.Rand) byte { return 0xff }},
	{"least signed", func(*rand.Rand) byte { return 0x80 }},
	{"greatest signed", func(*rand.Rand) byte { return 0x7f }},
}

// storedRows returns rows of stored blocks with finite scales.
func storedRows(r *rand.Rand, f Format, rows, cols int, next func(r *rand.Rand) byte) []byte {
	l := &layouts[f]
	out := make([]byte, f.Bytes(rows*cols))
	for i := range out {
		out[i] = next(r)
	}
	for at := 0; at < len(out); at += l.size {
		if f == F16 || f == BF16 { // an exponent that is that of no number is not stored
			out[at+1] &^= 4
		}
		for _, s := range l.scales {
			binary.LittleEndian.PutUint16(out[at+s:], floatToHalf(float32(r.NormFloat64()/64)))
		}
	}
	return out
}

// activationFills are rows that rounding may find hard.
var activationFills = []struct {
	name string
	next func(r *rand.Rand) float32
}{
	{"normal", fills[0].next},
	{"wide range", fills[1].next},
	{"any bits", fills[2].next},
	{"special", fills[3].next},
	{"largest only", func(r *rand.Rand) float32 { return float32(1 - 2*r.IntN(2)) }},
	{"ties", func(r *rand.Rand) float32 { return float32(r.IntN(255)-127) / 2 }},
	{"near the least", func(r *rand.Rand) float32 { return float32(math.Ldexp(r.NormFloat64(), -119)) }},
	{"near the least of words", func(r *rand.Rand) float32 { return float32(math.Ldexp(r.NormFloat64(), -100)) }},
	{"zeros", func(*rand.Rand) float32 { return 0 }},
}

func TestVectorRoundingEqualsPortableBitForBit(t *testing.T) {
	portable := portableKernels()
	for _, k := range vectors() {
		for _, fill := range activationFills {
			for _, rounding := range []Rounding{ByBlock, BySuperBlock, ByWords} {
				size, floats := rounding.recordBytes(), map[int]bool{scaleAt: true, shareAt: true, share16: true, share16 + 4: true}
				if rounding == ByWords {
					floats = map[int]bool{wordsScaleAt: true}
				}
				r := rand.New(rand.NewPCG(1, 2))
				for range 20 {
					const cols, b = 768, 3
					got, want := make([]byte, rounding.RoundedBytes(cols, b)), make([]byte, rounding.RoundedBytes(cols, b))
					for j := range b {
						x := filled(r, cols, fill.next)
						k.Round(got, x, rounding, j, b)
						portable.Round(want, x, rounding, j, b)
					}
					for i := 0; i < len(got); i += 4 {
						g, w := word(got, i), word(want, i)
						if floats[i%size] && sameBits(math.Float32frombits(g), math.Float32frombits(w)) {
							continue
						}
						if g != w {
							t.Fatalf("%s, %s, rounding %d: byte %d of record %d: %08x, want %08x", k.Name(), fill.name, rounding,
								i%size, i/size, g, w)
						}
					}
				}
			}
		}
	}
}

func TestRoundingIsNearestAndSumsAreExact(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, rounding := range []Rounding{ByBlock, BySuperBlock} {
		x := filled(r, 512, fills[0].next)
		out := make([]byte, rounding.RoundedBytes(512, 1))
		Best().Round(out, x, rounding, 0, 1)
		for i := 0; i < len(x); i += 32 {
			record := out[i/32*recordBytes:]
			scale, sum := float64(float(record[scaleAt:])), int32(0)
			for j := range 32 {
				q := int32(int8(record[j]))
				sum += q
				// Half a step, and what is lost by keeping the scale in half precision.
				if d := math.Abs(float64(x[i+j]) - scale*float64(q)); !(d <= scale*(0.5+127.0/2048)) {
					t.Errorf("rounding %d: %g becomes %d times %g", rounding, x[i+j], q, scale)
				}
			}
			if got := int32(word(record, negativeAt)); got != -sum {
				t.Errorf("rounding %d: the negative sum is %d, want %d", rounding, got, -sum)
			}
			if share := float64(float(record[shareAt:])); !(math.Abs(share-scale*float64(sum)) <= math.Abs(share)/1024+1e-7) {
				t.Errorf("rounding %d: the share is %g, want %g", rounding, share, scale*float64(sum))
			}
		}
	}
}

// TestTwoPartsKeepFifteenBits: what rounding leaves, rounded in turn, is at most
// half a step of 1/127 of the largest rest, itself at most half a step; a scale
// kept in half precision leaves up to 2^-11 of a value more to the second part.
func TestTwoPartsKeepFifteenBits(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	k := Best()
	for _, kind := range []Rounding{ByBlock, BySuperBlock} {
		for turn := range 50 {
			x := make([]float32, 512)
			for i := range x {
				x[i] = float32(r.NormFloat64() * r.NormFloat64() * math.Exp(4*r.NormFloat64()))
			}
			const b = 3
			rounded, rest := make([]byte, kind.RoundedBytes(len(x), b)), make([]float32, len(x))
			k.Round(rounded, x, kind, 1, b)
			Rest(rest, rounded, x, 1, b)
			k.Round(rounded, rest, kind, 2, b)
			left := slices.Clone(rest)
			Rest(left, rounded, left, 2, b) // in place
			for from := 0; from < len(x); from += kind.values() {
				block := x[from:][:kind.values()]
				largest := float64(magnitude(block))
				for i, v := range block {
					// The rests are kept as float32.
					if got, limit := math.Abs(float64(left[from+i])), largest*(0.5/127+1.0/2048)*(0.5/127+1.0/2048)+math.Abs(float64(v))/(1<<24); !(got <= limit) {
						t.Fatalf("%v, turn %d: of %g, the largest being %g, two parts leave %g, more than %g", kind, turn, v, largest, got, limit)
					}
				}
			}
		}
	}
}

func TestRoundingMakesInfiniteOrNoNumbersShow(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for _, k := range All() {
			for _, rounding := range []Rounding{ByBlock, BySuperBlock, ByWords} {
				x := make([]float32, 256)
				x[3], x[17] = 1, float32(bad)
				out := make([]byte, rounding.RoundedBytes(256, 1))
				k.Round(out, x, rounding, 0, 1)
				at := scaleAt
				if rounding == ByWords {
					at = wordsScaleAt
				}
				if s := float(out[at:]); s == s {
					t.Errorf("%s, rounding %d: a block with %v has the scale %g", k.Name(), rounding, bad, s)
				}
			}
		}
	}
}

func TestHalfPrecisionRoundsToTheNearest(t *testing.T) {
	for h := range uint32(1 << 16) {
		v := halfToFloat(uint16(h))
		if v != v {
			continue
		}
		if got := floatToHalf(v); uint32(got) != h {
			t.Fatalf("%g becomes %04x, not %04x", v, got, h)
		}
		if h&0x7fff >= 0x7bff {
			continue
		}
		next := halfToFloat(uint16(h + 1))
		middle := (v + next) / 2 // exact
		if got, even := floatToHalf(middle), uint16(h+h&1); got != even {
			t.Fatalf("%g, between %04x and %04x, becomes %04x", middle, h, h+1, got)
		}
	}
}

// TestPackingKeepsEveryValue unpacks what was packed and compares with what the
// format's own definition makes of the stored blocks.
func TestPackingKeepsEveryValue(t *testing.T) {
	k := portableKernels()
	for _, l := range packedForms() {
		for _, fill := range blockFills {
			const rows, cols = 19, 512
			r := rand.New(rand.NewPCG(5, 6))
			src := storedRows(r, l.format(), rows, cols, fill.next)
			want := make([]float32, rows*cols)
			k.Widen(want, src, l.format())
			packed := make([]byte, l.PackedBytes(rows, cols))
			l.Pack(packed, src, rows, cols)
			if packings[l].words {
				requireWords(t, fmt.Sprintf("%v, %s", l, fill.name), packed, want, rows, cols)
				continue
			}
			got := unpacked(k, packed, l, rows, cols)
			for i := range want {
				// All of them are exact but the subtraction of minima, which is
				// rounded once in both.
				if !sameBits(got[i], want[i]) && got[i] != want[i] {
					t.Fatalf("%v, %s: row %d, column %d is %g, want %g", l, fill.name, i/cols, i%cols, got[i], want[i])
				}
			}
		}
	}
}

// unpacked returns what a packed matrix stands for.
func unpacked(k *Kernels, w []byte, l Form, rows, cols int) []float32 {
	p, f := &packings[l], l.format()
	out := make([]float32, rows*cols)
	if p.plain { // in another order only
		for i := range out {
			row, col := i/cols, i%cols
			at := row/groupRows*p.groupBytes(f, cols) + f.Bytes(col*groupRows+row%groupRows)
			k.Widen(out[i:i+1], w[at:][:f.Bytes(1)], f)
		}
		return out
	}
	for row := range rows {
		w := w[row/groupRows*p.groupBytes(f, cols):]
		for i := 0; i < cols; {
			head := w
			w = w[p.headBytes():]
			for range f.Block() / p.unit {
				var q [32]int32
				p.values(&q, w, row%groupRows)
				scale, minimum := p.scales(head, w, row%groupRows)
				for j := range p.unit {
					out[row*cols+i] = float32(scale*float32(q[j])) + minimum
					i++
				}
				w = w[p.unitBytes():]
			}
		}
	}
	return out
}

func TestVectorProductsEqualPortableBitForBit(t *testing.T) {
	portable := portableKernels()
	for _, k := range vectors() {
		for _, l := range packedForms() {
			t.Run(k.Name()+"/"+l.String(), func(t *testing.T) {
				r := rand.New(rand.NewPCG(7, 8))
				for _, weights := range blockFills {
					for _, fill := range activationFills {
						for _, size := range [][3]int{{16, 1, 1}, {7, 1, 2}, {33, 5, 1}, {17, 31, 2}} {
							rows, b, cols := size[0], size[1], size[2]*256
							compareProducts(t, r, k, portable, l, rows, b, cols, weights.name+", "+fill.name,
								storedRows(r, l.format(), rows, cols, weights.next), filled(r, b*cols, fill.next))
						}
					}
				}
			})
		}
	}
}

func compareProducts(t *testing.T, r *rand.Rand, k, portable *Kernels, l Form, rows, b, cols int, what string, src []byte, x []float32) {
	t.Helper()
	rounding := l.Rounding()
	packed := make([]byte, l.PackedBytes(rows, cols))
	l.Pack(packed, src, rows, cols)
	rounded := make([]byte, rounding.RoundedBytes(cols, b))
	for j := range b {
		portable.Round(rounded, x[j*cols:][:cols], rounding, j, b)
	}
	ys := rows + r.IntN(3)
	got, want := filled(r, b*ys, fills[0].next), make([]float32, b*ys)
	copy(want, got)
	k.Products(got, ys, packed, l, rows, rounded, b, cols, nil)
	portable.Products(want, ys, packed, l, rows, rounded, b, cols, nil)
	requireSame(t, fmt.Sprintf("%s, %d rows, %d activations of %d", what, rows, b, cols), got, want)
}

// TestProductsAreNearTheExactOnes compares with sums in float64 of the weights as
// they are widened and the activations as they are rounded.
func TestProductsAreNearTheExactOnes(t *testing.T) {
	const rows, cols, b = 16, 768, 2
	for _, k := range All() {
		for _, l := range packedForms() {
			r := rand.New(rand.NewPCG(9, 10))
			f, rounding := l.format(), l.Rounding()
			src, x := storedRows(r, f, rows, cols, blockFills[0].next), filled(r, b*cols, fills[0].next)
			w := make([]float32, rows*cols)
			k.Widen(w, src, f)
			packed, rounded, y := make([]byte, l.PackedBytes(rows, cols)), make([]byte, rounding.RoundedBytes(cols, b)), make([]float32, rows*b)
			l.Pack(packed, src, rows, cols)
			for j := range b {
				k.Round(rounded, x[j*cols:][:cols], rounding, j, b)
			}
			k.Products(y, rows, packed, l, rows, rounded, b, cols, nil)
			for i := range y {
				exact, size := 0.0, 0.0
				for c := range cols {
					p := float64(w[i%rows*cols+c])
					switch rounding {
					case AsIs:
						p *= float64(x[i/rows*cols+c])
					case ByWords:
						lane, packed := i%rows, packed[c/wordsUnit*wordsBytes:]
						p = float64(wordsScale(packed, lane)) * float64(wordsValue(packed, lane, c%wordsUnit))
						record := rounded[(c/32*b+i/rows)*wordsRecord:]
						p *= float64(float(record[wordsScaleAt:])) * float64(int16(binary.LittleEndian.Uint16(record[c%32*2:])))
					default:
						record := rounded[(c/32*b+i/rows)*recordBytes:]
						p *= float64(float(record[scaleAt:])) * float64(int8(record[c%32]))
					}
					exact, size = exact+p, size+math.Abs(p)
				}
				// Some 50 roundings of at most the size; shares of minima are kept in
				// half precision, which is 2^-11 of a block's share, of blocks that
				// partly cancel.
				tol := size * 1e-5
				if f == Q4_1 || f == Q5_1 {
					tol = size * 1e-3
				}
				if !(math.Abs(float64(y[i])-exact) <= tol) {
					t.Fatalf("%s, %v: product %d is %g, exact %g of %g", k.Name(), l, i, y[i], exact, size)
				}
			}
		}
	}
}
