package kernel

import "encoding/binary"

// The formats with blocks of 32 values. A block is a scale d, in the formats
// named _1 a minimum m, in those of 5 bits a word of 32 fifth bits h, and then
// the bits of the values: byte i holds value i in its low half and value i+16 in
// its high half; Q8_0 has a byte per value.
//
//	Q8_0    d*q      q from -128 to 127
//	Q4_0    d*(q-8)
//	Q4_1    d*q + m
//	Q5_0    d*(q-16)
//	Q5_1    d*q + m
//	IQ4_NL  d*table[q]
//
// d has 11 significant bits and what it is multiplied with at most 8: products
// are exact in float32, and the sum with m is the only rounding. Fusing the two
// would change nothing.

func widenQ8_0(dst []float32, b []byte) {
	d := half(b)
	for i, q := range b[2:34] {
		dst[i] = d * float32(int8(q))
	}
}

func widenQ4_0(dst []float32, b []byte) {
	d := half(b)
	for i, q := range b[2:18] {
		dst[i], dst[i+16] = d*float32(int(q&15)-8), d*float32(int(q>>4)-8)
	}
}

func widenQ4_1(dst []float32, b []byte) {
	d, m := half(b), half(b[2:])
	for i, q := range b[4:20] {
		dst[i], dst[i+16] = d*float32(q&15)+m, d*float32(q>>4)+m
	}
}

func widenQ5_0(dst []float32, b []byte) {
	d, h := half(b), binary.LittleEndian.Uint32(b[2:])
	for i, q := range b[6:22] {
		low, high := fifth(q, h, i)
		dst[i], dst[i+16] = d*float32(low-16), d*float32(high-16)
	}
}

func widenQ5_1(dst []float32, b []byte) {
	d, m, h := half(b), half(b[2:]), binary.LittleEndian.Uint32(b[4:])
	for i, q := range b[8:24] {
		low, high := fifth(q, h, i)
		dst[i], dst[i+16] = d*float32(low)+m, d*float32(high)+m
	}
}

// fifth joins the two halves of byte i with their fifth bits.
func fifth(q byte, h uint32, i int) (low, high int32) {
	h >>= i
	return int32(q&15) | int32(h&1)<<4, int32(q>>4) | int32(h>>16&1)<<4
}

func widenIQ4_NL(dst []float32, b []byte) {
	table, d := nonlinear(), half(b)
	for i, q := range b[2:18] {
		dst[i], dst[i+16] = d*table[q&15], d*table[q>>4]
	}
}

// nonlinear are the levels that ggml fitted to weights of normal distribution.
func nonlinear() [16]float32 {
	return [16]float32{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}
}
