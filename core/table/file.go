package table

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"lab/core/fault"
)

// maxFile bounds a CSV file, which is read whole.
const maxFile = 4 << 30

// formats are the extensions of files, which say what is in them.
var formats = []string{".csv", ".tsv", ".parquet", ".json"}

// ReadFile reads the table in a .csv, .tsv or .parquet file. o is for the first
// two; a .tsv file has tabs between its fields.
func ReadFile(name string, o CSV) (*Table, error) {
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return nil, fault.Wrap(err, fault.Usage, "read table", fault.Quote(name, 80))
	}
	defer root.Close()
	return ReadIn(root, filepath.Base(name), o)
}

// ReadIn is ReadFile of a file inside root, which it does not leave, whatever
// links are there.
func ReadIn(root *os.Root, name string, o CSV) (*Table, error) {
	const op = "read table"
	ext := strings.ToLower(path.Ext(name))
	if ext != ".csv" && ext != ".tsv" && ext != ".parquet" {
		return nil, fault.New(fault.Usage, op, fault.Quote(name, 80), "the extension is %q", ext).Fix("name a .csv, .tsv or .parquet file")
	}
	f, err := root.Open(filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.Usage, op, fault.Quote(name, 80), "there is no such file in %q", root.Name())
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.Usage, op, fault.Quote(name, 80))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fault.Wrap(err, fault.Data, op, fault.Quote(name, 80))
	}
	if !info.Mode().IsRegular() {
		return nil, fault.New(fault.Usage, op, fault.Quote(name, 80), "it is not an ordinary file")
	}
	if ext == ".parquet" {
		return ReadParquet(f, info.Size(), fault.Quote(name, 80))
	}
	if info.Size() > maxFile {
		return nil, fault.New(fault.Limit, op, fault.Quote(name, 80), "it has %d bytes, more than %d", info.Size(), int64(maxFile)).Fix("convert it to Parquet")
	}
	var text bytes.Buffer
	text.Grow(int(min(info.Size(), 1<<30)))
	if _, err := io.Copy(&text, io.LimitReader(f, maxFile)); err != nil {
		return nil, fault.Wrap(err, fault.Data, op, fault.Quote(name, 80))
	}
	if ext == ".tsv" && o.Delimiter == 0 {
		o.Delimiter = '\t'
	}
	return ReadCSV(text.Bytes(), fault.Quote(name, 80), o)
}

// Save writes the table into a .csv, .tsv, .parquet or .json file. The file is
// whole or not there: it is written beside its place and moved.
func (t *Table) Save(name string) error {
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return fault.Wrap(err, fault.Usage, "save table", fault.Quote(name, 80))
	}
	defer root.Close()
	return t.SaveIn(root, filepath.Base(name))
}

// SaveIn is Save of a file inside root, which it does not leave. Folders in name
// are created.
func (t *Table) SaveIn(root *os.Root, name string) (err error) {
	const op = "save table"
	write := map[string]func(io.Writer) error{
		".csv":     func(w io.Writer) error { return t.WriteCSV(w, ',') },
		".tsv":     func(w io.Writer) error { return t.WriteCSV(w, '\t') },
		".parquet": t.WriteParquet,
		".json":    t.WriteJSON,
	}[strings.ToLower(path.Ext(name))]
	if write == nil {
		return fault.New(fault.Usage, op, fault.Quote(name, 80), "the extension is %q", path.Ext(name)).Fix("use one of %s", strings.Join(formats, ", "))
	}
	local := filepath.FromSlash(name)
	if dir := filepath.Dir(local); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return fault.Wrap(err, fault.Usage, op, fault.Quote(name, 80))
		}
	}
	temporary := filepath.Join(filepath.Dir(local), fmt.Sprintf(".%s.%s", filepath.Base(local), rand.Text()))
	f, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fault.Wrap(err, fault.Usage, op, fault.Quote(name, 80))
	}
	defer func() {
		if err != nil {
			f.Close()
			root.Remove(temporary)
		}
	}()
	if err := write(f); err != nil {
		return fault.Wrap(err, fault.Data, op, fault.Quote(name, 80))
	}
	for _, step := range []func() error{f.Sync, f.Close, func() error { return root.Rename(temporary, local) }} {
		if err := step(); err != nil {
			return fault.Wrap(err, fault.Data, op, fault.Quote(name, 80))
		}
	}
	return nil
}
