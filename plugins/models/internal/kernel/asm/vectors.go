package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// elements opens a loop over s, 16 at a time and then the masked rest; body
// gets the half (0 or 1) and whether the masks in registers 14 and 15 apply.
func elements(t *tables, s, n reg.GPVirtual, body func(half int, masked bool), advance func()) {
	rest := build.GP64()
	build.MOVQ(n, rest)
	build.SHRQ(operand.U8(4), n)
	build.ANDQ(operand.U8(15), rest)
	build.TESTQ(n, n)
	build.JZ(operand.LabelRef("rest"))
	build.Label("block")
	body(0, false)
	body(1, false)
	advance()
	build.DECQ(n)
	build.JNZ(operand.LabelRef("block"))
	build.Label("rest")
	build.TESTQ(rest, rest)
	build.JZ(operand.LabelRef("end"))
	mask := t.maskPointer(rest)
	build.VMOVUPS(at(mask, nil, 0, 0), ymm(14))
	build.VMOVUPS(at(mask, nil, 0, 32), ymm(15))
	body(0, true)
	body(1, true)
	build.Label("end")
}

// streams is an elementwise function of up to three vectors: it loads them into
// registers 2, 3 and 4, and what compute leaves in register 2 goes back to the
// first.
func streams(t *tables, n reg.GPVirtual, vectors []reg.GPVirtual, compute func()) {
	elements(t, vectors[0], n, func(half int, masked bool) {
		mask := ymm(14 + half)
		for i, v := range vectors {
			if from := at(v, nil, 0, 32*half); masked {
				build.VMASKMOVPS(from, mask, ymm(2+i))
			} else {
				build.VMOVUPS(from, ymm(2+i))
			}
		}
		compute()
		if to := at(vectors[0], nil, 0, 32*half); masked {
			build.VMASKMOVPS(ymm(2), mask, to)
		} else {
			build.VMOVUPS(ymm(2), to)
		}
	}, func() {
		for _, v := range vectors {
			build.ADDQ(operand.U8(64), v)
		}
	})
	build.VZEROUPPER()
	build.RET()
}

// add sums two vectors.
func add(t *tables) {
	function("addAVX2", "func(dst, x *float32, n int)", "addAVX2 adds x[i] to dst[i] for i < n.")
	vectors := []reg.GPVirtual{gp("dst"), gp("x")}
	streams(t, gp("n"), vectors, func() { build.VADDPS(ymm(3), ymm(2), ymm(2)) })
}

// scaleBy is what is left of a norm once the sum of squares is known.
func scaleBy(t *tables) {
	function("scaleByAVX2", "func(dst, weight *float32, n int, factor float32)",
		"scaleByAVX2 sets dst[i] to dst[i]*factor*weight[i] for i < n.")
	vectors := []reg.GPVirtual{gp("dst"), gp("weight")}
	n := gp("n")
	factor := build.Load(build.Param("factor"), build.XMM()).(reg.VecVirtual)
	build.VBROADCASTSS(factor, ymm(13))
	streams(t, n, vectors, func() {
		build.VMULPS(ymm(13), ymm(2), ymm(2))
		build.VMULPS(ymm(3), ymm(2), ymm(2))
	})
}

// rotate turns pairs of neighbours.
func rotate(t *tables) {
	function("rotateAVX2", "func(x, cos, sin *float32, n int)",
		"rotateAVX2 sets x[i] to x[i]*cos[i] + x[i^1]*sin[i] for i < n, an even number.")
	vectors := []reg.GPVirtual{gp("x"), gp("cos"), gp("sin")}
	streams(t, gp("n"), vectors, func() {
		build.VPERMILPS(operand.U8(0xb1), ymm(2), ymm(5))
		build.VMULPS(ymm(3), ymm(2), ymm(2))
		build.VMULPS(ymm(4), ymm(5), ymm(5))
		build.VADDPS(ymm(5), ymm(2), ymm(2))
	})
}

// scaleMax multiplies in place and returns the largest product.
func scaleMax(t *tables) {
	function("scaleMaxAVX2", "func(s *float32, n int, factor float32) float32",
		"scaleMaxAVX2 multiplies s[:n] by factor and returns the largest result, -Inf when n is 0.")
	s, n := gp("s"), gp("n")
	factor := build.Load(build.Param("factor"), build.XMM()).(reg.VecVirtual)
	build.VBROADCASTSS(factor, ymm(13))
	build.VMOVUPS(t.floats["negInf"], ymm(0))
	build.VMOVUPS(t.floats["negInf"], ymm(1))
	elements(t, s, n, func(half int, masked bool) {
		m := at(s, nil, 0, 32*half)
		v := ymm(2 + half)
		if !masked {
			build.VMULPS(m, ymm(13), v)
			build.VMOVUPS(v, m)
			build.VMAXPS(ymm(half), v, ymm(half))
			return
		}
		mask := ymm(14 + half)
		build.VMASKMOVPS(m, mask, v)
		build.VMULPS(ymm(13), v, v)
		build.VMASKMOVPS(v, mask, m)
		build.VMOVUPS(t.floats["negInf"], ymm(4))
		build.VBLENDVPS(mask, v, ymm(4), v)
		build.VMAXPS(ymm(half), v, ymm(half))
	}, func() { build.ADDQ(operand.U8(64), s) })
	// Of a number and a NaN, VMAXPS gives its first operand: the number so far.
	build.VMAXPS(ymm(0), ymm(1), ymm(0))
	build.VEXTRACTF128(operand.U8(1), ymm(0), xmm(1))
	build.VMAXPS(xmm(0), xmm(1), xmm(0))
	build.VMOVHLPS(xmm(0), xmm(0), xmm(1))
	build.VMAXPS(xmm(0), xmm(1), xmm(0))
	build.VMOVSHDUP(xmm(0), xmm(1))
	build.VMAXSS(xmm(0), xmm(1), xmm(0))
	build.Store(reg.X0, build.ReturnIndex(0))
	build.VZEROUPPER()
	build.RET()
}

// exponential replaces register v by its exponential; p and z are scratch. The
// steps are those of kernel's expStep.
func exponential(t *tables, v, p, z int) {
	c := t.floats
	x, poly, n := ymm(v), ymm(p), ymm(z)
	build.VMOVUPS(c["expLow"], poly)
	build.VMAXPS(x, poly, x) // first operand, x, when it is NaN
	build.VMOVUPS(c["expHigh"], poly)
	build.VMINPS(x, poly, x)
	build.VMULPS(c["log2e"], x, n)
	build.VADDPS(c["magic"], n, n) // the whole number nearest to x/ln 2, in the low bits
	build.VSUBPS(c["magic"], n, poly)
	build.VPSLLD(operand.U8(23), n, n)
	build.VPADDD(c["one"], n, n) // 2 to that number
	// x minus the number times ln 2, in two parts
	tmp := ymm(z + 1)
	build.VMULPS(c["ln2High"], poly, tmp)
	build.VSUBPS(tmp, x, x)
	build.VMULPS(c["ln2Low"], poly, tmp)
	build.VSUBPS(tmp, x, x)
	build.VMULPS(c["c7"], x, poly)
	for _, name := range []string{"c6", "c5", "c4", "c3", "c2", "one"} {
		build.VADDPS(c[name], poly, poly)
		build.VMULPS(x, poly, poly)
	}
	build.VADDPS(c["one"], poly, poly)
	build.VMULPS(n, poly, x)
}

// expSum exponentiates in place and sums in lanes.
func expSum(t *tables) {
	function("expSumAVX2", "func(s *float32, n int, shift float32) float32",
		"expSumAVX2 sets s[i] to exp(s[i]-shift) for i < n and returns the sum over lanes.")
	s, n := gp("s"), gp("n")
	shift := build.Load(build.Param("shift"), build.XMM()).(reg.VecVirtual)
	build.VBROADCASTSS(shift, ymm(13))
	build.VXORPS(ymm(0), ymm(0), ymm(0))
	build.VXORPS(ymm(1), ymm(1), ymm(1))
	elements(t, s, n, func(half int, masked bool) {
		m := at(s, nil, 0, 32*half)
		mask := ymm(14 + half)
		if masked {
			build.VMASKMOVPS(m, mask, ymm(2))
		} else {
			build.VMOVUPS(m, ymm(2))
		}
		build.VSUBPS(ymm(13), ymm(2), ymm(2))
		exponential(t, 2, 3, 4)
		if masked {
			build.VANDPS(mask, ymm(2), ymm(2))
			build.VMASKMOVPS(ymm(2), mask, m)
		} else {
			build.VMOVUPS(ymm(2), m)
		}
		build.VADDPS(ymm(2), ymm(half), ymm(half))
	}, func() { build.ADDQ(operand.U8(64), s) })
	fold(machine{width: 8}, 0, 0, 15)
	build.VMOVHLPS(xmm(0), xmm(0), xmm(1))
	build.VADDPS(xmm(1), xmm(0), xmm(0))
	build.VMOVSHDUP(xmm(0), xmm(1))
	build.VADDSS(xmm(1), xmm(0), xmm(0))
	build.Store(reg.X0, build.ReturnIndex(0))
	build.VZEROUPPER()
	build.RET()
}

// siluMul is the gate of a gated feed-forward layer.
func siluMul(t *tables) {
	function("siluMulAVX2", "func(gate, up *float32, n int)",
		"siluMulAVX2 sets gate[i] to gate[i]/(1+exp(-gate[i]))*up[i] for i < n.")
	vectors := []reg.GPVirtual{gp("gate"), gp("up")}
	streams(t, gp("n"), vectors, func() {
		build.VXORPS(t.floats["sign"], ymm(2), ymm(6))
		exponential(t, 6, 7, 8)
		build.VADDPS(t.floats["one"], ymm(6), ymm(6))
		build.VDIVPS(ymm(6), ymm(2), ymm(2))
		build.VMULPS(ymm(3), ymm(2), ymm(2))
	})
}

// gelu is the activation of a feed-forward layer, in the steps of kernel's gelu;
// gated multiplies it with a second vector.
func gelu(t *tables, gated bool) {
	name, signature := "geluAVX2", "func(x *float32, n int)"
	doc := name + " sets x[i] to gelu(x[i]) for i < n."
	if gated {
		name, signature = "geluMulAVX2", "func(gate, up *float32, n int)"
		doc = name + " sets gate[i] to gelu(gate[i])*up[i] for i < n."
	}
	function(name, signature, doc)
	var vectors []reg.GPVirtual
	if gated {
		vectors = append(vectors, gp("gate"), gp("up"))
	} else {
		vectors = append(vectors, gp("x"))
	}
	streams(t, gp("n"), vectors, func() {
		build.VMULPS(ymm(2), ymm(2), ymm(6))
		build.VMULPS(t.floats["geluCubic"], ymm(6), ymm(6))
		build.VADDPS(t.floats["geluLinear"], ymm(6), ymm(6))
		build.VMULPS(ymm(6), ymm(2), ymm(6))
		build.VXORPS(t.floats["sign"], ymm(6), ymm(6))
		exponential(t, 6, 7, 8)
		build.VADDPS(t.floats["one"], ymm(6), ymm(6))
		build.VDIVPS(ymm(6), ymm(2), ymm(2))
		if gated {
			build.VMULPS(ymm(3), ymm(2), ymm(2))
		}
	})
}
