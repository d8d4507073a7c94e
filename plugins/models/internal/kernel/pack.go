package kernel

import (
	"encoding/binary"
	"fmt"
)

// A packed matrix is a stored one in another order, for products with rounded
// activations (round.go). Rows are taken in groups of 16; of a group, one column
// stretch after the other lies in memory, and in it each vector of 64 bytes has 4
// bytes for every row: a 32-bit lane of a register is one output. A stretch, the
// unit, is the 32 or 16 values that share a scale:
//
//	[scales, minima of 16 rows] [upper bits] [lower bits]
//
// The values are whole numbers without sign, offset more than what they stand
// for. With 4 lower bits, the low halves of the bytes are the first half of the
// unit's values and the high halves the other; 2 lower bits are in quarters. Of
// one upper bit, bit t of byte j belongs to value 4t+j; of two, bits 2t and 2t+1.
//
// In the formats with blocks of 256 the half-precision units of the 16 rows'
// scales come first, then those of their minima, then the units of the block,
// whose scales and minima are bytes. Elsewhere a unit's scales and minima are
// half-precision numbers themselves.
//
// Of half-precision numbers, F16 and BF16, a column of 16 rows lies after the other,
// as they were stored, or for rounded products words (words.go).
//
// Nothing but words is rounded by packing. The size is that of the stored matrix, up to 3 %
// more for words and for Q4_K and Q5_K, whose scales of 6 bits become bytes, a fifth for Q2_K
// and a third for Q3_K, which is kept with 4 bits; and what fills the last group.
const groupRows = 16

// Form is a way in which matrices of a format are packed.
type Form uint8

// The forms: Form(f) is that of format f, then come those of words.
const (
	wordsF16 = Form(formats) + iota
	wordsBF16
	forms
)

// format is what is packed.
func (l Form) format() Format {
	switch l {
	case wordsF16:
		return F16
	case wordsBF16:
		return BF16
	}
	return Format(l)
}

// Rounding is how the activations are rounded that packed matrices are multiplied
// with.
func (l Form) Rounding() Rounding { return packings[l].rounding }

// packing is the layout of a form.
type packing struct {
	unit     int // values that share a scale
	low, up  int // bits of a value in the two places
	offset   int // subtracted from every value
	rounding Rounding
	super    bool // scales are bytes, times a unit per 256 values
	signed   bool // those bytes have a sign
	minimum  bool
	table    bool // values choose from levels
	plain    bool // columns of 16 numbers as they were stored; all but rounding is 0
	words    bool // whole numbers of 16 bits; all but rounding is 0

	decode func(u *packedUnit, block []byte, unit int)
}

// packedUnit is one unit of one row: 4 values per word, and the bytes of its
// scale and minimum.
type packedUnit struct {
	words          [8]uint32
	scale, minimum byte
}

var packings = [forms]packing{
	Form(F16):    {plain: true, rounding: AsIs},
	Form(BF16):   {plain: true, rounding: AsIs},
	Form(Q8_0):   {unit: 32, low: 8, offset: 128, decode: decodeQ8_0},
	Form(Q4_0):   {unit: 32, low: 4, offset: 8, decode: decodeHalves(2, -1)},
	Form(Q4_1):   {unit: 32, low: 4, minimum: true, decode: decodeHalves(4, -1)},
	Form(Q5_0):   {unit: 32, low: 4, up: 1, offset: 16, decode: decodeHalves(6, 2)},
	Form(Q5_1):   {unit: 32, low: 4, up: 1, minimum: true, decode: decodeHalves(8, 4)},
	Form(IQ4_NL): {unit: 32, low: 4, offset: 128, table: true, decode: decodeHalves(2, -1)},
	Form(Q2_K):   {unit: 16, low: 2, rounding: BySuperBlock, super: true, minimum: true, decode: decodeQ2_K},
	Form(Q3_K):   {unit: 16, low: 4, offset: 4, rounding: BySuperBlock, super: true, signed: true, decode: decodeQ3_K},
	Form(Q4_K):   {unit: 32, low: 4, rounding: BySuperBlock, super: true, minimum: true, decode: decodeQ4_K},
	Form(Q5_K):   {unit: 32, low: 4, up: 1, rounding: BySuperBlock, super: true, minimum: true, decode: decodeQ5_K},
	Form(Q6_K):   {unit: 16, low: 4, up: 2, offset: 32, rounding: BySuperBlock, super: true, signed: true, decode: decodeQ6_K},
	wordsF16:     {words: true, rounding: ByWords},
	wordsBF16:    {words: true, rounding: ByWords},
}

// scaleBytes is the size of a unit's scales of 16 rows.
func (p *packing) scaleBytes() int {
	if p.super {
		return groupRows
	}
	return 2 * groupRows
}

// upAt and lowAt are where in a unit its bits begin, unitBytes is its size.
func (p *packing) upAt() int {
	if p.minimum {
		return 2 * p.scaleBytes()
	}
	return p.scaleBytes()
}
func (p *packing) lowAt() int     { return p.upAt() + p.up*p.unit*groupRows/8 }
func (p *packing) unitBytes() int { return p.lowAt() + p.low*p.unit*groupRows/8 }

// headBytes is what comes before the units of a block of 256.
func (p *packing) headBytes() int {
	switch {
	case !p.super:
		return 0
	case p.minimum:
		return 4 * groupRows
	}
	return 2 * groupRows
}

// groupBytes is the size of 16 rows.
func (p *packing) groupBytes(f Format, cols int) int {
	switch {
	case p.plain:
		return groupRows * f.Bytes(cols)
	case p.words:
		return cols / wordsUnit * wordsBytes
	}
	blocks := cols / f.Block()
	return blocks * (p.headBytes() + f.Block()/p.unit*p.unitBytes())
}

func (p *packing) exists() bool { return p.unit > 0 || p.plain || p.words }

// Packs returns the form in which matrices of the format, of rows of cols values,
// are multiplied, if there is one. With exact it is one whose products are those of
// float32 weights and activations.
func Packs(f Format, cols int, exact bool) (Form, bool) {
	l := Form(f)
	switch {
	case exact && packings[l].rounding != AsIs:
		return 0, false
	case exact || cols%wordsUnit != 0:
	case f == F16:
		l = wordsF16
	case f == BF16:
		l = wordsBF16
	}
	return l, packings[l].exists()
}

// PackedBytes returns the size of a packed matrix.
func (l Form) PackedBytes(rows, cols int) int {
	return (rows + groupRows - 1) / groupRows * packings[l].groupBytes(l.format(), cols)
}

// Pack packs rows of cols values, a whole number of blocks, into dst, whose
// length is that of [Form.PackedBytes].
func (l Form) Pack(dst, src []byte, rows, cols int) {
	p, f := &packings[l], l.format()
	if !p.exists() || cols%f.Block() != 0 || len(dst) != l.PackedBytes(rows, cols) {
		panic(fmt.Sprintf("kernel: %d bytes are not the size of %d packed rows of %d values as %v", len(dst), rows, cols, f))
	}
	size, group := f.Bytes(cols), p.groupBytes(f, cols)
	src = src[:rows*size]
	clear(dst[(rows-1)/groupRows*group:]) // the rows that fill the last group
	for r := range rows {
		p.row(dst[r/groupRows*group:][:group:group], src[r*size:][:size:size], f, r%groupRows)
	}
}

// row packs one row into a lane of its group.
func (p *packing) row(dst, src []byte, f Format, lane int) {
	if p.words {
		packWords(dst, src, f, lane)
		return
	}
	if p.plain {
		for n := f.Bytes(1); len(src) > 0; src, dst = src[n:], dst[n*groupRows:] {
			copy(dst[n*lane:], src[:n])
		}
		return
	}
	var u packedUnit
	scales, size, unitBytes := layouts[f].scales, layouts[f].size, p.unitBytes()
	for ; len(src) > 0; src = src[size:] {
		block := src[:size:size]
		at := 2 * lane
		for _, from := range scales { // of the block, or those of its only unit
			copy(dst[at:][:2], block[from:][:2])
			at += 2 * groupRows
		}
		dst = dst[p.headBytes():]
		for i := range f.Block() / p.unit {
			p.decode(&u, block, i)
			p.put(dst[:unitBytes:unitBytes], &u, lane)
			dst = dst[unitBytes:]
		}
	}
}

// put writes one unit of one row.
func (p *packing) put(dst []byte, u *packedUnit, lane int) {
	le := binary.LittleEndian
	if p.super {
		dst[lane] = u.scale
		if p.minimum {
			dst[groupRows+lane] = u.minimum
		}
	}
	steps := p.unit / 4
	if p.up > 0 {
		upper := uint32(0)
		mask := uint32(1<<p.up-1) * 0x01010101
		for t := range steps {
			upper |= u.words[t] >> p.low & mask << (p.up * t)
		}
		le.PutUint32(dst[p.upAt()+4*lane:], upper)
	}
	mask := uint32(1<<p.low-1) * 0x01010101
	vectors := steps * p.low / 8
	low := dst[p.lowAt()+4*lane:]
	for v := range vectors {
		word := uint32(0)
		for i := 0; i*vectors < steps; i++ {
			word |= u.words[i*vectors+v] & mask << (p.low * i)
		}
		le.PutUint32(low[64*v:], word)
	}
}

const (
	everyByte = 0x01010101
	lowHalves = 0x0f0f0f0f
)

func word(b []byte, at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }

func decodeQ8_0(u *packedUnit, b []byte, _ int) {
	for t := range u.words {
		u.words[t] = word(b, 2+4*t) ^ 0x80808080
	}
}

// decodeHalves takes 16 bytes at halves whose low halves are the first 16 values,
// and unless it is negative, a word of 32 upper bits at upper.
func decodeHalves(halves, upper int) func(u *packedUnit, b []byte, _ int) {
	return func(u *packedUnit, b []byte, _ int) {
		for t := range 4 {
			w := word(b, halves+4*t)
			u.words[t], u.words[4+t] = w&lowHalves, w>>4&lowHalves
		}
		if upper < 0 {
			return
		}
		h := word(b, upper)
		for t := range u.words {
			// The product has bit j of four at bit 8j, among others.
			u.words[t] |= (h >> (4 * t) & 15 * 0x204081) & everyByte << 4
		}
	}
}

func decodeQ4_K(u *packedUnit, b []byte, part int) {
	u.scale, u.minimum = sixBits(b[4:16], part)
	q, shift := b[16+part/2*32:][:32], part%2*4
	for t := range u.words {
		u.words[t] = word(q, 4*t) >> shift & lowHalves
	}
}

func decodeQ5_K(u *packedUnit, b []byte, part int) {
	u.scale, u.minimum = sixBits(b[4:16], part)
	q, upper, shift := b[48+part/2*32:][:32], b[16:48], part%2*4
	for t := range u.words {
		u.words[t] = word(q, 4*t)>>shift&lowHalves | word(upper, 4*t)>>part&everyByte<<4
	}
}

func decodeQ6_K(u *packedUnit, b []byte, part int) {
	u.scale = b[192+part]
	run, side := part%8/2, part%2*16
	q, shift := b[part/8*64+run%2*32+side:][:16], run/2*4
	upper := b[128+part/8*32+side:][:16]
	for t := range 4 {
		u.words[t] = word(q, 4*t)>>shift&lowHalves | word(upper, 4*t)>>(2*run)&(3*everyByte)<<4
	}
}

func decodeQ3_K(u *packedUnit, b []byte, part int) {
	u.scale = threeBitScale(b[96:108], part)
	q, shift, third := twoBits(b[32:96], part), part%8/2*2, b[part%2*16:][:16]
	for t := range 4 {
		u.words[t] = word(q, 4*t)>>shift&(3*everyByte) | word(third, 4*t)>>(part/2)&everyByte<<2
	}
}

func decodeQ2_K(u *packedUnit, b []byte, part int) {
	u.scale, u.minimum = b[part]&15, b[part]>>4
	q, shift := twoBits(b[16:80], part), part%8/2*2
	for t := range 4 {
		u.words[t] = word(q, 4*t) >> shift & (3 * everyByte)
	}
}
