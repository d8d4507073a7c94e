//go:build unix

package host_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lab/core/plugin"
	"lab/core/plugin/host"
	"lab/core/plugin/model"
	"lab/core/plugin/sampler"
)

// serveWord is the hidden subcommand under which the test binary is a plugin.
const serveWord = "plugin-serve"

// TestMain makes this binary the plugins of its own tests: real processes that
// misbehave on demand.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 {
		switch os.Args[1] {
		case serveWord:
			serveAs(os.Args[2])
			os.Exit(99) // unreachable
		case "be-host":
			beHost(os.Args[2])
		case "be-starting-host":
			beStartingHost(os.Args[2])
		case "be-full-host":
			beFullHost(os.Args[2], 1<<12)
		case "be-filling-host":
			beFullHost(os.Args[2], 1<<13) // what 20 rows of 50 scores take, and no more
		}
	}
	// A process with the race detector sleeps for a second before it exits, in
	// case a report is under way; dozens of plugins do so here.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func serveAs(role string) {
	switch role {
	case "good", "other":
		plugin.Serve(plugin.Plugin{Name: role, Version: "1.2.3", Samplers: testSamplers(), Models: []model.Backend{chatter{}}})
	case "needy":
		note(fmt.Sprintf("start-%d", os.Getpid()), "")
		plugin.Serve(plugin.Plugin{Name: role, Version: "1", Samplers: testSamplers(), Environment: []string{"LAB_TEST_DECLARED", "LAB_TEST_NEVER_SET"}})
	case "scripted":
		serveScripted()
	case "greedy":
		plugin.Serve(plugin.Plugin{Name: role, Version: "1", Samplers: testSamplers(), Environment: []string{"LAB_PLUGIN_COOKIE"}})
	case "loud":
		fmt.Println("hello, I am a plugin")
		plugin.Serve(plugin.Plugin{Name: role, Version: "1", Samplers: testSamplers()})
	case "exits":
		fmt.Fprintln(os.Stderr, "cannot find my weights")
		os.Exit(3)
	case "dumb":
		note(fmt.Sprintf("dumb-%d", os.Getpid()), "")
		select {}
	case "deaf": // shakes hands and never answers
		dir, _ := os.MkdirTemp(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "plugin")
		_ = listenAndIgnore(filepath.Join(dir, "s"))
		fmt.Printf("1|1|unix|%s|grpc|\n", filepath.Join(dir, "s"))
		select {}
	case "future":
		fmt.Println("1|2|unix|/nowhere|grpc|")
		select {}
	case "garbage":
		_, _ = os.Stdout.Write([]byte("\x00\x01\xff|\x1b[31mred|||\n"))
		select {}
	case "endless": // a line that never ends
		junk := strings.Repeat("x", 1<<16)
		for {
			if _, err := os.Stdout.WriteString(junk); err != nil {
				os.Exit(1)
			}
		}
	case "tcp":
		fmt.Println("1|1|tcp|127.0.0.1:1|grpc|")
		select {}
	case "undeclared":
		plugin.Serve(plugin.Plugin{Name: role, Version: "1", Samplers: []sampler.Sampler{nameless{}}})
	case "panicking":
		panic("out of cheese")
	case "family": // leaves a grandchild that holds its output open
		cmd := exec.Command("sleep", "3600")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		note("grandchild", fmt.Sprint(cmd.Process.Pid))
		plugin.Serve(plugin.Plugin{Name: role, Version: "1", Samplers: testSamplers()})
	default:
		if serveScenario(role) {
			return
		}
		if call, ok := strings.CutPrefix(role, "giant-"); ok {
			serveRaw(giant(call))
		}
		if form, ok := strings.CutPrefix(role, "fossil-"); ok {
			serveFossil(form)
		}
		serveHostile(role)
	}
}

// note leaves a file for the test that started this process.
func note(name, text string) {
	if os.Getenv("LAB_TEST_DIR") == "" {
		return
	}
	path := filepath.Join(os.Getenv("LAB_TEST_DIR"), name)
	if err := os.WriteFile(path+".tmp", []byte(text), 0o600); err == nil {
		_ = os.Rename(path+".tmp", path)
	}
}

// trip reports whether the test left a wire of this name, and takes it away.
func trip(name string) bool {
	dir := os.Getenv("LAB_TEST_DIR")
	return dir != "" && os.Remove(filepath.Join(dir, name)) == nil
}

// fixture is a host over test plugins, with a folder to talk to them.
type fixture struct {
	*host.Host
	t    *testing.T
	dir  string
	logs *logBook
}

// newHost returns a host whose built-in plugins are the given roles of this
// binary; change may be nil.
func newHost(t *testing.T, change func(*host.Options), roles ...string) *fixture {
	t.Helper()
	f := &fixture{t: t, dir: t.TempDir(), logs: &logBook{}}
	opt := host.Options{Logger: slog.New(f.logs)}
	for _, role := range roles {
		opt.Builtins = append(opt.Builtins, host.Command{Name: role, Argv: host.Self(serveWord, role), Env: []string{"LAB_TEST_DIR=" + f.dir}})
	}
	if change != nil {
		change(&opt)
	}
	h, err := host.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	f.Host = h
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return f
}

// arm lays a trip wire.
func (f *fixture) arm(name string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), nil, 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// noted reports whether a plugin has noted something.
func (f *fixture) noted(name string) bool {
	_, err := os.Stat(filepath.Join(f.dir, name))
	return err == nil
}

// await returns what a plugin noted, waiting for it.
func (f *fixture) await(name string) string {
	f.t.Helper()
	var text []byte
	eventually(f.t, name+" is noted", func() bool {
		var err error
		text, err = os.ReadFile(filepath.Join(f.dir, name))
		return err == nil
	})
	return string(text)
}

// eventually fails the test when ok stays false for a minute: longer than any
// machine takes, so that it decides about whether and not about when.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came about that %s", what)
		}
	}
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil && !zombie(pid) }

// zombie reports whether a process is dead and only waits to be reaped.
func zombie(pid int) bool {
	if runtime.GOOS != "linux" {
		return false
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, after, _ := strings.Cut(string(b), ") ")
	return strings.HasPrefix(after, "Z")
}

// logBook keeps the records of a host.
type logBook struct {
	mu      sync.Mutex
	records []slog.Record
	attrs   []slog.Attr
	parent  *logBook
}

func (b *logBook) Enabled(context.Context, slog.Level) bool { return true }
func (b *logBook) WithGroup(string) slog.Handler            { return b }
func (b *logBook) WithAttrs(attrs []slog.Attr) slog.Handler {
	root := b
	if b.parent != nil {
		root = b.parent
	}
	return &logBook{parent: root, attrs: append(append([]slog.Attr(nil), b.attrs...), attrs...)}
}

func (b *logBook) Handle(_ context.Context, r slog.Record) error {
	root := b
	if b.parent != nil {
		root = b.parent
	}
	r.AddAttrs(b.attrs...)
	root.mu.Lock()
	defer root.mu.Unlock()
	root.records = append(root.records, r)
	return nil
}

// find returns the first record whose message holds text.
func (b *logBook) find(text string) (slog.Record, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.records {
		if strings.Contains(r.Message, text) {
			return r, true
		}
	}
	return slog.Record{}, false
}

// count returns how many records have a message that holds text.
func (b *logBook) count(text string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, r := range b.records {
		if strings.Contains(r.Message, text) {
			n++
		}
	}
	return n
}

func attr(r slog.Record, key string) string {
	out := ""
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == key {
			out = a.Value.String()
		}
		return true
	})
	return out
}
