package lock

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"lab/core/fault"
)

// FileName is what the file is called in a project's folder.
const FileName = "lab.lock"

// Schema names the form of the file.
const Schema = "lab/lock/1"

// longest bounds the file, in bytes.
const longest = 1 << 20

// ErrNotWritten is what the errors of a file that cannot be written wrap: a
// folder without permission, a full disk. What was to be recorded is not.
var ErrNotWritten = errors.New("the lock is not written")

// Entry is what is known of one trusted plugin.
type Entry struct {
	SHA256  string `json:"sha256"`            // as [Digest] returns it
	Version string `json:"version,omitempty"` // what it called itself
	Path    string `json:"path,omitempty"`    // of the executable when it was trusted; for people
	Trusted string `json:"trusted"`           // the day, YYYY-MM-DD, in UTC
}

// Lock is the lock file of one project, whether or not it exists. Every method
// reads the file anew, so that what another process records is seen; changes are
// made under an exclusive lock and appear in one step. Safe for concurrent use.
type Lock struct {
	path  string
	today func() time.Time
	turn  sync.Mutex // one change at a time in this process
}

// At returns the lock of the project in a folder.
func At(folder string) *Lock {
	return &Lock{path: filepath.Join(folder, FileName), today: time.Now}
}

// Path returns the path of the file.
func (l *Lock) Path() string { return l.path }

// Entries returns every trusted plugin by name; none when there is no file. A
// file that cannot be read, or is not one of this form, is a data error: it must
// not be taken for an empty one.
func (l *Lock) Entries() (map[string]Entry, error) {
	text, err := l.read()
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]Entry{}, nil
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.Data, "read lock", "")
	}
	entries, err := decode(text)
	if err != nil {
		return nil, fault.New(fault.Data, "read lock", fault.Quote(l.path, 200), "%v", err).
			Fix("correct the file, or use the lab that wrote it; or remove it, after which every plugin is trusted anew at its next start")
	}
	return entries, nil
}

func (l *Lock) read() ([]byte, error) {
	info, err := os.Stat(l.path) // before opening: a pipe would block
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", l.path)
	}
	f, err := os.Open(l.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, longest+1))
	if err == nil && len(text) > longest {
		err = fmt.Errorf("%s has more than %d bytes", l.path, longest)
	}
	return text, err
}

// Find returns what is recorded of a plugin, and whether anything is.
func (l *Lock) Find(name string) (Entry, bool, error) {
	entries, err := l.Entries()
	e, ok := entries[name]
	return e, ok, err
}

// FirstUse records a plugin unless it is recorded already, and returns what the
// file says of it afterwards and whether it was recorded now. Of two processes
// that meet a plugin at the same time one records it and the other is told what
// the first recorded. The day is filled in. An error that wraps [ErrNotWritten]
// means that the file could not be written.
func (l *Lock) FirstUse(name string, e Entry) (now Entry, recorded bool, err error) {
	err = l.change(func(entries map[string]Entry) error {
		if old, ok := entries[name]; ok {
			now = old
			return nil
		}
		now, recorded = l.dated(e), true
		entries[name] = now
		return nil
	}, name, e)
	if err != nil {
		return e, false, err
	}
	return now, recorded, nil
}

// Trust records a plugin in place of what was recorded before, which it returns;
// the zero Entry when there was nothing. The day is filled in, and stays what it
// was when the digest does. Errors are those of [Lock.FirstUse].
func (l *Lock) Trust(name string, e Entry) (before Entry, err error) {
	err = l.change(func(entries map[string]Entry) error {
		before = entries[name]
		now := l.dated(e)
		if before.SHA256 == now.SHA256 {
			now.Trusted = before.Trusted
		}
		entries[name] = now
		return nil
	}, name, e)
	return before, err
}

// Forget removes what is recorded of a plugin, and reports whether anything was.
// Errors are those of [Lock.FirstUse].
func (l *Lock) Forget(name string) (was bool, err error) {
	err = l.update(func(entries map[string]Entry) error {
		_, was = entries[name]
		delete(entries, name)
		return nil
	})
	return was, err
}

func (l *Lock) dated(e Entry) Entry {
	e.Trusted = l.today().UTC().Format(time.DateOnly)
	return e
}

// change checks an entry that is to be recorded, and updates the file.
func (l *Lock) change(edit func(map[string]Entry) error, name string, e Entry) error {
	if err := check(name, l.dated(e)); err != nil {
		return fault.New(fault.Internal, "lock", fault.Quote(name, 64), "%v", err)
	}
	return l.update(edit)
}

// update edits the entries and writes them when they differ, all under the lock
// of the folder.
func (l *Lock) update(edit func(map[string]Entry) error) error {
	l.turn.Lock()
	defer l.turn.Unlock()
	path, err := filepath.EvalSymlinks(l.path) // a link stays one
	if err != nil {
		if info, err := os.Lstat(l.path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return l.notWritten(errors.New("it is a link that leads nowhere"))
		}
		path = l.path
	}
	unlock, err := lockFolder(filepath.Dir(path))
	if err != nil {
		return l.notWritten(err)
	}
	defer unlock()
	entries, err := l.Entries()
	if err != nil {
		return err
	}
	before := maps.Clone(entries)
	if err := edit(entries); err != nil {
		return err
	}
	if maps.Equal(before, entries) {
		return nil
	}
	text, err := encode(entries)
	if err != nil {
		return fault.Wrap(err, fault.Internal, "write lock", "")
	}
	if err := replace(path, text); err != nil {
		return l.notWritten(err)
	}
	return nil
}

func (l *Lock) notWritten(err error) error {
	return fault.Wrap(fmt.Errorf("%w: %w", ErrNotWritten, err), fault.Data, "write lock", fault.Quote(l.path, 200))
}
