// Package gguf reads GGUF files of version 2 and 3: metadata, the table of
// tensors, and where their bytes lie.
//
// A file is hostile until read: every count and length is checked against the
// bytes that are left before anything is allocated, so that the memory used is
// bounded by the file's size; what is wrong comes back as an error of kind
// data that names the byte it was found at. The bytes stay where they are,
// memory-mapped or handed over by the caller, and tensors and values are views
// into them.
//
// Not here: what the metadata means (package transformer), the arithmetic of
// quantised types (package kernel), version 1 and big-endian files. A model that
// is split over several files is opened by its first part (split.go). Start with [Open], or [Read] for bytes at hand.
//
// Source: the specification docs/gguf.md of the ggml project.
package gguf

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"lab/core/fault"
)

// File is one GGUF file, or the parts of a split one. It does not change after it was read and is safe for
// concurrent use; Close ends the life of everything that was taken from it.
type File struct {
	Version uint32
	Tensors []Tensor // in the order of the file

	name    string // for messages: the quoted path, or what the caller said
	keys    []string
	values  map[string]Value
	tensors map[string]int
	parts   []part
}

// Tensor says where one tensor lies and what it is.
type Tensor struct {
	Name string
	Type Type
	// Dims are the sizes, the fastest first: a matrix of r rows with c columns
	// has Dims {c, r}.
	Dims   []int
	Offset int64 // of its first byte in the file
	Size   int64 // bytes
	part   int   // of a split file
}

// Elements returns the number of values.
func (t Tensor) Elements() int64 {
	n := int64(1)
	for _, d := range t.Dims {
		n *= int64(d)
	}
	return n
}

// Open maps a file into memory, read-only, and reads its tables; the path of the
// first part of a split file opens all parts. A missing or unreadable file is a
// model error, a malformed one a data error.
func Open(path string) (*File, error) {
	f, err := OpenPart(path)
	if err != nil {
		return nil, err
	}
	if err := Protect(f.name, func() error { return f.join(path) }); err != nil {
		return nil, either(err, f.Close())
	}
	return f, nil
}

// either returns the first error, with the second where there is one.
func either(first, second error) error {
	if second == nil {
		return first
	}
	return errors.Join(first, second)
}

// OpenPart is [Open] for one file alone, be it whole or a part of a split one.
func OpenPart(path string) (*File, error) {
	name := fmt.Sprintf("%q", path)
	file, info, err := openRegular(path, name)
	if err != nil {
		return nil, err
	}
	p := part{handle: file, stamp: info}
	fail := func(err error) (*File, error) { return nil, either(err, p.close()) }
	if info.Size() == 0 {
		return fail(fault.New(fault.Data, "read GGUF", name, "the file is empty"))
	}
	if int64(int(info.Size())) != info.Size() {
		return fail(fault.New(fault.Limit, "open model", name, "its %d bytes do not fit this machine's address space", info.Size()))
	}
	if p.data, p.unmap, err = mapFile(file, int(info.Size())); err != nil {
		return fail(fault.Wrap(err, fault.Model, "open model", name))
	}
	f, err := read(name, p.data)
	if err != nil {
		return fail(err)
	}
	f.parts = []part{p}
	return f, nil
}

// openRegular opens a regular file. It looks before it opens: opening a named
// pipe would wait for a writer.
func openRegular(path, name string) (*os.File, os.FileInfo, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, nil, fault.New(fault.Model, "open model", name, "it is not a regular file").Fix("give the path of a .gguf file")
	}
	var file *os.File
	if err == nil {
		file, err = os.Open(path)
	}
	if err == nil {
		info, err = file.Stat()
	}
	var pathError *os.PathError
	switch {
	case errors.As(err, &pathError):
		return nil, nil, fault.Wrap(pathError.Err, fault.Model, "open model", name).Fix("check the path and its permissions")
	case err != nil:
		return nil, nil, fault.Wrap(err, fault.Model, "open model", name)
	}
	return file, info, nil
}

// Read reads the tables of a file whose bytes are data, which it keeps and the
// caller must not change. name is the subject of error messages. A part of a
// split file is refused: it wants a path.
func Read(name string, data []byte) (*File, error) {
	f, err := read(name, data)
	if err != nil {
		return nil, err
	}
	no, count, err := f.splitInto()
	if err == nil && count > 1 {
		err = f.wrongSplit("it is part %d of the %d of a model, which are opened from files", no+1, count)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

func read(name string, data []byte) (f *File, err error) {
	guarded := Protect(name, func() error {
		f, err = parse(name, data)
		return err
	})
	if guarded != nil {
		return nil, guarded
	}
	return f, nil
}

// Close gives the mappings back. No tensor data or value of the file may be
// used afterwards.
func (f *File) Close() error {
	var errs []error
	for i := range f.parts {
		errs = append(errs, f.parts[i].close())
	}
	f.parts = nil
	return errors.Join(errs...)
}

// Name returns what error messages call the file: its quoted path, or the name
// given to [Read].
func (f *File) Name() string { return f.name }

// Tensor returns the tensor of that name.
func (f *File) Tensor(name string) (Tensor, bool) {
	i, ok := f.tensors[name]
	if !ok {
		return Tensor{}, false
	}
	return f.Tensors[i], true
}

// Data returns the bytes of a tensor of this file, a view that must not be
// written to.
func (f *File) Data(t Tensor) []byte {
	return f.parts[t.part].data[t.Offset : t.Offset+t.Size : t.Offset+t.Size]
}

// Digest returns the SHA-256 of all bytes of the file as they are now, in
// lower-case hexadecimal; of a split file, of its parts one after another, as
// if they were one.
func (f *File) Digest(ctx context.Context) (string, error) {
	const piece = 4 << 20
	sum := sha256.New()
	err := Protect(f.name, func() error {
		for _, p := range f.parts {
			for rest := p.data; len(rest) > 0; {
				if err := ctx.Err(); err != nil {
					kind := fault.Interrupted
					if errors.Is(err, context.DeadlineExceeded) {
						kind = fault.Limit
					}
					return fault.Wrap(err, kind, "digest", f.name)
				}
				n := min(piece, len(rest))
				sum.Write(rest[:n])
				rest = rest[n:]
			}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// Unchanged returns a data error when the file was written to since it was
// opened with that digest. It looks at size and time of change, and computes the
// digest again only when they are not what they were. Bytes that were handed
// over do not change.
func (f *File) Unchanged(ctx context.Context, digest string) error {
	touched := false
	for i := range f.parts {
		touched = f.parts[i].touched() || touched
	}
	if !touched {
		return nil
	}
	now, err := f.Digest(ctx)
	if err != nil {
		return err
	}
	if now != digest {
		return fault.New(fault.Data, "read GGUF", f.name, "the file was changed while in use: its SHA-256 was %.12s…, now it is %.12s…", digest, now).
			Fix("open the model again; do not replace a model file in place")
	}
	for i := range f.parts {
		p := &f.parts[i]
		if stamp, err := p.handle.Stat(); err == nil {
			p.stamp = stamp
		}
	}
	return nil
}

// Protect runs f, which may touch mapped bytes on this goroutine, and turns the
// fault of memory that is no longer there (a mapped file was cut short) into a
// data error. Other panics pass through.
func Protect(name string, f func() error) (err error) {
	old := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(old)
	defer func() {
		if r := recover(); r != nil {
			lost := LostMemory(name, r)
			if lost == nil {
				panic(r)
			}
			err = lost
		}
	}()
	return f()
}

// LostMemory returns the data error for a recovered panic that was a memory
// fault, and nil for any other.
func LostMemory(name string, recovered any) error {
	e, ok := recovered.(runtime.Error)
	if !ok {
		return nil
	}
	if _, ok := e.(interface{ Addr() uintptr }); !ok {
		return nil
	}
	return fault.New(fault.Data, "read GGUF", name, "bytes that were there at open are gone (%v)", e).
		Fix("the file was cut short or its disk failed while in use; do not replace a model file in place")
}
