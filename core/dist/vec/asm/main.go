// Command asm writes the amd64 assembly of package vec. It is a module of its
// own so that the assembler generator is no dependency of lab.
//
// Here: the instructions. Not here: what a pass computes and in which order,
// which package vec defines in plain Go and its tests hold this code to. Start
// with exp.go. To regenerate, in the folder of package vec:
//
//	go generate
//
// Vectors are named by number throughout, so that both instruction sets can
// share one body; general registers are left to the allocator.
package main

import (
	"flag"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	flag.Parse()
	build.ConstraintExpr("amd64")
	t := newTables()
	for _, m := range []machine{{"AVX2", 32}, {"AVX512", 64}} {
		m.sum(t)
		m.lean(t)
		m.weigh(t)
		m.exps(t)
		if !m.wide() { // what waits for memory or for itself gains nothing from width
			m.moments(t)
			m.legal()
			m.ascending()
			m.within(t)
			m.same()
		}
		m.compare(t)
		m.max(t)
		m.least(t)
		m.finite(t)
		m.count(t)
		m.search(t)
		m.pick(t)
	}
	build.Generate()
}

// lanes is how many partial sums a block has, whatever the machine's width.
const lanes = 8

// machine is one instruction set.
type machine struct {
	suffix string
	bytes  int // in a vector
}

func (m machine) wide() bool { return m.bytes == 64 }

// vec returns vector register i at the machine's width.
func (m machine) vec(i int) reg.VecPhysical {
	if m.wide() {
		return [...]reg.VecPhysical{
			reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7,
			reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15,
			reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23,
			reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
		}[i]
	}
	return ymm(i)
}

func ymm(i int) reg.VecPhysical {
	return [...]reg.VecPhysical{
		reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7,
		reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y15,
	}[i]
}

func xmm(i int) reg.VecPhysical {
	return [...]reg.VecPhysical{
		reg.X0, reg.X1, reg.X2, reg.X3, reg.X4, reg.X5, reg.X6, reg.X7,
		reg.X8, reg.X9, reg.X10, reg.X11, reg.X12, reg.X13, reg.X14, reg.X15,
	}[i]
}

func mask(i int) reg.OpmaskPhysical {
	return [...]reg.OpmaskPhysical{reg.K1, reg.K2, reg.K3, reg.K4}[i]
}

// at returns the memory at base+offset.
func at(base reg.Register, offset int) operand.Mem { return operand.Mem{Base: base, Disp: offset} }

// function opens a leaf function of the given signature.
func function(name, signature, doc string) {
	build.TEXT(name, build.NOSPLIT, signature)
	build.Pragma("noescape")
	build.Doc(name + " " + doc)
}

// gp loads a parameter into a general register.
func gp(name string) reg.GPVirtual {
	return build.Load(build.Param(name), build.GP64()).(reg.GPVirtual)
}

// broadcast64 fills vector register i with a float64 parameter.
func (m machine) broadcast64(name string, i int) {
	x := build.Load(build.Param(name), build.XMM())
	build.VBROADCASTSD(x, m.vec(i))
}

// broadcast32 fills vector register i with a float32 parameter.
func (m machine) broadcast32(name string, i int) {
	x := build.Load(build.Param(name), build.XMM())
	build.VBROADCASTSS(x, m.vec(i))
}

func (m machine) zero(i int) {
	if m.wide() {
		build.VPXORD(m.vec(i), m.vec(i), m.vec(i))
		return
	}
	build.VXORPS(m.vec(i), m.vec(i), m.vec(i))
}

func end() {
	build.VZEROUPPER()
	build.RET()
}

// loop runs body for n counted down in steps while at least that many are left;
// what is left stays in n.
func loop(label string, n reg.GPVirtual, step int, body func()) {
	build.CMPQ(n, operand.U32(step))
	build.JL(operand.LabelRef(label + "_end"))
	build.Label(label)
	body()
	build.SUBQ(operand.U32(step), n)
	build.CMPQ(n, operand.U32(step))
	build.JGE(operand.LabelRef(label))
	build.Label(label + "_end")
}
