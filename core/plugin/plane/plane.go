// Package plane is memory shared between the host and its plugins, in which
// rows of scores are written and reshaped in place, so that only the number of
// a slot crosses the process border.
//
// A [Plane] is one mapped file of equal slots; a [Table] holds the planes of a
// process and tells by address whether a row lies in one, so that callers deal
// in slices only. The file is allocated in full before it is mapped: touching
// it later never fails for want of space. There is no locking here. The side
// that made a call leaves the slots named in it alone until the call has ended.
//
// Not here: who owns which slot (package host), how slot numbers travel
// (package wire). Start with [Create] on the host and [Open] in a plugin.
package plane

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"unsafe"

	"lab/core/fault"
)

// Bounds of a plane's shape; what a peer announces is checked against them
// before anything is computed from it.
const (
	MaxVocab = 1 << 24
	MaxSlots = 1 << 20
)

// entry is the room of one token in a slot: a score and an id.
const entry = 8

// Plane is one mapped file. Its slots may be used by different goroutines at
// the same time; Close must not race with any use of them.
type Plane struct {
	id           uint32
	path         string
	vocab, slots int
	mem          []byte
}

// ID returns the number the host gave the plane.
func (p *Plane) ID() uint32 { return p.id }

// Path returns the absolute path of the file.
func (p *Plane) Path() string { return p.path }

// Vocab returns the number of tokens a slot has room for.
func (p *Plane) Vocab() int { return p.vocab }

// Slots returns the number of slots.
func (p *Plane) Slots() int { return p.slots }

// Create makes the file of a plane in dir, readable by its owner only, and maps
// it. A usage error refuses a shape out of bounds; a limit error says how much
// space was wanted when there is not enough.
func Create(dir string, id uint32, vocab, slots int) (*Plane, error) {
	size, err := sizeOf("create plane", vocab, slots)
	if err != nil {
		return nil, err
	}
	path, err := filepath.Abs(filepath.Join(dir, "plane-"+strconv.FormatUint(uint64(id), 10)))
	if err != nil {
		return nil, fault.Wrap(err, fault.Limit, "create plane", dir)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fault.Wrap(err, fault.Limit, "create plane", "")
	}
	defer f.Close()
	mem, err := allocateAndMap(f, size)
	if err != nil {
		_ = os.Remove(path)
		e := fault.Wrap(err, fault.Limit, "create plane", path)
		return nil, e.Fix("free %d MiB there, or do without shared memory", (size+1<<20-1)>>20)
	}
	return &Plane{id: id, path: path, vocab: vocab, slots: slots, mem: mem}, nil
}

// Open maps a plane that the host created. The file must have exactly the size
// that its shape implies.
func Open(path string, id uint32, vocab, slots int) (*Plane, error) {
	size, err := sizeOf("attach plane", vocab, slots)
	if err != nil {
		return nil, err
	}
	f, err := openNoFollow(path)
	if err != nil {
		return nil, fault.Wrap(err, fault.Plugin, "attach plane", "")
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fault.Wrap(err, fault.Plugin, "attach plane", path)
	}
	if !info.Mode().IsRegular() || info.Size() != size {
		return nil, fault.New(fault.Plugin, "attach plane", path, "it has %d bytes, not the %d of %d slots for %d tokens",
			info.Size(), size, slots, vocab)
	}
	mem, err := mapShared(f, size)
	if err != nil {
		return nil, fault.Wrap(err, fault.Plugin, "attach plane", path)
	}
	return &Plane{id: id, path: path, vocab: vocab, slots: slots, mem: mem}, nil
}

func sizeOf(op string, vocab, slots int) (int64, error) {
	if vocab < 1 || vocab > MaxVocab || slots < 1 || slots > MaxSlots {
		return 0, fault.New(fault.Usage, op, "", "%d slots for %d tokens is outside 1 to %d slots for 1 to %d tokens",
			slots, vocab, MaxSlots, MaxVocab)
	}
	size := int64(vocab) * int64(slots) * entry
	if size > math.MaxInt/2 {
		return 0, fault.New(fault.Limit, op, "", "%d bytes do not fit the address space", size)
	}
	return size, nil
}

// Values returns the scores of a slot, of length and capacity Vocab. The slot
// must be below Slots.
func (p *Plane) Values(slot int) []float32 {
	start := slot * p.vocab * entry
	b := p.mem[start : start+4*p.vocab]
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), p.vocab)
}

// IDs returns the token ids of a slot, of length and capacity Vocab. The slot
// must be below Slots.
func (p *Plane) IDs(slot int) []int32 {
	start := slot*p.vocab*entry + 4*p.vocab
	b := p.mem[start : start+4*p.vocab]
	return unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(b))), p.vocab)
}

// find returns the slot whose scores begin exactly at addr.
func (p *Plane) find(addr uintptr) (slot int, ok bool) {
	base := uintptr(unsafe.Pointer(unsafe.SliceData(p.mem)))
	if addr < base || addr-base >= uintptr(len(p.mem)) {
		return 0, false
	}
	stride := uintptr(p.vocab) * entry
	if (addr-base)%stride != 0 {
		return 0, false
	}
	return int((addr - base) / stride), true
}

// Close unmaps the plane. Rows in it must no longer be used: touching one ends
// the process.
func (p *Plane) Close() error {
	mem := p.mem
	p.mem = nil
	if mem == nil {
		return nil
	}
	return unmap(mem)
}

// Remove deletes the file; the mapping stays until Close.
func (p *Plane) Remove() error { return os.Remove(p.path) }
