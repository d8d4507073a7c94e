package lint

import (
	"errors"
	"slices"
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
func (p *program) compile() error {
	at := 0
	session, err := script.New(script.Config{Modules: p.config.Modules, Folder: p.config.Folder, Warn: func(w script.Warning) { p.warned(at, w) }})
	if err != nil {
		return err
	}
	names := map[string]bool{}
	stub := func(name string) {
		if !names[name] {
			names[name] = true
			_ = session.Check("names", name+" := undefined") // cannot fail: it is a name
		}
	}
	for _, m := range p.names.missing {
		stub(m.at.Name)
	}
	for i, u := range p.units {
		at = i
		err := errors.New("")
		if u.tree != nil {
			if err = session.Check(u.Name, u.Source); err != nil {
				p.failed(i, err)
			}
		}
		if err != nil {
			for _, s := range p.names.symbols {
				if s.unit == u && s.top {
					stub(s.name)
				}
			}
		}
	}
	return nil
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
func (p *program) warned(i int, w script.Warning) {
	f := Finding{Rule: ruleImported, Severity: Warning, Unit: i, At: w.At}
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
	if !slices.ContainsFunc(p.findings, func(o Finding) bool { return o.At == f.At && o.Severity == f.Severity }) {
		p.findings = append(p.findings, f)
	}
}
