package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tables are the constants in read-only memory.
type tables struct {
	masks operand.Mem // 16 times -1, then 16 times 0, as int32
	// transpose takes element 4*r+x of 16 to 4*x+r, as int32.
	transpose operand.Mem
	counts    operand.Mem // 0 to 31 as int32
	gather    operand.Mem // 0, 4, 1, 5, 2, 6, 3, 7: undoes what packing does in halves
	levels    operand.Mem // of IQ4_NL, plus 128, as 16 bytes
	floats    map[string]operand.Mem
}

// newTables lays the constants out. The numbers of the exponential are those of
// kernel's expStep; a test there compares the two bit for bit.
func newTables() *tables {
	t := &tables{floats: map[string]operand.Mem{}}
	t.masks = build.GLOBL("masks", build.RODATA|build.NOPTR)
	for i := range 2 * lanes {
		v := operand.U32(0)
		if i < lanes {
			v = math.MaxUint32
		}
		build.DATA(4*i, v)
	}
	t.transpose = build.GLOBL("transpose", build.RODATA|build.NOPTR)
	for i := range lanes {
		build.DATA(4*i, operand.U32(i%4*4+i/4))
	}
	t.counts = build.GLOBL("counts", build.RODATA|build.NOPTR)
	for i := range 2 * lanes {
		build.DATA(4*i, operand.U32(i))
	}
	t.gather = build.GLOBL("gather", build.RODATA|build.NOPTR)
	for i := range 8 {
		build.DATA(4*i, operand.U32(i/2+i%2*4))
	}
	t.levels = build.GLOBL("levels", build.RODATA|build.NOPTR)
	for i, v := range []int{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113} {
		build.DATA(i, operand.U8(v+128))
	}
	for _, n := range []uint32{0, 3, 15, 16, 48, 128} {
		t.word(fmt.Sprintf("bytes%d", n), n*0x01010101)
	}
	t.word("words1", 0x00010001)
	t.word("absolute", 1<<31-1)
	t.word("f127", math.Float32bits(127))
	t.word("leastOfWords", math.Float32bits(1.0/(1<<100)))
	t.word("wordsLength", math.Float32bits(46300))
	t.word("mostWord", math.Float32bits(math.MaxInt16))
	t.word("least", math.Float32bits(1.0/(1<<119)))
	t.word("negInf", math.Float32bits(float32(math.Inf(-1))))
	t.word("sign", 1<<31)
	t.word("one", math.Float32bits(1))
	t.word("expLow", math.Float32bits(-87.33654))
	t.word("expHigh", math.Float32bits(88))
	t.word("log2e", math.Float32bits(math.Log2E))
	t.word("magic", math.Float32bits(3<<22))
	t.word("ln2High", math.Float32bits(22713.0/32768))
	t.word("ln2Low", math.Float32bits(math.Ln2-22713.0/32768))
	const linear = 2 * 0.7978845608028654
	t.word("geluLinear", math.Float32bits(linear))
	t.word("geluCubic", math.Float32bits(linear*0.044715))
	for _, n := range []uint32{8, 15, 16, 32, 48} {
		t.word(fmt.Sprintf("int%d", n), n)
	}
	factorial := 1.0
	for i, name := range []string{"c2", "c3", "c4", "c5", "c6", "c7"} {
		factorial *= float64(i + 2)
		t.word(name, math.Float32bits(float32(1/factorial)))
	}
	return t
}

// word adds eight copies of one 32-bit constant.
func (t *tables) word(name string, bits uint32) {
	t.floats[name] = build.GLOBL(name, build.RODATA|build.NOPTR)
	for i := range 8 {
		build.DATA(4*i, operand.U32(bits))
	}
}

// maskPointer points a new register at the mask whose first n of 16 elements
// are set; the caller reads 8 elements at offset 0 and 8 more at 32.
func (t *tables) maskPointer(n reg.GPVirtual) reg.GPVirtual {
	p, back := build.GP64(), build.GP64()
	build.LEAQ(t.masks.Offset(4*lanes), p)
	build.MOVQ(n, back)
	build.SHLQ(operand.U8(2), back)
	build.SUBQ(back, p)
	return p
}
