package selection

import (
	"encoding/binary"
	"math"
	"math/bits"

	"lab/core/dist"
	"lab/core/dist/vec"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// Arithmetic draws the samples of a prompt at evenly spread points of the unit
// interval, each of which codes for one whole text.
type Arithmetic struct{}

// Declare returns the declaration.
func (Arithmetic) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name:    "arithmetic",
		Aliases: []string{"arithmetic_sampling"},
		Kind:    sampler.Select,
		Summary: "Draws each sample by decoding a point of the unit interval as an arithmetic coder does; the points of a prompt's samples are evenly spread and shifted together by one random number, so every sample has the law of a plain draw while all of them together cover the texts more evenly.",
		Formula: "token with F_(i-1) <= c < F_i, then c ← (c - F_(i-1)) / p_i; first c = (u + sample/samples) mod 1",
		Source:  "Vilnis, Zemlyanskiy, Murray, Passos, Sanghai 2023, Arithmetic sampling: parallel diverse decoding for large language models",
		Params: param.Specs{{
			Name: "samples", Aliases: []string{"n"}, Type: param.Int, Default: int64(0), Min: 0, Max: math.MaxUint32, Unit: "samples",
			Meaning: "how many samples the points are spread for, which are then equally far apart; 0 is for a number not known in advance: points go round by the golden ratio, and any first n of them are nearly even",
		}},
		Needs: sampler.Needs{Uniforms: 1, Shared: true},
	}
}

// Apply decodes one token from the code, which is kept as the state: 8
// little-endian bytes, a point of the unit interval in units of 2^-64. Dividing
// by a token's share of the interval would leave the lowest bits of the code
// undefined after some 60 bits of surprisal; they are filled, at every step,
// from a hash of the step's uniform number and the index of the sample, so the
// code stays uniform for ever and the law of a sample is exact at any length.
// The row is not changed.
//
// The interval of a token is made of running sums of weights in order of id, in
// float64, cut to multiples of 2^-64; a token whose share is 0 there is never
// drawn. A state of another length, a sample beyond the number given and a row
// with an unlisted tail are refused.
func (Arithmetic) Apply(row *sampler.Row, set param.Values) error {
	s, u := row.Scores, row.Uniforms[0]
	fresh := mix(RaceSeed(u) + (row.Sample+1)*golden)
	n := uint64(set.Int("samples"))
	switch {
	case s.Unlisted > 0:
		return fault.New(fault.Data, "arithmetic", "", "a mass of %.4g is unlisted and cannot be drawn from", s.Unlisted).
			Fix("truncate to listed tokens first, with top_k or top_p")
	case n > 0 && row.Sample >= n:
		return fault.New(fault.Usage, "arithmetic", "", "sample %d is drawn but samples = %d", row.Sample, n).
			Fix("set samples to how many are drawn of each prompt, or to 0")
	}
	code := firstCode(u, row.Sample, n)
	switch len(row.State) {
	case 0:
	case 8:
		code = binary.LittleEndian.Uint64(row.State)
	default:
		return fault.New(fault.Data, "arithmetic", "", "its state has %d bytes, not 8", len(row.State))
	}
	at, low, width := decode(s, code)
	row.Chosen = s.ID(at)
	if width != 0 { // 0 is the whole interval, which leaves the code as it is
		code, _ = bits.Div64(code-low, fresh, width)
	}
	row.State = binary.LittleEndian.AppendUint64(nil, code)
	return nil
}

// firstCode returns the point of a sample: the common shift, and the sample's
// place on a lattice.
func firstCode(u float64, sample, n uint64) uint64 {
	shift := uint64(u*0x1p53)<<11 | RaceSeed(u)>>53 // a uniform number has 53 bits
	if n == 0 {
		return shift + sample*golden
	}
	at, _ := bits.Div64(sample, 0, n) // sample * 2^64 / n
	return shift + at
}

// decode returns the place of the token whose interval holds the code, where
// the interval starts and how long it is, 0 for all of it.
func decode(s *dist.Scores, code uint64) (at int, low, width uint64) {
	const part = 1024
	var w [part]float64
	top := float64(vec.Max(s.Values))
	// Running sums at the end of every part; one order of addition throughout.
	ends := make([]float64, 0, len(s.Values)/part+1)
	sum := 0.0
	for from := 0; from < len(s.Values); from += part {
		values := s.Values[from:min(from+part, len(s.Values))]
		vec.Exps(w[:], values, top)
		for _, x := range w[:len(values)] {
			sum += x
		}
		ends = append(ends, sum)
	}
	total, b := sum, 0
	for b+1 < len(ends) && !holds(ends[b], total, code) {
		b++
	}
	sum = 0
	if b > 0 {
		sum = ends[b-1]
	}
	from := b * part
	values := s.Values[from:min(from+part, len(s.Values))]
	vec.Exps(w[:], values, top)
	for i, x := range w[:len(values)] {
		if x == 0 {
			continue
		}
		low, _ = point(sum, total)
		sum += x
		high, _ := point(sum, total)
		at, width = from+i, high-low
		if holds(sum, total, code) { // the last sum is the total, which holds every code
			break
		}
	}
	return at, low, width
}

// point returns a running sum as a point of the unit interval in units of
// 2^-64; whole says that it is the end, 2^64, which is returned as 0.
func point(sum, total float64) (at uint64, whole bool) {
	x := sum / total
	if x >= 1 {
		return 0, true
	}
	return uint64(x * 0x1p64), false
}

// holds reports whether a code lies before the point of a running sum.
func holds(sum, total float64, code uint64) bool {
	at, whole := point(sum, total)
	return whole || code < at
}
