package transformer

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"strings"

	"lab/core/fault"
	"lab/plugins/models/internal/kernel"
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

// affordable refuses a model whose weights, in the form they are packed in when
// they are first used, are more than the machine has memory for. Weights that are
// computed with where they lie in the file need none of their own.
func (w *weights) affordable(name string, opt options, memory func() (int64, bool)) error {
	packed := int64(0)
	add := func(steps []step) {
		for _, s := range steps {
			for _, t := range s.tensors {
				if t == nil || t.rows == 1 {
					continue
				}
				if form, ok := kernel.Packs(t.format, t.cols, opt.exact); ok {
					packed += int64(form.PackedBytes(t.rows, t.cols))
				}
			}
		}
	}
	for _, layer := range w.block {
		add(layer)
	}
	add(w.head)
	if left, known := memory(); known && packed > left {
		return fault.New(fault.Limit, "open model", name, "its weights take %d MiB of memory, the machine has %d MiB left", packed>>20, left>>20).
			Fix("end other programs, or use a smaller model or one of fewer bits per weight")
	}
	return nil
}
