package generate

import (
	"slices"
	"strings"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/model"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

func want(t *testing.T, context []int32) []float32 {
	t.Helper()
	out := make([]float32, toyVocab)
	scores(context, out)
	return out
}

// Whatever a branch went through, its row is that of its context.
func TestABranchHasTheRowOfItsContext(t *testing.T) {
	m := newToy(t)
	e := engine(t, m)
	ctx := t.Context()
	a, err := e.Root(ctx, nil, []byte("abc"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := a.Fork(ctx)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, b *Branch) {
		t.Helper()
		if err := Grow(ctx, nil, b); err != nil {
			t.Fatal(err)
		}
		if row := b.Row(); !slices.Equal(row.Values, want(t, b.Tokens())) {
			t.Errorf("%s: the row is not that of %v", what, b.Tokens())
		}
	}
	check("root", a)
	check("fork", b)
	a.Append(7, 8)
	check("two tokens more", a)
	check("the fork is apart", b)
	for _, n := range []int{5, 4, 2, 1} {
		if err := a.Cut(ctx, n); err != nil {
			t.Fatal(err)
		}
		check("cut", a)
	}
	a.Append(9)
	b.Append(1)
	var u model.Usage
	if err := Grow(ctx, &u, a, b); err != nil || u.DecodeTokens != 2 {
		t.Fatalf("%v, %+v", err, u)
	}
	if calls := m.calls[len(m.calls)-1]; !slices.Equal(calls, []int{1, 1}) {
		t.Errorf("the last call had %v tokens per input", calls)
	}
	for name, make := range map[string]func(*Branch) error{
		"as it stands":    func(*Branch) error { return nil },
		"after a cut":     func(b *Branch) error { return b.Cut(ctx, 3) },
		"with more ahead": func(b *Branch) error { b.Append(4, 5, 6); return nil },
	} {
		c, err := b.Fork(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := make(c); err != nil {
			t.Fatal(err)
		}
		c.Append(20, 21)
		rows, err := c.Rows(ctx, nil, 3)
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range rows {
			if end := len(c.Tokens()) - 2 + i; !slices.Equal(row.Values, want(t, c.Tokens()[:end])) {
				t.Errorf("%s: row %d is not that of %v", name, i, c.Tokens()[:end])
			}
		}
		check(name, c)
		if _, err := c.Rows(ctx, nil, 2); err == nil {
			t.Errorf("%s: rows of tokens that were evaluated are given", name)
		}
		c.Drop()
		c.Drop()
	}
	a.Drop()
	b.Drop()
	if n := m.left(); n != 0 {
		t.Errorf("%d sequences are left", n)
	}
}

func TestABranchEndsWithItsContext(t *testing.T) {
	m := newToy(t)
	m.context = 4
	b, err := engine(t, m).Root(t.Context(), nil, []byte("abc"))
	if err != nil {
		t.Fatal(err)
	}
	b.Append(1, 2)
	if err := Grow(t.Context(), nil, b); fault.KindOf(err) != fault.Limit {
		t.Errorf("got %v", err)
	}
	b.Drop()
	if n := m.left(); n != 0 {
		t.Error("a sequence is left")
	}
}

// beside takes the token that the further pass likes best, so what it chooses
// shows what it was given.
type beside struct{}

func (beside) Declare() sampler.Declaration {
	return sampler.Declaration{Name: "beside", Kind: sampler.Select, Summary: "s", Source: "s", Needs: sampler.Needs{Passes: 1}}
}

func (beside) Apply(r *sampler.Row, _ param.Values) error {
	at := 0
	for i, v := range r.Passes[0].Values {
		if v > r.Passes[0].Values[at] {
			at = i
		}
	}
	r.Chosen = int32(at)
	return nil
}

func TestAPassFollowsTheSample(t *testing.T) {
	c := build(t, "beside", map[string][]sampler.Sampler{"p": {beside{}}})
	other, m := newToy(t), newToy(t)
	e := engine(t, m)
	second := engine(t, other)
	for name, p := range map[string]Pass{
		"another prompt":           {Prompt: []byte("zz")},
		"another model":            {Engine: second},
		"another model and prompt": {Engine: second, Prompt: []byte("zz")},
	} {
		jobs := make([]Job, 5)
		for i := range jobs {
			jobs[i] = Job{Prompt: []byte("abc"), Chain: c, Sample: uint64(i), MaxTokens: 6, Passes: []Pass{p}}
		}
		r, err := e.Run(t.Context(), jobs, Options{Batch: 2})
		if err != nil {
			t.Fatal(err)
		}
		prompt := "abc"
		if len(p.Prompt) > 0 {
			prompt = string(p.Prompt)
		}
		context := []int32{}
		for _, b := range []byte(prompt) {
			context = append(context, int32(b))
		}
		for _, s := range r.Samples {
			history := slices.Clone(context)
			for _, token := range s.Tokens {
				row := dist.NewDense(want(t, history))
				if row.Rank(token) != 1 {
					t.Fatalf("%s: token %d has rank %d after %v", name, token, row.Rank(token), history)
				}
				history = append(history, token)
			}
			rows, err := e.PassRows(t.Context(), []byte("abc"), s.Tokens, []Pass{p})
			if err != nil || !slices.Equal(rows[0].Values, want(t, history)) {
				t.Errorf("%s: the rows of the passes are not those of the contexts (%v)", name, err)
			}
		}
		if n, o := m.left(), other.left(); n+o != 0 {
			t.Errorf("%s: %d and %d sequences are left", name, n, o)
		}
	}
}

func TestPassesThatCannotBe(t *testing.T) {
	c := build(t, "beside", map[string][]sampler.Sampler{"p": {beside{}}})
	e := engine(t, newToy(t))
	run := func(passes ...Pass) error {
		_, err := e.Run(t.Context(), []Job{{Prompt: []byte("abc"), Chain: c, MaxTokens: 1, Passes: passes}}, Options{})
		return err
	}
	if err := run(); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "stage 1 (beside): it needs 1 further model pass") {
		t.Errorf("got %v", err)
	}
	strange := engine(t, newToy(t))
	strange.pieces = slices.Clone(strange.pieces)
	strange.pieces[65] = []byte("Ä")
	if err := run(Pass{Engine: strange}); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "token 65") {
		t.Errorf("got %v", err)
	}
	strange.info.VocabSize = 3
	if err := run(Pass{Engine: strange}); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "has 3 tokens") {
		t.Errorf("got %v", err)
	}
}
