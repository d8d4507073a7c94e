package host

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
)

// forward returns what turns a plugin's lines into records of the host: plain
// ones at info level, those of a crash at error level, and JSON objects as
// slog or hclog write them at their own level with their own attributes.
func forward(log *slog.Logger) func(stdout bool, line string) {
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
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") || strings.HasPrefix(line, "Traceback ") {
			level = slog.LevelError
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
