package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Comparisons, false for NaN.
const (
	greaterEqual = 0x1d
	greater      = 0x1e
	lessEqual    = 0x12
)

// scan writes two loops over n values, a multiple of one vector: four vectors
// at a time, then one. body handles vector i of count at m.
func (m machine) scan(values, n reg.GPVirtual, body func(i int, from operand.Mem)) {
	for _, s := range []struct {
		label string
		count int
	}{{"four", 4}, {"one", 1}} {
		loop(s.label, n, s.count*m.bytes/4, func() {
			for i := range s.count {
				body(i, at(values, i*m.bytes))
			}
			build.ADDQ(operand.U32(s.count*m.bytes), values)
		})
	}
}

// reduce folds vector registers 0 to 3 into element 0 of register 0.
func (m machine) reduce(op func(a, b, to reg.VecPhysical)) {
	op(m.vec(1), m.vec(0), m.vec(0))
	op(m.vec(3), m.vec(2), m.vec(2))
	op(m.vec(2), m.vec(0), m.vec(0))
	if m.wide() {
		build.VEXTRACTF64X4(operand.U8(1), m.vec(0), ymm(1))
		op(ymm(1), ymm(0), ymm(0))
	}
	build.VEXTRACTF128(operand.U8(1), ymm(0), xmm(1))
	op(xmm(1), xmm(0), xmm(0))
	build.VPERMILPS(operand.U8(0x4e), xmm(0), xmm(1))
	op(xmm(1), xmm(0), xmm(0))
	build.VPERMILPS(operand.U8(0xb1), xmm(0), xmm(1))
	op(xmm(1), xmm(0), xmm(0))
}

func (m machine) max(t *tables) {
	function("max"+m.suffix, "func(values *float32, n int) float32",
		"returns the largest of n values, a multiple of one vector; a zero may have either sign.")
	values, n := gp("values"), gp("n")
	for i := range 4 {
		build.VMOVUPS(t.words["negInf"], m.vec(i))
	}
	m.scan(values, n, func(i int, from operand.Mem) { build.VMAXPS(from, m.vec(i), m.vec(i)) })
	m.reduce(func(a, b, to reg.VecPhysical) { build.VMAXPS(a, b, to) })
	build.Store(reg.X0, build.ReturnIndex(0))
	end()
}

func (m machine) least(t *tables) {
	function("least"+m.suffix, "func(values *float32, n int) float32",
		"returns the least finite of n values, a multiple of one vector; +Inf when there is none.")
	values, n := gp("values"), gp("n")
	for i := range 4 {
		build.VMOVUPS(t.words["posInf"], m.vec(i))
	}
	build.VMOVUPS(t.words["negInf"], m.vec(8))
	build.VMOVUPS(t.words["posInf"], m.vec(9))
	m.scan(values, n, func(i int, from operand.Mem) {
		v := m.vec(4 + i)
		build.VMOVUPS(from, v)
		if m.wide() {
			build.VCMPPS(operand.U8(0), m.vec(8), v, mask(0))
			build.VMOVAPS(m.vec(9), mask(0), v)
		} else {
			build.VCMPPS(operand.U8(0), m.vec(8), v, ymm(10))
			build.VBLENDVPS(ymm(10), ymm(9), v, v)
		}
		build.VMINPS(v, m.vec(i), m.vec(i))
	})
	m.reduce(func(a, b, to reg.VecPhysical) { build.VMINPS(a, b, to) })
	build.Store(reg.X0, build.ReturnIndex(0))
	end()
}

// finite looks for the largest number without its sign: as whole numbers, those
// of an infinity and of NaN are above all others.
func (m machine) finite(t *tables) {
	function("finite"+m.suffix, "func(values *float32, n int) uint32",
		"returns the largest of the bits, without the sign, of n values, a multiple of one vector.")
	values, n := gp("values"), gp("n")
	for i := range 4 {
		m.zero(i)
	}
	build.VMOVUPS(t.words["unsigned"], m.vec(8))
	larger := func(a, b, to reg.VecPhysical) { build.VPMAXUD(a, b, to) }
	m.scan(values, n, func(i int, from operand.Mem) {
		v := m.vec(4 + i)
		build.VANDPS(from, m.vec(8), v)
		larger(v, m.vec(i), m.vec(i))
	})
	m.reduce(larger)
	bits := build.GP32()
	build.VMOVD(xmm(0), bits)
	build.Store(bits, build.ReturnIndex(0))
	end()
}

// legal compares bits as whole numbers with a sign, where +Inf and the NaN
// without a sign come last, and without one, where the NaN with one come last.
func (m machine) legal() {
	function("legal"+m.suffix, "func(values *float32, n int) (signed int32, unsigned uint32)",
		"returns the largest of the bits of n values, a multiple of one vector, read with a sign and without one, or 0 if larger.")
	values, n := gp("values"), gp("n")
	for i := range 8 {
		m.zero(i)
	}
	m.scan(values, n, func(i int, from operand.Mem) {
		build.VPMAXSD(from, m.vec(i), m.vec(i))
		build.VPMAXUD(from, m.vec(4+i), m.vec(4+i))
	})
	bits := build.GP32()
	m.reduce(func(a, b, to reg.VecPhysical) { build.VPMAXSD(a, b, to) })
	build.VMOVD(xmm(0), bits)
	build.Store(bits, build.Return("signed"))
	for i := range 4 {
		build.VMOVAPS(m.vec(4+i), m.vec(i))
	}
	m.reduce(func(a, b, to reg.VecPhysical) { build.VPMAXUD(a, b, to) })
	build.VMOVD(xmm(0), bits)
	build.Store(bits, build.Return("unsigned"))
	end()
}

// all stores whether every bit of vector registers 0 to 3 is set.
func (m machine) all() {
	m.reduce(func(a, b, to reg.VecPhysical) { build.VPAND(a, b, to) })
	bits := build.GP32()
	build.VMOVD(xmm(0), bits)
	build.Store(bits, build.ReturnIndex(0))
	end()
}

func (m machine) ones() {
	for i := range 4 {
		build.VPCMPEQD(m.vec(i), m.vec(i), m.vec(i))
	}
}

func (m machine) ascending() {
	function("ascending"+m.suffix, "func(ids *int32, n int) uint32",
		"returns ones when each of n ids, a multiple of one vector, is below the one after it, which is also read.")
	ids, n := gp("ids"), gp("n")
	m.ones()
	m.scan(ids, n, func(i int, from operand.Mem) {
		build.VMOVDQU(from.Offset(4), m.vec(4+i))
		build.VPCMPGTD(from, m.vec(4+i), m.vec(4+i))
		build.VPAND(m.vec(4+i), m.vec(i), m.vec(i))
	})
	m.all()
}

func (m machine) within(t *tables) {
	function("within"+m.suffix, "func(values *float32, n int, before *float32) uint32",
		"returns ones when before is finite wherever values is, for n values, a multiple of one vector, without NaN and +Inf.")
	values, n, before := gp("values"), gp("n"), gp("before")
	build.SUBQ(values, before) // the distance
	build.VMOVUPS(t.words["lowest32"], m.vec(8))
	m.ones()
	m.scan(values, n, func(i int, from operand.Mem) {
		other := from
		other.Index, other.Scale = before, 1
		removed, was := m.vec(4+i), m.vec(9)
		build.VCMPPS(operand.U8(greater), from, m.vec(8), removed)
		build.VCMPPS(operand.U8(lessEqual), other, m.vec(8), was)
		build.VPOR(was, removed, removed)
		build.VPAND(removed, m.vec(i), m.vec(i))
	})
	m.all()
}

func (m machine) count(t *tables) {
	function("count"+m.suffix, "func(values *float32, n int, floor float32) uint32",
		"returns how many of n values, a multiple of one vector, are at least floor.")
	values, n := gp("values"), gp("n")
	m.broadcast32("floor", 14)
	for i := range 4 {
		m.zero(i)
	}
	if m.wide() {
		build.VMOVUPS(t.words["unit"], m.vec(8))
	}
	m.scan(values, n, func(i int, from operand.Mem) {
		v := m.vec(4 + i)
		build.VMOVUPS(from, v)
		if m.wide() {
			build.VCMPPS(operand.U8(greaterEqual), m.vec(14), v, mask(i))
			build.VPADDD(m.vec(8), m.vec(i), mask(i), m.vec(i))
		} else {
			build.VCMPPS(operand.U8(greaterEqual), m.vec(14), v, v)
			build.VPSUBD(v, m.vec(i), m.vec(i))
		}
	})
	m.reduce(func(a, b, to reg.VecPhysical) { build.VPADDD(a, b, to) })
	bits := build.GP32()
	build.VMOVD(xmm(0), bits)
	build.Store(bits, build.ReturnIndex(0))
	end()
}

// search looks at four vectors at once, since most often none has what is
// looked for, and else at one after the other.
func (m machine) search(t *tables) {
	function("search"+m.suffix, "func(dst *int32, limit int, values *float32, n int, base int, floor float32) (seen, found int)",
		"writes base plus the places of those of n values, a multiple of one vector, that are at least floor, until more than limit are found; dst has room for limit and 16 more.")
	m.sift(t, true)
}

func (m machine) pick(t *tables) {
	function("pick"+m.suffix, "func(dst *float32, limit int, values *float32, n int, floor float32) (seen, found int)",
		"writes those of n values, a multiple of one vector, that are at least floor, until more than limit are found; dst has room for limit and 16 more.")
	m.sift(t, false)
}

// sift writes places or values.
func (m machine) sift(t *tables, places bool) {
	dst, limit, values, n := gp("dst"), gp("limit"), gp("values"), gp("n")
	m.broadcast32("floor", 14)
	found, seen, left, table := build.GP64(), build.GP64(), build.GP64(), build.GP64()
	build.XORQ(found, found)
	build.XORQ(seen, seen)
	build.MOVQ(n, left)
	if !m.wide() {
		build.LEAQ(t.places, table)
	}
	width := m.bytes / 4
	if places {
		m.startPlaces(t, gp("base"), width)
	}
	build.Label("four")
	build.CMPQ(left, operand.U32(4*width))
	build.JL(operand.LabelRef("one"))
	any := build.GP32()
	if m.wide() {
		for i := range 4 {
			build.VMOVUPS(at(values, i*m.bytes), m.vec(i))
		}
		build.VMAXPS(m.vec(0), m.vec(1), m.vec(4))
		build.VMAXPS(m.vec(2), m.vec(3), m.vec(5))
		build.VMAXPS(m.vec(4), m.vec(5), m.vec(4))
		build.VCMPPS(operand.U8(greaterEqual), m.vec(14), m.vec(4), reg.K1)
		build.KMOVW(reg.K1, any)
	} else {
		build.VMOVUPS(at(values, 0), m.vec(0))
		build.VMOVUPS(at(values, 2*m.bytes), m.vec(1))
		build.VMAXPS(at(values, m.bytes), m.vec(0), m.vec(0))
		build.VMAXPS(at(values, 3*m.bytes), m.vec(1), m.vec(1))
		build.VMAXPS(m.vec(0), m.vec(1), m.vec(0))
		build.VCMPPS(operand.U8(greaterEqual), m.vec(14), m.vec(0), m.vec(0))
		build.VMOVMSKPS(m.vec(0), any)
	}
	build.TESTL(any, any)
	build.JZ(operand.LabelRef("skip"))
	for i := range 4 {
		m.gather(table, dst, found, at(values, i*m.bytes), places)
		build.ADDQ(operand.U32(width), seen)
		build.CMPQ(found, limit)
		build.JG(operand.LabelRef("out"))
	}
	build.ADDQ(operand.U32(4*m.bytes), values)
	build.SUBQ(operand.U32(4*width), left)
	build.JMP(operand.LabelRef("four"))
	build.Label("skip")
	if places {
		build.VPSLLD(operand.U8(2), m.vec(12), m.vec(11))
		build.VPADDD(m.vec(11), m.vec(13), m.vec(13))
	}
	build.ADDQ(operand.U32(4*width), seen)
	build.ADDQ(operand.U32(4*m.bytes), values)
	build.SUBQ(operand.U32(4*width), left)
	build.JMP(operand.LabelRef("four"))
	build.Label("one")
	build.TESTQ(left, left)
	build.JZ(operand.LabelRef("out"))
	m.gather(table, dst, found, at(values, 0), places)
	build.ADDQ(operand.U32(width), seen)
	build.CMPQ(found, limit)
	build.JG(operand.LabelRef("out"))
	build.ADDQ(operand.U32(m.bytes), values)
	build.SUBQ(operand.U32(width), left)
	build.JMP(operand.LabelRef("one"))
	build.Label("out")
	build.Store(seen, build.Return("seen"))
	build.Store(found, build.Return("found"))
	end()
}

// startPlaces sets register 13 to the places of the first vector, or for AVX2 to
// its first place, and register 12 to how far they move with each vector.
func (m machine) startPlaces(t *tables, base reg.GPVirtual, width int) {
	step := build.GP32()
	build.MOVL(operand.U32(width), step)
	if m.wide() {
		build.VPBROADCASTD(base.As32(), m.vec(13))
		build.VPADDD(t.ascend, m.vec(13), m.vec(13))
		build.VPBROADCASTD(step, m.vec(12))
		return
	}
	build.VMOVD(base.As32(), xmm(13))
	build.VPBROADCASTD(xmm(13), m.vec(13))
	build.VMOVD(step, xmm(12))
	build.VPBROADCASTD(xmm(12), m.vec(12))
}

// gather appends the places or the values of one vector's scores.
func (m machine) gather(table, dst, found reg.GPVirtual, from operand.Mem, places bool) {
	bits := build.GP64()
	to := operand.Mem{Base: dst, Index: found, Scale: 4}
	build.VMOVUPS(from, m.vec(6))
	if m.wide() {
		build.VCMPPS(operand.U8(greaterEqual), m.vec(14), m.vec(6), reg.K2)
		build.KMOVW(reg.K2, bits.As32())
		if places {
			build.VPCOMPRESSD_Z(m.vec(13), reg.K2, m.vec(7))
		} else {
			build.VCOMPRESSPS_Z(m.vec(6), reg.K2, m.vec(7))
		}
	} else {
		build.VCMPPS(operand.U8(greaterEqual), ymm(14), ymm(6), ymm(8))
		build.VMOVMSKPS(ymm(8), bits.As32())
		build.VPMOVZXBD(operand.Mem{Base: table, Index: bits, Scale: 8}, ymm(7))
		if places {
			build.VPADDD(ymm(13), ymm(7), ymm(7))
		} else {
			build.VPERMPS(ymm(6), ymm(7), ymm(7))
		}
	}
	build.VMOVUPS(m.vec(7), to)
	build.POPCNTL(bits.As32(), bits.As32())
	build.ADDQ(bits, found)
	if places {
		build.VPADDD(m.vec(12), m.vec(13), m.vec(13))
	}
}
