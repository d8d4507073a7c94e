package wire

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
)

// link shows a Child to go-plugin as a runner.
type link struct {
	start  func(env []string) (Child, error)
	env    []string
	folder string // of the socket

	mu        sync.Mutex
	process   Child
	abandoned bool
}

func (l *link) child() Child {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.process
}

// abandon kills the process, or keeps it from being started.
func (l *link) abandon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.abandoned = true
	if l.process != nil {
		l.process.Kill()
	}
}

// Start implements runner.Runner.
func (l *link) Start(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.abandoned {
		return context.Canceled
	}
	process, err := l.start(l.env)
	if err != nil {
		return err
	}
	l.process = process
	return nil
}

// Wait implements runner.AttachedRunner.
func (l *link) Wait(context.Context) error {
	c := l.child()
	<-c.Done()
	if e := c.Ending(); e != "exit status 0" {
		return errors.New(e)
	}
	return nil
}

// Kill implements runner.AttachedRunner.
func (l *link) Kill(context.Context) error {
	if c := l.child(); c != nil {
		c.Kill()
	}
	return nil
}

// Stdout implements runner.Runner.
func (l *link) Stdout() io.ReadCloser { return l.child().Stdout() }

// Stderr implements runner.Runner. The process's own lines are read elsewhere;
// go-plugin takes the end of this stream for the end of the output.
func (l *link) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }
