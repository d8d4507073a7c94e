package child

import (
	"errors"

	"golang.org/x/sys/unix"
)

// waitUnreaped waits until the process has ended without reaping it, so that
// its number stays taken, and reports whether it could.
func waitUnreaped(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}
