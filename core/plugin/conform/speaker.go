package conform

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/model"
)

// Opener opens the model in question anew.
type Opener func(ctx context.Context) (model.Model, error)

// speaker asks one open model. A context is made of what the model itself finds
// likely, so that a model that refuses most contexts has something to say.
type speaker struct {
	ctx    context.Context
	m      model.Model
	open   Opener
	info   model.Info
	seed   uint64
	asked  int
	next   uint64 // the sequence made last
	cached map[string]dist.Scores
	texts  []contextOf

	patience time.Duration // with one call to a sampler
	late     bool          // a call did not come to an end
}

// contextOf is a context and the tokens by which it may go on.
type contextOf struct {
	tokens []int32
	other  []int32 // at place k a token that may stand there instead
}

func newSpeaker(ctx context.Context, m model.Model, open Opener, opt Options) *speaker {
	return &speaker{ctx: ctx, m: m, open: open, info: m.Info(), seed: opt.Seed, cached: map[string]dist.Scores{}, patience: opt.patience()}
}

func (s *speaker) random(parts ...any) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintln(h, parts...)
	return rand.New(rand.NewPCG(h.Sum64(), 15+s.seed))
}

// fresh returns the name of a sequence that does not exist.
func (s *speaker) fresh() uint64 { s.next++; return s.next }

// rows returns rows on the heap of this process.
func (s *speaker) rows(n int) []dist.Scores {
	out := make([]dist.Scores, n)
	for i := range out {
		out[i] = dist.NewDense(make([]float32, s.info.VocabSize))
	}
	return out
}

// feed extends a sequence and returns the rows wanted.
func (s *speaker) feed(seq uint64, start int, tokens []int32, want model.Want) ([]dist.Scores, error) {
	in := model.Input{Seq: seq, Start: start, Tokens: tokens, Want: want, Scores: s.rows(want.Rows(len(tokens)))}
	s.asked++
	batch := []model.Input{in}
	_, err := s.forward(batch)
	return batch[0].Scores, err
}

func (s *speaker) edit(edits ...model.Edit) error {
	s.asked++
	return s.m.Edit(s.ctx, edits)
}

// free forgets a sequence; that it fails is found out by the laws.
func (s *speaker) free(seqs ...uint64) error {
	edits := make([]model.Edit, len(seqs))
	for i, q := range seqs {
		edits[i] = model.Edit{Op: model.Free, Seq: q}
	}
	return s.edit(edits...)
}

func key(tokens []int32) string {
	b := make([]byte, 0, 4*len(tokens))
	for _, t := range tokens {
		b = binary.LittleEndian.AppendUint32(b, uint32(t))
	}
	return string(b)
}

// after returns the row of a context that was fed at once to a sequence of its
// own: what every other way of getting there must equal.
func (s *speaker) after(tokens []int32) (dist.Scores, error) {
	if row, ok := s.cached[key(tokens)]; ok {
		return row, nil
	}
	seq := s.fresh()
	rows, err := s.feed(seq, 0, tokens, model.Last)
	if err != nil {
		return dist.Scores{}, err
	}
	if err := s.free(seq); err != nil {
		return dist.Scores{}, err
	}
	s.cached[key(tokens)] = rows[0]
	return rows[0], nil
}

// start returns a first token that the model accepts.
func (s *speaker) start(g *rand.Rand) (int32, error) {
	if s.info.Begin >= 0 {
		return s.info.Begin, nil
	}
	var first error
	for range 64 {
		t := int32(g.IntN(s.info.VocabSize))
		if slices.Contains(s.info.Control, t) {
			continue
		}
		_, err := s.after([]int32{t})
		if err == nil {
			return t, nil
		}
		if first == nil {
			first = err
		}
	}
	return 0, fault.New(fault.Model, "conformance", s.info.Name, "no first token was accepted: %v", first)
}

// draw returns two tokens that may follow, the second another one where there
// is one. Tokens that end a text are avoided.
func (s *speaker) draw(g *rand.Rand, row *dist.Scores) (one, two int32, err error) {
	p, err := dist.NewModel(row)
	if err != nil {
		return 0, 0, err
	}
	var all []int32
	var weights []float64
	p.Each(func(id int32, x float64) bool {
		if x > 0 && !slices.Contains(s.info.EndOfText, id) {
			all, weights = append(all, id), append(weights, x)
		}
		return true
	})
	if len(all) == 0 {
		return 0, 0, fault.New(fault.Model, "conformance", s.info.Name, "only the end of the text may follow")
	}
	pick := func() int32 {
		total := 0.0
		for _, w := range weights {
			total += w
		}
		u := g.Float64() * total
		for i, w := range weights {
			if u -= w; u < 0 {
				return all[i]
			}
		}
		return all[len(all)-1]
	}
	one = pick()
	for range 20 {
		if two = pick(); two != one {
			break
		}
	}
	return one, two, nil
}

// text makes a context of up to n tokens, the same for every law.
func (s *speaker) text(which, n int) (contextOf, error) {
	for len(s.texts) <= which {
		c, err := s.write(s.random("text", len(s.texts)), min(textLength, s.info.ContextLength))
		if err != nil {
			return c, err
		}
		s.texts = append(s.texts, c)
	}
	c := s.texts[which]
	n = min(n, len(c.tokens))
	return contextOf{c.tokens[:n:n], c.other[:n:n]}, nil
}

// textLength is how long a context is at most: long enough for pages and
// windows of a cache to be crossed.
const textLength = 40

// write lets the model write a context, one token at a time in one sequence.
func (s *speaker) write(g *rand.Rand, n int) (contextOf, error) {
	first, err := s.start(g)
	if err != nil {
		return contextOf{}, err
	}
	c := contextOf{tokens: []int32{first}, other: []int32{first}}
	seq := s.fresh()
	for {
		k := len(c.tokens) - 1
		rows, err := s.feed(seq, k, c.tokens[k:], model.Last)
		if err != nil {
			return c, err
		}
		if len(c.tokens) == n {
			break
		}
		one, two, err := s.draw(g, &rows[0])
		if err != nil { // the text is over
			break
		}
		c.tokens, c.other = append(c.tokens, one), append(c.other, two)
	}
	return c, s.free(seq)
}

// looseTV is how far two rows of a model may be apart, as total variation, that
// does not promise equal bits.
const looseTV = 0.01

// differ says how a row differs from the one expected.
func (s *speaker) differ(got, want *dist.Scores) string {
	if sameBits(got, want) {
		return ""
	}
	if s.info.Deterministic {
		if !sameSupport(got, want) || got.Unlisted != want.Unlisted {
			return describeRows(got, want)
		}
		return ""
	}
	p, err1 := dist.NewModel(got)
	q, err2 := dist.NewModel(want)
	if err1 != nil || err2 != nil {
		return fmt.Sprint(err1, err2)
	}
	if tv, err := dist.TV(p.Distribution, q.Distribution); err != nil || !(tv <= looseTV) {
		return describeRows(got, want)
	}
	return ""
}

func describeRows(got, want *dist.Scores) string {
	for i := range got.Values {
		id := got.ID(i)
		other := float32(math.Inf(-1))
		if k := want.Index(id); k >= 0 {
			other = want.Values[k]
		}
		if math.Float32bits(got.Values[i]) != math.Float32bits(other) {
			return fmt.Sprintf("token %d scores %v instead of %v", id, got.Values[i], other)
		}
	}
	return fmt.Sprintf("%d tokens are listed instead of %d", got.Len(), want.Len())
}

// expect says how a row is not the one after a context.
func (s *speaker) expect(row *dist.Scores, context []int32, how string) finding {
	want, err := s.after(context)
	if err != nil {
		return fail(tokensText(context), "an error for the context alone: "+err.Error())
	}
	if why := s.differ(row, &want); why != "" {
		return fail(tokensText(context), how+", "+why)
	}
	return holds()
}

func tokensText(t []int32) string { return fmt.Sprintf("context of %d tokens %v", len(t), brief(t)) }
