package kernel

// The formats with blocks of 256 values (Kawrakow 2023, llama.cpp pull request
// 1684). A block is divided into parts of 16 or 32 values, each with a whole
// number for a scale s and, in some formats, another for a minimum m; d and e are
// the half-precision units of the two.
//
//	Q2_K  (d*s)*q - e*m      16 parts, s and m in 4 bits, q in 2
//	Q3_K  (d*(s-32))*(q-4)   16 parts, s in 6 bits, q in 3
//	Q4_K  (d*s)*q - e*m      8 parts, s and m in 6 bits, q in 4
//	Q5_K  (d*s)*q - e*m      8 parts, s and m in 6 bits, q in 5
//	Q6_K  (d*s)*(q-32)       16 parts, s from -128 to 127, q in 6 bits
//
// d and e have 11 significant bits, s and m at most 7, q at most 5 after its
// offset is taken off: every product is exact in float32, and the difference is
// the only rounding. Fusing would change nothing.
//
// Values go in runs of 32 through the bit fields of the same 32 bytes: the four
// 2-bit fields of 32 bytes are 128 values, the two 4-bit fields 64, the eight
// single bits all 256. Q6_K takes the two halves of 64 bytes for 128 values.

func widenQ2_K(dst []float32, b []byte) {
	d, e := half(b[80:]), half(b[82:])
	for part, s := range b[:16] {
		scale, minimum := d*float32(s&15), e*float32(s>>4)
		out, q, shift := dst[16*part:][:16], twoBits(b[16:80], part), part%8/2*2
		for i := range out {
			out[i] = scale*float32(q[i]>>shift&3) - minimum
		}
	}
}

func widenQ3_K(dst []float32, b []byte) {
	d, packed := half(b[108:]), b[96:108]
	for part := range 16 {
		scale := d * float32(int8(threeBitScale(packed, part)))
		out, q, shift := dst[16*part:][:16], twoBits(b[32:96], part), part%8/2*2
		third := b[part%2*16:][:16]
		for i := range out {
			out[i] = scale * float32(int(q[i]>>shift&3|third[i]>>(part/2)&1<<2)-4)
		}
	}
}

// threeBitScale returns the scale of a part of 16 values, as a byte with a sign:
// the lower four bits lie in the halves of bytes 0 to 7, the upper two in the
// fields of bytes 8 to 11.
func threeBitScale(b []byte, part int) byte {
	return (b[part%8]>>(part/8*4)&15 | b[8+part%4]>>(part/4*2)&3<<4) - 32
}

// twoBits returns the 16 bytes that hold the 2-bit fields of a part of 16 values.
func twoBits(b []byte, part int) []byte { return b[part/8*32+part%2*16:][:16] }

func widenQ4_K(dst []float32, b []byte) {
	d, e := half(b), half(b[2:])
	for part := range 8 {
		s, m := sixBits(b[4:16], part)
		scale, minimum := d*float32(s), e*float32(m)
		out, q, shift := dst[32*part:][:32], b[16+part/2*32:][:32], part%2*4
		for i := range out {
			out[i] = scale*float32(q[i]>>shift&15) - minimum
		}
	}
}

func widenQ5_K(dst []float32, b []byte) {
	d, e, fifth := half(b), half(b[2:]), b[16:48]
	for part := range 8 {
		s, m := sixBits(b[4:16], part)
		scale, minimum := d*float32(s), e*float32(m)
		out, q, shift := dst[32*part:][:32], b[48+part/2*32:][:32], part%2*4
		for i := range out {
			out[i] = scale*float32(q[i]>>shift&15|fifth[i]>>part&1<<4) - minimum
		}
	}
}

// sixBits returns the scale and the minimum of a part of 32 values: those of parts
// 0 to 3 are the low bits of bytes 0 to 3 and 4 to 7, whose upper two bits are the
// upper ones of parts 4 to 7; bytes 8 to 11 hold the lower four of both.
func sixBits(b []byte, part int) (scale, minimum byte) {
	if part < 4 {
		return b[part] & 63, b[part+4] & 63
	}
	return b[part+4]&15 | b[part-4]>>6<<4, b[part+4]>>4 | b[part]>>6<<4
}

func widenQ6_K(dst []float32, b []byte) {
	d := half(b[208:])
	for part, s := range b[192:208] {
		scale := d * float32(int8(s))
		run, side := part%8/2, part%2*16
		out, q, shift := dst[16*part:][:16], b[part/8*64+run%2*32+side:][:16], run/2*4
		upper := b[128+part/8*32+side:][:16]
		for i := range out {
			out[i] = scale * float32(int(q[i]>>shift&15|upper[i]>>(2*run)&3<<4)-32)
		}
	}
}
