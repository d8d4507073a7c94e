package watermark

import (
	"crypto/sha256"
	"encoding/binary"
)

// golden is 2^64 divided by the golden ratio, the step of SplitMix64.
const golden = 0x9E3779B97F4A7C15

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood 2014, Fast
// splittable pseudorandom number generators; constants of Stafford's mix 13).
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// Unit returns 1 - u for the number u of a token under a seed, in (0, 1): the
// token's output of SplitMix64 started at the seed, rounded to the middle of one
// of 2^53 equal parts. The token with the largest u^(1/p), the smallest
// -ln(1-Unit)/p, is the one that a race draws; detectors add up -ln(1-u), which is
// -ln Unit and loses no digit where u is near 1.
func Unit(seed uint64, token int32) float64 {
	return (float64(mix(seed+(uint64(uint32(token))+1)*golden)>>11) + 0.5) * 0x1p-53
}

// digest returns the first eight bytes of SHA-256 over a label and numbers, each
// as eight little-endian bytes.
func digest(label string, numbers ...uint64) uint64 {
	b := append(make([]byte, 0, 256), label...)
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	sum := sha256.Sum256(b)
	return binary.LittleEndian.Uint64(sum[:])
}
