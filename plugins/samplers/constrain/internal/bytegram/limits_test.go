package bytegram

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lab/core/fault"
)

// Recursion at the end of a rule needs no stack, over one rule or several, and a
// grammar with exponentially many parses takes polynomial room.
func TestMemosStaySmall(t *testing.T) {
	a, b, c := Literal("", "a"), Literal("", "b"), Literal("", "c")
	rows := []struct {
		name  string
		g     func() *Grammar
		steps int
		most  int
	}{
		{"a rule that ends with itself", func() *Grammar {
			g := &Grammar{}
			g.Define(g.Rule("root"), Alt(Seq(a, Ref(0)), b))
			return g
		}, 3000, 60},
		{"a circle of rules", func() *Grammar {
			g := &Grammar{}
			for i := range 3 {
				g.Rule(fmt.Sprint("r", i))
			}
			g.Define(0, Alt(Ref(1), b))
			g.Define(1, Seq(a, Ref(2)))
			g.Define(2, Ref(0))
			return g
		}, 3000, 60},
		{"a list in a pair", func() *Grammar {
			g := &Grammar{}
			g.Rule("root")
			g.Rule("list")
			g.Define(0, Seq(Ref(1), c))
			g.Define(1, Alt(Seq(a, Ref(1)), Empty()))
			return g
		}, 3000, 80},
		{"2^n parses", func() *Grammar {
			g := &Grammar{}
			g.Define(g.Rule("root"), Alt(Seq(a, Ref(0), b), Seq(a, Ref(0), c), a))
			return g
		}, 300, 20 * 300},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			x, err := matcherOf(t, r.g(), Characters(), bytesAnd()...)
			if err != nil {
				t.Fatal(err)
			}
			var tokens []int32
			n := next(t, x, nil, nil)
			for range r.steps {
				tokens = append(tokens, 1+'a')
				n = next(t, x, tokens, n.Memo)
			}
			if len(n.Memo) > r.most {
				t.Errorf("%d bytes after %d tokens, want at most %d", len(n.Memo), r.steps, r.most)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	a := Literal("", "a")
	rows := []struct {
		name, want string
		g          *Grammar
	}{
		{"places", "places", single(Repeat(Seq(a, Class("", Range{'a', 'z'})), 1<<17, 1<<17+1))},
		{"nested repetitions", "", single(Repeat(Repeat(Repeat(Literal("", "abcdefghijklmnopq"), 900, 900), 900, 900), 900, 900))},
		{"steps", "steps", single(func() *Expr {
			list := make([]*Expr, 4000)
			for i := range list {
				list[i] = Opt(Seq(a, Class("", Range{'a', rune('b' + i%20)})))
			}
			return Seq(list...)
		}())},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			_, err := r.g.Compile(0, Characters())
			if r.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || fault.KindOf(err) != fault.Limit || !strings.Contains(err.Error(), r.want) {
				t.Errorf("got %v, want a limit error with %q", err, r.want)
			}
		})
	}
	t.Run("depth", func(t *testing.T) {
		g := &Grammar{}
		g.Define(g.Rule("root"), Seq(Literal("", "["), Opt(Ref(0)), Literal("", "]")))
		x, err := matcherOf(t, g, Characters(), bytesAnd()...)
		if err != nil {
			t.Fatal(err)
		}
		tokens := slices.Repeat([]int32{1 + '['}, 2000)
		next(t, x, tokens, nil)
		if _, err := x.Next(slices.Repeat(tokens, 20), nil); err == nil || fault.KindOf(err) != fault.Limit || !strings.Contains(err.Error(), "nested") {
			t.Errorf("got %v, want a limit error", err)
		}
	})
	t.Run("parses", func(t *testing.T) {
		list := make([]*Expr, mostParses+1)
		for i := range list {
			list[i] = Seq(a, Literal("", fmt.Sprint(i)))
		}
		x, err := matcherOf(t, single(Alt(list...)), Characters(), bytesAnd()...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := x.Next([]int32{1 + 'a'}, nil); err == nil || fault.KindOf(err) != fault.Limit || !strings.Contains(err.Error(), "parses") {
			t.Errorf("got %v, want a limit error", err)
		}
	})
}

// A list of literals is one parse, however long it is.
func TestLongListsOfWords(t *testing.T) {
	list := make([]*Expr, 20000)
	for i := range list {
		list[i] = Literal("", fmt.Sprintf(`"product %d"`, i))
	}
	x, err := matcherOf(t, single(Alt(list...)), Characters(), bytesAnd(`"product `, `12`)...)
	if err != nil {
		t.Fatal(err)
	}
	n := next(t, x, []int32{257, 258}, nil)
	if len(n.Memo) > 60 || n.Tokens.Count() != 12 || !n.Tokens.Has(1+'"') || !n.Tokens.Has(258) {
		t.Errorf("a memo of %d bytes, tokens %v", len(n.Memo), n.Tokens.Append(nil))
	}
}

// More states than are remembered change nothing.
func TestTablesAreThrownAway(t *testing.T) {
	const n = mostStates + 500
	x, err := matcherOf(t, single(Seq(Repeat(Class("", Range{'a', 'b'}), n, n), Literal("", "!"))), Characters(), bytesAnd("ab")...)
	if err != nil {
		t.Fatal(err)
	}
	tokens := slices.Repeat([]int32{257}, n/2)
	for _, k := range []int{0, 1, n/2 - 1, n / 2, 3} {
		got := next(t, x, tokens[:k], nil).Tokens.Append(nil)
		want := []int32{1 + 'a', 1 + 'b', 257}
		if k == n/2 {
			want = []int32{1 + '!'}
		}
		if !slices.Equal(got, want) {
			t.Errorf("after %d tokens: %v, want %v", k, got, want)
		}
	}
}
