//go:build unix

package child

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Start starts the program. The error is that of the operating system: no such
// file, no permission, a format it cannot execute.
func Start(cfg Config) (*Process, error) {
	files, err := openPipes()
	if err != nil {
		return nil, err
	}
	cmd, err := startPatiently(func() *exec.Cmd {
		cmd := exec.Command(cfg.Argv[0], cfg.Argv[1:]...)
		cmd.Env = append(append([]string(nil), cfg.Env...), LifelineEnv+"="+strconv.Itoa(lifelineFD))
		cmd.Stdout, cmd.Stderr = files.outW, files.errW
		cmd.ExtraFiles = []*os.File{files.lifeR}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		return cmd
	})
	files.closeChildEnds()
	if err != nil {
		files.closeParentEnds()
		return nil, err
	}
	p := &Process{
		pid: cmd.Process.Pid, path: cfg.Argv[0], keeper: cfg.Keeper, first: newFirstLine(),
		done: make(chan struct{}),
	}
	p.keeper.watch(p.pid)
	p.watch(cmd, files, cfg.Line)
	return p, nil
}

// startPatiently tries again for a while when the file is still open for
// writing: another goroutine that forked while the file was being written holds
// it open until its own exec.
func startPatiently(build func() *exec.Cmd) (*exec.Cmd, error) {
	for wait := 10 * time.Millisecond; ; wait *= 2 {
		cmd := build()
		err := cmd.Start()
		if !errors.Is(err, syscall.ETXTBSY) || wait > time.Second {
			return cmd, err
		}
		time.Sleep(wait)
	}
}

// watch starts the goroutines that read the output and wait for the end.
func (p *Process) watch(cmd *exec.Cmd, files *pipes, line func(bool, string)) {
	var readers sync.WaitGroup
	readers.Add(2)
	go func() {
		defer readers.Done()
		scanLines(files.outR, func(text string) {
			if !p.first.set(text) {
				line(true, text)
			}
		})
	}()
	go func() {
		defer readers.Done()
		scanLines(files.errR, func(text string) {
			p.ring.add(text)
			line(false, text)
		})
	}()
	go func() {
		p.reap(cmd)
		deadline := time.Now().Add(drain)
		_ = files.outR.SetReadDeadline(deadline)
		_ = files.errR.SetReadDeadline(deadline)
		readers.Wait()
		files.closeParentEnds()
		p.first.end()
		close(p.done)
	}()
}

// reap waits for the process, kills what is left of its group and records how
// it ended.
func (p *Process) reap(cmd *exec.Cmd) {
	if waitUnreaped(p.pid) {
		p.mu.Lock()
		defer p.mu.Unlock()
		killGroup(p.pid)
		p.keeper.release(p.pid) // while the number is still taken
		_ = cmd.Wait()
	} else {
		_ = cmd.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		killGroup(p.pid)
		p.keeper.release(p.pid)
	}
	p.reaped = true
	p.ending = cmd.ProcessState.String()
}

func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// pipes are both ends of the child's output and of its lifeline.
type pipes struct{ outR, outW, errR, errW, lifeR, lifeW *os.File }

func openPipes() (*pipes, error) {
	p := &pipes{}
	for _, ends := range []struct{ r, w **os.File }{{&p.outR, &p.outW}, {&p.errR, &p.errW}, {&p.lifeR, &p.lifeW}} {
		r, w, err := os.Pipe()
		if err != nil {
			p.closeChildEnds()
			p.closeParentEnds()
			return nil, err
		}
		*ends.r, *ends.w = r, w
	}
	return p, nil
}

func (p *pipes) closeChildEnds()  { closeAll(p.outW, p.errW, p.lifeR) }
func (p *pipes) closeParentEnds() { closeAll(p.outR, p.errR, p.lifeW) }

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}
