package store

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
)

// follower writes the tables of a run while it goes on, of the records in its log
// and in the order of cells and samples, beside their places. It only works ahead:
// where it was disturbed, [Run.Finish] writes the tables of the log as it is.
type follower struct {
	mu      sync.Mutex
	changed *sync.Cond
	waiting map[int]put // what is not written yet, by cell and sample
	held    int         // bytes of the records that wait here and not in the log alone
	ends    bool        // nothing else is put
	stopped bool

	result chan error
}

// put is a record of the log.
type put struct {
	place
	record *Record // nil where it has to be read
}

// mostHeld is how many bytes of records wait in memory at most, as the log counts
// them.
const mostHeld = 32 << 20

var errStopped = errors.New("the tables are not wanted any more")

func follow(dir string, m *Manifest) *follower {
	f := &follower{waiting: map[int]put{}, result: make(chan error, 1)}
	f.changed = sync.NewCond(&f.mu)
	go func() {
		f.result <- writeTables(dir, m, func(visit func(*Record) error) error { return f.records(filepath.Join(dir, logFile), m, visit) })
	}()
	return f
}

// put gives a record that the log has.
func (f *follower) put(at int, p place, r Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	it := put{place: p}
	if f.held+int(p.length) <= mostHeld {
		f.held += int(p.length)
		it.record = &r
	}
	f.waiting[at] = it
	f.changed.Signal()
}

// finish waits until the tables are in their places.
func (f *follower) finish() error {
	f.mu.Lock()
	f.ends = true
	f.changed.Signal()
	f.mu.Unlock()
	return <-f.result
}

// stop leaves nothing of the tables.
func (f *follower) stop() {
	f.mu.Lock()
	f.stopped = true
	f.changed.Signal()
	f.mu.Unlock()
	<-f.result
}

// take waits until a record was put, or anything else may have happened.
func (f *follower) take(at int) (p put, there bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		p, there = f.waiting[at]
		switch {
		case f.stopped:
			return p, false, errStopped
		case there || f.ends:
			delete(f.waiting, at)
			if p.record != nil {
				f.held -= int(p.length)
			}
			return p, there, nil
		}
		f.changed.Wait()
	}
}

// records visits the records of a run that is going on, and returns when it ends.
func (f *follower) records(path string, m *Manifest, visit func(*Record) error) error {
	log, err := os.Open(path)
	if err != nil {
		return err
	}
	defer log.Close()
	var payload []byte
	for at := 0; ; at++ {
		p, there, err := f.take(at)
		if err != nil || !there {
			return err
		}
		if p.record == nil {
			var r Record
			r, err = readRecord(log, path, p.place, &payload)
			p.record = &r
		}
		if err == nil {
			err = visit(p.record)
		}
		if err != nil {
			return err
		}
	}
}
