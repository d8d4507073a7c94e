package main

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// tables are the constants in read-only memory, as wide as the widest vector.
type tables struct {
	doubles map[string]operand.Mem
	words   map[string]operand.Mem
	places  operand.Mem // 256 times 8 bytes: the places of the bits of a mask
	ascend  operand.Mem // 0 to 15, as int32
}

// The numbers of the exponential are those of vec's Exp; a test there compares
// the two bit for bit.
var q = [...]float64{
	0x1.0000000000001p-1, 0x1.5555555555556p-3, 0x1.5555555553d68p-5, 0x1.11111111109b5p-7, 0x1.6c16c17889ef1p-10,
	0x1.a01a01a7c2efep-13, 0x1.a019b9149a41cp-16, 0x1.71de0db2f6b19p-19, 0x1.28917c89a43a7p-22, 0x1.af389ecfc4b9cp-26,
}

func newTables() *tables {
	t := &tables{doubles: map[string]operand.Mem{}, words: map[string]operand.Mem{}}
	for i, c := range q {
		t.double(fmt.Sprint("q", i), c)
	}
	t.double("one", 1)
	t.double("log2e", math.Log2E)
	t.double("magic", 3<<51)
	t.double("ln2High", 0x1.62e42fefa39efp-1)
	t.double("ln2Low", 0x1.abc9e3b39803fp-56)
	t.double("vanish", -708)
	t.double("lowest", -math.MaxFloat64)
	t.double("unsigned64", math.Float64frombits(1<<63-1))
	t.word("negInf", math.Float32bits(float32(math.Inf(-1))))
	t.word("posInf", math.Float32bits(float32(math.Inf(1))))
	t.word("unsigned", 0x7fffffff)
	t.word("unit", 1)
	t.word("lowest32", math.Float32bits(-math.MaxFloat32))
	t.places = build.GLOBL("places", build.RODATA|build.NOPTR)
	for m := range 256 {
		word, left := uint64(0), uint(m)
		for i := 0; left != 0; i++ {
			word |= uint64(bits.TrailingZeros(left)) << (8 * i)
			left &= left - 1
		}
		build.DATA(8*m, operand.U64(word))
	}
	t.ascend = build.GLOBL("ascend", build.RODATA|build.NOPTR)
	for i := range 16 {
		build.DATA(4*i, operand.U32(i))
	}
	return t
}

// double adds eight copies of a float64.
func (t *tables) double(name string, v float64) {
	t.doubles[name] = build.GLOBL(name, build.RODATA|build.NOPTR)
	for i := range 8 {
		build.DATA(8*i, operand.U64(math.Float64bits(v)))
	}
}

// word adds sixteen copies of a 32-bit constant.
func (t *tables) word(name string, v uint32) {
	t.words[name] = build.GLOBL(name, build.RODATA|build.NOPTR)
	for i := range 16 {
		build.DATA(4*i, operand.U32(v))
	}
}
