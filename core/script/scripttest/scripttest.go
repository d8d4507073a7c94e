// Package scripttest runs scripts in the tests of those who write script
// modules: a source goes in with the modules it may import, and its output,
// value, error and warnings come out.
//
// It adds nothing to what a script can do. Start with [Run]; [RunFiles] is for
// scripts that import files.
package scripttest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"lab/core/script"
)

// Timeout ends a script that does not end by itself, so that the test fails and
// does not hang.
const Timeout = 20 * time.Second

// Result is what a script left behind.
type Result struct {
	Output   string // what it printed
	Value    any    // of its last expression, see script.Session.Run
	Err      error
	Warnings []script.Warning
	Sources  []script.Source
}

// Run runs a source called "test.tengo" with the modules.
func Run(t testing.TB, src string, modules ...script.Module) Result {
	t.Helper()
	return RunContext(t, context.Background(), src, modules...)
}

// RunContext is Run with a context, for tests of interrupts and deadlines.
func RunContext(t testing.TB, ctx context.Context, src string, modules ...script.Module) Result {
	t.Helper()
	return run(t, script.Config{Modules: modules}, func(s *script.Session) (any, error) {
		ctx, cancel := context.WithTimeout(ctx, Timeout)
		defer cancel()
		return s.Run(ctx, "test.tengo", src)
	})
}

// RunFiles writes the files, whose names use slashes, to an empty folder and
// runs the one called main there.
func RunFiles(t testing.TB, main string, files map[string]string, modules ...script.Module) Result {
	t.Helper()
	dir := t.TempDir()
	for name, src := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(src), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return run(t, script.Config{Modules: modules}, func(s *script.Session) (any, error) {
		ctx, cancel := context.WithTimeout(context.Background(), Timeout)
		defer cancel()
		return s.RunFile(ctx, filepath.Join(dir, filepath.FromSlash(main)))
	})
}

func run(t testing.TB, config script.Config, f func(*script.Session) (any, error)) Result {
	t.Helper()
	var out bytes.Buffer
	var r Result
	config.Out = &out
	config.Warn = func(w script.Warning) { r.Warnings = append(r.Warnings, w) }
	s, err := script.New(config)
	if err != nil {
		t.Fatal(err)
	}
	r.Value, r.Err = f(s)
	r.Output, r.Sources = out.String(), s.Sources()
	return r
}

// Printed fails the test unless the script succeeded and printed want.
func (r Result) Printed(t testing.TB, want string) {
	t.Helper()
	if r.Err != nil {
		t.Fatal(script.Detail(r.Err))
	}
	if r.Output != want {
		t.Errorf("printed %q, want %q", r.Output, want)
	}
}

// Returned fails the test unless the script succeeded and its value is want, of
// the types that [script.Call.Any] names.
func (r Result) Returned(t testing.TB, want any) {
	t.Helper()
	if r.Err != nil {
		t.Fatal(script.Detail(r.Err))
	}
	if !reflect.DeepEqual(r.Value, want) {
		t.Errorf("returned %v (%T), want %v (%T)", r.Value, r.Value, want, want)
	}
}

// Failed fails the test unless the script failed with a message that contains
// every part.
func (r Result) Failed(t testing.TB, parts ...string) {
	t.Helper()
	if r.Err == nil {
		t.Fatalf("no error, want one with %q; printed %q", parts, r.Output)
	}
	for _, p := range parts {
		if !strings.Contains(r.Err.Error(), p) {
			t.Errorf("error %q does not contain %q", r.Err, p)
		}
	}
}
