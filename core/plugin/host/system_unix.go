//go:build unix

package host

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// lockFolder locks a folder against other hosts for as long as the file is
// open. It fails at once when another process holds the lock.
func lockFolder(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func ownedByUs(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Getuid()
}

// notExecutable reports whether an error of starting a program says that the
// file is no program for this machine.
func notExecutable(err error) bool { return errors.Is(err, syscall.ENOEXEC) }
