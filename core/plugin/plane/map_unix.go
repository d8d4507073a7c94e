//go:build unix

package plane

import (
	"os"

	"golang.org/x/sys/unix"
)

func allocateAndMap(f *os.File, size int64) ([]byte, error) {
	if err := allocate(f, size); err != nil {
		return nil, err
	}
	return mapShared(f, size)
}

// writeZeros allocates a file by filling it, where the system has no better
// way.
func writeZeros(f *os.File, size int64) error {
	block := make([]byte, 1<<20)
	for at := int64(0); at < size; at += int64(len(block)) {
		if _, err := f.WriteAt(block[:min(int64(len(block)), size-at)], at); err != nil {
			return err
		}
	}
	return nil
}

func mapShared(f *os.File, size int64) ([]byte, error) {
	return unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

func unmap(mem []byte) error { return unix.Munmap(mem) }

func openNoFollow(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW, 0)
}
