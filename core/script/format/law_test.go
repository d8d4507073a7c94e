package format_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/d5/tengo/v2"
	"github.com/d5/tengo/v2/parser"
	"github.com/d5/tengo/v2/token"

	"lab/core/script"
	"lab/core/script/format"
)

// bytecode returns what a script compiles to, without positions, and "" when it
// does not compile. Names that nothing defines are globals, and modules empty.
func bytecode(src []byte) string {
	if bytes.HasPrefix(src, []byte("#!")) {
		src = append([]byte("//"), src[2:]...)
	}
	free := []string{}
	for range 400 {
		file := parser.NewFileSet().AddFile("t", -1, len(src))
		tree, err := parser.NewParser(file, src, nil).ParseFile()
		if err != nil {
			return ""
		}
		top := tengo.NewSymbolTable()
		modules := tengo.NewModuleMap()
		for _, name := range free {
			top.Define(name)
		}
		for i, name := range strings.Split(string(src), "\"") {
			if i%2 == 1 {
				modules.AddBuiltinModule(name, map[string]tengo.Object{"name": &tengo.String{Value: name}})
			}
		}
		c := tengo.NewCompiler(file, top.Fork(true), nil, modules, nil)
		err = c.Compile(tree)
		if err == nil {
			bc := c.Bytecode()
			var b strings.Builder
			fmt.Fprintf(&b, "%x", bc.MainFunction.Instructions)
			for _, o := range bc.Constants {
				switch o := o.(type) {
				case *tengo.CompiledFunction:
					fmt.Fprintf(&b, "\nfunc %d %d %v %x", o.NumLocals, o.NumParameters, o.VarArgs, o.Instructions)
				case *tengo.ImmutableMap: // a module
					fmt.Fprintf(&b, "\nmodule %s", o.Value["name"])
				default:
					fmt.Fprintf(&b, "\n%T %s", o, o)
				}
			}
			return b.String()
		}
		_, rest, ok := strings.Cut(err.Error(), "unresolved reference '")
		if !ok {
			return ""
		}
		name, _, _ := strings.Cut(rest, "'")
		free = append(free, name)
	}
	return ""
}

// lawful checks what holds for every script that parses, and returns its layout.
func lawful(t *testing.T, name string, src []byte) []byte {
	t.Helper()
	out, err := format.Source(name, src)
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	again, err := format.Source(name, out)
	if err != nil || !bytes.Equal(again, out) {
		t.Fatalf("formatting twice is not formatting once: %v\nsource\n%s\nonce\n%s\ntwice\n%s", err, src, out, again)
	}
	if before, after := bytecode(src), bytecode(out); before != after {
		t.Fatalf("the bytecode changed\nsource\n%s\nformatted\n%s", src, out)
	}
	return out
}

// The laws hold for every script of the tree that parses.
func TestLawsOverTheTree(t *testing.T) {
	var files []string
	for _, pattern := range []string{"scripts/*.tengo", "plugins/examples/*/*.tengo", "core/script/testdata/seeds/*.tengo"} {
		list, err := filepath.Glob(filepath.Join("../../..", pattern))
		if err != nil || len(list) == 0 {
			t.Fatalf("no %s: %v", pattern, err)
		}
		files = append(files, list...)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	parsed := 0
	for _, path := range files {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := script.Parse(path, src); err != nil {
			continue // a seed of fuzzing
		}
		parsed++
		if bytecode(src) == "" {
			t.Errorf("%s does not compile, so that its bytecode shows nothing", path)
		}
		out := lawful(t, path, src)
		for range 3 {
			if got := lawful(t, path, blanks(rng, src)); !bytes.Equal(got, out) {
				t.Fatalf("%s: blanks decide about the layout\ngot\n%s\nwant\n%s", path, got, out)
			}
		}
	}
	if parsed < len(files)-3 {
		t.Errorf("only %d of %d scripts parse", parsed, len(files))
	}
}

// blanks returns a text with other blanks between its tokens, and the same lines.
func blanks(rng *rand.Rand, src []byte) []byte {
	file := parser.NewFileSet().AddFile("", -1, len(src))
	s := parser.NewScanner(file, src, nil, parser.ScanComments)
	var out bytes.Buffer
	last := 0
	for {
		tok, lit, pos := s.Scan()
		at := file.Offset(pos)
		if tok == token.Semicolon && lit == "\n" {
			continue
		}
		gap := src[min(last, at):at]
		for range bytes.Count(gap, []byte("\n")) {
			out.WriteString(strings.Repeat(" ", rng.IntN(2)) + "\n")
		}
		if len(gap) > 0 {
			out.WriteString(strings.Repeat(" \t"[rng.IntN(2):][:1], 1+rng.IntN(3)))
		}
		if tok == token.EOF {
			return out.Bytes()
		}
		if lit == "" {
			lit = tok.String()
		}
		out.WriteString(lit)
		last = at + len(lit)
	}
}

// The laws hold for programs made at random, with line breaks and comments
// wherever the language lets them be.
func TestLawsOverRandomPrograms(t *testing.T) {
	compiled := 0
	for seed := range uint64(600) {
		g := &maker{rng: rand.New(rand.NewPCG(seed, 7))}
		for range 1 + g.rng.IntN(6) {
			g.stmt(3)
			g.b.WriteString(g.pick("\n", ";", "\n\n\n", " // end\n", ";\n"))
		}
		src := []byte(g.b.String())
		if bytecode(src) != "" {
			compiled++
		}
		lawful(t, fmt.Sprintf("seed %d", seed), src)
	}
	if compiled < 500 {
		t.Errorf("only %d of 600 programs compile; the others show nothing of the bytecode", compiled)
	}
}

// maker writes random programs.
type maker struct {
	rng   *rand.Rand
	b     strings.Builder
	names int
}

func (g *maker) pick(list ...string) string { return list[g.rng.IntN(len(list))] }

// write writes tokens with something between them; after a token that does not
// end an operand that may be a line break.
func (g *maker) write(tokens ...string) {
	for _, tok := range tokens {
		g.b.WriteString(tok)
		switch tok {
		case "+", "-":
			g.b.WriteString(g.pick(" ", "\n", "/* so */")) // never two in a row
		case "*", "<", "==", "&&", "||", ":", "?", ",", "(", "[", "{", ":=", "=", ".":
			g.b.WriteString(g.pick("", " ", "  ", "\n", "\n\n", " // why\n", "/* so */", "\t"))
		default:
			g.b.WriteString(g.pick(" ", "  ", "\t", " /* so */ "))
		}
	}
}

func (g *maker) name() string { return g.pick("a", "b", "c", "d") }

func (g *maker) expr(depth int) {
	if depth == 0 {
		g.write(g.pick("a", "b", "1", "2.5", "\"s\"", "`r\n `", "'c'", "true", "undefined", "0x1f", ".5"))
		return
	}
	switch g.rng.IntN(11) {
	case 0, 1, 2:
		g.expr(depth - 1)
		g.write(g.pick("+", "-", "*", "<", "==", "&&", "||", "&^", ">>"))
		g.expr(depth - 1)
	case 3:
		g.write(g.pick("-", "+", "!", "^"))
		g.expr(depth - 1)
	case 4:
		g.write("(")
		g.expr(depth - 1)
		g.write(")")
	case 5:
		g.write("[")
		g.list(depth, func() { g.expr(depth - 1) })
		g.write("]")
	case 6:
		g.write("{")
		g.list(depth, func() { g.write(g.pick("k", "\"k l\""), ":"); g.expr(depth - 1) })
		g.write("}")
	case 7:
		g.write(g.name(), "(")
		g.list(depth, func() { g.expr(depth - 1) })
		g.write(")")
	case 8:
		g.write(g.name(), "[")
		g.expr(depth - 1)
		g.write(g.pick("]", ":]"))
	case 9:
		g.write("func(", g.pick("", "p", "p, q", "...p"), ")", "{")
		g.stmt(depth - 1)
		g.write("}")
	case 10:
		g.expr(depth - 1)
		g.write("?")
		g.expr(depth - 1)
		g.write(":")
		g.expr(depth - 1)
	}
}

func (g *maker) list(depth int, item func()) {
	for i := range g.rng.IntN(4) {
		if i > 0 {
			g.write(",")
		}
		item()
	}
}

func (g *maker) stmt(depth int) {
	if depth <= 0 {
		g.write(g.name(), "=")
		g.expr(0)
		return
	}
	switch g.rng.IntN(6) {
	case 0, 1:
		g.names++
		g.write(fmt.Sprintf("v%d", g.names), ":=")
		g.expr(depth)
	case 2:
		g.write("if")
		g.expr(0)
		g.block(depth)
		if g.rng.IntN(2) == 0 {
			g.write("else")
			g.block(depth)
		}
	case 3:
		g.write("for", "k", ",", "v", "in")
		g.expr(0)
		g.block(depth)
	case 4:
		g.write("for", "i", ":=", "0", ";", "i", "<", "3", ";", "i", "++")
		g.block(depth)
	case 5:
		g.write(g.name())
		g.write(g.pick("=", "+=", "=", "-="))
		g.expr(depth)
	}
}

func (g *maker) block(depth int) {
	g.write("{")
	for range g.rng.IntN(3) {
		g.stmt(depth - 1)
		g.b.WriteString(g.pick("\n", ";", "\n\n\n", " // end\n"))
	}
	g.write("}")
}

// FuzzSource: what parses is laid out by the laws; what does not is refused.
func FuzzSource(f *testing.F) {
	for _, pattern := range []string{"../testdata/seeds/*.tengo", "../../../scripts/*.tengo"} {
		list, err := filepath.Glob(pattern)
		if err != nil || len(list) == 0 {
			f.Fatalf("no %s: %v", pattern, err)
		}
		for _, path := range list {
			src, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(src)
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 20_000 {
			return
		}
		if _, err := format.Source("fuzz", src); err == nil {
			lawful(t, "fuzz", src)
		}
	})
}
