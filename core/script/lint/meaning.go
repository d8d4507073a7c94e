package lint

import (
	"slices"

	"github.com/d5/tengo/v2/parser"
	"github.com/d5/tengo/v2/token"

	"lab/core/script"
)

// maxFollow bounds how many definitions are followed for one expression.
const maxFollow = 32

// meaning returns what is known of an expression by the declarations.
func (p *program) meaning(e parser.Expr) script.Meaning { return p.follow(e, maxFollow) }

// follow keeps what it finds, as names that stand for each other would be followed
// again and again.
func (p *program) follow(e parser.Expr, left int) script.Meaning {
	if m, ok := p.meanings[e]; ok || left == 0 || e == nil {
		return m
	}
	m := p.meaningOf(e, left-1)
	p.meanings[e] = m
	return m
}

func (p *program) meaningOf(e parser.Expr, left int) script.Meaning {
	switch e := e.(type) {
	case *parser.ParenExpr:
		return p.follow(e.Expr, left)
	case *parser.ImportExpr:
		return p.declared.Import(e.ModuleName)
	case *parser.Ident:
		u := p.names.uses[e]
		if u.symbol != nil && u.symbol.kind == ready {
			return p.declared.Global(e.Name)
		}
		init, element := u.value()
		m := p.follow(init, left)
		if element {
			return sure(m).Element()
		}
		return sure(m)
	case *parser.SelectorExpr:
		if name, ok := e.Sel.(*parser.StringLit); ok {
			return p.member(p.follow(e.Expr, left), name.Value)
		}
	case *parser.IndexExpr:
		m := sure(p.follow(e.Expr, left))
		if name, ok := e.Index.(*parser.StringLit); ok {
			return p.member(m, name.Value)
		}
		return m.Element()
	case *parser.CallExpr:
		return sure(p.declared.Called(p.follow(e.Func, left)))
	case *parser.CondExpr:
		a, b := p.follow(e.True, left), p.follow(e.False, left)
		if a == b {
			return a
		}
	}
	return script.Meaning{}
}

// sure returns m, or nothing when the declaration names more than one kind.
func sure(m script.Meaning) script.Meaning {
	if m.Either {
		return script.Meaning{}
	}
	return m
}

// value returns the one expression that a name stands for, or its elements when it
// is the variable of a loop; nil when there is none or there may be others.
func (u use) value() (e parser.Expr, element bool) {
	s := u.symbol
	if s == nil || s.assigned > 0 || s.replacedBy != nil && u.inner || s.init == nil {
		return nil, false
	}
	return s.init, s.kind == loopVariable
}

func (p *program) member(m script.Meaning, name string) script.Meaning {
	owner, members := sure(m).Members()
	if i := slices.IndexFunc(members, func(m script.Member) bool { return m.Name == name }); i >= 0 {
		return p.declared.Read(owner, &members[i])
	}
	return script.Meaning{}
}

// number is what is known of the type of a number.
type number uint8

const (
	unknown number = iota
	whole
	float
)

// number returns whether an expression is surely a whole number or surely a float.
func (p *program) number(e parser.Expr) number { return p.numeric(e, maxFollow) }

func (p *program) numeric(e parser.Expr, left int) number {
	if n, ok := p.numbers[e]; ok || left == 0 || e == nil {
		return n
	}
	n := p.numberOf(e, left-1)
	p.numbers[e] = n
	return n
}

func (p *program) numberOf(e parser.Expr, left int) number {
	switch e := e.(type) {
	case *parser.IntLit:
		return whole
	case *parser.FloatLit:
		return float
	case *parser.ParenExpr:
		return p.numeric(e.Expr, left)
	case *parser.UnaryExpr:
		if e.Token == token.Add || e.Token == token.Sub {
			return p.numeric(e.Expr, left)
		}
	case *parser.BinaryExpr:
		switch e.Token {
		case token.Add, token.Sub, token.Mul, token.Quo:
			a, b := p.numeric(e.LHS, left), p.numeric(e.RHS, left)
			if a == unknown || b == unknown {
				return unknown
			}
			return max(a, b)
		}
	case *parser.CondExpr:
		if a := p.numeric(e.True, left); a == p.numeric(e.False, left) {
			return a
		}
	case *parser.Ident:
		if init, element := p.names.uses[e].value(); init != nil && !element {
			return p.numeric(init, left)
		}
		return word(p.meaning(e))
	case *parser.CallExpr:
		if id, ok := e.Func.(*parser.Ident); ok && len(e.Args) == 1 && p.isReady(id) {
			switch id.Name {
			case "len":
				return whole
			case "float":
				return float
			}
		}
		return word(p.meaning(e))
	case *parser.SelectorExpr, *parser.IndexExpr:
		return word(p.meaning(e))
	}
	return unknown
}

func (p *program) isReady(id *parser.Ident) bool {
	s := p.names.uses[id].symbol
	return s != nil && s.kind == ready
}

// word reads a declaration.
func word(m script.Meaning) number {
	if m.Either || m.Member != nil && m.Member.Get == nil {
		return unknown
	}
	switch m.Word {
	case "int":
		return whole
	case "float":
		return float
	}
	return unknown
}
