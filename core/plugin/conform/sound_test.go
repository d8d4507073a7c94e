//go:build unix

package conform_test

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"math"
	"slices"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/model"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// stage is a sampler made of a declaration and a function.
type stage struct {
	d     sampler.Declaration
	apply func(r *sampler.Row, set param.Values) error
}

func (s stage) Declare() sampler.Declaration                 { return s.d }
func (s stage) Apply(r *sampler.Row, set param.Values) error { return s.apply(r, set) }

func declare(name string, kind sampler.Kind, needs sampler.Needs, params ...param.Spec) sampler.Declaration {
	return sampler.Declaration{Name: name, Kind: kind, Summary: "For tests.", Formula: "s_i", Source: "none", Params: params, Needs: needs}
}

func number(name string, def, least, most float64) param.Spec {
	return param.Spec{Name: name, Type: param.Float, Default: def, Min: least, Max: most, Meaning: "for tests"}
}

func whole(name string, def int64) param.Spec {
	return param.Spec{Name: name, Type: param.Int, Default: def, Min: 0, Max: 1 << 20, Meaning: "for tests"}
}

// best returns the places of the tokens in order of falling score, ties by id.
func best(s *dist.Scores) []int {
	at := make([]int, len(s.Values))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(a, b int) int {
		switch x, y := s.Values[a], s.Values[b]; {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	return at
}

// drawFrom chooses a token by a uniform number.
func drawFrom(s *dist.Scores, u float64) (int32, error) {
	p, err := dist.NewSampling(s)
	if err != nil {
		return -1, err
	}
	chosen := int32(-1)
	p.Each(func(id int32, x float64) bool {
		chosen = id
		u -= x
		return u >= 0
	})
	return chosen, nil
}

// soundSamplers keep every law, each with something that a law is about.
func soundSamplers() []sampler.Sampler {
	topK := declare("top_few", sampler.Reshape, sampler.Needs{}, whole("k", 5), whole("min_keep", 1))
	topK.Systems = []sampler.System{{Name: "elsewhere", Term: "few"}}
	return []sampler.Sampler{
		stage{topK, func(r *sampler.Row, set param.Values) error {
			n := max(1, int(set.Int("k")), int(set.Int("min_keep")))
			switch listed := len(r.Scores.Values); {
			case set.Int("k") == 0:
				return nil
			case r.Scores.Unlisted > 0 && n > listed:
				return fault.New(fault.Data, "", "", "the model lists %d tokens", listed)
			case r.Scores.Unlisted == 0 && n >= listed:
				return nil
			}
			r.Scores.Unlisted = 0
			keep := make([]bool, len(r.Scores.Values))
			for _, i := range best(r.Scores)[:n] {
				keep[i] = true
			}
			r.Scores.Keep(func(i int) bool { return keep[i] }, nil)
			return nil
		}},
		// It lowers tokens of the newest context and of a further pass, and counts
		// its steps in its state.
		stage{declare("tally", sampler.Reshape, sampler.Needs{History: 4, Passes: 1, Uniforms: 1}, number("by", 0.5, 0, 4)),
			func(r *sampler.Row, set param.Values) error {
				n := byte(1)
				if len(r.State) == 1 {
					n = r.State[0] + 1
				}
				r.State = []byte{n}
				if r.Scores.Unlisted > 0 {
					return fault.New(fault.Data, "", "", "it needs every token to be listed")
				}
				for _, t := range r.History {
					by := set.Float("by") * (1 + r.Uniforms[0]) * float64(n)
					if r.Scores.Has(t) && r.Passes[0].Has(t) {
						v := &r.Scores.Values[r.Scores.Index(t)]
						*v = float32(max(float64(*v)-by, -math.MaxFloat32))
					}
				}
				return nil
			}},
		stage{declare("lot", sampler.Select, sampler.Needs{Uniforms: 1}), func(r *sampler.Row, _ param.Values) (err error) {
			r.Chosen, err = drawFrom(r.Scores, r.Uniforms[0])
			return err
		}},
		// It makes a row whole that no other stage may see.
		stage{declare("mend", sampler.Reshape, sampler.Needs{Raw: true}), func(r *sampler.Row, _ param.Values) error {
			for i, v := range r.Scores.Values {
				if v != v || v > math.MaxFloat32 {
					r.Scores.Values[i] = float32(math.Inf(-1))
				}
			}
			if r.Scores.Check() != nil {
				return fault.New(fault.Data, "", "", "no token is left")
			}
			return nil
		}},
	}
}

// talker is a backend whose scores are a hash of the whole context, so that any
// token lost or doubled changes every row. The fields break it.
type talker struct {
	name string
	top  int // tokens listed, 0 for all

	change func(m *talk) // breaks an open model; nil: it is sound
	opened int

	shut  bool // it does not open
	files bool // it opens files too
}

const (
	talkVocab   = 300 // a token for each byte, after the control tokens
	talkContext = 64
	talkFirst   = 10 // the token of byte 0
	talkHidden  = 4
)

func (b *talker) Declare() model.Declaration {
	d := model.Declaration{Name: b.name, Summary: "For tests.", Source: "none"}
	if b.files {
		d.Patterns = []string{"*." + b.name}
	}
	return d
}

func (b *talker) Open(context.Context, string, param.Values) (model.Model, error) {
	b.opened++
	if b.shut {
		return nil, fault.New(fault.Model, "", "", "there are no weights")
	}
	m := &talk{seqs: map[uint64][]int32{}, opened: b.opened, info: model.Info{Name: b.name, Architecture: "hash", VocabSize: talkVocab,
		ContextLength: talkContext, Parameters: 3, WeightBytes: 12, Digest: "sha256:talk", Deterministic: true, TopN: b.top, Hidden: talkHidden,
		Begin: 0, EndOfText: []int32{1}, Control: []int32{0, 1, 2}}}
	m.digest = func() string { return m.info.Digest }
	m.tokens = func(text []byte) []int32 {
		var out []int32
		for _, b := range text {
			out = append(out, int32(b)+talkFirst)
		}
		return out
	}
	m.piece = func(id int32) []byte {
		if id < talkFirst || id >= talkFirst+256 {
			return nil
		}
		return []byte{byte(id - talkFirst)}
	}
	m.shown = func(id int32) []byte { return m.piece(id) }
	m.fork = func(tokens []int32, length int) []int32 { return slices.Clone(tokens[:length]) }
	m.cut = func(tokens []int32, length int) []int32 { return slices.Clone(tokens[:length]) }
	m.row = m.fill
	m.hidden = func(k int) float32 { return float32(k + 1) }
	m.check = func(in model.Input) error { return in.Check(m.info, len(m.seqs[in.Seq])) }
	m.count = func(u *model.Usage, n int) {
		if n == 1 {
			u.DecodeTokens++
		} else {
			u.PrefillTokens += int64(n)
		}
	}
	if b.change != nil {
		b.change(m)
	}
	return m, nil
}

// talk is an open talker. Its functions are what a broken one replaces.
type talk struct {
	info   model.Info
	seqs   map[uint64][]int32
	opened int
	batch  int  // inputs of the call under way
	early  bool // sequences grow before all inputs were checked
	lax    bool // edits are not checked

	digest func() string
	tokens func(text []byte) []int32
	piece  func(id int32) []byte
	shown  func(id int32) []byte // what a listing of the pieces has for it
	fork   func(tokens []int32, length int) []int32
	cut    func(tokens []int32, length int) []int32
	row    func(row *dist.Scores, context []int32)
	hidden func(k int) float32
	check  func(in model.Input) error
	count  func(u *model.Usage, n int)
	grow   func(held, tokens []int32) []int32
}

func (m *talk) Info() model.Info { return m.info }

func (m *talk) Encode(_ context.Context, text []byte, opt model.EncodeOptions) ([]int32, error) {
	out := m.tokens(text)
	if opt.Begin && m.info.Begin >= 0 {
		out = append([]int32{m.info.Begin}, out...)
	}
	return out, nil
}

func (m *talk) Decode(_ context.Context, tokens []int32) ([]byte, error) {
	var out []byte
	for _, t := range tokens {
		out = append(out, m.piece(t)...)
	}
	return out, nil
}

func (m *talk) Pieces(context.Context) ([][]byte, error) {
	out := make([][]byte, m.info.VocabSize)
	for i := range out {
		out[i] = m.shown(int32(i))
	}
	return out, nil
}

func (m *talk) Forward(_ context.Context, batch []model.Input) (u model.Usage, err error) {
	m.batch = len(batch)
	for _, in := range batch {
		if err := m.check(in); err != nil {
			return u, err
		}
		if m.early {
			m.seqs[in.Seq] = append(m.seqs[in.Seq], in.Tokens...)
		}
	}
	for i := range batch {
		in := &batch[i]
		held := m.seqs[in.Seq]
		if !m.early {
			if m.grow != nil {
				m.seqs[in.Seq] = m.grow(held, in.Tokens)
			} else {
				m.seqs[in.Seq] = append(slices.Clone(held), in.Tokens...)
			}
		}
		all := m.seqs[in.Seq]
		for k := range in.Scores {
			m.row(&in.Scores[k], all[:len(all)-len(in.Scores)+k+1])
		}
		for k := range in.Hidden {
			in.Hidden[k] = m.hidden(k)
		}
		m.count(&u, len(in.Tokens))
	}
	return u, nil
}

// fill gives a row the scores that follow from a context.
func (m *talk) fill(row *dist.Scores, context []int32) {
	h := fnv.New64a()
	for _, t := range context {
		_ = binary.Write(h, binary.LittleEndian, t)
	}
	seed := h.Sum64()
	for i := range row.Values {
		x := (seed ^ uint64(i)*0x9E3779B97F4A7C15) * 0xBF58476D1CE4E5B9
		row.Values[i] = float32(x>>40) / (1 << 22)
	}
	if m.info.TopN > 0 {
		m.list(row, m.info.TopN)
	}
}

// noisy fills rows that are never the same twice.
func (m *talk) noisy(by float32) func(row *dist.Scores, context []int32) {
	n := 0
	return func(row *dist.Scores, context []int32) {
		n++
		m.fill(row, context)
		for i := range row.Values {
			row.Values[i] += by * float32((n*7+i)%5)
		}
	}
}

// list makes a row one of n tokens only.
func (m *talk) list(row *dist.Scores, n int) {
	*row = dist.Scores{Vocab: m.info.VocabSize, Unlisted: 0.25}
	for i := range n {
		row.IDs = append(row.IDs, int32(talkFirst+i*2))
		row.Values = append(row.Values, float32(math.Log(0.75/float64(n))))
	}
}

func (m *talk) Edit(_ context.Context, edits []model.Edit) error {
	for _, e := range edits {
		held, known := m.seqs[e.Seq]
		_, taken := m.seqs[e.To]
		if e.Op != model.Free && !m.lax && (!known || e.Length < 0 || e.Length > len(held) || e.Op == model.Fork && taken) {
			return fault.New(fault.Usage, "", "", "the edit %+v cannot be", e)
		}
		switch e.Op {
		case model.Fork:
			m.seqs[e.To] = m.fork(m.seqs[e.Seq], e.Length)
		case model.Truncate:
			m.seqs[e.Seq] = m.cut(m.seqs[e.Seq], e.Length)
		case model.Free:
			delete(m.seqs, e.Seq)
		}
	}
	return nil
}

func (m *talk) Verify(context.Context) (string, error) { return m.digest(), nil }
func (m *talk) Close() error                           { return nil }
