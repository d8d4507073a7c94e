package lint

import (
	"fmt"
	"strings"

	"github.com/d5/tengo/v2/parser"
	"github.com/d5/tengo/v2/token"

	"lab/core/script"
)

func integerDivision(p *program) {
	p.walk(func(u *unit, n parser.Node) bool {
		if e, ok := n.(*parser.BinaryExpr); ok {
			if text := script.LostFraction(e); text != "" {
				text, fix, _ := strings.Cut(text, "; ")
				p.found(u, e, text, fix)
			}
		}
		return true
	})
}

func floatEquality(p *program) {
	p.walk(func(u *unit, n parser.Node) bool {
		e, ok := n.(*parser.BinaryExpr)
		if !ok || e.Token != token.Equal && e.Token != token.NotEqual {
			return true
		}
		a, b := p.number(e.LHS), p.number(e.RHS)
		if a == unknown || b == unknown || a == b {
			return true
		}
		always := "false"
		if e.Token == token.NotEqual {
			always = "true"
		}
		fix := "compare with near(a, b, tolerance)"
		for _, side := range []parser.Expr{e.LHS, e.RHS} {
			if v, ok := literal(side).(int64); ok {
				fix = fmt.Sprintf("write %d.0, or compare with near(a, b, tolerance)", v)
			}
		}
		p.found(u, e, fmt.Sprintf("%s between a whole number and a float is always %s", e.Token, always), fix)
		return true
	})
}

func duplicateKeys(p *program) {
	p.walk(func(u *unit, n parser.Node) bool {
		m, ok := n.(*parser.MapLit)
		if !ok {
			return true
		}
		seen := map[string]bool{}
		for _, el := range m.Elements {
			if seen[el.Key] {
				p.found(u, key{el}, fmt.Sprintf("the key %q is twice in this map, and the last one counts", el.Key), "take one away")
			}
			seen[el.Key] = true
		}
		return true
	})
}

func unreachable(p *program) {
	p.walk(func(u *unit, n parser.Node) bool {
		var list []parser.Stmt
		switch n := n.(type) {
		case *parser.File:
			list = n.Stmts
		case *parser.BlockStmt:
			list = n.Stmts
		}
		word := "" // that ends the list
		for _, s := range list {
			if _, empty := s.(*parser.EmptyStmt); empty {
				continue
			}
			if word != "" {
				p.found(u, s, "nothing gets here, after "+word, "take it away, or put the "+word+" into a condition")
				break
			}
			switch s := s.(type) {
			case *parser.ReturnStmt:
				word = "return"
			case *parser.BranchStmt:
				word = s.Token.String()
			}
		}
		return true
	})
}
