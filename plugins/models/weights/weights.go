// Package weights reads and rewrites weight files without computing with them:
// what a GGUF file says of itself, and the same weights in another format.
//
// Not here: the forward pass (package transformer), where files are kept
// (core/shelf). Start with [Describe] or [Quantize].
package weights

import (
	"context"
	"slices"

	"lab/core/fault"
	"lab/plugins/models/internal/gguf"
	"lab/plugins/models/transformer"
)

// Description is what a weight file says of itself.
type Description struct {
	Architecture string
	Known        bool // the transformer backend computes this architecture
	Parameters   int64
	Formats      []string // of the tensors, that with most bytes first
	Context      int64    // context length it was trained with; 0: it does not say
}

// Describe reads the headers of a model's files, in the order of its parts.
// Errors: model for a file that cannot be read, data for one that is no GGUF file
// or another part than its place says.
func Describe(ctx context.Context, paths []string) (Description, error) {
	var d Description
	bytes := map[string]int64{}
	for i, path := range paths {
		if ctx.Err() != nil {
			return d, fault.New(fault.Interrupted, "read GGUF", fault.Quote(path, 200), "interrupted")
		}
		if err := d.read(path, i, len(paths), bytes); err != nil {
			return d, err
		}
	}
	for name := range bytes {
		d.Formats = append(d.Formats, name)
	}
	slices.SortFunc(d.Formats, func(a, b string) int {
		switch {
		case bytes[a] > bytes[b]:
			return -1
		case bytes[a] < bytes[b]:
			return 1
		case a < b:
			return -1
		}
		return 1
	})
	return d, nil
}

// read adds what one file says.
func (d *Description) read(path string, i, n int, bytes map[string]int64) error {
	f, err := gguf.OpenPart(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read from
	return gguf.Protect(f.Name(), func() error {
		if err := checkPart(f, i, n); err != nil {
			return err
		}
		for _, t := range f.Tensors {
			d.Parameters += t.Elements()
			bytes[t.Type.String()] += t.Size
		}
		if i > 0 {
			return nil
		}
		name, _, err := f.Text("general.architecture")
		if err != nil {
			return err
		}
		d.Architecture, d.Known = name, slices.Contains(transformer.Architectures(), name)
		if length, found, err := f.Int(name + ".context_length"); found && err == nil {
			d.Context = length
		}
		return nil
	})
}

// checkPart compares what a file says of its place among the parts of a model
// with what it is taken for.
func checkPart(f *gguf.File, i, n int) error {
	count, found, err := f.Int("split.count")
	if err != nil {
		return err
	}
	if !found {
		count = 1
	}
	no, _, err := f.Int("split.no")
	if err != nil {
		return err
	}
	if count != int64(n) || n > 1 && no != int64(i) {
		return fault.New(fault.Data, "read GGUF", f.Name(), "it is part %d of a model of %d files, and was taken for part %d of %d", no+1, count, i+1, n).
			Fix("files of a split model are called NAME-00001-of-0000N.gguf and lie beside each other")
	}
	return nil
}

// Architectures returns the names of the architectures that are computed.
func Architectures() []string { return transformer.Architectures() }
