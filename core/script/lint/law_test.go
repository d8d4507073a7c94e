package lint_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lab/core/script"
	"lab/core/script/lint"
)

// lawful checks what holds for every text: findings are in its order and within it,
// the same each time; an error is found exactly when the compiler has one or a
// declaration says so; and the name that the compiler misses is among the missing.
func lawful(t *testing.T, src string) (missing bool) {
	t.Helper()
	found := check(t, "", src)
	if again := check(t, "", src); !slices.Equal(found, again) {
		t.Fatalf("two runs differ:\n%q\n%q\n%s", write(found), write(again), src)
	}
	lines := strings.Split(src, "\n")
	errors := false
	for i, f := range found {
		if i > 0 && (f.At.Line < found[i-1].At.Line || f.At.Line == found[i-1].At.Line && f.At.Column < found[i-1].At.Column) {
			t.Fatalf("out of order: %q\n%s", write(found), src)
		}
		for _, p := range []script.Position{f.At, f.End} {
			// Tengo has the end of a text behind its last line break, in the same line.
			if p.File == "t" && (p.Line < 1 || p.Line > len(lines) || p.Column < 1 || p.Column > len(lines[p.Line-1])+2) {
				t.Fatalf("%q is outside of the text, at %s\n%s", write(found[i:i+1]), p, src)
			}
		}
		errors = errors || f.Severity == lint.Error
		missing = missing || f.Rule == "undefined"
	}
	s, err := script.New(script.Config{Modules: []script.Module{piles()}})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Check("t", src)
	if err != nil && !errors || err == nil && missing {
		t.Fatalf("the compiler says %v, and found is %q\n%s", err, write(found), src)
	}
	if err == nil {
		return missing
	}
	if text, _ := script.Problem(err); strings.HasPrefix(text, "unknown name") {
		if !slices.ContainsFunc(found, func(f lint.Finding) bool { return f.Rule == "undefined" && f.Text == text }) {
			t.Fatalf("the compiler says %v, and found is %q\n%s", err, write(found), src)
		}
	}
	return missing
}

// Names are resolved as Tengo's compiler does it, in programs made at random.
func TestNamesAreThoseOfTheCompiler(t *testing.T) {
	with := 0
	for seed := range uint64(400) {
		m := &maker{rng: rand.New(rand.NewPCG(seed, 3))}
		m.b.WriteString("a := 1\n")
		for _, name := range []string{"b", "c"} {
			if m.rng.IntN(5) > 0 {
				m.b.WriteString(name + " := 1\n")
			}
		}
		for range 2 + m.rng.IntN(6) {
			m.stmt(3)
		}
		if lawful(t, m.b.String()) {
			with++
		}
	}
	if with < 100 || with > 300 {
		t.Errorf("%d of 400 programs miss a name; too few of one kind to show anything", with)
	}
}

// maker writes programs about what is defined where.
type maker struct {
	rng *rand.Rand
	b   strings.Builder
	n   int
}

func (m *maker) name() string { return []string{"a", "a", "a", "b", "b", "c", "len"}[m.rng.IntN(7)] }

// fresh is mostly a name that nothing has yet, for a definition.
func (m *maker) fresh() string {
	if m.rng.IntN(3) == 0 {
		return m.name()
	}
	m.n++
	return fmt.Sprintf("v%d", m.n)
}

func (m *maker) block(depth int) {
	m.b.WriteString("{\n")
	for range m.rng.IntN(3) {
		m.stmt(depth - 1)
	}
	m.b.WriteString("}")
}

func (m *maker) expr(depth int) {
	kind := m.rng.IntN(8)
	if depth <= 0 {
		kind = m.rng.IntN(2)
	}
	switch kind {
	case 0:
		m.b.WriteString(m.name())
	case 1:
		m.b.WriteString("1")
	case 2:
		m.expr(depth - 1)
		m.b.WriteString(" + ")
		m.expr(depth - 1)
	case 3:
		p := m.name()
		m.b.WriteString("func(" + p + ") ")
		m.block(depth)
	case 4:
		m.b.WriteString("{a: ")
		m.expr(depth - 1)
		m.b.WriteString("}.b")
	case 5:
		m.b.WriteString("[")
		m.expr(depth - 1)
		m.b.WriteString("][")
		m.expr(depth - 1)
		m.b.WriteString(":]")
	case 6:
		m.b.WriteString("(")
		m.expr(depth - 1)
		m.b.WriteString(" ? -")
		m.expr(depth - 1)
		m.b.WriteString(" : ")
		m.expr(depth - 1)
		m.b.WriteString(")")
	case 7:
		m.b.WriteString("immutable(error(")
		m.expr(depth - 1)
		m.b.WriteString("))")
	}
}

func (m *maker) stmt(depth int) {
	kind := m.rng.IntN(9)
	if depth <= 0 {
		kind = m.rng.IntN(4)
	}
	switch kind {
	case 0, 1:
		m.b.WriteString(m.fresh() + " := ")
		m.expr(depth)
	case 2:
		m.b.WriteString(m.name() + []string{" = ", " += ", "[0].x = "}[m.rng.IntN(3)])
		m.expr(depth)
	case 3:
		m.b.WriteString(m.name() + "++")
	case 4:
		m.b.WriteString("if " + m.fresh() + " := 1; " + m.name() + " ")
		m.block(depth)
		m.b.WriteString(" else ")
		m.block(depth)
	case 5:
		m.b.WriteString("for " + m.name() + ", " + m.fresh() + " in ")
		m.expr(0)
		m.b.WriteString(" ")
		m.block(depth)
	case 6:
		i := m.name()
		m.b.WriteString("for " + i + " := 0; " + i + " < 3; " + m.name() + "++ ")
		m.block(depth)
	case 7:
		m.b.WriteString("export ")
		m.expr(depth)
	case 8:
		m.expr(depth)
	}
	m.b.WriteString("\n")
}

// FuzzCheck: the laws hold for any text.
func FuzzCheck(f *testing.F) {
	list, err := filepath.Glob("../testdata/seeds/*.tengo")
	if err != nil || len(list) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, path := range list {
		src, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(src))
	}
	f.Add(header + "print(p.grow(1, {colour: \"red\"}).parts()[0].height == 1, 7/2)\nfor x in p.parts() { x.hight }")
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) < 20_000 {
			lawful(t, src)
		}
	})
}

// BenchmarkCheck says how much longer checking takes than compiling, which is part
// of it.
func BenchmarkCheck(b *testing.B) {
	src := header + strings.Repeat("p.grow(1, {colour: \"red\"}).parts()[0].height\n", 300)
	modules := []script.Module{piles()}
	var check, compile time.Duration
	for b.Loop() {
		start := time.Now()
		if found, err := lint.Check(lint.Config{Modules: modules}, lint.Unit{Name: "t", Source: src}); err != nil || len(found) > 0 {
			b.Fatal(found, err)
		}
		middle := time.Now()
		s, err := script.New(script.Config{Modules: modules})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Check("t", src); err != nil {
			b.Fatal(err)
		}
		check, compile = check+middle.Sub(start), compile+time.Since(middle)
	}
	b.ReportMetric(float64(check)/float64(compile), "times-compiling")
}

// Texts of the largest size with as much to say as can be are no trap: every rule
// takes about as long as the text is.
func TestLargeTexts(t *testing.T) {
	many := func(format string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	doubled := func(n int) string {
		b := strings.Builder{}
		b.WriteString("y0 := 0.5\n")
		for i := range n {
			fmt.Fprintf(&b, "y%[2]d := y%[1]d + y%[1]d\n", i, i+1)
		}
		return b.String()
	}
	for _, row := range []struct {
		law, in string
		rule    string
		least   int
	}{
		{"divisions", many("%d; 1/2\n", 40_000), "integer-division", 40_000},
		{"missing names", many("a%[1]d := b%[1]d\n", 30_000), "undefined", 30_000},
		{"names that stand twice for another", doubled(12) + many("print(y12 == %d)\n", 3000), "float-equality", 3000},
		{"long chains", "x := import(\"piles\")\nx" + strings.Repeat(".a", 700), "unknown-member", 1},
	} {
		found := check(t, "", row.in)
		n := 0
		for _, f := range found {
			if f.Rule == row.rule {
				n++
			}
		}
		if n < row.least {
			t.Errorf("%s: %d findings of %s, want %d at least", row.law, n, row.rule, row.least)
		}
	}
}
