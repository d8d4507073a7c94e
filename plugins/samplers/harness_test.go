package samplers

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// What follows makes questions to any sampler from its declaration alone: legal
// settings, rows of many kinds, and a context. facts_test.go holds the little
// that a declaration does not say.

var negInf = float32(math.Inf(-1))

// random returns the numbers of one test of one sampler, the same at every run.
func random(parts ...any) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintln(h, parts...)
	return rand.New(rand.NewPCG(h.Sum64(), 14))
}

// text is the vocabulary of every question: the letters, the breakers that
// samplers know by default, and words.
func text(id int32) []byte {
	const letters = "abcdefghijklmnopqrstuvwxyz\n:\"* .0123456789{}[],-"
	if int(id) < len(letters) {
		return []byte(letters[id : id+1])
	}
	return []byte("w" + strconv.Itoa(int(id)))
}

// laboratory is every sampler with what the laws know of it.
type laboratory struct {
	set   *sampler.Set
	decls []sampler.Declaration
}

func newLaboratory(t testing.TB) *laboratory {
	t.Helper()
	set := newSet(t).WithTexts(func(string) func(int32) []byte { return text })
	return &laboratory{set, set.Declarations()}
}

// each runs a test for every sampler.
func (l *laboratory) each(t *testing.T, law func(t *testing.T, d sampler.Declaration)) {
	for _, d := range l.decls {
		t.Run(d.Name, func(t *testing.T) { law(t, d) })
	}
}

// values resolves settings given as name, value, name, value.
func values(t testing.TB, d sampler.Declaration, given ...any) param.Values {
	t.Helper()
	var list []param.Setting
	for i := 0; i < len(given); i += 2 {
		list = append(list, param.Setting{Name: given[i].(string), Value: given[i+1], Origin: "test"})
	}
	v, err := d.Params.Resolve("test", d.Name, list)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// legal draws settings of a sampler for a vocabulary of n tokens; facts may
// replace some.
func legal(t testing.TB, g *rand.Rand, d sampler.Declaration, n int) param.Values {
	t.Helper()
	own := map[string]any{}
	if f := facts[d.Name]; f.settings != nil {
		own = f.settings(g, n)
	}
	var given []any
	for _, s := range d.Params {
		v, ok := own[s.Name]
		if ok { // another system's range may not have it
			c, err := s.Convert(v)
			ok = err == nil && s.Check(c) == nil
		}
		if !ok {
			if g.IntN(4) == 0 {
				continue // the default
			}
			v = someValue(g, s, n)
		}
		given = append(given, s.Name, v)
	}
	return values(t, d, given...)
}

// someValue draws a legal value of a setting: the limits, numbers spread over a
// finite range, numbers about the default and small ones where there is none.
func someValue(g *rand.Rand, s param.Spec, n int) any {
	switch s.Type {
	case param.Bool:
		return g.IntN(2) == 0
	case param.Text:
		if len(s.Choices) == 0 {
			return s.Default
		}
		return s.Choices[g.IntN(len(s.Choices))]
	case param.Tokens:
		return someTokens(g, s.Weighted, n)
	}
	for range 100 {
		x := someNumber(g, s, n)
		var v any = x
		if s.Type == param.Int {
			v = int64(math.Round(x))
		}
		if s.Check(v) == nil {
			return v
		}
	}
	return s.Default
}

func someNumber(g *rand.Rand, s param.Spec, n int) float64 {
	about, _ := s.Default.(float64)
	if k, ok := s.Default.(int64); ok {
		about = float64(k)
	}
	finite := s.Max-s.Min <= 1000
	switch g.IntN(6) {
	case 0:
		if math.Abs(s.Min) <= 1000 {
			return s.Min
		}
	case 1:
		if math.Abs(s.Max) <= 1000 {
			return s.Max
		}
	case 2:
		if s.Type == param.Int {
			return float64(g.IntN(n + 2))
		}
		return math.Exp(-8 * g.Float64())
	}
	if finite {
		return s.Min + g.Float64()*(s.Max-s.Min)
	}
	return about + g.NormFloat64()*max(1, math.Abs(about)/2)
}

func someTokens(g *rand.Rand, weighted bool, n int) string {
	items := make([]string, g.IntN(4))
	for i := range items {
		items[i] = strconv.Itoa(g.IntN(n))
		switch g.IntN(8) {
		case 0:
			items[i] += "+" + strconv.Itoa(g.IntN(n))
		case 1:
			items[i] = (param.Token{Text: string(text(int32(g.IntN(n))))}).String()
		}
		if weighted {
			items[i] += "=" + strconv.FormatFloat(g.NormFloat64()*2, 'g', 4, 64)
		}
	}
	return strings.Join(items, " ")
}

// question is one call to one sampler.
type question struct {
	decl   sampler.Declaration
	values param.Values
	end    []int32
	item   *sampler.Item
	shape  string
	system string // whose rule; empty: the sampler's own
}

func (q *question) String() string {
	return fmt.Sprintf("%s %s of a %s row of %d tokens (sparse: %v), context of %d (prompt %d): %v, %v", q.system, q.decl.Name, q.shape,
		q.item.Scores.Vocab, !q.item.Scores.Dense(), len(q.item.History), q.item.Prompt, q.values, brief(q.item.Scores.Values))
}

func brief(v []float32) string {
	if len(v) > 12 {
		return fmt.Sprintf("%v and %d more", v[:12], len(v)-12)
	}
	return fmt.Sprint(v)
}

// ask draws a question of the given shape.
func (l *laboratory) ask(t testing.TB, g *rand.Rand, d sampler.Declaration, shape int) *question {
	t.Helper()
	sh := shapes[shape%len(shapes)]
	v := make([]float32, sh.n(g))
	sh.fill(g, v)
	row := dist.NewDense(v)
	if g.IntN(3) == 0 {
		row = twin(&row)
	}
	return l.about(t, g, d, row, sh.name)
}

// about draws settings and surroundings for a row.
func (l *laboratory) about(t testing.TB, g *rand.Rand, d sampler.Declaration, row dist.Scores, shape string) *question {
	t.Helper()
	q := &question{decl: d, values: legal(t, g, d, row.Vocab), shape: shape}
	if row.Vocab > 1 {
		q.end = []int32{int32(row.Vocab - 1)}
	}
	q.item = surroundings(g, d, row)
	return q
}

// surroundings draws what else a stage is told: a context that repeats itself,
// uniform numbers, rows of further passes.
func surroundings(g *rand.Rand, d sampler.Declaration, row dist.Scores) *sampler.Item {
	it := &sampler.Item{Scores: row, History: make([]int32, g.IntN(40)), Sample: g.Uint64N(3)}
	words := min(row.Vocab, 1+g.IntN(9))
	for i := range it.History {
		it.History[i] = int32(g.IntN(words))
	}
	if n := len(it.History); n > 6 && g.IntN(2) == 0 {
		copy(it.History[n-3:], it.History[:3])
	}
	if it.Prompt = g.IntN(len(it.History) + 1); facts[d.Name].fresh {
		it.Prompt = len(it.History)
	}
	it.Step = len(it.History) - it.Prompt
	u := make([]float64, d.Needs.Uniforms)
	for i := range u {
		u[i] = g.Float64()
	}
	it.Uniforms = [][]float64{u}
	for range d.Needs.Passes {
		v := make([]float32, row.Vocab)
		each(v, func() float64 { return g.NormFloat64() * 3 })
		p := dist.NewDense(v)
		if g.IntN(3) == 0 {
			v[g.IntN(len(v))] = negInf
			if p.Check() != nil {
				v[0] = 0
			}
			p = twin(&p)
		}
		it.Passes = append(it.Passes, p)
	}
	return it
}

// answer is what a stage left.
type answer struct {
	row    dist.Scores
	chosen int32
	state  []byte
	change dist.Change
	err    error
}

func copyItem(it *sampler.Item) *sampler.Item {
	c := *it
	c.Scores = it.Scores.Clone()
	c.States, c.Changes, c.Rows = slices.Clone(it.States), nil, nil
	return &c
}

// run asks questions that share settings as one batch, each on a copy; the ledger
// is on, so its identities are checked as well.
func (l *laboratory) run(qs ...*question) []answer {
	call := &sampler.Call{Stages: []sampler.Stage{{Sampler: qs[0].decl.Name, Values: qs[0].values, System: qs[0].system}}, Ledger: true, Vocabulary: "laws", EndOfText: qs[0].end}
	for _, q := range qs {
		call.Items = append(call.Items, copyItem(q.item))
	}
	err := l.set.Run(context.Background(), call)
	out := make([]answer, len(qs))
	for i, it := range call.Items {
		out[i] = answer{row: it.Scores, chosen: it.Chosen, err: err}
		if err == nil {
			out[i].state, out[i].change = it.States[0], it.Changes[0]
		}
	}
	return out
}

// refused reports whether an answer is a refusal; one that is not the user's or
// the data's fault, or does not name its stage, fails the test.
func refused(t testing.TB, q *question, a answer) bool {
	t.Helper()
	if a.err == nil {
		return false
	}
	kind := fault.KindOf(a.err)
	if kind != fault.Data && kind != fault.Usage || !strings.Contains(a.err.Error(), "("+q.decl.Name+")") {
		t.Fatalf("%v: a %v error: %v", q, kind, a.err)
	}
	return true
}
