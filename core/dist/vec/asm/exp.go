package main

import (
	"fmt"
	"slices"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// exponential is the state of a pass that weighs scores, 8 a group. A step of a
// weight waits for the one before it, so several vectors go side by side: four
// groups where a vector holds one, and there are registers for most constants
// too; the two halves of one group on the other machine, which reads them from
// memory.
type exponential struct {
	m machine
	t *tables
}

// vectors is how many vectors make a group of 8 float64.
func (m machine) vectors() int { return lanes * 8 / m.bytes }

// Registers of the sums and of the largest score, above what weigh uses.
func (m machine) firstA() int { return m.choose(10, 16) }
func (m machine) firstB() int { return m.choose(12, 17) }
func (m machine) topAt() int  { return m.choose(14, 18) }

// choose returns what holds for the narrow or the wide machine.
func (m machine) choose(narrow, wide int) int {
	if m.wide() {
		return wide
	}
	return narrow
}

// order is which constants have a register of their own on a wide machine, from
// the first one on.
var order = []string{"q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "q8", "q9", "one", "ln2High", "log2e"}

const firstConstant = 19

func (e exponential) load() {
	if e.m.wide() {
		for i, name := range order {
			build.VMOVUPD(e.t.doubles[name], e.m.vec(firstConstant+i))
		}
	}
}

// c returns a constant: a register or memory.
func (e exponential) c(name string) operand.Op {
	if i := slices.Index(order, name); i >= 0 && e.m.wide() {
		return e.m.vec(firstConstant + i)
	}
	return e.t.doubles[name]
}

// temporary returns register i of those of vector v of a step of weigh.
func (e exponential) temporary(v, i int) reg.VecPhysical { return e.m.vec(e.m.choose(5, 4)*v + i) }

func (e exponential) exponent(v int) reg.VecPhysical { return e.temporary(v, 0) } // score - top
func (e exponential) weight(v int) reg.VecPhysical   { return e.temporary(v, 1) } // the result
func (e exponential) shifted(v int) reg.VecPhysical  { return e.temporary(v, 2) } // whole number in the low bits
func (e exponential) rest(v int) reg.VecPhysical     { return e.temporary(v, 3) } // r
func (e exponential) kept(v int) reg.VecPhysical     { return e.temporary(v, 4) } // narrow: mask of what does not vanish

// weigh computes vectors of weights side by side: the steps of vec's Exp.
func (e exponential) weigh(values reg.Register, vectors int, lean bool) {
	each := func(f func(v int)) {
		for v := range vectors {
			f(v)
		}
	}
	narrow := e.m.bytes / 2
	each(func(v int) { build.VCVTPS2PD(at(values, v*narrow), e.exponent(v)) })
	each(func(v int) { build.VSUBPD(e.m.vec(e.m.topAt()), e.exponent(v), e.exponent(v)) })
	each(func(v int) {
		if e.m.wide() {
			build.VCMPPD(operand.U8(greaterEqual), e.c("vanish"), e.exponent(v), mask(v))
			return
		}
		build.VCMPPD(operand.U8(greaterEqual), e.c("vanish"), e.exponent(v), e.kept(v))
	})
	each(func(v int) { build.VMOVUPD(e.c("magic"), e.shifted(v)) })
	each(func(v int) { build.VFMADD231PD(e.c("log2e"), e.exponent(v), e.shifted(v)) })
	each(func(v int) { build.VSUBPD(e.c("magic"), e.shifted(v), e.weight(v)) })
	each(func(v int) { build.VMOVAPD(e.exponent(v), e.rest(v)) })
	each(func(v int) { build.VFNMADD231PD(e.c("ln2High"), e.weight(v), e.rest(v)) })
	each(func(v int) { build.VFNMADD231PD(e.c("ln2Low"), e.weight(v), e.rest(v)) })
	each(func(v int) { build.VMOVUPD(e.c("q9"), e.weight(v)) })
	for i := 8; i >= 0; i-- {
		each(func(v int) { build.VFMADD213PD(e.c(fmt.Sprint("q", i)), e.rest(v), e.weight(v)) })
	}
	each(func(v int) { build.VFMADD213PD(e.c("one"), e.rest(v), e.weight(v)) })
	each(func(v int) { build.VFMADD213PD(e.c("one"), e.rest(v), e.weight(v)) })
	each(func(v int) { build.VPSLLQ(operand.U8(52), e.shifted(v), e.shifted(v)) })
	each(func(v int) {
		if e.m.wide() {
			build.VPADDQ_Z(e.shifted(v), e.weight(v), mask(v), e.weight(v))
			if lean {
				build.VMOVAPD_Z(e.exponent(v), mask(v), e.exponent(v))
			}
			return
		}
		build.VPADDQ(e.shifted(v), e.weight(v), e.weight(v))
		build.VANDPD(e.kept(v), e.weight(v), e.weight(v))
		if lean {
			build.VANDPD(e.kept(v), e.exponent(v), e.exponent(v))
		}
	})
}

// pass writes the body of a function over whole groups: which sums it keeps,
// and whether it stores the weights.
func (m machine) pass(t *tables, a, b, store bool) {
	e := exponential{m: m, t: t}
	var dst, lanesA, lanesB reg.GPVirtual
	if store {
		dst = gp("dst")
	}
	if a {
		lanesA = gp("a")
	}
	if b {
		lanesB = gp("b")
	}
	values, groups := gp("values"), gp("groups")
	m.broadcast64("top", m.topAt())
	e.load()
	n := m.vectors()
	for v := range n {
		if a {
			build.VMOVUPD(at(lanesA, v*m.bytes), m.vec(m.firstA()+v))
		}
		if b {
			build.VMOVUPD(at(lanesB, v*m.bytes), m.vec(m.firstB()+v))
		}
	}
	step := m.choose(1, 4)
	body := func(count int) {
		e.weigh(values, count*n, b)
		for v := range count * n {
			if store {
				build.VMOVUPD(e.weight(v), at(dst, v*m.bytes))
			}
			if a {
				build.VADDPD(e.weight(v), m.vec(m.firstA()+v%n), m.vec(m.firstA()+v%n))
			}
			if b {
				build.VFMADD231PD(e.exponent(v), e.weight(v), m.vec(m.firstB()+v%n))
			}
		}
		build.ADDQ(operand.U32(count*lanes*4), values)
		if store {
			build.ADDQ(operand.U32(count*lanes*8), dst)
		}
	}
	loop("groups", groups, step, func() { body(step) })
	if step > 1 {
		loop("rest", groups, 1, func() { body(1) })
	}
	for v := range n {
		if a {
			build.VMOVUPD(m.vec(m.firstA()+v), at(lanesA, v*m.bytes))
		}
		if b {
			build.VMOVUPD(m.vec(m.firstB()+v), at(lanesB, v*m.bytes))
		}
	}
	end()
}

func (m machine) sum(t *tables) {
	function("sum"+m.suffix, "func(a *float64, values *float32, groups int, top float64)",
		"adds exp(v-top) of 8*groups values to the lanes a.")
	m.pass(t, true, false, false)
}

func (m machine) lean(t *tables) {
	function("lean"+m.suffix, "func(a, b *float64, values *float32, groups int, top float64)",
		"adds w = exp(v-top) of 8*groups values to the lanes a, and w*(v-top) to the lanes b.")
	m.pass(t, true, true, false)
}

func (m machine) weigh(t *tables) {
	function("weigh"+m.suffix, "func(dst, a, b *float64, values *float32, groups int, top float64)",
		"sets dst[i] to w = exp(v-top) for 8*groups values, and adds w to the lanes a and w*(v-top) to the lanes b.")
	m.pass(t, true, true, true)
}

func (m machine) exps(t *tables) {
	function("exps"+m.suffix, "func(dst *float64, values *float32, groups int, top float64)",
		"sets dst[i] to exp(v-top) for 8*groups values.")
	m.pass(t, false, false, true)
}

// moments sums differences and their squares.
func (m machine) moments(t *tables) {
	function("moments"+m.suffix, "func(a, b *float64, values *float32, groups int, shift float64)",
		"adds v-shift of 8*groups values to the lanes a and its square to the lanes b, removed tokens left out.")
	a, b := gp("a"), gp("b")
	values, groups := gp("values"), gp("groups")
	m.broadcast64("shift", m.topAt())
	n := m.vectors()
	for v := range n {
		build.VMOVUPD(at(a, v*m.bytes), m.vec(m.firstA()+v))
		build.VMOVUPD(at(b, v*m.bytes), m.vec(m.firstB()+v))
	}
	build.VMOVUPD(t.doubles["lowest"], m.vec(0))
	loop("groups", groups, 1, func() {
		for v := range n {
			x := m.vec(1 + 2*v)
			build.VCVTPS2PD(at(values, v*m.bytes/2), x)
			build.VSUBPD(m.vec(m.topAt()), x, x)
			build.VCMPPD(operand.U8(greaterEqual), m.vec(0), x, m.vec(2+2*v))
			build.VANDPD(m.vec(2+2*v), x, x)
			build.VADDPD(x, m.vec(m.firstA()+v), m.vec(m.firstA()+v))
			build.VFMADD231PD(x, x, m.vec(m.firstB()+v))
		}
		build.ADDQ(operand.U32(lanes*4), values)
	})
	for v := range n {
		build.VMOVUPD(m.vec(m.firstA()+v), at(a, v*m.bytes))
		build.VMOVUPD(m.vec(m.firstB()+v), at(b, v*m.bytes))
	}
	end()
}
