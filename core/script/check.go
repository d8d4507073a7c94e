package script

import (
	"errors"
	"fmt"
	"strings"

	"github.com/d5/tengo/v2/parser"
	"github.com/d5/tengo/v2/token"

	"lab/core/fault"
)

// ErrOversize is what errors.Is finds in the error of a script that has more of
// something than the instructions of Tengo can count, or its stack can hold.
var ErrOversize = errors.New("more than Tengo can hold")

// oversize is an ErrOversize with a message.
type oversize struct{ text string }

func (o *oversize) Error() string        { return o.text }
func (o *oversize) Is(target error) bool { return target == ErrOversize }

// Check compiles a script and all it imports as [Session.Run] does, and runs
// nothing: what it defines is undefined for the next script. The error is that
// of Run, and warnings go to Config.Warn.
func (s *Session) Check(name, src string) error {
	s.runs <- struct{}{}
	defer func() { <-s.runs }()
	s.lock()
	defer s.unlock()
	_, err := s.build(s.config.Folder, name, []byte(src))
	return err
}

// LostFraction returns what a division of two whole numbers written out loses, as
// a warning says it: 7/2 is 3. It is "" for any other expression.
func LostFraction(e *parser.BinaryExpr) string {
	a, ok1 := e.LHS.(*parser.IntLit)
	b, ok2 := e.RHS.(*parser.IntLit)
	if e.Token != token.Quo || !ok1 || !ok2 || b.Value == 0 || a.Value%b.Value == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d is the whole number %d; write %d.0/%d for the fraction", a.Value, b.Value, a.Value/b.Value, a.Value, b.Value)
}

// Refuses returns why a number, text, true or false that a script writes out can
// never be given for a parameter, and "" when it can or v is something else.
func (p *Param) Refuses(v any) string {
	switch v.(type) {
	case bool, int64, float64, string:
	default:
		return ""
	}
	o, err := (*Session)(nil).toScript(v)
	if err != nil {
		return ""
	}
	taken, bad := p.Type.take(nil, o)
	if bad == "" {
		bad = p.check(taken)
	}
	if bad == "" {
		return ""
	}
	return p.Name + joint(bad)
}

// HasOptionsAt reports whether a map given as argument i, from 0, of a call, the
// last one there is, holds the options.
func (m *Member) HasOptionsAt(i int) bool {
	return len(m.Options) > 0 && i >= 0 && (i >= len(m.Params) || !m.Params[i].Type.takesMap)
}

// Arity returns how many positional arguments cannot be left out, and how many
// there may be at most, -1 without a bound.
func (m *Member) Arity() (least, most int) {
	most = len(m.Params)
	if m.Variadic {
		return most - 1, -1
	}
	for i := range m.Params {
		if !m.Params[i].optional() {
			least = i + 1
		}
	}
	return least, most
}

// Problem returns what an error of a script says without its position, and what to
// do about it, which may be "".
func Problem(err error) (text, fix string) {
	var f *fault.Error
	var t *trace
	if !errors.As(err, &f) || !errors.As(err, &t) {
		return err.Error(), ""
	}
	text, _ = strings.CutPrefix(t.text, "script: ")
	return text, f.Cure
}
