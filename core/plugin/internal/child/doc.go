// Package child runs one program that can neither outlive, block nor flood its
// parent.
//
// The program gets a process group of its own, no standard input, and a
// lifeline: the reading end of a pipe whose writing end only this process
// holds, so that it reads end-of-file when the parent is gone for whatever
// reason. Its output is read line by line; reading ends soon after the process
// does, even when a grandchild keeps the pipe open. The group is killed before
// its leader is reaped, so the signal cannot reach a stranger.
//
// A child that hangs, is stopped or ignores its lifeline would outlive a parent
// that was killed; a [Keeper], a small process that outlives the parent by two
// seconds, ends it. Parent-death signals (PR_SET_PDEATHSIG) were refused: only
// one system has them, they follow the thread that started the child, and they
// would kill the well-behaved child before it has tidied up.
//
// A grandchild that leaves the process group is out of reach while this process
// lives; the Keeper finds it by its environment where there is /proc.
//
// The package knows nothing of gRPC or of what the program is for. Start with
// [Start].
package child

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// LifelineEnv names the environment variable with the number of the lifeline's
// file descriptor in the child.
const LifelineEnv = "LAB_PLUGIN_LIFELINE"

// lifelineFD is the descriptor of the first extra file, after the three
// standard ones.
const lifelineFD = 3

// drain is how long output is still read after the process has ended. What it
// wrote is in the pipe by then; only a grandchild could add to it.
const drain = 250 * time.Millisecond

// Config describes the program to start.
type Config struct {
	Argv []string // the program and its arguments
	Env  []string // the whole environment, "KEY=VALUE"
	// Line receives each line of standard error, and each line of standard output
	// after the first. Calls come from two goroutines, and end before Done does.
	Line func(stdout bool, line string)
	// Keeper ends the program when this process is killed; nil: nobody does.
	Keeper *Keeper
}

// Process is a running or ended program. Its methods are safe for concurrent
// use.
type Process struct {
	pid    int
	path   string
	keeper *Keeper
	first  *firstLine
	ring   ring
	done   chan struct{}

	mu     sync.Mutex
	reaped bool
	ending string
}

// PID returns the number of the process and of its group.
func (p *Process) PID() int { return p.pid }

// Path returns the program's path as it was started.
func (p *Process) Path() string { return p.path }

// Done is closed when the process has ended, its group is killed and its output
// is read.
func (p *Process) Done() <-chan struct{} { return p.done }

// Stdout yields the first line of standard output, then blocks, and ends when
// the output does.
func (p *Process) Stdout() io.ReadCloser { return p.first }

// FirstLine returns the first line of standard output without its newline, cut
// to a printable length, and whether there was one.
func (p *Process) FirstLine() (string, bool) { return p.first.line() }

// LastLines returns the newest lines of standard error, oldest first, the
// beginning of a panic or a fatal error in front when it has scrolled away.
func (p *Process) LastLines() []string { return p.ring.lines() }

// Ending says how the process ended: "exit status 3", "signal: killed". It is
// empty while the process runs.
func (p *Process) Ending() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ending
}

// Kill ends the process and its group at once, stopped ones too. It does not
// wait: Done tells when the end has come.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		killGroup(p.pid)
	}
}

// KillAndWait kills the process and waits for its end, at most for limit. It
// returns an error when the process is still there: it hangs in the kernel.
func (p *Process) KillAndWait(limit time.Duration) error {
	p.Kill()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.done:
		return nil
	case <-timer.C:
		return fmt.Errorf("process %d did not end within %v of SIGKILL", p.pid, limit)
	}
}
