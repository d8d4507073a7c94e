package table

import (
	"bufio"
	"encoding/base64"
	"io"
	"math"
	"strconv"
	"strings"

	"lab/core/fault"
)

// WriteCSV writes the table as CSV with a header and LF at the end of lines, such
// that [ReadCSV] finds the same values and types; bytes and columns of nothing but
// nulls need CSV.Types there. Null is an empty field; text is always quoted; floats
// have a point or an exponent and read back as the same bits, all NaN as one.
// delimiter 0 is a comma. A table without columns is refused.
func (t *Table) WriteCSV(w io.Writer, delimiter byte) error {
	if len(t.cols) == 0 {
		return fault.New(fault.Usage, "write csv", "", "a table without columns has no CSV")
	}
	if delimiter == 0 {
		delimiter = ','
	}
	b := bufio.NewWriterSize(w, 1<<16)
	for i, name := range t.names {
		if i > 0 {
			b.WriteByte(delimiter)
		}
		if strings.ContainsAny(name, "\"\r\n;,\t ") || strings.IndexByte(name, delimiter) >= 0 || strings.HasPrefix(name, "\ufeff") {
			name = quoteField(name)
		}
		b.WriteString(name)
	}
	b.WriteByte('\n')
	var buf []byte
	for r := range t.rows {
		buf = buf[:0]
		for i, c := range t.cols {
			if i > 0 {
				buf = append(buf, delimiter)
			}
			buf = c.appendField(buf, r)
		}
		if _, err := b.Write(append(buf, '\n')); err != nil {
			return fault.Wrap(err, fault.Data, "write csv", "")
		}
	}
	if err := b.Flush(); err != nil {
		return fault.Wrap(err, fault.Data, "write csv", "")
	}
	return nil
}

func quoteField(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

func (c *Column) appendField(b []byte, r int) []byte {
	if c.Null(r) {
		return b
	}
	switch x := c.data.(type) {
	case values[float64]:
		return appendFloat(b, x.v[r])
	case values[int64]:
		return strconv.AppendInt(b, x.v[r], 10)
	case values[bool]:
		return strconv.AppendBool(b, x.v[r])
	case values[string]:
		return append(b, quoteField(x.v[r])...)
	case values[[]byte]:
		if len(x.v[r]) == 0 {
			return append(b, `""`...)
		}
		return base64.StdEncoding.AppendEncode(b, x.v[r])
	case values[[]int64]:
		return appendInts(b, x.v[r])
	}
	return b
}

func appendInts(b []byte, v []int64) []byte {
	b = append(b, '[')
	for i, n := range v {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return append(b, ']')
}

// appendFloat writes the shortest text that reads back as v and not as an int.
func appendFloat(b []byte, v float64) []byte {
	switch {
	case v != v:
		return append(b, "NaN"...)
	case math.IsInf(v, 1):
		return append(b, "Inf"...)
	case math.IsInf(v, -1):
		return append(b, "-Inf"...)
	}
	from := len(b)
	b = strconv.AppendFloat(b, v, 'g', -1, 64)
	if !strings.ContainsAny(string(b[from:]), ".e") {
		b = append(b, '.', '0')
	}
	return b
}
