package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/d5/tengo/v2/parser"
	"github.com/d5/tengo/v2/token"

	"lab/core/fault"
	"lab/core/script"
)

func unknownMembers(p *program) {
	p.walk(func(u *unit, n parser.Node) bool {
		var of, at parser.Expr
		switch n := n.(type) {
		case *parser.SelectorExpr:
			of, at = n.Expr, n.Sel
		case *parser.IndexExpr:
			of, at = n.Expr, n.Index
		}
		name, ok := at.(*parser.StringLit)
		if !ok {
			return true
		}
		m := sure(p.meaning(of))
		owner, members := m.Members()
		if m.Module != nil {
			owner = "module " + owner
		}
		if len(members) == 0 || slices.ContainsFunc(members, func(m script.Member) bool { return m.Name == name.Value }) {
			return true
		}
		var names []string
		for _, m := range members {
			names = append(names, m.Name)
		}
		p.unknown(u, name, owner, "member", name.Value, names)
		return true
	})
}

// unknown reports a name that is not among those of its owner.
func (p *program) unknown(u *unit, at parser.Node, owner, what, name string, names []string) {
	e := fault.Unknown("", what, name, names)
	p.found(u, at, owner+": "+e.Problem, e.Cure)
}

// hostCall is a call of a function whose declaration is known.
type hostCall struct {
	name    string // "lab.model"
	member  *script.Member
	args    []parser.Expr // the positional ones
	options *parser.MapLit
	unsure  bool // the last of args may be the options
}

// hostCallOf returns what is known of a call, or nil.
func (p *program) hostCallOf(n parser.Node) *hostCall {
	e, ok := n.(*parser.CallExpr)
	if !ok || e.Ellipsis.IsValid() {
		return nil
	}
	m := p.meaning(e.Func)
	if m.Member == nil || m.Member.Func == nil {
		return nil
	}
	c := &hostCall{name: m.Member.Name, member: m.Member, args: e.Args}
	if m.Owner != "" {
		c.name = m.Owner + "." + c.name
	}
	last := len(e.Args) - 1
	if !m.Member.HasOptionsAt(last) {
		return c
	}
	switch x := bare(e.Args[last]).(type) {
	case *parser.MapLit:
		c.args, c.options = e.Args[:last], x
	case *parser.IntLit, *parser.FloatLit, *parser.StringLit, *parser.CharLit, *parser.BoolLit, *parser.ArrayLit, *parser.FuncLit:
	default:
		c.unsure = true
	}
	return c
}

// bare takes off brackets and immutable().
func bare(e parser.Expr) parser.Expr {
	for {
		switch x := e.(type) {
		case *parser.ParenExpr:
			e = x.Expr
		case *parser.ImmutableExpr:
			e = x.Expr
		default:
			return e
		}
	}
}

func unknownOptions(p *program) {
	p.walk(func(u *unit, n parser.Node) bool {
		c := p.hostCallOf(n)
		if c == nil || c.options == nil {
			return true
		}
		for _, el := range c.options.Elements {
			if c.option(el.Key) == nil {
				p.unknown(u, key{el}, c.name, "option", el.Key, c.optionNames())
			}
		}
		return true
	})
}

// key is the place of a key of a map.
type key struct{ *parser.MapElementLit }

func (k key) Pos() parser.Pos { return k.KeyPos }
func (k key) End() parser.Pos { return k.ColonPos }

func (c *hostCall) option(name string) *script.Param {
	for i := range c.member.Options {
		if c.member.Options[i].Name == name {
			return &c.member.Options[i]
		}
	}
	return nil
}

func (c *hostCall) optionNames() []string {
	var out []string
	for _, o := range c.member.Options {
		out = append(out, o.Name)
	}
	return out
}

func arguments(p *program) {
	p.walk(func(u *unit, n parser.Node) bool {
		c := p.hostCallOf(n)
		if c == nil {
			return true
		}
		p.count(u, n, c)
		params := c.member.Params
		for i, a := range c.args {
			if i < len(params) || c.member.Variadic {
				p.refused(u, a, c, "argument", &params[min(i, len(params)-1)])
			}
		}
		if c.options != nil {
			for _, el := range c.options.Elements {
				if o := c.option(el.Key); o != nil {
					p.refused(u, el.Value, c, "option", o)
				}
			}
		}
		return true
	})
}

// count compares the number of arguments, and the options that must be there.
func (p *program) count(u *unit, n parser.Node, c *hostCall) {
	least, most := c.member.Arity()
	many := len(c.args)
	if c.unsure {
		many--
	}
	switch {
	case most >= 0 && many > most:
		p.found(u, c.args[most], fmt.Sprintf("%s takes %s, and this is one more", c.name, counted(most)), "it is called as "+c.member.Signature())
	case len(c.args) < least:
		p.found(u, n, fmt.Sprintf("%s: argument %d (%s) is missing", c.name, len(c.args)+1, c.member.Params[len(c.args)].Name), "it is called as "+c.member.Signature())
	}
	for i := range c.member.Options {
		o := &c.member.Options[i]
		if o.Required && !c.unsure && (c.options == nil || !slices.ContainsFunc(c.options.Elements, func(el *parser.MapElementLit) bool { return el.Key == o.Name })) {
			p.found(u, n, fmt.Sprintf("%s: option %s is missing", c.name, o.Name), "it is called as "+c.member.Signature())
		}
	}
}

func counted(n int) string {
	switch n {
	case 0:
		return "no arguments"
	case 1:
		return "1 argument"
	}
	return fmt.Sprintf("%d arguments", n)
}

// refused reports a value, written out, that a parameter cannot have.
func (p *program) refused(u *unit, e parser.Expr, c *hostCall, what string, param *script.Param) {
	if bad := param.Refuses(literal(e)); bad != "" {
		bad, fix, _ := strings.Cut(bad, "; ")
		p.found(u, e, c.name+": "+what+" "+bad, fix)
	}
}

// literal returns the Go value of a number, text, true or false that is written
// out, and else nil.
func literal(e parser.Expr) any {
	switch e := e.(type) {
	case *parser.ParenExpr:
		return literal(e.Expr)
	case *parser.IntLit:
		return e.Value
	case *parser.FloatLit:
		return e.Value
	case *parser.StringLit:
		return e.Value
	case *parser.BoolLit:
		return e.Value
	case *parser.UnaryExpr:
		if e.Token != token.Sub {
			return nil
		}
		switch v := literal(e.Expr).(type) {
		case int64:
			return -v
		case float64:
			return -v
		}
	}
	return nil
}
