package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The sums of vec's deltas and the numbers of its terms, in their order.
const (
	kept = iota
	dropped
	droppedLean
	l1
	kl
	sumCount
)

const (
	topBefore = iota
	shareBefore
	topAfter
	shareAfter
	shift
	termCount
)

const (
	less  = 0x11 // comparison, false for NaN
	orXor = 0xf6 // logic: the target or (one xor the other)
)

// comparison is the state of a pass over two rows: pointers, and which vectors
// hold what.
type comparison struct {
	m                              machine
	t                              *tables
	before, after                  reg.GPVirtual // scores
	beforeWeights, afterWeights, c reg.GPVirtual
	x, y, p, q, gap, beforeWeight  reg.VecPhysical
}

// compare is one pass over whole groups of two dense rows. Both vectors of
// eight float64 and the numbers of terms fit the registers of a wide machine;
// the other goes over the rows twice, four lanes at a time, which costs little
// for what is a block in the first cache.
func (m machine) compare(t *tables) {
	function("compare"+m.suffix,
		"func(a *float64, before *float32, beforeWeights *float64, after *float32, afterWeights *float64, groups int, c *float64) (entered, moved uint32)",
		"adds what 8*groups tokens of two rows, with their weights, differ in to five times eight lanes a, by the terms c.")
	a, groups := gp("a"), gp("groups")
	e := comparison{m: m, t: t, before: gp("before"), after: gp("after"),
		beforeWeights: gp("beforeWeights"), afterWeights: gp("afterWeights"), c: gp("c"),
		x: m.vec(7), y: m.vec(8), p: m.vec(9), q: m.vec(10), gap: m.vec(11), beforeWeight: m.vec(12)}
	if m.wide() {
		for i := range termCount {
			build.VBROADCASTSD(at(e.c, 8*i), m.vec(16+i))
		}
		build.VMOVUPD(t.doubles["lowest"], m.vec(16+termCount))
		build.VMOVUPD(t.doubles["unsigned64"], m.vec(17+termCount))
	}
	m.zero(5)
	m.zero(6)
	for half := range m.vectors() {
		for i := range sumCount {
			build.VMOVUPD(at(a, 8*lanes*i+half*m.bytes), m.vec(i))
		}
		left := build.GP64()
		offset := build.GP64() // in bytes of scores
		build.MOVQ(groups, left)
		build.XORQ(offset, offset)
		loop([]string{"low", "high"}[half], left, 1, func() {
			e.token(half, offset)
			build.ADDQ(operand.U32(lanes*4), offset)
		})
		for i := range sumCount {
			build.VMOVUPD(m.vec(i), at(a, 8*lanes*i+half*m.bytes))
		}
	}
	e.report()
	end()
}

// report stores what flags has noted.
func (e comparison) report() {
	entered, moved := build.GP32(), build.GP32()
	if e.m.wide() {
		build.VCMPPD(operand.U8(less), e.constant("lowest"), e.m.vec(5), reg.K1)
		build.VPTESTMQ(e.m.vec(6), e.m.vec(6), reg.K2)
		build.KMOVW(reg.K1, entered)
		build.KMOVW(reg.K2, moved)
	} else {
		build.VMOVMSKPD(e.m.vec(5), entered)
		build.VMOVMSKPD(e.m.vec(6), moved)
	}
	build.Store(entered, build.Return("entered"))
	build.Store(moved, build.Return("moved"))
}

// term returns one of the terms in every lane: a register, which the narrow
// machine loads first.
func (e comparison) term(i int) reg.VecPhysical {
	if e.m.wide() {
		return e.m.vec(16 + i)
	}
	build.VBROADCASTSD(at(e.c, 8*i), e.m.vec(15))
	return e.m.vec(15)
}

// constant returns one of two constants: a register or memory.
func (e comparison) constant(name string) operand.Op {
	switch {
	case !e.m.wide():
		return e.t.doubles[name]
	case name == "lowest":
		return e.m.vec(16 + termCount)
	}
	return e.m.vec(17 + termCount)
}

// token is the step of vec's deltas.add, for one vector of tokens.
func (e comparison) token(half int, offset reg.GPVirtual) {
	scores := func(base reg.GPVirtual) operand.Mem {
		return operand.Mem{Base: base, Index: offset, Scale: 1, Disp: half * e.m.bytes / 2}
	}
	weights := func(base reg.GPVirtual) operand.Mem {
		return operand.Mem{Base: base, Index: offset, Scale: 2, Disp: half * e.m.bytes}
	}
	build.VCVTPS2PD(scores(e.after), e.x)
	build.VCVTPS2PD(scores(e.before), e.y)
	build.VMOVUPD(weights(e.beforeWeights), e.beforeWeight)
	e.flags()
	build.VSUBPD(e.term(topAfter), e.x, e.x)
	build.VSUBPD(e.term(topBefore), e.y, e.y)
	build.VMAXPD(e.constant("lowest"), e.y, e.y) // a weight of 0 times it is 0
	e.sumDropped()
	build.VSUBPD(e.y, e.x, e.x)
	build.VSUBPD(e.term(shift), e.x, e.x)
	build.VMULPD(weights(e.afterWeights), e.term(shareAfter), e.q)
	if e.m.wide() {
		build.VFMADD231PD(e.x, e.q, reg.K1, e.m.vec(kl))
	} else {
		build.VANDPD(e.m.vec(13), e.x, e.x)
		build.VFMADD231PD(e.x, e.q, e.m.vec(kl))
	}
	build.VMULPD(e.beforeWeight, e.term(shareBefore), e.p)
	build.VSUBPD(e.p, e.q, e.gap)
	build.VANDPD(e.constant("unsigned64"), e.gap, e.gap)
	if e.m.wide() {
		build.VADDPD(e.gap, e.m.vec(l1), reg.K1, e.m.vec(l1))
		return
	}
	build.VANDPD(e.m.vec(13), e.gap, e.gap)
	build.VADDPD(e.gap, e.m.vec(l1), e.m.vec(l1))
}

// flags sets who is left after the stage, in mask 1 or register 13, and notes
// whether one of them had no score before, in register 5, or had another one, in
// register 6. x and y are the scores.
func (e comparison) flags() {
	if e.m.wide() {
		build.VCMPPD(operand.U8(greaterEqual), e.constant("lowest"), e.x, reg.K1)
		build.KNOTB(reg.K1, reg.K2)
		build.VMINPD(e.y, e.m.vec(5), reg.K1, e.m.vec(5))
		build.VPTERNLOGQ(operand.U8(orXor), e.y, e.x, reg.K1, e.m.vec(6))
		return
	}
	left, other := e.m.vec(13), e.m.vec(14)
	build.VCMPPD(operand.U8(greaterEqual), e.constant("lowest"), e.x, left)
	build.VCMPPD(operand.U8(greaterEqual), e.constant("lowest"), e.y, other)
	build.VANDNPD(left, other, other)
	build.VORPD(other, e.m.vec(5), e.m.vec(5))
	build.VPCMPEQQ(e.y, e.x, other)
	build.VANDNPD(left, other, other)
	build.VORPD(other, e.m.vec(6), e.m.vec(6))
}

// sumDropped splits the weight before into those of kept and dropped tokens. y
// is the score before, relative to the largest.
func (e comparison) sumDropped() {
	if e.m.wide() {
		build.VADDPD(e.beforeWeight, e.m.vec(kept), reg.K1, e.m.vec(kept))
		build.VADDPD(e.beforeWeight, e.m.vec(dropped), reg.K2, e.m.vec(dropped))
		build.VFMADD231PD(e.y, e.beforeWeight, reg.K2, e.m.vec(droppedLean))
		return
	}
	part := e.m.vec(14)
	build.VANDPD(e.m.vec(13), e.beforeWeight, part)
	build.VADDPD(part, e.m.vec(kept), e.m.vec(kept))
	build.VANDNPD(e.beforeWeight, e.m.vec(13), part)
	build.VADDPD(part, e.m.vec(dropped), e.m.vec(dropped))
	build.VFMADD231PD(e.y, part, e.m.vec(droppedLean))
}

// same compares bits.
func (m machine) same() {
	function("same"+m.suffix, "func(values *float32, n int, other *float32) uint32",
		"returns ones when the bits of n values, a multiple of one vector, are those of other.")
	values, n, other := gp("values"), gp("n"), gp("other")
	build.SUBQ(values, other) // the distance
	m.ones()
	m.scan(values, n, func(i int, from operand.Mem) {
		there := from
		there.Index, there.Scale = other, 1
		build.VMOVDQU(from, m.vec(4+i))
		build.VPCMPEQD(there, m.vec(4+i), m.vec(4+i))
		build.VPAND(m.vec(4+i), m.vec(i), m.vec(i))
	})
	m.all()
}
