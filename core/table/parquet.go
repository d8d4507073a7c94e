package table

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"lab/core/fault"
)

// maxCells bounds the rows times the columns of what is read, joined or pivoted: a
// few bytes of Parquet, or two keys that are all equal, make any number of values.
const maxCells = 1 << 30

// ReadParquet reads a Parquet file of flat columns and lists of ints. name says in
// errors what is read.
//
// Booleans are bool; integers of all widths int (a number of 64 bits without sign
// that does not fit is an error); float and double are float; text, enums and JSON
// are string; other byte arrays bytes; lists of integers ints. A column of another
// type is refused by name, as are null elements of lists, and files of more than
// 2^30 rows times columns.
//
// Errors are of kind data. A damaged file is an error and never a panic.
func ReadParquet(r io.ReaderAt, size int64, name string) (t *Table, err error) {
	const op = "read parquet"
	defer func() {
		if p := recover(); p != nil { // of the library, on bytes that it trusts
			t, err = nil, fault.New(fault.Data, op, name, "the file is damaged: %v", p)
		}
	}()
	if err := guardFooter(r, size); err != nil {
		return nil, fault.New(fault.Data, op, name, "it is no Parquet file, or damaged: %v", err)
	}
	f, err := parquet.OpenFile(r, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fault.New(fault.Data, op, name, "it is no Parquet file, or damaged: %v", err)
	}
	var total int64 // as the groups say, which is what is read
	for _, g := range f.RowGroups() {
		n := g.NumRows()
		if n < 0 || n > maxCells-total {
			return nil, fault.New(fault.Data, op, name, "it claims %d rows in one group; a table holds %d values", n, maxCells)
		}
		total += n
	}
	if n := int64(len(f.Root().Columns())); n > 0 && total > maxCells/n {
		return nil, fault.New(fault.Data, op, name, "it claims %d rows of %d columns; a table holds %d values", total, n, maxCells)
	}
	for g, group := range f.Metadata().RowGroups {
		for i := range group.Columns {
			if err := guardPages(r, size, &group.Columns[i].MetaData); err != nil {
				return nil, fault.New(fault.Data, op, name, "it is damaged: row group %d, column %d: %v", g, i+1, err)
			}
		}
	}
	var names []string
	var cols []*Column
	for _, c := range f.Root().Columns() {
		col, err := readColumn(f, c, int(total))
		if err != nil {
			return nil, fault.New(fault.Data, op, name, "%s: %v", subject(c.Name()), err)
		}
		names, cols = append(names, c.Name()), append(cols, col)
	}
	t, err = build("table", names, cols)
	if err != nil {
		return nil, fault.Wrap(dataError(err), fault.Data, op, name)
	}
	return t, nil
}

// parquetShape is what the levels of a column's values mean.
type parquetShape struct {
	leaf     *parquet.Column
	list     bool
	optional byte // 1 when the column, or the list, may be null
	element  byte // 1 when the elements of the list may be null
}

// shapeOf finds the leaf of a flat column or of a list of ints.
func shapeOf(c *parquet.Column) (parquetShape, error) {
	s := parquetShape{leaf: c}
	if c.Optional() {
		s.optional = 1
	}
	switch {
	case c.Leaf() && c.Repeated(): // the short spelling of a list
		s.list = true
		return s, nil
	case c.Leaf():
		return s, nil
	}
	inner := c.Columns()
	if !c.Repeated() && len(inner) == 1 && inner[0].Repeated() {
		s.list = true
		switch below := inner[0].Columns(); {
		case inner[0].Leaf():
			s.leaf = inner[0]
			return s, nil
		case len(below) == 1 && below[0].Leaf() && !below[0].Repeated():
			s.leaf = below[0]
			if below[0].Optional() {
				s.element = 1
			}
			return s, nil
		}
	}
	return s, fmt.Errorf("its type is %s, which a table does not hold", strings.Join(strings.Fields(parquetType(c)), " "))
}

func parquetType(c *parquet.Column) string {
	if c.Leaf() {
		return c.Type().String()
	}
	return fmt.Sprintf("a group of %d columns", len(c.Columns()))
}

// readColumn reads one column of all row groups.
func readColumn(f *parquet.File, c *parquet.Column, rows int) (*Column, error) {
	s, err := shapeOf(c)
	if err != nil {
		return nil, err
	}
	typ := s.leaf.Type()
	unsupported := fmt.Errorf("its type is %s, which a table does not hold", typ)
	bare := typ.LogicalType() == nil && typ.ConvertedType() == nil
	integer, signed, text := bare, true, false
	if logical := typ.LogicalType(); logical != nil {
		switch l := logical.Value.(type) {
		case *format.IntType:
			integer, signed = true, l.IsSigned
		case *format.StringType, *format.EnumType, *format.JsonType:
			text = true
		}
	}
	toInt := func(v parquet.Value) (int64, error) { return v.Int64(), nil }
	switch kind := typ.Kind(); {
	case kind == parquet.Int32 && integer && signed:
		toInt = func(v parquet.Value) (int64, error) { return int64(v.Int32()), nil }
	case kind == parquet.Int32 && integer:
		toInt = func(v parquet.Value) (int64, error) { return int64(v.Uint32()), nil }
	case kind == parquet.Int64 && integer && signed:
	case kind == parquet.Int64 && integer:
		toInt = func(v parquet.Value) (int64, error) {
			if u := v.Uint64(); u > math.MaxInt64 {
				return 0, fmt.Errorf("%d does not fit an int of 64 bits with a sign", u)
			}
			return v.Int64(), nil
		}
	case s.list:
		return nil, fmt.Errorf("its type is a list of %s, of which a table holds only ints", typ)
	case kind == parquet.Boolean && bare:
		return readFlat(f, s, rows, func(v parquet.Value) (bool, error) { return v.Boolean(), nil })
	case kind == parquet.Float && bare:
		return readFlat(f, s, rows, func(v parquet.Value) (float64, error) { return float64(v.Float()), nil })
	case kind == parquet.Double && bare:
		return readFlat(f, s, rows, func(v parquet.Value) (float64, error) { return v.Double(), nil })
	case kind == parquet.ByteArray && text:
		return readFlat(f, s, rows, interner())
	case (kind == parquet.ByteArray || kind == parquet.FixedLenByteArray) && bare:
		return readFlat(f, s, rows, func(v parquet.Value) ([]byte, error) { return slices.Clone(v.ByteArray()), nil })
	default:
		return nil, unsupported
	}
	if s.list {
		return readLists(f, s, rows, toInt)
	}
	return readFlat(f, s, rows, toInt)
}

// interner returns texts, the same memory for short ones that come again.
func interner() func(parquet.Value) (string, error) {
	const longest, most = 64, 1 << 16
	seen := map[string]string{}
	return func(v parquet.Value) (string, error) {
		b := v.ByteArray()
		if s, ok := seen[string(b)]; ok {
			return s, nil
		}
		s := string(b)
		if len(s) <= longest && len(seen) < most {
			seen[s] = s
		}
		return s, nil
	}
}

// eachValue calls take with the values of a leaf and its levels, and checks that
// every row group has the rows it claims.
func eachValue(f *parquet.File, leaf *parquet.Column, take func(v parquet.Value) error, rows func() int) error {
	buf := make([]parquet.Value, 1024)
	want := 0
	for k, g := range f.RowGroups() {
		want += int(g.NumRows())
		if err := eachPage(g.ColumnChunks()[leaf.Index()], buf, func(v parquet.Value) error {
			if rows() > want {
				return fmt.Errorf("row group %d has more than the %d rows it claims", k, g.NumRows())
			}
			return take(v)
		}); err != nil {
			return err
		}
		if rows() != want {
			return fmt.Errorf("row group %d has not the %d rows it claims", k, g.NumRows())
		}
	}
	return nil
}

func eachPage(chunk parquet.ColumnChunk, buf []parquet.Value, take func(parquet.Value) error) (err error) {
	pages := chunk.Pages()
	defer func() {
		if e := pages.Close(); err == nil {
			err = e
		}
	}()
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		err = eachIn(page.Values(), buf, take)
		parquet.Release(page)
		if err != nil {
			return err
		}
	}
}

func eachIn(values parquet.ValueReader, buf []parquet.Value, take func(parquet.Value) error) error {
	for {
		n, err := values.ReadValues(buf)
		for _, v := range buf[:n] {
			if err := take(v); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case n == 0:
			return io.ErrNoProgress
		}
	}
}

// capacity is how many rows memory is taken for before they were seen.
func capacity(rows int) int { return min(rows, 1<<20) }

func readFlat[T Value](f *parquet.File, s parquetShape, rows int, get func(parquet.Value) (T, error)) (*Column, error) {
	out := make([]T, 0, capacity(rows))
	var nulls []int
	err := eachValue(f, s.leaf, func(v parquet.Value) error {
		var x T
		if s.optional == 1 && v.DefinitionLevel() == 0 || v.IsNull() {
			nulls = append(nulls, len(out))
		} else {
			var err error
			if x, err = get(v); err != nil {
				return err
			}
		}
		out = append(out, x)
		return nil
	}, func() int { return len(out) })
	if err != nil {
		return nil, err
	}
	return withNulls(out, nulls), nil
}

func withNulls[T Value](out []T, nulls []int) *Column {
	if len(nulls) == 0 {
		return Of(out)
	}
	null := newBitmap(len(out))
	for _, i := range nulls {
		null.set(i)
	}
	return nullable(out, null)
}

func readLists(f *parquet.File, s parquetShape, rows int, get func(parquet.Value) (int64, error)) (*Column, error) {
	flat := []int64{}
	ends := make([]int, 0, capacity(rows)) // of the rows before the last in flat
	var nulls []int
	started := 0
	err := eachValue(f, s.leaf, func(v parquet.Value) error {
		if v.RepetitionLevel() == 0 {
			if started > 0 {
				ends = append(ends, len(flat))
			}
			started++
		} else if started == 0 {
			return errors.New("it begins inside a list")
		}
		switch def := byte(v.DefinitionLevel()); {
		case def < s.optional:
			nulls = append(nulls, started-1)
			return nil
		case def == s.optional:
			return nil // an empty list
		case s.element == 1 && def == s.optional+1:
			return fmt.Errorf("row %d: null inside a list", started-1)
		}
		n, err := get(v)
		flat = append(flat, n)
		return err
	}, func() int { return started })
	if err != nil {
		return nil, err
	}
	out := make([][]int64, started)
	from := 0
	for i := range out {
		to := len(flat)
		if i < len(ends) {
			to = ends[i]
		}
		out[i] = flat[from:to:to]
		from = to
	}
	return withNulls(out, nulls), nil
}
