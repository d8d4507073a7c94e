//go:build unix

package shelf

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"lab/core/fault"
)

// lock takes the turn to change what is called name. Who holds it may be
// fetching for hours, so a second one is told at once. The kernel gives it back
// when the process ends, however that is.
func (s *Shelf) lock(name string) (unlock func(), err error) {
	path := filepath.Join(s.Dir, ".lock-"+name)
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, fault.Wrap(err, fault.Data, "model folder", fault.Quote(s.Dir, 200))
		}
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EWOULDBLOCK):
			_ = f.Close()
			return nil, fault.New(fault.Usage, "model folder", fault.Quote(name, 80), "another lab is working on this model").
				Fix("wait for it, or end it")
		case err != nil && !errors.Is(err, unix.ENOLCK) && !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.ENOSYS):
			_ = f.Close()
			return nil, fault.Wrap(err, fault.Data, "model folder", fault.Quote(s.Dir, 200))
		}
		// Whoever had the turn before removes the file at its end: the lock counts only
		// when it is on the file that still has the name.
		held, heldErr := f.Stat()
		named, namedErr := os.Stat(path)
		if heldErr == nil && namedErr == nil && os.SameFile(held, named) {
			return func() { _ = os.Remove(path); _ = f.Close() }, nil
		}
		_ = f.Close()
	}
}
