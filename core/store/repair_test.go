package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lab/core/trace"
)

// wants fails unless err says something.
func wants(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want %q", err, text)
	}
}

func create(t testing.TB, dir string, cells, samples int) *Run {
	t.Helper()
	return createRun(t, dir, manifest(cells, samples))
}

// createRun makes a run whose folder is let alone when the test ends.
func createRun(t testing.TB, dir string, m Manifest) *Run {
	t.Helper()
	r, err := Create(dir, m, columns(m.Cells))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.unfollow()
	})
	return r
}

// What a merge or a removal leaves that was killed is never taken for the
// samples of a new run.
func TestLeftoversAreRefused(t *testing.T) {
	dir := t.TempDir()
	fill(t, create(t, dir, 3, 2))
	if err := os.Remove(filepath.Join(dir, manifestFile)); err != nil {
		t.Fatal(err)
	}
	_, err := Create(dir, manifest(3, 2), columns(3))
	wants(t, err, samplesFile+" of another run is in it")
}

func TestKilledMergeIsMergedAgain(t *testing.T) {
	const cells, samples = 5, 2
	root := t.TempDir()
	var parts []string
	for i := range 2 {
		m := manifest(cells, samples)
		m.Part = &Part{Index: i, Of: 2}
		parts = append(parts, filepath.Join(root, string(rune('a'+i))))
		r, err := Create(parts[i], m, columns(cells))
		if err != nil {
			t.Fatal(err)
		}
		fill(t, r)
	}
	whole := filepath.Join(root, "whole")
	for _, lost := range [][]string{nil, {manifestFile}, {manifestFile, CellsFile}, {manifestFile, CellsFile, sessionsFile, samplesFile}} {
		for _, name := range lost { // the last files that a merge makes
			if err := os.Remove(filepath.Join(whole, name)); err != nil {
				t.Fatal(err)
			}
		}
		if err := Merge(whole, parts); err != nil {
			t.Fatal(err)
		}
		sameFiles(t, contents(t, whole), undisturbed(t, cells, samples))
		s, err := Open(whole)
		if err != nil || len(s.Sessions) != 2 {
			t.Errorf("without %q: %d sessions, %v", lost, len(s.Sessions), err)
		}
	}
	if err := os.Remove(filepath.Join(whole, manifestFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(whole, logFile), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	wants(t, Merge(whole, parts), logFile+" of another run is in it")
}

// A run whose tables cannot be written is not complete, and is when they can.
func TestFinishThatFailsIsTriedAgain(t *testing.T) {
	dir := t.TempDir()
	block := filepath.Join(dir, StepsFile+".new")
	if err := os.Mkdir(block, 0o755); err != nil {
		t.Fatal(err)
	}
	r := create(t, dir, 2, 2)
	for i := range 4 {
		if err := r.Put(made(i/2, i%2)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if done, err := r.Finish(); done || err == nil || r.Complete() {
			t.Fatalf("done %t, complete %t, %v", done, r.Complete(), err)
		}
		if err := os.Mkdir(block, 0o755); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
	wants(t, r.Put(made(0, 0)), "its log is closed")
	if err := os.RemoveAll(block); err != nil {
		t.Fatal(err)
	}
	fill(t, r)
	sameFiles(t, contents(t, dir), undisturbed(t, 2, 2))
}

// What the log cannot hold is refused when it is put, not when it is read.
func TestNumbersBelowZeroAreRefused(t *testing.T) {
	r := create(t, t.TempDir(), 1, 1)
	bad := made(0, 0)
	bad.Trace.Stop = trace.Stop{Reason: trace.MaxTokens, Offset: -1}
	wants(t, r.Put(bad), "the number -1 where none is below 0")
	if r.Has(0, 0) {
		t.Error("it is kept")
	}
	fill(t, r)
}

// A line that a dying process left unfinished does not swallow the next one.
func TestTornSession(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir, 1, 1)
	if err := os.WriteFile(filepath.Join(dir, sessionsFile), []byte(`{"outcome":"compl`), 0o644); err != nil {
		t.Fatal(err)
	}
	fill(t, r)
	s, err := Open(dir)
	if err != nil || len(s.Sessions) != 1 || s.Sessions[0].Outcome != "complete" {
		t.Errorf("%+v, %v", s, err)
	}
}

// Steps of no sample are damage, whichever table is at fault.
func TestTablesThatDoNotBelongTogether(t *testing.T) {
	small, large := t.TempDir(), t.TempDir()
	fill(t, create(t, small, 6, 4))
	fill(t, create(t, large, 9, 4))
	for _, name := range []string{StepsFile, StagesFile} {
		data := contents(t, large)[name]
		whole := contents(t, small)[name]
		if err := os.WriteFile(filepath.Join(small, name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := Open(small)
		if err != nil {
			t.Fatal(err)
		}
		wants(t, s.Records(true, func(*Record) error { return nil }), name)
		if err := os.WriteFile(filepath.Join(small, name), []byte(whole), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A record that is none of the run's is named, and does not keep the run from
// being finished.
func TestRecordsOfAnotherRun(t *testing.T) {
	dir := t.TempDir()
	if err := create(t, dir, 2, 2).Close(Session{}); err != nil {
		t.Fatal(err)
	}
	var e encoder
	stray := made(7, 0)
	frame, err := e.frame(&stray)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, logFile), frame, 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := Resume(dir)
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := r.Stored(); n != 0 || len(r.Problems) != 1 {
		t.Errorf("%d records, problems %v", n, r.Problems)
	}
	fill(t, r)
	sameFiles(t, contents(t, dir), undisturbed(t, 2, 2))
}

// Who looks at a run for a moment does not keep a writer out.
func TestLockWaitsForALook(t *testing.T) {
	dir := t.TempDir()
	plain := lockPatience
	lockPatience = 10 * time.Second // in steps of 0.5 s
	t.Cleanup(func() { lockPatience = plain })
	look, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if free, err := take(look); !free || err != nil {
		t.Fatal(free, err)
	}
	time.AfterFunc(20*time.Millisecond, func() { _ = look.Close() })
	f, err := lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := unlock(f); err != nil {
		t.Fatal(err)
	}
}
