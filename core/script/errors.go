package script

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/d5/tengo/v2"
	"github.com/d5/tengo/v2/parser"

	"lab/core/fault"
)

// Position is a place in a script. Line and Column start at 1, Column counts
// bytes; File is relative to the script's folder. The zero value is unknown.
type Position struct {
	File         string
	Line, Column int
}

// String returns "file:line:column", or "-" when unknown.
func (p Position) String() string {
	if p.Line == 0 {
		return "-"
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// trace is the part of an error that knows the script: where it was raised and
// through which calls. It is the Err of the *fault.Error that callers get.
type trace struct {
	text     string
	frames   []Position    // innermost first
	problems []SyntaxError // of a file that does not parse; frames[0] is the first
	source   func(Position) string
	causes   []error
}

func (t *trace) Error() string   { return t.text }
func (t *trace) Unwrap() []error { return t.causes }

// failure returns the error of a script: text at frames[0], of kind.
func (s *Session) failure(kind fault.Kind, text string, frames []Position, causes ...error) *fault.Error {
	e := &fault.Error{Kind: kind, Op: "script", Err: &trace{text: text, frames: frames, source: s.lines(), causes: causes}}
	if len(frames) > 0 {
		e.Subject = frames[0].String()
	}
	return e
}

// raise turns what ended a machine, or a call in thread th without one, into
// the error that Go and try see: nil stays nil without a machine, and means an
// abort with one.
func (s *Session) raise(th *thread, vm *tengo.VM, err error) error {
	if err == nil && vm == nil {
		return nil
	}
	base, frames := err, []Position(nil)
	_, crashed := err.(*machinePanic)
	switch {
	case vm == nil:
	case err == nil:
		frames = s.frames(vm, 1)
	case crashed:
		frames = s.frames(vm, -1)
	default:
		base, frames = unwind(err)
	}
	var inner *trace
	if errors.As(base, &inner) {
		frames = append(append([]Position(nil), inner.frames...), frames...)
	}
	if stop := th.scope.stopped(); stop != nil {
		text := stop.Error()
		if base != nil && inner == nil && !errors.Is(base, context.Canceled) && !errors.Is(base, context.DeadlineExceeded) {
			text += " (during: " + shorten(strings.TrimSuffix(clean(base), ": "+text), 200) + ")"
		}
		if vm != nil {
			if inner == nil { // a host function gave up without saying why
				frames = append(slices.Clone(th.scope.halted), frames...)
			}
			th.scope.halt(frames)
		}
		return s.failure(stop.(*stopped).kind(), text, frames, stop, base)
	}
	kind, text := fault.Script, clean(base)
	var f *fault.Error
	switch {
	case errors.As(base, &f):
		kind = f.Kind
	case errors.Is(base, tengo.ErrObjectAllocLimit):
		kind = fault.Limit
	}
	if inner != nil {
		text = strings.Replace(text, "script: "+inner.frames0()+": ", "", 1)
		text = strings.TrimPrefix(text, "script: ")
	}
	return s.failure(kind, text, frames, base)
}

func (t *trace) frames0() string {
	if len(t.frames) == 0 {
		return "-"
	}
	return t.frames[0].String()
}

// unwind takes the frames off an error of tengo.VM.Run, which wraps the cause
// once per frame, each time adding a line.
func unwind(err error) (cause error, frames []Position) {
	for range tengo.MaxFrames + 1 {
		inner := errors.Unwrap(err)
		if inner == nil {
			break
		}
		at, ok := strings.CutPrefix(err.Error(), inner.Error()+"\n\tat ")
		last := false
		if !ok {
			at, last = strings.CutPrefix(err.Error(), "Runtime Error: "+inner.Error()+"\n\tat ")
		}
		if !ok && !last {
			break
		}
		if p, ok := parsePosition(at); ok {
			frames = append(frames, p)
		}
		err = inner
		if last {
			break
		}
	}
	for i, j := 0, len(frames)-1; i < j; i, j = i+1, j-1 {
		frames[i], frames[j] = frames[j], frames[i]
	}
	return err, frames
}

// parsePosition reads "file:line:column" from the right: a file name may
// contain colons. Lines of trampolines read "-".
func parsePosition(s string) (Position, bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return Position{}, false
	}
	j := strings.LastIndexByte(s[:i], ':')
	if j < 0 {
		return Position{}, false
	}
	line, err1 := strconv.Atoi(s[j+1 : i])
	column, err2 := strconv.Atoi(s[i+1:])
	return Position{File: s[:j], Line: line, Column: column}, err1 == nil && err2 == nil
}

// clean returns the message of err in the words of this package.
func clean(err error) string {
	if crash, ok := err.(*machinePanic); ok {
		text := crash.Error()
		switch {
		case strings.Contains(text, "integer divide by zero"):
			return "integer division by zero; write 1.0*a/b for a division of numbers"
		case strings.Contains(text, "index out of range ["+strconv.Itoa(tengo.StackSize)):
			return fmt.Sprintf("the stack of %d values is full: recursion without an end, or a list, a map or a call with too many values", tengo.StackSize)
		}
		var f *fault.Error
		if e, ok := crash.value.(error); ok && errors.As(e, &f) {
			return f.Error()
		}
		return "the interpreter failed: " + text
	}
	text := err.Error()
	switch {
	case err == tengo.ErrStackOverflow:
		return fmt.Sprintf("calls nested deeper than %d; is the recursion without an end?", tengo.MaxFrames)
	case strings.HasPrefix(text, "not index-assignable: "):
		return text + "; it cannot be changed: make and return a new value"
	case text == "not callable: undefined":
		return "undefined is not a function; a member that does not exist reads as undefined: is its name misspelt?"
	}
	return strings.NewReplacer("user-function:", "", "builtin-function:", "").Replace(text)
}

// Positions returns the frames of an error of a script, innermost first: where
// it was raised, then each call that led there, at most 64. It returns nil for
// other errors.
func Positions(err error) []Position {
	var t *trace
	if !errors.As(err, &t) {
		return nil
	}
	return append([]Position(nil), t.frames[:min(len(t.frames), 64)]...)
}

// Detail returns an error over several lines: the message, the line of the
// script with a caret under the column, the calls that led there (at most
// twelve lines), and every syntax error of a file up to ten. Other errors are
// returned as their message.
func Detail(err error) string {
	if err == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString(err.Error())
	var t *trace
	if !errors.As(err, &t) {
		return b.String()
	}
	if len(t.problems) > 1 {
		for i, p := range t.problems {
			if i == maxProblems {
				fmt.Fprintf(&b, "\n… and %d more", len(t.problems)-i)
				break
			}
			fmt.Fprintf(&b, "\n%s: %s", p.At, p.Text)
			caret(&b, t.source(p.At), p.At)
		}
		return b.String()
	}
	if len(t.frames) > 0 {
		caret(&b, t.source(t.frames[0]), t.frames[0])
		calls(&b, t)
	}
	var st *stack
	if errors.As(err, &st) {
		b.WriteString("\n" + strings.TrimSpace(st.text))
	}
	return b.String()
}

const maxProblems = 10

// calls lists the frames behind the first one; runs of one position, as
// recursion makes, become one line with a count.
func calls(b *strings.Builder, t *trace) {
	var lines []string
	for i := 1; i < len(t.frames); {
		n := 1
		for i+n < len(t.frames) && t.frames[i+n] == t.frames[i] {
			n++
		}
		line := fmt.Sprintf("\n  from %s  %s", t.frames[i], shorten(strings.TrimSpace(t.source(t.frames[i])), 60))
		if n > 1 {
			line += fmt.Sprintf("  (%d times)", n)
		}
		lines = append(lines, line)
		i += n
	}
	for i, line := range lines {
		if i == 10 && len(lines) > 12 {
			fmt.Fprintf(b, "\n  … %d more calls", len(lines)-11)
			line = lines[len(lines)-1]
			b.WriteString(line)
			return
		}
		b.WriteString(line)
	}
}

// caret writes the source line and a caret under the column. Tabs are kept in
// the second line so that both align, and a long line is cut around the place.
func caret(b *strings.Builder, line string, at Position) {
	if line == "" || at.Column < 1 {
		return
	}
	column := min(at.Column-1, len(line)) // the end of a file is one further
	before, after := []rune(line[:column]), []rune(line[column:])
	if len(before) > 80 {
		before = append([]rune("…"), before[len(before)-60:]...)
	}
	if len(after) > 60 {
		after = append(after[:60:60], '…')
	}
	gutter := strconv.Itoa(at.Line)
	fmt.Fprintf(b, "\n  %s | %s%s\n  %s | ", gutter, string(before), string(after), strings.Repeat(" ", len(gutter)))
	for _, r := range before {
		if r != '\t' {
			r = ' '
		}
		b.WriteRune(r)
	}
	b.WriteByte('^')
}

// lines returns a look-up of source lines for messages.
func (s *Session) lines() func(Position) string {
	s.recordMu.Lock()
	texts := s.texts
	s.recordMu.Unlock()
	return func(p Position) string {
		rest := texts[p.File]
		for range p.Line - 1 {
			_, after, ok := strings.Cut(rest, "\n")
			if !ok {
				return ""
			}
			rest = after
		}
		line, _, _ := strings.Cut(rest, "\n")
		return strings.TrimSuffix(line, "\r")
	}
}

// syntaxError returns the error of a file that does not parse, from the
// parser's list.
func (s *Session) syntaxError(list parser.ErrorList) error {
	var problems []SyntaxError
	for _, e := range list {
		at := Position{File: e.Pos.Filename, Line: e.Pos.Line, Column: e.Pos.Column}
		problems = append(problems, SyntaxError{at, strings.TrimPrefix(e.Msg, "Parse Error: ")})
	}
	text := problems[0].Text
	if n := len(problems) - 1; n > 0 {
		text += " (and " + plural(n, "further error") + ")"
	}
	e := s.failure(fault.Script, text, []Position{problems[0].At})
	e.Err.(*trace).problems = problems
	return e
}
