package host

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
)

// crashes are the lines by which a plugin's processes said that they ended. Each is
// an error once: a start that fails is tried again by whoever needs the plugin next.
type crashes struct {
	mu   sync.Mutex
	said map[string]bool
}

// mostCrashes bounds what is remembered of a plugin that always has another reason.
const mostCrashes = 64

// level is that of a line by which a process ended.
func (c *crashes) level(line string) slog.Level {
	line = line[:min(len(line), 400)]
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.said[line] {
		return slog.LevelInfo
	}
	if len(c.said) < mostCrashes {
		if c.said == nil {
			c.said = map[string]bool{}
		}
		c.said[line] = true
	}
	return slog.LevelError
}

// forward returns what turns the lines of one process into records of the host:
// plain ones at info level, that which names a crash at error level (a Go panic's
// first, the exception below a Python traceback), and JSON objects as slog or hclog
// write them at their own level with their own attributes.
func forward(log *slog.Logger, seen *crashes) func(stdout bool, line string) {
	traceback := false // only standard error is read so, by one goroutine
	return func(stdout bool, line string) {
		ctx := context.Background()
		if stdout {
			log.InfoContext(ctx, line, "stream", "stdout")
			return
		}
		if level, msg, attrs, ok := structured(line); ok {
			log.Log(ctx, level, msg, attrs...)
			return
		}
		level := slog.LevelInfo
		switch {
		case strings.HasPrefix(line, "Traceback "):
			traceback = true
		case traceback && line != "" && line[0] != ' ':
			traceback = false
			level = seen.level(line)
		case strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: "):
			level = seen.level(line)
		}
		log.Log(ctx, level, line)
	}
}

// structured reads a line that is a JSON object with a level and a message.
func structured(line string) (level slog.Level, msg string, attrs []any, ok bool) {
	if !strings.HasPrefix(line, "{") {
		return 0, "", nil, false
	}
	var fields map[string]any
	if json.Unmarshal([]byte(line), &fields) != nil {
		return 0, "", nil, false
	}
	text := func(keys ...string) string {
		for _, k := range keys {
			if s, ok := fields[k].(string); ok {
				delete(fields, k)
				return s
			}
		}
		return ""
	}
	name, msg := text("level", "@level"), text("msg", "@message")
	if name == "" || msg == "" {
		return 0, "", nil, false
	}
	if level.UnmarshalText([]byte(name)) != nil { // hclog's trace is below all of slog's
		level = slog.LevelDebug
	}
	_ = text("time", "@timestamp") // ours is close enough, and one clock
	keys := make([]string, 0, len(fields))
	for k := range fields {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		attrs = append(attrs, k, fields[k])
	}
	return level, msg, attrs, true
}
