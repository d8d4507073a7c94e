package table

import (
	"fmt"
	"io"
	"reflect"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"lab/core/fault"
)

// groupRows is the number of rows of a row group: what a reader holds at once.
const groupRows = 1 << 18

// WriteParquet writes the table as a Parquet file of standard types, compressed
// with zstd: double, 64-bit int, text, boolean, byte array, and lists of ints in
// three levels. A column without nulls is required, others are optional. A table
// without columns is refused. Equal tables are equal bytes.
func (t *Table) WriteParquet(w io.Writer) (err error) {
	const op = "write parquet"
	if len(t.cols) == 0 {
		return fault.New(fault.Usage, op, "", "a table without columns has no Parquet file")
	}
	defer func() {
		if p := recover(); p != nil {
			err = fault.New(fault.Internal, op, "", "the library failed: %v", p)
		}
	}()
	nodes := parquet.Group{}
	for i, name := range t.names {
		nodes[name] = t.cols[i].parquetNode()
	}
	out := parquet.NewGenericWriter[any](w, parquet.NewSchema("table", ordered{nodes, t.names}), parquet.Compression(&zstd.Codec{}),
		parquet.CreatedBy("lab", "1", "table"))
	for from := 0; from < t.rows; from += groupRows {
		to := min(from+groupRows, t.rows)
		for i, column := range out.ColumnWriters() {
			if err := t.cols[i].writeValues(column, i, from, to); err != nil {
				return fault.Wrap(err, fault.Data, op, subject(t.names[i]))
			}
			if err := column.Close(); err != nil {
				return fault.Wrap(err, fault.Data, op, subject(t.names[i]))
			}
		}
		if err := out.Flush(); err != nil {
			return fault.Wrap(err, fault.Data, op, "")
		}
	}
	if err := out.Close(); err != nil {
		return fault.Wrap(err, fault.Data, op, "")
	}
	return nil
}

// ordered is a group whose columns keep their order; the library sorts them by
// name. It has no Go type of its own, since a column may have any name.
type ordered struct {
	parquet.Group
	names []string
}

func (o ordered) Fields() []parquet.Field {
	byName := map[string]parquet.Field{}
	for _, f := range o.Group.Fields() {
		byName[f.Name()] = f
	}
	out := make([]parquet.Field, len(o.names))
	for i, name := range o.names {
		out[i] = byName[name]
	}
	return out
}

func (o ordered) GoType() reflect.Type { return reflect.TypeFor[map[string]any]() }

func (c *Column) parquetNode() parquet.Node {
	var n parquet.Node
	switch c.Type() {
	case Float:
		n = parquet.Leaf(parquet.DoubleType)
	case Int:
		n = parquet.Int(64)
	case String:
		n = parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
	case Bool:
		n = parquet.Leaf(parquet.BooleanType)
	case Bytes:
		n = parquet.Leaf(parquet.ByteArrayType)
	case Ints:
		n = parquet.List(parquet.Int(64))
	}
	if c.null != nil {
		return parquet.Optional(n)
	}
	return n
}

// writeValues writes the rows from <= i < to into leaf number leaf.
func (c *Column) writeValues(w *parquet.ColumnWriter, leaf, from, to int) error {
	buf := make([]parquet.Value, 0, 1024)
	flush := func() error {
		if len(buf) == 0 {
			return nil
		}
		_, err := w.WriteRowValues(buf)
		buf = buf[:0]
		return err
	}
	def := 0
	if c.null != nil {
		def = 1
	}
	for r := from; r < to; r++ {
		if len(buf) >= 1024 {
			if err := flush(); err != nil {
				return err
			}
		}
		if c.Null(r) {
			buf = append(buf, parquet.NullValue().Level(0, 0, leaf))
			continue
		}
		var v parquet.Value
		switch x := c.data.(type) {
		case values[float64]:
			v = parquet.DoubleValue(x.v[r])
		case values[int64]:
			v = parquet.Int64Value(x.v[r])
		case values[string]:
			v = parquet.ByteArrayValue([]byte(x.v[r]))
		case values[bool]:
			v = parquet.BooleanValue(x.v[r])
		case values[[]byte]:
			v = parquet.ByteArrayValue(x.v[r])
		case values[[]int64]:
			if len(x.v[r]) == 0 {
				buf = append(buf, parquet.NullValue().Level(0, def, leaf))
			}
			for k, n := range x.v[r] {
				buf = append(buf, parquet.Int64Value(n).Level(min(k, 1), def+1, leaf))
			}
			continue
		default:
			return fmt.Errorf("a column of type %s", c.Type())
		}
		buf = append(buf, v.Level(0, def, leaf))
	}
	return flush()
}
