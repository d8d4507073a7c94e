// Package fault is the one shape of an error in lab: an operation, its subject,
// what is wrong with the value given, and what to do about it, with a kind that
// decides the exit code of the command.
//
// It knows nothing of plugins, scripts or terminals. Start with [New]; ask for
// a kind with [KindOf].
package fault

import (
	"errors"
	"fmt"
	"strings"
)

// Kind says whose doing an error is. Kinds are append-only: their numbers are
// exit codes and cross the plugin border.
type Kind uint8

// The kinds, each with the exit code of the same number plus one (see
// [Kind.ExitCode]); Internal is the zero value, so an error nobody classified
// is ours.
const (
	Internal    Kind = iota // a defect of lab itself
	Usage                   // a flag, option, setting or argument is wrong
	Script                  // a script does not compile, raises or is out of bounds
	Plugin                  // a plugin cannot be found, started, reached or trusted
	Model                   // a backend cannot open its weights or evaluate a context
	Data                    // a file or a row of numbers is not what it should be
	Limit                   // a limit was met: context length, deadline, memory
	Interrupted             // the user or a signal stopped the work
)

var kindNames = [...]string{"internal", "usage", "script", "plugin", "model", "data", "limit", "interrupted"}

// String returns the kind's name, lower case.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// ExitCode returns the exit code of the lab command for an error of this kind:
// 1 internal, 2 usage, 3 script, 4 plugin, 5 model, 6 data, 7 limit, and 130
// for an interrupt, as shells do.
func (k Kind) ExitCode() int {
	if k == Interrupted {
		return 130
	}
	if int(k) < len(kindNames) {
		return int(k) + 1
	}
	return 1
}

// Kinds returns every kind in order of its number.
func Kinds() []Kind {
	out := make([]Kind, len(kindNames))
	for i := range out {
		out[i] = Kind(i)
	}
	return out
}

// Error is one failure, printed on one line as
// "operation: subject: what is wrong; what to do".
type Error struct {
	Kind    Kind
	Op      string // what was being done: "open model", "parse chain"
	Subject string // to what: `"tiny"`, "stage 2 (top_p)"; may be empty
	Problem string // what is wrong with the value given
	Cure    string // what to do; may be empty
	Err     error  // the cause, if another error is one
}

// Error returns the one-line form.
func (e *Error) Error() string {
	var b strings.Builder
	sep := func(s string) {
		if b.Len() > 0 && s != "" {
			b.WriteString(": ")
		}
		b.WriteString(s)
	}
	sep(e.Op)
	sep(e.Subject)
	sep(e.Problem)
	if e.Err != nil {
		sep(e.Err.Error())
	}
	if e.Cure != "" {
		b.WriteString("; ")
		b.WriteString(e.Cure)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// New returns an error of the given kind. problem is a format for args and says
// what is wrong with the value given.
func New(kind Kind, op, subject, problem string, args ...any) *Error {
	return &Error{Kind: kind, Op: op, Subject: subject, Problem: fmt.Sprintf(problem, args...)}
}

// Wrap returns an error caused by err that keeps err's kind when it has one,
// and takes kind otherwise. An error that already says op and subject is
// returned as it is.
func Wrap(err error, kind Kind, op, subject string) *Error {
	if same, ok := err.(*Error); ok && same.Op == op && same.Subject == subject {
		return same
	}
	var inner *Error
	if errors.As(err, &inner) {
		kind = inner.Kind
	}
	return &Error{Kind: kind, Op: op, Subject: subject, Err: err}
}

// Fix returns e with the cure set: what the user should do.
func (e *Error) Fix(cure string, args ...any) *Error {
	e.Cure = fmt.Sprintf(cure, args...)
	return e
}

// KindOf returns the kind of the first *Error in err's tree, or Internal.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}
