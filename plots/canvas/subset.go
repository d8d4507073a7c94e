package canvas

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/image/font/sfnt"
)

// subsetter cuts a TrueType file down to some glyphs (OpenType specification:
// glyf, loca, hmtx, cmap formats). Glyphs are numbered anew in the order in which
// they are met; .notdef stays 0.
type subsetter struct {
	glyf    []byte
	offsets []int       // of every glyph in glyf, and the end
	number  map[int]int // old number to new
	order   []int       // old numbers, in new order
}

// subset returns a TrueType file with the given characters only, outlines and
// advances unchanged. Tables for layout, names of glyphs and signatures are left
// out. Every offset of the file is checked before it is followed.
func subset(file []byte, used map[rune]sfnt.GlyphIndex) ([]byte, error) {
	tables, err := readTables(file)
	if err != nil {
		return nil, err
	}
	s := &subsetter{glyf: tables["glyf"], number: make(map[int]int)}
	if s.offsets, err = readLoca(tables["head"], tables["loca"], len(s.glyf)); err != nil {
		return nil, err
	}
	if err := s.add(0, 0); err != nil {
		return nil, err
	}
	for _, r := range slices.Sorted(maps.Keys(used)) {
		if err := s.add(int(used[r]), 0); err != nil {
			return nil, err
		}
	}
	glyf, loca := s.outlines()
	hmtx, err := s.advances(tables["hhea"], tables["hmtx"])
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{
		"glyf": glyf, "loca": loca, "hmtx": hmtx, "cmap": s.cmap(used),
		"head": patched(patched(patched(tables["head"], 50, 1), 8, 0), 10, 0), // long offsets, no checksum yet
		"hhea": patched(tables["hhea"], 34, uint16(len(s.order))),
		"maxp": patched(tables["maxp"], 4, uint16(len(s.order))),
		"post": append([]byte{0, 3, 0, 0}, make([]byte, 28)...), // version 3: no names
	}
	for _, tag := range []string{"OS/2", "cvt ", "fpgm", "name", "prep"} {
		if data, ok := tables[tag]; ok {
			out[tag] = data
		}
	}
	return writeTables(out), nil
}

// patched returns a copy of a table with one 16-bit field set.
func patched(table []byte, at int, v uint16) []byte {
	out := slices.Clone(table)
	binary.BigEndian.PutUint16(out[at:], v)
	return out
}

// readTables splits a font file and checks that what subset needs is there.
func readTables(file []byte) (map[string][]byte, error) {
	if len(file) < 12 || binary.BigEndian.Uint32(file) != 0x00010000 {
		return nil, fmt.Errorf("not a TrueType file")
	}
	n := int(binary.BigEndian.Uint16(file[4:]))
	if len(file) < 12+16*n {
		return nil, fmt.Errorf("font directory is cut short")
	}
	tables := make(map[string][]byte, n)
	for i := range n {
		rec := file[12+16*i:]
		off, size := uint64(binary.BigEndian.Uint32(rec[8:])), uint64(binary.BigEndian.Uint32(rec[12:]))
		if off+size > uint64(len(file)) {
			return nil, fmt.Errorf("font table %q lies outside the file", rec[:4])
		}
		tables[string(rec[:4])] = file[off : off+size]
	}
	for tag, least := range map[string]int{"head": 54, "hhea": 36, "maxp": 6, "loca": 4, "glyf": 1, "hmtx": 4} {
		if len(tables[tag]) < least {
			return nil, fmt.Errorf("font table %s is missing or cut short", tag)
		}
	}
	return tables, nil
}

// readLoca returns the glyph offsets, one more than there are glyphs.
func readLoca(head, loca []byte, glyfSize int) ([]int, error) {
	var offsets []int
	if binary.BigEndian.Uint16(head[50:]) == 0 {
		for i := 0; i+2 <= len(loca); i += 2 {
			offsets = append(offsets, 2*int(binary.BigEndian.Uint16(loca[i:])))
		}
	} else {
		for i := 0; i+4 <= len(loca); i += 4 {
			offsets = append(offsets, int(binary.BigEndian.Uint32(loca[i:])))
		}
	}
	for i, o := range offsets {
		if o > glyfSize || i > 0 && o < offsets[i-1] {
			return nil, fmt.Errorf("glyph %d lies outside its table", i)
		}
	}
	return offsets, nil
}

// add numbers glyph g and the glyphs it is composed of.
func (s *subsetter) add(g, depth int) error {
	const deepest = 8 // as the outline loader allows
	if _, known := s.number[g]; known {
		return nil
	}
	if g+1 >= len(s.offsets) || depth > deepest {
		return fmt.Errorf("glyph %d cannot be followed", g)
	}
	s.number[g] = len(s.order)
	s.order = append(s.order, g)
	return components(s.glyf[s.offsets[g]:s.offsets[g+1]], func(at int, part int) error { return s.add(part, depth+1) })
}

// components calls visit for every part of a composite glyph with the place of
// its number; a simple or empty glyph has none.
func components(data []byte, visit func(at, part int) error) error {
	if len(data) < 10 || int16(binary.BigEndian.Uint16(data)) >= 0 {
		return nil
	}
	const words, scale, more, scaleXY, matrix = 0x1, 0x8, 0x20, 0x40, 0x80
	for at := 10; ; {
		if at+4 > len(data) {
			return fmt.Errorf("a composite glyph is cut short")
		}
		flags := binary.BigEndian.Uint16(data[at:])
		if err := visit(at+2, int(binary.BigEndian.Uint16(data[at+2:]))); err != nil {
			return err
		}
		at += 6
		if flags&words != 0 {
			at += 2
		}
		switch {
		case flags&scale != 0:
			at += 2
		case flags&scaleXY != 0:
			at += 4
		case flags&matrix != 0:
			at += 8
		}
		if flags&more == 0 {
			return nil
		}
	}
}

// outlines copies the kept outlines with the numbers in composites renewed.
func (s *subsetter) outlines() (glyf, loca []byte) {
	for _, g := range s.order {
		loca = binary.BigEndian.AppendUint32(loca, uint32(len(glyf)))
		data := slices.Clone(s.glyf[s.offsets[g]:s.offsets[g+1]])
		// add has walked the same bytes without an error.
		_ = components(data, func(at, part int) error {
			binary.BigEndian.PutUint16(data[at:], uint16(s.number[part]))
			return nil
		})
		glyf = append(glyf, data...)
		for len(glyf)%4 != 0 {
			glyf = append(glyf, 0)
		}
	}
	if len(glyf) == 0 {
		glyf = []byte{0, 0, 0, 0} // readers refuse an empty table
	}
	return glyf, binary.BigEndian.AppendUint32(loca, uint32(len(glyf)))
}

// advances returns full metrics for every kept glyph.
func (s *subsetter) advances(hhea, hmtx []byte) ([]byte, error) {
	full := int(binary.BigEndian.Uint16(hhea[34:]))
	if full == 0 || len(hmtx) < 4*full {
		return nil, fmt.Errorf("font metrics are cut short")
	}
	var out []byte
	for _, g := range s.order {
		rec := hmtx[4*min(g, full-1):]
		bearing := rec[2:4]
		if g >= full { // the last advance holds, bearings go on behind
			at := 4*full + 2*(g-full)
			if at+2 > len(hmtx) {
				return nil, fmt.Errorf("font metrics are cut short")
			}
			bearing = hmtx[at : at+2]
		}
		out = append(append(out, rec[:2]...), bearing...)
	}
	return out, nil
}

// cmap returns a table with one group per character: format 12, under the
// platform that covers all of Unicode.
func (s *subsetter) cmap(used map[rune]sfnt.GlyphIndex) []byte {
	var groups []byte
	for _, r := range slices.Sorted(maps.Keys(used)) {
		for _, v := range []uint32{uint32(r), uint32(r), uint32(s.number[int(used[r])])} {
			groups = binary.BigEndian.AppendUint32(groups, v)
		}
	}
	out := []byte{0, 0, 0, 1, 0, 3, 0, 10, 0, 0, 0, 12, 0, 12, 0, 0}
	for _, v := range []uint32{uint32(16 + len(groups)), 0, uint32(len(groups) / 12)} {
		out = binary.BigEndian.AppendUint32(out, v)
	}
	return append(out, groups...)
}

// writeTables assembles a font file with its directory and checksums.
func writeTables(tables map[string][]byte) []byte {
	tags := slices.Sorted(maps.Keys(tables))
	power, log := 1, 0
	for power*2 <= len(tags) {
		power *= 2
		log++
	}
	out := binary.BigEndian.AppendUint32(nil, 0x00010000)
	for _, v := range []int{len(tags), power * 16, log, (len(tags) - power) * 16} {
		out = binary.BigEndian.AppendUint16(out, uint16(v))
	}
	at := 12 + 16*len(tags)
	for _, tag := range tags {
		out = append(out, tag...)
		for _, v := range []uint32{checksum(tables[tag]), uint32(at), uint32(len(tables[tag]))} {
			out = binary.BigEndian.AppendUint32(out, v)
		}
		at += (len(tables[tag]) + 3) / 4 * 4
	}
	head := 0
	for _, tag := range tags {
		if tag == "head" {
			head = len(out)
		}
		out = append(out, tables[tag]...)
		for len(out)%4 != 0 {
			out = append(out, 0)
		}
	}
	const whole = 0xb1b0afba // what all words of a font file sum to
	binary.BigEndian.PutUint32(out[head+8:], whole-checksum(out))
	return out
}

// checksum is the sum of big-endian words, the last padded with zeros.
func checksum(data []byte) uint32 {
	var sum uint32
	for i := 0; i < len(data); i += 4 {
		var word [4]byte
		copy(word[:], data[i:])
		sum += binary.BigEndian.Uint32(word[:])
	}
	return sum
}
