package notebook_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"lab/core/fault"
	"lab/core/notebook"
	"lab/core/script"
	"lab/core/script/cells"
)

// figure is a host object with pictures and a hostile text.
type figure struct{}

func (figure) Class() script.Class { return script.Class{Name: "figure", Doc: "A picture."} }
func (figure) String() string      { return "<script>figure</script>" }
func (figure) Forms() ([]script.Form, error) {
	return []script.Form{{MIME: "image/svg+xml", Data: []byte("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"), Alt: `a "pile"`}, {MIME: "image/png", Data: []byte{1, 2}}}, nil
}

type hostile struct{}

func (hostile) Class() script.Class { return script.Class{Name: "hostile", Doc: "A table."} }
func (hostile) Forms() ([]script.Form, error) {
	return []script.Form{{MIME: "text/html", Data: []byte(`<table onclick="x()"><tr><td style="text-align: right; background: url(http://x/)">1</td></tr></table><script>alert(1)</script><img src=x onerror=alert(1)><a href="javascript:x()">a</a><iframe src="http://x"></iframe>`)}}, nil
}

func session(t *testing.T) *cells.Session {
	t.Helper()
	s, err := cells.New(cells.Config{Modules: []script.Module{{Name: "pics", Doc: "Pictures.", Members: []script.Member{
		{Name: "figure", Doc: "A figure.", Func: func(*script.Call) (any, error) { return figure{}, nil }},
		{Name: "hostile", Doc: "A table.", Func: func(*script.Call) (any, error) { return hostile{}, nil }},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func codeCells(sources ...string) *notebook.Notebook {
	var list []notebook.Cell
	for _, s := range sources {
		list = append(list, notebook.Cell{Kind: notebook.Code, Source: s})
	}
	return notebook.New(list...)
}

func tag(c *notebook.Cell, tags ...string) {
	list := []any{}
	for _, t := range tags {
		list = append(list, t)
	}
	c.Metadata["tags"] = list
}

// summary writes outputs in one line each.
func summary(c *notebook.Cell) string {
	var out []string
	for _, o := range c.Outputs {
		switch o.Kind {
		case notebook.Stream, notebook.Error:
			out = append(out, fmt.Sprintf("%s %s %q", o.Kind, o.Name, o.Text))
		default:
			out = append(out, fmt.Sprintf("%s %q", o.Kind, o.Data["text/plain"]))
		}
	}
	return strings.Join(out, "; ")
}

func TestRunKeepsOutputs(t *testing.T) {
	n := codeCells("x := 1", "print(1); print(2)\n7/2", "", `pics := import("pics"); show(pics.figure()); print(3)`, "pics.figure()", "x")
	n.Cells = append(n.Cells[:1], append([]notebook.Cell{{ID: "md", Kind: notebook.Markdown, Source: "text", Metadata: map[string]any{}}}, n.Cells[1:]...)...)
	n.Cells[2].Outputs = []notebook.Output{{Kind: notebook.Stream, Name: "stdout", Text: "old"}}
	if err := n.Run(t.Context(), session(t), notebook.Options{}); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"", "", `stream stderr "warning: cell 3:2:1: 7/2 is the whole number 3; write 7.0/2 for the fraction\n"; stream stdout "1\n2\n"; execute_result "3"`, "",
		`display_data "<script>figure</script>"; stream stdout "3\n"`, `execute_result "<script>figure</script>"`, `execute_result "1"`,
	}
	counts := []int{1, 0, 2, 0, 4, 5, 6}
	for i := range n.Cells {
		if got := summary(&n.Cells[i]); got != want[i] || n.Cells[i].Count != counts[i] {
			t.Errorf("cell %d, number %d: %s\nwant number %d: %s", i+1, n.Cells[i].Count, got, counts[i], want[i])
		}
	}
	out := n.Cells[5].Outputs[0]
	if out.Data["image/png"] != "AQI=" || out.Count != 5 || fmt.Sprint(out.Metadata) != `map[image/svg+xml:map[alt:a "pile"]]` {
		t.Errorf("%+v", out)
	}
	first := written(t, n)
	again := read(t, first)
	if err := again.Run(t.Context(), session(t), notebook.Options{}); err != nil {
		t.Fatal(err)
	}
	if second := written(t, again); second != first {
		t.Error("the same notebook gives other bytes")
	}
	if notebook.Stale(read(t, first), again) != -1 {
		t.Error("fresh outputs are called stale")
	}
	again.Cells[5].Outputs[0].Data["text/plain"] = "other"
	if got := notebook.Stale(n, again); got != 5 {
		t.Errorf("the stale cell is %d, want 5", got)
	}
	n.Clear()
	if got := notebook.Stale(n, again); got != 0 {
		t.Errorf("after Clear the first stale cell is %d", got)
	}
	for i := range n.Cells {
		if n.Cells[i].Count != 0 || n.Cells[i].Outputs != nil {
			t.Errorf("cell %d keeps outputs", i+1)
		}
	}
}

func TestRunStopsAtAnError(t *testing.T) {
	build := func() *notebook.Notebook {
		n := codeCells("x := 1", "print(x)\nx + undefined", "print(2)")
		n.Cells[2].Outputs = []notebook.Output{{Kind: notebook.Stream, Name: "stdout", Text: "old"}}
		return n
	}
	n := build()
	err := n.Run(t.Context(), session(t), notebook.Options{})
	if fault.KindOf(err) != fault.Script || !strings.Contains(err.Error(), "cell 2:2:1") {
		t.Fatalf("%v", err)
	}
	last := n.Cells[1].Outputs[len(n.Cells[1].Outputs)-1]
	if last.Kind != notebook.Error || last.Name != "script" || !strings.Contains(strings.Join(last.Traceback, "\n"), "x + undefined\n") {
		t.Errorf("%+v", last)
	}
	if len(n.Cells[2].Outputs) != 0 || n.Cells[2].Count != 0 {
		t.Error("a cell that was not run has outputs")
	}
	n = build()
	if err := n.Run(t.Context(), session(t), notebook.Options{KeepGoing: true}); err == nil || len(n.Cells[2].Outputs) != 1 || n.Cells[2].Outputs[0].Text != "2\n" {
		t.Errorf("with KeepGoing: %v, %+v", err, n.Cells[2])
	}
	n = build()
	tag(&n.Cells[1], "raises-exception")
	if err := n.Run(t.Context(), session(t), notebook.Options{}); err != nil || len(n.Cells[2].Outputs) != 1 {
		t.Errorf("with the tag: %v", err)
	}
	n = build()
	tag(&n.Cells[1], "skip-execution")
	tag(&n.Cells[2], "skip-execution")
	if err := n.Run(t.Context(), session(t), notebook.Options{}); err != nil || n.Cells[2].Outputs[0].Text != "old" {
		t.Errorf("skipped: %v, %+v", err, n.Cells[2])
	}
}

func TestACellThatNeverEndsIsStopped(t *testing.T) {
	n := codeCells("print(1); for {}", "print(2)")
	err := n.Run(t.Context(), session(t), notebook.Options{CellTimeout: 50 * time.Millisecond, KeepGoing: true})
	if fault.KindOf(err) != fault.Limit || !strings.Contains(err.Error(), "it ran longer than 50ms") {
		t.Errorf("%v", err)
	}
	if summary(&n.Cells[1]) != `stream stdout "2\n"` {
		t.Errorf("the next cell: %s", summary(&n.Cells[1]))
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	n = codeCells("for {}", "print(2)")
	tag(&n.Cells[0], "raises-exception")
	if err := n.Run(ctx, session(t), notebook.Options{KeepGoing: true}); fault.KindOf(err) != fault.Interrupted || n.Cells[1].Count != 0 {
		t.Errorf("interrupted: %v, %+v", err, n.Cells[1])
	}
}

func TestANotebookOfAnotherKernelIsRefused(t *testing.T) {
	n := codeCells("print(1)")
	n.Metadata["language_info"] = map[string]any{"name": "python"}
	if err := n.Run(t.Context(), session(t), notebook.Options{}); fault.KindOf(err) != fault.Data || !strings.Contains(err.Error(), `its cells are in "python"`) {
		t.Errorf("%v", err)
	}
}

func TestParametersAreSet(t *testing.T) {
	const defaults = "temperature := 0.7 // warm\nk := 40\nname := \"tiny\"\nquick := false\nlist := [1,\n 2]\nlow := -1\n"
	for _, c := range []struct{ name, key, value, want string }{
		{"a number", "temperature", "1.5", "temperature := 1.5"},
		{"a whole number stays a float where the default is one", "temperature", "2", "temperature := 2.0"},
		{"a small number", "temperature", "1e-7", "temperature := 1e-07"},
		{"a whole number", "k", "-3", "k := -3"},
		{"a default below zero", "low", "4", "low := 4"},
		{"text needs no quotes", "name", `a "b"`, `name := "a \"b\""`},
		{"true or false", "quick", "true", "quick := true"},
		{"an expression", "list", "[3, 4]", "list := [3, 4]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := codeCells("print(0)", defaults, "print(k)")
			tag(&n.Cells[1], "parameters")
			if err := n.Set(map[string]string{"k": "1"}); err != nil { // is replaced by the next
				t.Fatal(err)
			}
			if err := n.Set(map[string]string{c.key: c.value}); err != nil {
				t.Fatal(err)
			}
			if len(n.Cells) != 4 || n.Cells[2].Source != c.want || !n.Cells[2].Tagged("injected-parameters") {
				t.Fatalf("cells %+v", n.Cells)
			}
			if err := n.Run(t.Context(), session(t), notebook.Options{}); err != nil {
				t.Error(err)
			}
			read(t, written(t, n)) // its identifiers are unique
		})
	}
	for _, c := range []struct{ name, key, value, want string }{
		{"an unknown name", "temperatur", "1", `unknown parameter "temperatur"; did you mean "temperature"?`},
		{"text for a number", "temperature", "warm", `parameter temperature: "warm" is not a finite number`},
		{"infinity", "temperature", "Inf", "is not a finite number"},
		{"a fraction for a count", "k", "1.5", `"1.5" is not a whole number`},
		{"a number for true or false", "quick", "1", "is not true or false"},
		{"half an expression", "list", "[1", "is not an expression"},
		{"more than an expression", "list", "1); print(2", "is not an expression"},
		{"a comment", "list", "// x", "is not an expression"},
		{"nothing", "list", " ", "is not an expression"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := codeCells(defaults)
			tag(&n.Cells[0], "parameters")
			if err := n.Set(map[string]string{c.key: c.value}); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	if err := codeCells("x := 1").Set(map[string]string{"x": "1"}); err == nil || !strings.Contains(err.Error(), `no code cell has the tag "parameters"`) {
		t.Errorf("without the tag: %v", err)
	}
}
