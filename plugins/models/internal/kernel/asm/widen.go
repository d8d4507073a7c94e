package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// widening writes the conversion of one stored format to float32: block by block,
// with the block's values in the order in which its bytes hold them.
type widening struct {
	m        machine
	t        *tables
	dst, src reg.GPVirtual
	frame    operand.Mem // 64 bytes for scales, where a block has several
}

// Vector registers of a widening. 0 to 3 are the values in work.
const (
	scaleReg  = 4 // and 5 for a second one
	minReg    = 6 // and 7 for a second one
	bitsReg   = 8
	offsetReg = 12
	maskReg   = 13
	upperReg  = 14 // mask of the bits that come from elsewhere
)

// widen writes the conversions of all formats that have one here.
func widen(m machine, t *tables) {
	for _, f := range []struct {
		name, what   string
		size, values int
		framed       bool
		constants    [3]string // for offsetReg, maskReg and upperReg
		body         func(w *widening)
	}{
		{"F16", "runs of 16 half-precision values", 32, 16, false, [3]string{}, (*widening).f16},
		{"BF16", "runs of 16 upper halves of float32", 32, 16, false, [3]string{}, (*widening).bf16},
		{"Q8_0", "Q8_0 blocks", 34, 32, false, [3]string{}, (*widening).q8},
		{"Q4_0", "Q4_0 blocks", 18, 32, false, [3]string{"int8", "int15", ""}, (*widening).q4},
		{"Q5_0", "Q5_0 blocks", 22, 32, false, [3]string{"int16", "int15", "int16"}, (*widening).q5},
		{"Q4_K", "Q4_K blocks", 144, 256, true, [3]string{"", "int15", ""}, func(w *widening) { w.superMin(-1, 16) }},
		{"Q5_K", "Q5_K blocks", 176, 256, true, [3]string{"", "int15", "int16"}, func(w *widening) { w.superMin(16, 48) }},
		{"Q6_K", "Q6_K blocks", 210, 256, true, [3]string{"int32", "int15", "int48"}, (*widening).q6},
	} {
		name := "widen" + f.name + m.suffix
		function(name, "func(dst *float32, src *byte, blocks int)", fmt.Sprintf("%s converts %s.", name, f.what))
		w := &widening{m: m, t: t, dst: gp("dst"), src: gp("src")}
		n := gp("blocks")
		if f.framed {
			w.frame = build.AllocLocal(64)
		}
		for i, c := range f.constants {
			if c != "" {
				build.VPBROADCASTD(t.floats[c], m.vec(offsetReg+i))
			}
		}
		build.TESTQ(n, n)
		build.JZ(operand.LabelRef("end"))
		build.Label("block")
		f.body(w)
		build.ADDQ(operand.U32(f.size), w.src)
		build.ADDQ(operand.U32(4*f.values), w.dst)
		build.DECQ(n)
		build.JNZ(operand.LabelRef("block"))
		build.Label("end")
		build.VZEROUPPER()
		build.RET()
	}
}

func (w *widening) from(offset int) operand.Mem { return at(w.src, nil, 0, offset) }

// chunks runs f over n values, a vector's width at a time.
func (w *widening) chunks(n int, f func(first int)) {
	for first := 0; first < n; first += w.m.width {
		f(first)
	}
}

func (w *widening) and(a, b, to reg.VecPhysical) {
	if w.m.width == 16 {
		build.VPANDD(a, b, to)
	} else {
		build.VPAND(a, b, to)
	}
}

func (w *widening) or(a, b, to reg.VecPhysical) {
	if w.m.width == 16 {
		build.VPORD(a, b, to)
	} else {
		build.VPOR(a, b, to)
	}
}

// half fills register to with the half-precision number at offset.
func (w *widening) half(offset, to int) {
	if w.m.width == 16 {
		build.VPBROADCASTW(w.from(offset), ymm(to))
		build.VCVTPH2PS(ymm(to), w.m.vec(to))
	} else {
		build.VPBROADCASTW(w.from(offset), xmm(to))
		build.VCVTPH2PS(xmm(to), ymm(to))
	}
}

// shift moves the bits of register v up by n places, or down when n is negative.
func (w *widening) shift(v, n int) {
	switch x := w.m.vec(v); {
	case n > 0:
		build.VPSLLD(operand.U8(n), x, x)
	case n < 0:
		build.VPSRLD(operand.U8(-n), x, x)
	}
}

// store makes float32 of the whole numbers in register v, multiplies by register
// scale, subtracts register minimum unless it is negative, and writes them as
// values first on.
func (w *widening) store(v, scale, minimum, first int) {
	x := w.m.vec(v)
	build.VCVTDQ2PS(x, x)
	build.VMULPS(w.m.vec(scale), x, x)
	if minimum >= 0 {
		build.VSUBPS(w.m.vec(minimum), x, x)
	}
	build.VMOVUPS(x, at(w.dst, nil, 0, 4*first))
}

func (w *widening) f16() {
	w.chunks(16, func(first int) {
		build.VCVTPH2PS(w.from(2*first), w.m.vec(0))
		build.VMOVUPS(w.m.vec(0), at(w.dst, nil, 0, 4*first))
	})
}

func (w *widening) bf16() {
	w.chunks(16, func(first int) {
		build.VPMOVZXWD(w.from(2*first), w.m.vec(0))
		w.shift(0, 16)
		build.VMOVUPS(w.m.vec(0), at(w.dst, nil, 0, 4*first))
	})
}

func (w *widening) q8() {
	w.half(0, scaleReg)
	w.chunks(32, func(first int) {
		build.VPMOVSXBD(w.from(2+first), w.m.vec(0))
		w.store(0, scaleReg, -1, first)
	})
}

// nibbles loads a vector of bytes at offset and leaves their low halves in
// register 0 and their high halves in register 1.
func (w *widening) nibbles(offset int) {
	build.VPMOVZXBD(w.from(offset), w.m.vec(0))
	build.VPSRLD(operand.U8(4), w.m.vec(0), w.m.vec(1))
	w.and(w.m.vec(maskReg), w.m.vec(0), w.m.vec(0))
}

func (w *widening) q4() {
	w.half(0, scaleReg)
	w.chunks(16, func(first int) {
		w.nibbles(2 + first)
		for side := range 2 {
			build.VPSUBD(w.m.vec(offsetReg), w.m.vec(side), w.m.vec(side))
			w.store(side, scaleReg, -1, first+16*side)
		}
	})
}

func (w *widening) q5() {
	w.half(0, scaleReg)
	build.VPBROADCASTD(w.from(2), w.m.vec(bitsReg))
	w.chunks(16, func(first int) {
		w.nibbles(6 + first)
		for side := range 2 {
			// Bit i of the word goes to value i, there to be bit 4.
			build.VPSRLVD(w.t.counts.Offset(4*(first+16*side)), w.m.vec(bitsReg), w.m.vec(2))
			w.shift(2, 4)
			w.and(w.m.vec(upperReg), w.m.vec(2), w.m.vec(2))
			w.or(w.m.vec(2), w.m.vec(side), w.m.vec(side))
			build.VPSUBD(w.m.vec(offsetReg), w.m.vec(side), w.m.vec(side))
			w.store(side, scaleReg, -1, first+16*side)
		}
	})
}

// sixBits unpacks eight numbers of 6 bits: four in the bytes at low, whose upper
// two bits are the upper ones of the other four, and the lower four bits of those
// from bit nibble of the bytes at 12 on. It multiplies them by the half-precision
// number at unit and writes the products into the frame from slot on.
func (w *widening) sixBits(low, nibble, unit, slot int) {
	a, b, c := build.GP32(), build.GP32(), build.GP32()
	build.MOVL(w.from(low), a)
	build.MOVL(a, b)
	build.ANDL(operand.U32(0x3f3f3f3f), a)
	build.SHRL(operand.U8(2), b)
	build.ANDL(operand.U32(0x30303030), b)
	build.MOVL(w.from(12), c)
	if nibble > 0 {
		build.SHRL(operand.U8(nibble), c)
	}
	build.ANDL(operand.U32(0x0f0f0f0f), c)
	build.ORL(c, b)
	build.SHLQ(operand.U8(32), b.As64())
	build.ORQ(a.As64(), b.As64())
	build.VMOVQ(b.As64(), xmm(0))
	build.VPMOVZXBD(xmm(0), ymm(0))
	build.VCVTDQ2PS(ymm(0), ymm(0))
	build.VPBROADCASTW(w.from(unit), xmm(1))
	build.VCVTPH2PS(xmm(1), ymm(1))
	build.VMULPS(ymm(1), ymm(0), ymm(0))
	build.VMOVUPS(ymm(0), w.frame.Offset(4*slot))
}

// superMin is Q4_K, or with fifth bits at upper Q5_K, with the halves of bytes at
// lower.
func (w *widening) superMin(upper, lower int) {
	w.sixBits(4, 0, 0, 0)
	w.sixBits(8, 4, 2, 8)
	for pair := range 4 {
		for side := range 2 {
			build.VBROADCASTSS(w.frame.Offset(4*(2*pair+side)), w.m.vec(scaleReg+side))
			build.VBROADCASTSS(w.frame.Offset(4*(8+2*pair+side)), w.m.vec(minReg+side))
		}
		w.chunks(32, func(first int) {
			w.nibbles(lower + 32*pair + first)
			for side := range 2 {
				part := 2*pair + side
				if upper >= 0 {
					build.VPMOVZXBD(w.from(upper+first), w.m.vec(2))
					w.shift(2, 4-part)
					w.and(w.m.vec(upperReg), w.m.vec(2), w.m.vec(2))
					w.or(w.m.vec(2), w.m.vec(side), w.m.vec(side))
				}
				w.store(side, scaleReg+side, minReg+side, 32*part+first)
			}
		})
	}
}

func (w *widening) q6() {
	w.half(208, scaleReg)
	w.chunks(16, func(first int) {
		build.VPMOVSXBD(w.from(192+first), w.m.vec(0))
		build.VCVTDQ2PS(w.m.vec(0), w.m.vec(0))
		build.VMULPS(w.m.vec(scaleReg), w.m.vec(0), w.m.vec(0))
		build.VMOVUPS(w.m.vec(0), w.frame.Offset(4*first))
	})
	for run := range 8 {
		n, j := run/4, run%4
		w.chunks(32, func(first int) {
			build.VPMOVZXBD(w.from(64*n+32*(j%2)+first), w.m.vec(0))
			if j < 2 {
				w.and(w.m.vec(maskReg), w.m.vec(0), w.m.vec(0))
			} else {
				w.shift(0, -4)
			}
			build.VPMOVZXBD(w.from(128+32*n+first), w.m.vec(1))
			w.shift(1, 4-2*j)
			w.and(w.m.vec(upperReg), w.m.vec(1), w.m.vec(1))
			w.or(w.m.vec(1), w.m.vec(0), w.m.vec(0))
			build.VPSUBD(w.m.vec(offsetReg), w.m.vec(0), w.m.vec(0))
			build.VBROADCASTSS(w.frame.Offset(4*(2*run+first/16)), w.m.vec(scaleReg))
			w.store(0, scaleReg, -1, 32*run+first)
		})
	}
}
