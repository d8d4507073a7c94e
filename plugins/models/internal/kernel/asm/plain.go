package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// together is how many columns go through a loop at once.
const together = 4

// plain writes the products of a group of 16 rows of half-precision numbers.
type plain struct {
	m         machine
	load      func(from operand.Mem, to reg.VecPhysical)
	w, x, y   reg.GPVirtual
	ys, wide  reg.GPVirtual // bytes from one row of y, one column of x to the next
	count     reg.GPVirtual
	mask      reg.GPVirtual
	firstLane int // of a vector of 8
}

// plainProducts writes the products of every format whose packed form is columns
// of numbers.
func plainProducts(m machine, t *tables) {
	for _, f := range []struct {
		name string
		load func(from operand.Mem, to reg.VecPhysical)
	}{
		{"F16", func(from operand.Mem, to reg.VecPhysical) { build.VCVTPH2PS(from, to) }},
		{"BF16", func(from operand.Mem, to reg.VecPhysical) {
			build.VPMOVZXWD(from, to)
			build.VPSLLD(operand.U8(16), to, to)
		}},
	} {
		name := "products" + f.name + m.suffix
		function(name, "func(y *float32, ys, n int, w *byte, cols int, x *byte, b int)",
			fmt.Sprintf("%s sets y[j*ys+i] to the product of row i of a packed group with row j of a tile for i < n <= 16 and j < b <= 16.", name))
		o := &plain{m: m, load: f.load, w: build.GP64(), x: build.GP64(), y: gp("y"), ys: gp("ys"), wide: gp("b"), count: build.GP64()}
		left, first := gp("b"), gp("x")
		build.SHLQ(operand.U8(2), o.ys)
		build.SHLQ(operand.U8(2), o.wide)
		o.mask = t.maskPointer(gp("n"))
		sizes := []int{8, 4, 2, 1}
		if m.width == 16 {
			sizes = []int{16, 8, 4, 2, 1}
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
			build.ADDQ(operand.U8(4*size), first)
			build.SUBQ(operand.U8(size), left)
			build.JMP(operand.LabelRef(label))
			build.Label(label + "_end")
		}
		build.VZEROUPPER()
		build.RET()
	}
}

// sum is the register of row j's products, weights those of column i.
func (o *plain) sum(j int) reg.VecPhysical {
	if o.m.width == 16 {
		return o.m.vec(16 + j)
	}
	return ymm(j)
}

func (o *plain) weights(i int) reg.VecPhysical { return o.m.vec(8 + i%2) }

// rows multiplies with so many rows of activations.
func (o *plain) rows(label string, size int) {
	for j := range size {
		if o.m.width == 16 {
			build.VPXORD(o.sum(j), o.sum(j), o.sum(j))
		} else {
			build.VPXOR(o.sum(j), o.sum(j), o.sum(j))
		}
	}
	build.Load(build.Param("cols"), o.count)
	build.SUBQ(operand.U8(together), o.count)
	build.JL(operand.LabelRef(label + "_rest"))
	build.Label(label + "_columns")
	o.columns(together, size)
	build.SUBQ(operand.U8(together), o.count)
	build.JGE(operand.LabelRef(label + "_columns"))
	build.Label(label + "_rest")
	build.ADDQ(operand.U8(together), o.count)
	build.JZ(operand.LabelRef(label + "_store"))
	build.Label(label + "_column")
	o.columns(1, size)
	build.DECQ(o.count)
	build.JNZ(operand.LabelRef(label + "_column"))
	build.Label(label + "_store")
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

// columns adds n columns, one after the other.
func (o *plain) columns(n, size int) {
	if n == together {
		fetchAhead(o.w, 2*lanes*n)
	}
	for i := range n {
		o.load(at(o.w, nil, 0, 2*(lanes*i+o.firstLane)), o.weights(i))
		for j := range size {
			if from := at(o.x, nil, 0, 4*j); o.m.width == 16 {
				build.VFMADD231PS_BCST(from, o.weights(i), o.sum(j))
			} else {
				build.VBROADCASTSS(from, ymm(10+j%4))
				build.VFMADD231PS(ymm(10+j%4), o.weights(i), o.sum(j))
			}
		}
		build.ADDQ(o.wide, o.x)
	}
	build.ADDQ(operand.U32(2*lanes*n), o.w)
}
