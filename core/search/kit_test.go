package search

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"testing"

	"lab/core/chain"
	"lab/core/dist"
	"lab/core/fault"
	"lab/core/generate"
	"lab/core/plugin/model"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// table is a model over a few tokens whose next distribution is a function of
// the tokens after the prompt.
type table struct {
	vocab int
	end   []int32
	next  func(completion []int32) []float64 // probabilities
	seqs  map[uint64][]int32
	calls int

	hidden func(context []int32) []float32 // nil: none are offered

	refuses int32 // a call with this token in it is a model error; 0 none
}

func (m *table) Info() model.Info {
	// Not deterministic, so that engines which share it keep no prompts in it.
	info := model.Info{Name: "table", Architecture: "table", VocabSize: m.vocab, ContextLength: 64, Begin: -1, EndOfText: m.end}
	if m.hidden != nil {
		info.Hidden = len(m.hidden(nil))
	}
	return info
}

func (m *table) Encode(_ context.Context, text []byte, _ model.EncodeOptions) ([]int32, error) {
	return make([]int32, len(text)), nil
}
func (m *table) Decode(context.Context, []int32) ([]byte, error) { return nil, nil }
func (m *table) Pieces(context.Context) ([][]byte, error) {
	out := make([][]byte, m.vocab)
	for i := range out {
		out[i] = []byte{byte('a' + i)}
	}
	return out, nil
}

func (m *table) Forward(_ context.Context, batch []model.Input) (model.Usage, error) {
	m.calls++
	if m.seqs == nil {
		m.seqs = map[uint64][]int32{}
	}
	var u model.Usage
	for _, in := range batch {
		if m.refuses != 0 && slices.Contains(in.Tokens, m.refuses) {
			return u, fault.New(fault.Model, "table", "", "token %d cannot be", m.refuses)
		}
		if len(m.seqs[in.Seq]) != in.Start {
			return u, fmt.Errorf("sequence %d holds %d tokens, the caller believes %d", in.Seq, len(m.seqs[in.Seq]), in.Start)
		}
		m.seqs[in.Seq] = append(m.seqs[in.Seq][:in.Start:in.Start], in.Tokens...)
		for i := range in.Scores {
			held := m.seqs[in.Seq][:len(m.seqs[in.Seq])-len(in.Scores)+1+i]
			if len(in.Hidden) > 0 {
				h := m.hidden(held)
				copy(in.Hidden[i*len(h):], h)
			}
			for t, p := range m.next(held[1:]) { // prompts here are one byte
				in.Scores[i].Values[t] = float32(math.Log(p))
			}
		}
		u.DecodeTokens += int64(len(in.Tokens))
	}
	return u, nil
}

func (m *table) Edit(_ context.Context, edits []model.Edit) error {
	for _, e := range edits {
		switch e.Op {
		case model.Fork:
			m.seqs[e.To] = slices.Clone(m.seqs[e.Seq][:e.Length])
		case model.Truncate:
			m.seqs[e.Seq] = m.seqs[e.Seq][:e.Length]
		case model.Free:
			delete(m.seqs, e.Seq)
		}
	}
	return nil
}
func (m *table) Verify(context.Context) (string, error) { return "", nil }
func (m *table) Close() error                           { return nil }

// random returns a model with hashed distributions, the same for equal salts.
func random(vocab int, salt string) *table {
	return &table{vocab: vocab, next: func(completion []int32) []float64 {
		h := fnv.New64a()
		fmt.Fprintf(h, "%s%v", salt, completion)
		x := h.Sum64()
		p := make([]float64, vocab)
		sum := 0.0
		for i := range p {
			x = x*6364136223846793005 + 1442695040888963407
			p[i] = math.Exp(float64(x>>40) / (1 << 22))
			sum += p[i]
		}
		for i := range p {
			p[i] /= sum
		}
		return p
	}}
}

// The stages of the tests: a draw, the best token, and a cut.
type stage struct {
	name  string
	kind  sampler.Kind
	apply func(*sampler.Row)
}

func (s stage) Declare() sampler.Declaration {
	d := sampler.Declaration{Name: s.name, Kind: s.kind, Summary: "s", Source: "s"}
	if s.name == "sample" {
		d.Needs.Uniforms = 1
	}
	return d
}

func (s stage) Apply(r *sampler.Row, _ param.Values) error { s.apply(r); return nil }

func best(s *dist.Scores) int {
	at := 0
	for i, v := range s.Values {
		if v > s.Values[at] {
			at = i
		}
	}
	return at
}

var stages = []sampler.Sampler{
	stage{"sample", sampler.Select, func(r *sampler.Row) {
		d, _ := dist.NewSampling(r.Scores)
		r.Chosen = draw(d.Distribution, r.Uniforms[0])
	}},
	stage{"greedy", sampler.Select, func(r *sampler.Row) {
		at := best(r.Scores)
		r.Chosen = r.Scores.ID(at)
		r.Scores.KeepBest(r.Scores.Values[at], 1, 1)
	}},
	stage{"headless", sampler.Reshape, func(r *sampler.Row) { // removes the best token
		at := best(r.Scores)
		r.Scores.Keep(func(i int) bool { return i != at }, nil)
	}},
	stage{"stateful", sampler.Select, func(r *sampler.Row) { r.Chosen, r.State = r.Scores.ID(0), []byte{1} }},
}

type shelf struct{ *sampler.Set }

func (s shelf) Sampler(name string) (chain.Offer, error) {
	d, err := s.Lookup(name)
	return chain.Offer{Plugin: "test", Declaration: d, Runner: s.Set}, err
}

func task(t *testing.T, m *table, chainText string, tokens int) Task {
	t.Helper()
	e, err := generate.New(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	set, err := sampler.NewSet(stages...)
	if err != nil {
		t.Fatal(err)
	}
	requests, err := chain.Parse(chainText, "test")
	if err != nil {
		t.Fatal(err)
	}
	c, err := chain.Build(requests, shelf{set})
	if err != nil {
		t.Fatal(err)
	}
	return Task{Engine: e, Prompt: []byte("x"), Chain: c, MaxTokens: tokens, Seed: 1}
}

func run(t *testing.T, task Task, text string) *Result {
	t.Helper()
	r, err := try(t.Context(), task, text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func try(ctx context.Context, task Task, text string) (*Result, error) {
	s, values, err := Parse(text, "test")
	if err != nil {
		return nil, err
	}
	return Run(ctx, task, s, values)
}

// probability returns ln p of a completion under a model, from its table.
func (m *table) probability(tokens []int32) float64 {
	ln := 0.0
	for i, t := range tokens {
		ln += math.Log(m.next(tokens[:i])[t])
	}
	return ln
}

// all returns every completion of so many tokens, the likeliest first.
func (m *table) all(tokens int) [][]int32 {
	out := [][]int32{nil}
	for range tokens {
		var longer [][]int32
		for _, p := range out {
			if len(p) > 0 && slices.Contains(m.end, p[len(p)-1]) {
				longer = append(longer, p)
				continue
			}
			for t := range m.vocab {
				longer = append(longer, append(slices.Clone(p), int32(t)))
			}
		}
		out = longer
	}
	slices.SortStableFunc(out, func(a, b []int32) int {
		if pa, pb := m.probability(a), m.probability(b); pa != pb {
			if pa > pb {
				return -1
			}
			return 1
		}
		return slices.Compare(a, b)
	})
	return out
}
