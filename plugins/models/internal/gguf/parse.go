package gguf

import (
	"fmt"
	"math"
	"sort"
	"unicode/utf8"

	"lab/core/fault"
)

const (
	magic = "GGUF"

	minPairBytes   = 8 + 4 + 1         // key length, type, value
	minTensorBytes = 8 + 4 + 8 + 4 + 8 // name length, dimension count, one of them, type, offset

	maxKeyBytes  = 65535 // of the specification
	maxNameBytes = 64    // of the specification
	maxDims      = 4     // of the specification
)

func atByte(at int) string { return fmt.Sprintf("at byte %d: ", at) }

// parse reads header, metadata and tensor table, and checks that the tensors
// lie inside the file, aligned and apart.
func parse(name string, data []byte) (*File, error) {
	c := &cursor{name: name, data: data}
	f := &File{name: name, parts: []part{{data: data}}, values: map[string]Value{}, tensors: map[string]int{}}
	tensorCount, pairCount, err := c.header(f)
	if err != nil {
		return nil, err
	}
	for i := range pairCount {
		if err := c.pair(f, i); err != nil {
			return nil, err
		}
	}
	alignment, err := c.alignment(f)
	if err != nil {
		return nil, err
	}
	// The table may have grown too small for the tensors since the header.
	if tensorCount > c.left()/minTensorBytes {
		return nil, c.wrong(c.at, "%d tensor descriptions do not fit the %d bytes left", tensorCount, c.left())
	}
	f.Tensors = make([]Tensor, 0, tensorCount)
	for i := range tensorCount {
		t, err := c.tensor(i, alignment)
		if err != nil {
			return nil, err
		}
		if _, twice := f.tensors[t.Name]; twice {
			return nil, c.wrong(c.at, "tensor %q is described twice", t.Name)
		}
		f.tensors[t.Name] = i
		f.Tensors = append(f.Tensors, t)
	}
	if err := c.place(f, alignment); err != nil {
		return nil, err
	}
	return f, nil
}

// header reads magic, version and the two counts.
func (c *cursor) header(f *File) (tensors, pairs int, err error) {
	got, err := c.take(4, "the magic number")
	if err != nil {
		return 0, 0, err
	}
	if string(got) != magic {
		return 0, 0, c.wrong(0, "it starts with %s, a GGUF file with %q", fault.Quote(string(got), 16), magic).
			Fix("give a .gguf file")
	}
	if f.Version, err = c.uint32("the version"); err != nil {
		return 0, 0, err
	}
	switch {
	case f.Version == 1:
		return 0, 0, c.wrong(4, "version 1 is not read").Fix("convert the file to version 3 with a current tool")
	case f.Version&0xffff == 0 && f.Version != 0:
		return 0, 0, c.wrong(4, "the version is %#08x: the file is big-endian", f.Version).Fix("convert it to little-endian")
	case f.Version != 2 && f.Version != 3:
		return 0, 0, c.wrong(4, "version %d is not known; 2 and 3 are", f.Version)
	}
	if tensors, err = c.count("tensors", minTensorBytes); err != nil {
		return 0, 0, err
	}
	pairs, err = c.count("metadata pairs", minPairBytes)
	return tensors, pairs, err
}

// pair reads one key and its value.
func (c *cursor) pair(f *File, i int) error {
	at := c.at
	raw, err := c.text(fmt.Sprintf("metadata key %d", i))
	if err != nil {
		return err
	}
	if len(raw) == 0 || len(raw) > maxKeyBytes || !utf8.Valid(raw) {
		return c.wrong(at, "metadata key %d is empty, longer than %d bytes or not UTF-8", i, maxKeyBytes)
	}
	key := string(raw)
	if _, twice := f.values[key]; twice {
		return c.wrong(at, "metadata %s is given twice", fault.Quote(key, 80))
	}
	what := "metadata " + fault.Quote(key, 80)
	number, err := c.uint32("the type of " + what)
	if err != nil {
		return err
	}
	v, err := c.value(ValueType(number), what, 0)
	if err != nil {
		return err
	}
	f.keys = append(f.keys, key)
	f.values[key] = v
	return nil
}

// alignment returns general.alignment, 32 when absent.
func (c *cursor) alignment(f *File) (int, error) {
	n, found, err := f.Int("general.alignment")
	if err != nil || !found {
		return 32, err
	}
	if n < 8 || n > 1<<20 || n&(n-1) != 0 {
		return 0, c.wrong(c.at, "general.alignment is %d; it must be a power of two from 8 to %d", n, 1<<20)
	}
	return int(n), nil
}

// tensor reads one description; its offset is still relative to the data.
func (c *cursor) tensor(i, alignment int) (Tensor, error) {
	at := c.at
	raw, err := c.text(fmt.Sprintf("the name of tensor %d", i))
	if err != nil {
		return Tensor{}, err
	}
	if len(raw) == 0 || len(raw) > maxNameBytes || !utf8.Valid(raw) {
		return Tensor{}, c.wrong(at, "the name of tensor %d is empty, longer than %d bytes or not UTF-8", i, maxNameBytes)
	}
	t := Tensor{Name: string(raw)}
	what := fmt.Sprintf("tensor %q", t.Name)
	dims, err := c.uint32("the number of dimensions of " + what)
	if err != nil {
		return Tensor{}, err
	}
	if dims < 1 || dims > maxDims {
		return Tensor{}, c.wrong(at, "%s has %d dimensions; 1 to %d are possible", what, dims, maxDims)
	}
	elements := uint64(1)
	for d := range int(dims) {
		size, err := c.uint64(fmt.Sprintf("dimension %d of %s", d, what))
		if err != nil {
			return Tensor{}, err
		}
		if size == 0 || size > math.MaxInt32 || elements > math.MaxInt64/size {
			return Tensor{}, c.wrong(at, "dimension %d of %s is %d: none may be 0 or above %d, nor their product above 2^63",
				d, what, size, math.MaxInt32)
		}
		elements *= size
		t.Dims = append(t.Dims, int(size))
	}
	number, err := c.uint32("the type of " + what)
	if err != nil {
		return Tensor{}, err
	}
	t.Type = Type(number)
	l, known := layouts[t.Type]
	if !known {
		return Tensor{}, c.wrong(at, "%s has the unknown storage type %d", what, number)
	}
	if t.Dims[0]%l.values != 0 {
		return Tensor{}, c.wrong(at, "%s has rows of %d values; %v stores blocks of %d", what, t.Dims[0], t.Type, l.values)
	}
	// elements/values*size cannot overflow unless the tensor exceeds the file.
	if elements/uint64(l.values) > uint64(len(c.data))/uint64(l.size) {
		return Tensor{}, c.wrong(at, "%s of %d values is larger than the file of %d bytes", what, elements, len(c.data)).
			Fix("the file is truncated; fetch it again")
	}
	t.Size = int64(elements/uint64(l.values)) * int64(l.size)
	offset, err := c.uint64("the offset of " + what)
	if err != nil {
		return Tensor{}, err
	}
	if offset > uint64(len(c.data)) || offset%uint64(alignment) != 0 {
		return Tensor{}, c.wrong(at, "%s lies at offset %d, which is no multiple of %d or beyond the file's %d bytes", what,
			offset, alignment, len(c.data))
	}
	t.Offset = int64(offset)
	return t, nil
}

// place turns the offsets into positions in the file and checks that every
// tensor ends inside it and before the next one starts.
func (c *cursor) place(f *File, alignment int) error {
	start := int64(c.at+alignment-1) / int64(alignment) * int64(alignment)
	order := make([]int, len(f.Tensors))
	for i := range f.Tensors {
		t := &f.Tensors[i]
		t.Offset += start
		order[i] = i
		if t.Offset+t.Size > int64(len(c.data)) {
			return c.wrong(len(c.data), "tensor %q occupies bytes %d to %d, the file ends before", t.Name, t.Offset, t.Offset+t.Size).
				Fix("the file is truncated; fetch it again")
		}
	}
	sort.Slice(order, func(i, j int) bool { return f.Tensors[order[i]].Offset < f.Tensors[order[j]].Offset })
	for i := 1; i < len(order); i++ {
		a, b := f.Tensors[order[i-1]], f.Tensors[order[i]]
		if a.Offset+a.Size > b.Offset {
			return c.wrong(int(b.Offset), "tensors %q and %q overlap", a.Name, b.Name)
		}
	}
	return nil
}
