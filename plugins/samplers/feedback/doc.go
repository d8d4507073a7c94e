// Package feedback holds the selectors that steer by what they drew: mirostat
// keeps the surprise of a text near a target, adaptive-p the probability of its
// tokens. It also holds the skewed draw, which shares their walk by rank.
//
// What a stage of this package remembers of a text is one number, mu or a mean,
// kept as its state: 8 bytes, a little-endian float64. Everything else is in
// the row. Each stage leaves the row as the distribution it drew from, so the
// ledger and the record show what happened; from the record alone mu can be
// computed again (see the test of the telescoping identity).
//
// Nothing here follows the arithmetic of other systems; that is package compat.
// Start with [MirostatV2].
package feedback

import (
	"encoding/binary"
	"math"

	"lab/core/dist"
	"lab/core/fault"
)

// load reads the number that a stage keeps, or start when it has none yet.
// Bytes that no stage of this kind wrote are a data error.
func load(op string, state []byte, start, least, most float64) (float64, error) {
	if len(state) == 0 {
		return start, nil
	}
	if len(state) != 8 {
		return 0, fault.New(fault.Data, op, "", "its state has %d bytes, not 8", len(state))
	}
	x := math.Float64frombits(binary.LittleEndian.Uint64(state))
	if !(x >= least && x <= most) {
		return 0, fault.New(fault.Data, op, "", "its state holds %v, outside [%g, %g]", x, least, most)
	}
	return x, nil
}

// save returns the state that holds a number.
func save(x float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)) }

// listed returns a data error when a row has an unlisted tail.
func listed(op string, s *dist.Scores) error {
	if s.Unlisted == 0 {
		return nil
	}
	return fault.New(fault.Data, op, "", "a mass of %.4g is unlisted, and where it lies is not known", s.Unlisted).
		Fix("truncate to listed tokens first, with top_k or top_p")
}
