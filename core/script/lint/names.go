package lint

import (
	"fmt"
	"strings"

	"github.com/d5/tengo/v2/parser"

	"lab/core/fault"
)

func undefined(p *program) {
	for _, m := range p.names.missing {
		p.found(m.unit, m.at, fmt.Sprintf("unknown name %q", m.at.Name), p.cure(m))
	}
}

// cure says what to do about a name that nothing defines.
func (p *program) cure(m missing) string {
	name := m.at.Name
	if s := p.names.first[name]; s != nil {
		return fmt.Sprintf("%s defines it, which is not seen here: it comes later or is inside of a block", s.unit.position(s.at.Pos()))
	}
	if p.declared.Import(name).Module != nil {
		return fmt.Sprintf("define it first: %s := import(%q)", name, name)
	}
	if near := fault.Suggest(name, m.known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return fmt.Sprintf("define it first: %s := …", name)
}

// imports returns the name of what a variable imports, and "" for another one.
// What is taken from a module at once is part of it: import("text").quote.
func (s *symbol) imports() string {
	e := s.init
	for s.kind == variable {
		switch x := e.(type) {
		case *parser.ImportExpr:
			return x.ModuleName
		case *parser.SelectorExpr:
			e = x.Expr
		default:
			return ""
		}
	}
	return ""
}

// unused calls report for every definition that nothing reads. One that a later
// cell replaces, or that replaces an earlier one which functions read, may be.
func unused(p *program, report func(*symbol)) {
	for _, s := range p.names.symbols {
		if s.at == nil || s.reads > 0 || s.kind == parameter || strings.HasPrefix(s.name, "_") {
			continue
		}
		if s.replacedBy != nil && s.replacedBy.unit != s.unit || s.replaces != nil && s.replaces.reads > 0 {
			continue
		}
		report(s)
	}
}

func unusedVariables(p *program) {
	unused(p, func(s *symbol) {
		switch {
		case s.kind == loopVariable:
			p.found(s.unit, s.at, fmt.Sprintf("nothing reads the loop's variable %q", s.name), "write _ in its place")
		case s.imports() != "":
		case s.assigned > 0:
			p.found(s.unit, s.at, fmt.Sprintf("the variable %q is assigned to and never read", s.name), "use it or take it away")
		default:
			p.found(s.unit, s.at, fmt.Sprintf("nothing reads the variable %q", s.name), "use it or take it away")
		}
	})
}

func unusedImports(p *program) {
	unused(p, func(s *symbol) {
		if name := s.imports(); name != "" {
			p.found(s.unit, s.at, fmt.Sprintf("nothing uses %q, imported from %q", s.name, name), "take the import away")
		}
	})
}

func shadowed(p *program) {
	for _, s := range p.names.symbols {
		old := p.names.hidden[s]
		if old == nil || s.at == nil {
			continue
		}
		switch name := old.imports(); {
		case old.kind == ready:
			p.found(s.unit, s.at, fmt.Sprintf("%q hides the built-in function of that name", s.name), "give it another name")
		case name != "" && s.imports() != name:
			p.found(s.unit, s.at, fmt.Sprintf("%q hides what is imported from %q under that name", s.name, name), "give it another name")
		}
	}
}
