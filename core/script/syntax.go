package script

import (
	"errors"

	"github.com/d5/tengo/v2/parser"

	"lab/core/fault"
)

// SyntaxError is one place at which a text does not parse.
type SyntaxError struct {
	At   Position
	Text string
}

// Parse returns the syntax tree of a script, which it neither rewrites nor
// compiles, for tools that read scripts. A "#!" line is a comment. The error is
// that of [Session.Run] for a text that does not parse; [SyntaxErrors] lists the
// places. Sizes are bounded, as tengo's parser recurses.
func Parse(name string, src []byte) (*parser.File, error) {
	if len(src) > MaxSource {
		return nil, fault.New(fault.Limit, "script", name, "%d bytes long, more than %d", len(src), MaxSource)
	}
	src = plain(src)
	s := &Session{texts: map[string]string{name: string(src)}}
	return s.parse(parser.NewFileSet(), name, src)
}

// parse parses a text whose "#!" line is a comment already.
func (s *Session) parse(files *parser.SourceFileSet, name string, src []byte) (*parser.File, error) {
	if at, bad := tooNested(src); bad {
		at.File = name
		return nil, s.failure(fault.Script, "an expression or block is nested too deeply, or too long; split it", []Position{at}, ErrOversize)
	}
	tree, err := parseFile(files.AddFile(name, -1, len(src)), src)
	if err == nil {
		return tree, nil
	}
	var list parser.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		return nil, s.syntaxError(list)
	}
	return nil, s.failure(fault.Script, clean(err), []Position{{File: name, Line: 1, Column: 1}})
}

// SyntaxErrors returns every place of an error of a text that does not parse, in
// the order of the text, and nil for any other error.
func SyntaxErrors(err error) []SyntaxError {
	var t *trace
	if !errors.As(err, &t) {
		return nil
	}
	return t.problems
}

// Walk calls visit for a node of a syntax tree and then, if it returned true, for
// the nodes in it, in the order of the text. Keys of maps, names of members and
// parameters of functions are no nodes of their own, nor are the two variables of
// "for k, v in x".
func Walk(n parser.Node, visit func(parser.Node) bool) {
	if absent(n) || !visit(n) {
		return
	}
	for _, c := range children(n) {
		Walk(c, visit)
	}
}

// absent reports whether a node is nil, within its interface or without.
func absent(n parser.Node) bool {
	switch n := n.(type) {
	case nil:
		return true
	case *parser.BlockStmt:
		return n == nil
	}
	return false
}

// children returns what is directly in a node; some of them may be absent.
func children(n parser.Node) []parser.Node {
	switch n := n.(type) {
	case *parser.File:
		return nodes(n.Stmts)
	case *parser.BlockStmt:
		return nodes(n.Stmts)
	case *parser.AssignStmt:
		return append(nodes(n.LHS), nodes(n.RHS)...)
	case *parser.ExportStmt:
		return []parser.Node{n.Result}
	case *parser.ExprStmt:
		return []parser.Node{n.Expr}
	case *parser.ForInStmt:
		return []parser.Node{n.Iterable, n.Body}
	case *parser.ForStmt:
		return []parser.Node{n.Init, n.Cond, n.Post, n.Body}
	case *parser.IfStmt:
		return []parser.Node{n.Init, n.Cond, n.Body, n.Else}
	case *parser.IncDecStmt:
		return []parser.Node{n.Expr}
	case *parser.ReturnStmt:
		return []parser.Node{n.Result}
	case *parser.ArrayLit:
		return nodes(n.Elements)
	case *parser.BinaryExpr:
		return []parser.Node{n.LHS, n.RHS}
	case *parser.CallExpr:
		return append([]parser.Node{n.Func}, nodes(n.Args)...)
	case *parser.CondExpr:
		return []parser.Node{n.Cond, n.True, n.False}
	case *parser.ErrorExpr:
		return []parser.Node{n.Expr}
	case *parser.FuncLit:
		return []parser.Node{n.Body}
	case *parser.ImmutableExpr:
		return []parser.Node{n.Expr}
	case *parser.IndexExpr:
		return []parser.Node{n.Expr, n.Index}
	case *parser.MapLit:
		return nodes(n.Elements)
	case *parser.MapElementLit:
		return []parser.Node{n.Value}
	case *parser.ParenExpr:
		return []parser.Node{n.Expr}
	case *parser.SelectorExpr:
		return []parser.Node{n.Expr}
	case *parser.SliceExpr:
		return []parser.Node{n.Expr, n.Low, n.High}
	case *parser.UnaryExpr:
		return []parser.Node{n.Expr}
	}
	return nil
}

func nodes[T parser.Node](list []T) []parser.Node {
	out := make([]parser.Node, len(list))
	for i, n := range list {
		out[i] = n
	}
	return out
}
