package lint

import (
	"errors"
	"strings"

	"lab/core/fault"
	"lab/core/script"
)

// Names of the rules whose findings come from the compiler.
const (
	ruleOversize = "oversize"
	ruleCompile  = "compile"
	ruleImported = "imported"
)

// compile asks the compiler about every unit. Names that the rules miss, or that are
// of a unit which does not compile, are defined for it first, so that it can say
// something else.
func (p *program) compile(session *script.Session) {
	defined := map[string]bool{}
	var names []string
	for _, m := range p.names.missing {
		names = append(names, m.at.Name)
	}
	define(session, names, defined)
	for i, u := range p.units {
		p.asked = i
		if u.tree != nil {
			err := session.Check(u.Name, u.Source)
			if err == nil {
				continue
			}
			p.failed(i, err)
		}
		names = nil
		for _, s := range p.names.symbols {
			if s.unit == u && s.top {
				names = append(names, s.name)
			}
		}
		define(session, names, defined)
	}
}

// define gives the compiler names that are not among those defined.
func define(session *script.Session, names []string, defined map[string]bool) {
	const most = 10_000 // at once: a script may not be longer than MaxSource
	var b strings.Builder
	n := 0
	flush := func() {
		_ = session.Check("names", b.String()) // what it cannot define it will miss
		b.Reset()
		n = 0
	}
	for _, name := range names {
		if defined[name] {
			continue
		}
		defined[name] = true
		b.WriteString(name + " := undefined\n")
		if n++; n == most || b.Len() > script.MaxSource/2 {
			flush()
		}
	}
	if n > 0 {
		flush()
	}
}

// failed adds the error of a compiler.
func (p *program) failed(i int, err error) {
	f := Finding{Rule: ruleCompile, Severity: Error, Unit: i, At: script.Position{File: p.units[i].Name, Line: 1, Column: 1}}
	if at := script.Positions(err); len(at) > 0 {
		f.At = at[0]
	}
	if errors.Is(err, script.ErrOversize) || fault.KindOf(err) == fault.Limit {
		f.Rule = ruleOversize
	}
	f.Text, f.Fix = script.Problem(err)
	if f.Fix == "" {
		f.Text, f.Fix, _ = strings.Cut(f.Text, "; ")
	}
	p.addOnce(f)
}

// warned adds a warning of the compiler.
func (p *program) warned(w script.Warning) {
	f := Finding{Rule: ruleImported, Severity: Warning, Unit: p.asked, At: w.At}
	f.Text, f.Fix, _ = strings.Cut(w.Text, "; ")
	p.addOnce(f)
}

// addOnce adds a finding of the compiler unless a rule has found something at that
// place.
func (p *program) addOnce(f Finding) {
	if f.At.File != p.units[f.Unit].Name {
		f.Unit = -1
	}
	f.End = f.At
	if !p.spoken[spot{f.At, f.Severity}] {
		p.add(f)
	}
}
