package conform

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// vocabularyKey names the vocabulary of [textOf] in every call.
const vocabularyKey = "conformance"

// otherKey names one in which every text stands ten tokens further on.
const otherKey = "conformance, moved"

// mostTokens is the largest vocabulary asked about.
const mostTokens = 262_144

// Bench makes questions for the samplers of one runner, asks them, and judges
// the answers. Not safe for concurrent use.
type Bench struct {
	Declarations []sampler.Declaration

	ctx    context.Context
	runner sampler.Runner
	again  sampler.Runner
	facts  map[string]Facts
	seed   uint64
	rounds int
	shapes []shape
	shared RowSource
	asked  int
	deaths func() int              // processes that ended so far; nil in this process
	kept   map[string][]remembered // by sampler
	left   map[string]bool         // samplers that are not to be asked, or not any more

	patience time.Duration // with one call
	late     bool          // a call under the present law did not come to an end
}

// asking returns the declarations of the samplers to ask.
func (b *Bench) asking() []sampler.Declaration {
	return slices.DeleteFunc(slices.Clone(b.Declarations), func(d sampler.Declaration) bool { return b.left[d.Name] })
}

// newBench returns a bench for samplers that are applied by r.
func newBench(ctx context.Context, r sampler.Runner, declarations []sampler.Declaration, opt Options) *Bench {
	return &Bench{Declarations: declarations, ctx: ctx, runner: r, facts: opt.Facts, seed: opt.Seed,
		rounds: opt.rounds(), shapes: shapes(), shared: opt.Shared, kept: map[string][]remembered{}, left: map[string]bool{}, patience: opt.patience()}
}

// ForSet returns a bench for a set in this process, which is given the texts of
// the questions.
func ForSet(ctx context.Context, set *sampler.Set, opt Options) *Bench {
	b := newBench(ctx, withTexts(set), set.Declarations(), opt)
	if opt.SecondSet != nil {
		b.again = withTexts(opt.SecondSet)
	}
	return b
}

func withTexts(set *sampler.Set) *sampler.Set {
	return set.WithTexts(func(key string) func(int32) []byte {
		if key == otherKey {
			return moved
		}
		return textOf
	})
}

func moved(id int32) []byte { return textOf(id + 10) }

// Random returns the numbers for one purpose, which the parts name; they are
// the same at every run with one seed.
func (b *Bench) Random(parts ...any) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintln(h, parts...)
	return rand.New(rand.NewPCG(h.Sum64(), 14+b.seed))
}

// Question is one call to one sampler about one row.
type Question struct {
	Decl   sampler.Declaration
	Values param.Values
	End    []int32 // tokens that end a text
	Item   *sampler.Item
	Shape  string // what kind of row it is
	System string // whose rule; empty: the sampler's own

	vocabulary string // key of the texts; empty: the usual one
}

// String returns the question on one line.
func (q *Question) String() string {
	form := "dense"
	if !q.Item.Scores.Dense() {
		form = "sparse"
	}
	s := fmt.Sprintf("%s row of %d tokens (%s) with scores %v", form, q.Item.Scores.Vocab, q.Shape, brief(q.Item.Scores.Values))
	if !q.Item.Scores.Dense() {
		s += fmt.Sprintf(" for ids %v", brief(q.Item.Scores.IDs))
	}
	if q.Item.Scores.Unlisted > 0 {
		s += fmt.Sprintf(", %g unlisted", q.Item.Scores.Unlisted)
	}
	if len(q.Values) > 0 {
		s += "; settings " + q.Values.String()
	}
	if q.System != "" {
		s += "; rule of " + q.System
	}
	if n := q.Decl.Needs; n.History != 0 {
		s += fmt.Sprintf("; context %v, prompt %d", brief(q.Item.History), q.Item.Prompt)
	}
	if q.Item.Step > 0 {
		s += fmt.Sprintf("; step %d", q.Item.Step)
	}
	if len(q.Item.Uniforms) > 0 && len(q.Item.Uniforms[0]) > 0 {
		s += fmt.Sprintf("; uniform numbers %v", brief(q.Item.Uniforms[0]))
	}
	if len(q.Item.States) > 0 && len(q.Item.States[0]) > 0 {
		s += fmt.Sprintf("; a state of %d bytes", len(q.Item.States[0]))
	}
	return s
}

func brief[T any](v []T) string {
	if len(v) > 12 {
		return fmt.Sprintf("%v and %d more", v[:12], len(v)-12)
	}
	return fmt.Sprint(v)
}

// clone returns a question that shares nothing with q that a test may change.
func (q *Question) clone() *Question {
	c := *q
	c.Item, c.Values = copyItem(q.Item), slices.Clone(q.Values)
	return &c
}

// sparse returns the question about the row that lists only its support.
func (q *Question) sparse() *Question {
	c := q.clone()
	c.Item.Scores = Twin(&q.Item.Scores)
	return c
}

// ask draws a question: the i-th kind of row, settings and surroundings.
func (b *Bench) ask(g *rand.Rand, d sampler.Declaration, i int) *Question {
	sh := b.shapes[i%len(b.shapes)]
	v := make([]float32, sh.n(g))
	sh.fill(g, v)
	row := dist.NewDense(v)
	if g.IntN(3) == 0 {
		row = Twin(&row)
	}
	return b.About(g, d, row, sh.name)
}

// About draws settings and surroundings for a row.
func (b *Bench) About(g *rand.Rand, d sampler.Declaration, row dist.Scores, shape string) *Question {
	q := &Question{Decl: d, Shape: shape}
	var err error
	if q.Values, err = legal(g, d, b.facts[d.Name], row.Vocab); err != nil {
		// The facts give a value that the declaration does not have.
		q.Values, _ = Values(d)
	}
	if row.Vocab > 1 {
		q.End = []int32{int32(row.Vocab - 1)}
	}
	q.Item = b.Surroundings(g, d, row)
	return q
}

// Surroundings draws what else a stage is told: a context that repeats itself,
// uniform numbers, rows of further passes.
func (b *Bench) Surroundings(g *rand.Rand, d sampler.Declaration, row dist.Scores) *sampler.Item {
	it := &sampler.Item{Scores: row, History: make([]int32, g.IntN(40)), Sample: g.Uint64N(3)}
	words := min(row.Vocab, 1+g.IntN(9))
	for i := range it.History {
		it.History[i] = int32(g.IntN(words))
	}
	if n := len(it.History); n > 6 && g.IntN(2) == 0 {
		copy(it.History[n-3:], it.History[:3])
	}
	if it.Prompt = g.IntN(len(it.History) + 1); b.facts[d.Name].Fresh {
		it.Prompt = len(it.History)
	}
	it.Step = len(it.History) - it.Prompt
	it.Uniforms = [][]float64{uniforms(g, d)}
	for range d.Needs.Passes {
		it.Passes = append(it.Passes, pass(g, row.Vocab))
	}
	return it
}

func uniforms(g *rand.Rand, d sampler.Declaration) []float64 {
	u := make([]float64, d.Needs.Uniforms)
	for i := range u {
		u[i] = g.Float64()
	}
	return u
}

// pass draws the row of a further pass.
func pass(g *rand.Rand, n int) dist.Scores {
	v := make([]float32, n)
	fill(v, func() float64 { return g.NormFloat64() * 3 })
	p := dist.NewDense(v)
	if n > 0 && g.IntN(3) == 0 {
		v[g.IntN(len(v))] = negInf
		if p.Check() != nil {
			v[0] = 0
		}
		p = Twin(&p)
	}
	return p
}

// Answer is what a stage left.
type Answer struct {
	Row    dist.Scores
	Chosen int32 // -1: it does not select
	State  []byte
	Change dist.Change
	Err    error
}

// String returns the answer on one line.
func (a *Answer) String() string {
	if a.Err != nil {
		return a.Err.Error()
	}
	ids, _ := support(&a.Row)
	s := fmt.Sprintf("tokens %v of %d left, scores %v", brief(ids), a.Row.Vocab, brief(a.Row.Values))
	if a.Chosen >= 0 {
		s += fmt.Sprintf(", token %d chosen", a.Chosen)
	}
	return s
}

// copyItem returns an item that shares nothing that a stage could change.
func copyItem(it *sampler.Item) *sampler.Item {
	c := *it
	c.Scores, c.History = it.Scores.Clone(), slices.Clone(it.History)
	c.States, c.Uniforms, c.Passes, c.Changes, c.Rows = slices.Clone(it.States), nil, nil, nil, nil
	for _, u := range it.Uniforms {
		c.Uniforms = append(c.Uniforms, slices.Clone(u))
	}
	for k := range it.Passes {
		c.Passes = append(c.Passes, it.Passes[k].Clone())
	}
	return &c
}

// Run asks questions that share settings as one batch, each about a copy; the
// ledger is on, so that its identities are checked as well.
func (b *Bench) Run(qs ...*Question) []Answer { return b.on(b.runner, qs) }

func (b *Bench) on(r sampler.Runner, qs []*Question) []Answer {
	call := b.call(qs)
	for _, q := range qs {
		call.Items = append(call.Items, copyItem(q.Item))
	}
	b.asked += len(qs)
	err := b.apply(r, call)
	return answers(call, qs, err)
}

// call returns the call of questions that share settings, without its items.
func (b *Bench) call(qs []*Question) *sampler.Call {
	q := qs[0]
	call := &sampler.Call{Stages: []sampler.Stage{{Sampler: q.Decl.Name, Values: q.Values, System: q.System}}, Ledger: true,
		Vocabulary: vocabularyKey, EndOfText: q.End}
	if q.vocabulary != "" {
		call.Vocabulary = q.vocabulary
	}
	return call
}

// answers takes what a call of one stage left, in the order of its questions.
func answers(call *sampler.Call, qs []*Question, err error) []Answer {
	out := make([]Answer, len(call.Items))
	for i, it := range call.Items {
		out[i] = Answer{Row: it.Scores, Chosen: it.Chosen, Err: err}
		if err != nil {
			continue
		}
		if len(it.States) != 1 || len(it.Changes) != 1 {
			out[i].Err = fault.New(fault.Plugin, call.Stages[0].Sampler, "", "it left %d states and %d lines of the ledger for one stage",
				len(it.States), len(it.Changes))
			continue
		}
		out[i].State, out[i].Change = it.States[0], it.Changes[0]
		if what := scribbled(qs[i].Item, it); what != "" {
			out[i].Err = fault.New(fault.Plugin, call.Stages[0].Sampler, "", "it changed %s, which it may only read", what)
		}
	}
	return out
}

// scribbled names what a stage changed of what it is given to read. In another
// process that stays unseen, unless a stage after it reads the same.
func scribbled(before, after *sampler.Item) string {
	if !slices.Equal(before.History, after.History) {
		return "the context"
	}
	for k := range before.Uniforms {
		if !slices.Equal(before.Uniforms[k], after.Uniforms[k]) {
			return "the uniform numbers"
		}
	}
	for k := range before.Passes {
		if !sameBits(&before.Passes[k], &after.Passes[k]) {
			return fmt.Sprintf("row %d of a further pass", k)
		}
	}
	return ""
}

// Refused reports whether an answer is a refusal. One that is not the user's or
// the data's fault, or does not name its sampler, is no such thing: it is
// described.
func Refused(q *Question, a Answer) (refused bool, wrong string) {
	if a.Err == nil {
		return false, ""
	}
	switch kind := fault.KindOf(a.Err); {
	case kind != fault.Data && kind != fault.Usage:
		return false, fmt.Sprintf("an error of kind %v: %v", kind, a.Err)
	case !strings.Contains(a.Err.Error(), q.Decl.Name):
		return false, fmt.Sprintf("an error that does not name the sampler: %v", a.Err)
	}
	return true, ""
}
