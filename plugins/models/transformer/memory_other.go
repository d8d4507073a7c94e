//go:build !linux

package transformer

// largePages has no way to ask for them here; the heap serves.
func largePages(int) []byte { return nil }

func unmap([]byte) {}
