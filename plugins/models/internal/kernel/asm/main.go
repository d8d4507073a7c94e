// Command asm writes the amd64 assembly of package kernel. It is a module of
// its own so that the assembler generator is no dependency of lab.
//
// Here: the instructions. Not here: the order in which numbers are summed,
// which package kernel defines in plain Go and its tests hold this code to.
// Start with dots.go. To regenerate, in the folder of package kernel:
//
//	go generate
//
// Vectors are named by number throughout, so that the code of the 16-register
// and of the 32-register machines can share one body; general registers are
// left to the allocator.
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
	avx2 := machine{suffix: "AVX2", width: 8}
	avx512 := machine{suffix: "AVX512", width: 16}
	t := newTables()
	for _, m := range []machine{avx2, avx512} {
		dots(m, t)
		dot(m, t)
		addWeighted(m, t)
	}
	add(t)
	scaleBy(t)
	rotate(t)
	scaleMax(t)
	expSum(t)
	siluMul(t)
	gelu(t, false)
	gelu(t, true)
	for _, m := range []machine{avx2, avx512} {
		widen(m, t)
		products(m, t)
		plainProducts(m, t)
		wordProducts(m, t)
	}
	rounds(t)
	roundByWords(t)
	relax()
	build.Generate()
}

// lanes is how many partial sums an output has, whatever the machine's width.
const lanes = 16

// machine is one instruction set.
type machine struct {
	suffix string
	width  int // float32 values per vector: 8 or 16
}

// halves is how many vectors hold one set of lanes.
func (m machine) halves() int { return lanes / m.width }

// vec returns vector register i at the machine's width.
func (m machine) vec(i int) reg.VecPhysical {
	if m.width == 16 {
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

// at returns the memory behind base+index*scale+offset; a nil index is none.
func at(base, index reg.Register, scale uint8, offset int) operand.Mem {
	m := operand.Mem{Base: base, Disp: offset}
	if index != nil {
		m.Index, m.Scale = index, scale
	}
	return m
}

// function opens a leaf function of the given signature.
func function(name, signature, doc string) {
	build.TEXT(name, build.NOSPLIT, signature)
	build.Pragma("noescape")
	build.Doc(doc)
}

// gp loads a parameter into a general register.
func gp(name string) reg.GPVirtual {
	return build.Load(build.Param(name), build.GP64()).(reg.GPVirtual)
}

// ahead is how many bytes of weights before their use they are asked of memory. The
// machine's own prefetching keeps up with one row of activations, where little is
// computed per byte, and not with several: then every product waited for memory,
// half of the time of a batch. Of 1 to 8 KiB all help, 4 and 8 the most.
const ahead = 4096

// fetchAhead asks for the size bytes that are used after the ahead ones from w on.
// They may lie behind the matrix: asking does not fault.
func fetchAhead(w reg.Register, size int) {
	for i := 0; i < size; i += 64 {
		build.PREFETCHT0(at(w, nil, 0, ahead+i))
	}
}

// fetchNext asks for the weights of the group after this one while this one is
// multiplied, and moves next on. A group is walked once for every few rows of
// activations, tile bytes of their records, and every walk asks for its part of the
// size bytes in place of each that it uses: were all asked for by the first, it would
// wait for memory, and memory for the others. wide is the size of all rows' records.
func fetchNext(label string, next, wide reg.GPVirtual, size, tile int) {
	asked := 0
	for walks := 3; walks > 0; walks-- {
		lines := (size + 64*walks - 1) / (64 * walks)
		for i := range lines - asked {
			build.PREFETCHT1(at(next, nil, 0, 64*i))
		}
		build.ADDQ(operand.U32(64*(lines-asked)), next)
		asked = lines
		if walks > 1 {
			build.CMPQ(wide, operand.U32((walks-1)*tile))
			build.JG(operand.LabelRef(label + "_asked"))
		}
	}
	build.Label(label + "_asked")
}
