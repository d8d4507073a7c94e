package script_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"lab/core/fault"
	"lab/core/script"
	"lab/core/script/scripttest"
)

func TestClosuresBehaveFromGoAsInTheScript(t *testing.T) {
	rows := []struct{ name, src, want string }{
		{"captured state lives on", `counter := func() { n := 0; return func() { n += 1; return n } }
			c := counter(); kit.apply(c); c(); print(kit.apply(c))`, "3\n"},
		{"globals are shared both ways", `g := 1; f := func() { g = g + 10 }; kit.apply(f); print(g)`, "11\n"},
		{"variadic", `print(kit.apply(func(a, ...rest) { return [a, rest] }, 1, 2, 3))`, "[1, [2, 3]]\n"},
		{"variadic without extras", `print(kit.apply(func(a, ...rest) { return [a, rest] }, 1))`, "[1, []]\n"},
		{"no arguments", `print(kit.apply(func() { return "x" }))`, "x\n"},
		{"no result", `print(kit.apply(func() {}))`, "undefined\n"},
		{"recursion through Go", `fact := undefined
			fact = func(n) { return n < 2 ? 1 : n * kit.apply(fact, n-1) }; print(fact(10))`, "3628800\n"},
		{"closures that make closures", `add := func(a) { return func(b) { return func(c) { return a+b+c } } }
			print(kit.apply(kit.apply(kit.apply(add, 1), 2), 3))`, "6\n"},
		{"a closure handed back is itself", `f := func(x) { return x * 2 }; g := kit.echo(f); print(g(4))`, "8\n"},
		{"host function", `print(kit.apply(kit.echo, 5))`, "5\n"},
		{"built-in function", `print(kit.apply(len, [1, 2]))`, "2\n"},
		{"closure over a loop variable", `make := func() { fs := []; for i := 0; i < 3; i++ { k := i; fs = append(fs, func() { return k }) }; return fs }
			fs := make(); print(kit.apply(fs[0]), kit.apply(fs[2]))`, "0 2\n"},
		{"containers are copied on the way", `a := [1]; kit.apply(func(x) { x[0] = 9 }, a); print(a)`, "[1]\n"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			scripttest.Run(t, `kit := import("kit")`+"\n"+r.src, kit()).Printed(t, r.want)
		})
	}
}

func TestClosuresOfImportedFiles(t *testing.T) {
	r := scripttest.RunFiles(t, "main.tengo", map[string]string{
		"main.tengo": `kit := import("kit"); lib := import("./lib/counter"); c := lib.make(5)
			kit.apply(c); print(kit.apply(c)); kit.apply(lib.broken)`,
		"lib/counter.tengo": `math := import("math")
export {
  make: func(start) { n := start; return func() { n += 1; return math.sqrt(n * n) } },
  broken: func() { return 1 % 0 }
}`,
	}, kit())
	if r.Output != "7\n" {
		t.Errorf("printed %q, want 7", r.Output)
	}
	r.Failed(t, "script: lib/counter.tengo:4:27: integer division by zero")
	at := script.Positions(r.Err)
	if len(at) != 2 || at[1].String() != "main.tengo:2:39" {
		t.Errorf("frames %v, want the call in main.tengo:2:39 second", at)
	}
}

func TestErrorsInsideClosures(t *testing.T) {
	rows := []struct {
		name, src string
		kind      fault.Kind
		want      string // the whole message
	}{
		{"the line of the closure", "kit.apply(func() {\n  fail(\"deep\")\n})", fault.Script, `script: test.tengo:3:3: deep`},
		{"through three levels", "f := func() { return 1/0 }\ng := func() { return kit.apply(f) }\nkit.apply(g)",
			fault.Script, `script: test.tengo:2:22: integer division by zero; write 1.0*a/b for a division of numbers`},
		{"context added by the host stays", "kit.wrapped(func() {\n  fail(\"deep\") })", fault.Script, `script: test.tengo:3:3: cell 3: deep`},
		{"a host's kind and cure stay", "kit.apply(func() { kit.model_error() })", fault.Model,
			`script: test.tengo:2:20: open: "x": no weights; give a file`},
		{"a predicate without a result", "kit.is_true(func() {})", fault.Script,
			`script: test.tengo:2:1: the result of a function is undefined, expected true or false; is a return missing, or a member misspelt?`},
		{"too few arguments", "kit.apply(func(a, b) {}, 1)", fault.Script, `script: test.tengo:2:1: wrong number of arguments: want=2, got=1`},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			got := scripttest.Run(t, `kit := import("kit")`+"\n"+r.src, kit())
			if got.Err == nil || got.Err.Error() != r.want {
				t.Errorf("got  %v\nwant %s", got.Err, r.want)
			}
			if k := fault.KindOf(got.Err); k != r.kind {
				t.Errorf("kind %v, want %v", k, r.kind)
			}
		})
	}
}

func TestCallsBetweenScriptAndHostHaveADepthLimit(t *testing.T) {
	r := scripttest.Run(t, `kit := import("kit"); f := undefined; f = func() { return kit.apply(f) }; f()`, kit())
	r.Failed(t, "more than 64 deep")
	if k := fault.KindOf(r.Err); k != fault.Limit {
		t.Errorf("kind %v, want limit", k)
	}
	scripttest.Run(t, `kit := import("kit"); f := undefined
		f = func(n) { return n == 0 ? 0 : 1 + kit.apply(f, n-1) }; print(f(60))`, kit()).Printed(t, "60\n")
}

func TestGoroutinesTakeTurns(t *testing.T) {
	scripttest.Run(t, `kit := import("kit")
total := 0; seen := {}
out := kit.parallel(50, func(i) {
  for k := 0; k < 20; k++ { total += 1; seen[string(i)] = k }
  inner := kit.parallel(3, func(j) { return i * j })
  return inner[2]
})
print(total, len(seen), out[7], out[49])`, kit()).Printed(t, "1000 50 14 98\n")
}

func TestSleepingClosuresDoNotBlockEachOther(t *testing.T) {
	start := time.Now()
	scripttest.Run(t, `kit := import("kit"); kit.parallel(20, func(i) { kit.sleep(200) })`, kit()).Printed(t, "")
	if d := time.Since(start); d > 2*time.Second { // 4 s one after the other
		t.Errorf("20 sleeps of 200 ms took %v together", d)
	}
}

func TestParallelErrorsAreAllReported(t *testing.T) {
	r := scripttest.Run(t, `kit := import("kit")
kit.parallel(3, func(i) { if i > 0 { fail("no " + i) } })`, kit())
	r.Failed(t, "no 1", "no 2")
}

func TestCallingWithoutLineageIsRefusedAndDoesNotHang(t *testing.T) {
	for _, name := range []string{"unlocked", "astray"} {
		r := scripttest.Run(t, `kit := import("kit"); kit.`+name+`(func() { return 1 })`, kit())
		if name == "unlocked" { // one goroutine at a time is what the lock is for
			if r.Err != nil {
				t.Errorf("%s: %v", name, r.Err)
			}
			continue
		}
		r.Failed(t, "pass the context of the running host call")
		if k := fault.KindOf(r.Err); k != fault.Internal {
			t.Errorf("%s: kind %v, want internal", name, k)
		}
	}
}

func TestAFunctionOutlivesItsRun(t *testing.T) {
	s := session(t, script.Config{})
	v, err := s.Run(context.Background(), "a", `n := 0; func(d) { n += d; return n }`)
	f, ok := v.(*script.Func)
	if err != nil || !ok {
		t.Fatalf("got %T, %v", v, err)
	}
	for _, want := range []int64{2, 4} {
		if got, err := f.Call(context.Background(), 2); err != nil || got != want {
			t.Errorf("got %v, %v; want %d", got, err, want)
		}
	}
	if n, variadic := f.Arity(); n != 1 || variadic {
		t.Errorf("arity %d, %v", n, variadic)
	}
	// A later run adds constants, which the kept machines must notice.
	if _, err := s.Run(context.Background(), "b", `big := [101, 102, 103]; n = 100`); err != nil {
		t.Fatal(err)
	}
	if got, err := f.Call(context.Background(), 1); err != nil || got != int64(101) {
		t.Errorf("after another run: %v, %v; want 101", got, err)
	}
}

func TestATimeLimitOfTheHostEndsOnlyItsCall(t *testing.T) {
	r := scripttest.Run(t, `kit := import("kit")
r := try(kit.budget, 50, func() { for {} })
print(is_error(r), r.value)
print(kit.budget(5000, func() { return "in time" }))`, kit())
	r.Printed(t, "true test.tengo:2:35: stopped: the deadline passed\nin time\n")
}

func session(t testing.TB, c script.Config) *script.Session {
	t.Helper()
	c.Modules = append(c.Modules, kit())
	s, err := script.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSessionsRunBesideEachOther(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			var out bytes.Buffer
			s := session(t, script.Config{Out: &out})
			for range 5 {
				if _, err := s.Run(context.Background(), "x", `m := {b: [1], a: "é"}; for k, v in m { print(k, v) }; print("é"[0:2])`); err != nil {
					t.Error(err)
				}
			}
			if got := strings.Count(out.String(), "a é\nb [1]\né\n"); got != 5 {
				t.Errorf("printed %q", out.String())
			}
		})
	}
	wg.Wait()
}

func TestOneSessionUsedByManyGoroutinesRunsInTurn(t *testing.T) {
	s := session(t, script.Config{})
	if _, err := s.Run(context.Background(), "start", `n := 0`); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			_, err := s.Run(context.Background(), "cell", `for i := 0; i < 100; i++ { n += 1 }`)
			if err != nil {
				t.Error(err, script.Detail(err))
			}
		})
	}
	wg.Wait()
	if v, err := s.Run(context.Background(), "end", `n`); err != nil || v != int64(2000) {
		t.Errorf("n = %v, %v; want 2000", v, err)
	}
}

func TestARunInsideARunIsRefused(t *testing.T) {
	var s *script.Session
	inner := script.Module{Name: "inner", Members: []script.Member{{Name: "run", Func: func(c *script.Call) (any, error) {
		return s.Run(c.Context(), "again", "1")
	}}}}
	s = session(t, script.Config{Modules: []script.Module{inner}})
	_, err := s.Run(context.Background(), "x", `import("inner").run()`)
	if err == nil || !strings.Contains(err.Error(), "cannot run a script in it") {
		t.Errorf("got %v", err)
	}
}

func TestJoinedErrorsKeepTheirKind(t *testing.T) {
	r := scripttest.Run(t, `kit := import("kit"); kit.parallel(2, func(i) { kit.model_error() })`, kit())
	var f *fault.Error
	if !errors.As(r.Err, &f) || f.Kind != fault.Model {
		t.Errorf("got %v", r.Err)
	}
}

func BenchmarkCall(b *testing.B) {
	run := func(b *testing.B, src string) {
		s := session(b, script.Config{})
		v, err := s.Run(context.Background(), "bench", src)
		if err != nil {
			b.Fatal(err)
		}
		f := v.(*script.Func)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := f.Call(context.Background(), 3); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("closure from Go", func(b *testing.B) { run(b, `func(x) { return x + 1 }`) })
	b.Run("1000 closure calls inside one host call", func(b *testing.B) {
		run(b, `kit := import("kit"); g := func() { return 1 }; func(x) { for i := 0; i < 1000; i++ { kit.apply(g) } }`)
	})
	b.Run("1000 calls in the script", func(b *testing.B) {
		run(b, `g := func(x) { return x }; func(x) { for i := 0; i < 1000; i++ { g(i) } }`)
	})
	b.Run("1000 host calls", func(b *testing.B) {
		run(b, `kit := import("kit"); func(x) { for i := 0; i < 1000; i++ { kit.echo(i) } }`)
	})
}
