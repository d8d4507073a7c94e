package script_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lab/core/fault"
	"lab/core/script"
	"lab/core/script/scripttest"
)

// many returns n pieces of source made by f.
func many(n int, f func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(f(i))
	}
	return b.String()
}

func define(i int) string { return fmt.Sprintf("v%d := %d\n", i, i) }

// Tengo compiles each of these, one size too large, into a program that does
// something else. The largest size it gets right must keep working.
func TestOversizedScriptsAreRefusedAndNotMiscompiled(t *testing.T) {
	locals := func(n int) string {
		return "f := func() {\n" + many(n, define) + "return v0\n}\nf()"
	}
	arguments := func(n int) string {
		return "f := func(...a) { return len(a) }\nf(" + strings.TrimSuffix(many(n, func(i int) string { return "1," }), ",") + ")"
	}
	captured := func(n int) string { // from two functions, as one cannot hold 256
		return "f := func() {\n" + many(n-100, define) + "return func() {\n" +
			many(100, func(i int) string { return fmt.Sprintf("w%d := %d\n", i, i) }) +
			"return func() { return v0 + w0" + many(n-101, func(i int) string { return fmt.Sprintf("+v%d", i+1) }) +
			many(99, func(i int) string { return fmt.Sprintf("+w%d", i+1) }) + " }() } }\nf()()"
	}
	sum := func(n int) int64 { return int64(n) * int64(n-1) / 2 }
	constants := func(n int) string { // each line has two
		return "a := [0]\n" + many(n, func(i int) string { return fmt.Sprintf("a[0]=%d\n", i) }) + "a[0]"
	}
	rows := []struct {
		name, src string
		want      any    // value
		err       string // or message
	}{
		{"256 locals", locals(256), int64(0), ""},
		{"257 locals", locals(257), nil, "257 variables in one function or imported file; at most 256"},
		{"255 arguments", arguments(255), int64(255), ""},
		{"256 arguments", arguments(256), nil, "a call with 256 arguments; at most 255"},
		{"255 captured variables", captured(255), sum(155) + sum(100), ""},
		{"256 captured variables", captured(256), nil, "uses 256 variables of the functions around it; at most 255"},
		{"64,000 constants", constants(32_000), int64(31_999), ""},
		{"66,000 constants", constants(33_000), nil, "constants; at most 65536"},
		{"2,000 elements in a literal", "len([" + many(2000, func(int) string { return "1," }) + "1][1:])", nil, "a list literal of 2001 elements"},
		{"1,001 keys in a literal", "{" + strings.TrimSuffix(many(1001, func(i int) string { return fmt.Sprintf("k%d: 1,", i) }), ",") + "}", nil, "a map literal of 1001 keys"},
		{"300 globals are fine", many(300, define) + "v0 + v299", int64(299), ""},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			got := scripttest.Run(t, r.src)
			if r.err != "" {
				got.Failed(t, r.err, "script: test.tengo:")
				return
			}
			got.Returned(t, r.want)
		})
	}
	for n, want := range map[int]string{256: "", 257: "257 variables in one function or imported file"} {
		got := scripttest.RunFiles(t, "main.tengo", map[string]string{
			"main.tengo": `import("./lib")`, "lib.tengo": many(n, define) + "export v0",
		})
		if want == "" {
			got.Returned(t, int64(0))
		} else {
			got.Failed(t, want, "lib.tengo:1:")
		}
	}
}

func TestConstantsAddUpOverTheRunsOfASession(t *testing.T) {
	s := session(t, script.Config{})
	chunk := func(from int) string {
		return "a := [0]\n" + many(15_000, func(i int) string { return fmt.Sprintf("a[0]=%d\n", from+i) }) + "a[0]"
	}
	for i, from := range []int{0, 15_000, 30_000, 45_000} {
		v, err := s.Run(context.Background(), "cell", chunk(from))
		if i < 3 && (err != nil || v != int64(from+14_999)) {
			t.Fatalf("run %d: %v, %v", i, v, err)
		}
		if i == 3 && (err == nil || !strings.Contains(err.Error(), "constants; at most")) {
			t.Errorf("the fourth run: %v", err)
		}
	}
	if v, err := s.Run(context.Background(), "after", "a[0]"); err != nil || v != int64(44_999) {
		t.Errorf("after the refusal: %v, %v", v, err)
	}
}

func TestPanicsOfTheMachineAreErrorsWithAPlace(t *testing.T) {
	rows := []struct{ name, src, want string }{
		{"division by zero", "a := 1\nb := a / (a-1)", "script: test.tengo:2:6: integer division by zero"},
		{"remainder by zero", "f := func(a) {\n  return 7 % a\n}\nf(0)", "script: test.tengo:2:10: integer division by zero"},
		{"values on the stack", "f := func(n) { return n == 0 ? 0 : 1 + f(n-1) }\nf(5000)", "the stack of 2048 values is full"},
		{"frames", "f := func(n) { if n > 0 { f(n-1) }; return 1 }\nf(5000)", "script: test.tengo:1:"},
		{"spread", "f := func(...a) { return len(a) }\nf(range(0, 3000)...)", "the stack of 2048 values is full"},
		{"a list too long for what is on the stack", "f := func(n) { return n == 0 ? [" + many(1999, func(int) string { return "1," }) + "1] : f(n-1) + [] }\nf(40)", "the stack of 2048 values is full"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			got := scripttest.Run(t, r.src)
			got.Failed(t, r.want)
			if k := fault.KindOf(got.Err); k != fault.Script {
				t.Errorf("kind %v, want script", k)
			}
			if d := script.Detail(got.Err); strings.Count(d, "\n") > 14 {
				t.Errorf("the detail has %d lines:\n%s", strings.Count(d, "\n"), d)
			}
		})
	}
}

func TestHostPanicsAreInternalErrors(t *testing.T) {
	for name, want := range map[string]string{
		"crash": "assignment to entry in nil map", "crash_unlocked": "aside", "undeclared": `argument "nope" is not declared`,
	} {
		r := scripttest.Run(t, "kit := import(\"kit\")\nkit."+name+"()", kit())
		r.Failed(t, "script: test.tengo:2:1: kit."+name+": panic: ", want, "defect of the module")
		if k := fault.KindOf(r.Err); k != fault.Internal {
			t.Errorf("%s: kind %v, want internal", name, k)
		}
		if !strings.Contains(script.Detail(r.Err), "kit_test.go:") {
			t.Errorf("%s: the detail does not show the Go stack:\n%s", name, script.Detail(r.Err))
		}
	}
}

// slack is what a stop may take on a busy machine; the loops below would run
// for ever.
const slack = 5 * time.Second

func TestDeadlinesStopEverything(t *testing.T) {
	rows := []struct{ name, src, at string }{
		{"a bare loop", `for {}`, "1:1"},
		{"a loop that works", "x := 0\nfor {\n x += 1\n}", ""},
		{"a loop in a closure", "kit.apply(func() { for {} })", "1:20"},
		{"loops in parallel closures", "kit.parallel(4, func(i) { for {} })", ""},
		{"a host function that sleeps", "kit.sleep(60000)", "1:1"},
		{"a sleep in a closure", "kit.apply(func() { kit.sleep(60000) })", "1:20"},
		{"try does not catch it", "for { try(func() { for {} }) }", ""},
		{"try does not catch a sleep", "for { try(kit.sleep, 60000) }", ""},
		{"endless recursion through tail calls", "f := undefined; f = func() { return f() }; f()", ""},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
			defer cancel()
			start := time.Now()
			got := scripttest.RunContext(t, ctx, `kit := import("kit"); `+r.src, kit())
			if d := time.Since(start); d > slack {
				t.Errorf("stopped after %v", d)
			}
			got.Failed(t, "stopped: the deadline passed")
			if k := fault.KindOf(got.Err); k != fault.Limit {
				t.Errorf("kind %v, want limit: %v", k, got.Err)
			}
			if !errors.Is(got.Err, context.DeadlineExceeded) {
				t.Errorf("the cause is lost: %#v", got.Err)
			}
			if len(script.Positions(got.Err)) == 0 {
				t.Errorf("no position: %v", got.Err)
			}
		})
	}
}

// A host function that was interrupted while it called the script says what it
// had done; where the script was is said all the same, and nothing twice.
func TestAnInterruptNamesTheLineItStopped(t *testing.T) {
	for src, want := range map[string]struct {
		message string
		lines   []int
	}{
		"kit.gives_up(func() {\n for {}\n})":                                                     {"3:2: the budget is spent (during: kit: stopped after 3 of 4)", []int{3, 2}},
		"f := func() {\n for {}\n}\nkit.gives_up(func() { kit.gives_up(f) })":                    {"3:2: the budget is spent (during: kit: stopped after 3 of 4)", []int{3, 5, 5}},
		"try(func() { kit.budget(1, func() {\n for {}\n}) })\nkit.gives_up(func() {\n for {} })": {"6:2: the budget is spent (during: kit: stopped after 3 of 4)", []int{6, 5}},
		"try(func() { kit.budget(1, func() {\n for {}\n}) })\nfor {}":                            {"5:1: the budget is spent", []int{5}},
	} {
		t.Run(src, func(t *testing.T) {
			t.Parallel()
			// Enough for a busy machine to reach the loop.
			ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Second, fault.New(fault.Limit, "", "", "the budget is spent"))
			defer cancel()
			r := scripttest.RunContext(t, ctx, "kit := import(\"kit\")\n"+src, kit())
			if r.Err == nil || r.Err.Error() != "script: test.tengo:"+want.message || fault.KindOf(r.Err) != fault.Limit {
				t.Errorf("got %v, want %q", r.Err, want.message)
			}
			var lines []int
			for _, p := range script.Positions(r.Err) {
				lines = append(lines, p.Line)
			}
			if !slices.Equal(lines, want.lines) {
				t.Errorf("frames on lines %v, want %v", lines, want.lines)
			}
		})
	}
}

func TestInterruptsLeaveTheSessionUsable(t *testing.T) {
	s := session(t, script.Config{})
	for i := range 3 {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(50*time.Millisecond, cancel)
		_, err := s.Run(ctx, "loop", "x := 5\nkit := import(\"kit\")\nfor {\n  kit.parallel(3, func(i) { return i })\n}")
		if fault.KindOf(err) != fault.Interrupted || !errors.Is(err, context.Canceled) {
			t.Fatalf("run %d: %v", i, err)
		}
		if !strings.Contains(err.Error(), "interrupted") || !strings.HasPrefix(err.Error(), "script: loop:") {
			t.Errorf("message %q", err)
		}
		if v, err := s.Run(context.Background(), "next", `kit.apply(func() { return x + 1 })`); err != nil || v != int64(6) {
			t.Fatalf("run %d: the session gives %v, %v", i, v, err)
		}
	}
	done, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Run(done, "late", "for {}"); fault.KindOf(err) != fault.Interrupted {
		t.Errorf("a context that is over: %v", err)
	}
}

func TestLimits(t *testing.T) {
	rows := []struct {
		name, src, want string
		limits          script.Limits
	}{
		{"objects", "x := 0; for { x += 1 }", "object allocation limit exceeded", script.Limits{Allocs: 10_000}},
		{"objects in a closure", `import("kit").apply(func() { x := 0; for { x += 1 } })`, "object allocation limit exceeded", script.Limits{Allocs: 10_000}},
		{"heap", `a := []; s := "0123456789abcdef"; for i := 0; i < 12; i++ { s += s }; for { a = append(a, bytes(s)) }`, "memory grew by more than 64 MiB", script.Limits{HeapBytes: 64 << 20}},
		{"heap, in a try", `try(func() { a := [1]; for { a = append(a, bytes(1000000)) } })`, "memory grew by more than 64 MiB", script.Limits{HeapBytes: 64 << 20}},
		{"string", `s := "0123456789abcdef"; for { s += s }`, "exceeding string size limit", script.Limits{}},
		{"bytes", `bytes(2000000000)`, "exceeding bytes size limit", script.Limits{}},
		{"range", `range(0, 1000000000)`, "1000000000 elements, more than 10000000", script.Limits{}},
		{"range over all ints", `range(-9223372036854775807, 9223372036854775807)`, "elements, more than 10000000", script.Limits{}},
		{"a list of lists that spells too much", `a := [1]; for i := 0; i < 100; i++ { a = [a, a] }; copy(a)`, "too large", script.Limits{}},
		{"a host argument that spells too much", `a := [1]; for i := 0; i < 100; i++ { a = [a, a] }; import("kit").echo(a)`, "too large", script.Limits{}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), scripttest.Timeout)
			defer cancel()
			_, err := session(t, script.Config{Limits: r.limits}).Run(ctx, "x", r.src)
			if err == nil || !strings.Contains(err.Error(), r.want) {
				t.Errorf("got %v, want %q", err, r.want)
			}
		})
	}
}

func TestValuesThatContainThemselves(t *testing.T) {
	const loop = `m := {a: 1}; m.self = m; l := [1]; l[0] = l; kit := import("kit"); `
	scripttest.Run(t, loop+`print(m, l); print("m: " + m); print(string(l)); print(format("%v", l)); say("{}", m)`, kit()).
		Printed(t, "{a: 1, self: ...} [...]\nm: {a: 1, self: ...}\n[...]\n[...]\n{a: 1, self: ...}\n")
	for _, src := range []string{`m == m`, `l != l`, `copy(m)`, `kit.echo(l)`, `import("json").encode(m)`, `import("text").join(l, ",")`, `kit.apply(kit.echo, m)`} {
		scripttest.Run(t, loop+src, kit()).Failed(t, "contains itself")
	}
	scripttest.Run(t, `a := []; for i := 0; i < 100000; i++ { a = [a] }; print(a)`).Failed(t, "contains itself, or is nested deeper than 500")
}

func TestSourcesThatNestTooDeepAreRefused(t *testing.T) {
	rows := []struct {
		name, src string
		fine      bool
	}{
		{"parentheses", strings.Repeat("(", 400_000), false},
		{"balanced parentheses", "x := " + strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000), false},
		{"lists", "x := " + strings.Repeat("[", 100_000), false},
		{"blocks", strings.Repeat("func(){", 100_000), false},
		{"signs", "x := " + strings.Repeat("-", 900_000) + "1", false},
		{"a long sum", "x := 1" + strings.Repeat("+1", 400_000), false},
		{"a long chain", "x" + strings.Repeat(".y", 300_000), false},
		{"calls", "x" + strings.Repeat("()", 300_000), false},
		{"conditions", "x := " + strings.Repeat("1?", 300_000), false},
		{"else if", "if 1 {}" + strings.Repeat(" else if 1 {}", 80_000), false},
		{"a sum of 1,000", "y := 1" + strings.Repeat("+1", 999), true},
		{"a literal of 1,500", "len([" + strings.TrimSuffix(strings.Repeat("(1+2)*3,", 1500), ",") + "])", true},
		{"20,000 statements", strings.Repeat("x = (1 + 2) * 3\n", 20_000), true},
		{"200 branches", "if 0 {}" + strings.Repeat(" else if 0 { x = 1 }", 200), true},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			got := scripttest.Run(t, "x := 1\n"+r.src)
			if r.fine {
				if got.Err != nil {
					t.Error(got.Err)
				}
				return
			}
			got.Failed(t, "nested too deeply", "script: test.tengo:2:")
		})
	}
	scripttest.Run(t, strings.Repeat("x", 2<<20)).Failed(t, "2097152 bytes long, more than 1048576")
}
