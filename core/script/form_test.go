package script_test

import (
	"strings"
	"testing"

	"lab/core/script"
)

// Without a place for pictures show prints, so that a script is the same in a
// notebook and outside it.
func TestShowPrintsWithoutANotebook(t *testing.T) {
	var out strings.Builder
	s, err := script.New(script.Config{Out: &out})
	if err != nil {
		t.Fatal(err)
	}
	v, err := s.Evaluate(t.Context(), "cell", `show("a", [1, "b"]); "c"`)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != "a\n[1, \"b\"]\n" || v.Text != `"c"` || v.Value != "c" {
		t.Errorf("printed %q, value %+v", out.String(), v)
	}
	if v, err := s.Evaluate(t.Context(), "cell", "undefined"); v != nil || err != nil {
		t.Errorf("undefined is shown as %v, %v", v, err)
	}
}

func TestLookKnowsWhatANameIs(t *testing.T) {
	s, err := script.New(script.Config{Modules: []script.Module{kit()}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(t.Context(), "cell", `k := import("kit"); n := 1; e := k.echo; m := import("math")`); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"k": "module kit", "n": "int", "e": "function", "m": "module math", "print": "function"} {
		v, ok := s.Look(name)
		if !ok || v.Type != want || v.Name != name || v.Text == "" {
			t.Errorf("%s: %+v, %v; want a %s", name, v, ok, want)
		}
	}
	if v, _ := s.Look("k"); v.Module != "kit" {
		t.Errorf("k is of module %q", v.Module)
	}
	if v, _ := s.Look("e"); v.Func == nil || v.Func.Name != "echo" {
		t.Errorf("e is %+v", v.Func)
	}
	for _, name := range []string{"nope", "", ":each"} {
		if _, ok := s.Look(name); ok {
			t.Errorf("%q is known", name)
		}
	}
}
