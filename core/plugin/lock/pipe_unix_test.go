//go:build unix

package lock

import (
	"syscall"
	"testing"
)

func pipe(t *testing.T, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}
