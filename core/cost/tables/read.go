package tables

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"

	"lab/core/fault"
)

const op = "cost tables"

// Schema is the form of a file of records.
const Schema = "lab/cost-tables/1"

const (
	mostBytesOfFile = 4 << 20
	mostFiles       = 200
	mostModels      = 2000 // of a file: an architecture of few bytes may have many layers
)

// file is what a file of records holds.
type file struct {
	Schema   string     `json:"schema"`
	AsOf     Date       `json:"as_of"`  // of records without a date of their own
	Source   string     `json:"source"` // of records without a source of their own
	Note     string     `json:"note"`
	Hardware []Hardware `json:"hardware"`
	Models   []Model    `json:"models"`
	Prices   []Price    `json:"prices"`
	Runs     []Run      `json:"runs"`
}

// parse reads the bytes of one file of records. origin is what errors and records
// call it.
func parse(data []byte, origin string) (*file, error) {
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fault.New(fault.Data, op, fault.Quote(origin, 120), "it is no JSON object (%v)", err).
			Fix(`its form is {"schema": %q, "as_of": "2026-01-31", "source": "…", "hardware": […], "models": […], "prices": […], "runs": […]}`, Schema)
	}
	if head.Schema != Schema {
		return nil, fault.New(fault.Data, op, fault.Quote(origin, 120), "its schema is %s, and %q is read", fault.Quote(head.Schema, 40), Schema)
	}
	f := &file{}
	if err := strict(data, "", f); err != nil {
		return nil, asFault(err, origin)
	}
	if err := f.settle(origin); err != nil {
		return nil, asFault(err, origin)
	}
	return f, nil
}

// settle gives the records what the file says for all of them, and checks them.
func (f *file) settle(origin string) error {
	if err := plain("note", f.Note); err != nil {
		return err
	}
	each := func(kind string, i int, fact *Fact, check func(at string) error) error {
		if fact.AsOf == "" {
			fact.AsOf = f.AsOf
		}
		if fact.Source == "" {
			fact.Source = f.Source
		}
		fact.Origin = origin
		return check(fmt.Sprintf("%s[%d]", kind, i))
	}
	for i := range f.Hardware {
		if err := each("hardware", i, &f.Hardware[i].Fact, f.Hardware[i].check); err != nil {
			return err
		}
	}
	if len(f.Models) > mostModels {
		return &wrong{"models", fmt.Sprintf("has more than %d elements", mostModels), "split the file"}
	}
	for i := range f.Models {
		if err := each("models", i, &f.Models[i].Fact, f.Models[i].check); err != nil {
			return err
		}
	}
	for i := range f.Prices {
		if err := each("prices", i, &f.Prices[i].Fact, f.Prices[i].check); err != nil {
			return err
		}
	}
	for i := range f.Runs {
		if err := each("runs", i, &f.Runs[i].Fact, f.Runs[i].check); err != nil {
			return err
		}
	}
	return nil
}

// join adds the records of another file.
func (f *file) join(g *file) {
	f.Hardware = append(f.Hardware, g.Hardware...)
	f.Models = append(f.Models, g.Models...)
	f.Prices = append(f.Prices, g.Prices...)
	f.Runs = append(f.Runs, g.Runs...)
}

// readFile reads one file. It looks before it opens: opening a named pipe would
// wait for a writer.
func readFile(path string) (*file, error) {
	unreadable := func(err error) error {
		var why *fs.PathError
		if errors.As(err, &why) { // the path is in the message already
			err = why.Err
		}
		return fault.New(fault.Usage, op, fault.Quote(path, 120), "it cannot be read: %v", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, unreadable(err)
	}
	if !info.Mode().IsRegular() {
		return nil, fault.New(fault.Usage, op, fault.Quote(path, 120), "it is not a regular file")
	}
	in, err := os.Open(path)
	if err != nil {
		return nil, unreadable(err)
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, mostBytesOfFile+1))
	if err != nil {
		return nil, unreadable(err)
	}
	if len(data) > mostBytesOfFile {
		return nil, fault.New(fault.Limit, op, fault.Quote(path, 120), "it has more than %d MiB", mostBytesOfFile>>20).Fix("split it")
	}
	return parse(data, path)
}

// readFolder reads the .json files of a folder, in the order of their names, as
// one; nil where there is no such folder. Hidden files are left alone.
func readFolder(dir string) (*file, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.Usage, op, fault.Quote(dir, 120))
	}
	all := &file{}
	n := 0
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		if n++; n > mostFiles {
			return nil, fault.New(fault.Limit, op, fault.Quote(dir, 120), "it holds more than %d files", mostFiles).Fix("join some of them")
		}
		f, err := readFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		all.join(f)
	}
	return all, nil
}

// shippedFiles hold the facts that come with lab; testdata/golden holds those that
// they were made from.
//
//go:embed data/*.json
var shippedFiles embed.FS

var shipped = sync.OnceValues(func() (*file, error) {
	all := &file{}
	names, err := fs.Glob(shippedFiles, "data/*.json")
	if err != nil {
		return nil, err
	}
	sort.Strings(names)
	for _, name := range names {
		data, err := shippedFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		f, err := parse(data, ShippedOrigin)
		if err != nil {
			return nil, err
		}
		all.join(f)
	}
	return all, nil
})
