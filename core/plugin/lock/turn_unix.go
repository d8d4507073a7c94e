//go:build unix

package lock

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long another process may hold the lock, which takes it
// milliseconds.
const patience = 10 * time.Second

// lockFolder takes the exclusive lock of a folder, which needs no file of its
// own, and returns what gives it back. Where the file system has no such lock it
// goes without: a change may then be lost to another of the same moment, and is
// never half written.
func lockFolder(folder string) (unlock func(), err error) {
	f, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil, errors.Is(err, unix.EBADF), errors.Is(err, unix.ENOLCK), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
			return func() { _ = f.Close() }, nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR), time.Now().After(end):
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", folder, err)
		}
	}
}
