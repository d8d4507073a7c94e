package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// walker holds the general registers of a dot product's loops.
type walker struct {
	w       reg.GPVirtual
	ws, ws3 reg.Register // weight row and the distances to the next and the third row
	x       reg.GPVirtual
	xs, xs3 reg.Register
	blocks  reg.GPVirtual // whole blocks of 16
	span    reg.GPVirtual // their length in bytes
	count   reg.GPVirtual
	tail    reg.GPVirtual // values after the last whole block
	mask    reg.GPVirtual
}

// row returns the address of the vector at offset in row i of four.
func row(base, stride, stride3 reg.Register, i, offset int) operand.Mem {
	switch i {
	case 0:
		return at(base, nil, 0, offset)
	case 3:
		return at(base, stride3, 1, offset)
	}
	return at(base, stride, uint8(i), offset)
}

// split computes blocks, span, tail and mask from the length k.
func (l *walker) split(t *tables, k reg.GPVirtual) {
	l.blocks, l.span, l.count, l.tail = build.GP64(), build.GP64(), build.GP64(), k
	build.MOVQ(k, l.blocks)
	build.SHRQ(operand.U8(4), l.blocks)
	build.MOVQ(l.blocks, l.span)
	build.SHLQ(operand.U8(6), l.span)
	build.ANDQ(operand.U8(15), k)
	l.mask = t.maskPointer(k)
}

// tile is a group of weight rows times a group of activation rows, each pair
// with its own lanes in registers.
type tile struct {
	m        machine
	l        *walker
	rows, xs int
	first    int // number of the first weight row, 0 or 2
	acc      int // first register of the lanes
	x, w     int // first registers of operands
	label    string
}

func (t tile) lane(x, r, h int) int { return t.acc + (x*t.rows+r)*t.m.halves() + h }

// run clears the lanes, walks over the length and leaves the pointers where
// they were.
func (t tile) run() {
	l := t.l
	for i := range t.rows * t.xs * t.m.halves() {
		v := t.m.vec(t.acc + i)
		if t.m.width == 16 {
			build.VPXORD(v, v, v)
		} else {
			build.VXORPS(v, v, v)
		}
	}
	build.MOVQ(l.blocks, l.count)
	build.TESTQ(l.count, l.count)
	build.JZ(operand.LabelRef(t.label + "_tail"))
	build.Label(t.label + "_loop")
	for h := range t.m.halves() {
		t.step(h, func(m operand.Mem, v reg.VecPhysical) { build.VMOVUPS(m, v) })
	}
	build.ADDQ(operand.U8(64), l.w)
	build.ADDQ(operand.U8(64), l.x)
	build.DECQ(l.count)
	build.JNZ(operand.LabelRef(t.label + "_loop"))
	build.Label(t.label + "_tail")
	build.TESTQ(l.tail, l.tail)
	build.JZ(operand.LabelRef(t.label + "_sum"))
	for h := range t.m.halves() {
		if t.m.width == 16 {
			t.step(h, func(m operand.Mem, v reg.VecPhysical) { build.VMOVUPS_Z(m, reg.K1, v) })
			continue
		}
		mask := ymm(15)
		build.VMOVUPS(at(l.mask, nil, 0, 32*h), mask)
		t.step(h, func(m operand.Mem, v reg.VecPhysical) { build.VMASKMOVPS(m, mask, v) })
	}
	build.Label(t.label + "_sum")
	build.SUBQ(l.span, l.w)
	build.SUBQ(l.span, l.x)
}

// step multiplies and adds one vector of every pair, each with one rounding.
func (t tile) step(h int, load func(operand.Mem, reg.VecPhysical)) {
	offset := h * t.m.width * 4
	for x := range t.xs {
		load(row(t.l.x, t.l.xs, t.l.xs3, x, offset), t.m.vec(t.x+x))
	}
	for r := range t.rows {
		w := t.m.vec(t.w)
		load(row(t.l.w, t.l.ws, t.l.ws3, t.first+r, offset), w)
		for x := range t.xs {
			build.VFMADD231PS(t.m.vec(t.x+x), w, t.m.vec(t.lane(x, r, h)))
		}
	}
}

// fold adds lane i+8 to i and lane i+4 to i of the pair whose lanes start at
// register from, and leaves four sums in the low half of xmm to.
func fold(m machine, from, to, temp int) {
	if m.width == 16 {
		build.VEXTRACTF64X4(operand.U8(1), m.vec(from), ymm(temp))
		build.VEXTRACTF64X4(operand.U8(0), m.vec(from), ymm(to))
		build.VADDPS(ymm(temp), ymm(to), ymm(to))
	} else {
		build.VADDPS(ymm(from+1), ymm(from), ymm(to))
	}
	build.VEXTRACTF128(operand.U8(1), ymm(to), xmm(temp))
	build.VADDPS(xmm(temp), xmm(to), xmm(to))
}

// join finishes four folded pairs in xmm v[0..3]: lane 2 to 0 and 3 to 1, then
// 1 to 0; the four sums end in xmm v[0] in order.
func join(v [4]int, temp int) {
	for _, p := range [][2]int{{v[0], v[1]}, {v[2], v[3]}} {
		build.VUNPCKHPS(xmm(p[1]), xmm(p[0]), xmm(temp))
		build.VUNPCKLPS(xmm(p[1]), xmm(p[0]), xmm(p[0]))
		build.VADDPS(xmm(temp), xmm(p[0]), xmm(p[0]))
	}
	build.VMOVHLPS(xmm(v[0]), xmm(v[2]), xmm(temp))
	build.VMOVLHPS(xmm(v[2]), xmm(v[0]), xmm(v[0]))
	build.VADDPS(xmm(temp), xmm(v[0]), xmm(v[0]))
}

// dots writes the products of weight rows, four at a time, with activation
// rows, as many at a time as there are registers for. All weight rows are
// walked for a few activation rows before the next few come: the weights of one
// call are the size of a near cache, the activations may be larger.
func dots(m machine, t *tables) {
	function("dots"+m.suffix, "func(k int, w *float32, ws, n int, x *float32, xs, b int, y *float32, ys int)",
		fmt.Sprintf("dots%s sets y[j*ys+i] to the dot product of w[i*ws:][:k] and x[j*xs:][:k] for i < n, a multiple of 4, and j < b.", m.suffix))
	k := gp("k")
	l := &walker{w: build.GP64(), x: gp("x")}
	ws, xs, ws3, xs3 := gp("ws"), gp("xs"), build.GP64(), build.GP64()
	for _, s := range [][2]reg.GPVirtual{{ws, ws3}, {xs, xs3}} {
		build.SHLQ(operand.U8(2), s[0])
		build.LEAQ(at(s[0], s[0], 2, 0), s[1])
	}
	l.ws, l.ws3, l.xs, l.xs3 = ws, ws3, xs, xs3
	b, y, ys := gp("b"), build.GP64(), gp("ys")
	build.SHLQ(operand.U8(2), ys)
	l.split(t, k)
	if m.width == 16 {
		loadMask(l.mask)
	}
	// What there is no register for: where the next outputs go, and how many
	// weight rows are left.
	frame := build.AllocLocal(16)
	outputs, left := frame.Offset(0), frame.Offset(8)
	build.Load(build.Param("y"), y)
	build.MOVQ(y, outputs)
	few := func(label string, count int, tile func()) {
		build.Label(label)
		build.CMPQ(b, operand.U8(count))
		build.JL(operand.LabelRef(label + "_end"))
		build.Load(build.Param("n"), y)
		build.MOVQ(y, left)
		build.Load(build.Param("w"), l.w)
		build.Label(label + "_rows")
		build.SUBQ(operand.U8(4), left)
		build.JL(operand.LabelRef(label + "_next"))
		build.MOVQ(outputs, y)
		build.ADDQ(operand.U8(16), outputs)
		tile()
		build.LEAQ(at(l.w, ws, 4, 0), l.w)
		build.JMP(operand.LabelRef(label + "_rows"))
		build.Label(label + "_next")
		build.Load(build.Param("n"), y)
		build.SHLQ(operand.U8(2), y)
		build.SUBQ(y, outputs)
		build.MOVQ(outputs, y)
		build.LEAQ(at(y, ys, uint8(count), 0), y)
		build.MOVQ(y, outputs)
		build.LEAQ(at(l.x, l.xs, uint8(count), 0), l.x)
		build.SUBQ(operand.U8(count), b)
		build.JMP(operand.LabelRef(label))
		build.Label(label + "_end")
	}
	if m.width == 16 {
		few("four", 4, func() { four512(m, t, l, y, ys) })
	} else {
		few("two", 2, func() { two256(m, l, y, ys) })
	}
	few("one", 1, func() { one(m, t, l, y) })
	build.VZEROUPPER()
	build.RET()
}

// one multiplies four weight rows with one activation row: 4 pairs.
func one(m machine, t *tables, l *walker, y reg.GPVirtual) {
	q := tile{m: m, l: l, rows: 4, xs: 1, acc: accStart(m), x: 8, w: 10, label: "one_tile"}
	q.run()
	q.store(t, y)
}

// store finishes the pairs of four weight rows with one activation row.
func (t tile) store(constants *tables, y reg.GPVirtual) {
	if t.m.width == 16 {
		single512(t.m, constants, t.acc)
	} else {
		for r := range 4 {
			fold(t.m, t.lane(0, r, 0), r, 15)
		}
		join([4]int{0, 1, 2, 3}, 15)
	}
	build.VMOVUPS(xmm(0), at(y, nil, 0, 0))
}

// accStart is the first register of the lanes: the upper half where there are
// 32, so that every instruction after the loop reaches its operands.
func accStart(m machine) int {
	if m.width == 16 {
		return 16
	}
	return 0
}

// loadMask turns the vector mask into a predicate in K1.
func loadMask(mask reg.GPVirtual) {
	build.VMOVUPS(at(mask, nil, 0, 0), reg.Z0)
	build.VPMOVD2M(reg.Z0, reg.K1)
}

// four512 multiplies four weight rows with four activation rows: 16 pairs in 16
// registers.
func four512(m machine, t *tables, l *walker, y, ys reg.GPVirtual) {
	q := tile{m: m, l: l, rows: 4, xs: 4, acc: 16, x: 0, w: 4, label: "four_tile"}
	q.run()
	join512(m, t, q.acc)
	build.VMOVUPS(xmm(0), at(y, nil, 0, 0))
	build.VEXTRACTF32X4(operand.U8(1), m.vec(0), at(y, ys, 1, 0))
	build.LEAQ(at(y, ys, 2, 0), y)
	build.VEXTRACTF32X4(operand.U8(2), m.vec(0), at(y, nil, 0, 0))
	build.VEXTRACTF32X4(operand.U8(3), m.vec(0), at(y, ys, 1, 0))
}

// join512 sums the lanes of 16 pairs in registers from on; sum i ends as
// element i of register 0.
func join512(m machine, t *tables, from int) {
	for x := range 4 {
		fold512(m, from+4*x, x)
	}
	// Lane by 128-bit lane: values 2 to 0 and 3 to 1 of two pairs at once.
	for _, p := range [][2]int{{0, 1}, {2, 3}} {
		build.VUNPCKHPS(m.vec(p[1]), m.vec(p[0]), m.vec(8))
		build.VUNPCKLPS(m.vec(p[1]), m.vec(p[0]), m.vec(p[0]))
		build.VADDPS(m.vec(8), m.vec(p[0]), m.vec(p[0]))
	}
	build.VUNPCKHPD(m.vec(2), m.vec(0), m.vec(8))
	build.VUNPCKLPD(m.vec(2), m.vec(0), m.vec(0))
	build.VADDPS(m.vec(8), m.vec(0), m.vec(0))
	build.VMOVUPS(t.transpose, m.vec(8))
	build.VPERMPS(m.vec(0), m.vec(8), m.vec(0))
}

// fold512 adds lane i+8 to i and lane i+4 to i of four pairs whose lanes are in
// registers from on; pair r ends in 128-bit lane r of register to.
func fold512(m machine, from, to int) {
	for i := range 2 {
		a, b, half := m.vec(from+2*i), m.vec(from+2*i+1), m.vec(12+i)
		build.VSHUFF64X2(operand.U8(0xee), b, a, m.vec(14))
		build.VSHUFF64X2(operand.U8(0x44), b, a, half)
		build.VADDPS(m.vec(14), half, half)
	}
	build.VSHUFF32X4(operand.U8(0xdd), m.vec(13), m.vec(12), m.vec(14))
	build.VSHUFF32X4(operand.U8(0x88), m.vec(13), m.vec(12), m.vec(to))
	build.VADDPS(m.vec(14), m.vec(to), m.vec(to))
}

// single512 finishes one activation row's four pairs into xmm 0.
func single512(m machine, t *tables, from int) {
	fold512(m, from, 0)
	build.VPERMILPS(operand.U8(0x4e), m.vec(0), m.vec(1))
	build.VADDPS(m.vec(1), m.vec(0), m.vec(0))
	build.VPERMILPS(operand.U8(0xb1), m.vec(0), m.vec(1))
	build.VADDPS(m.vec(1), m.vec(0), m.vec(0))
	build.VMOVUPS(t.transpose, m.vec(1))
	build.VPERMPS(m.vec(0), m.vec(1), m.vec(0))
}

// two256 multiplies two weight rows with two activation rows and then the other
// two: 4 pairs in 8 registers each.
func two256(m machine, l *walker, y, ys reg.GPVirtual) {
	for first := 0; first < 4; first += 2 {
		q := tile{m: m, l: l, rows: 2, xs: 2, first: first, acc: 0, x: 8, w: 10, label: fmt.Sprintf("two_tile%d", first)}
		q.run()
		// Pairs (r0,x0) (r1,x0) (r0,x1) (r1,x1) are registers 0, 2, 4 and 6.
		for i := range 4 {
			fold(m, 2*i, 8+i, 15)
		}
		join([4]int{8, 9, 10, 11}, 15)
		build.VMOVLPS(xmm(8), at(y, nil, 0, 4*first))
		build.VMOVHPS(xmm(8), at(y, ys, 1, 4*first))
	}
}

// dot writes the product of one row with one row.
func dot(m machine, t *tables) {
	function("dot"+m.suffix, "func(k int, w, x *float32) float32",
		fmt.Sprintf("dot%s returns the dot product of w[:k] and x[:k].", m.suffix))
	k := gp("k")
	l := &walker{w: gp("w"), x: gp("x")}
	l.split(t, k)
	if m.width == 16 {
		loadMask(l.mask)
	}
	q := tile{m: m, l: l, rows: 1, xs: 1, acc: accStart(m), x: 8, w: 10, label: "dot"}
	q.run()
	fold(m, q.acc, 0, 15)
	build.VMOVHLPS(xmm(0), xmm(0), xmm(1))
	build.VADDPS(xmm(1), xmm(0), xmm(0))
	build.VMOVSHDUP(xmm(0), xmm(1))
	build.VADDSS(xmm(1), xmm(0), xmm(0))
	build.Store(reg.X0, build.ReturnIndex(0))
	build.VZEROUPPER()
	build.RET()
}
