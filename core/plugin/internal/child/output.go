package child

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"sync"
	"unicode"
)

const (
	longestLine = 64 << 10 // bytes of one line of output; the rest becomes lines of its own
	keptLines   = 20       // newest lines of standard error kept for an error message
	keptLength  = 400      // bytes kept of each
)

// scanLines calls line for every line of r, without its end. A line that is too
// long comes in parts, so that memory stays bounded.
func scanLines(r io.Reader, line func(string)) {
	in := bufio.NewReaderSize(r, longestLine)
	for {
		b, err := in.ReadSlice('\n')
		if len(b) > 0 {
			line(strings.TrimRight(string(b), "\r\n"))
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// firstLine hands the first line of standard output to one reader.
type firstLine struct {
	mu     sync.Mutex
	text   string
	seen   bool
	unread []byte
	ready  chan struct{} // closed when the line is there, or will never be
	ended  chan struct{} // closed when the output has ended
	closed chan struct{} // closed by the reader
	once   sync.Once
}

func newFirstLine() *firstLine {
	return &firstLine{ready: make(chan struct{}), ended: make(chan struct{}), closed: make(chan struct{})}
}

// set records the first line and reports whether this was it.
func (f *firstLine) set(line string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen {
		return false
	}
	f.seen, f.text, f.unread = true, line, append([]byte(line), '\n')
	close(f.ready)
	return true
}

func (f *firstLine) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.seen {
		close(f.ready)
	}
	close(f.ended)
}

func (f *firstLine) line() (string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return printable(f.text, keptLength), f.seen
}

// Read returns the line, then waits for the end of the output.
func (f *firstLine) Read(b []byte) (int, error) {
	select {
	case <-f.ready:
	case <-f.closed:
		return 0, io.EOF
	}
	f.mu.Lock()
	n := copy(b, f.unread)
	f.unread = f.unread[n:]
	f.mu.Unlock()
	if n > 0 {
		return n, nil
	}
	select {
	case <-f.ended:
	case <-f.closed:
	}
	return 0, io.EOF
}

// Close lets a blocked Read end.
func (f *firstLine) Close() error {
	f.once.Do(func() { close(f.closed) })
	return nil
}

// ring keeps the newest lines, and the line with which a crash began: a trace
// of goroutines would otherwise push its own cause out.
type ring struct {
	mu     sync.Mutex
	kept   []string
	cause  string
	behind int // lines added since cause
}

func (r *ring) add(line string) {
	line = printable(line, keptLength)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cause == "" && (strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")) {
		r.cause, r.behind = line, 0
	}
	if len(r.kept) == keptLines {
		copy(r.kept, r.kept[1:])
		r.kept = r.kept[:keptLines-1]
	}
	r.kept = append(r.kept, line)
	r.behind++
}

func (r *ring) lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	if r.cause != "" && r.behind > keptLines {
		out = append(out, r.cause)
	}
	return append(out, r.kept...)
}

// printable returns s without control characters, cut to limit bytes at a
// character border.
func printable(s string, limit int) string {
	s = strings.Map(func(c rune) rune {
		if c == '\t' {
			return ' '
		}
		if !unicode.IsPrint(c) {
			return unicode.ReplacementChar
		}
		return c
	}, s)
	if len(s) <= limit {
		return s
	}
	cut := limit
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}
