package wire

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"lab/core/fault"
)

// longestText bounds each text of a Fault, on both sides.
const longestText = 4096

// Crash is the error of a handler that died of a panic. The process may hold a
// broken state and should be replaced.
type Crash struct{ Fault *fault.Error }

// Error returns the one-line form of the fault.
func (c *Crash) Error() string { return c.Fault.Error() }

// Unwrap returns the fault.
func (c *Crash) Unwrap() error { return c.Fault }

// PutFault returns the message for err: its own parts when it is a
// *fault.Error, else its text as the problem.
func PutFault(err error) *Fault {
	var crash *Crash
	crashed := errors.As(err, &crash)
	if crashed {
		err = crash.Fault
	}
	m := &Fault{Kind: FaultKind(kindOf(err)), Crashed: crashed}
	if f, ok := err.(*fault.Error); ok {
		m.Op, m.Subject, m.Problem, m.Cure = cut(f.Op), cut(f.Subject), cut(f.Problem), cut(f.Cure)
		if f.Err != nil {
			m.Problem = cut(strings.TrimPrefix(f.Problem+": ", ": ") + f.Err.Error())
		}
		return m
	}
	m.Problem = cut(err.Error())
	return m
}

// kindOf takes an error without a kind for a defect of the plugin, and knows the
// errors of an ended context.
func kindOf(err error) fault.Kind {
	var f *fault.Error
	switch {
	case errors.As(err, &f):
		return f.Kind
	case errors.Is(err, context.Canceled):
		return fault.Interrupted
	case errors.Is(err, context.DeadlineExceeded):
		return fault.Limit
	}
	return fault.Plugin
}

// GetFault returns the error in a message; a *Crash when the handler died.
func GetFault(m *Fault) error {
	kind := fault.Kind(min(uint32(m.GetKind()), 255))
	if int(kind) >= len(fault.Kinds()) {
		kind = fault.Plugin
	}
	e := &fault.Error{
		Kind: kind, Op: cut(m.GetOp()), Subject: cut(m.GetSubject()), Problem: cut(m.GetProblem()), Cure: cut(m.GetCure()),
	}
	if m.GetCrashed() {
		return &Crash{e}
	}
	return e
}

// cut makes s valid, one line, and at most longestText bytes.
func cut(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\n", " ")
	if len(s) <= longestText {
		return s
	}
	n := longestText - len("…")
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// ToStatus returns err as a gRPC status with the Fault as its detail.
func ToStatus(err error) error {
	m := PutFault(err)
	code := codes.Internal
	switch m.Kind {
	case FaultKind_FAULT_KIND_USAGE:
		code = codes.InvalidArgument
	case FaultKind_FAULT_KIND_MODEL, FaultKind_FAULT_KIND_DATA:
		code = codes.FailedPrecondition
	case FaultKind_FAULT_KIND_LIMIT:
		code = codes.ResourceExhausted
	case FaultKind_FAULT_KIND_INTERRUPTED:
		code = codes.Canceled
	}
	s, detailErr := status.New(code, GetFault(m).Error()).WithDetails(m)
	if detailErr != nil {
		return status.Error(code, m.Problem)
	}
	return s.Err()
}

// Verdict says what the end of a call means for the process behind it.
type Verdict uint8

const (
	Answered Verdict = iota // the plugin answered, with a result or a fault
	Broken                  // the handler crashed, or its answer cannot be taken; the process must go
	Late                    // the deadline passed
	Gone                    // the connection broke: the process died or is dying
)

// FromStatus returns the error of a call as the core knows it, and what it
// means for the process.
func FromStatus(err error) (error, Verdict) {
	if err == nil {
		return nil, Answered
	}
	var large *oversized
	if errors.As(err, &large) {
		return fault.New(fault.Plugin, "", "", "%v", large), Broken
	}
	s, ok := status.FromError(err)
	if !ok {
		return fault.Wrap(err, fault.Plugin, "", ""), Gone
	}
	for _, d := range s.Details() {
		if m, ok := d.(*Fault); ok {
			e := GetFault(m)
			var crash *Crash
			if errors.As(e, &crash) {
				return crash.Fault, Broken
			}
			return e, Answered
		}
	}
	message := fault.Quote(cut(s.Message()), 300)
	switch s.Code() {
	case codes.DeadlineExceeded:
		return fault.New(fault.Limit, "", "", "no answer in time"), Late
	case codes.Unavailable, codes.Canceled:
		return fault.New(fault.Plugin, "", "", "the connection broke: %s", message), Gone
	case codes.ResourceExhausted:
		return fault.New(fault.Limit, "", "", "a message is too large: %s", message).
			Fix("ask for fewer rows in one call; a message holds at most %d MiB", MaxMessage>>20), Answered
	case codes.Unimplemented:
		return fault.New(fault.Plugin, "", "", "it does not offer this call: %s", message), Answered
	}
	return fault.New(fault.Plugin, "", "", "%s (%s, without a fault)", message, s.Code()), Answered
}
