//go:build unix

package child

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// sh starts a shell script and collects its lines.
func sh(t *testing.T, script string) (*Process, *lineBook) {
	t.Helper()
	book := &lineBook{}
	p, err := Start(Config{Argv: []string{"/bin/sh", "-c", script}, Env: os.Environ(), Line: book.add})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.KillAndWait(time.Minute) })
	return p, book
}

type lineBook struct {
	mu    sync.Mutex
	lines []string
}

func (b *lineBook) add(stdout bool, line string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, fmt.Sprintf("%t %s", stdout, line))
}

func (b *lineBook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.lines, "\n")
}

// await fails the test when the process does not end within a minute: longer
// than any machine takes, so that it decides about whether and not about when.
func await(t *testing.T, p *Process) {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(time.Minute):
		t.Fatal("the process does not end")
	}
}

func TestOutputIsSorted(t *testing.T) {
	p, book := sh(t, `echo first; echo second; echo oops >&2; exit 3`)
	out := bufio.NewReader(p.Stdout())
	if line, err := out.ReadString('\n'); err != nil || line != "first\n" {
		t.Errorf("%q, %v", line, err)
	}
	await(t, p)
	if _, err := out.ReadByte(); err == nil {
		t.Error("more than the first line is handed out")
	}
	if first, ok := p.FirstLine(); !ok || first != "first" {
		t.Errorf("first line %q %t", first, ok)
	}
	if p.Ending() != "exit status 3" {
		t.Errorf("ending %q", p.Ending())
	}
	if s := book.String(); !strings.Contains(s, "true second") || !strings.Contains(s, "false oops") || strings.Contains(s, "first") {
		t.Errorf("lines:\n%s", s)
	}
	if last := p.LastLines(); len(last) != 1 || last[0] != "oops" {
		t.Errorf("last lines %q", last)
	}
}

func TestSilentProcess(t *testing.T) {
	p, _ := sh(t, `exit 0`)
	await(t, p)
	if _, ok := p.FirstLine(); ok || p.Ending() != "exit status 0" || len(p.LastLines()) != 0 {
		t.Errorf("ending %q, lines %q", p.Ending(), p.LastLines())
	}
	if _, err := p.Stdout().Read(make([]byte, 8)); err == nil {
		t.Error("there is nothing to read")
	}
	p.Kill() // of a process that is gone: harmless
}

// A grandchild that keeps the output open delays nothing and is ended.
func TestGroupEndsWithItsLeader(t *testing.T) {
	p, _ := sh(t, `sleep 3600 & echo $!; exit 0`)
	await(t, p)
	line, _ := p.FirstLine()
	var pid int
	if _, err := fmt.Sscan(line, &pid); err != nil {
		t.Fatal(err)
	}
	gone := func() bool {
		if syscall.Kill(pid, 0) != nil {
			return true
		}
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // dead, and not yet reaped by whoever adopted it
		return err == nil && strings.Contains(string(b), ") Z ")
	}
	for end := time.Now().Add(time.Minute); !gone(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the grandchild lives on")
		}
	}
}

func TestKillReachesStoppedProcesses(t *testing.T) {
	p, _ := sh(t, `kill -STOP $$`)
	time.Sleep(20 * time.Millisecond)
	if err := p.KillAndWait(time.Minute); err != nil {
		t.Fatal(err)
	}
	if p.Ending() != "signal: killed" {
		t.Errorf("ending %q", p.Ending())
	}
}

// The lifeline is open while the parent lives, and standard input is not.
func TestLifelineAndInput(t *testing.T) {
	p, book := sh(t, `[ "$`+LifelineEnv+`" = 3 ] || echo "wrong number" >&2
cat; echo "input ended" >&2
(cat <&3; echo "lifeline ended" >&2) & sleep 0.2`)
	await(t, p)
	if s := book.String(); s != "false input ended" {
		t.Errorf("lines:\n%s", s)
	}
}

func TestEndlessLinesAreBounded(t *testing.T) {
	p, book := sh(t, `head -c 300000 /dev/zero | tr '\0' x >&2`)
	await(t, p)
	if n := strings.Count(book.String(), "\n") + 1; n < 4 || n > 10 {
		t.Errorf("%d lines", n)
	}
	for _, l := range p.LastLines() {
		if len(l) > keptLength+len("…") {
			t.Errorf("a line of %d bytes is kept", len(l))
		}
	}
}

func TestTheBeginningOfAPanicIsKept(t *testing.T) {
	p, _ := sh(t, `echo early >&2; echo "panic: out of cheese" >&2; i=0; while [ $i -lt 60 ]; do echo "trace $i" >&2; i=$((i+1)); done`)
	await(t, p)
	last := p.LastLines()
	if len(last) != keptLines+1 || last[0] != "panic: out of cheese" || last[keptLines] != "trace 59" {
		t.Errorf("%q", last)
	}
}

func TestStartErrorsAreThoseOfTheSystem(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{"/does/not/exist": fs.ErrNotExist, plain: fs.ErrPermission} {
		if _, err := Start(Config{Argv: []string{path}, Line: func(bool, string) {}}); !errors.Is(err, want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// A program written a moment ago can be started although another goroutine may
// have forked while it was open.
func TestFreshExecutables(t *testing.T) {
	var wg sync.WaitGroup
	dir := t.TempDir()
	for i := range 8 {
		wg.Go(func() {
			path := filepath.Join(dir, fmt.Sprint(i))
			if err := os.WriteFile(path, []byte("#!/bin/sh\nexit 5\n"), 0o700); err != nil {
				t.Error(err)
				return
			}
			p, err := Start(Config{Argv: []string{path}, Line: func(bool, string) {}})
			if err != nil {
				t.Error(err)
				return
			}
			<-p.Done()
			if p.Ending() != "exit status 5" {
				t.Errorf("ending %q", p.Ending())
			}
		})
	}
	wg.Wait()
}

func TestRemoveSocketsSparesFiles(t *testing.T) {
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for _, d := range []string{a, b} {
		if err := os.MkdirAll(filepath.Join(d, "plugin-dir1"), 0o700); err != nil {
			t.Fatal(err)
		}
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(d, "plugin1")})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		_ = l.Close()
	}
	if err := os.WriteFile(filepath.Join(b, "thesis.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	RemoveSockets(a)
	RemoveSockets(b)
	if _, err := os.Stat(a); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the folder of a socket stays")
	}
	if left, _ := os.ReadDir(b); len(left) != 1 || left[0].Name() != "thesis.txt" {
		t.Errorf("left: %v", left)
	}
}
