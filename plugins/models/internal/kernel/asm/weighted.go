package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// weighted writes weighted sums of the rows of v. A tile is a few sums, of 4
// vectors of columns each or of one: a row of v is loaded once for all of them, and
// there are enough of them that none waits for the row before.
type weighted struct {
	m             machine
	out, os       reg.GPVirtual // the first sum's columns, bytes from one sum to the next
	v, vs         reg.GPVirtual
	a, as, as3    reg.GPVirtual // the first sum's weights, bytes from those of one sum to the next and the third
	row, at, left reg.GPVirtual // while a tile walks: of v, of the weights, rows
}

// addWeighted writes the sums for one machine.
func addWeighted(m machine, t *tables) {
	function("addWeighted"+m.suffix, "func(out *float32, os, b int, v *float32, vs, n int, a *float32, as, e int)",
		fmt.Sprintf("addWeighted%s adds a[j*as+p]*v[p*vs:][:e] to out[j*os:][:e] for p = 0 to n-1 in this order and j < b; n > 0.", m.suffix))
	o := &weighted{m: m, out: build.GP64(), os: gp("os"), v: build.GP64(), vs: gp("vs"), a: gp("a"), as: gp("as"), as3: build.GP64(),
		row: build.GP64(), at: build.GP64(), left: build.GP64()}
	first, columns := gp("out"), build.GP64()
	for _, stride := range []reg.GPVirtual{o.os, o.vs, o.as} {
		build.SHLQ(operand.U8(2), stride)
	}
	build.LEAQ(at(o.as, o.as, 2, 0), o.as3)
	rest := gp("e")
	build.ANDQ(operand.U8(m.width-1), rest)
	mask := t.maskPointer(rest)
	if m.width == 16 {
		loadMask(mask)
	} else {
		build.VMOVUPS(at(mask, nil, 0, 0), ymm(15))
	}
	left := build.AllocLocal(8)
	build.Load(build.Param("b"), columns)
	build.MOVQ(columns, left)
	sizes := []int{4, 3, 2, 1}
	if m.width == 8 {
		sizes = []int{2, 1}
	}
	for _, size := range sizes {
		label := fmt.Sprintf("sums%d", size)
		build.Label(label)
		build.CMPQ(left, operand.U8(size))
		build.JL(operand.LabelRef(label + "_end"))
		build.MOVQ(first, o.out)
		build.Load(build.Param("v"), o.v)
		build.Load(build.Param("e"), columns)
		for _, vectors := range []int{4, 1} {
			wide := fmt.Sprintf("%s_%d", label, vectors)
			build.Label(wide)
			build.CMPQ(columns, operand.U8(vectors*m.width))
			build.JL(operand.LabelRef(wide + "_end"))
			o.tile(wide, size, vectors, false)
			build.ADDQ(operand.U32(4*vectors*m.width), o.out)
			build.ADDQ(operand.U32(4*vectors*m.width), o.v)
			build.SUBQ(operand.U8(vectors*m.width), columns)
			build.JMP(operand.LabelRef(wide))
			build.Label(wide + "_end")
		}
		build.TESTQ(columns, columns)
		build.JZ(operand.LabelRef(label + "_next"))
		o.tile(label+"_rest", size, 1, true)
		build.Label(label + "_next")
		for range size {
			build.ADDQ(o.os, first)
			build.ADDQ(o.as, o.a)
		}
		build.SUBQ(operand.U8(size), left)
		build.JMP(operand.LabelRef(label))
		build.Label(label + "_end")
	}
	build.VZEROUPPER()
	build.RET()
}

// tile adds all rows to so many sums of so many vectors.
func (o *weighted) tile(label string, size, vectors int, masked bool) {
	acc, x, factor := accStart(o.m), 8, 12
	if o.m.width == 16 {
		x, factor = 0, 4
	}
	sum := func(j, i int) reg.VecPhysical { return o.m.vec(acc + j*vectors + i) }
	each := func(do func(m operand.Mem, v reg.VecPhysical)) {
		build.MOVQ(o.out, o.row)
		for j := range size {
			if j > 0 {
				build.ADDQ(o.os, o.row)
			}
			for i := range vectors {
				do(at(o.row, nil, 0, 4*i*o.m.width), sum(j, i))
			}
		}
	}
	each(func(m operand.Mem, v reg.VecPhysical) { o.load(m, v, masked) })
	build.MOVQ(o.v, o.row)
	build.MOVQ(o.a, o.at)
	build.Load(build.Param("n"), o.left)
	build.Label(label + "_row")
	for i := range vectors {
		o.load(at(o.row, nil, 0, 4*i*o.m.width), o.m.vec(x+i), masked)
	}
	for j := range size {
		build.VBROADCASTSS(row(o.at, o.as, o.as3, j, 0), o.m.vec(factor))
		for i := range vectors {
			build.VFMADD231PS(o.m.vec(x+i), o.m.vec(factor), sum(j, i))
		}
	}
	build.ADDQ(operand.U8(4), o.at)
	build.ADDQ(o.vs, o.row)
	build.DECQ(o.left)
	build.JNZ(operand.LabelRef(label + "_row"))
	each(func(m operand.Mem, v reg.VecPhysical) { o.store(m, v, masked) })
}

func (o *weighted) load(m operand.Mem, v reg.VecPhysical, masked bool) {
	switch {
	case !masked:
		build.VMOVUPS(m, v)
	case o.m.width == 16:
		build.VMOVUPS_Z(m, reg.K1, v)
	default:
		build.VMASKMOVPS(m, ymm(15), v)
	}
}

func (o *weighted) store(m operand.Mem, v reg.VecPhysical, masked bool) {
	switch {
	case !masked:
		build.VMOVUPS(v, m)
	case o.m.width == 16:
		build.VMOVUPS(v, reg.K1, m)
	default:
		build.VMASKMOVPS(v, ymm(15), m)
	}
}
