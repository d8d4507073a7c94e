package script

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/d5/tengo/v2"
	"github.com/d5/tengo/v2/parser"
	"github.com/d5/tengo/v2/token"

	"lab/core/fault"
)

// slot is one global variable. The position in Session.slots is its number in
// compiled code, for the life of the session.
type slot struct {
	name string
	user bool // of the script itself; the others are seen by imported files too
}

// Names that no script can spell. Modules and files are globals behind them.
const (
	modulePrefix = ":module "
	filePrefix   = ":file "

	helperEach    = ":each"
	helperEqual   = ":equal"
	helperExport  = ":export"
	helperFinish  = ":finish"
	helperText    = ":text"
	helperUnequal = ":unequal"
)

// addSlot appends a global that is not the script's own.
func (s *Session) addSlot(name string, value tengo.Object) error {
	if len(s.slots) >= maxSymbols {
		return fault.New(fault.Limit, "script", "", "more than %d global variables", maxSymbols)
	}
	s.globals[len(s.slots)] = value
	s.slots = append(s.slots, slot{name: name})
	return nil
}

// table returns the symbol table for the next compilation, made anew so that
// one that fails leaves nothing behind. It has three levels: tengo's built-in
// functions, then ours, then the script's own variables, so that each may
// shadow the ones before; imported files see the first two.
func (s *Session) table(user bool) (root, top *tengo.SymbolTable) {
	root = tengo.NewSymbolTable()
	host := root.Fork(true)
	top = host
	if user {
		top = host.Fork(true)
	}
	for i, sl := range s.slots {
		switch {
		case sl.name == "" || sl.user && !user:
			host.Define(fmt.Sprintf(":slot %d", i))
		case sl.user:
			top.Define(sl.name)
		default:
			host.Define(sl.name)
		}
	}
	return root, top
}

// compileFile compiles an imported file, which is a function without
// parameters, and keeps it in the global of its path.
func (s *Session) compileFile(name string, fn *parser.FuncLit, r *rewriter, sum [sha256.Size]byte) error {
	hidden := filePrefix + name
	if !contains(s.slots, func(sl slot) bool { return sl.name == hidden }) {
		if err := s.addSlot(hidden, tengo.UndefinedValue); err != nil {
			return err
		}
	}
	at := slices.IndexFunc(s.slots, func(sl slot) bool { return sl.name == hidden })
	_, top := s.table(false)
	bc, err := s.compile(top, []parser.Stmt{&parser.ExprStmt{Expr: fn}}, r)
	if err != nil {
		return err
	}
	// The literal captures nothing, so it is the last constant as it stands.
	for i := len(bc.Constants) - 1; i >= 0; i-- {
		if f, ok := bc.Constants[i].(*tengo.CompiledFunction); ok {
			s.globals[at] = f
			s.compiled[name] = sum
			return nil
		}
	}
	return fault.New(fault.Internal, "script", name, "the compiled file is missing")
}

// compileMain compiles the statements of a script so that its last value, if
// it ends with an expression, is handed to finish.
func (s *Session) compileMain(stmts []parser.Stmt, r *rewriter) (*tengo.Bytecode, error) {
	s.redefine(stmts)
	finish := parser.Stmt(&parser.ExprStmt{Expr: call(helperFinish, parser.NoPos)})
	if n := len(stmts); n > 0 {
		if last, ok := stmts[n-1].(*parser.ExprStmt); ok {
			finish = &parser.ExprStmt{Expr: call(helperFinish, last.Pos(), last.Expr)}
			stmts = stmts[:n-1]
		}
	}
	root, top := s.table(true)
	bc, err := s.compile(top, append(stmts[:len(stmts):len(stmts)], finish), r)
	if err != nil {
		return nil, err
	}
	return bc, s.adopt(root, top)
}

// redefine turns "x := 1" into "x = 1" where an earlier run of the session
// defined x, so that functions defined then see the new value.
func (s *Session) redefine(stmts []parser.Stmt) {
	old := map[string]bool{}
	for _, sl := range s.slots {
		if sl.user {
			old[sl.name] = true
		}
	}
	for _, st := range stmts {
		if a, ok := st.(*parser.AssignStmt); ok && a.Token == token.Define && len(a.LHS) == 1 {
			if id, ok := a.LHS[0].(*parser.Ident); ok && old[id.Name] {
				a.Token = token.Assign
				old[id.Name] = false // twice in one run is an error
			}
		}
	}
}

// adopt makes the globals of a compiled script those of the session.
func (s *Session) adopt(root, top *tengo.SymbolTable) error {
	n := root.MaxSymbols()
	if n > maxSymbols {
		return fault.Wrap(&oversize{fmt.Sprintf("%d global variables; at most %d", n, maxSymbols)}, fault.Script, "script", "")
	}
	for len(s.slots) < n {
		s.slots = append(s.slots, slot{})
	}
	for _, name := range top.Names() {
		if sym, _, ok := top.Resolve(name, false); ok && sym.Scope == tengo.ScopeGlobal && s.slots[sym.Index].name == "" && name[0] != ':' {
			s.slots[sym.Index] = slot{name: name, user: true}
		}
	}
	return nil
}

// compile compiles statements on top of the session's constants and adopts the
// new ones, unless the result would not be what the script says: operands of
// tengo's instructions are one or two bytes, and it does not check that they
// hold the number.
func (s *Session) compile(top *tengo.SymbolTable, stmts []parser.Stmt, r *rewriter) (*tengo.Bytecode, error) {
	file := s.files.Files[len(s.files.Files)-1]
	c := tengo.NewCompiler(file, top, slices.Clone(s.constants), nil, nil)
	for _, st := range stmts {
		if err := compileStmt(c, st); err != nil {
			return nil, s.compileError(err, st, r)
		}
	}
	bc := c.Bytecode()
	if n := len(bc.Constants) + trampolineConstants; n > maxSymbols {
		return nil, s.failure(fault.Script, fmt.Sprintf("%d constants; at most %d: read large data from a file instead", n, maxSymbols), s.startOf(stmts), ErrOversize)
	}
	for _, o := range bc.Constants[len(s.constants):] {
		if fn, ok := o.(*tengo.CompiledFunction); ok {
			if text := miscompiled(fn); text != "" {
				return nil, s.failure(fault.Script, text, []Position{s.firstOf(fn)}, ErrOversize)
			}
		}
	}
	bc.RemoveDuplicates()
	if len(bc.Constants) != len(s.constants) {
		s.epoch++
	}
	s.constants = bc.Constants
	return bc, nil
}

// compileStmt compiles one statement; a panic of the compiler is an error.
func compileStmt(c *tengo.Compiler, st parser.Stmt) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &machinePanic{p}
		}
	}()
	return c.Compile(st)
}

// miscompiled says which limit of the instruction set a function passes, or "".
func miscompiled(fn *tengo.CompiledFunction) string {
	if fn.NumLocals > maxLocals {
		return fmt.Sprintf("%d variables in one function or imported file; at most %d: use a map or a list, or split it", fn.NumLocals, maxLocals)
	}
	captured := 0
	for i := 0; i < len(fn.Instructions); {
		op := fn.Instructions[i]
		operands, width := parser.ReadOperands(parser.OpcodeOperands[op], fn.Instructions[i+1:])
		switch op {
		case parser.OpGetLocalPtr, parser.OpGetFreePtr:
			captured++
		case parser.OpClosure:
			if captured != operands[1] {
				return fmt.Sprintf("a function uses %d variables of the functions around it; at most %d: use a map or a list", captured, maxLocals-1)
			}
			captured = 0
		}
		i += 1 + width
	}
	return ""
}

// startOf returns the position of the first statement that has one.
func (s *Session) startOf(stmts []parser.Stmt) []Position {
	for _, st := range stmts {
		if p := s.position(st.Pos()); p.Line > 0 {
			return []Position{p}
		}
	}
	return nil
}

func (s *Session) firstOf(fn *tengo.CompiledFunction) Position {
	first := parser.NoPos
	for _, p := range fn.SourceMap {
		if p != parser.NoPos && (first == parser.NoPos || p < first) {
			first = p
		}
	}
	return s.position(first)
}

func (s *Session) compileError(err error, st parser.Stmt, r *rewriter) error {
	at := st.Pos()
	text := err.Error()
	var ce *tengo.CompilerError
	if errors.As(err, &ce) {
		at, text = ce.Node.Pos(), ce.Err.Error()
	}
	e := s.failure(fault.Script, text, []Position{s.position(at)}, err)
	quoted := func(prefix, suffix string) (string, bool) {
		rest, ok := strings.CutPrefix(text, prefix+"'")
		if !ok {
			return "", false
		}
		return strings.CutSuffix(rest, "'"+suffix)
	}
	if name, ok := quoted("unresolved reference ", ""); ok {
		e.Err.(*trace).text = fmt.Sprintf("unknown name %q", name)
		if r.names[name] {
			return e.Fix("it is defined later, or inside of a block")
		}
		if near := fault.Suggest(name, s.visible(r)); near != "" {
			return e.Fix("did you mean %q?", near)
		}
		return e.Fix("define it first: %s := …", name)
	}
	if name, ok := quoted("", " redeclared in this block"); ok {
		return e.Fix("write %s = … to give it another value", name)
	}
	return e
}

// reserved reports whether name is a function that scripts find ready and that
// no run of the session has defined anew.
func (s *Session) reserved(name string) bool {
	for _, sl := range s.slots {
		if sl.user && sl.name == name {
			return false
		}
	}
	return s.host[name] || contains(tengo.GetAllBuiltinFunctions(), func(f *tengo.BuiltinFunction) bool { return f.Name == name })
}

// visible returns the names that a script can use, those it defines included.
func (s *Session) visible(r *rewriter) []string {
	var out []string
	for _, f := range tengo.GetAllBuiltinFunctions() {
		out = append(out, f.Name)
	}
	for _, sl := range s.slots {
		if sl.name != "" && sl.name[0] != ':' {
			out = append(out, sl.name)
		}
	}
	for name := range r.names {
		if name != "" && name[0] != ':' && name != "_" {
			out = append(out, name)
		}
	}
	return out
}
