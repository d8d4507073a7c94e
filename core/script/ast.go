package script

import (
	"fmt"

	"github.com/d5/tengo/v2/parser"
	"github.com/d5/tengo/v2/token"
)

// MaxSource is how many bytes one script or imported file may have.
const MaxSource = 1 << 20

// Bounds on the parts of a script. Parser and compiler of tengo recurse without
// a bound of their own, and a Go stack that overflows kills the process.
const (
	maxNest    = 1500    // estimated depth of the syntax tree
	maxList    = 2000    // elements of one list literal, of the 2048-value stack
	maxSymbols = 1 << 16 // what a 16-bit operand can name
	maxLocals  = 256     // what an 8-bit operand can name
)

// tooNested returns the position at which the source, not yet parsed, would
// make a syntax tree deeper than maxNest. It counts, for every open bracket,
// the tokens since the last separator that can each add a level.
func tooNested(src []byte) (at Position, bad bool) {
	file := parser.NewFileSet().AddFile("", -1, len(src))
	scan := parser.NewScanner(file, src, func(parser.SourceFilePos, string) {}, 0)
	open, total := []int{0}, 0 // levels per open bracket, their sum
	for {
		tok, _, pos := scan.Scan()
		top := len(open) - 1
		switch tok {
		case token.EOF:
			return Position{}, false
		case token.LParen, token.LBrack, token.LBrace:
			open[top] += 2
			total += 2
			open = append(open, 0)
		case token.RParen, token.RBrack, token.RBrace:
			if top > 0 {
				total -= open[top]
				open = open[:top]
			}
		case token.Semicolon, token.Comma:
			total -= open[top]
			open[top] = 0
		case token.Ident, token.Int, token.Float, token.Char, token.String:
		default:
			open[top]++
			total++
		}
		if total > maxNest {
			p := file.Position(pos)
			return Position{Line: p.Line, Column: p.Column}, true
		}
	}
}

// rewriter walks a syntax tree once: it checks what the compiler would
// miscompile or crash on, and replaces what the runner does in its own way.
type rewriter struct {
	module   bool // the file is imported, its top level is a function
	imported func(*parser.ImportExpr) (parser.Expr, error)
	warn     func(pos parser.Pos, text string)
	reserved func(name string) bool // a built-in function or one of ours
	names    map[string]bool        // every name the file defines, for suggestions
	exports  bool
	funcs    int // depth of function literals
	err      error
	at       parser.Pos // of err
}

func (r *rewriter) fail(pos parser.Pos, format string, args ...any) {
	if r.err == nil {
		r.err, r.at = fmt.Errorf(format, args...), pos
	}
}

// tooMany is fail for what Tengo cannot hold.
func (r *rewriter) tooMany(pos parser.Pos, format string, args ...any) {
	if r.err == nil {
		r.err, r.at = &oversize{fmt.Sprintf(format, args...)}, pos
	}
}

// call returns name(args...) as seen at pos. The names of helpers contain a
// colon, so no script can define or misuse one.
func call(name string, pos parser.Pos, args ...parser.Expr) parser.Expr {
	return &parser.CallExpr{Func: &parser.Ident{Name: name, NamePos: pos}, LParen: pos, Args: args, RParen: pos}
}

func (r *rewriter) stmts(list []parser.Stmt) {
	for i := range list {
		list[i] = r.stmt(list[i])
	}
}

func (r *rewriter) block(b *parser.BlockStmt) {
	if b != nil {
		r.stmts(b.Stmts)
	}
}

func (r *rewriter) stmt(s parser.Stmt) parser.Stmt {
	switch s := s.(type) {
	case *parser.AssignStmt:
		r.assign(s)
	case *parser.BlockStmt:
		r.block(s)
	case *parser.ExportStmt:
		return r.export(s)
	case *parser.ExprStmt:
		s.Expr = r.expr(s.Expr)
	case *parser.ForInStmt:
		r.names[s.Key.Name], r.names[s.Value.Name] = true, true
		s.Iterable = call(helperEach, s.Iterable.Pos(), r.expr(s.Iterable))
		r.block(s.Body)
	case *parser.ForStmt:
		s.Init, s.Cond, s.Post = r.stmt(s.Init), r.expr(s.Cond), r.stmt(s.Post)
		r.block(s.Body)
	case *parser.IfStmt:
		s.Init, s.Cond, s.Else = r.stmt(s.Init), r.expr(s.Cond), r.stmt(s.Else)
		r.block(s.Body)
	case *parser.IncDecStmt:
		r.target(s.Expr)
	case *parser.ReturnStmt:
		s.Result = r.expr(s.Result)
	case *parser.BadStmt:
		r.fail(s.Pos(), "syntax error")
	}
	return s
}

func (r *rewriter) assign(s *parser.AssignStmt) {
	for i, lhs := range s.LHS {
		if id, ok := lhs.(*parser.Ident); ok && s.Token == token.Define {
			r.names[id.Name] = true
		}
		if id, ok := lhs.(*parser.Ident); ok && s.Token != token.Define && !r.names[id.Name] && r.reserved(id.Name) {
			r.fail(id.Pos(), "%s is a built-in function; write %s := … for a variable of that name", id.Name, id.Name)
		}
		r.target(s.LHS[i])
	}
	for i := range s.RHS {
		s.RHS[i] = r.expr(s.RHS[i])
	}
}

// target checks what is assigned to and rewrites the indices in it.
func (r *rewriter) target(e parser.Expr) {
	selectors := 0
	for {
		switch x := e.(type) {
		case *parser.Ident:
			if selectors > maxArgs {
				r.tooMany(x.Pos(), "an assignment through %d members; at most %d", selectors, maxArgs)
			}
			return
		case *parser.SelectorExpr:
			e = x.Expr
		case *parser.IndexExpr:
			if x.Index == nil {
				r.fail(x.Pos(), "an index is missing")
				return
			}
			x.Index = r.expr(x.Index)
			e = x.Expr
		default:
			r.fail(e.Pos(), "only a variable, or an element or member of one, can be assigned to")
			return
		}
		selectors++
	}
}

// export makes the value of a file: what the compiler does for a file it reads
// itself, except that a map becomes a module with checked members.
func (r *rewriter) export(s *parser.ExportStmt) parser.Stmt {
	r.exports = true
	if r.funcs > 0 {
		r.fail(s.Pos(), "export is not allowed inside a function")
	}
	value := r.expr(s.Result)
	if !r.module {
		return &parser.ExprStmt{Expr: value} // run it, so that its errors show
	}
	immutable := &parser.ImmutableExpr{Expr: value, ErrorPos: s.Pos(), LParen: s.Pos(), RParen: s.Pos()}
	return &parser.ReturnStmt{ReturnPos: s.Pos(), Result: call(helperExport, s.Pos(), immutable)}
}

func (r *rewriter) exprs(list []parser.Expr) {
	for i := range list {
		list[i] = r.expr(list[i])
	}
}

func (r *rewriter) expr(e parser.Expr) parser.Expr {
	switch e := e.(type) {
	case *parser.ArrayLit:
		if len(e.Elements) > maxList {
			r.tooMany(e.Pos(), "a list literal of %d elements; at most %d, build longer ones in a loop", len(e.Elements), maxList)
		}
		r.exprs(e.Elements)
	case *parser.BinaryExpr:
		return r.binary(e)
	case *parser.CallExpr:
		if len(e.Args) > maxArgs {
			r.tooMany(e.Pos(), "a call with %d arguments; at most %d, pass a list", len(e.Args), maxArgs)
		}
		e.Func = r.expr(e.Func)
		r.exprs(e.Args)
	case *parser.CondExpr:
		e.Cond, e.True, e.False = r.expr(e.Cond), r.expr(e.True), r.expr(e.False)
	case *parser.ErrorExpr:
		e.Expr = r.expr(e.Expr)
	case *parser.FuncLit:
		for _, p := range e.Type.Params.List {
			r.names[p.Name] = true
		}
		r.funcs++
		r.block(e.Body)
		r.funcs--
	case *parser.ImmutableExpr:
		e.Expr = r.expr(e.Expr)
	case *parser.ImportExpr:
		x, err := r.imported(e)
		if err != nil {
			if r.err == nil {
				r.err, r.at = err, e.Pos()
			}
			return e
		}
		return x
	case *parser.IndexExpr:
		if e.Index == nil {
			r.fail(e.Pos(), "an index is missing")
			return e
		}
		e.Expr, e.Index = r.expr(e.Expr), r.expr(e.Index)
	case *parser.MapLit:
		if 2*len(e.Elements) > maxList {
			r.tooMany(e.Pos(), "a map literal of %d keys; at most %d, build larger ones in a loop", len(e.Elements), maxList/2)
		}
		for _, el := range e.Elements {
			el.Value = r.expr(el.Value)
		}
	case *parser.ParenExpr:
		e.Expr = r.expr(e.Expr)
	case *parser.SelectorExpr:
		e.Expr = r.expr(e.Expr)
	case *parser.SliceExpr:
		e.Expr, e.Low, e.High = r.expr(e.Expr), r.expr(e.Low), r.expr(e.High)
	case *parser.UnaryExpr:
		e.Expr = r.expr(e.Expr)
	case *parser.BadExpr:
		r.fail(e.Pos(), "syntax error")
	}
	return e
}

// binary rewrites comparisons and concatenations that tengo would walk without
// a bound, and warns of a division that surely was not meant.
func (r *rewriter) binary(e *parser.BinaryExpr) parser.Expr {
	e.LHS, e.RHS = r.expr(e.LHS), r.expr(e.RHS)
	switch e.Token {
	case token.Quo:
		if text := LostFraction(e); text != "" {
			r.warn(e.Pos(), text)
		}
	case token.Equal, token.NotEqual:
		if !scalarLit(e.LHS) && !scalarLit(e.RHS) {
			helper := helperEqual
			if e.Token == token.NotEqual {
				helper = helperUnequal
			}
			return call(helper, e.Pos(), e.LHS, e.RHS)
		}
	case token.Add:
		if isText(e.LHS) && !isText(e.RHS) {
			e.RHS = call(helperText, e.RHS.Pos(), e.RHS)
		}
	}
	return e
}

func scalarLit(e parser.Expr) bool {
	switch e := e.(type) {
	case *parser.IntLit, *parser.FloatLit, *parser.BoolLit, *parser.StringLit, *parser.CharLit, *parser.UndefinedLit:
		return true
	case *parser.ParenExpr:
		return scalarLit(e.Expr)
	case *parser.UnaryExpr:
		return scalarLit(e.Expr)
	}
	return false
}

// isText reports whether e is a string for sure: a literal or something added
// to one.
func isText(e parser.Expr) bool {
	switch e := e.(type) {
	case *parser.StringLit:
		return true
	case *parser.ParenExpr:
		return isText(e.Expr)
	case *parser.BinaryExpr:
		return e.Token == token.Add && isText(e.LHS)
	}
	return false
}
