package machine

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// CPU returns the processor's name as the system gives it, on one line; where it
// gives none, the architecture.
func CPU() string {
	if data, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(data)) {
			name, value, _ := strings.Cut(line, ":")
			if value = strings.Join(strings.Fields(value), " "); strings.TrimSpace(name) == "model name" && value != "" {
				return value
			}
		}
	}
	return runtime.GOARCH
}

// Load returns how many threads wanted to run, on average over the last minute,
// nil where the system does not say.
func Load() *float64 {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return nil
	}
	first, _, _ := strings.Cut(string(data), " ")
	n, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return nil
	}
	return &n
}
