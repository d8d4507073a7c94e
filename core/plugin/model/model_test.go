package model

import (
	"reflect"
	"strings"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
)

func rows(n, vocab int) []dist.Scores {
	out := make([]dist.Scores, n)
	for i := range out {
		out[i] = dist.NewDense(make([]float32, vocab))
	}
	return out
}

func TestInputCheck(t *testing.T) {
	info := Info{VocabSize: 10, ContextLength: 8}
	good := Input{Seq: 1, Start: 3, Tokens: []int32{0, 9}, Want: All, Scores: rows(2, 10)}
	change := func(f func(*Input)) Input {
		in := good
		f(&in)
		return in
	}
	cases := []struct {
		name string
		in   Input
		kind fault.Kind
		want string // "" for a good input
	}{
		{"a good input", good, 0, ""},
		{"the context may be filled", change(func(in *Input) { in.Tokens = make([]int32, 5); in.Scores = rows(5, 10) }), 0, ""},
		{"nothing wanted needs no rows", change(func(in *Input) { in.Want = None; in.Scores = nil }), 0, ""},
		{"another start than the sequence's length", change(func(in *Input) { in.Start = 2 }), fault.Usage, "starts at 2"},
		{"no tokens", change(func(in *Input) { in.Tokens = nil; in.Scores = nil }), fault.Usage, "no tokens"},
		{"an unknown want", change(func(in *Input) { in.Want = 7; in.Scores = nil }), fault.Usage, "want 7"},
		{"too few rows", change(func(in *Input) { in.Scores = rows(1, 10) }), fault.Usage, "1 rows of scores for 2"},
		{"one token too many", change(func(in *Input) { in.Tokens = make([]int32, 6); in.Scores = rows(6, 10) }), fault.Limit, "context of 8"},
		{"a token below the vocabulary", change(func(in *Input) { in.Tokens = []int32{0, -1} }), fault.Usage, "token -1 at index 1"},
		{"a token above the vocabulary", change(func(in *Input) { in.Tokens = []int32{10, 0} }), fault.Usage, "token 10 at index 0"},
		{"a row of another length", change(func(in *Input) { in.Scores = rows(2, 9) }), fault.Usage, "row 0"},
		{"a sparse row", change(func(in *Input) { in.Scores = rows(2, 10); in.Scores[1].IDs = make([]int32, 10) }), fault.Usage, "row 1"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := c.in.Check(info, 3)
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || fault.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want a %v error with %q", err, c.kind, c.want)
			}
		})
	}
}

func TestUsageAddsFlowsAndKeepsTheHighestLevel(t *testing.T) {
	a := Usage{PrefillTokens: 1, DecodeTokens: 2, PrefillSeconds: 0.5, DecodeSeconds: 1, FLOPs: 3, BytesMoved: 4, CacheBytes: 9, CachedTokens: 5}
	b := Usage{PrefillTokens: 10, DecodeTokens: 20, PrefillSeconds: 5, DecodeSeconds: 10, FLOPs: 30, BytesMoved: 40, CacheBytes: 7, CachedTokens: 50}
	want := Usage{PrefillTokens: 11, DecodeTokens: 22, PrefillSeconds: 5.5, DecodeSeconds: 11, FLOPs: 33, BytesMoved: 44, CacheBytes: 9, CachedTokens: 55}
	if got := a.Add(b); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestDeclarationValidate(t *testing.T) {
	good := Declaration{Name: "toy", Summary: "s", Source: "t"}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for _, bad := range []Declaration{{Name: "Toy", Summary: "s", Source: "t"}, {Name: "toy", Source: "t"}, {Name: "toy", Summary: "s"}} {
		if err := bad.Validate(); fault.KindOf(err) != fault.Plugin {
			t.Errorf("%+v: got %v, want a plugin error", bad, err)
		}
	}
}
