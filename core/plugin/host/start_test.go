//go:build unix

package host_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/host"
	"lab/core/plugin/sampler"
)

// Each way of not becoming a plugin ends with one line that says what happened
// and what to do.
func TestFailedStartsAreExplained(t *testing.T) {
	for _, tt := range []struct {
		role  string
		start time.Duration
		says  []string
	}{
		{"loud", 0, []string{`printed "hello, I am a plugin" to standard output before the handshake`, "standard error"}},
		{"exits", 0, []string{"ended before the handshake (exit status 3)", "cannot find my weights"}},
		{"panicking", 0, []string{"exit status 2", "panic: out of cheese"}},
		{"dumb", time.Second, []string{"no handshake within 1s"}},
		{"deaf", time.Second, []string{"within 1s"}},
		{"future", 0, []string{"protocol 2, this host speaks 1", "rebuild it against core/plugin"}},
		{"garbage", 0, []string{"to standard output before the handshake"}},
		{"endless", 0, []string{"to standard output before the handshake"}},
		{"tcp", 0, []string{"unix socket"}},
		{"undeclared", 0, []string{"exit status 4", "not snake_case"}},
	} {
		t.Run(tt.role, func(t *testing.T) {
			t.Parallel()
			f := newHost(t, func(o *host.Options) { o.Deadlines.Start = tt.start }, tt.role)
			start := time.Now()
			_, err := f.Plugin(context.Background(), tt.role)
			if err == nil {
				t.Fatal("it started")
			}
			if d := time.Since(start); d > 4*time.Second {
				t.Errorf("it took %v", d)
			}
			for _, s := range append(tt.says, strconv.Quote(tt.role)) {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("the error lacks %q: %v", s, err)
				}
			}
			if fault.KindOf(err) != fault.Plugin || strings.Contains(err.Error(), "\n") {
				t.Errorf("kind %v, message %q", fault.KindOf(err), err.Error())
			}
		})
	}
}

func TestUnusableExecutablesAreExplained(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(dir, "lab-plugin-"+name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("plain", "#!/bin/sh\n", 0o600)
	write("binary", "\x7fELF but not really", 0o700)
	write("gone", "#!/bin/sh\n", 0o700)
	f := newHost(t, func(o *host.Options) { o.Dirs = []string{dir} })
	if err := os.Remove(filepath.Join(dir, "lab-plugin-gone")); err != nil {
		t.Fatal(err)
	}
	for name, says := range map[string]string{"plain": "is not executable", "binary": "is no program for this machine", "gone": "does not exist"} {
		_, err := f.Plugin(context.Background(), name)
		if err == nil || !strings.Contains(err.Error(), says) || fault.KindOf(err) != fault.Plugin {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A folder for temporary files whose path is too long for a socket is not used
// (FR-35); one given on purpose is refused with its length.
func TestLongSocketFolders(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("long/", 30))
	if err := os.MkdirAll(long, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", long)
	f := newHost(t, nil, "good")
	if _, err := f.Plugin(context.Background(), "good"); err != nil {
		t.Errorf("with a long TMPDIR: %v", err)
	}
	g := newHost(t, func(o *host.Options) { o.SocketDir = long }, "good")
	_, err := g.Plugin(context.Background(), "good")
	if err == nil || !strings.Contains(err.Error(), "too long for the address of a socket") {
		t.Errorf("with a long folder given: %v", err)
	}
}

func TestUnwritableSocketFolder(t *testing.T) {
	for name, dir := range map[string]string{"absent": "/proc/absent", "a file": "/dev/null"} {
		f := newHost(t, func(o *host.Options) { o.SocketDir = dir }, "good")
		_, err := f.Plugin(context.Background(), "good")
		if err == nil || fault.KindOf(err) != fault.Plugin || !strings.Contains(err.Error(), "TMPDIR") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Starts that their caller gives up do not linger.
func TestCancelledStart(t *testing.T) {
	f := newHost(t, nil, "dumb")
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := f.Plugin(ctx, "dumb")
	if fault.KindOf(err) != fault.Limit && fault.KindOf(err) != fault.Plugin || time.Since(start) > 3*time.Second {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
}

func TestCloseCutsAStartShort(t *testing.T) {
	f := newHost(t, nil, "dumb", "good")
	f.Warm("dumb", "good", "unknown")
	time.Sleep(50 * time.Millisecond)
	start := time.Now()
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if d := time.Since(start); d > 3*time.Second {
		t.Errorf("closing took %v", d)
	}
}

// A grandchild that keeps the output open neither delays the end nor survives
// it (FR-37).
func TestGrandchildrenEndWithTheirPlugin(t *testing.T) {
	f := newHost(t, nil, "family")
	it := &sampler.Item{Scores: dist.NewDense([]float32{1, 2})}
	if err := f.Runner("family").Run(context.Background(), &sampler.Call{Stages: stages("halve"), Items: []*sampler.Item{it}}); err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(f.await("grandchild"))
	if err != nil {
		t.Fatal(err)
	}
	if !alive(pid) {
		t.Fatal("the grandchild is not there to begin with")
	}
	start := time.Now()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("closing took %v", d)
	}
	eventually(t, "the grandchild is gone", func() bool { return !alive(pid) })
}

// A host killed with SIGKILL takes its plugins, their children, sockets and
// planes with it within two seconds (FR-33).
func TestPluginsDieWithTheirHost(t *testing.T) {
	dir, err := os.MkdirTemp("", "lt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	cmd, pids := startHost(t, dir)
	if len(pids) != 2 || !alive(pids[0]) || !alive(pids[1]) {
		t.Fatalf("plugins %v", pids)
	}
	text, err := os.ReadFile(filepath.Join(dir, "grandchild"))
	if err != nil {
		t.Fatal(err)
	}
	grandchild, err := strconv.Atoi(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if left := remains(t, dir); len(left) < 3 {
		t.Fatalf("only %v to clean up", left)
	}
	killed := time.Now()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	eventually(t, "all processes are gone", func() bool { return !alive(pids[0]) && !alive(pids[1]) && !alive(grandchild) })
	if d := time.Since(killed); d > 2*time.Second {
		t.Errorf("it took %v", d)
	}
	if left := remains(t, dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// remains lists the folders, sockets and planes of hosts in a folder.
func remains(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err == nil && strings.Contains(path, "lab-plug-") {
			out = append(out, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What a killed host and its killed plugins left is swept by the next host, and
// nothing else is.
func TestRemainsOfDeadHostsAreSwept(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-time.Hour)
	make := func(name string, files ...string) string {
		path := filepath.Join(dir, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			full := filepath.Join(path, f)
			if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(full, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
		return path
	}
	dead := make("lab-plug-1", "plane-1")
	precious := make("lab-plug-2", "thesis.txt")
	young := make("lab-plug-3", "plane-1")
	other := make("lab-plug-mine", "plane-1")
	if err := os.Chtimes(young, time.Now(), time.Now()); err != nil {
		t.Fatal(err)
	}
	live := newHost(t, func(o *host.Options) { o.SocketDir = dir }, "good")
	if _, err := live.Plugin(context.Background(), "good"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dead); !os.IsNotExist(err) {
		t.Error("a dead host's folder stays")
	}
	for _, path := range []string{filepath.Join(precious, "thesis.txt"), filepath.Join(young, "plane-1"), filepath.Join(other, "plane-1")} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s is gone", path)
		}
	}
	if runtime.GOOS != "linux" {
		return // locks of one process do not exclude each other everywhere
	}
	for _, path := range remains(t, dir) { // a folder in use is not swept, however old
		if filepath.Dir(path) == dir {
			_ = os.Chtimes(path, old, old)
		}
	}
	second := newHost(t, func(o *host.Options) { o.SocketDir = dir }, "good")
	if _, err := second.Plugin(context.Background(), "good"); err != nil {
		t.Fatal(err)
	}
	it := &sampler.Item{Scores: dist.NewDense([]float32{1, 2})}
	if err := live.Runner("good").Run(context.Background(), &sampler.Call{Stages: stages("halve"), Items: []*sampler.Item{it}}); err != nil {
		t.Errorf("the first host is disturbed: %v", err)
	}
	if info, _ := live.Plugin(context.Background(), "good"); info.Restarts != 0 {
		t.Errorf("its plugin had to be started again")
	}
}
