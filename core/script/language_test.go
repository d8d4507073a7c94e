package script_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"lab/core/fault"
	"lab/core/script"
	"lab/core/script/scripttest"
)

func TestWhatScriptsFindReady(t *testing.T) {
	rows := []struct{ name, src, want string }{
		{"print", `print(); print("a", 1, 1.0, 0.1, true, undefined, 'x', ["a", 'x'], {b: 1, a: "q"})`, "\na 1 1 0.1 true undefined x [\"a\", x] {a: \"q\", b: 1}\n"},
		{"small and large numbers", `print(1e-20, 123456.789, 1e6, 1e20, 1e21, 1/0.0, 0.0/0.0, -0.5)`, "1e-20 123456.789 1000000 100000000000000000000 1e+21 +Inf NaN -0.5\n"},
		{"string is what prints", `print(string(1e-20) + "|" + string([1.5]) + "|" + string("x") + "|" + string(undefined, "none"))`, "1e-20|[1.5]|x|none\n"},
		{"say", `say("T={} H={:.3f}", 0.5, 1.23456); say("plain {{}}")`, "T=0.5 H=1.235\nplain {}\n"},
		{"widths", `say("[{:6.2f}] [{:<6}] [{:>6}] [{:^6}] [{:6}] [{:6}] [{:06.1f}] [{:+d}] [{:+.1f}]", 1.005, "ab", "ab", "ab", "ab", 7, -1.5, 3, -2.0)`,
			"[  1.00] [ab    ] [    ab] [  ab  ] [ab    ] [     7] [-001.5] [+3] [-2.0]\n"},
		{"other verbs", `say("{:x} {:e} {:.2g} {:.1%} {:d} {:.2s}|{:s}|", 255, 1234.5, 0.00012345, 0.256, 12, "abc", [1])`, "ff 1.234500e+03 0.00012 25.6% 12 ab|[1]|\n"},
		{"width counts characters", `say("[{:4}]", "é")`, "[é   ]\n"},
		{"empty text", `say("[{}] [{:3}]", "", "")`, "[] [   ]\n"},
		{"near", `print(near(0.1+0.2, 0.3, 1e-12), near(1, 1.5, 0.4), near(1, 1.0, 0), near(0.0/0.0, 0.0/0.0, 1), near(1/0.0, 1/0.0, 0))`, "true false true false true\n"},
		{"must passes values on", `print(must(0), must([1]))`, "0 [1]\n"},
		{"try returns results", `print(try(func(a, b) { return a + b }, 1, 2))`, "3\n"},
		{"try keeps identity", `a := [1]; b := try(func() { return a }); b[0] = 2; print(a)`, "[2]\n"},
		{"try catches", "r := try(func() {\n fail(\"no\") })\nprint(is_error(r), r.value)", "true test.tengo:2:2: no\n"},
		{"try inside try", `r := try(func() { return try(func() { return 1/0 }) }); print(is_error(r))`, "true\n"},
		{"assert that holds", `assert(1 < 2); assert(true, "x")`, ""},
		{"maps loop in order of keys", `for k, v in {c: 3, a: 1, b: 2} { print(k, v) }; for v in immutable({y: 1, x: 2}) { print(v) }`, "a 1\nb 2\nc 3\n2\n1\n"},
		{"a key deleted in its loop", `m := {a: 1, b: 2}; for k, v in m { delete(m, "b"); print(k, v) }`, "a 1\nb undefined\n"},
		{"range", `print(range(0, 5, 2), range(3, 0), range(0, 0), range(2, -3, 2))`, "[0, 2, 4] [3, 2, 1] [] [2, 0, -2]\n"},
		{"our names can be reused", `near := 1; f := func(print) { return print + near }; say("{}", f(1))`, "2\n"},
		{"comparisons stay as they were", `a := [1, {x: 2}]; b := [1, {x: 2}]; x := 1; y := 1.0; print(a == b, a != b, x == y, x == 1, a == undefined, "a" == "a")`, "true false false true false true\n"},
		{"texts with values", `h := 1.5; print("h=" + h + ", " + [1] + {b: 1, a: 2})`, "h=1.5, [1]{a: 2, b: 1}\n"},
		{"math", `m := import("math"); print(m.sqrt(2.25), m.floor(1.9), m.pi > 3.14)`, "1.5 1 true\n"},
		{"text", `t := import("text"); print(t.split("a,b", ","), t.to_upper("x"), t.atoi("7"))`, "[\"a\", \"b\"] X 7\n"},
		{"hex and base64", `print(import("hex").encode("hi"), import("base64").encode("hi"), import("base64").decode("aGk="))`, "6869 aGk= hi\n"},
		{"enum", `e := import("enum"); print(e.filter([1, 2, 3], func(i, x) { return x > 1 }), e.all([], func(i, x) { return false }))`, "[2, 3] true\n"},
		{"fmt writes where print does", `f := import("fmt"); f.print("a", 1); f.println("b"); f.printf("%d %s %v\n", 7, "x", [1]); print(f.sprintf("%.2f", 1.0))`, "a1b\n7 x [1]\n1.00\n"},
		{"json", `j := import("json"); print(string(j.encode({b: [1, 2.0, 1e-9, "é<\n", true, undefined], a: {}})))`, `{"a":{},"b":[1,2.0,1e-09,"é<\n",true,null]}` + "\n"},
		{"json there and back", `j := import("json"); x := j.decode("{\"a\": [1, 2.5, 1e2, 9007199254740993, \"s\", null]}"); print(x, type_name(x.a[2])); print(string(j.encode(x)))`,
			"{a: [1, 2.5, 100, 9007199254740993, \"s\", undefined]} float\n" + `{"a":[1,2.5,100.0,9007199254740993,"s",null]}` + "\n"},
		{"json layout", `print(string(import("json").indent("[1]", "", " ")))`, "[\n 1\n]\n"},
		{"export of the main file is its value", `export {a: 1}`, ""},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			scripttest.Run(t, r.src).Printed(t, r.want)
		})
	}
}

func TestErrors(t *testing.T) {
	rows := []struct {
		name, src, want string // the whole message after "script: test.tengo:"
	}{
		{"fail", "x := 1\n  fail(\"stop {}\")", `2:3: stop {}`},
		{"assert", `assert(1 == 2)`, `1:1: assertion failed`},
		{"assert with a message", `assert(false, "n is " + 3)`, `1:1: assertion failed: n is 3`},
		{"assert of a number", `assert(1)`, `1:1: assert: argument 1 (condition): expected true or false, got int 1`},
		{"must of an error", `must(error("oops"))`, `1:1: oops`},
		{"must of undefined", `m := {}; must(m.x)`, `1:10: the value is undefined`},
		{"must of a caught error", `must(try(func() { fail("a") }))`, `1:1: test.tengo:1:19: a`},
		{"say too few", `say("{} {}", 1)`, `1:1: "{} {}" has more {} than values`},
		{"say too many", `say("{}", 1, 2)`, `1:1: "{}" has 1 {} for 2 values`},
		{"say unclosed", `say("{")`, `1:1: a { without its }; write {{ for a brace`},
		{"say unopened", `say("}")`, `1:1: a } without its {; write }} for a brace`},
		{"say unknown verb", `say("{:q}", 1)`, `1:1: {:q} is not a format; write {} or, for instance, {:.3f} {:8d} {:<10}`},
		{"say a name", `say("{name}", 1)`, `1:1: {name} is not a format; write {} or, for instance, {:.3f} {:8d} {:<10}`},
		{"say text as number", `say("{:.2f}", "a")`, `1:1: {:.2f} does not fit string "a"`},
		{"say float as int", `say("{:d}", 1.5)`, `1:1: {:d} does not fit float 1.5`},
		{"say too wide", `say("{:99999d}", 1)`, `1:1: {:99999d} is not a format; write {} or, for instance, {:.3f} {:8d} {:<10}`},
		{"types of an operation", `"a" - 1`, `1:1: invalid operation: string - int`},
		{"call of undefined", "m := {}\nm.go()", `2:1: undefined is not a function; a member that does not exist reads as undefined: is its name misspelt?`},
		{"arguments of a built-in", `len(1, 2)`, `1:1: wrong number of arguments in call to 'len'`},
		{"arguments of a standard function", `import("math").sqrt(1, 2)`, `1:1: wrong number of arguments in call to 'math.sqrt'`},
		{"strings are not numbers", `import("math").sqrt("4")`, `1:1: argument 1: expected number, got string "4"`},
		{"standard functions raise", `import("text").atoi("x")`, `1:1: strconv.Atoi: parsing "x": invalid syntax`},
		{"misspelt standard function", `import("math").sqr(4)`, `1:16: module math: unknown member "sqr"; did you mean "sqrt"?`},
		{"unknown name", "total := 1\nprint(totl)", `2:7: unknown name "totl"; did you mean "total"?`},
		{"unknown name near a parameter", "f := func(prompt) { return promt }", `1:28: unknown name "promt"; did you mean "prompt"?`},
		{"unknown name near a function of ours", `asert(true)`, `1:1: unknown name "asert"; did you mean "assert"?`},
		{"unknown name far from all", `qwertyuiop`, `1:1: unknown name "qwertyuiop"; define it first: qwertyuiop := …`},
		{"assignment to the undefined", `y = 1`, `1:1: unknown name "y"; define it first: y := …`},
		{"defined twice", "x := 1\nx := 2", `2:1: 'x' redeclared in this block; write x = … to give it another value`},
		{"a built-in assigned to", `len = 5`, `1:1: len is a built-in function; write len := … for a variable of that name`},
		{"one of ours assigned to", `print = 5`, `1:1: print is a built-in function; write print := … for a variable of that name`},
		{"an expression assigned to", `f := func() {}; f() = 1`, `1:17: only a variable, or an element or member of one, can be assigned to`},
		{"two at once", `x, y := 1, 2`, `1:1: tuple assignment not allowed`},
		{"return at the top", `return 1`, `1:1: return not allowed outside function`},
		{"break outside a loop", `break`, `1:1: break not allowed outside loop`},
		{"json of NaN", `import("json").encode({rows: [{h: 1}, {h: 0.0/0.0}]})`, `1:1: .rows[1].h is NaN, which JSON cannot hold`},
		{"json of a function", `import("json").encode([func() {}])`, `1:1: [0] is a function, which JSON cannot hold`},
		{"json of infinity", `import("json").encode(1/0.0)`, `1:1: the value is +Inf, which JSON cannot hold`},
		{"broken json", `import("json").decode("{")`, `1:1: not JSON: unexpected EOF`},
		{"two json values", `import("json").decode("1 2")`, `1:1: not JSON: something follows the value`},
		{"too large a json number", `import("json").decode("1e999")`, `1:1: the number 1e999 does not fit a float`},
		{"range backwards", `range(0, 5, -1)`, `1:1: range: step -1 is less than 1; it counts down by itself when stop is below start`},
		{"a host error keeps its text", `import("kit").plain_error()`, `1:1: plain`},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			got := scripttest.Run(t, r.src, kit())
			if got.Err == nil || got.Err.Error() != "script: test.tengo:"+r.want {
				t.Errorf("got  %v\nwant script: test.tengo:%s", got.Err, r.want)
			}
			var f *fault.Error
			if !errors.As(got.Err, &f) {
				t.Errorf("%T is no fault", got.Err)
			}
		})
	}
}

func TestSyntaxErrorsAreAllListed(t *testing.T) {
	r := scripttest.Run(t, "a := )\nif true {\n\tc := ]\n}\n")
	r.Failed(t, "script: test.tengo:1:6: expected operand, found ')' (and 3 further errors)")
	d := script.Detail(r.Err)
	for _, want := range []string{
		"\ntest.tengo:1:6: expected operand, found ')'\n  1 | a := )\n    |      ^\n",
		"\ntest.tengo:3:7: expected operand, found ']'\n  3 | \tc := ]\n    | \t     ^",
	} {
		if !strings.Contains(d, want) {
			t.Errorf("detail\n%s\nlacks%s", d, want)
		}
	}
	var many strings.Builder
	for range 40 {
		many.WriteString("x := )\nfor {}\n")
	}
	d = script.Detail(scripttest.Run(t, many.String()).Err)
	if n := strings.Count(d, "\n    | "); n > 10 || !strings.Contains(d, "and ") {
		t.Errorf("%d problems shown:\n%s", n, d)
	}
}

func TestDetailShowsTheLineAndTheCalls(t *testing.T) {
	r := scripttest.Run(t, `inner := func(n) {
	return 1 / n
}
outer := func() {
	return inner(0)
}
outer()
`)
	want := `script: test.tengo:2:9: integer division by zero; write 1.0*a/b for a division of numbers
  2 | 	return 1 / n
    | 	       ^
  from test.tengo:5:9  return inner(0)
  from test.tengo:7:1  outer()`
	if d := script.Detail(r.Err); d != want {
		t.Errorf("got\n%s\nwant\n%s", d, want)
	}
	long := "x := \"" + strings.Repeat("é", 300) + "\" + 1/0 + \"" + strings.Repeat("b", 300) + "\""
	d := script.Detail(scripttest.Run(t, long).Err)
	for _, line := range strings.Split(d, "\n")[1:] {
		if n := len([]rune(line)); n > 160 {
			t.Errorf("a line of %d characters:\n%s", n, d)
		}
	}
	if got := script.Detail(fault.New(fault.Usage, "a", "", "b")); got != "a: b" {
		t.Errorf("another error: %q", got)
	}
	if got := script.Detail(nil); got != "" {
		t.Errorf("no error: %q", got)
	}
}

func TestRecursionIsShownOnce(t *testing.T) {
	d := script.Detail(scripttest.Run(t, "f := func(n) {\n  return n == 0 ? 1/0 : f(n-1) + 1\n}\nf(300)").Err)
	if !strings.Contains(d, "(300 times)") || strings.Count(d, "\n") > 8 {
		t.Errorf("detail\n%s", d)
	}
}

func TestVariablesLastFromRunToRun(t *testing.T) {
	s := session(t, script.Config{})
	steps := []struct {
		src  string
		want any
		err  string
	}{
		{`x := 1; f := func() { return x }`, nil, ""},
		{`x + f()`, int64(2), ""},
		{`x := 10`, nil, ""},
		{`f()`, int64(10), ""},
		{`y := nope`, nil, `unknown name "nope"`},
		{`y`, nil, `unknown name "y"`},
		{`y := 2; y := 3`, nil, "redeclared"},
		{`y := 5; y`, int64(5), ""},
		{`z := 1/0`, nil, "division by zero"},
		{`z`, nil, ""},
		{`for i := 0; i < 3; i++ { x += i }; x`, int64(13), ""},
		{`g := func() { return f() + y }; g()`, int64(18), ""},
		{`near := 3; near`, int64(3), ""},
		{`near + 1`, int64(4), ""},
		{`x := "a" + x`, nil, ""},
		{`x`, "a13", ""},
		{`lib := import("math"); lib.sqrt(16)`, 4.0, ""},
		{`lib.sqrt(25)`, 5.0, ""},
		{`a := (`, nil, "expected"},
		{``, nil, ""},
		{`// nothing`, nil, ""},
		{`undefined`, nil, ""},
	}
	for i, st := range steps {
		v, err := s.Run(context.Background(), fmt.Sprintf("cell %d", i), st.src)
		switch {
		case st.err == "" && (err != nil || v != st.want):
			t.Errorf("%s: %v, %v; want %v", st.src, v, err, st.want)
		case st.err != "" && (err == nil || !strings.Contains(err.Error(), st.err)):
			t.Errorf("%s: %v, want %q", st.src, err, st.err)
		}
	}
}

func TestManyRunsDoNotFillTheSession(t *testing.T) {
	s := session(t, script.Config{})
	for i := range 500 {
		v, err := s.Run(context.Background(), "cell", "#!lab run\nt := 0; for i := 0; i < 4; i++ { t += i }; t")
		if err != nil || v != int64(6) {
			t.Fatalf("run %d: %v, %v", i, v, err)
		}
	}
	if n := len(s.Sources()); n != 1 { // the same text under the same name
		t.Errorf("%d sources", n)
	}
}

func TestErrorsOfTheFirstOfTwoRunsShowItsLines(t *testing.T) {
	s := session(t, script.Config{})
	ctx := context.Background()
	if _, err := s.Run(ctx, "cell", "f := func() {\n  fail(\"first\")\n}"); err != nil {
		t.Fatal(err)
	}
	_, err := s.Run(ctx, "cell", "// another text\n// of two lines\nf()")
	if d := script.Detail(err); !strings.Contains(d, "2 |   fail(\"first\")") || !strings.Contains(d, "from cell (2):3:1  f()") {
		t.Errorf("detail\n%s", d)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("pipe is closed") }

func TestOutputThatCannotBeWrittenIsAnError(t *testing.T) {
	s, err := script.New(script.Config{Out: brokenPipe{}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Run(context.Background(), "x", "print(1)")
	if err == nil || !strings.Contains(err.Error(), "script: x:1:1: write output: pipe is closed") {
		t.Errorf("got %v", err)
	}
}
