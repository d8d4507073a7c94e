package store

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"lab/core/fault"
	"lab/core/trace"
)

// What a sample took comes back as it was measured, and is no part of what two
// runs are compared by: runs at other speeds are the same.
func TestCostsAreKeptAndNotCompared(t *testing.T) {
	write := func(factor float64) *Stored {
		dir := filepath.Join(t.TempDir(), "run")
		r := create(t, dir, 4, 5)
		for cell := range 4 {
			for sample := range 5 {
				rec := made(cell, sample)
				if rec.Cost != nil {
					rec.Cost.DecodeSeconds *= factor
				}
				if err := r.Put(rec); err != nil {
					t.Fatal(err)
				}
			}
		}
		if done, err := r.Finish(); !done || err != nil {
			t.Fatal(done, err)
		}
		if err := r.Close(Session{}); err != nil {
			t.Fatal(err)
		}
		s, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a, b := write(1), write(3)
	c, err := Compare(a, b)
	if err != nil || c.Same != 20 || c.Differ+c.OnlyA+c.OnlyB != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	for name := range contents(t, a.Dir) {
		x, _ := os.ReadFile(filepath.Join(a.Dir, name))
		y, _ := os.ReadFile(filepath.Join(b.Dir, name))
		if (string(x) == string(y)) == (name == CostsFile) {
			t.Errorf("%s: equal %t", name, string(x) == string(y))
		}
	}
	without := 0
	err = b.Records(false, func(r *Record) error {
		want := made(r.Cell, r.Sample).Cost
		if want != nil {
			want.DecodeSeconds *= 3
		} else {
			without++
		}
		if !reflect.DeepEqual(r.Cost, want) {
			t.Errorf("cell %d, sample %d: %+v came back as %+v", r.Cell, r.Sample, want, r.Cost)
		}
		return nil
	})
	if err != nil || without == 0 {
		t.Errorf("%d samples without a cost; %v", without, err)
	}

	// A run of before there were costs is read as ever.
	if err := os.Remove(filepath.Join(b.Dir, CostsFile)); err != nil {
		t.Fatal(err)
	}
	err = b.Records(false, func(r *Record) error {
		if r.Cost != nil {
			t.Errorf("cell %d, sample %d has a cost", r.Cell, r.Sample)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A cost that no measurement is, is damage.
func TestACostThatCannotBe(t *testing.T) {
	for _, x := range []float64{-1, math.NaN(), math.Inf(1)} {
		rec := made(0, 0)
		rec.Cost = &trace.Cost{FLOPs: x}
		var e encoder
		e.record(&rec)
		if _, err := decode(e.b); fault.KindOf(err) != fault.Data {
			t.Errorf("%g FLOP in the log: %v", x, err)
		}
		dir := filepath.Join(t.TempDir(), "run")
		r := create(t, dir, 1, 1)
		if err := r.Put(rec); fault.KindOf(err) != fault.Internal {
			t.Errorf("%g FLOP are taken: %v", x, err)
		}
		if err := r.Put(made(0, 0)); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Finish(); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(Session{}); err != nil {
			t.Fatal(err)
		}
		w, err := newTable[costRow](filepath.Join(dir, CostsFile))
		if err != nil {
			t.Fatal(err)
		}
		w.add(newCostRow(&rec))
		w.end()
		if err := w.finish(); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(w.path+".new", w.path); err != nil {
			t.Fatal(err)
		}
		s, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Records(false, func(*Record) error { return nil }); fault.KindOf(err) != fault.Data {
			t.Errorf("%g FLOP in the table: %v", x, err)
		}
	}
}

// Costs of samples that are not there are damage.
func TestCostsOfNoSample(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	r := create(t, dir, 1, 8)
	other := create(t, filepath.Join(t.TempDir(), "other"), 2, 8)
	for _, run := range []*Run{r, other} {
		for cell := range run.Manifest.Cells {
			for sample := range 8 {
				if err := run.Put(made(cell, sample)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if done, err := run.Finish(); !done || err != nil {
			t.Fatal(done, err)
		}
		if err := run.Close(Session{}); err != nil {
			t.Fatal(err)
		}
	}
	foreign, err := os.ReadFile(filepath.Join(other.Dir, CostsFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, CostsFile), foreign, 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Records(false, func(*Record) error { return nil }); fault.KindOf(err) != fault.Data {
		t.Errorf("got %v", err)
	}
}
