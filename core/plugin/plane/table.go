package plane

import (
	"sync"
	"unsafe"

	"lab/core/dist"
	"lab/core/fault"
)

// Slot names a slot across the process border.
type Slot struct{ Plane, Index uint32 }

// Table holds the planes of a process by their number. The zero value is empty
// and ready. It is safe for concurrent use.
type Table struct {
	mu     sync.RWMutex
	planes []*Plane
}

// Add adds a plane and reports whether its number was free; when it was not,
// nothing changes.
func (t *Table) Add(p *Plane) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, other := range t.planes {
		if other.id == p.id {
			return false
		}
	}
	t.planes = append(t.planes, p)
	return true
}

// Get returns the plane with the number id.
func (t *Table) Get(id uint32) (*Plane, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, p := range t.planes {
		if p.id == id {
			return p, true
		}
	}
	return nil, false
}

// Find returns the slot in which values begin, and whether they begin in one.
func (t *Table) Find(values []float32) (Slot, bool) {
	if cap(values) == 0 {
		return Slot{}, false
	}
	addr := uintptr(unsafe.Pointer(unsafe.SliceData(values)))
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, p := range t.planes {
		if i, ok := p.find(addr); ok {
			return Slot{Plane: p.id, Index: uint32(i)}, true
		}
	}
	return Slot{}, false
}

// Row returns all memory of a slot. The error, a data error, names a slot that
// does not exist.
func (t *Table) Row(s Slot) (values []float32, ids []int32, err error) {
	p, ok := t.Get(s.Plane)
	if !ok {
		return nil, nil, fault.New(fault.Data, "row", "", "there is no plane %d", s.Plane)
	}
	if uint64(s.Index) >= uint64(p.slots) {
		return nil, nil, fault.New(fault.Data, "row", "", "slot %d is outside plane %d of %d slots", s.Index, s.Plane, p.slots)
	}
	return p.Values(int(s.Index)), p.IDs(int(s.Index)), nil
}

// View returns the row of count tokens that a slot holds, over the slot's own
// memory. A data error names a slot or a count out of bounds; the scores
// themselves are not looked at.
func (t *Table) View(s Slot, vocab, count int, sparse bool, unlisted float64) (dist.Scores, error) {
	values, ids, err := t.Row(s)
	if err != nil {
		return dist.Scores{}, err
	}
	if vocab != len(values) {
		return dist.Scores{}, fault.New(fault.Data, "row", "", "it is of %d tokens, its plane of %d", vocab, len(values))
	}
	if count < 0 || count > vocab || !sparse && count != vocab {
		return dist.Scores{}, fault.New(fault.Data, "row", "", "%d scores do not fit a row of %d tokens (sparse: %t)", count, vocab, sparse)
	}
	row := dist.Scores{Vocab: vocab, Values: values[:count], Unlisted: unlisted}
	if sparse {
		row.IDs = ids[:count]
	}
	return row, nil
}

// Settle returns the slot of a row whose scores begin in one, after moving its
// ids, should they lie elsewhere, to their place in the slot. It reports false,
// and changes nothing, for a row that must travel inline: elsewhere in memory,
// of another vocabulary than its plane, or malformed.
func (t *Table) Settle(row *dist.Scores) (Slot, bool) {
	s, ok := t.Find(row.Values)
	if !ok {
		return Slot{}, false
	}
	values, ids, err := t.Row(s)
	n := len(row.Values)
	if err != nil || row.Vocab != len(values) || row.Dense() && n != row.Vocab || n > row.Vocab {
		return Slot{}, false
	}
	if row.Dense() {
		return s, true
	}
	if len(row.IDs) != n {
		return Slot{}, false
	}
	if n > 0 && unsafe.SliceData(row.IDs) != unsafe.SliceData(ids) {
		copy(ids, row.IDs)
	}
	row.IDs = ids[:n]
	return s, true
}

// All returns the planes in the order in which they were added.
func (t *Table) All() []*Plane {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return append([]*Plane(nil), t.planes...)
}

// Close unmaps every plane and empties the table.
func (t *Table) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var first error
	for _, p := range t.planes {
		if err := p.Close(); err != nil && first == nil {
			first = err
		}
	}
	t.planes = nil
	return first
}
