package shelf

import (
	"math"

	"golang.org/x/sys/unix"
)

// room returns the bytes that a user may still write to the disk of a folder.
func room(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	if size := uint64(st.Bsize); size == 0 || st.Bavail <= math.MaxInt64/size {
		return int64(st.Bavail * size), nil
	}
	return math.MaxInt64, nil
}
