// Package cells runs the cells of a notebook, a kernel or a prompt, one after the
// other, in one session of scripts.
//
// Here are: running a cell with its output as it comes ([Session.Run]), the end
// of a cell as what a reader sees ([Bundle]), and what an editor asks about a
// text that is being written ([Session.Complete], [Session.Inspect],
// [script.CompletenessOf]), answered from the declarations of the modules and
// the variables of the session. Not here: the file format of notebooks
// (core/notebook) and the protocol of Jupyter (core/kernel).
package cells

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"lab/core/fault"
	"lab/core/script"
)

// DefaultMaxOutput is how many bytes of text and of displays one cell may make.
const DefaultMaxOutput = 32 << 20

// Output takes what a cell puts out while it runs. Its methods are called one at a
// time, in the order of the script.
type Output interface {
	// Stream takes text, valid UTF-8, of "stdout" (print, say) or "stderr"
	// (warnings, progress).
	Stream(name, text string)
	// Display takes a value of show(…).
	Display(Bundle)
}

// Config is what the cells of a session can use.
type Config struct {
	Modules   []script.Module
	Folder    string // of file imports; "" when there are none
	Limits    script.Limits
	MaxOutput int // bytes of one cell; 0 is DefaultMaxOutput
}

// Session runs cells that share their variables. All methods are safe for
// concurrent use; cells wait for each other, and [Session.Complete] and
// [Session.Inspect] for the cell that runs.
type Session struct {
	script *script.Session
	max    int
	turn   sync.Mutex // held by the cell at work

	mu   sync.Mutex // of what follows, and of calls of out
	out  Output     // of the cell at work; nil between cells
	made int        // bytes
}

// New returns a session, or an error when the declaration of a module is wrong.
func New(c Config) (*Session, error) {
	s := &Session{max: c.MaxOutput}
	if s.max <= 0 {
		s.max = DefaultMaxOutput
	}
	inner, err := script.New(script.Config{
		Modules: c.Modules, Folder: c.Folder, Limits: c.Limits,
		Out:  writer{s},
		Show: func(v script.Shown) error { return s.display(bundleOf(v)) },
		Warn: func(w script.Warning) { _ = s.stream("stderr", fmt.Sprintf("warning: %s: %s\n", w.At, w.Text)) },
	})
	s.script = inner
	return s, err
}

// Run runs a cell called name, which positions in messages begin with, and
// returns what to show for its last expression, nil when there is nothing. The
// error is that of [script.Session.Run]; the session stays usable after any.
// A cell that puts out more than the session allows fails with kind limit.
func (s *Session) Run(ctx context.Context, name, src string, out Output) (Bundle, error) {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.mu.Lock()
	s.out, s.made = out, 0
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.out = nil
		s.mu.Unlock()
	}()
	shown, err := s.script.Evaluate(ctx, name, src)
	if err != nil || shown == nil {
		return nil, err
	}
	b := bundleOf(*shown)
	if n := b.size(); n > s.max {
		return nil, tooMuch(s.max)
	}
	return b, nil
}

// Sources returns the files that cells imported, and the cells themselves.
func (s *Session) Sources() []script.Source { return s.script.Sources() }

// Stderr writes to the standard error of the cell at work; between cells the text
// is dropped, as there is no place for it.
func (s *Session) Stderr(text string) { _ = s.stream("stderr", text) }

type writer struct{ s *Session }

func (w writer) Write(p []byte) (int, error) {
	if err := w.s.stream("stdout", string(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

func tooMuch(limit int) error {
	return fault.New(fault.Limit, "cell", "", "it puts out more than %d MiB", limit>>20).Fix("print less, or save it to a file")
}

// count adds n bytes of output; the lock must be held.
func (s *Session) count(n int) error {
	if s.made += n; s.made > s.max {
		return tooMuch(s.max)
	}
	return nil
}

func (s *Session) stream(name, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out == nil || text == "" {
		return nil
	}
	if err := s.count(len(text)); err != nil {
		return err
	}
	s.out.Stream(name, strings.ToValidUTF8(text, "\uFFFD"))
	return nil
}

func (s *Session) display(b Bundle) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out == nil {
		return nil
	}
	if err := s.count(b.size()); err != nil {
		return err
	}
	s.out.Display(b)
	return nil
}

// Traceback returns an error of a cell as the lines a reader sees: the message,
// the line with a caret, the calls that led there.
func Traceback(err error) []string { return strings.Split(script.Detail(err), "\n") }
