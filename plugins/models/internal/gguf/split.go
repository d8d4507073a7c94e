package gguf

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"lab/core/fault"
)

// A model may be split over several files, name-00001-of-00003.gguf and so on.
// Every part is a GGUF file with tensors of its own; split.no (from 0),
// split.count and split.tensors.count say which part it is, of how many, with
// how many tensors in all. The first holds the metadata of the model.

const (
	splitNo      = "split.no"
	splitCount   = "split.count"
	splitTensors = "split.tensors.count"

	maxParts = 1000
)

// partPath returns the path of a part, given that of the first; ok is false when
// that is not named as a first part is.
func partPath(first string, part, count int) (path string, ok bool) {
	end := func(n int) string { return fmt.Sprintf("-%05d-of-%05d.gguf", n, count) }
	stem, ok := strings.CutSuffix(first, end(1))
	return stem + end(part+1), ok
}

// splitInto returns how many parts the file is one of, 1 for a whole one, and
// which, counted from 0.
func (f *File) splitInto() (part, count int, err error) {
	n, found, err := f.Int(splitCount)
	if err != nil || !found {
		return 0, 1, err
	}
	no, found, err := f.Int(splitNo)
	switch {
	case err != nil:
		return 0, 0, err
	case !found:
		return 0, 0, f.wrongSplit("metadata %q is missing", splitNo)
	case n < 1 || n > maxParts:
		return 0, 0, f.wrongSplit("metadata %q is %d, outside [1, %d]", splitCount, n, maxParts)
	case no < 0 || no >= n:
		return 0, 0, f.wrongSplit("metadata %q is %d, outside [0, %d]", splitNo, no, n-1)
	}
	return int(no), int(n), nil
}

func (f *File) wrongSplit(format string, args ...any) error {
	return fault.New(fault.Data, "read GGUF", f.name, format, args...)
}

// join opens the other parts of a split file and adds their tensors.
func (f *File) join(path string) error {
	part, count, err := f.splitInto()
	if err != nil || count == 1 {
		return err
	}
	if part != 0 {
		e := fault.New(fault.Model, "open model", f.name, "it is part %d of the %d of a model", part+1, count)
		return e.Fix("open the first part, whose name ends in -00001-of-%05d.gguf", count)
	}
	if _, ok := partPath(path, 0, count); !ok {
		return f.wrongSplit("it is the first of %d parts, but its name does not end in -00001-of-%05d.gguf, by which the others are found", count, count)
	}
	for i := 1; i < count; i++ {
		name, _ := partPath(path, i, count)
		if err := f.add(name, i, count); err != nil {
			return err
		}
	}
	total, found, err := f.Int(splitTensors)
	switch {
	case err != nil:
		return err
	case !found:
		return f.wrongSplit("metadata %q is missing", splitTensors)
	case total != int64(len(f.Tensors)):
		return f.wrongSplit("its %d parts hold %d tensors, metadata %q says %d", count, len(f.Tensors), splitTensors, total)
	}
	return nil
}

// add opens one more part.
func (f *File) add(path string, number, count int) error {
	p, err := OpenPart(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Model, "open model", f.name, "part %d of %d, %q, is missing", number+1, count, filepath.Base(path)).
			Fix("put all parts into one folder")
	}
	if err != nil {
		return fault.Wrap(err, fault.Model, "open model", fmt.Sprintf("part %d of %d", number+1, count))
	}
	f.parts = append(f.parts, p.parts...)
	if no, n, err := p.splitInto(); err != nil {
		return err
	} else if no != number || n != count {
		return p.wrongSplit("it says that it is part %d of %d, its name that it is part %d of %d", no+1, n, number+1, count)
	}
	if p.Version != f.Version {
		return p.wrongSplit("it is of version %d, the first part of version %d", p.Version, f.Version)
	}
	if _, found := p.values[splitTensors]; !found {
		return p.wrongSplit("metadata %q is missing", splitTensors)
	}
	for _, key := range p.keys {
		if key == splitNo || key == "general.alignment" {
			continue
		}
		mine, found := f.values[key]
		theirs := p.values[key]
		if !found || mine.Type != theirs.Type || mine.Elem != theirs.Elem || mine.Len != theirs.Len || !bytes.Equal(mine.raw, theirs.raw) {
			return p.wrongSplit("metadata %s is not what the first part has", fault.Quote(key, 80))
		}
	}
	for _, t := range p.Tensors {
		if _, twice := f.tensors[t.Name]; twice {
			return p.wrongSplit("tensor %q is in another part, too", t.Name)
		}
		t.part = number
		f.tensors[t.Name] = len(f.Tensors)
		f.Tensors = append(f.Tensors, t)
	}
	return nil
}

// part is one file of a model.
type part struct {
	data   []byte
	unmap  func() error
	handle *os.File // nil for bytes that were handed over
	stamp  os.FileInfo
}

// touched reports whether a file's size or time of change is not what it was.
func (p *part) touched() bool {
	if p.handle == nil {
		return false
	}
	now, err := p.handle.Stat()
	return err != nil || now.Size() != p.stamp.Size() || !now.ModTime().Equal(p.stamp.ModTime())
}

func (p *part) close() error {
	var err error
	if p.unmap != nil {
		err = p.unmap()
	}
	if p.handle != nil {
		err = errors.Join(err, p.handle.Close())
	}
	*p = part{}
	return err
}
