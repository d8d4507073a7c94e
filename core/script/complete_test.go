package script_test

import (
	"strings"
	"testing"

	"lab/core/script"
)

func TestCompleteness(t *testing.T) {
	for _, c := range []struct {
		name, src string
		want      script.Completeness
		open      int
	}{
		{"nothing", "", script.Complete, 0},
		{"a comment alone", "// text", script.Complete, 0},
		{"an expression", "1 + 2", script.Complete, 0},
		{"an unknown name is for the compiler", "nope(1)", script.Complete, 0},
		{"a shebang", "#!/usr/bin/env lab\n1", script.Complete, 0},
		{"an open block", "if x {", script.Incomplete, 1},
		{"an open block with a line", "f := func(x) {\n\ty := x\n", script.Incomplete, 1},
		{"two open blocks", "for {\nif x {\n", script.Incomplete, 2},
		{"an open call", "f(1,", script.Incomplete, 1},
		{"an open call over lines", "f(1,\n  2,\n", script.Incomplete, 1},
		{"an open list", "[1, 2,", script.Incomplete, 1},
		{"an open map", "x := {a: 1,", script.Incomplete, 1},
		{"an operator at the end", "1 +", script.Incomplete, 0},
		{"an assignment at the end", "x :=", script.Incomplete, 0},
		{"an open bracket at the end", "a := (1", script.Incomplete, 1},
		{"a dot at the end", "a.", script.Incomplete, 0},
		{"an open comment", "/* text", script.Incomplete, 0},
		{"an open raw string", "x := `text", script.Incomplete, 0},
		{"brackets in a string do not count", `f("((",`, script.Incomplete, 1},
		{"an open plain string", `x := "text`, script.Invalid, 0},
		{"a closed bracket too many", "f(1))", script.Invalid, 0},
		{"two expressions", "1 2", script.Invalid, 0},
		{"an error before an open block", "1 2\nif x {", script.Invalid, 0},
		{"nested too deep", strings.Repeat("(", 5000), script.Invalid, 0},
		{"longer than a script may be", strings.Repeat(" ", 2<<20), script.Invalid, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, open := script.CompletenessOf(c.src)
			if got != c.want || open != c.open {
				t.Errorf("%v with %d open, want %v with %d", got, open, c.want, c.open)
			}
		})
	}
}

// What is complete parses in a session too, and what is not does not.
func FuzzCompleteness(f *testing.F) {
	for _, s := range []string{"", "1+2", "if x {", "f(", `"`, "`", "/*", "x := {a:", "}", "1 2", "\x00", "é", "a.b[", "#!x\n1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		c, open := script.CompletenessOf(src)
		if open < 0 || c != script.Incomplete && open != 0 {
			t.Errorf("%q: %v with %d open", src, c, open)
		}
	})
}
