package table

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"io"
	"math"
	"strconv"

	"lab/core/fault"
)

// WriteJSON writes the rows as a JSON array of objects, one to a line, whose
// members are in the order of the columns. JSON has no NaN and no infinities: they
// are the strings "NaN", "Inf" and "-Inf". Bytes are base64; bytes in text that are
// not UTF-8 become U+FFFD, as JSON demands.
func (t *Table) WriteJSON(w io.Writer) error {
	names := make([][]byte, len(t.names))
	for i, name := range t.names {
		names[i] = append(jsonText(name), ':')
	}
	b := bufio.NewWriterSize(w, 1<<16)
	b.WriteByte('[')
	var buf []byte
	for r := range t.rows {
		buf = append(buf[:0], ",\n{"...)
		if r == 0 {
			buf = append(buf[:0], "\n{"...)
		}
		for i, c := range t.cols {
			if i > 0 {
				buf = append(buf, ',')
			}
			buf = c.appendJSON(append(buf, names[i]...), r)
		}
		if _, err := b.Write(append(buf, '}')); err != nil {
			return fault.Wrap(err, fault.Data, "write json", "")
		}
	}
	b.WriteString("\n]\n")
	if err := b.Flush(); err != nil {
		return fault.Wrap(err, fault.Data, "write json", "")
	}
	return nil
}

func jsonText(s string) []byte {
	b, _ := json.Marshal(s) // of a string it cannot fail
	return b
}

func (c *Column) appendJSON(b []byte, r int) []byte {
	if c.Null(r) {
		return append(b, "null"...)
	}
	switch x := c.data.(type) {
	case values[float64]:
		v := x.v[r]
		if v != v || math.IsInf(v, 0) {
			return append(appendFloat(append(b, '"'), v), '"')
		}
		return appendFloat(b, v)
	case values[int64]:
		return strconv.AppendInt(b, x.v[r], 10)
	case values[bool]:
		return strconv.AppendBool(b, x.v[r])
	case values[string]:
		return append(b, jsonText(x.v[r])...)
	case values[[]byte]:
		return append(base64.StdEncoding.AppendEncode(append(b, '"'), x.v[r]), '"')
	case values[[]int64]:
		b = append(b, '[')
		for i, n := range x.v[r] {
			if i > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(b, n, 10)
		}
		return append(b, ']')
	}
	return b
}
