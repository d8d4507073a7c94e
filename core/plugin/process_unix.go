//go:build unix

package plugin

import (
	"bufio"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"lab/core/plugin/internal/child"
	"lab/core/plugin/internal/wire"
	"lab/core/plugin/plane"
)

// divertStdout makes everything that is printed to standard output, by Go code
// or any other in the process, come out on standard error. The file returned
// leads to the host all the same, for handshake lines alone.
func divertStdout() (greet *os.File, err error) {
	kept, err := unix.Dup(1)
	if err != nil {
		return nil, err
	}
	unix.CloseOnExec(kept)
	if err := unix.Dup2(2, 1); err != nil {
		return nil, err
	}
	os.Stdout = os.Stderr
	host := os.NewFile(uintptr(kept), "handshake")
	lines, greet, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	stderr := os.Stderr
	go func() {
		in := bufio.NewScanner(lines)
		for in.Scan() {
			to := stderr
			if wire.ParseGreeting(in.Text()).Sound {
				to = host
			}
			_, _ = to.WriteString(in.Text() + "\n")
		}
	}()
	return greet, nil
}

// watchLifeline ends the process and its children when the host has died, which
// it learns from the pipe that the host holds open. The host's folders are
// removed as far as they are empty: nobody else is left to do it.
func watchLifeline(planes *plane.Table) {
	signal.Ignore(os.Interrupt) // Ctrl-C is for the host, which then ends us
	fd, err := strconv.Atoi(os.Getenv(child.LifelineEnv))
	if err != nil || fd < 3 {
		return // an older or simpler host; it ends us with a signal
	}
	unix.CloseOnExec(fd)
	lifeline := os.NewFile(uintptr(fd), "lifeline")
	go func() {
		var one [1]byte
		for {
			if n, err := lifeline.Read(one[:]); n == 0 && err != nil {
				break
			}
		}
		tidy(os.Getenv(wire.SocketDirEnv), planes)
		if unix.Getpgrp() == os.Getpid() {
			_ = unix.Kill(0, syscall.SIGKILL)
		}
		os.Exit(1)
	}()
}

// tidy removes what a dead host cannot: sockets, planes, and their folders when
// nothing else is in them.
func tidy(socketDir string, planes *plane.Table) {
	for _, p := range planes.All() {
		_ = p.Remove()
		_ = os.Remove(filepath.Dir(p.Path()))
	}
	if socketDir == "" {
		return
	}
	child.RemoveSockets(socketDir)
	_ = os.Remove(filepath.Dir(socketDir))
}
