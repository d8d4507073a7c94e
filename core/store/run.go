package store

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"lab/core/fault"
)

// Run is a run that this process writes. Its methods may be called from several
// goroutines.
type Run struct {
	Dir      string
	Manifest *Manifest
	// Problems are the damaged parts of the log that were found; what they held is
	// not there.
	Problems []error

	mu     sync.Mutex
	lock   *os.File
	log    file
	end    int64 // of the log
	has    []uint64
	failed map[[2]uint32]bool
	stored int
	enc    encoder
	keeps  Recording
	broken error // the log cannot be written any more
	done   bool  // everything is there, tables included

	follower *follower // nil where the tables are not written before the end

	dirty   bool
	syncErr error
	syncing sync.WaitGroup
	stop    chan struct{}
}

// file is what the log is written to; tests put one in its place that fails.
type file interface {
	WriteAt(p []byte, off int64) (int, error)
	Truncate(size int64) error
	Sync() error
	Close() error
}

// openToWrite opens the log.
var openToWrite = func(path string) (file, error) { return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644) }

// syncEvery is how much time of work a machine that loses its power may lose. A
// process that is killed loses nothing that [Run.Put] took.
const syncEvery = 500 * time.Millisecond

// Create makes the folder of a new run, parents included, with its manifest and
// the columns of its cells, each as long as Manifest.Cells. A folder that holds a
// run already is a usage error.
func Create(dir string, m Manifest, cells []Column) (*Run, error) {
	m.Format = Format
	data, err := m.encode()
	if err != nil {
		return nil, err
	}
	if _, err := parseManifest(data, manifestFile); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, unwritable(dir, err)
	}
	r := &Run{Dir: dir, Manifest: &m}
	if r.lock, err = lock(dir); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, manifestFile)); err == nil {
		return nil, errors.Join(fault.New(fault.Usage, op, dir, "there is a run in it already").Fix("resume it, or choose another folder"), unlock(r.lock))
	}
	if err := leftovers(dir, logFile, samplesFile, StepsFile, StagesFile, scoresFile, CostsFile); err != nil {
		return nil, errors.Join(err, unlock(r.lock))
	}
	err = writeCells(filepath.Join(dir, CellsFile), m.Cells, cells)
	if err == nil { // the last file to come, so that a folder with it is whole
		err = replaceFile(filepath.Join(dir, manifestFile), func(f *os.File) error {
			_, err := f.Write(data)
			return err
		})
	}
	if err == nil {
		err = r.open()
	}
	if err != nil {
		return nil, errors.Join(err, unlock(r.lock))
	}
	if m.Part == nil {
		r.follower = follow(dir, &m)
	}
	return r, nil
}

// leftovers refuses a folder that has files of a run but no run.json, as a merge
// or a removal leaves it that was killed: a new run would take them for its own.
func leftovers(dir string, names ...string) error {
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return fault.New(fault.Usage, op, dir, "%s of another run is in it, without %s", name, manifestFile).Fix("choose another folder, or remove this one")
		}
	}
	return nil
}

// Resume opens a run to go on with it: what is missing of its tables is written
// by [Run.Finish]. A torn end of its log is cut off.
func Resume(dir string) (*Run, error) {
	m, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	r := &Run{Dir: dir, Manifest: m}
	if r.lock, err = lock(dir); err != nil {
		return nil, err
	}
	if err := r.open(); err != nil {
		return nil, errors.Join(err, unlock(r.lock))
	}
	return r, nil
}

// open reads the log and makes it ready to be written.
func (r *Run) open() error {
	r.has = make([]uint64, (r.Manifest.Cells*r.Manifest.Samples+63)/64)
	r.failed = map[[2]uint32]bool{}
	keeps, err := ParseRecording(r.Manifest.Scores)
	if err != nil {
		return err
	}
	r.keeps = keeps
	path := filepath.Join(r.Dir, logFile)
	old, size, err := openLog(path)
	if err != nil {
		return err
	}
	if old == nil && complete(r.Dir) {
		r.stored, r.done = r.Manifest.Total(), true
		for i := range r.has {
			r.has[i] = ^uint64(0)
		}
		return nil
	}
	if old != nil {
		x, err := scan(old, size, path, r.Manifest)
		if closeErr := old.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return err
		}
		r.Problems, r.end = x.problems, x.whole
		for _, p := range x.places {
			r.note(p.cell, p.sample, p.failure)
		}
	}
	if r.log, err = openToWrite(path); err != nil {
		return unwritable(r.Dir, err)
	}
	if err := r.log.Truncate(r.end); err != nil {
		return errors.Join(unwritable(r.Dir, err), r.log.Close())
	}
	r.stop = make(chan struct{})
	log := r.log
	r.syncing.Go(func() { r.syncAll(log) })
	return nil
}

func (r *Run) bit(cell, sample uint32) (word int, bit uint64) {
	at := int(cell)*r.Manifest.Samples + int(sample)
	return at / 64, 1 << (at % 64)
}

// note remembers that a record is kept.
func (r *Run) note(cell, sample uint32, failure bool) {
	word, bit := r.bit(cell, sample)
	if r.has[word]&bit == 0 {
		r.stored++
	}
	r.has[word] |= bit
	delete(r.failed, [2]uint32{cell, sample})
	if failure {
		r.failed[[2]uint32{cell, sample}] = true
	}
}

// Has reports whether a record of a sample is kept, of a failure too.
func (r *Run) Has(cell, sample int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	word, bit := r.bit(uint32(cell), uint32(sample))
	return r.has[word]&bit != 0
}

// Stored returns how many records are kept, and how many of them are failures.
func (r *Run) Stored() (records, failures int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stored, len(r.failed)
}

// Complete reports whether everything is there, tables included.
func (r *Run) Complete() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done
}

// ForgetFailures makes Has false for samples that failed, so that they are tried
// again; the newer record counts.
func (r *Run) ForgetFailures() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.failed) > 0 {
		r.unfollow()
	}
	for at := range r.failed {
		word, bit := r.bit(at[0], at[1])
		r.has[word] &^= bit
		r.stored--
	}
	clear(r.failed)
}

// Put keeps a record; its slices are the store's from now on. When Put returns, a
// process that is killed does not lose it; a machine that loses its power loses at
// most what came in the last half second. An error of the disk leaves what was kept
// before as it is.
func (r *Run) Put(rec Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.Manifest.holds(rec.Cell, rec.Sample) {
		return fault.New(fault.Internal, op, r.Dir, "cell %d, sample %d is none of this run's", rec.Cell, rec.Sample)
	}
	if r.done {
		return fault.New(fault.Internal, op, r.Dir, "it is complete")
	}
	if r.broken != nil {
		return r.broken
	}
	if r.log == nil {
		return fault.New(fault.Internal, op, r.Dir, "its log is closed").Fix("resume the run")
	}
	if r.syncErr != nil {
		return unwritable(r.Dir, r.syncErr)
	}
	if err := r.keeps.check(&rec); err != nil {
		return err
	}
	frame, err := r.enc.frame(&rec)
	if err != nil {
		return err
	}
	if _, err := r.log.WriteAt(frame, r.end); err != nil {
		r.broken = unwritable(r.Dir, err)
		r.unfollow()              // the disk may need what the tables take
		_ = r.log.Truncate(r.end) // what cannot be cut off now is when the run is resumed
		return r.broken
	}
	p := place{uint32(rec.Cell), uint32(rec.Sample), r.end, uint32(len(frame) - headBytes), rec.Failure != ""}
	if word, bit := r.bit(p.cell, p.sample); r.has[word]&bit != 0 {
		r.unfollow() // the tables may have the older one
	}
	if r.follower != nil {
		r.follower.put(rec.Cell*r.Manifest.Samples+rec.Sample, p, rec)
	}
	r.end += int64(len(frame))
	r.dirty = true
	r.note(p.cell, p.sample, p.failure)
	return nil
}

// unfollow leaves the tables to [Run.Finish].
func (r *Run) unfollow() {
	if r.follower != nil {
		r.follower.stop()
		r.follower = nil
	}
}

// syncAll writes what was put to the disk every now and then.
func (r *Run) syncAll(log file) {
	tick := time.NewTicker(syncEvery)
	defer tick.Stop()
	for {
		select {
		case <-r.stop:
			return
		case <-tick.C:
		}
		r.mu.Lock()
		dirty := r.dirty
		r.dirty = false
		r.mu.Unlock()
		if !dirty {
			continue
		}
		if err := log.Sync(); err != nil {
			r.mu.Lock()
			r.syncErr = err
			r.mu.Unlock()
		}
	}
}

// Close ends the work at a run and adds a line to its sessions.
func (r *Run) Close(s Session) error {
	r.mu.Lock()
	r.unfollow()
	r.mu.Unlock()
	errs := []error{r.closeLog()}
	errs = append(errs, appendSession(r.Dir, s), unlock(r.lock))
	return errors.Join(errs...)
}

// closeLog makes the log durable and closes it; nothing can be put from then on.
func (r *Run) closeLog() error {
	r.mu.Lock()
	log := r.log
	r.log = nil
	r.mu.Unlock()
	if log == nil {
		return nil
	}
	close(r.stop)
	r.syncing.Wait()
	err := log.Sync()
	if closeErr := log.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return unwritable(r.Dir, err)
	}
	return nil
}

func appendSession(dir string, s Session) error {
	host, _ := os.Hostname()
	s.Host, s.PID = host, os.Getpid()
	line, err := json.Marshal(s)
	if err != nil {
		return fault.Wrap(err, fault.Internal, op, dir)
	}
	return appendLine(dir, line)
}

// appendLine adds a line to sessions.jsonl.
func appendLine(dir string, line []byte) error {
	f, err := os.OpenFile(filepath.Join(dir, sessionsFile), os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return unwritable(dir, err)
	}
	last := make([]byte, 1)
	if info, statErr := f.Stat(); statErr == nil && info.Size() > 0 {
		if _, err := f.ReadAt(last, info.Size()-1); err == nil && last[0] != '\n' {
			line = append([]byte{'\n'}, line...) // a process died in the middle of one
		}
	}
	_, err = f.Write(append(line, '\n'))
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return unwritable(dir, err)
	}
	return nil
}

// replaceFile writes a file beside its place, makes it durable and moves it there.
func replaceFile(path string, write func(*os.File) error) (err error) {
	dir := filepath.Dir(path)
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return unwritable(dir, err)
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err == nil {
		err = syncFolder(dir)
	}
	if err != nil {
		_ = os.Remove(path + ".new")
		var known *fault.Error
		if errors.As(err, &known) {
			return err
		}
		return unwritable(dir, err)
	}
	return nil
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	return errors.Join(err, d.Close())
}
