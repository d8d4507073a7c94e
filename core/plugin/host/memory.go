package host

import (
	"log/slog"
	"os"
	"sync"

	"lab/core/dist"
	"lab/core/plugin/internal/private"
	"lab/core/plugin/plane"
)

const (
	fewestSlots  = 16      // slots made at least, as long as they are small
	smallPlane   = 8 << 20 // bytes up to which a plane is filled up to fewestSlots
	shmFolder    = "/dev/shm"
	bytesPerSlot = 8 // per token
)

// memory hands out rows on planes. Freed slots are used again for rows of the
// same vocabulary. Safe for concurrent use.
type memory struct {
	parents []string // where folders are tried, in order
	warn    func(format string, args ...any)
	keep    func(path string) // has a folder removed should this process be killed
	log     *slog.Logger
	off     bool

	table plane.Table

	mu      sync.Mutex
	folders map[string]*private.Folder // by parent
	free    map[int][]plane.Slot
	used    map[plane.Slot]bool
	last    uint32
}

func newMemory(opt Options, warn func(string, ...any), log *slog.Logger) *memory {
	m := &memory{warn: warn, log: log, off: opt.Inline,
		folders: map[string]*private.Folder{}, free: map[int][]plane.Slot{}, used: map[plane.Slot]bool{}}
	m.parents = []string{shmFolder, os.TempDir()}
	if opt.PlaneDir != "" {
		m.parents = []string{opt.PlaneDir}
	}
	return m
}

// rows returns n dense rows of vocab scores: on planes where possible, else on
// the heap, with a warning that says why.
func (m *memory) rows(vocab, n int) []dist.Scores {
	out := make([]dist.Scores, n)
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range out {
		slot, ok := m.take(vocab, n-i)
		if !ok {
			out[i] = dist.NewDense(make([]float32, vocab))
			continue
		}
		row, err := m.table.View(slot, vocab, vocab, false, 0)
		if err != nil {
			out[i] = dist.NewDense(make([]float32, vocab))
			continue
		}
		m.used[slot] = true
		out[i] = row
	}
	return out
}

// take returns a free slot, making a plane for wanted more when there is none.
func (m *memory) take(vocab, wanted int) (plane.Slot, bool) {
	if m.off {
		return plane.Slot{}, false
	}
	if len(m.free[vocab]) == 0 && !m.grow(vocab, wanted) {
		return plane.Slot{}, false
	}
	list := m.free[vocab]
	slot := list[len(list)-1]
	m.free[vocab] = list[:len(list)-1]
	return slot, true
}

// grow makes a plane. When no folder has room for it, shared memory stays off:
// asking again for every row would only fail again.
func (m *memory) grow(vocab, wanted int) bool {
	slots := max(wanted, min(fewestSlots, smallPlane/(vocab*bytesPerSlot)))
	var failure error
	for _, parent := range m.parents {
		folder, err := m.folder(parent)
		if err == nil {
			var p *plane.Plane
			if p, err = plane.Create(folder.Path(), m.last+1, vocab, slots); err == nil {
				m.last++
				m.table.Add(p)
				for i := slots - 1; i >= 0; i-- { // so that the first slot is taken first
					m.free[vocab] = append(m.free[vocab], plane.Slot{Plane: p.ID(), Index: uint32(i)})
				}
				return true
			}
		}
		m.log.Debug("no shared memory here", "folder", parent, "error", err)
		failure = err
	}
	m.off = true
	m.warn("rows travel as bytes, which is slower: %v", failure)
	return false
}

func (m *memory) folder(parent string) (*private.Folder, error) {
	if f, ok := m.folders[parent]; ok {
		return f, nil
	}
	f, err := private.Make(parent, folderPrefix)
	if err != nil {
		return nil, err
	}
	m.keep(f.Path())
	m.folders[parent] = f
	return f, nil
}

// release takes rows back. Rows that are not on a plane, or were released
// before, are left alone.
func (m *memory) release(rows []dist.Scores) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range rows {
		slot, ok := m.table.Find(rows[i].Values)
		if !ok || !m.used[slot] {
			continue
		}
		delete(m.used, slot)
		m.free[rows[i].Vocab] = append(m.free[rows[i].Vocab], slot)
	}
}

// close removes the files and unmaps the planes.
func (m *memory) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.off = true
	for _, p := range m.table.All() {
		if err := p.Remove(); err != nil && !os.IsNotExist(err) {
			m.log.Warn("shared memory was not removed", "error", err)
		}
	}
	if err := m.table.Close(); err != nil {
		m.log.Warn("shared memory was not unmapped", "error", err)
	}
	for _, f := range m.folders {
		if err := f.Remove(); err != nil {
			m.log.Warn("the folder of shared memory was not removed", "error", err)
		}
	}
	m.folders = map[string]*private.Folder{}
	m.free, m.used = map[int][]plane.Slot{}, map[plane.Slot]bool{}
}
