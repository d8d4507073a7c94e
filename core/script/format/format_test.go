package format_test

import (
	"strings"
	"testing"

	"lab/core/fault"
	"lab/core/script"
	"lab/core/script/format"
)

// text writes a script with its lines apart.
func text(lines ...string) string { return strings.Join(lines, "\n") + "\n" }

func TestLayout(t *testing.T) {
	for _, row := range []struct{ law, in, want string }{
		{"binary operators stand between blanks", "x:=a+b*c  -d<<2&^e", "x := a + b * c - d << 2 &^ e\n"},
		{"comparisons and logic too", "x=a==b&&c!=d||!e", "x = a == b && c != d || !e\n"},
		{"signs touch their operand", "x := - a + + b - !c ^ ^ d", "x := -a + +b - !c ^ ^d\n"},
		{"two signs do not become another operator", "x := - - a + + + b", "x := - -a + + +b\n"},
		{"assignment operators", "a+=1;b&^=2;c<<=3", "a += 1; b &^= 2; c <<= 3\n"},
		{"steps touch their operand", "i ++", "i++\n"},
		{"calls, indices and members are tight", "f ( a ,b ) [ 0 ] . c ( d ... )", "f(a, b)[0].c(d...)\n"},
		{"a point after a whole number is no fraction", "x := 1 . a", "x := 1 .a\n"},
		{"three points after a number neither", "f(1 ...)", "f(1 ...)\n"},
		{"keywords with brackets", "x := import ( \"m\" ); y := func ( ... a ) { return immutable ( [ error ( a ) ] ) }",
			"x := import(\"m\"); y := func(...a) { return immutable([error(a)]) }\n"},
		{"maps are tight and blocks are not", "m:={a:1 , \"b\":{ }}; f:=func(){x()}; g:=func( ){ }",
			"m := {a: 1, \"b\": {}}; f := func() { x() }; g := func() {}\n"},
		{"a condition has blanks around both marks", "x:=a?b:c?{d:e}:f", "x := a ? b : c ? {d: e} : f\n"},
		{"slices are tight", "x := a [ 1 : n ] ; y := a[ : n] ; z := a[n : ]", "x := a[1:n]; y := a[:n]; z := a[n:]\n"},
		{"unless a bound is an expression with blanks", "x:=a[i+1:n]; y:=a[i:n-1]; z:=a[i+1:]", "x := a[i + 1 : n]; y := a[i : n - 1]; z := a[i + 1:]\n"},
		{"loops", "for i:=0;i<3;i++{a()}\nfor ;;{}\nfor k,v in m{}\nfor{}\nfor a{}",
			text("for i := 0; i < 3; i++ { a() }", "for ; ; {}", "for k, v in m {}", "for {}", "for a {}")},
		{"branches", "if a{b()}else if c:=d();c{e()}else{f()}", "if a { b() } else if c := d(); c { e() } else { f() }\n"},
		{"indentation is by tabs", "if a {\n  if b {\n   c()\n }\n    }", text("if a {", "\tif b {", "\t\tc()", "\t}", "}")},
		{"brackets of one line indent once", "f(g({\na: 1,\nb: 2\n}), [\n3\n])", text("f(g({", "\ta: 1,", "\tb: 2", "}), [", "\t3", "])")},
		{"a function as last argument", "f(a, func(x) {\nreturn x\n})", text("f(a, func(x) {", "\treturn x", "})")},
		{"what goes on is one deeper", "x := a +\nb +\nc\ny := 1", text("x := a +", "\tb +", "\tc", "y := 1")},
		{"so are arguments after the first line", "f(a,\nb,\nc)", text("f(a,", "\tb,", "\tc)")},
		{"and what goes on in them", "f(\na +\nb,\nc)", text("f(", "\ta +", "\t\tb,", "\tc)")},
		{"a block after a condition of two lines", "if a &&\nb {\nc()\n}", text("if a &&", "\tb {", "\tc()", "}")},
		{"a value in the line after its key", "m := {\na:\n1,\nb: 2}", text("m := {", "\ta:", "\t\t1,", "\tb: 2}")},
		{"a chain of calls", "x := a.\nb().\nc()", text("x := a.", "\tb().", "\tc()")},
		{"one blank line at most", "a()\n\n\n\nb()", text("a()", "", "b()")},
		{"none at the ends", "\n\n  \na()\n\n\n", text("a()")},
		{"none at the ends of blocks", "if a {\n\n\nb()\n\n}", text("if a {", "\tb()", "}")},
		{"the empty script stays empty", " \n\n", ""},
		{"comments stay where they are", "// one\n/* two */ a() /* three */ ; b() // four\n{a: /* five */ 1}",
			text("// one", "/* two */ a() /* three */; b() // four", "{a: /* five */ 1}")},
		{"comments are indented with the code", "if a {\n// one\nb()\n// two\n}", text("if a {", "\t// one", "\tb()", "\t// two", "}")},
		{"comments at the end of lines are aligned", "a := 1 // one\nbcd := 2    // two\n\ne := 3  // three",
			text("a := 1   // one", "bcd := 2 // two", "", "e := 3 // three")},
		{"by characters, not bytes", "a := \"é\" // one\nb := \"ee\" // two", text("a := \"é\"  // one", "b := \"ee\" // two")},
		{"a line without one parts them", "aaaa() // one\nb()\nc() // two", text("aaaa() // one", "b()", "c() // two")},
		{"comments of many lines are kept", "if a {\n/* one\n  two\n*/\nb()\n}", text("if a {", "\t/* one", "  two", "*/", "\tb()", "}")},
		{"blanks at the end of comments go", "a() // one  \t\n/* two \n*/", text("a() // one", "/* two", "*/")},
		{"raw strings are kept", "x := ` a \n  b `  // c", text("x := ` a ", "  b ` // c")},
		{"line ends of Windows", "if a {\r\n  b() // c\r\n}\r\n", text("if a {", "\tb() // c", "}")},
		{"a hash-bang line", "#!/usr/bin/env lab\na()", text("#!/usr/bin/env lab", "a()")},
		{"trailing commas and semicolons stay", "a();\nb( );;c()", text("a();", "b(); ; c()")},
		{"a comment alone", "// a", text("// a")},
		{"a byte order mark goes", "\ufeffa()", text("a()")},
	} {
		t.Run(row.law, func(t *testing.T) {
			got, err := format.Source("t", []byte(row.in))
			if err != nil {
				t.Fatal(script.Detail(err))
			}
			if string(got) != row.want {
				t.Errorf("got\n%s\nwant\n%s", got, row.want)
			}
			again, err := format.Source("t", got)
			if err != nil || string(again) != string(got) {
				t.Errorf("formatted again it is %v\n%s", err, again)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	deep := strings.Repeat("[\n", 700) + strings.Repeat("1,\n", 3000) + "1" + strings.Repeat("]", 700)
	for _, row := range []struct {
		law, in string
		kind    fault.Kind
		want    string
	}{
		{"what does not parse", "x := (1\ny := 2", fault.Script, "script: t:1:8: "},
		{"text that is not UTF-8", "x := \"\xff\"", fault.Script, "illegal UTF-8"},
		{"a comment without an end", "a /* b", fault.Script, "comment not terminated"},
		{"more than a script may have", strings.Repeat("a\n", script.MaxSource/2+1), fault.Limit, "more than 1048576"},
		{"indentation that would pass it", deep, fault.Limit, "of blanks mostly"},
	} {
		t.Run(row.law, func(t *testing.T) {
			out, err := format.Source("t", []byte(row.in))
			if err == nil || fault.KindOf(err) != row.kind || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %d bytes and %v, want an error of kind %v with %q", len(out), err, row.kind, row.want)
			}
		})
	}
}

func TestACellHasNoLineBreakAtItsEnd(t *testing.T) {
	for in, want := range map[string]string{"a( )\n\nb( )": "a()\n\nb()", "a()\n\n": "a()", "": "", "// x": "// x"} {
		if got, err := format.Cell("cell 1", in); err != nil || got != want {
			t.Errorf("%q gives %q and %v, want %q", in, got, err, want)
		}
	}
}
