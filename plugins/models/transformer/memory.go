package transformer

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"strings"
)

// availableMemory returns the bytes that this process may still take without
// pushing others out, as the system estimates them, and false where it does not
// say. A limit on the process's group counts.
func availableMemory() (int64, bool) {
	left, known := int64(0), false
	lower := func(n int64) {
		if !known || n < left {
			left, known = max(n, 0), true
		}
	}
	if data, err := os.ReadFile("/proc/meminfo"); err == nil {
		lines := bufio.NewScanner(bytes.NewReader(data))
		for lines.Scan() {
			fields := strings.Fields(lines.Text())
			if len(fields) < 2 || fields[0] != "MemAvailable:" {
				continue
			}
			if kib, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
				lower(kib << 10)
			}
		}
	}
	most, ok := readNumber("/sys/fs/cgroup/memory.max") // "max" where there is none
	current, okToo := readNumber("/sys/fs/cgroup/memory.current")
	if ok && okToo {
		lower(most - current)
	}
	return left, known
}

func readNumber(path string) (int64, bool) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	return n, err == nil
}
