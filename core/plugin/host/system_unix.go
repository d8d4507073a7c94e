//go:build unix

package host

import (
	"errors"
	"syscall"
)

// notExecutable reports whether an error of starting a program says that the
// file is no program for this machine.
func notExecutable(err error) bool { return errors.Is(err, syscall.ENOEXEC) }
