//go:build unix

package store

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// take takes the lock of an open file, without waiting; false when another
// process has it. It ends with the process, however that ends.
func take(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// errFull is the error of a full disk.
const errFull = unix.ENOSPC
