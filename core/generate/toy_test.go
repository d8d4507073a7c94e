package generate

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
	"lab/core/plugin/model"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// toy is a backend whose tokens are bytes and whose scores are a hash of the
// whole context, so any mistake in what a sequence holds changes the result.
type toy struct {
	t         *testing.T
	context   int
	end       []int32
	seqs      map[uint64][]int32
	calls     [][]int // tokens per input of every forward call
	peak      int     // most sequences alive
	failAt    int     // forward call that fails, from 1; 0 never
	refuses   int32   // a call with this token is a model error; 0 none
	full      int     // most sequences there is room for; 0 any
	random    bool    // makes no promise about its bits
	never     int32   // has probability 0; 0 none
	begin     int32   // token that starts a text; 0 none
	onForward func()
	engines   []*Engine
}

// left returns how many sequences are alive once nobody needs a prompt any more.
func (m *toy) left() int {
	for _, e := range m.engines {
		e.Forget()
	}
	return len(m.seqs)
}

func newToy(t *testing.T) *toy {
	return &toy{t: t, context: 4096, seqs: map[uint64][]int32{}}
}

const toyVocab = 257 // bytes, and one end token

func (m *toy) Info() model.Info {
	return model.Info{Name: "toy", Architecture: "hash", VocabSize: toyVocab, ContextLength: m.context, Deterministic: !m.random,
		Begin: m.beginToken(), EndOfText: m.end}
}

func (m *toy) beginToken() int32 {
	if m.begin == 0 {
		return -1
	}
	return m.begin
}

func (m *toy) Encode(_ context.Context, text []byte, opt model.EncodeOptions) ([]int32, error) {
	out := make([]int32, len(text))
	for i, b := range text {
		out[i] = int32(b)
	}
	if m.begin != 0 && opt.Begin {
		out = append([]int32{m.begin}, out...)
	}
	return out, nil
}

func (m *toy) Decode(_ context.Context, tokens []int32) ([]byte, error) {
	var out []byte
	for _, t := range tokens {
		if t < 256 && (m.begin == 0 || t != m.begin) {
			out = append(out, byte(t))
		}
	}
	return out, nil
}

func (m *toy) Pieces(context.Context) ([][]byte, error) {
	out := make([][]byte, toyVocab)
	for i := range 256 {
		out[i] = []byte{byte(i)}
	}
	return out, nil
}

func (m *toy) Forward(_ context.Context, batch []model.Input) (model.Usage, error) {
	if m.onForward != nil {
		m.onForward()
	}
	var sizes []int
	for _, in := range batch {
		sizes = append(sizes, len(in.Tokens))
	}
	m.calls = append(m.calls, sizes)
	if len(m.calls) == m.failAt {
		return model.Usage{}, fmt.Errorf("toy: told to fail")
	}
	added := 0
	for _, in := range batch {
		if _, ok := m.seqs[in.Seq]; !ok {
			added++
		}
	}
	if m.full > 0 && len(m.seqs)+added > m.full {
		return model.Usage{}, fault.New(fault.Limit, "toy", "", "there is no room for %d sequences", len(m.seqs)+added)
	}
	for _, in := range batch {
		if m.refuses != 0 && slices.Contains(in.Tokens, m.refuses) {
			return model.Usage{}, fault.New(fault.Model, "toy", "", "token %d cannot be", m.refuses)
		}
	}
	u := model.Usage{BytesMoved: 1000, DecodeSeconds: 0.25, CacheBytes: int64(len(m.seqs))}
	for _, in := range batch {
		if len(m.seqs[in.Seq]) != in.Start {
			m.t.Errorf("sequence %d holds %d tokens, the caller believes %d", in.Seq, len(m.seqs[in.Seq]), in.Start)
		}
		m.seqs[in.Seq] = append(m.seqs[in.Seq][:in.Start:in.Start], in.Tokens...)
		for i := range in.Scores { // the last one after the whole context
			scores(m.seqs[in.Seq][:len(m.seqs[in.Seq])-len(in.Scores)+1+i], in.Scores[i].Values)
			if m.never != 0 {
				in.Scores[i].Values[m.never] = float32(math.Inf(-1))
			}
		}
		u.DecodeTokens += int64(len(in.Tokens))
		u.FLOPs += 10 * int64(len(in.Tokens))
	}
	m.peak = max(m.peak, len(m.seqs))
	return u, nil
}

func scores(context []int32, out []float32) {
	h := fnv.New64a()
	for _, t := range context {
		fmt.Fprintf(h, "%d,", t)
	}
	x := h.Sum64()
	for i := range out {
		x = x*6364136223846793005 + 1442695040888963407
		out[i] = float32(x>>40) / (1 << 22) // 0..4
	}
}

func (m *toy) Edit(_ context.Context, edits []model.Edit) error {
	for _, e := range edits {
		switch e.Op {
		case model.Fork:
			if _, ok := m.seqs[e.To]; ok {
				m.t.Errorf("fork to sequence %d, which exists", e.To)
			}
			m.seqs[e.To] = append([]int32(nil), m.seqs[e.Seq][:e.Length]...)
		case model.Truncate:
			m.seqs[e.Seq] = m.seqs[e.Seq][:e.Length]
		case model.Free:
			delete(m.seqs, e.Seq)
		}
	}
	return nil
}

func (m *toy) Verify(context.Context) (string, error) { return "", nil }
func (m *toy) Close() error                           { return nil }

// flat draws from the row by inverse transform; point takes the highest score;
// count keeps a state of its own and cuts the row to the best five.
type flat struct{}

func (flat) Declare() sampler.Declaration {
	return sampler.Declaration{Name: "flat", Kind: sampler.Select, Summary: "draw", Source: "test", Needs: sampler.Needs{Uniforms: 1}}
}

func (flat) Apply(r *sampler.Row, _ param.Values) error {
	d, err := dist.Softmax(r.Scores)
	if err != nil {
		return err
	}
	sum := 0.0
	d.Each(func(id int32, p float64) bool {
		sum += p
		r.Chosen = id
		return sum <= r.Uniforms[0]
	})
	return nil
}

type point struct{}

func (point) Declare() sampler.Declaration {
	return sampler.Declaration{Name: "point", Kind: sampler.Select, Summary: "best", Source: "test", Needs: sampler.Needs{Uniforms: 1}}
}

func (point) Apply(r *sampler.Row, _ param.Values) error {
	best := float32(math.Inf(-1))
	for i, v := range r.Scores.Values {
		if v > best {
			best, r.Chosen = v, r.Scores.ID(i)
		}
	}
	r.Scores.Keep(func(i int) bool { return r.Scores.ID(i) == r.Chosen }, nil)
	return nil
}

type count struct{}

func (count) Declare() sampler.Declaration {
	return sampler.Declaration{Name: "count", Kind: sampler.Reshape, Summary: "cut and count", Source: "test",
		Needs: sampler.Needs{History: -1, Uniforms: 1}}
}

func (count) Apply(r *sampler.Row, _ param.Values) error {
	if len(r.State) != r.Step {
		return fmt.Errorf("count: %d bytes of state at step %d", len(r.State), r.Step)
	}
	if len(r.History) != r.Prompt+r.Step {
		return fmt.Errorf("count: history of %d for a prompt of %d at step %d", len(r.History), r.Prompt, r.Step)
	}
	r.State = append(append([]byte(nil), r.State...), byte(r.Step))
	values := append([]float32(nil), r.Scores.Values...)
	r.Scores.Keep(func(i int) bool {
		above := 0
		for _, v := range values {
			if v > values[i] {
				above++
			}
		}
		return above < 5
	}, nil)
	return nil
}

// shelf offers samplers to chains; samplers of different shelves have different
// runners, as samplers of different plugins do.
type shelf map[string]chain.Offer

func newShelf(t *testing.T, plugins map[string][]sampler.Sampler) shelf {
	t.Helper()
	s := shelf{}
	for plugin, list := range plugins {
		set, err := sampler.NewSet(list...)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range set.Declarations() {
			s[d.Name] = chain.Offer{Plugin: plugin, Declaration: d, Runner: set}
		}
	}
	return s
}

func (s shelf) Sampler(name string) (chain.Offer, error) {
	o, ok := s[name]
	if !ok {
		return chain.Offer{}, fmt.Errorf("no sampler %q", name)
	}
	return o, nil
}

func build(t *testing.T, text string, plugins map[string][]sampler.Sampler) *chain.Chain {
	t.Helper()
	if plugins == nil {
		plugins = map[string][]sampler.Sampler{"p": {flat{}, point{}, count{}}}
	}
	requests, err := chain.Parse(text, "test")
	if err != nil {
		t.Fatal(err)
	}
	c, err := chain.Build(requests, newShelf(t, plugins))
	if err != nil {
		t.Fatal(err)
	}
	return c
}
