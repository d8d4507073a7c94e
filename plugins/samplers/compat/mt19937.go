package compat

import (
	"encoding/binary"
	"math"

	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// mtLength is the number of words of the generator's state.
const mtLength = 624

// mt19937 is the 32-bit Mersenne twister (Matsumoto and Nishimura 1998), which
// every system that can be seeded draws from.
type mt19937 struct {
	words [mtLength]uint32
	next  int // of the word to hand out; mtLength: twist first
}

// newMT returns the generator of a seed.
func newMT(seed uint32) *mt19937 {
	g := &mt19937{next: mtLength}
	g.words[0] = seed
	for i := 1; i < mtLength; i++ {
		prev := g.words[i-1]
		g.words[i] = 1812433253*(prev^prev>>30) + uint32(i)
	}
	return g
}

// word returns the next 32 random bits.
func (g *mt19937) word() uint32 {
	if g.next == mtLength {
		g.twist()
	}
	y := g.words[g.next]
	g.next++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

func (g *mt19937) twist() {
	const period, low = 397, 1<<31 - 1
	for i := range g.words {
		y := g.words[i]&^low | g.words[(i+1)%mtLength]&low
		g.words[i] = g.words[(i+period)%mtLength] ^ y>>1 ^ -(y&1)&0x9908b0df
	}
	g.next = 0
}

// double returns a number in [0, 1) made of two words, the lower one first.
func (g *mt19937) double() float64 {
	a := float64(g.word())
	b := float64(g.word()) * (1 << 32)
	return min((a+b)/(1<<64), math.Nextafter(1, 0))
}

// single returns a float32 in [0, 1) made of one word.
func (g *mt19937) single() float32 {
	return min(float32(g.word())/(1<<32), math.Nextafter32(1, 0))
}

// A stage that draws keeps its generator, and numbers of its own after it, in
// the state of the sequence: a length of the spare words first, so that a state
// is never taken for one of another length.
const mtBytes = 2 + 4*mtLength

// randomSeed is the seed that stands for "choose one".
const randomSeed = math.MaxUint32

func seedSpec() param.Spec {
	return param.Spec{
		Name: "seed", Type: param.Int, Default: int64(randomSeed), Min: 0, Max: randomSeed,
		Meaning: "seed of the stage's own mt19937 generator, the same for every sample; 4294967295 takes one from the run's seed, another for each sample",
	}
}

// generator returns the stage's generator as the step before left it, and its
// extra numbers; at the first step a new one and the numbers of start. What the
// state holds was in another process's hands and is checked.
func generator(row *sampler.Row, set param.Values, op string, start ...float32) (*mt19937, []float32, error) {
	if len(row.State) == 0 {
		seed := uint32(set.Int("seed"))
		if seed == randomSeed && len(row.Uniforms) > 0 {
			seed = uint32(row.Uniforms[0] * (1 << 32))
		}
		return newMT(seed), start, nil
	}
	bad := func(format string, args ...any) error {
		return fault.New(fault.Data, op, "", "its state is not one that it left: "+format, args...)
	}
	if len(row.State) != mtBytes+4*len(start) {
		return nil, nil, bad("%d bytes instead of %d", len(row.State), mtBytes+4*len(start))
	}
	g := &mt19937{next: int(binary.LittleEndian.Uint16(row.State))}
	if g.next > mtLength {
		return nil, nil, bad("word %d of %d is next", g.next, mtLength)
	}
	at := row.State[2:]
	for i := range g.words {
		g.words[i] = binary.LittleEndian.Uint32(at[4*i:])
	}
	extra := make([]float32, len(start))
	for i := range extra {
		extra[i] = math.Float32frombits(binary.LittleEndian.Uint32(at[4*(mtLength+i):]))
		if !(math.Abs(float64(extra[i])) <= math.MaxFloat32) {
			return nil, nil, bad("number %d is %v", i, extra[i])
		}
	}
	return g, extra, nil
}

// keep writes the generator and the extra numbers into the row's state.
func (g *mt19937) keep(row *sampler.Row, extra ...float32) {
	out := make([]byte, 0, mtBytes+4*len(extra))
	out = binary.LittleEndian.AppendUint16(out, uint16(g.next))
	for _, w := range g.words {
		out = binary.LittleEndian.AppendUint32(out, w)
	}
	for _, x := range extra {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
	}
	row.State = out
}
