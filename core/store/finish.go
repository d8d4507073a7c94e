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
	if err := writeTables(r.Dir, r.Manifest, []string{path}); err != nil {
		return false, err
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

// writeTables writes the tables of dir from logs that together hold all records.
func writeTables(dir string, m *Manifest, logs []string) error {
	t, err := newTables(dir, m)
	if err == nil {
		next := 0
		_, err = readLogs(logs, m, func(r *Record) error {
			if at := r.Cell*m.Samples + r.Sample; at != next {
				return fault.New(fault.Data, op, dir, "cell %d, sample %d is not there", next/m.Samples, next%m.Samples).Fix("resume the run")
			}
			next++
			t.add(r)
			return nil
		})
		if err == nil && next != m.Cells*m.Samples {
			err = fault.New(fault.Data, op, dir, "cell %d, sample %d is not there", next/m.Samples, next%m.Samples).Fix("resume the run")
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
		if cap(payload) < int(w.length) {
			payload = make([]byte, w.length)
		}
		payload = payload[:w.length]
		if _, err := files[w.log].ReadAt(payload, w.offset+headBytes); err != nil {
			return found, fault.Wrap(err, fault.Data, op, logs[w.log])
		}
		r, err := decode(payload)
		if err != nil {
			return found, fault.Wrap(err, fault.Data, op, logs[w.log])
		}
		if err := visit(&r); err != nil {
			return found, err
		}
	}
	return found, nil
}
