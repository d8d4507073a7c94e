package lint

import (
	"cmp"
	"slices"

	"github.com/d5/tengo/v2/parser"

	"lab/core/script"
)

// Severity says how sure a finding is of harm.
type Severity string

// An Error stops the script when it gets there, or before it starts; a Warning is
// about something that runs and was surely not meant, or is of no use.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Finding is one thing that a rule found.
type Finding struct {
	Rule     string // its name in Rules
	Severity Severity
	Unit     int             // the index of the unit, or -1: a file that it imports
	At       script.Position // File is the name of the unit, or the path of the imported file
	End      script.Position // the first place after it; At when it is not known
	Text     string          // what is wrong
	Fix      string          // what to do; may be empty
}

// Unit is one text: a script, or a cell of a notebook that sees the variables of
// the units before it.
type Unit struct {
	Name   string // positions begin with it; imports are relative to its folder
	Source string
	// MayFail is set for a cell that is meant to show an error: only warnings are
	// found in it.
	MayFail bool
}

// Config is what the scripts can use.
type Config struct {
	Modules []script.Module
	Folder  string // file imports are confined to it; "" when there are none
}

// Rule is one kind of finding.
type Rule struct {
	Name     string // in lower case with hyphens
	Severity Severity
	Doc      string // what it finds, one sentence
	check    func(*program)
}

// Rules returns the rules in the order in which they are documented.
func Rules() []Rule {
	return []Rule{
		{"syntax", Error, "The text does not parse.", nil}, // found by read
		{"undefined", Error, "A name that nothing defines where it is used.", undefined},
		{"unknown-member", Error, "A member that a module or an object of one does not have.", unknownMembers},
		{"unknown-option", Error, "A key of an options map that the function does not know.", unknownOptions},
		{"argument", Error, "Too many or too few arguments, a missing option, or a value written out that the function refuses.", arguments},
		{ruleOversize, Error, "More variables, constants, arguments, elements or levels than Tengo can hold; it would compile to something else.", nil}, // found by compile
		{ruleCompile, Error, "What the compiler refuses for any other reason: an import that is not there, a name defined twice.", nil},
		{"integer-division", Warning, "A division of two whole numbers written out, which loses the fraction.", integerDivision},
		{"float-equality", Warning, "== or != between a whole number and a float, which never are equal in Tengo.", floatEquality},
		{"unused-variable", Warning, "A variable, a function or the variable of a loop that nothing reads.", unusedVariables},
		{"unused-import", Warning, "An import that nothing uses.", unusedImports},
		{"shadowed", Warning, "A variable or parameter that hides an imported module or a built-in function.", shadowed},
		{"duplicate-key", Warning, "A key that is twice in one map; the last one counts.", duplicateKeys},
		{"unreachable", Warning, "Statements after return, break or continue.", unreachable},
		{ruleImported, Warning, "What the compiler warns of in a file that is imported: it exports nothing, or divides whole numbers.", nil},
	}
}

// program is what the rules look at.
type program struct {
	declared *script.Declarations
	units    []*unit
	names    *scopes
	rule     *Rule // at work
	asked    int   // the unit that the compiler is asked about
	findings []Finding
	spoken   map[spot]bool // where there are findings

	meanings map[parser.Expr]script.Meaning
	numbers  map[parser.Expr]number
}

// spot is a place of which something of that severity is said.
type spot struct {
	at       script.Position
	severity Severity
}

// unit is a Unit that was read.
type unit struct {
	Unit
	index int
	tree  *parser.File // nil: it does not parse
}

// Check returns what the rules find in the units, which run one after the other in
// one session, in the order of the text. The error is of kind internal, for
// modules whose declaration is wrong.
func Check(c Config, units ...Unit) ([]Finding, error) {
	p := &program{declared: script.Declared(c.Modules), spoken: map[spot]bool{}, meanings: map[parser.Expr]script.Meaning{}, numbers: map[parser.Expr]number{}}
	rules := Rules()
	p.rule = &rules[0]
	for i := range units {
		p.read(i, units[i])
	}
	session, err := script.New(script.Config{Modules: c.Modules, Folder: c.Folder, Warn: p.warned})
	if err != nil {
		return nil, err
	}
	p.names = resolve(p, session)
	for i := range rules {
		if p.rule = &rules[i]; p.rule.check != nil {
			p.rule.check(p)
		}
	}
	p.compile(session)
	p.findings = slices.DeleteFunc(p.findings, func(f Finding) bool {
		return f.Severity == Error && f.Unit >= 0 && units[f.Unit].MayFail
	})
	slices.SortStableFunc(p.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(uint(a.Unit), uint(b.Unit)), cmp.Compare(a.At.File, b.At.File),
			cmp.Compare(a.At.Line, b.At.Line), cmp.Compare(a.At.Column, b.At.Column))
	})
	return p.findings, nil
}

// read parses a unit.
func (p *program) read(i int, u Unit) {
	r := &unit{Unit: u, index: i}
	p.units = append(p.units, r)
	tree, err := script.Parse(u.Name, []byte(u.Source))
	if err == nil {
		r.tree = tree
		return
	}
	if list := script.SyntaxErrors(err); len(list) > 0 {
		for _, e := range list {
			p.add(Finding{Rule: p.rule.Name, Severity: Error, Unit: i, At: e.At, End: e.At, Text: e.Text})
		}
		return
	}
	p.failed(i, err) // too large, or too deeply nested
}

func (p *program) add(f Finding) {
	p.findings = append(p.findings, f)
	p.spoken[spot{f.At, f.Severity}] = true
}

// found adds a finding of the rule at work about a node.
func (p *program) found(u *unit, n parser.Node, text, fix string) {
	at, end := u.position(begin(n)), u.position(n.End())
	p.add(Finding{Rule: p.rule.Name, Severity: p.rule.Severity, Unit: u.index, At: at, End: end, Text: text, Fix: fix})
}

// begin returns where a node begins. Tengo takes a sign for no part of its operand.
func begin(n parser.Node) parser.Pos {
	for {
		switch x := n.(type) {
		case *parser.UnaryExpr:
			return x.TokenPos
		case *parser.BinaryExpr:
			n = x.LHS
		case *parser.CondExpr:
			n = x.Cond
		case *parser.ExprStmt:
			n = x.Expr
		default:
			return n.Pos()
		}
	}
}

func (u *unit) position(at parser.Pos) script.Position {
	f := u.tree.InputFile
	at = min(at, parser.Pos(f.Base+f.Size))
	pos := f.Position(at)
	return script.Position{File: u.Name, Line: pos.Line, Column: pos.Column}
}

// walk calls visit for every node of every unit.
func (p *program) walk(visit func(*unit, parser.Node) bool) {
	for _, u := range p.units {
		if u.tree != nil {
			script.Walk(u.tree, func(n parser.Node) bool { return visit(u, n) })
		}
	}
}
