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
	waiting map[int]place // what was put and is not written yet, by cell and sample
	ends    bool          // nothing else is put
	stopped bool

	result chan error
}

var errStopped = errors.New("the tables are not wanted any more")

func follow(dir string, m *Manifest) *follower {
	f := &follower{waiting: map[int]place{}, result: make(chan error, 1)}
	f.changed = sync.NewCond(&f.mu)
	go func() {
		f.result <- writeTables(dir, m, func(visit func(*Record) error) error { return f.records(filepath.Join(dir, logFile), m, visit) })
	}()
	return f
}

// put says where the log has a record.
func (f *follower) put(at int, p place) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting[at] = p
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
func (f *follower) take(at int) (p place, there bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		p, there = f.waiting[at]
		switch {
		case f.stopped:
			return p, false, errStopped
		case there || f.ends:
			delete(f.waiting, at)
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
		r, err := readRecord(log, path, p, &payload)
		if err == nil {
			err = visit(&r)
		}
		if err != nil {
			return err
		}
	}
}
