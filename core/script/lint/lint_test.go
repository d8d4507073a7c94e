package lint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lab/core/script"
	"lab/core/script/lint"
)

// pile is a host object of the module piles.
type pile struct{}

func (pile) Class() script.Class {
	get := func(*script.Call) (any, error) { return nil, nil }
	return script.Class{Name: "pile", Doc: "A pile.", Members: []script.Member{
		{Name: "height", Doc: "Its height.", Returns: "float", Get: get},
		{Name: "stones", Doc: "How many stones.", Returns: "int", Get: get},
		{Name: "grow", Doc: "Returns a higher one.", Returns: "pile", Func: get,
			Params:  []script.Param{{Name: "by", Type: script.Int(), Range: script.Between(1, 9), Meaning: "how much"}, {Name: "why", Type: script.String(), Optional: true, Meaning: "the reason"}},
			Options: []script.Param{{Name: "colour", Type: script.String(), Default: "red", Choices: []string{"red", "blue"}, Meaning: "its colour"}}},
		{Name: "parts", Doc: "Its parts.", Returns: "list of pile", Func: get},
		{Name: "look", Doc: "What it is like.", Returns: "pile, or list of pile", Func: get},
	}}
}

// piles is the module that the rows import.
func piles() script.Module {
	get := func(*script.Call) (any, error) { return nil, nil }
	return script.Module{Name: "piles", Doc: "Piles.", Classes: []script.Class{pile{}.Class()}, Members: []script.Member{
		{Name: "make", Doc: "Makes one.", Returns: "pile", Func: get,
			Options: []script.Param{{Name: "height", Type: script.Float(), Required: true, Range: script.MoreThan(0), Meaning: "h"}, {Name: "note", Type: script.Map(script.Any()), Meaning: "n"}}},
		{Name: "all", Doc: "Joins some.", Returns: "list of pile", Func: get, Params: []script.Param{{Name: "piles", Type: script.Host[pile](), Meaning: "which"}}, Variadic: true},
		{Name: "grid", Doc: "Makes many.", Returns: "list of pile", Func: get,
			Params: []script.Param{{Name: "grid", Type: script.Map(script.Any()), Meaning: "what"}}, Options: []script.Param{{Name: "seed", Type: script.Int(), Meaning: "s"}}},
		{Name: "limit", Doc: "The highest.", Returns: "float", Get: get},
	}}
}

// write returns findings as lines.
func write(list []lint.Finding) []string {
	out := []string{}
	for _, f := range list {
		text := f.Text
		if f.Fix != "" {
			text += "; " + f.Fix
		}
		out = append(out, fmt.Sprintf("%s %s %s: %s", f.At, f.Severity, f.Rule, text))
	}
	return out
}

func check(t *testing.T, folder string, sources ...string) []lint.Finding {
	t.Helper()
	var units []lint.Unit
	for i, src := range sources {
		name := "t"
		if len(sources) > 1 {
			name = fmt.Sprintf("cell %d", i+1)
		}
		units = append(units, lint.Unit{Name: name, Source: src})
	}
	found, err := lint.Check(lint.Config{Modules: []script.Module{piles()}, Folder: folder}, units...)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

const header = "piles := import(\"piles\")\np := piles.make({height: 1})\n"

// Each row is a script with all that is found in it.
func TestRules(t *testing.T) {
	for _, row := range []struct {
		law, in string
		want    []string
	}{
		{"a clean script", header + "print(p.height, p.grow(2, {colour: \"blue\"}).stones)", nil},

		// syntax
		{"every place that the parser names", "x := )\nif { print(1) }\n", []string{
			"t:1:6 error syntax: expected operand, found ')'", "t:2:1 error syntax: expected ';', found 'if'"}},

		// undefined
		{"a name that is misspelt", "count := 1\nprint(cuont)", []string{
			"t:1:1 warning unused-variable: nothing reads the variable \"count\"; use it or take it away",
			"t:2:7 error undefined: unknown name \"cuont\"; did you mean \"count\"?"}},
		{"a name once, at its first use", "print(zzzzzz, zzzzzz)\nzzzzzz()", []string{"t:1:7 error undefined: unknown name \"zzzzzz\"; define it first: zzzzzz := …"}},
		{"a module that is not imported", "print(piles.limit)", []string{"t:1:7 error undefined: unknown name \"piles\"; define it first: piles := import(\"piles\")"}},
		{"a name of a block", "if true { x := 1; print(x) }\nprint(x)", []string{
			"t:2:7 error undefined: unknown name \"x\"; t:1:11 defines it, which is not seen here: it comes later or is inside of a block"}},
		{"a name that comes later", "f := func() { return x }\nx := 1\nprint(f(), x)", []string{
			"t:1:22 error undefined: unknown name \"x\"; t:2:1 defines it, which is not seen here: it comes later or is inside of a block"}},
		{"assignment does not define", "zzzzzz = 1", []string{"t:1:1 error undefined: unknown name \"zzzzzz\"; define it first: zzzzzz := …"}},
		{"a value does not see its own name", "zzzzzz := zzzzzz", []string{
			"t:1:1 warning unused-variable: nothing reads the variable \"zzzzzz\"; use it or take it away",
			"t:1:11 error undefined: unknown name \"zzzzzz\"; t:1:1 defines it, which is not seen here: it comes later or is inside of a block"}},
		{"a function sees its own name", "f := func(n) { return n ? f(n - 1) : 0 }\nprint(f(3))", nil},
		{"keys and members are no names", "m := {zzz: 1}\nprint(m.yyy)", nil},
		{"loops and branches have blocks of their own", "for i := 0; i < 2; i++ { if x := i; x > 0 { print(x) } else { print(x) } }\nfor k, v in {} { print(k, v) }", nil},

		// unknown-member
		{"a member of a module", header + "print(piles.lmit, p)", []string{"t:3:13 error unknown-member: module piles: unknown member \"lmit\"; did you mean \"limit\"?"}},
		{"a member of a standard module", "math := import(\"math\")\nprint(math.pwo(2, 2), import(\"text\").fields(\"a\"))", []string{"t:2:12 error unknown-member: module math: unknown member \"pwo\"; did you mean \"pow\"?"}},
		{"a member of what a function returns", header + "print(p.grow(1).hight)", []string{"t:3:17 error unknown-member: pile: unknown member \"hight\"; did you mean \"height\"?"}},
		{"a member by its text", header + "print(p[\"hight\"])", []string{"t:3:9 error unknown-member: pile: unknown member \"hight\"; did you mean \"height\"?"}},
		{"a member of an element", header + "for q in p.parts() { print(q.hight) }\nprint(p.parts()[0].hight)", []string{
			"t:3:30 error unknown-member: pile: unknown member \"hight\"; did you mean \"height\"?",
			"t:4:20 error unknown-member: pile: unknown member \"hight\"; did you mean \"height\"?"}},
		{"a member through another name", header + "q := p\nmake := piles.make\nprint(q.hight, make({height: 1}).hight)", []string{
			"t:5:9 error unknown-member: pile: unknown member \"hight\"; did you mean \"height\"?",
			"t:5:34 error unknown-member: pile: unknown member \"hight\"; did you mean \"height\"?"}},
		{"nothing of what is assigned again", header + "p = {hight: 1}\nprint(p.hight)", nil},
		{"nothing of what may be another thing", header + "print(p.look().hight)", nil},
		{"nothing of maps, parameters and files", "f := func(p) { return p.hight }\nprint(f({hight: 1}), {a: 1}.b)", nil},

		// unknown-option
		{"an option that is misspelt", header + "print(p.grow(1, {color: \"red\"}))", []string{"t:3:18 error unknown-option: pile.grow: unknown option \"color\"; did you mean \"colour\"?"}},
		{"a map that is an argument is no options", header + "print(piles.grid({color: 1}, {sed: 1}), p)", []string{"t:3:31 error unknown-option: piles.grid: unknown option \"sed\"; did you mean \"seed\"?"}},
		{"a map in an option is none either", header + "print(piles.make({height: 2, note: {zzz: 1}}), p)", nil},

		// argument
		{"too many arguments", header + "p.grow(1, \"a\", 3)\np.parts(1)", []string{
			"t:3:16 error argument: pile.grow takes 2 arguments, and this is one more; it is called as grow(by, [why], {colour})",
			"t:4:9 error argument: pile.parts takes no arguments, and this is one more; it is called as parts()"}},
		{"too few arguments", header + "p.grow({colour: \"red\"})", []string{"t:3:1 error argument: pile.grow: argument 1 (by) is missing; it is called as grow(by, [why], {colour})"}},
		{"arguments of functions that need no import", "assert()\nsay(1)", []string{
			"t:1:1 error argument: assert: argument 1 (condition) is missing; it is called as assert(condition, [message])",
			"t:2:5 error argument: say: argument format: expected string, got int 1"}},
		{"a map in a variable may be the options", header + "o := {colour: \"red\"}\np.grow(1, \"a\", o)\np.grow(1, o)\np.grow(o)", nil},
		{"what is spread is not counted", header + "a := [1]\np.grow(a...)\npiles.all(p, p, p)", nil},
		{"an option that must be there", "piles := import(\"piles\")\npiles.make()\npiles.make({note: {}})", []string{
			"t:2:1 error argument: piles.make: option height is missing; it is called as make({height, note})",
			"t:3:1 error argument: piles.make: option height is missing; it is called as make({height, note})"}},
		{"values that are refused", header + "p.grow(10)\np.grow(-1, 2, {colour: \"rde\"})\npiles.make({height: \"1\"})", []string{
			"t:3:8 error argument: pile.grow: argument by = 10 is outside [1, 9]",
			"t:4:8 error argument: pile.grow: argument by = -1 is outside [1, 9]",
			"t:4:12 error argument: pile.grow: argument why: expected string, got int 2",
			"t:4:24 error argument: pile.grow: option colour = \"rde\" is not one of red, blue; did you mean \"red\"?",
			"t:5:21 error argument: piles.make: option height: expected number, got string \"1\""}},

		// compile
		{"a module that is not there", "x := import(\"pilse\")\nprint(x)", []string{"t:1:6 error compile: unknown module \"pilse\", and this script has no folder to import files from; did you mean \"piles\"?"}},
		{"a name defined twice", "x := 1\nx := 2\nprint(x)", []string{
			"t:1:1 warning unused-variable: nothing reads the variable \"x\"; use it or take it away",
			"t:2:1 error compile: 'x' redeclared in this block; write x = … to give it another value"}},
		{"assignment to a built-in function", "len = 1", []string{"t:1:1 error compile: len is a built-in function; write len := … for a variable of that name"}},
		{"it is asked although a name is missing", "print(zzzzzz)\nlen = 1", []string{
			"t:1:7 error undefined: unknown name \"zzzzzz\"; define it first: zzzzzz := …",
			"t:2:1 error compile: len is a built-in function; write len := … for a variable of that name"}},

		// integer-division
		{"a division that loses its fraction", "print(7/2, 6/2, 7/2.0, 7.0/2, 1/0)", []string{"t:1:7 warning integer-division: 7/2 is the whole number 3; write 7.0/2 for the fraction"}},

		// float-equality
		{"whole numbers never equal floats", "print(1 == 1.0, 1.5*2 != 3, 1 == 1, -(2.0) == -2)", []string{
			"t:1:7 warning float-equality: == between a whole number and a float is always false; write 1.0, or compare with near(a, b, tolerance)",
			"t:1:17 warning float-equality: != between a whole number and a float is always true; write 3.0, or compare with near(a, b, tolerance)",
			"t:1:37 warning float-equality: == between a whole number and a float is always false; write -2.0, or compare with near(a, b, tolerance)"}},
		{"nor floats by their declaration", header + "print(p.height == 0, p.stones == 0, p.stones == 0.0, piles.limit != p.stones)", []string{
			"t:3:7 warning float-equality: == between a whole number and a float is always false; write 0.0, or compare with near(a, b, tolerance)",
			"t:3:37 warning float-equality: == between a whole number and a float is always false; compare with near(a, b, tolerance)",
			"t:3:54 warning float-equality: != between a whole number and a float is always true; compare with near(a, b, tolerance)"}},
		{"nor what a name stands for", "t := 0.5 + 1\nn := len([])\nprint(t == 1, n == 1.0, float(n) == 2)", []string{
			"t:3:7 warning float-equality: == between a whole number and a float is always false; write 1.0, or compare with near(a, b, tolerance)",
			"t:3:15 warning float-equality: == between a whole number and a float is always false; compare with near(a, b, tolerance)",
			"t:3:25 warning float-equality: == between a whole number and a float is always false; write 2.0, or compare with near(a, b, tolerance)"}},
		{"unless it is assigned again", "t := 0.5\nt = 1\nprint(t == 1)", nil},

		// unused-variable, unused-import
		{"what nothing reads", "a := 1\nb := 2\nb += 1\nc := 3\nc++\nf := func(unused) { d := 1 }\nfor i, v in [1] { print(1) }\n_ok := 1", []string{
			"t:1:1 warning unused-variable: nothing reads the variable \"a\"; use it or take it away",
			"t:2:1 warning unused-variable: the variable \"b\" is assigned to and never read; use it or take it away",
			"t:4:1 warning unused-variable: the variable \"c\" is assigned to and never read; use it or take it away",
			"t:6:1 warning unused-variable: nothing reads the variable \"f\"; use it or take it away",
			"t:6:21 warning unused-variable: nothing reads the variable \"d\"; use it or take it away",
			"t:7:5 warning unused-variable: nothing reads the loop's variable \"i\"; write _ in its place",
			"t:7:8 warning unused-variable: nothing reads the loop's variable \"v\"; write _ in its place"}},
		{"a change of an element may be seen elsewhere", "m := {}\nm.a = 1\nl := [0]\nl[0] = 1", nil},
		{"imports that nothing uses", "p := import(\"piles\")\nq := import(\"text\").quote", []string{
			"t:1:1 warning unused-import: nothing uses \"p\", imported from \"piles\"; take the import away",
			"t:2:1 warning unused-import: nothing uses \"q\", imported from \"text\"; take the import away"}},

		// shadowed
		{"what hides a module", header + "f := func(piles) { return piles }\nif true { piles := 1; print(piles) }\nprint(f(p))", []string{
			"t:3:11 warning shadowed: \"piles\" hides what is imported from \"piles\" under that name; give it another name",
			"t:4:11 warning shadowed: \"piles\" hides what is imported from \"piles\" under that name; give it another name"}},
		{"what hides a built-in function", "len := 1\nfor say in [1] { print(len, say) }", []string{
			"t:1:1 warning shadowed: \"len\" hides the built-in function of that name; give it another name",
			"t:2:5 warning shadowed: \"say\" hides the built-in function of that name; give it another name"}},
		{"other variables may be hidden", "x := 1\nf := func(x) { return x }\nprint(f(x))", nil},

		// duplicate-key, unreachable
		{"a key that comes twice", "print({a: 1, b: 2, \"a\": 3})", []string{"t:1:20 warning duplicate-key: the key \"a\" is twice in this map, and the last one counts; take one away"}},
		{"what nothing gets to", "f := func(x) {\n\tif x { return 1 }\n\treturn 2\n\tprint(1)\n\tprint(2)\n}\nfor { break; f(1) }", []string{
			"t:4:2 warning unreachable: nothing gets here, after return; take it away, or put the return into a condition",
			"t:7:14 warning unreachable: nothing gets here, after break; take it away, or put the break into a condition"}},
	} {
		t.Run(row.law, func(t *testing.T) {
			want := row.want
			if want == nil {
				want = []string{}
			}
			if got := write(check(t, "", row.in)); !slices.Equal(got, want) {
				t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
			}
		})
	}
}

// What Tengo would compile into something else, or crash on, is found with the
// message of the runner.
func TestOversize(t *testing.T) {
	list := func(n int, sep string) string { return strings.TrimSuffix(strings.Repeat("1"+sep, n), sep) }
	many := func(n int, format, sep string) string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf(format, i))
		}
		return strings.Join(out, sep)
	}
	for _, row := range []struct{ law, in, want string }{
		{"variables of a function", "f := func() {\n" + many(257, "_v%d := 1", "\n") + "\n}\nf()", "257 variables in one function"},
		{"variables of functions around", "f := func() {\n" + many(130, "_v%d := 1", "\n") + "\nreturn func() {\n" + many(130, "_w%d := 1", "\n") + "\nreturn func() { return [" + many(130, "_v%d, _w%[1]d", ", ") + "] }\n}\n}\nf()", "a function uses 260 variables of the functions around it"},
		{"arguments of a call", "print(" + list(256, ", ") + ")", "a call with 256 arguments; at most 255"},
		{"elements of a list", "print([" + list(2001, ", ") + "])", "a list literal of 2001 elements"},
		{"keys of a map", "print({" + many(1001, "k%d: 1", ", ") + "})", "a map literal of 1001 keys"},
		{"constants", "x := 0\n" + many(66, "x = [%[1]d1", "\n") + "print(x)", ""},
		{"levels", "print(" + strings.Repeat("(", 1600) + "1" + strings.Repeat(")", 1600) + ")", "nested too deeply"},
		{"bytes", strings.Repeat("a()\n", script.MaxSource/4+1), "bytes long, more than"},
		{"though a name is missing", "zzzzzz()\nprint(" + list(256, ", ") + ")", "a call with 256 arguments"},
	} {
		if row.want == "" { // more different numbers than one list may have
			var b strings.Builder
			b.WriteString("x := 0\n")
			for i := range 70_000 {
				fmt.Fprintf(&b, "x = %d\n", i)
			}
			row.in, row.want = b.String()+"print(x)", "constants; at most 65536"
		}
		found := slices.DeleteFunc(check(t, "", row.in), func(f lint.Finding) bool { return f.Rule != "oversize" })
		if len(found) != 1 || found[0].Severity != lint.Error || !strings.Contains(found[0].Text+"; "+found[0].Fix, row.want) {
			t.Errorf("%s: got %q, want one finding with %q", row.law, write(found), row.want)
		}
	}
}

// Imported files are read as the runner reads them; what the compiler says of them
// is found at their own place.
func TestImportedFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"good.tengo":  "export {half: func(x) { return x / 2.0 }}",
		"bad.tengo":   "\nexport zzzzzz",
		"empty.tengo": "x := 7/2\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found := check(t, dir, "good := import(\"./good\")\nprint(good.half(3), good.anything)\nprint(import(\"./empty\"))\nprint(import(\"./bad\"))\nprint(import(\"../x\"))")
	want := []string{
		"bad.tengo:2:8 error compile: unknown name \"zzzzzz\"; define it first: zzzzzz := …",
		"empty.tengo:1:1 warning imported: this file is imported but exports nothing",
		"empty.tengo:1:6 warning imported: 7/2 is the whole number 3; write 7.0/2 for the fraction",
	}
	if got := write(found); !slices.Equal(got, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
	for _, f := range found {
		if f.Unit != -1 {
			t.Errorf("%s is of unit %d, want -1", f.At, f.Unit)
		}
	}
	if got := write(check(t, dir, "print(import(\"../x\"))")); len(got) != 1 || !strings.HasPrefix(got[0], "t:1:7 error compile: import \"../x\" leaves the script's folder") {
		t.Errorf("got %q", got)
	}
}

// An imported file is a function, with the limits of one.
func TestAnImportedFileIsOversize(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	for i := range 257 {
		fmt.Fprintf(&b, "_v%d := 1\n", i)
	}
	b.WriteString("export 1")
	if err := os.WriteFile(filepath.Join(dir, "big.tengo"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	got := write(check(t, dir, "print(import(\"./big\"))"))
	if len(got) != 1 || !strings.HasPrefix(got[0], "big.tengo:") || !strings.Contains(got[0], "error oversize: 257 variables in one function or imported file") {
		t.Errorf("got %q", got)
	}
	if got := check(t, dir, b.String()); len(got) != 0 {
		t.Errorf("as a script it has %q", write(got))
	}
}

// Cells see the variables of those before them, also of cells with mistakes.
func TestCells(t *testing.T) {
	for _, row := range []struct {
		law   string
		cells []string
		want  []string
	}{
		{"names go on", []string{"piles := import(\"piles\")", "p := piles.make({height: 2.0})", "p.hight"},
			[]string{"cell 3:1:3 error unknown-member: pile: unknown member \"hight\"; did you mean \"height\"?"}},
		{"not backwards", []string{"zzzzzz", "zzzzzz := 1", "zzzzzz"},
			[]string{"cell 1:1:1 error undefined: unknown name \"zzzzzz\"; cell 2:1:1 defines it, which is not seen here: it comes later or is inside of a block"}},
		{"a cell may define a name anew", []string{"x := 1\nf := func() { return x }", "x := 2\nf()", "x := \"a\"", "print(x)"}, nil},
		{"also an import", []string{"piles := import(\"piles\")\npiles.limit", "piles := import(\"piles\")\npiles.limit"}, nil},
		{"but not as something else", []string{"piles := import(\"piles\")\npiles.limit", "piles := 1\npiles"},
			[]string{"cell 2:1:1 warning shadowed: \"piles\" hides what is imported from \"piles\" under that name; give it another name"}},
		{"nothing is known in a function of what a later cell replaces", []string{"piles := import(\"piles\")\np := piles.make({height: 1})\nf := func() { return p.hight }", "p := {hight: 1}\nf()"}, nil},
		{"names of a cell that does not parse", []string{"used := 1", "x := (used\n", "x"}, []string{"cell 2:1:11 error syntax: expected ')', found newline"}},
		{"names of a cell that does not compile", []string{"x := 1\nlen = 2", "x", "zzzzzz"},
			[]string{"cell 1:2:1 error compile: len is a built-in function; write len := … for a variable of that name",
				"cell 3:1:1 error undefined: unknown name \"zzzzzz\"; define it first: zzzzzz := …"}},
	} {
		t.Run(row.law, func(t *testing.T) {
			want := row.want
			if want == nil {
				want = []string{}
			}
			if got := write(check(t, "", row.cells...)); !slices.Equal(got, want) {
				t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
			}
		})
	}
}

func TestACellThatMayFailHasWarningsAlone(t *testing.T) {
	found, err := lint.Check(lint.Config{}, lint.Unit{Name: "cell 1", Source: "zzzzzz\n7/2", MayFail: true})
	if got := write(found); err != nil || len(got) != 1 || !strings.HasPrefix(got[0], "cell 1:2:1 warning integer-division") {
		t.Errorf("got %q, %v", got, err)
	}
}

// A finding ends where the text it is about ends.
func TestPlaces(t *testing.T) {
	src := header + "p.grow(1, {color: \"red\"}).hight\n7/2\nzzzzzz"
	want := map[string]string{"unknown-option": "color", "unknown-member": "hight", "integer-division": "7/2", "undefined": "zzzzzz"}
	lines := strings.Split(src, "\n")
	for _, f := range check(t, "", src) {
		if f.At.Line != f.End.Line {
			t.Errorf("%s ends at %s", f.At, f.End)
			continue
		}
		if got := lines[f.At.Line-1][f.At.Column-1 : f.End.Column-1]; got != want[f.Rule] {
			t.Errorf("%s is about %q, want %q", f.Rule, got, want[f.Rule])
		}
		delete(want, f.Rule)
	}
	if len(want) > 0 {
		t.Errorf("not found: %v", want)
	}
}

func TestRulesAreNamedOnceAndDocumented(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range lint.Rules() {
		if r.Name == "" || seen[r.Name] || r.Name != strings.ToLower(r.Name) || !strings.HasSuffix(r.Doc, ".") || r.Severity != lint.Error && r.Severity != lint.Warning {
			t.Errorf("bad rule %+v", r)
		}
		seen[r.Name] = true
	}
}

func TestAWrongDeclarationIsAnError(t *testing.T) {
	if _, err := lint.Check(lint.Config{Modules: []script.Module{{Name: "No Name"}}}, lint.Unit{Name: "t"}); err == nil {
		t.Error("want an error")
	}
}
