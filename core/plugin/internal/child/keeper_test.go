//go:build unix

package child

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// group starts a process in a group of its own that ignores what it can.
func group(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", "trap '' HUP INT TERM; sleep 3600 & wait; sleep 3600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	return cmd
}

// ended reports whether a process has ended. A signal of 0 would not tell: one
// that nobody has waited for can still be sent it.
func ended(t *testing.T, cmd *exec.Cmd) bool {
	t.Helper()
	pid, err := syscall.Wait4(cmd.Process.Pid, nil, syscall.WNOHANG, nil)
	if err != nil {
		t.Fatal(err)
	}
	return pid != 0
}

func keeper(t *testing.T) *Keeper {
	t.Helper()
	k, err := StartKeeper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k
}

func folder(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, "plane-1"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// die does to the keeper what the end of this process would.
func (k *Keeper) die() {
	k.mu.Lock()
	defer k.mu.Unlock()
	_ = k.in.Close()
	k.in = nil
}

// After the end of its parent the keeper kills the groups it was told of, even
// stopped ones, and removes the folders; what it was told to release, and what
// it was not told of, it leaves alone.
func TestKeeperEndsWhatIsLeft(t *testing.T) {
	k := keeper(t)
	left, stopped, released, stranger := group(t), group(t), group(t), group(t)
	if err := syscall.Kill(stopped.Process.Pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	k.watch(released.Process.Pid)
	k.watch(left.Process.Pid)
	k.watch(stopped.Process.Pid)
	k.release(released.Process.Pid)
	mine, other := folder(t, "a folder"), folder(t, "other")
	k.Folder(mine)
	k.die()
	for _, cmd := range []*exec.Cmd{left, stopped} {
		if err := cmd.Wait(); err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Errorf("a group ended with %v", err)
		}
	}
	<-k.done
	for _, cmd := range []*exec.Cmd{released, stranger} {
		if ended(t, cmd) {
			t.Error("a group that was not the keeper's is gone")
		}
	}
	if _, err := os.Stat(mine); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("another folder is gone: %v", err)
	}
}

// What was given a path in one of the folders ends too, although the keeper was
// told nothing of it: it was started a moment before the end, or has left its
// group.
func TestKeeperFindsWhatItWasNotToldOf(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		return // it has nothing to find it by
	}
	k := keeper(t)
	mine, other := folder(t, "a folder"), folder(t, "a folder too")
	in := func(env string) *exec.Cmd {
		cmd := exec.Command("sleep", "3600")
		cmd.Env = append(os.Environ(), env)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		return cmd
	}
	ours, foreign := in("SOCKETS="+mine+"/1"), in("SOCKETS="+other+"/1")
	k.Folder(mine)
	k.die()
	<-k.done
	_ = ours.Process.Signal(syscall.SIGTERM) // ends what was left alone
	if err := ours.Wait(); err == nil || ours.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("it ended with %v", err)
	}
	if ended(t, foreign) {
		t.Error("a process of another folder is gone")
	}
}

// A keeper that is closed does nothing, and is gone.
func TestClosedKeeperLeavesEverythingAlone(t *testing.T) {
	k := keeper(t)
	g, dir := group(t), folder(t, "mine")
	k.watch(g.Process.Pid)
	k.Folder(dir)
	k.Close()
	k.Close()
	if err := syscall.Kill(k.process.Pid, 0); err == nil {
		t.Error("the keeper is still there")
	}
	if ended(t, g) {
		t.Error("the group is gone")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("the folder is gone: %v", err)
	}
}

// Paths that could be read as several, or as an option, harm nothing.
func TestKeeperTakesPathsAsTheyAre(t *testing.T) {
	k := keeper(t)
	base := t.TempDir()
	for _, name := range []string{"* ", "-rf", `a\b`, "$HOME", "innocent"} {
		if err := os.Mkdir(filepath.Join(base, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	k.Folder(filepath.Join(base, "*"))
	k.Folder(filepath.Join(base, "-rf"))
	k.Folder(filepath.Join(base, `a\b`))
	k.Folder(filepath.Join(base, "$HOME"))
	k.Folder(filepath.Join(base, "innocent\n/ "+base)) // not told at all
	k.die()
	<-k.done
	left, err := os.ReadDir(base)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range left {
		names = append(names, e.Name())
	}
	if strings.Join(names, ",") != "* ,innocent" {
		t.Errorf("left: %q", names)
	}
}

// One that was killed, or does not read, holds nobody up.
func TestDeadOrStoppedKeeperIsDoneWithout(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		k := keeper(t)
		if err := syscall.Kill(k.process.Pid, sig); err != nil {
			t.Fatal(err)
		}
		if sig == syscall.SIGKILL {
			<-k.done
		}
		for i := range 50 {
			k.watch(1000000 + i)
		}
		k.Close()
	}
	var none *Keeper
	none.watch(1)
	none.Folder("/nowhere")
	none.Close()
}

// A keeper that was stopped until its input was full, and wakes up when that is
// closed, does not take it for the end of this process.
func TestKeeperThatWasGivenUpDoesNothing(t *testing.T) {
	k := keeper(t)
	g := group(t)
	k.watch(g.Process.Pid)
	if err := syscall.Kill(k.process.Pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	line := strings.Repeat("x", 1<<12)
	for range 1 << 8 { // more than any pipe holds
		k.tell(line)
	}
	_ = syscall.Kill(k.process.Pid, syscall.SIGCONT)
	<-k.done
	if ended(t, g) {
		t.Error("the group is gone")
	}
}

// A program started under a keeper is told to it, and released before its number
// can be another's.
func TestProcessesAreWatchedWhileTheyLive(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	k := &Keeper{in: w, done: make(chan struct{})}
	p, err := Start(Config{Argv: []string{"/bin/sh", "-c", "exit 0"}, Env: os.Environ(), Line: func(bool, string) {}, Keeper: k})
	if err != nil {
		t.Fatal(err)
	}
	await(t, p)
	k.die()
	b := make([]byte, 100)
	n, _ := r.Read(b)
	pid := strconv.Itoa(p.PID())
	if got := string(b[:n]); got != "+ "+pid+"\n- "+pid+"\n" {
		t.Errorf("the keeper was told %q", got)
	}
}
