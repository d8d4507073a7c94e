//go:build unix

package plane

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
)

func create(t *testing.T, id uint32, vocab, slots int) *Plane {
	t.Helper()
	p, err := Create(t.TempDir(), id, vocab, slots)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// What one mapping writes the other reads, slots do not overlap, and the file
// is private and of the promised size.
func TestBothSidesSeeTheSameSlots(t *testing.T) {
	const vocab, slots = 11, 5
	a := create(t, 3, vocab, slots)
	b, err := Open(a.Path(), 3, vocab, slots)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for s := range slots {
		for i := range vocab {
			a.Values(s)[i] = float32(100*s + i)
			b.IDs(s)[i] = int32(100*s + i)
		}
	}
	for s := range slots {
		for i := range vocab {
			if b.Values(s)[i] != float32(100*s+i) || a.IDs(s)[i] != int32(100*s+i) {
				t.Fatalf("slot %d, token %d: %v %v", s, i, b.Values(s)[i], a.IDs(s)[i])
			}
		}
		if cap(a.Values(s)) != vocab || cap(a.IDs(s)) != vocab {
			t.Errorf("slot %d can be appended to beyond its end", s)
		}
	}
	info, err := os.Stat(a.Path())
	if err != nil || info.Size() != vocab*slots*8 || info.Mode().Perm() != 0o600 {
		t.Errorf("file: %v %v", info, err)
	}
}

func TestShapesAndFilesAreChecked(t *testing.T) {
	for name, shape := range map[string][2]int{"no tokens": {0, 1}, "no slots": {1, 0}, "negative": {-1, 1}, "huge vocabulary": {MaxVocab + 1, 1}, "many slots": {1, MaxSlots + 1}} {
		if _, err := Create(t.TempDir(), 1, shape[0], shape[1]); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Open("/dev/null", 1, shape[0], shape[1]); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s, attaching: %v", name, err)
		}
	}
	p := create(t, 1, 10, 4)
	for name, try := range map[string]func() error{
		"other size": func() error { _, err := Open(p.Path(), 1, 10, 5); return err },
		"device":     func() error { _, err := Open("/dev/zero", 1, 10, 4); return err },
		"absent":     func() error { _, err := Open(p.Path()+"x", 1, 10, 4); return err },
		"link": func() error {
			link := filepath.Join(t.TempDir(), "link")
			if err := os.Symlink(p.Path(), link); err != nil {
				t.Fatal(err)
			}
			_, err := Open(link, 1, 10, 4)
			return err
		},
	} {
		if err := try(); fault.KindOf(err) != fault.Plugin {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Create(filepath.Dir(p.Path()), 1, 10, 4); fault.KindOf(err) != fault.Limit {
		t.Errorf("an existing file was taken over: %v", err)
	}
}

func TestTableFindsRowsByAddress(t *testing.T) {
	var table Table
	a, b := create(t, 1, 10, 3), create(t, 2, 20, 2)
	if !table.Add(a) || !table.Add(b) || table.Add(a) {
		t.Error("numbers are not unique")
	}
	for _, p := range []*Plane{a, b} {
		for s := range p.Slots() {
			want := Slot{Plane: p.ID(), Index: uint32(s)}
			for name, v := range map[string][]float32{"whole": p.Values(s), "cut": p.Values(s)[:3], "empty": p.Values(s)[:0]} {
				if got, ok := table.Find(v); !ok || got != want {
					t.Errorf("%s %v: %v %t", name, want, got, ok)
				}
			}
			if _, ok := table.Find(p.Values(s)[1:]); ok {
				t.Errorf("the middle of %v was taken for a slot", want)
			}
		}
	}
	for name, v := range map[string][]float32{"heap": make([]float32, 10), "nil": nil} {
		if _, ok := table.Find(v); ok {
			t.Errorf("%s was found", name)
		}
	}
	if _, ok := table.Get(7); ok {
		t.Error("a plane that does not exist was found")
	}
}

func TestViewsStayInBounds(t *testing.T) {
	var table Table
	table.Add(create(t, 1, 10, 3))
	for _, tt := range []struct {
		name         string
		slot         Slot
		vocab, count int
		sparse, ok   bool
	}{
		{"dense", Slot{1, 0}, 10, 10, false, true},
		{"sparse", Slot{1, 2}, 10, 4, true, true},
		{"sparse and full", Slot{1, 2}, 10, 10, true, true},
		{"sparse and empty", Slot{1, 2}, 10, 0, true, true},
		{"dense and short", Slot{1, 0}, 10, 9, false, false},
		{"count beyond", Slot{1, 0}, 10, 11, true, false},
		{"count negative", Slot{1, 0}, 10, -1, true, false},
		{"other vocabulary", Slot{1, 0}, 11, 11, false, false},
		{"slot beyond", Slot{1, 3}, 10, 10, false, false},
		{"slot far beyond", Slot{1, math.MaxUint32}, 10, 10, false, false},
		{"no such plane", Slot{2, 0}, 10, 10, false, false},
	} {
		row, err := table.View(tt.slot, tt.vocab, tt.count, tt.sparse, 0)
		if (err == nil) != tt.ok || err != nil && fault.KindOf(err) != fault.Data {
			t.Errorf("%s: %v", tt.name, err)
		}
		if tt.ok && (row.Len() != tt.count || row.Dense() == tt.sparse) {
			t.Errorf("%s: %+v", tt.name, row)
		}
	}
}

// A row that a stage made sparse on the heap is brought home; one that does not
// belong is left alone.
func TestSettleMovesIDs(t *testing.T) {
	var table Table
	p := create(t, 1, 10, 2)
	table.Add(p)
	row := dist.NewDense(p.Values(1))
	if s, ok := table.Settle(&row); !ok || s != (Slot{1, 1}) || !row.Dense() {
		t.Errorf("dense: %v %t", s, ok)
	}
	row.Keep(func(i int) bool { return i%2 == 1 }, nil)
	if s, ok := table.Settle(&row); !ok || s != (Slot{1, 1}) {
		t.Errorf("sparse: %v %t", s, ok)
	}
	if !slices.Equal(p.IDs(1)[:5], []int32{1, 3, 5, 7, 9}) || &row.IDs[0] != &p.IDs(1)[0] {
		t.Errorf("ids: %v", p.IDs(1))
	}
	for name, bad := range map[string]dist.Scores{
		"on the heap":      dist.NewDense(make([]float32, 10)),
		"other vocabulary": {Vocab: 11, Values: p.Values(0)},
		"dense and short":  {Vocab: 10, Values: p.Values(0)[:3]},
		"ids missing":      {Vocab: 10, Values: p.Values(0)[:3], IDs: []int32{1}},
		"from the middle":  {Vocab: 10, Values: p.Values(0)[2:4], IDs: []int32{1, 2}},
	} {
		if s, ok := table.Settle(&bad); ok {
			t.Errorf("%s: settled in %v", name, s)
		}
	}
}

func TestClosing(t *testing.T) {
	var table Table
	p := create(t, 1, 10, 2)
	table.Add(p)
	if err := p.Remove(); err != nil {
		t.Error(err)
	}
	p.Values(0)[0] = 1 // the mapping outlives the file
	if err := table.Close(); err != nil {
		t.Error(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if len(table.All()) != 0 {
		t.Error("planes are left")
	}
}
