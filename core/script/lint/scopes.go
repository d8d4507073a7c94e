package lint

import (
	"slices"

	"github.com/d5/tengo/v2"
	"github.com/d5/tengo/v2/parser"
	"github.com/d5/tengo/v2/token"

	"lab/core/script"
)

// symbol is one variable, parameter or ready-made function.
type symbol struct {
	name string
	unit *unit         // nil: it is there without a definition
	at   *parser.Ident // where it is defined; nil in a unit that does not parse
	kind symbolKind
	init parser.Expr // what it is, or for a loop a list of it; nil: nobody knows
	top  bool        // the variable of a whole unit

	reads, assigned      int
	replacedBy, replaces *symbol // of the same name in the same block, or a later cell
	funcs                int     // depth of functions at the definition
}

type symbolKind uint8

const (
	variable symbolKind = iota
	parameter
	loopVariable
	ready // a built-in function
)

// use is one place that reads or assigns to a name.
type use struct {
	symbol *symbol // nil: nothing of that name is seen there
	inner  bool    // in a function inside of the one that defines it
}

// scopes says what every name of a program means, by the rules of Tengo's compiler:
// a block sees what was defined before it in the blocks around it.
type scopes struct {
	uses    map[*parser.Ident]use
	symbols []*symbol          // in the order of their definition
	first   map[string]*symbol // of symbols with a place, by name
	missing []missing
	hidden  map[*symbol]*symbol // what a definition hides
}

// missing is a name that nothing defines, at its first use in a unit.
type missing struct {
	unit  *unit
	at    *parser.Ident
	known []string // the names that are seen there; nil after maxSuggested
}

// maxSuggested is for how many missing names a near one is looked for.
const maxSuggested = 100

// resolver walks the units.
type resolver struct {
	out    *scopes
	unit   *unit
	scope  *scope
	top    *scope
	missed map[place]bool
}

// place is a name in a unit.
type place struct {
	unit *unit
	name string
}

// scope is a block, with the one around it.
type scope struct {
	outer *scope
	names map[string]*symbol
	funcs int
}

func (s *scope) find(name string) *symbol {
	for ; s != nil; s = s.outer {
		if sym, ok := s.names[name]; ok {
			return sym
		}
	}
	return nil
}

func (s *scope) all() []string {
	seen := map[string]bool{}
	var out []string
	for ; s != nil; s = s.outer {
		for name := range s.names {
			if !seen[name] {
				seen[name] = true
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return out
}

func resolve(p *program, session *script.Session) *scopes {
	r := &resolver{missed: map[place]bool{}, out: &scopes{uses: map[*parser.Ident]use{}, first: map[string]*symbol{}, hidden: map[*symbol]*symbol{}}}
	r.open(0)
	for _, f := range tengo.GetAllBuiltinFunctions() {
		r.scope.names[f.Name] = &symbol{name: f.Name, kind: ready}
	}
	for _, name := range session.Names() {
		r.scope.names[name] = &symbol{name: name, kind: ready}
	}
	r.open(0)
	r.top = r.scope
	for _, u := range p.units {
		r.unit = u
		if u.tree != nil {
			r.stmts(u.tree.Stmts)
		} else {
			r.guess(u)
		}
	}
	return r.out
}

func (r *resolver) open(funcs int) {
	if r.scope != nil {
		funcs += r.scope.funcs
	}
	r.scope = &scope{outer: r.scope, names: map[string]*symbol{}, funcs: funcs}
}

func (r *resolver) close() { r.scope = r.scope.outer }

func (r *resolver) define(id *parser.Ident, kind symbolKind, init parser.Expr) {
	r.add(&symbol{name: id.Name, unit: r.unit, at: id, kind: kind, init: init})
}

func (r *resolver) add(sym *symbol) {
	sym.funcs, sym.top = r.scope.funcs, r.scope == r.top
	if old := r.scope.find(sym.name); old != nil {
		again := r.scope.names[sym.name] == old
		if again {
			old.replacedBy, sym.replaces = sym, old
		}
		if !again || old.unit != sym.unit { // else the compiler says it
			r.out.hidden[sym] = old
		}
	}
	r.scope.names[sym.name] = sym
	r.out.symbols = append(r.out.symbols, sym)
	if r.out.first[sym.name] == nil && sym.at != nil {
		r.out.first[sym.name] = sym
	}
}

// guess notes the names of a unit that does not parse: those that it may define are
// defined, and those that it holds are read.
func (r *resolver) guess(u *unit) {
	file := parser.NewFileSet().AddFile("", -1, len(u.Source))
	scan := parser.NewScanner(file, []byte(u.Source), nil, 0)
	last := ""
	for {
		tok, text, _ := scan.Scan()
		switch tok {
		case token.EOF:
			return
		case token.Ident:
			if s := r.scope.find(text); s != nil {
				s.reads++
			}
			last = text
			continue
		case token.Define:
			if last != "" {
				r.add(&symbol{name: last, unit: u})
			}
		}
		last = ""
	}
}

// touch notes a use of a name.
func (r *resolver) touch(id *parser.Ident, reads bool) {
	sym := r.scope.find(id.Name)
	if sym == nil {
		r.miss(id)
	} else if reads {
		sym.reads++
	} else {
		sym.assigned++
	}
	r.out.uses[id] = use{sym, sym != nil && r.scope.funcs > sym.funcs}
}

// miss notes a name that nothing defines, once in each unit.
func (r *resolver) miss(id *parser.Ident) {
	if at := (place{r.unit, id.Name}); !r.missed[at] {
		r.missed[at] = true
		m := missing{unit: r.unit, at: id}
		if len(r.out.missing) < maxSuggested {
			m.known = r.scope.all()
		}
		r.out.missing = append(r.out.missing, m)
	}
}

func (r *resolver) stmts(list []parser.Stmt) {
	for _, s := range list {
		r.stmt(s)
	}
}

func (r *resolver) block(b *parser.BlockStmt) {
	if b == nil {
		return
	}
	r.open(0)
	r.stmts(b.Stmts)
	r.close()
}

func (r *resolver) stmt(s parser.Stmt) {
	switch s := s.(type) {
	case nil:
	case *parser.BlockStmt:
		r.block(s)
	case *parser.AssignStmt:
		r.assign(s)
	case *parser.IncDecStmt:
		r.target(s.Expr)
	case *parser.IfStmt:
		r.open(0)
		r.stmt(s.Init)
		r.expr(s.Cond)
		r.block(s.Body)
		r.stmt(s.Else)
		r.close()
	case *parser.ForStmt:
		r.open(0)
		r.stmt(s.Init)
		r.expr(s.Cond)
		r.block(s.Body)
		r.stmt(s.Post)
		r.close()
	case *parser.ForInStmt:
		r.open(0)
		r.expr(s.Iterable)
		if s.Key.Name != "_" {
			r.define(s.Key, loopVariable, nil)
		}
		if s.Value.Name != "_" {
			r.define(s.Value, loopVariable, s.Iterable)
		}
		r.block(s.Body)
		r.close()
	default: // those that hold expressions alone
		r.inside(s)
	}
}

func (r *resolver) assign(s *parser.AssignStmt) {
	id, plain := s.LHS[0].(*parser.Ident)
	if s.Token != token.Define || !plain || len(s.LHS) > 1 || len(s.RHS) > 1 {
		for _, e := range s.LHS {
			r.target(e)
		}
		for _, e := range s.RHS {
			r.expr(e)
		}
		return
	}
	_, isFunc := s.RHS[0].(*parser.FuncLit)
	if isFunc { // may call itself
		r.define(id, variable, s.RHS[0])
	}
	r.expr(s.RHS[0])
	if !isFunc {
		r.define(id, variable, s.RHS[0])
	}
}

// target notes what is assigned to. A variable whose element or member is assigned
// to counts as read: the value may be seen through another name.
func (r *resolver) target(e parser.Expr) {
	if id, ok := e.(*parser.Ident); ok {
		r.touch(id, false)
		return
	}
	r.expr(e)
}

func (r *resolver) expr(e parser.Expr) {
	switch e := e.(type) {
	case nil:
	case *parser.Ident:
		r.touch(e, true)
	case *parser.FuncLit:
		r.open(1)
		for _, id := range e.Type.Params.List {
			r.define(id, parameter, nil)
		}
		r.block(e.Body)
		r.close()
	default:
		r.inside(e)
	}
}

// inside resolves the expressions directly in a node.
func (r *resolver) inside(n parser.Node) {
	script.Walk(n, func(c parser.Node) bool {
		if c == n {
			return true
		}
		if e, ok := c.(parser.Expr); ok {
			r.expr(e)
		} else if s, ok := c.(parser.Stmt); ok {
			r.stmt(s)
		}
		return false
	})
}
