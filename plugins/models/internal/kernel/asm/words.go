package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The sizes of kernel's words.go.
const (
	wordsPairs  = 16
	wordsHead   = 32
	wordsBytes  = wordsHead + 64*wordsPairs
	wordsRecord = 68
	wordsScale  = 64
)

// words writes the products of a group of 16 rows of words.
type words struct {
	m         machine
	w, x, y   reg.GPVirtual
	ys, wide  reg.GPVirtual // bytes from one row of y, one unit of x to the next
	count     reg.GPVirtual
	mask      reg.GPVirtual
	next      reg.GPVirtual // what is asked of memory
	firstLane int           // of a vector of 8
}

// wordProducts writes the products for one machine.
func wordProducts(m machine, t *tables) {
	function("productsWords"+m.suffix, "func(y *float32, ys, n int, w *byte, units int, x *byte, b int, next *byte)",
		fmt.Sprintf("productsWords%s sets y[j*ys+i] to the product of row i of a packed group with rounded row j for i < n <= 16 and j < b.", m.suffix))
	o := &words{m: m, w: build.GP64(), x: build.GP64(), y: gp("y"), ys: gp("ys"), wide: gp("b"), count: build.GP64(), next: gp("next")}
	left, first := gp("b"), gp("x")
	build.SHLQ(operand.U8(2), o.ys)
	build.IMUL3Q(operand.U8(wordsRecord), o.wide, o.wide)
	o.mask = t.maskPointer(gp("n"))
	sizes := []int{4, 1}
	if m.width == 16 {
		sizes = []int{12, 8, 4, 2, 1}
		loadMask(o.mask)
	}
	for _, size := range sizes {
		label := fmt.Sprintf("rows%d", size)
		build.Label(label)
		build.CMPQ(left, operand.U8(size))
		build.JL(operand.LabelRef(label + "_end"))
		for o.firstLane = 0; o.firstLane < lanes; o.firstLane += m.width {
			build.MOVQ(first, o.x)
			build.Load(build.Param("w"), o.w)
			o.rows(fmt.Sprintf("%s_%d", label, o.firstLane), size)
		}
		for range size {
			build.ADDQ(o.ys, o.y)
		}
		build.ADDQ(operand.U32(size*wordsRecord), first)
		build.SUBQ(operand.U8(size), left)
		build.JMP(operand.LabelRef(label))
		build.Label(label + "_end")
	}
	build.VZEROUPPER()
	build.RET()
}

// sum is the register of row j's products, whole that of its unit: from 8 and 20 on
// where there are 32, else from 0 and 4 on.
func (o *words) sum(j int) reg.VecPhysical { return o.m.vec(o.m.width - 8 + j) }
func (o *words) whole(j int) reg.VecPhysical {
	return o.m.vec(map[int]int{8: 4, 16: 20}[o.m.width] + j)
}

// rows multiplies with so many rows of activations.
func (o *words) rows(label string, size int) {
	zero := func(v reg.VecPhysical) {
		if o.m.width == 16 {
			build.VPXORD(v, v, v)
		} else {
			build.VPXOR(v, v, v)
		}
	}
	for j := range size {
		zero(o.sum(j))
	}
	build.Load(build.Param("units"), o.count)
	build.Label(label + "_unit")
	if o.firstLane == 0 {
		tile := wordsRecord * map[int]int{8: 4, 16: 12}[o.m.width]
		fetchNext(label, o.next, o.wide, wordsBytes, tile)
	}
	scale, factor, weights := o.m.vec(12), o.m.vec(13), o.m.vec(14)
	if o.m.width == 16 {
		scale, factor = o.m.vec(4), o.m.vec(5)
	}
	build.VPMOVZXWD(at(o.w, nil, 0, 2*o.firstLane), scale)
	build.VPSLLD(operand.U8(16), scale, scale)
	for j := range size {
		zero(o.whole(j))
	}
	for t := range wordsPairs {
		if o.m.width == 16 {
			weights = o.m.vec(t % 4)
			build.VMOVDQU32(at(o.w, nil, 0, wordsHead+64*t), weights)
			for j := range size {
				build.VPDPWSSD_BCST(o.record(j, 4*t), weights, o.whole(j))
			}
			continue
		}
		build.VMOVDQU(at(o.w, nil, 0, wordsHead+64*t+4*o.firstLane), weights)
		for j := range size {
			build.VPBROADCASTD(o.record(j, 4*t), factor)
			build.VPMADDWD(weights, factor, factor)
			build.VPADDD(factor, o.whole(j), o.whole(j))
		}
	}
	for j := range size {
		build.VCVTDQ2PS(o.whole(j), o.whole(j))
		if o.m.width == 16 {
			build.VMULPS_BCST(o.record(j, wordsScale), scale, factor)
		} else {
			build.VBROADCASTSS(o.record(j, wordsScale), factor)
			build.VMULPS(scale, factor, factor)
		}
		build.VFMADD231PS(o.whole(j), factor, o.sum(j))
	}
	build.ADDQ(operand.U32(wordsBytes), o.w)
	build.ADDQ(o.wide, o.x)
	build.DECQ(o.count)
	build.JNZ(operand.LabelRef(label + "_unit"))
	y := build.GP64()
	build.MOVQ(o.y, y)
	for j := range size {
		if j > 0 {
			build.ADDQ(o.ys, y)
		}
		if o.m.width == 16 {
			build.VMOVUPS(o.sum(j), reg.K1, at(y, nil, 0, 0))
			continue
		}
		build.VMOVUPS(at(o.mask, nil, 0, 4*o.firstLane), ymm(15))
		build.VMASKMOVPS(o.sum(j), ymm(15), at(y, nil, 0, 4*o.firstLane))
	}
}

// record returns the address of what row j has at an offset of its record.
func (o *words) record(j, offset int) operand.Mem { return at(o.x, nil, 0, j*wordsRecord+offset) }

// roundByWords writes the rounding of activations to words.
//
// Registers: 0 to 3 values, 4 to 7 scratch, 8 the factor, 9 the inverse of the
// largest magnitude, 10 that magnitude.
func roundByWords(t *tables) {
	function("roundByWordsAVX2", "func(dst *byte, stride int, x *float32, runs int)",
		"roundByWordsAVX2 rounds runs of 32 activations into records stride bytes apart.")
	dst, stride, x, runs := gp("dst"), gp("stride"), gp("x"), gp("runs")
	build.VMOVUPS(t.floats["absolute"], ymm(15))
	build.TESTQ(runs, runs)
	build.JZ(operand.LabelRef("end"))
	build.Label("run")
	build.VPXOR(ymm(7), ymm(7), ymm(7))
	for i := range 4 {
		build.VMOVUPS(at(x, nil, 0, 32*i), ymm(i))
		build.VPAND(ymm(i), ymm(15), ymm(4+i%2))
		build.VPMAXSD(ymm(4+i%2), ymm(7), ymm(7))
	}
	highest(7, 4)
	build.VMOVAPS(xmm(7), xmm(10))
	build.VCMPSS(operand.U8(13), t.floats["leastOfWords"], xmm(7), xmm(6)) // not below least; false for NaN
	build.VMOVSS(t.floats["one"], xmm(5))
	build.VDIVSS(xmm(7), xmm(5), xmm(9))
	build.VANDPS(xmm(6), xmm(9), xmm(9))
	build.VBROADCASTSS(xmm(9), ymm(9))
	for i := range 4 {
		build.VMULPS(ymm(9), ymm(i), ymm(i))
	}
	build.VMULPS(ymm(0), ymm(0), ymm(4))
	build.VMULPS(ymm(1), ymm(1), ymm(5))
	build.VFMADD231PS(ymm(2), ymm(2), ymm(4))
	build.VFMADD231PS(ymm(3), ymm(3), ymm(5))
	build.VADDPS(ymm(5), ymm(4), ymm(4))
	build.VEXTRACTF128(operand.U8(1), ymm(4), xmm(5))
	build.VADDPS(xmm(5), xmm(4), xmm(4))
	build.VMOVHLPS(xmm(4), xmm(4), xmm(5))
	build.VADDPS(xmm(5), xmm(4), xmm(4))
	build.VMOVSHDUP(xmm(4), xmm(5))
	build.VADDSS(xmm(5), xmm(4), xmm(4))
	build.VSQRTSS(xmm(4), xmm(4), xmm(4))
	build.VMOVSS(t.floats["wordsLength"], xmm(5))
	build.VDIVSS(xmm(4), xmm(5), xmm(8))
	build.VMINSS(t.floats["mostWord"], xmm(8), xmm(8)) // the constant where the other is NaN
	build.VBROADCASTSS(xmm(8), ymm(4))
	for i := range 4 {
		build.VMULPS(ymm(4), ymm(i), ymm(i))
		build.VCVTPS2DQ(ymm(i), ymm(i))
	}
	for i := 0; i < 4; i += 2 {
		build.VPACKSSDW(ymm(i+1), ymm(i), ymm(i))
		build.VPERMQ(operand.U8(0xd8), ymm(i), ymm(i))
		build.VMOVDQU(ymm(i), at(dst, nil, 0, 16*i))
	}
	build.VDIVSS(xmm(8), xmm(10), xmm(4))
	build.VANDPS(xmm(6), xmm(4), xmm(4))
	build.VSUBSS(xmm(10), xmm(10), xmm(5)) // NaN for NaN and infinity
	build.VADDSS(xmm(5), xmm(4), xmm(4))
	build.VMOVSS(xmm(4), at(dst, nil, 0, wordsScale))
	build.ADDQ(stride, dst)
	build.SUBQ(operand.I8(-128), x)
	build.DECQ(runs)
	build.JNZ(operand.LabelRef("run"))
	build.Label("end")
	build.VZEROUPPER()
	build.RET()
}
