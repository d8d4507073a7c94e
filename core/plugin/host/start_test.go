//go:build unix

package host_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
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
		{"partial", time.Hour, []string{`printed "1|1|unix|/tmp" to standard output before the handshake`}},
		{"partial-line", 0, []string{`printed "1|1|unix" to standard output before the handshake`}},
		{"partial-exit", 0, []string{`printed "1|1|unix|" to standard output before the handshake`}},
		{"empty-line", 0, []string{`printed "" to standard output before the handshake`}},
		{"ancient", 0, []string{"protocol 0, this host speaks 1", "rebuild it against core/plugin"}},
		{"elsewhere", 0, []string{"is no socket in the folder it was given"}},
		{"no-socket", 0, []string{"is no socket in the folder it was given"}},
		{"undeclared", 0, []string{"exit status 4", "not snake_case"}},
	} {
		t.Run(tt.role, func(t *testing.T) {
			t.Parallel()
			f := newHost(t, func(o *host.Options) { o.Deadlines.Start = tt.start }, tt.role)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if tt.start == time.Hour { // which is until it has printed what it does
				go func() {
					for !f.noted("printed") {
						time.Sleep(time.Millisecond)
					}
					cancel()
				}()
			}
			_, err := f.Plugin(ctx, tt.role)
			if err == nil {
				t.Fatal("it started")
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
	write("alien", "#!/no/such/interpreter\n", 0o700)
	f := newHost(t, func(o *host.Options) { o.Dirs = []string{dir} })
	if err := os.Remove(filepath.Join(dir, "lab-plugin-gone")); err != nil {
		t.Fatal(err)
	}
	for name, says := range map[string]string{"plain": "is not executable", "binary": "is no program for this machine", "gone": "does not exist", "alien": "names an interpreter that is not there"} {
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

// A folder for temporary files may be called what it likes: sockets lie in it
// where they can have an address there, and elsewhere where they cannot.
func TestOddlyNamedTemporaryFolders(t *testing.T) {
	for _, tt := range []struct {
		name string
		fits bool
	}{
		{"with blanks", true}, {"with ünïcode ✓", true}, {"-rf", true}, {"#a?b&c", true}, {"$HOME;'\"", true},
		{"end|of field", false}, {"end\nof line", false}, {"100%25", false}, {"not \xff UTF-8", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := shortDir(t)
			dir := filepath.Join(root, tt.name)
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			t.Setenv("TMPDIR", dir)
			f := newHost(t, nil, "good")
			m, err := f.OpenModel(context.Background(), "chatter", nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := drive(t, m, func(int) {}); len(got) != 8 {
				t.Errorf("%d rows", len(got))
			}
			if in := len(remains(t, dir)) > 0; in != tt.fits {
				t.Errorf("sockets lie in it: %t", in)
			}
			if w := f.Warnings(); len(w) != 0 {
				t.Errorf("warnings: %q", w)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
			if left := remains(t, dir); len(left) != 0 {
				t.Errorf("left behind: %q", left)
			}
			g := newHost(t, func(o *host.Options) { o.SocketDir = dir }, "good")
			_, err = g.Plugin(context.Background(), "good")
			if (err == nil) != tt.fits || err != nil && !strings.Contains(err.Error(), "which the address of a socket cannot have") {
				t.Errorf("given on purpose: %v", err)
			}
		})
	}
	t.Run("relative", func(t *testing.T) {
		dir := shortDir(t)
		t.Chdir(dir)
		if err := os.Mkdir("here", 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("TMPDIR", "here")
		f := newHost(t, func(o *host.Options) { o.PlaneDir = "here" }, "good")
		m, err := f.OpenModel(context.Background(), "chatter", nil)
		if err != nil {
			t.Fatal(err)
		}
		m.Rows(1)
		t.Chdir("/") // whoever closes the host may have gone elsewhere
		drive(t, m, func(int) {})
		if w := f.Warnings(); len(w) != 0 {
			t.Errorf("warnings: %q", w)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if left := remains(t, dir); len(left) != 0 {
			t.Errorf("left behind: %q", left)
		}
	})
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
	f := newHost(t, func(o *host.Options) { o.Deadlines.Start = time.Hour }, "dumb")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		_, err := f.Plugin(ctx, "dumb")
		done <- err
	}()
	eventually(t, "it is started", func() bool { return len(notedPIDs(t, f.dir)) > 0 })
	cancel()
	if err := <-done; fault.KindOf(err) != fault.Interrupted {
		t.Errorf("error: %v", err)
	}
	if pids := notedPIDs(t, f.dir); slices.ContainsFunc(pids, alive) {
		t.Errorf("its process is still there: %v", pids)
	}
	late, release := context.WithTimeout(context.Background(), time.Millisecond)
	defer release()
	if _, err := f.Plugin(late, "dumb"); fault.KindOf(err) != fault.Limit || strings.Contains(err.Error(), "1h") {
		t.Errorf("the caller's own deadline: %v", err)
	}
}

func TestCloseCutsAStartShort(t *testing.T) {
	f := newHost(t, func(o *host.Options) { o.Deadlines.Start = time.Hour }, "dumb", "good")
	f.Warm("dumb", "good", "unknown")
	eventually(t, "the one that never gets ready is started", func() bool { return len(notedPIDs(t, f.dir)) > 0 })
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// The end of the host waits neither for a call that is not answered nor for a
// plugin that is stopped: it kills them.
func TestCloseEndsWhatDoesNotEndByItself(t *testing.T) {
	f := newHost(t, func(o *host.Options) { o.Deadlines.Call = time.Hour }, "good", "other")
	run := func(plugin, stage string) (*sampler.Item, error) {
		it := &sampler.Item{Scores: dist.NewDense([]float32{1, 2})}
		return it, f.Runner(plugin).Run(context.Background(), &sampler.Call{Stages: stages(stage), Items: []*sampler.Item{it}})
	}
	it, err := run("other", "report")
	if err != nil {
		t.Fatal(err)
	}
	stopped, err := strconv.Atoi(string(it.States[0]))
	if err != nil {
		t.Fatal(err)
	}
	signalAll(t, []int{stopped}, syscall.SIGSTOP)
	f.arm("hang")
	done := make(chan error)
	go func() {
		_, err := run("good", "crash")
		done <- err
	}()
	hung, err := strconv.Atoi(f.await("about to hang"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err == nil || !strings.Contains(err.Error(), "the host was closed during the call") {
		t.Errorf("the call: %v", err)
	}
	for _, pid := range []int{stopped, hung} {
		if alive(pid) {
			t.Errorf("process %d survives", pid)
		}
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
	if err := f.Close(); err != nil { // it would wait for an hour
		t.Fatal(err)
	}
	eventually(t, "the grandchild is gone", func() bool { return !alive(pid) })
}
