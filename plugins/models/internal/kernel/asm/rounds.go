package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rounds writes the rounding of activations; see kernel's round.go.
//
// Registers: 0 to 3 values, 4 to 7 scratch, 8 the factor, 9 the scale, 10 the
// scale before it was kept, both only the lowest element.
func rounds(t *tables) {
	for _, r := range []struct {
		name, what string
		values     int
	}{
		{"roundByBlockAVX2", "roundByBlockAVX2 rounds runs of 32 activations into records stride bytes apart.", 32},
		{"roundBySuperBlockAVX2", "roundBySuperBlockAVX2 rounds runs of 256 activations into records stride bytes apart.", 256},
	} {
		function(r.name, "func(dst *byte, stride int, x *float32, runs int)", r.what)
		dst, stride, x, runs := gp("dst"), gp("stride"), gp("x"), gp("runs")
		build.VMOVUPS(t.floats["absolute"], ymm(15))
		build.TESTQ(runs, runs)
		build.JZ(operand.LabelRef("end"))
		build.Label("run")
		build.VPXOR(ymm(7), ymm(7), ymm(7))
		for i := 0; i < r.values; i += 8 {
			build.VPAND(at(x, nil, 0, 4*i), ymm(15), ymm(4+i/8%2))
			build.VPMAXSD(ymm(4+i/8%2), ymm(7), ymm(7))
		}
		highest(7, 4)                                                   // the largest magnitude
		build.VCMPSS(operand.U8(13), t.floats["least"], xmm(7), xmm(6)) // not below least; false for NaN
		build.VMOVSS(t.floats["f127"], xmm(5))
		build.VDIVSS(xmm(7), xmm(5), xmm(8))
		build.VANDPS(xmm(6), xmm(8), xmm(8))
		if r.values == 32 {
			build.VDIVSS(xmm(5), xmm(7), xmm(10))
		} else {
			build.VMOVSS(t.floats["one"], xmm(5))
			build.VDIVSS(xmm(8), xmm(5), xmm(10))
		}
		build.VANDPS(xmm(6), xmm(10), xmm(10))
		build.VSUBSS(xmm(7), xmm(7), xmm(5)) // NaN for NaN and infinity
		build.VADDSS(xmm(5), xmm(10), xmm(10))
		if r.values == 32 {
			build.VCVTPS2PH(operand.U8(0), xmm(10), xmm(9))
			build.VCVTPH2PS(xmm(9), xmm(9))
		} else {
			build.VMOVAPS(xmm(10), xmm(9))
		}
		build.VBROADCASTSS(xmm(8), ymm(8))
		if r.values == 32 {
			roundBlock(t, dst, x, true)
			build.ADDQ(stride, dst)
			build.SUBQ(operand.I8(-128), x)
		} else {
			left := build.GP64()
			build.MOVQ(operand.U32(8), left)
			build.Label("block")
			roundBlock(t, dst, x, false)
			build.ADDQ(stride, dst)
			build.SUBQ(operand.I8(-128), x)
			build.DECQ(left)
			build.JNZ(operand.LabelRef("block"))
		}
		build.DECQ(runs)
		build.JNZ(operand.LabelRef("run"))
		build.Label("end")
		build.VZEROUPPER()
		build.RET()
	}
}

// highest leaves the largest of 8 whole numbers in every element of xmm v.
func highest(v, temp int) {
	build.VEXTRACTI128(operand.U8(1), ymm(v), xmm(temp))
	build.VPMAXSD(xmm(temp), xmm(v), xmm(v))
	build.VPSHUFD(operand.U8(0x4e), xmm(v), xmm(temp))
	build.VPMAXSD(xmm(temp), xmm(v), xmm(v))
	build.VPSHUFD(operand.U8(0xb1), xmm(v), xmm(temp))
	build.VPMAXSD(xmm(temp), xmm(v), xmm(v))
}

// roundBlock writes one record; shares are kept in half precision or as they are.
func roundBlock(t *tables, dst, x reg.GPVirtual, keep bool) {
	for i := range 4 {
		build.VMULPS(at(x, nil, 0, 32*i), ymm(8), ymm(i))
		build.VCVTPS2DQ(ymm(i), ymm(i))
	}
	build.VPADDD(ymm(0), ymm(1), ymm(4))
	build.VPADDD(ymm(2), ymm(3), ymm(5))
	build.VPHADDD(ymm(5), ymm(4), ymm(4)) // 4 a, a, b, b in each half
	build.VEXTRACTI128(operand.U8(1), ymm(4), xmm(5))
	build.VPADDD(xmm(5), xmm(4), xmm(4))
	build.VPHADDD(xmm(4), xmm(4), xmm(4)) // a, b, a, b
	build.VPSHUFD(operand.U8(0xb1), xmm(4), xmm(5))
	build.VPADDD(xmm(4), xmm(5), xmm(5))            // a+b
	build.VPUNPCKLDQ(xmm(4), xmm(5), xmm(6))        // a+b, a, a+b, b
	build.VPSHUFD(operand.U8(0xf4), xmm(6), xmm(6)) // a+b, a, b, b
	build.VPACKSSDW(ymm(1), ymm(0), ymm(0))
	build.VPACKSSDW(ymm(3), ymm(2), ymm(2))
	build.VPACKSSWB(ymm(2), ymm(0), ymm(0))
	build.VMOVDQU(t.gather, ymm(1))
	build.VPERMD(ymm(0), ymm(1), ymm(0))
	build.VMOVDQU(ymm(0), at(dst, nil, 0, 0))
	// Shares.
	build.VCVTDQ2PS(xmm(6), xmm(7))
	build.VBROADCASTSS(xmm(10), xmm(5))
	build.VMULPS(xmm(5), xmm(7), xmm(7))
	if keep {
		build.VCVTPS2PH(operand.U8(0), xmm(7), xmm(7))
		build.VCVTPH2PS(xmm(7), xmm(7))
	}
	build.VPXOR(xmm(5), xmm(5), xmm(5))
	build.VPSUBD(xmm(6), xmm(5), xmm(6))
	// scale, -(a+b), share, -a, -b, share of a, share of b, 0
	build.VMOVSS(xmm(9), at(dst, nil, 0, 32))
	build.VMOVD(xmm(6), at(dst, nil, 0, 36))
	build.VMOVSS(xmm(7), at(dst, nil, 0, 40))
	build.VPSRLDQ(operand.U8(4), xmm(6), xmm(6))
	build.VMOVQ(xmm(6), at(dst, nil, 0, 44))
	build.VPSRLDQ(operand.U8(4), xmm(7), xmm(7))
	build.VMOVQ(xmm(7), at(dst, nil, 0, 52))
	build.VMOVD(xmm(5), at(dst, nil, 0, 60))
}

// relax is a breath between two looks at a word of memory.
func relax() {
	build.TEXT("pause", build.NOSPLIT, "func()")
	build.Doc("pause lets the processor know that the caller waits for memory to change.")
	build.PAUSE()
	build.RET()
}
