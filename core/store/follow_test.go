package store

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"lab/core/trace"
)

// caughtUp waits until a run's tables have all that was put in order.
func caughtUp(t *testing.T, r *Run) {
	t.Helper()
	for until := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		r.follower.mu.Lock()
		left := len(r.follower.waiting)
		r.follower.mu.Unlock()
		if left == 0 {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("%d records wait", left)
		}
	}
}

// fromTheLog is a run whose tables were written of its log when all was there.
func fromTheLog(t *testing.T, cells, samples int) map[string]string {
	t.Helper()
	dir := t.TempDir()
	r := create(t, dir, cells, samples)
	r.unfollow()
	fill(t, r)
	return contents(t, dir)
}

// Tables written while the run goes on are those of its log, whatever the order.
func TestTablesWrittenAheadAreTheSame(t *testing.T) {
	const cells, samples = 9, 7
	want := fromTheLog(t, cells, samples)
	for round := range 10 {
		order := rand.New(rand.NewPCG(uint64(round), 1)).Perm(cells * samples)
		dir := t.TempDir()
		r := create(t, dir, cells, samples)
		for i, at := range order {
			if err := r.Put(made(at/samples, at%samples)); err != nil {
				t.Fatal(err)
			}
			if i == len(order)/2 && round%2 == 0 {
				time.Sleep(time.Millisecond)
			}
		}
		caughtUp(t, r)
		fill(t, r)
		sameFiles(t, contents(t, dir), want)
	}
}

// What disturbs the tables ahead of time does not disturb the run.
func TestDisturbedTablesAreWrittenOfTheLog(t *testing.T) {
	const cells, samples = 4, 3
	want := fromTheLog(t, cells, samples)
	first := func(t *testing.T, r *Run) {
		t.Helper()
		for i := range samples {
			if err := r.Put(made(0, i)); err != nil {
				t.Fatal(err)
			}
		}
		caughtUp(t, r)
	}
	cases := []struct {
		name    string
		disturb func(*testing.T, *Run)
	}{
		{"a record comes again", func(t *testing.T, r *Run) {
			bad := made(3, 1)
			bad.PromptTokens = 77
			if err := errors.Join(r.Put(bad), r.Put(made(3, 1))); err != nil {
				t.Fatal(err)
			}
		}},
		{"a failure is tried again", func(t *testing.T, r *Run) {
			if err := r.Put(Record{Cell: 1, Failure: "no"}); err != nil {
				t.Fatal(err)
			}
			caughtUp(t, r)
			r.ForgetFailures()
		}},
		{"a table is taken away", func(t *testing.T, r *Run) {
			if err := os.Remove(filepath.Join(r.Dir, StepsFile+".new")); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := create(t, t.TempDir(), cells, samples)
			first(t, r)
			c.disturb(t, r)
			fill(t, r)
			sameFiles(t, contents(t, r.Dir), want)
		})
	}
}

// Whoever leaves a run before its end leaves its log and no tables.
func TestAnInterruptedRunHasNoTables(t *testing.T) {
	r := create(t, t.TempDir(), 3, 2)
	if err := r.Put(made(0, 0)); err != nil {
		t.Fatal(err)
	}
	caughtUp(t, r)
	if err := r.Close(Session{}); err != nil {
		t.Fatal(err)
	}
	for name := range contents(t, r.Dir) {
		if strings.HasSuffix(name, ".new") || name == samplesFile {
			t.Errorf("%s is there", name)
		}
	}
}

// A table says of a record what the log says, though it may come from memory.
func TestTablesHaveWhatTheLogKeeps(t *testing.T) {
	var want map[string]string
	for _, ahead := range []bool{false, true} {
		r := create(t, t.TempDir(), 2, 1)
		if !ahead {
			r.unfollow()
		}
		empty, failed := made(0, 0), made(1, 0)
		empty.Trace.Raw = []byte{}
		empty.Trace.Steps = append(empty.Trace.Steps, trace.Step{Step: 99, Stages: []trace.Stage{}})
		empty.Trace.Sample = 7
		failed.Failure = "no"
		if err := errors.Join(r.Put(empty), r.Put(failed)); err != nil {
			t.Fatal(err)
		}
		fill(t, r)
		got := contents(t, r.Dir)
		if ahead {
			sameFiles(t, got, want)
		}
		want = got
	}
}

// What does not fit into memory is read from the log.
func TestFollowerHoldsNoMoreThanItMay(t *testing.T) {
	f := &follower{waiting: map[int]put{}, changed: sync.NewCond(new(sync.Mutex))}
	for at := range 5 {
		f.put(at, place{length: mostHeld / 3}, Record{})
	}
	for at := range 5 {
		if p, there, err := f.take(at); !there || err != nil || (p.record != nil) != (at < 3) {
			t.Errorf("record %d: there %t, in memory %t, %v", at, there, p.record != nil, err)
		}
	}
	if f.held != 0 {
		t.Errorf("%d bytes are held", f.held)
	}
}
