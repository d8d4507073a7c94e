package store

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"

	"github.com/parquet-go/parquet-go"
	"golang.org/x/sync/errgroup"

	"lab/core/fault"
)

// Column is one setting of all cells: int64, float64, string or bool, nil where
// a cell lacks it. Values of several kinds become text.
type Column struct {
	Name   string
	Values []any
}

// groupRows is how many rows lie together in a table. It is part of what makes
// two runs' files equal.
const groupRows = 1 << 16

// A page has so many rows, or what has so many bytes: also a part of it.
const (
	pageRows  = 1 << 15
	pageBytes = 1 << 20
)

// writerOptions are those of every table: the bytes of a file depend on its rows
// alone.
func writerOptions(more ...parquet.WriterOption) []parquet.WriterOption {
	return append([]parquet.WriterOption{parquet.PageBufferSize(pageBytes), parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(groupRows), parquet.CreatedBy("lab", "1", "")}, more...)
}

// table is a Parquet file that is being written beside its place, by a goroutine
// of its own: the tables of a run are written at once. Its bytes do not depend on
// that.
type table[T any] struct {
	path   string
	f      *os.File
	buffer []T
	full   chan piece[T]
	empty  chan []T
	result chan error
}

// piece is some rows of a table, and whether a row group ends with them.
type piece[T any] struct {
	rows []T
	ends bool
}

// atOnce is how many rows a piece of a table has.
const atOnce = 1024

func newTable[T any](path string) (*table[T], error) {
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, unwritable(filepath.Dir(path), err)
	}
	t := &table[T]{path: path, f: f, buffer: make([]T, 0, atOnce), full: make(chan piece[T], 1), empty: make(chan []T, 2), result: make(chan error, 1)}
	t.empty <- make([]T, 0, atOnce)
	t.empty <- make([]T, 0, atOnce)
	go func() { t.result <- t.write() }()
	return t, nil
}

// write writes what arrives and makes the file durable, still beside its place.
func (t *table[T]) write() (err error) {
	w := parquet.NewGenericWriter[T](t.f, writerOptions()...)
	written := 0
	for p := range t.full {
		if err == nil {
			_, err = w.Write(p.rows)
		}
		if written += len(p.rows); err == nil && written >= pageRows {
			written, err = 0, endPages(w.ColumnWriters())
		}
		if err == nil && p.ends {
			err = w.Flush()
		}
		clear(p.rows)
		t.empty <- p.rows[:0]
	}
	if err == nil {
		err = endPages(w.ColumnWriters())
	}
	if closeErr := w.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = t.f.Sync()
	}
	if closeErr := t.f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// endPages compresses what the columns have, several at once.
func endPages(columns []*parquet.ColumnWriter) error {
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	for _, c := range columns {
		all.Go(c.Flush)
	}
	return all.Wait()
}

// add adds a row. What the disk says to it comes with [table.finish].
func (t *table[T]) add(row T) {
	if t.buffer = append(t.buffer, row); len(t.buffer) == cap(t.buffer) {
		t.flush(false)
	}
}

// flush hands the rows so far to the writer.
func (t *table[T]) flush(ends bool) {
	t.full <- piece[T]{t.buffer, ends}
	t.buffer = <-t.empty
}

// end says that no row follows.
func (t *table[T]) end() {
	t.flush(false)
	close(t.full)
}

// finish waits until the file is durable. It comes after end.
func (t *table[T]) finish() error { return <-t.result }

// remove takes away a file that was not finished.
func (t *table[T]) remove() { _ = os.Remove(t.path + ".new") }

func (t *table[T]) place() string { return t.path }

// written is a table of any rows.
type written interface {
	end()
	finish() error
	remove()
	place() string
}

// tables writes the tables of a run.
type tables struct {
	samples *table[sampleRow]
	steps   *table[stepRow] // nil without a ledger
	stages  *table[stageRow]
	scores  *scoreTable // nil when none are kept
	costs   *table[costRow]
	all     []written // in the order in which they move into their places
}

// newTables opens the tables; what is open after an error is dropped by finish.
func newTables(dir string, m *Manifest) (*tables, error) {
	t := &tables{}
	err := func() (err error) {
		if t.costs, err = newTable[costRow](filepath.Join(dir, CostsFile)); err != nil {
			return err
		}
		t.all = append(t.all, t.costs)
		if m.Scores != "" {
			if t.scores, err = newScoreTable(dir); err != nil {
				return err
			}
			t.all = append(t.all, t.scores)
		}
		if m.Ledger {
			if t.stages, err = newTable[stageRow](filepath.Join(dir, StagesFile)); err != nil {
				return err
			}
			t.all = append(t.all, t.stages)
			if t.steps, err = newTable[stepRow](filepath.Join(dir, StepsFile)); err != nil {
				return err
			}
			t.all = append(t.all, t.steps)
		}
		if t.samples, err = newTable[sampleRow](filepath.Join(dir, samplesFile)); err != nil {
			return err
		}
		t.all = append(t.all, t.samples)
		return nil
	}()
	return t, err
}

func (t *tables) add(r *Record) {
	t.samples.add(newSampleRow(r))
	if r.Failure != "" {
		return
	}
	if r.Cost != nil {
		t.costs.add(newCostRow(r))
	}
	if t.scores != nil {
		t.scores.add(r)
	}
	if t.steps == nil {
		return
	}
	for i := range r.Trace.Steps {
		t.steps.add(newStepRow(r, i))
		for j := range r.Trace.Steps[i].Stages {
			t.stages.add(newStageRow(r, i, j))
		}
	}
}

// finish ends the tables. Without an error so far it moves them into place, that
// of samples last: where it is, the others are. With one, nothing is left of them.
func (t *tables) finish(dir string, err error) error {
	for _, w := range t.all {
		w.end()
	}
	for _, w := range t.all {
		if tableErr := w.finish(); err == nil {
			err = tableErr
		}
	}
	for _, w := range t.all {
		if err == nil {
			err = os.Rename(w.place()+".new", w.place())
		}
	}
	if err == nil {
		return syncFolder(dir)
	}
	for _, w := range t.all {
		w.remove()
	}
	return err
}

// complete reports whether a folder has its tables and needs no log.
func complete(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, samplesFile))
	_, logErr := os.Stat(filepath.Join(dir, logFile))
	return err == nil && os.IsNotExist(logErr)
}

// writeCells writes cells.parquet: the column cell, then those given.
func writeCells(path string, cells int, columns []Column) error {
	fields := []reflect.StructField{{Name: "Cell", Type: reflect.TypeFor[int32](), Tag: `parquet:"cell"`}}
	for i, c := range columns {
		if len(c.Values) != cells {
			return fault.New(fault.Internal, op, path, "column %q has %d values for %d cells", c.Name, len(c.Values), cells)
		}
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("C%d", i), Type: reflect.PointerTo(typeOf(c.Values)),
			Tag: reflect.StructTag(fmt.Sprintf("parquet:%q", c.Name+",optional"))})
	}
	kind := reflect.StructOf(fields)
	return replaceFile(path, func(f *os.File) error {
		w := parquet.NewWriter(f, writerOptions(parquet.SchemaOf(reflect.New(kind).Interface()))...)
		for cell := range cells {
			row := reflect.New(kind).Elem()
			row.Field(0).SetInt(int64(cell))
			for i, c := range columns {
				if v := c.Values[cell]; v != nil {
					p := reflect.New(fields[i+1].Type.Elem())
					p.Elem().Set(converted(v, p.Type().Elem()))
					row.Field(i + 1).Set(p)
				}
			}
			if err := w.Write(row.Addr().Interface()); err != nil {
				return err
			}
		}
		return w.Close()
	})
}

// typeOf returns the type of a column.
func typeOf(values []any) reflect.Type {
	var kind reflect.Type
	for _, v := range values {
		if v == nil {
			continue
		}
		t := reflect.TypeOf(v)
		number := func(t reflect.Type) bool { return t.Kind() == reflect.Float64 || t.Kind() == reflect.Int64 }
		switch {
		case t.Kind() != reflect.String && t.Kind() != reflect.Bool && !number(t):
			return reflect.TypeFor[string]()
		case kind == nil || kind == t:
			kind = t
		case number(t) && number(kind):
			kind = reflect.TypeFor[float64]()
		default:
			return reflect.TypeFor[string]()
		}
	}
	if kind == nil {
		return reflect.TypeFor[string]()
	}
	return kind
}

// converted returns a value as the type of its column.
func converted(v any, to reflect.Type) reflect.Value {
	if to.Kind() == reflect.String && reflect.TypeOf(v).Kind() != reflect.String {
		return reflect.ValueOf(fmt.Sprint(v))
	}
	return reflect.ValueOf(v).Convert(to)
}

// opened is a Parquet file that is being read.
type opened[T any] struct {
	f    *os.File
	r    *parquet.GenericReader[T]
	path string
	rows []T
	at   int
	end  bool

	piece int // rows that are read at once
}

// openTable opens a table for reading. Files are hostile: whatever the library
// makes of a damaged one, a panic too, is a data error that names it.
func openTable[T any](path string) (t *opened[T], err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fault.Wrap(err, fault.Data, op, path)
	}
	defer func() {
		if err != nil {
			_ = f.Close()
		}
	}()
	defer damaged(path, &err)
	info, err := f.Stat()
	if err != nil {
		return nil, fault.Wrap(err, fault.Data, op, path)
	}
	p, err := parquet.OpenFile(f, info.Size())
	if err != nil {
		return nil, fault.New(fault.Data, op, path, "it is damaged: %v", err)
	}
	if want := parquet.SchemaOf(new(T)); !parquet.EqualNodes(p.Schema(), want) || !groupsFit(p, want) {
		return nil, fault.New(fault.Data, op, path, "its columns are not those of a run")
	}
	return &opened[T]{f: f, r: parquet.NewGenericReader[T](p), path: path, piece: 256}, nil
}

// groupsFit reports whether every row group of a file has the columns of its
// schema. The library takes their types from the groups and trusts them: a text
// that is said to be a number there would be read from memory that is not its own,
// and pages that are said to be of another compression than ours ask for any memory.
func groupsFit(p *parquet.File, schema *parquet.Schema) bool {
	paths := schema.Columns()
	for _, g := range p.Metadata().RowGroups {
		if len(g.Columns) != len(paths) {
			return false
		}
		for i, path := range paths {
			leaf, ok := schema.Lookup(path...)
			if m := &g.Columns[i].MetaData; !ok || !slices.Equal(m.PathInSchema, path) || int(m.Type) != int(leaf.Node.Type().Kind()) ||
				m.Codec != parquet.Zstd.CompressionCodec() {
				return false
			}
		}
	}
	return true
}

// next returns the next row, nil at the end; it is good until the next call.
func (t *opened[T]) next() (row *T, err error) {
	defer damaged(t.path, &err)
	if t.at == len(t.rows) {
		if t.end {
			return nil, nil
		}
		t.rows, t.at = make([]T, t.piece), 0 // rows hand out memory of their own
		n, err := t.r.Read(t.rows)
		t.rows = t.rows[:n]
		if err == io.EOF {
			t.end = true
		} else if err != nil {
			return nil, fault.New(fault.Data, op, t.path, "it is damaged: %v", err)
		}
		if n == 0 {
			return t.next()
		}
	}
	t.at++
	return &t.rows[t.at-1], nil
}

func (t *opened[T]) close() {
	if t != nil {
		_ = t.f.Close()
	}
}

// damaged turns a panic of the Parquet library into an error.
func damaged(path string, err *error) {
	if p := recover(); p != nil {
		*err = fault.New(fault.Data, op, path, "it is damaged: %v", p)
	}
}
