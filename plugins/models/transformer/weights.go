package transformer

import (
	"fmt"
	"slices"
	"strings"

	"lab/core/fault"
	"lab/plugins/models/internal/gguf"
	"lab/plugins/models/internal/kernel"
)

// tensor is a stored matrix (or, with one row, a vector): the bytes that are
// digested. Rows are widened to float32 when they are needed; a matrix in blocks
// is packed instead when it is first multiplied with (packed.go).
type tensor struct {
	name       string
	format     kernel.Format
	rows, cols int
	data       []byte
	floats     []float32 // data as float32, when it is stored so and aligned
	packed     []byte    // nil until it is needed
}

// bytes is the stored size.
func (t *tensor) bytes() int64 { return int64(len(t.data)) }

// widen returns rows first to first+n in float32, in scratch unless they are
// stored so.
func (t *tensor) widen(k *kernel.Kernels, first, n int, scratch []float32) []float32 {
	if t.floats != nil {
		return t.floats[first*t.cols : (first+n)*t.cols]
	}
	size := t.format.Bytes(t.cols)
	scratch = scratch[:n*t.cols]
	k.Widen(scratch, t.data[first*size:(first+n)*size], t.format)
	return scratch
}

// cut returns n rows of a matrix, or n elements of a vector that is stored
// without blocks, from the given one on.
func (t *tensor) cut(first, n int) *tensor {
	out := *t
	size, width := t.format.Bytes(t.cols), t.cols
	if t.rows == 1 {
		size, width = t.format.Bytes(1), 1
		out.cols = n
	} else {
		out.rows = n
	}
	out.data = t.data[first*size : (first+n)*size]
	if t.floats != nil {
		out.floats = t.floats[first*width : (first+n)*width]
	}
	return &out
}

// need is a tensor that a part wants.
type need struct {
	name string // without the prefix of its block
	dims []int  // columns and, for a matrix, rows
	// tied names a tensor to be used when this one is absent; optional lets it
	// be absent altogether.
	tied     string
	optional bool
	// first and take are the rows (of a vector, the elements) that are wanted of
	// a tensor which holds several one after another; a take of 0 wants all.
	first, take int
	// spare needs are read but not counted as multiplied with every row: the
	// experts beyond as many as a row picks, and vectors stored as a matrix.
	spare  bool
	vector bool // is multiplied with, and may be stored as a matrix of one row
}

// multiplied returns the number of weights that a row is multiplied with.
func (n need) multiplied() int64 {
	if len(n.dims) < 2 && !n.vector || n.spare {
		return 0
	}
	rows := rowsOf(n.dims)
	if n.take > 0 {
		rows = n.take
	}
	return int64(n.dims[0]) * int64(rows)
}

// rowsOf is the number of rows in a tensor of such sizes, one for a vector.
func rowsOf(dims []int) int {
	n := 1
	for _, d := range dims[1:] {
		n *= d
	}
	return n
}

// formats are the storage types that are computed with. Q8_K is none: it is what
// ggml makes of activations, and no weight is stored so.
var formats = map[gguf.Type]kernel.Format{
	gguf.F32: kernel.F32, gguf.F16: kernel.F16, gguf.BF16: kernel.BF16,
	gguf.Q8_0: kernel.Q8_0, gguf.Q4_0: kernel.Q4_0, gguf.Q4_1: kernel.Q4_1,
	gguf.Q5_0: kernel.Q5_0, gguf.Q5_1: kernel.Q5_1, gguf.IQ4_NL: kernel.IQ4_NL,
	gguf.Q2_K: kernel.Q2_K, gguf.Q3_K: kernel.Q3_K, gguf.Q4_K: kernel.Q4_K,
	gguf.Q5_K: kernel.Q5_K, gguf.Q6_K: kernel.Q6_K,
}

// knownFormats lists them for messages.
func knownFormats() string {
	var names []string
	for _, f := range kernel.Formats() {
		names = append(names, f.String())
	}
	return strings.Join(names, ", ")
}

// loader finds tensors and remembers which ones were used.
type loader struct {
	file *gguf.File
	name string
	used map[string]bool
}

// tensor returns what n asks for, or nil when it is absent and may be. what
// needs it is for the message.
func (l *loader) tensor(prefix string, n need, what string) (*tensor, error) {
	name := prefix + n.name
	t, ok := l.file.Tensor(name)
	if !ok && n.tied != "" {
		name = n.tied
		t, ok = l.file.Tensor(name)
	}
	if !ok {
		if n.optional {
			return nil, nil
		}
		return nil, fault.New(fault.Data, "open model", l.name, "tensor %q is missing, which is needed to %s", name, what)
	}
	again := l.used[name]
	l.used[name] = true
	if !slices.Equal(t.Dims, n.dims) && !(n.vector && slices.Equal(t.Dims, append(n.dims, 1))) {
		return nil, fault.New(fault.Data, "open model", l.name, "tensor %q has the shape %v; the metadata asks for %v", name, t.Dims, n.dims)
	}
	format, ok := formats[t.Type]
	if !ok {
		return nil, fault.New(fault.Model, "open model", l.name, "tensor %q is stored as %v", name, t.Type).
			Fix("known: %s; convert the file to one of them", knownFormats())
	}
	out := &tensor{name: name, format: format, cols: t.Dims[0], rows: rowsOf(t.Dims), data: l.file.Data(t)}
	if format == kernel.F32 {
		out.floats, _ = kernel.View(out.data)
	}
	if !again {
		if err := l.scales(out); err != nil {
			return nil, err
		}
	}
	if n.take == 0 {
		return out, nil
	}
	if len(n.dims) == 1 && format.Block() > 1 {
		return nil, fault.New(fault.Model, "open model", l.name, "tensor %q is a vector in blocks (%v), of which parts are wanted", name, t.Type).
			Fix("store it as F32")
	}
	return out.cut(n.first, n.take), nil
}

// scales refuses a block whose scale is NaN or infinite: no program that writes
// quantised files lets one pass, so the file is damaged. Numbers without a scale
// show in the scores (engine.compute).
func (l *loader) scales(t *tensor) error {
	block := kernel.BadScale(t.data, t.format)
	if block < 0 {
		return nil
	}
	perRow := t.cols / t.format.Block()
	return fault.New(fault.Data, "open model", l.name, "block %d in row %d of tensor %q has a scale that is NaN or infinite",
		block%perRow, block/perRow, t.name).Fix("the file is damaged; fetch it again")
}

// finish refuses tensors that no part has asked for: a model that carries, say,
// biases is not the model that is computed without them.
func (l *loader) finish(architecture string) error {
	for _, t := range l.file.Tensors {
		if !l.used[t.Name] {
			return fault.New(fault.Model, "open model", l.name, "tensor %q has no place in the architecture %q", t.Name, architecture).
				Fix("the file needs an architecture that is not known here")
		}
	}
	return nil
}

// step is a part with its tensors.
type step struct {
	part    part
	tensors []*tensor
}

// weights are the tensors of a model, part by part in the order of the
// architecture's tables.
type weights struct {
	ropeFactors *tensor // nil when absent

	embed []*tensor
	block [][]step // by layer
	head  []step

	bodyMultiplied, headMultiplied int64 // weights a token is multiplied with
	bodyBytes, headBytes           int64 // stored bytes read for a pass
	embedRowBytes                  int64
}

// load finds and checks all tensors.
func (a *architecture) load(file *gguf.File, name string, h *hyper) (*weights, error) {
	l := &loader{file: file, name: name, used: map[string]bool{}}
	w := &weights{}
	var err error
	if w.ropeFactors, err = l.factors(a.ropeFactors, h); err != nil {
		return nil, err
	}
	embed, err := l.steps("", []part{a.embed}, h, new(int64), new(int64))
	if err != nil {
		return nil, err
	}
	w.embed = embed[0].tensors
	w.embedRowBytes = w.embed[0].bytes() / int64(h.vocab)
	for layer := range h.layers {
		steps, err := l.steps(fmt.Sprintf("blk.%d.", layer), a.block, h, &w.bodyMultiplied, &w.bodyBytes)
		if err != nil {
			return nil, err
		}
		w.block = append(w.block, steps)
	}
	if w.head, err = l.steps("", a.head, h, &w.headMultiplied, &w.headBytes); err != nil {
		return nil, err
	}
	return w, l.finish(a.name)
}

// factors finds the divisors of the rotary frequencies, nil where the file has
// none.
func (l *loader) factors(names []string, h *hyper) (*tensor, error) {
	var found []*tensor
	for i, name := range names {
		// Where there is one of two, there must be the other.
		t, err := l.tensor("", need{name: name, dims: []int{h.rope.size / 2}, optional: i == 0 || found[0] == nil}, "rotate")
		if err != nil {
			return nil, err
		}
		found = append(found, t)
	}
	switch {
	case len(found) == 0 || found[0] == nil:
		if h.rope.factors {
			return nil, fault.New(fault.Data, "open model", l.name, "the rotary scaling is longrope, but there are no factors for it")
		}
		return nil, nil
	case len(found) == 2 && h.context > h.rope.origin:
		return found[1], nil
	}
	return found[0], nil
}

// steps finds the tensors of parts, all of whose names begin with prefix, and adds
// the weights that a token is multiplied with and the stored bytes to the counts.
func (l *loader) steps(prefix string, parts []part, h *hyper, multiplied, bytes *int64) ([]step, error) {
	stored := func(tensor string) bool { _, ok := l.file.Tensor(prefix + tensor); return ok }
	var out []step
	for _, p := range parts {
		if p.pick != nil {
			p = p.pick(h, stored)
		}
		s := step{part: p}
		for _, n := range p.needs(h) {
			t, err := l.tensor(prefix, n, p.name)
			if err != nil {
				return nil, err
			}
			s.tensors = append(s.tensors, t)
			if t != nil {
				*multiplied += n.multiplied()
				*bytes += t.bytes()
			}
		}
		out = append(out, s)
	}
	return out, nil
}
