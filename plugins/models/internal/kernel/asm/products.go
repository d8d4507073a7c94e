package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// packed is a layout of kernel's pack.go.
type packed struct {
	name           string
	unit           int // values that share a scale
	low, up        int // bits in the two places
	offset         int // the power of two that is subtracted from values; 0 for none
	super          bool
	signed         bool
	minimum, table bool
}

var packings = []packed{
	{name: "Q8_0", unit: 32, low: 8, offset: 7},
	{name: "Q4_0", unit: 32, low: 4, offset: 3},
	{name: "Q4_1", unit: 32, low: 4, minimum: true},
	{name: "Q5_0", unit: 32, low: 4, up: 1, offset: 4},
	{name: "Q5_1", unit: 32, low: 4, up: 1, minimum: true},
	{name: "IQ4_NL", unit: 32, low: 4, offset: 7, table: true},
	{name: "Q2_K", unit: 16, low: 2, super: true, minimum: true},
	{name: "Q3_K", unit: 16, low: 4, offset: 2, super: true, signed: true},
	{name: "Q4_K", unit: 32, low: 4, super: true, minimum: true},
	{name: "Q5_K", unit: 32, low: 4, up: 1, super: true, minimum: true},
	{name: "Q6_K", unit: 16, low: 4, up: 2, offset: 5, super: true, signed: true},
}

func (p packed) steps() int { return p.unit / 4 }

func (p packed) scaleBytes() int {
	if p.super {
		return 16
	}
	return 32
}

func (p packed) upAt() int {
	if p.minimum {
		return 2 * p.scaleBytes()
	}
	return p.scaleBytes()
}

func (p packed) lowAt() int     { return p.upAt() + p.up*p.unit*2 }
func (p packed) unitBytes() int { return p.lowAt() + p.low*p.unit*2 }

func (p packed) headBytes() int {
	switch {
	case !p.super:
		return 0
	case p.minimum:
		return 64
	}
	return 32
}

// Where a record of 32 rounded activations has what.
const (
	recordBytes = 64
	recordScale = 32
)

// negative and share are offsets in a record for unit i of it.
func (p packed) negative(i int) int {
	if p.unit == 32 {
		return 36
	}
	return 44 + 4*i
}

func (p packed) share(i int) int {
	if p.unit == 32 {
		return 40
	}
	return 52 + 4*i
}

// producer writes the products of a group of 16 rows.
type producer struct {
	packed
	m         machine
	t         *tables
	w, x      reg.GPVirtual // next unit, next record of the first row in work
	ys, y     reg.GPVirtual
	wide      reg.GPVirtual // bytes from one record of a row to its next
	count     reg.GPVirtual
	inner     reg.GPVirtual
	mask      reg.GPVirtual
	next      reg.GPVirtual // what is asked of memory
	firstLane int           // of a vector of 8
}

// products writes the products of every packed format.
func products(m machine, t *tables) {
	for _, p := range packings {
		name := "products" + p.name + m.suffix
		function(name, "func(y *float32, ys, n int, w *byte, blocks int, x *byte, b int, next *byte)",
			fmt.Sprintf("%s sets y[j*ys+i] to the product of row i of a packed group with rounded row j for i < n <= 16 and j < b.", name))
		o := &producer{packed: p, m: m, t: t, w: build.GP64(), x: build.GP64(), ys: gp("ys"), y: gp("y"), wide: gp("b"),
			count: build.GP64(), inner: build.GP64(), next: gp("next")}
		left, first := gp("b"), gp("x")
		build.SHLQ(operand.U8(2), o.ys)
		build.SHLQ(operand.U8(6), o.wide)
		o.mask = t.maskPointer(gp("n"))
		o.constants()
		sizes := []int{16, 8, 4, 2, 1}
		if m.width == 8 {
			sizes = []int{4, 1}
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
			build.LEAQ(at(o.y, o.ys, 1, 0), o.y)
			for range size - 1 {
				build.ADDQ(o.ys, o.y)
			}
			build.ADDQ(operand.U32(size*recordBytes), first)
			build.SUBQ(operand.U8(size), left)
			build.JMP(operand.LabelRef(label))
			build.Label(label + "_end")
		}
		build.VZEROUPPER()
		build.RET()
	}
}

// rows multiplies with so many rows of activations.
func (o *producer) rows(label string, size int) {
	for j := range size {
		o.zero(o.sum(j))
	}
	build.Load(build.Param("blocks"), o.count)
	build.Label(label + "_block")
	units := 32 / o.unit
	if o.super {
		o.head()
		build.ADDQ(operand.U8(o.headBytes()), o.w)
		build.MOVQ(operand.U32(8), o.inner)
		build.Label(label + "_inner")
	}
	if o.firstLane == 0 {
		fetchNext(label, o.next, o.wide, units*o.unitBytes(), recordBytes*map[int]int{8: 4, 16: 16}[o.m.width])
	}
	for i := range units {
		o.scales(i * o.unitBytes())
		if o.m.width == 16 {
			o.unit512(i, size)
		} else {
			o.unit256(i, size)
		}
	}
	build.ADDQ(operand.U32(units*o.unitBytes()), o.w)
	build.ADDQ(o.wide, o.x)
	if o.super {
		build.DECQ(o.inner)
		build.JNZ(operand.LabelRef(label + "_inner"))
	}
	build.DECQ(o.count)
	build.JNZ(operand.LabelRef(label + "_block"))
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

func (o *producer) zero(v reg.VecPhysical) {
	if o.m.width == 16 {
		build.VPXORD(v, v, v)
	} else {
		build.VPXOR(v, v, v)
	}
}

// The registers. With 32 of them, 0 to 7 hold a unit of weights and 16 to 31 sums;
// with 16, 0 to 3 hold sums and 4 to 7 whole sums.
func (o *producer) sum(j int) reg.VecPhysical {
	if o.m.width == 16 {
		return o.m.vec(16 + j)
	}
	return ymm(j)
}

// scale is the register of a unit's scales, lowest that of its minima, and the
// next two those of a block's units.
func (o *producer) scale(i int) reg.VecPhysical {
	if o.m.width == 16 {
		return o.m.vec([...]int{8, 9, 14, 15}[i])
	}
	return ymm(8 + i)
}

// constants loads what stays.
func (o *producer) constants() {
	up := fmt.Sprintf("bytes%d", (1<<o.up-1)<<o.low)
	if o.m.width == 16 {
		loadMask(o.mask)
		build.VPBROADCASTD(o.t.floats[fmt.Sprintf("bytes%d", 1<<min(o.low, 4)-1)], o.m.vec(12))
		if o.up > 0 {
			build.VPBROADCASTD(o.t.floats[up], o.m.vec(13))
		}
		if o.table {
			build.VBROADCASTI32X4(o.t.levels, o.m.vec(13))
		}
		return
	}
	build.VMOVUPS(o.t.floats["words1"], ymm(14))

}

// halves loads half-precision numbers of the lanes.
func (o *producer) halves(offset int, to reg.VecPhysical) {
	build.VCVTPH2PS(at(o.w, nil, 0, offset+2*o.firstLane), to)
}

// head loads the units of a block's scales and minima.
func (o *producer) head() {
	o.halves(0, o.scale(2))
	if o.minimum {
		o.halves(32, o.scale(3))
	}
}

// scales loads those of the unit at offset.
func (o *producer) scales(offset int) {
	if !o.super {
		o.halves(offset, o.scale(0))
		if o.minimum {
			o.halves(offset+32, o.scale(1))
		}
		return
	}
	for i := range 2 {
		if i == 1 && !o.minimum {
			break
		}
		v, from := o.scale(i), at(o.w, nil, 0, offset+16*i+o.firstLane)
		if o.signed {
			build.VPMOVSXBD(from, v)
		} else {
			build.VPMOVZXBD(from, v)
		}
		build.VCVTDQ2PS(v, v)
		build.VMULPS(o.scale(2+i), v, v)
	}
}

// record returns the address of what row j has at an offset of its record.
func (o *producer) record(j, offset int) operand.Mem { return at(o.x, nil, 0, j*recordBytes+offset) }

// unit512 multiplies unit i of a record.
func (o *producer) unit512(i, size int) {
	v := o.m.vec
	o.unpack512(i * o.unitBytes())
	whole, factor := v(10), v(11)
	for j := range size {
		if o.offset > 0 {
			build.VPSLLD_BCST(operand.U8(o.offset), o.record(j, o.negative(i)), whole)
		} else {
			o.zero(whole)
		}
		for t := range o.steps() {
			build.VPDPBUSD_BCST(o.record(j, o.unit*i+4*t), v(t), whole)
		}
		build.VCVTDQ2PS(whole, whole)
		build.VMULPS_BCST(o.record(j, recordScale), o.scale(0), factor)
		build.VFMADD231PS(whole, factor, o.sum(j))
		switch {
		case o.minimum && o.super:
			build.VFNMADD231PS_BCST(o.record(j, o.share(i)), o.scale(1), o.sum(j))
		case o.minimum:
			build.VFMADD231PS_BCST(o.record(j, o.share(i)), o.scale(1), o.sum(j))
		}
	}
}

// unpack512 leaves the values of a unit in registers 0 on.
func (o *producer) unpack512(offset int) {
	v := o.m.vec
	vectors := o.steps() * o.low / 8
	for t := range o.steps() {
		from := at(o.w, nil, 0, offset+o.lowAt()+64*(t%vectors))
		if o.low == 8 {
			build.VMOVDQU32(from, v(t))
			continue
		}
		if field := t / vectors * o.low; field == 0 {
			build.VPANDD(from, v(12), v(t))
		} else {
			build.VPSRLD(operand.U8(field), from, v(t))
			build.VPANDD(v(12), v(t), v(t))
		}
		if o.up > 0 {
			upper, shift := at(o.w, nil, 0, offset+o.upAt()), o.low-o.up*t
			switch {
			case shift > 0:
				build.VPSLLD(operand.U8(shift), upper, v(10))
			case shift < 0:
				build.VPSRLD(operand.U8(-shift), upper, v(10))
			default:
				build.VMOVDQU32(upper, v(10))
			}
			build.VPTERNLOGD(operand.U8(0xea), v(t), v(13), v(10)) // (v10 and v13) or vt
			build.VMOVDQA32(v(10), v(t))
		}
		if o.table {
			build.VPSHUFB(v(t), v(13), v(t))
		}
	}
}

// unit256 multiplies unit i of a record with 8 lanes of the rows, step by step.
func (o *producer) unit256(i, size int) {
	whole := func(j int) reg.VecPhysical { return ymm(4 + j) }
	w, x, temp := ymm(12), ymm(13), ymm(15)
	ones := ymm(14)
	signs := o.low == 8 || o.table // values that vpmaddubsw has no room for without their sign
	for j := range size {
		if o.offset > 0 && !signs {
			build.VPBROADCASTD(o.record(j, o.negative(i)), whole(j))
			build.VPSLLD(operand.U8(o.offset), whole(j), whole(j))
		} else {
			o.zero(whole(j))
		}
	}
	for t := range o.steps() {
		o.unpack256(i*o.unitBytes(), t)
		for j := range size {
			build.VPBROADCASTD(o.record(j, o.unit*i+4*t), x)
			if signs {
				build.VPSIGNB(w, x, x)
				build.VPABSB(w, temp)
				build.VPMADDUBSW(x, temp, x)
			} else {
				build.VPMADDUBSW(x, w, x)
			}
			build.VPMADDWD(ones, x, x)
			build.VPADDD(x, whole(j), whole(j))
		}
	}
	for j := range size {
		build.VCVTDQ2PS(whole(j), whole(j))
		build.VBROADCASTSS(o.record(j, recordScale), x)
		build.VMULPS(x, o.scale(0), x)
		build.VFMADD231PS(whole(j), x, o.sum(j))
		if o.minimum {
			build.VBROADCASTSS(o.record(j, o.share(i)), x)
			if o.super {
				build.VFNMADD231PS(x, o.scale(1), o.sum(j))
			} else {
				build.VFMADD231PS(x, o.scale(1), o.sum(j))
			}
		}
	}
}

// unpack256 leaves step t of a unit in register 12: with their sign where
// vpmaddubsw needs it.
func (o *producer) unpack256(offset, t int) {
	w, temp := ymm(12), ymm(15)
	vectors := o.steps() * o.low / 8
	from := at(o.w, nil, 0, offset+o.lowAt()+64*(t%vectors)+4*o.firstLane)
	build.VMOVDQU(from, w)
	if o.low == 8 {
		build.VPXOR(o.t.floats["bytes128"], w, w)
		return
	}
	if field := t / vectors * o.low; field > 0 {
		build.VPSRLD(operand.U8(field), w, w)
	}
	build.VPAND(o.t.floats[fmt.Sprintf("bytes%d", 1<<o.low-1)], w, w)
	if o.up > 0 {
		build.VMOVDQU(at(o.w, nil, 0, offset+o.upAt()+4*o.firstLane), temp)
		switch shift := o.low - o.up*t; {
		case shift > 0:
			build.VPSLLD(operand.U8(shift), temp, temp)
		case shift < 0:
			build.VPSRLD(operand.U8(-shift), temp, temp)
		}
		build.VPAND(o.t.floats[fmt.Sprintf("bytes%d", (1<<o.up-1)<<o.low)], temp, temp)
		build.VPOR(temp, w, w)
	}
	if o.table {
		build.VBROADCASTI128(o.t.levels, temp)
		build.VPSHUFB(w, temp, w)
		build.VPXOR(o.t.floats["bytes128"], w, w)
	}
}
