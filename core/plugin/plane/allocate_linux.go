package plane

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// allocate reserves every page of the file: a sparse file would let a later
// write end the process with SIGBUS when the space runs out.
func allocate(f *os.File, size int64) error {
	for {
		err := unix.Fallocate(int(f.Fd()), 0, 0, size)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS):
			var fs unix.Statfs_t
			if err := unix.Fstatfs(int(f.Fd()), &fs); err != nil {
				return err
			}
			if fs.Bavail*uint64(fs.Bsize) < uint64(size) {
				return unix.ENOSPC // before the disk is full, not after
			}
			return writeZeros(f, size)
		}
		return err
	}
}
