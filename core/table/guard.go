package table

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/format"
)

// The Parquet library takes memory for what the bytes of a file claim before it
// reads it: gigabytes for a file of a few hundred bytes. So the claims are looked at
// here first, in the footer and in the header of every page, which are structs in
// the compact protocol of Thrift (github.com/apache/thrift, doc/specs,
// thrift-compact-protocol.md; the fields are those of parquet.thrift of
// github.com/apache/parquet-format).
const (
	maxFooter     = 256 << 20
	maxSchema     = 100_000  // elements; the library descends into them
	maxPageValues = 1 << 26  // of one page
	maxPageBase   = 64 << 20 // bytes of a page of any compression,
	maxPageRatio  = 4096     // and more for each compressed byte
	maxNesting    = 32
)

var errThrift = errors.New("its metadata is damaged")

// thrift walks a struct without taking memory. visit is told every whole number,
// and the length of every list, with the number of its field and of the field of
// the top struct that it is in, 0 at the top.
type thrift struct {
	b     []byte
	visit func(top, field int, v int64) error
}

func (t *thrift) byte() (byte, error) {
	if len(t.b) == 0 {
		return 0, errThrift
	}
	c := t.b[0]
	t.b = t.b[1:]
	return c, nil
}

func (t *thrift) uvarint() (uint64, error) {
	v, n := binary.Uvarint(t.b)
	if n <= 0 {
		return 0, errThrift
	}
	t.b = t.b[n:]
	return v, nil
}

func (t *thrift) skip(n uint64) error {
	if n > uint64(len(t.b)) {
		return errThrift
	}
	t.b = t.b[n:]
	return nil
}

// structure walks a struct up to its stop byte.
func (t *thrift) structure(top, depth int) error {
	if depth > maxNesting {
		return errThrift
	}
	field := 0
	for {
		head, err := t.byte()
		if err != nil || head == 0 {
			return err
		}
		if delta := int(head >> 4); delta > 0 {
			field += delta
		} else {
			v, err := t.uvarint()
			if err != nil {
				return err
			}
			field = int(int16(v>>1) ^ -int16(v&1))
		}
		if kind := head & 15; kind > 2 { // 1 and 2 are true and false, without more bytes
			if err := t.value(top, field, kind, depth); err != nil {
				return err
			}
		}
	}
}

func (t *thrift) value(top, field int, kind byte, depth int) error {
	switch kind {
	case 1, 2, 3: // bool in a list, byte
		return t.skip(1)
	case 4, 5, 6: // i16, i32, i64
		v, err := t.uvarint()
		if err != nil {
			return err
		}
		return t.visit(top, field, int64(v>>1)^-int64(v&1))
	case 7: // double
		return t.skip(8)
	case 8: // binary
		n, err := t.uvarint()
		if err != nil {
			return err
		}
		return t.skip(n)
	case 9, 10: // list, set
		head, err := t.byte()
		if err != nil {
			return err
		}
		n := uint64(head >> 4)
		if n == 15 {
			if n, err = t.uvarint(); err != nil {
				return err
			}
		}
		return t.list(top, field, n, head&15, depth)
	case 12:
		if top == 0 {
			top = field
		}
		return t.structure(top, depth+1)
	case 13: // uuid
		return t.skip(16)
	}
	return errThrift // a map, which Parquet has none of, among others
}

// list walks the elements, each of which is at least one byte.
func (t *thrift) list(top, field int, n uint64, kind byte, depth int) error {
	if n > uint64(len(t.b)) || depth > maxNesting {
		return errThrift
	}
	if err := t.visit(top, field, int64(n)); err != nil {
		return err
	}
	for range n {
		if err := t.value(top, field, kind, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// guardFooter checks the claims of a file's footer.
func guardFooter(r io.ReaderAt, size int64) error {
	var tail [8]byte
	if size < 12 {
		return fmt.Errorf("it has %d bytes, too few", size)
	}
	if _, err := r.ReadAt(tail[:], size-8); err != nil && err != io.EOF {
		return err
	}
	if string(tail[4:]) != "PAR1" {
		return errors.New("it does not end as one, or is encrypted")
	}
	n := int64(binary.LittleEndian.Uint32(tail[:4]))
	if n > size-12 || n > maxFooter {
		return fmt.Errorf("its footer claims %d bytes of %d", n, size)
	}
	footer := make([]byte, n)
	if _, err := r.ReadAt(footer, size-8-n); err != nil && err != io.EOF {
		return err
	}
	t := thrift{b: footer, visit: func(top, field int, v int64) error {
		if top == 0 && field == 2 && v > maxSchema {
			return fmt.Errorf("its schema has %d elements, more than %d", v, maxSchema)
		}
		return nil
	}}
	return t.structure(0, 0)
}

// guardPages checks the claims of the headers of all pages of a column chunk.
func guardPages(r io.ReaderAt, size int64, chunk *format.ColumnMetaData) error {
	from := chunk.DataPageOffset
	if d := chunk.DictionaryPageOffset; d > 0 && d < from {
		from = d
	}
	length := chunk.TotalCompressedSize
	if from < 4 || length < 0 || from > size || length > size-from {
		return fmt.Errorf("its pages are said to be at %d, %d bytes, in a file of %d", from, length, size)
	}
	const window = 1 << 12
	for at, end := from, from+length; at < end; {
		header, n, err := pageHeader(r, at, end, window)
		if err != nil {
			return err
		}
		switch {
		case header.compressed < 0 || header.compressed > end-at-n:
			return fmt.Errorf("a page at %d claims %d bytes", at, header.compressed)
		case header.bytes < 0 || header.bytes > maxPageBase+maxPageRatio*header.compressed:
			return fmt.Errorf("a page at %d claims to unpack %d bytes to %d", at, header.compressed, header.bytes)
		case header.values < 0 || header.values > maxPageValues:
			return fmt.Errorf("a page at %d claims %d values, more than %d", at, header.values, maxPageValues)
		}
		at += n + header.compressed
	}
	return nil
}

// claims are what a page's header says.
type claims struct{ bytes, compressed, values int64 }

// pageHeader reads the header at an offset, which is n bytes long. A header longer
// than the window, with long statistics, is read again with a larger one.
func pageHeader(r io.ReaderAt, at, end, window int64) (c claims, n int64, err error) {
	buf := make([]byte, min(window, end-at))
	if _, err := r.ReadAt(buf, at); err != nil && err != io.EOF {
		return c, 0, err
	}
	t := thrift{b: buf, visit: func(top, field int, v int64) error {
		switch {
		case top == 0 && field == 2:
			c.bytes = v
		case top == 0 && field == 3:
			c.compressed = v
		case (top == 5 || top == 7 || top == 8) && field <= 3: // number of values, nulls and rows, and an encoding
			c.values = max(c.values, v)
		}
		return nil
	}}
	if err := t.structure(0, 0); err != nil {
		if int64(len(buf)) < end-at && window < 64<<20 {
			return pageHeader(r, at, end, 16*window)
		}
		return c, 0, err
	}
	return c, int64(len(buf) - len(t.b)), nil
}
