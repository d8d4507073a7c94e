// Package seed derives independent streams of uniform numbers from one run
// seed. A stream is a pure function of (run seed, prompt, sample, step, lane),
// so a draw does not depend on the batch, the order of work, the number of
// threads or what was drawn before, and two settings can be compared under the
// same numbers.
//
// It is Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and
// Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011). Start with
// [New].
package seed

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// Draw is the lane of the token draw itself. Other random stages use [Lane] of
// their name, so that adding one does not change the draw.
const Draw uint32 = 0

// Stream is the source of one prompt under one run seed. It is a value, has no
// state and is safe for concurrent use.
type Stream struct{ key [2]uint32 }

// New returns the stream of a prompt under a run seed. The key is the first
// eight bytes of SHA-256("lab/seed/1" ‖ seed as 8 little-endian bytes ‖ prompt),
// so equal prompts share a stream wherever they stand in a list, and all models
// see the same numbers.
func New(run uint64, prompt []byte) Stream {
	h := sha256.New()
	h.Write([]byte("lab/seed/1"))
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], run)
	h.Write(b[:])
	h.Write(prompt)
	sum := h.Sum(nil)
	return Stream{key: [2]uint32{binary.LittleEndian.Uint32(sum), binary.LittleEndian.Uint32(sum[4:])}}
}

// Sub returns the run seed of part i of a run: its own for part 0, for the others
// the first eight bytes of SHA-256("lab/seed/part" ‖ seed ‖ i), both as 8
// little-endian bytes.
func Sub(run, i uint64) uint64 {
	if i == 0 {
		return run
	}
	b := binary.LittleEndian.AppendUint64([]byte("lab/seed/part"), run)
	sum := sha256.Sum256(binary.LittleEndian.AppendUint64(b, i))
	return binary.LittleEndian.Uint64(sum[:])
}

// Lane returns the lane of a random stage: the occurrence-th stage called name
// in its chain, counted from 0. It is never [Draw].
func Lane(name string, occurrence int) uint32 {
	h := sha256.New()
	h.Write([]byte(name))
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(occurrence))
	h.Write(b[:])
	lane := binary.LittleEndian.Uint32(h.Sum(nil))
	if lane == Draw {
		lane = 1
	}
	return lane
}

// Uniforms fills dst with independent uniform numbers in
// [0, 1), each a multiple of 2^-53. sample and step count from 0 and must be
// below 2^32.
func (s Stream) Uniforms(dst []float64, sample, step uint64, lane uint32) {
	for i := 0; i < len(dst); i += 2 {
		block := uint32(i / 2)
		out := philox([4]uint32{uint32(sample), uint32(step), lane, block}, s.key)
		dst[i] = unit(out[0], out[1])
		if i+1 < len(dst) {
			dst[i+1] = unit(out[2], out[3])
		}
	}
}

func unit(hi, lo uint32) float64 {
	return float64((uint64(hi)<<32|uint64(lo))>>11) / (1 << 53)
}

// philox is ten rounds of Philox4x32 with the multipliers and Weyl constants of
// the paper (table 2 and section 4.3).
func philox(ctr [4]uint32, key [2]uint32) [4]uint32 {
	const (
		m0, m1 = 0xD2511F53, 0xCD9E8D57
		w0, w1 = 0x9E3779B9, 0xBB67AE85
	)
	for round := 0; round < 10; round++ {
		if round > 0 {
			key[0] += w0
			key[1] += w1
		}
		h0, l0 := bits.Mul32(m0, ctr[0])
		h1, l1 := bits.Mul32(m1, ctr[2])
		ctr = [4]uint32{h1 ^ ctr[1] ^ key[0], l1, h0 ^ ctr[3] ^ key[1], l0}
	}
	return ctr
}
