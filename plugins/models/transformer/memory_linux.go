package transformer

import "golang.org/x/sys/unix"

// largePages maps n zero bytes, in large pages where the system has some: with
// pages of 4 KiB, looking up addresses is a good part of reading a model once. It
// returns nil when the system refuses.
func largePages(n int) []byte {
	m, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil
	}
	_ = unix.Madvise(m, unix.MADV_HUGEPAGE) // a wish
	return m
}

func unmap(m []byte) { _ = unix.Munmap(m) } // of memory that largePages has mapped: it cannot fail
