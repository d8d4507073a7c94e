package store

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"lab/core/fault"
)

// Finish writes the tables when every record is there, and reports whether it
// did. Without failures the log is removed then; with some it stays, so that they
// can be tried again. A run that is a part of a sweep keeps its log and gets no
// tables: [Merge] makes them. Dying here loses nothing: whoever resumes the run
// finishes it.
func (r *Run) Finish() (bool, error) {
	records, failures := r.Stored()
	if r.Complete() || r.Manifest.Part != nil || records < r.Manifest.Total() {
		return r.Complete(), nil
	}
	if err := r.closeLog(); err != nil {
		return false, err
	}
	path := filepath.Join(r.Dir, logFile)
	if !r.followed() {
		if err := writeTables(r.Dir, r.Manifest, recordsOf([]string{path}, r.Manifest)); err != nil {
			return false, err
		}
	}
	if failures == 0 {
		err := os.Remove(path)
		if err == nil {
			err = syncFolder(r.Dir)
		}
		if err != nil {
			return false, unwritable(r.Dir, err)
		}
	}
	r.mu.Lock()
	r.done = true
	r.mu.Unlock()
	return true, nil
}

// followed reports whether the tables were written while the run went on.
func (r *Run) followed() bool {
	r.mu.Lock()
	f := r.follower
	r.follower = nil
	r.mu.Unlock()
	return f != nil && f.finish() == nil
}

// writeTables writes the tables of dir. records visits all records of the run in
// their order.
func writeTables(dir string, m *Manifest, records func(visit func(*Record) error) error) error {
	t, err := newTables(dir, m)
	if err == nil {
		next := 0
		lacks := func() error {
			return fault.New(fault.Data, op, dir, "cell %d, sample %d is not there", next/m.Samples, next%m.Samples).Fix("resume the run")
		}
		err = records(func(r *Record) error {
			if at := r.Cell*m.Samples + r.Sample; at != next {
				return lacks()
			}
			next++
			t.add(r)
			return nil
		})
		if err == nil && next != m.Cells*m.Samples {
			err = lacks()
		}
	}
	if err = t.finish(dir, err); err != nil {
		var known *fault.Error
		if errors.As(err, &known) {
			return err
		}
		return unwritable(dir, err)
	}
	return nil
}

// recordsOf visits the records of logs that together hold all.
func recordsOf(logs []string, m *Manifest) func(visit func(*Record) error) error {
	return func(visit func(*Record) error) error {
		_, err := readLogs(logs, m, visit)
		return err
	}
}

// readLogs calls visit with the records of logs in the order of cells and samples;
// of several records of one sample with the last. It reports whether there is a log.
// Memory is that of an index.
func readLogs(logs []string, m *Manifest, visit func(*Record) error) (found bool, err error) {
	type where struct {
		place
		log int
	}
	var all []where
	files := make([]*os.File, len(logs))
	defer func() {
		for _, f := range files {
			if f != nil {
				_ = f.Close()
			}
		}
	}()
	for i, path := range logs {
		f, size, err := openLog(path)
		if err != nil {
			return found, err
		}
		if f == nil {
			continue
		}
		files[i], found = f, true
		x, err := scan(f, size, path, m)
		if err != nil {
			return found, err
		}
		for _, p := range x.places {
			all = append(all, where{p, i})
		}
	}
	slices.SortStableFunc(all, func(a, b where) int {
		return cmp.Or(cmp.Compare(a.cell, b.cell), cmp.Compare(a.sample, b.sample), cmp.Compare(a.log, b.log), cmp.Compare(a.offset, b.offset))
	})
	var payload []byte
	for i, w := range all {
		if i+1 < len(all) && all[i+1].cell == w.cell && all[i+1].sample == w.sample {
			continue // a newer one follows
		}
		r, err := readRecord(files[w.log], logs[w.log], w.place, &payload)
		if err != nil {
			return found, err
		}
		if err := visit(&r); err != nil {
			return found, err
		}
	}
	return found, nil
}

// readRecord reads a record of a log. The payload's memory is used again.
func readRecord(f *os.File, path string, p place, payload *[]byte) (Record, error) {
	if cap(*payload) < int(p.length) {
		*payload = make([]byte, p.length)
	}
	*payload = (*payload)[:p.length]
	_, err := f.ReadAt(*payload, p.offset+headBytes)
	var r Record
	if err == nil {
		r, err = decode(*payload)
	}
	if err != nil {
		return r, fault.Wrap(err, fault.Data, op, path)
	}
	return r, nil
}
