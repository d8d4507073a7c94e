package weights

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"

	"lab/core/fault"
	"lab/plugins/models/internal/gguf"
	"lab/plugins/models/internal/kernel"
)

// QuantizeOptions say how a file is rewritten. The zero value takes all
// processors and refuses to replace a file.
type QuantizeOptions struct {
	Threads  int // 0: one per processor
	Replace  bool
	Progress func(done, total int64) // bytes read; called from one goroutine at a time
}

// Rewritten is what became of one tensor.
type Rewritten struct {
	Name     string
	Dims     []int
	From, To string
	Before   int64  // bytes
	After    int64  // bytes
	Why      string // why it is not in the target's format; empty: it is
}

// Quantize writes the weights of a file of F32, F16 and BF16 tensors to another
// file in the formats of a target. Metadata is copied but for general.file_type
// and general.quantization_version. The output appears at once, when all of it is
// there; an error or the end of ctx leaves nothing. The input is mapped and read
// once; besides, a few megabytes a thread are used. The bytes do not depend on the
// number of threads.
//
// Errors: usage for an output that exists or is the input, and for an input that
// is quantised already; data for a malformed one or weights that are not finite
// or too large for the format; limit when the disk is full; interrupted.
func Quantize(ctx context.Context, in, out string, target Target, opt QuantizeOptions) ([]Rewritten, error) {
	f, err := gguf.Open(in) // of a split model with all its parts
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read from
	if err := checkOutput(in, out, opt.Replace); err != nil {
		return nil, err
	}
	w := &work{in: f, subject: f.Name(), threads: opt.Threads, progress: opt.Progress}
	var report []Rewritten
	err = gguf.Protect(f.Name(), func() error {
		report, err = w.plan(target)
		return err
	})
	if err != nil {
		return nil, err
	}
	return report, w.write(ctx, out)
}

func checkOutput(in, out string, replace bool) error {
	info, err := os.Stat(out)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fault.Wrap(err, fault.Usage, "quantize", fault.Quote(out, 200))
	}
	if source, err := os.Stat(in); err == nil && os.SameFile(info, source) {
		return fault.New(fault.Usage, "quantize", fault.Quote(out, 200), "the output is the input").Fix("give another path")
	}
	if !info.Mode().IsRegular() {
		return fault.New(fault.Usage, "quantize", fault.Quote(out, 200), "there is something that is no file")
	}
	if !replace {
		return fault.New(fault.Usage, "quantize", fault.Quote(out, 200), "there is such a file already").Fix("replace it with --force, or give another path")
	}
	return nil
}

// work is one rewriting.
type work struct {
	in       *gguf.File
	subject  string
	head     []byte
	to       []gguf.Tensor // in the order of in.Tensors, with offsets in the output
	total    int64         // length of the output
	threads  int
	progress func(done, total int64)
}

// plan chooses the formats and lays out the output.
func (w *work) plan(target Target) ([]Rewritten, error) {
	if err := w.checkInput(); err != nil {
		return nil, err
	}
	choices := choose(w.in, target)
	report := make([]Rewritten, len(choices))
	tensors := make([]gguf.Tensor, len(choices))
	for i, c := range choices {
		t := w.in.Tensors[i]
		report[i] = Rewritten{Name: t.Name, Dims: t.Dims, From: t.Type.String(), To: c.to.String(), Before: t.Size, After: t.Size, Why: c.why}
		if c.to != t.Type {
			size, _ := gguf.SizeOf(c.to, t.Elements())
			report[i].After = size
			t.Type, t.Size = c.to, size
		}
		tensors[i] = t
	}
	const quantizationVersion = 2 // of ggml's formats since 2023
	change := []gguf.Pair{{Key: "general.quantization_version", Value: uint32(quantizationVersion)}, {Key: "general.file_type", Value: target.number}}
	drop := func(key string) bool {
		return key == "split.no" || key == "split.count" || key == "split.tensors.count"
	}
	var err error
	w.head, w.to, w.total, err = w.in.Rewritten(change, drop, tensors)
	return report, err
}

// checkInput refuses a part of a model, and weights that were quantised before.
func (w *work) checkInput() error {
	all, split, err := w.in.Int("split.tensors.count")
	if err != nil {
		return err
	}
	if split && all != int64(len(w.in.Tensors)) {
		return fault.New(fault.Usage, "quantize", w.subject, "it is a part of a split model, with %d of its %d tensors", len(w.in.Tensors), all).
			Fix("give the model in one file")
	}
	for _, t := range w.in.Tensors {
		if _, known := format(t.Type); known && !wholes(t.Type) {
			return fault.New(fault.Usage, "quantize", w.subject, "tensor %q is in %v: what that lost cannot be won back, and would be lost again", t.Name, t.Type).
				Fix("quantise from a file in f32, f16 or bf16")
		}
		if keeps(t) == "" && !wholes(t.Type) {
			return fault.New(fault.Usage, "quantize", w.subject, "tensor %q is in %v, which is not read here", t.Name, t.Type).
				Fix("quantise from a file in f32, f16 or bf16")
		}
	}
	return nil
}

// format returns the kernel's format of a storage type.
func format(t gguf.Type) (kernel.Format, bool) {
	for _, f := range kernel.Formats() {
		if f.String() == t.String() {
			return f, true
		}
	}
	return 0, false
}

// write writes the output beside its place and moves it there.
func (w *work) write(ctx context.Context, out string) error {
	file, err := os.CreateTemp(filepath.Dir(out), ".lab-quantize-")
	if err != nil {
		var pathErr *fs.PathError
		if errors.As(err, &pathErr) {
			err = pathErr.Err
		}
		return fault.New(fault.Usage, "quantize", fault.Quote(out, 200), "it cannot be written (%v)", err).Fix("check the folder and its permissions")
	}
	defer func() {
		_ = file.Close()
		_ = os.Remove(file.Name()) // gone already when all went well
	}()
	err = w.fill(ctx, file)
	if err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = file.Close()
	}
	if err == nil {
		err = os.Rename(file.Name(), out)
	}
	return written(ctx, err, out)
}

func written(ctx context.Context, err error, out string) error {
	subject := fault.Quote(out, 200)
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fault.New(fault.Limit, "quantize", subject, "the time is up; nothing was written")
	case ctx.Err() != nil:
		return fault.New(fault.Interrupted, "quantize", subject, "interrupted; nothing was written")
	case errors.Is(err, syscall.ENOSPC):
		return fault.New(fault.Limit, "quantize", subject, "the disk is full").Fix("make room, or write to another one")
	}
	return fault.Wrap(err, fault.Data, "quantize", subject)
}

// fill writes the header and all tensors, pieces of them side by side.
func (w *work) fill(ctx context.Context, file *os.File) error {
	if err := file.Truncate(w.total); err != nil {
		return err
	}
	if _, err := file.WriteAt(w.head, 0); err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	threads := w.threads
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	pieces := make(chan piece)
	var wg sync.WaitGroup
	var mu sync.Mutex
	done, total := int64(0), int64(0)
	for _, t := range w.in.Tensors {
		total += t.Size
	}
	for range threads {
		wg.Go(func() {
			s := scratch{kernels: kernel.Best()}
			for p := range pieces {
				if ctx.Err() != nil {
					continue
				}
				if err := gguf.Protect(w.subject, func() error { return w.convert(p, &s, file) }); err != nil {
					stop(err)
					continue
				}
				mu.Lock()
				if done += p.size; w.progress != nil {
					w.progress(done, total)
				}
				mu.Unlock()
			}
		})
	}
	for i := range w.in.Tensors {
		if ctx.Err() != nil {
			break
		}
		w.pieces(i, func(p piece) { pieces <- p })
	}
	close(pieces)
	wg.Wait()
	return context.Cause(ctx)
}

// pieceValues is how many values are converted at a time: a multiple of every
// block.
const pieceValues = 1 << 18

// piece is a run of values of one tensor.
type piece struct {
	tensor      int
	first, size int64 // bytes in the tensor as it was
	to          int64 // offset in the output
}

// pieces calls emit for the pieces of tensor i.
func (w *work) pieces(i int, emit func(piece)) {
	t, to := w.in.Tensors[i], w.to[i]
	if t.Type == to.Type {
		const most = 1 << 20
		for at := int64(0); at < t.Size; at += most {
			emit(piece{i, at, min(most, t.Size-at), to.Offset + at})
		}
		return
	}
	from, _ := gguf.SizeOf(t.Type, pieceValues)
	into, _ := gguf.SizeOf(to.Type, pieceValues)
	for n := int64(0); n*from < t.Size; n++ {
		emit(piece{i, n * from, min(from, t.Size-n*from), to.Offset + n*into})
	}
}

// scratch is what one worker needs again and again.
type scratch struct {
	kernels *kernel.Kernels
	values  []float32
	stored  []byte
}

// convert writes one piece.
func (w *work) convert(p piece, s *scratch, file *os.File) error {
	t, to := w.in.Tensors[p.tensor], w.to[p.tensor]
	data := w.in.Data(t)[p.first : p.first+p.size]
	if t.Type == to.Type {
		if len(s.stored) < len(data) {
			s.stored = make([]byte, 1<<20)
		}
		n := copy(s.stored, data) // reading here is guarded against a file that is cut short
		_, err := file.WriteAt(s.stored[:n], p.to)
		return err
	}
	from, _ := format(t.Type)
	into, _ := format(to.Type)
	n := len(data) / from.Bytes(1)
	if s.values == nil || len(s.stored) < into.Bytes(pieceValues) {
		s.values, s.stored = make([]float32, pieceValues), make([]byte, max(1<<20, into.Bytes(pieceValues)))
	}
	values, stored := s.values[:n], s.stored[:into.Bytes(n)]
	s.kernels.Widen(values, data, from)
	if err := w.check(t, to.Type, p.first/int64(from.Bytes(1)), values); err != nil {
		return err
	}
	kernel.Narrow(stored, values, into)
	if bad := kernel.BadScale(stored, into); bad >= 0 {
		return w.tooLarge(t, to.Type, p.first/int64(from.Bytes(1))+int64(bad*into.Block()))
	}
	_, err := file.WriteAt(stored, p.to)
	return err
}

// check refuses values that a format cannot hold; first is the number of values[0]
// in the tensor.
func (w *work) check(t gguf.Tensor, to gguf.Type, first int64, values []float32) error {
	const mostHalf = 65520 // from here on half precision rounds to infinity
	most := float32(kernel.MostNarrow)
	switch to {
	case gguf.F32:
		most = float32(math.Inf(1))
	case gguf.BF16:
		most = 3.396e38 // about half way from its largest to what would be the next
	case gguf.F16:
		most = mostHalf
	}
	for i, v := range values {
		if v-v != 0 {
			return fault.New(fault.Data, "quantize", w.subject, "tensor %q has %v as value %d", t.Name, v, first+int64(i)).
				Fix("the file is damaged, or the training that made it diverged")
		}
		if v >= most || v <= -most {
			return w.tooLarge(t, to, first+int64(i))
		}
	}
	return nil
}

func (w *work) tooLarge(t gguf.Tensor, to gguf.Type, at int64) error {
	return fault.New(fault.Data, "quantize", w.subject, "tensor %q has a value too large for %v near value %d", t.Name, to, at).
		Fix("use bf16, which has the range of f32")
}
