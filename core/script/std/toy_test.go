package std

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"testing"

	"lab/core/experiment"
	"lab/core/generate"
	"lab/core/plugin/model"
	"lab/core/script"
)

// toy is a backend of twelve tokens whose scores are a hash of the whole
// context, so that a mistake in what a sequence holds changes every result.
type toy struct{ seqs map[uint64][]int32 }

const toyTokens = "abcdefghijk."

func (*toy) Info() model.Info {
	return model.Info{Name: "toy", Architecture: "hash", VocabSize: len(toyTokens), ContextLength: 4096, Deterministic: true, Begin: -1}
}

func (*toy) Encode(_ context.Context, text []byte, _ model.EncodeOptions) ([]int32, error) {
	out := make([]int32, len(text))
	for i, b := range text {
		out[i] = int32(bytes.IndexByte([]byte(toyTokens), b))
	}
	return out, nil
}

func (*toy) Decode(_ context.Context, tokens []int32) (out []byte, err error) {
	for _, t := range tokens {
		out = append(out, toyTokens[t])
	}
	return out, nil
}

func (*toy) Pieces(context.Context) ([][]byte, error) {
	out := make([][]byte, len(toyTokens))
	for i := range out {
		out[i] = []byte{toyTokens[i]}
	}
	return out, nil
}

func (m *toy) Forward(_ context.Context, batch []model.Input) (model.Usage, error) {
	for _, in := range batch {
		held := append(m.seqs[in.Seq][:in.Start:in.Start], in.Tokens...)
		m.seqs[in.Seq] = held
		for i := range in.Scores {
			h := fnv.New64a()
			fmt.Fprint(h, held[:len(held)-len(in.Scores)+1+i])
			x := h.Sum64()
			for k := range in.Scores[i].Values {
				x = x*6364136223846793005 + 1442695040888963407
				in.Scores[i].Values[k] = float32(x>>40) / (1 << 22) // 0 to 4
			}
		}
	}
	return model.Usage{}, nil
}

func (m *toy) Edit(_ context.Context, edits []model.Edit) error {
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

func (*toy) Verify(context.Context) (string, error) { return "", nil }
func (*toy) Close() error                           { return nil }

// without opens a session whose host has no plugins: the zero value of its
// options, which is all that the package need know of them.
func without[T any](open func(T) (*experiment.Session, error)) (*experiment.Session, error) {
	var none T
	return open(none)
}

// toyModules are the module lab of a session without plugins, and a module with
// the toy as its one member, m.
func toyModules(t testing.TB) []script.Module {
	t.Helper()
	return modulesOf(t, &toy{seqs: map[uint64][]int32{}})
}

// modulesOf are toyModules with another model.
func modulesOf(t testing.TB, m model.Model) []script.Module {
	t.Helper()
	session, err := without(experiment.Open)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := session.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	engine, err := generate.New(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	env := &Env{Session: session}
	return []script.Module{Module(env), {Name: "toy", Doc: "A toy.", Members: []script.Member{
		{Name: "m", Doc: "The model.", Returns: "model", Get: func(*script.Call) (any, error) {
			return &Model{env: env, Model: &experiment.Model{Engine: engine, Ref: "toy"}}, nil
		}},
	}}}
}
