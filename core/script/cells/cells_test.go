package cells_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lab/core/fault"
	"lab/core/script"
	"lab/core/script/cells"
)

// heap is a host object with a picture, as figures are.
type heap struct{ bad bool }

func (*heap) Class() script.Class {
	return script.Class{Name: "heap", Doc: "A pile.", Members: []script.Member{
		{Name: "height", Doc: "How high it is.", Returns: "int", Get: func(*script.Call) (any, error) { return 3, nil }},
		{Name: "grow", Doc: "Returns a higher one. It is quick.", Returns: "heap", Params: []script.Param{{Name: "by", Type: script.Int(), Range: script.Between(1, 9), Unit: "stones", Meaning: "how much"}},
			Options: []script.Param{{Name: "colour", Type: script.String(), Default: "red", Choices: []string{"red", "blue"}, Meaning: "its colour"}},
			Func:    func(c *script.Call) (any, error) { return &heap{}, nil }},
		{Name: "parts", Doc: "Its parts.", Returns: "list of heap", Func: func(c *script.Call) (any, error) { return []any{&heap{}}, nil }},
	}}
}

func (h *heap) Forms() ([]script.Form, error) {
	if h.bad {
		panic("no picture")
	}
	return []script.Form{{MIME: "image/svg+xml", Data: []byte("<svg/>"), Alt: "a pile"}, {MIME: "image/png", Data: []byte{0x89, 0xff}}}, nil
}

func module() script.Module {
	return script.Module{Name: "piles", Doc: "Piles.", Classes: []script.Class{(*heap)(nil).Class()}, Members: []script.Member{
		{Name: "make", Doc: "Makes one.", Returns: "heap", Options: []script.Param{{Name: "colour", Type: script.String(), Default: "red", Meaning: "c"}, {Name: "count", Type: script.Int(), Default: int64(1), Meaning: "n"}},
			Func: func(*script.Call) (any, error) { return &heap{}, nil }},
		{Name: "broken", Doc: "Makes one that cannot be shown.", Returns: "heap", Func: func(*script.Call) (any, error) { return &heap{bad: true}, nil }},
		{Name: "wait", Doc: "Waits for the interrupt.", Func: func(c *script.Call) (any, error) {
			return nil, c.Blocking(func() error { <-c.Context().Done(); return c.Context().Err() })
		}},
		{Name: "warn", Doc: "Warns.", Func: func(c *script.Call) (any, error) { c.Warn("careful"); return nil, nil }},
	}}
}

// log keeps the output of a cell in order.
type log struct{ lines []string }

func (l *log) Stream(name, text string) { l.lines = append(l.lines, name+" "+text) }
func (l *log) Display(b cells.Bundle) {
	kinds := ""
	for _, f := range b {
		kinds += " " + f.MIME
	}
	l.lines = append(l.lines, "display"+kinds+" "+b.Text())
}

func open(t *testing.T, c cells.Config) *cells.Session {
	t.Helper()
	c.Modules = append(c.Modules, module())
	s, err := cells.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCellsShareTheirVariables(t *testing.T) {
	s := open(t, cells.Config{})
	for i, c := range []struct{ name, src, value, output string }{
		{"a definition has no value", "x := 1", "", ""},
		{"the last expression is the value", "x + 1", "2", ""},
		{"an undefined value is none", "undefined", "", ""},
		{"a string is quoted", `"a\nb"`, `"a\nb"`, ""},
		{"an empty string is shown", `""`, `""`, ""},
		{"a function sees a later definition", "f := func() { return x }", "", ""},
		{"a variable is defined anew", "x := 5", "", ""},
		{"and the function sees it", "f()", "5", ""},
		{"print goes out at once", `print("a"); print("b"); 3`, "3", "stdout a\n|stdout b\n"},
		{"bytes that are no text", `print("a\xffb")`, "", "stdout a\uFFFDb\n"},
		{"show has all forms", `p := import("piles"); show(p.make(), 1)`, "", "display image/svg+xml image/png text/plain <heap>|display text/plain 1"},
		{"a value with forms", `p.make()`, "<heap>", ""},
		{"a warning", "p.warn()", "", "stderr warning: cell 13:1:1: careful\n"},
		{"the integer division of two literals is warned about", "7/2", "3", "stderr warning: cell 14:1:1: 7/2 is the whole number 3; write 7.0/2 for the fraction\n"},
		{"a list is shown in full", "[1, 2.5, {b: 1, a: \"x\"}]", `[1, 2.5, {a: "x", b: 1}]`, ""},
		{"a loop variable is not left", "for i in [1] {}", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var l log
			b, err := s.Run(t.Context(), fmt.Sprintf("cell %d", i+1), c.src, &l)
			if err != nil {
				t.Fatal(err)
			}
			if b.Text() != c.value || (b == nil) != (c.value == "") {
				t.Errorf("value %q, want %q", b.Text(), c.value)
			}
			if got := strings.Join(l.lines, "|"); got != c.output {
				t.Errorf("output %q, want %q", got, c.output)
			}
		})
	}
}

func TestErrorsOfCells(t *testing.T) {
	s := open(t, cells.Config{MaxOutput: 1000, Folder: t.TempDir()})
	var l log
	if _, err := s.Run(t.Context(), "cell 1", "f := func(a) {\n\treturn a + undefined\n}\np := import(\"piles\")", &l); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, src string
		kind      fault.Kind
		parts     []string
	}{
		{"a mistake in a function of another cell shows both", "f(1)", fault.Script, []string{"cell 1:2:9", "return a + undefined", "from cell 2:1:1  f(1)"}},
		{"an unknown name", "1\nfoo", fault.Script, []string{"cell 2 (2):2:1", `unknown name "foo"`}},
		{"a syntax error", "x := (1", fault.Script, []string{"cell 2 (3):1:8"}},
		{"an integer division by zero", "a := 0\n1/a", fault.Script, []string{"cell 2 (4):2:1", "division by zero"}},
		{"recursion without an end", "g := func(n) { return g(n+1)+1 }\ng(1)", fault.Script, []string{"times)"}},
		{"more output than a cell may make", "for i := 0; i < 1000; i++ { print(\"0123456789\") }", fault.Limit, []string{"it puts out more than"}},
		{"a form that panics", "p.broken()", fault.Internal, []string{"heap: panic: no picture"}},
		{"show of a form that panics", "show(p.broken())", fault.Internal, []string{"heap: panic: no picture"}},
		{"an import that leaves the folder", `import("../x")`, fault.Script, []string{"leaves the script's folder"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := s.Run(t.Context(), "cell 2", c.src, &l)
			if err == nil || fault.KindOf(err) != c.kind {
				t.Fatalf("error %v of kind %v, want %v", err, fault.KindOf(err), c.kind)
			}
			text := strings.Join(cells.Traceback(err), "\n")
			for _, p := range c.parts {
				if !strings.Contains(text, p) {
					t.Errorf("the traceback has no %q:\n%s", p, text)
				}
			}
			b, err := s.Run(t.Context(), "after", "1+1", &l)
			if err != nil || b.Text() != "2" {
				t.Errorf("afterwards: %q, %v", b.Text(), err)
			}
		})
	}
}

func TestAnInterruptEndsACell(t *testing.T) {
	s := open(t, cells.Config{})
	for _, src := range []string{"for {}", `import("piles").wait()`} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		_, err := s.Run(ctx, "cell", src, &log{})
		if fault.KindOf(err) != fault.Interrupted {
			t.Errorf("%s: %v, want an interrupt", src, err)
		}
		if b, err := s.Run(t.Context(), "cell", "2", &log{}); err != nil || b.Text() != "2" {
			t.Errorf("afterwards: %v, %v", b, err)
		}
	}
}

func TestTheTextOfALargeValueIsCutWithAMark(t *testing.T) {
	s := open(t, cells.Config{})
	b, err := s.Run(t.Context(), "cell", "range(0, 100000)", &log{})
	if err != nil || !strings.HasPrefix(b.Text(), "[0, 1, 2,") || !strings.HasSuffix(b.Text(), "… (cut at 65536 bytes)") {
		t.Errorf("%d bytes, error %v", len(b.Text()), err)
	}
	b, err = s.Run(t.Context(), "cell", "x := [1]; x[0] = x; x", &log{})
	if err != nil || !strings.Contains(b.Text(), "...") {
		t.Errorf("a list in itself: %v, %v", b, err)
	}
}

func TestBundlesAsJSON(t *testing.T) {
	s := open(t, cells.Config{})
	b, err := s.Run(t.Context(), "cell", `import("piles").make()`, &log{})
	if err != nil {
		t.Fatal(err)
	}
	data, meta := b.JSON()
	if data["image/svg+xml"] != "<svg/>" || data["image/png"] != "if8=" || data["text/plain"] != "<heap>" || len(data) != 3 {
		t.Errorf("data %v", data)
	}
	if fmt.Sprint(meta) != "map[image/svg+xml:map[alt:a pile]]" {
		t.Errorf("metadata %v", meta)
	}
}

// | marks the cursor.
func cursor(src string) (string, int) {
	at := strings.Index(src, "|")
	return src[:at] + src[at+1:], at
}

func TestCompletion(t *testing.T) {
	s := open(t, cells.Config{})
	setup := `piles := import("piles"); pile := piles.make(); options := {alpha: 1, beta: 2}; text := import("text")`
	if _, err := s.Run(t.Context(), "cell", setup, &log{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, src, want string }{
		{"a name", "pi|", "pile piles"},
		{"a name in the middle is replaced whole", "pi|le", "pile piles"},
		{"a name of this text", "distance := 1\ndist|", "distance"},
		{"a function that is always there", "sho|", "show"},
		{"a keyword", "und|", "undefined"},
		{"a module's members", "piles.m|", "make"},
		{"a variable's members", "pile.|", "grow height parts"},
		{"the keys of a map", "options.|", "alpha beta"},
		{"what a function returns", "piles.make().|", "grow height parts"},
		{"what a chain of calls returns", "piles.make({count: f(1)}).grow(1, {colour: \"red\"}).g|", "grow"},
		{"the elements of a list", "pile.parts()[0].h|", "height"},
		{"a variable of this text", "other := pile.grow(1)\nother.h|", "height"},
		{"an import of this text", "q := import(\"piles\")\nq.w|", "wait warn"},
		{"an import itself", "import(\"piles\").b|", "broken"},
		{"a standard module", "text.trim_s|", "trim_space trim_suffix"},
		{"the options of a call", "piles.make({|", "colour count"},
		{"an option after another", "pile.grow(1, {colour: \"red\", c|", "colour"},
		{"no options where a value stands", "piles.make({count: pil|", "pile piles"},
		{"no options in a list", "piles.make([pil|", "pile piles"},
		{"modules to import", `import("pil|`, "piles"},
		{"nothing in a string", `"pi|`, ""},
		{"nothing in a comment", `/* pi|`, ""},
		{"nothing after an unknown value", "unknown().|", ""},
		{"nothing after a number", "1.|", ""},
		{"a variable that refers to itself", "loop := loop.x\nloop.|", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			src, at := cursor(c.src)
			got := s.Complete(src, at)
			var names []string
			for _, item := range got.List {
				names = append(names, item.Text)
			}
			if strings.Join(names, " ") != c.want {
				t.Errorf("got %q, want %q", names, c.want)
			}
			if got.Start > at || got.End < at || got.End > len(src) {
				t.Errorf("replaces %d to %d of %d, the cursor is at %d", got.Start, got.End, len(src), at)
			}
			if !slices.IsSorted(names) {
				t.Errorf("not sorted: %q", names)
			}
		})
	}
}

func TestInspection(t *testing.T) {
	s := open(t, cells.Config{})
	if _, err := s.Run(t.Context(), "cell", `piles := import("piles"); pile := piles.make(); n := 42`, &log{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, src string
		want      []string
	}{
		{"a method", "pile.gr|ow(1)", []string{"heap.grow(by, {colour}) → heap", "Returns a higher one", "by (whole number; in [1, 9]; stones): how much", `colour (string; one of red, blue; default "red"): its colour`}},
		{"within the arguments of a call", "pile.grow(|", []string{"heap.grow(by, {colour})"}},
		{"within nested arguments", "piles.make(pile.grow(1), {|", []string{"piles.make({colour, count})"}},
		{"a module", "pil|es", []string{"module piles", "make({colour, count}): Makes one"}},
		{"a host object", "pile|", []string{"pile: heap", "<heap>", "heap: A pile", "height: How high"}},
		{"a number", "n|", []string{"n: int", "42"}},
		{"a function that is always there", "prin|t(1)", []string{"print(values...)", "Writes the values"}},
		{"a value of a member", "pile.heig|ht", []string{"heap.height → int", "How high it is."}},
		{"nothing", "nope|", nil},
		{"in a string", `"pil|e"`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			src, at := cursor(c.src)
			got := s.Inspect(src, at)
			if (got == "") != (c.want == nil) {
				t.Errorf("got %q", got)
			}
			for _, part := range c.want {
				if !strings.Contains(got, part) {
					t.Errorf("no %q in\n%s", part, got)
				}
			}
		})
	}
}

// Whatever is being typed, neither panics nor answers outside the text.
func FuzzEditor(f *testing.F) {
	for _, src := range []string{"a.b(c{", "import(\"", "x := x.y\nx.", "}}}(((", "f({a: [1,", "é.ü", "a[", ").", "import(", "x := import(\"piles\").make().parts()[0]\nx."} {
		f.Add(src, len(src))
	}
	s, err := cells.New(cells.Config{Modules: []script.Module{module()}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, src string, at int) {
		if len(src) > 4000 {
			return
		}
		c := s.Complete(src, at)
		if c.Start < 0 || c.Start > c.End || c.End > len(src) {
			t.Errorf("replaces %d to %d of %d bytes", c.Start, c.End, len(src))
		}
		s.Inspect(src, at)
	})
}
