package host

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// What names a crash is an error once; all else is told to those who ask.
func TestACrashIsNamedOnce(t *testing.T) {
	python := []string{"Traceback (most recent call last):", `  File "x.py", line 2, in <module>`, "    import gone", "ModuleNotFoundError: No module named 'gone'"}
	chained := []string{"Traceback (most recent call last):", "  a", "KeyError: 'a'", "", "During handling of the above exception, another exception occurred:", "",
		"Traceback (most recent call last):", "  b", "ValueError: b"}
	golang := []string{"panic: index out of range [3]", "", "goroutine 1 [running]:", "main.main()", "\t/x/main.go:3"}
	for _, r := range []struct {
		name      string
		processes [][]string
		want      []string
	}{
		{"Python's exception, not the header above it", [][]string{python}, []string{python[3]}},
		{"of starts that fail alike", [][]string{python, python, python, python}, []string{python[3]}},
		{"of starts that fail otherwise", [][]string{python, golang, python, golang}, []string{python[3], golang[0]}},
		{"of a chain of exceptions each", [][]string{chained}, []string{"KeyError: 'a'", "ValueError: b"}},
		{"a traceback that is cut short", [][]string{python[:3], {"an ordinary line"}}, nil},
		{"a fatal error", [][]string{{"fatal error: all goroutines are asleep - deadlock!"}}, []string{"fatal error: all goroutines are asleep - deadlock!"}},
		{"no crash", [][]string{{"hello", "Tracebacks are rare", "a panic: no"}}, nil},
	} {
		t.Run(r.name, func(t *testing.T) {
			var out bytes.Buffer
			log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelInfo, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					return slog.Attr{}
				}
				return a
			}}))
			seen, lines := &crashes{}, 0
			for _, p := range r.processes {
				line := forward(log, seen)
				for _, l := range p {
					line(false, l)
					lines++
				}
			}
			var got []string
			records := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			for _, l := range records {
				if msg, ok := strings.CutPrefix(l, "level=ERROR msg="); ok {
					got = append(got, strings.Trim(msg, `"`))
				}
			}
			if strings.Join(got, "\n") != strings.Join(r.want, "\n") {
				t.Errorf("errors %q, want %q", got, r.want)
			}
			if len(records) != lines {
				t.Errorf("%d records of %d lines", len(records), lines)
			}
		})
	}
}

// A plugin that has another reason each time is not remembered without end.
func TestCrashesAreRememberedWithinBounds(t *testing.T) {
	c := &crashes{}
	for i := range 10 * mostCrashes {
		if c.level(strings.Repeat("x", i)) != slog.LevelError && i <= 400 {
			t.Errorf("reason %d was told before", i)
		}
	}
	if len(c.said) != mostCrashes {
		t.Errorf("%d are remembered", len(c.said))
	}
	if c.level("") != slog.LevelInfo {
		t.Error("the first reason is forgotten")
	}
}
