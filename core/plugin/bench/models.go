package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/host"
	"lab/core/plugin/model"
)

// Phase is what a forward pass is for.
type Phase string

const (
	Decode  Phase = "decode"  // one more token for every sequence of the batch
	Prefill Phase = "prefill" // a whole context of one sequence at once
)

// Speed is what one setting of a model costs. All times are of one forward pass.
type Speed struct {
	Model     string
	Phase     Phase
	Vocab     int // the model's own
	Batch     int // sequences
	Context   int // tokens a sequence holds before a decode, and that a prefill reads
	Transport Transport
	Forward   Times
	Bare      Times // the gRPC round trip of the same process that carries nothing
	InProcess Times // the same pass in this process; unknown when the backend is not at hand
}

// TokensPerSecond returns how many tokens were read in the median time.
func (s *Speed) TokensPerSecond() float64 {
	n := s.Batch
	if s.Phase == Prefill {
		n *= s.Context
	}
	return float64(n) / s.Forward.Median.Seconds()
}

// Subject is an open model.
type Subject struct {
	Label string // what the report calls it
	Model *host.Model
	Local model.Model // the same model in this process; nil when it is not at hand
}

// Models measures open models, each with a context that it finds likely itself.
// Errors are those of [host.Model], and usage errors for sizes that cannot be
// measured.
func Models(ctx context.Context, h *host.Host, subjects []Subject, opt Options) ([]Speed, error) {
	if err := opt.Check(); err != nil {
		return nil, err
	}
	opt = opt.orDefault()
	total, done := len(subjects)*(1+len(opt.Batch)), 0
	var out []Speed
	for _, s := range subjects {
		b, err := newModelBench(ctx, h, s, opt)
		if err != nil {
			return nil, fault.Wrap(err, fault.Plugin, "bench", s.Label)
		}
		for i := -1; i < len(opt.Batch); i++ {
			phase, batch := Prefill, 1
			if i >= 0 {
				phase, batch = Decode, opt.Batch[i]
			}
			subject := fmt.Sprintf("%s of %s, batch %d", phase, s.Label, batch)
			opt.Progress(done, total, subject)
			speeds, err := b.setting(ctx, phase, batch)
			if err != nil {
				return nil, fault.Wrap(err, fault.Plugin, "bench", subject)
			}
			out = append(out, speeds...)
			done++
		}
	}
	opt.Progress(done, total, "")
	return out, nil
}

type modelBench struct {
	host  *host.Host
	label string
	m     *host.Model
	local model.Model // nil: not at hand
	trip  *host.Trip
	plane bool
	opt   Options

	context []int32
	next    int32 // what may follow it
	seq     uint64
}

func newModelBench(ctx context.Context, h *host.Host, s Subject, opt Options) (*modelBench, error) {
	b := &modelBench{host: h, label: s.Label, m: s.Model, local: s.Local, opt: opt}
	info, err := h.Plugin(ctx, s.Model.Backend().Plugin)
	if err != nil {
		return nil, err
	}
	b.plane = info.Plane
	if b.trip, err = s.Model.Trip(ctx); err != nil {
		return nil, err
	}
	return b, b.write(ctx)
}

// write lets the model write the context that it is then measured with.
func (b *modelBench) write(ctx context.Context) error {
	info := b.m.Info()
	want := min(b.opt.Prefill, info.ContextLength-1)
	if want < 1 {
		return fault.New(fault.Model, "", "", "its context of %d tokens leaves nothing to measure", info.ContextLength)
	}
	g := rand.New(rand.NewPCG(1, uint64(info.VocabSize)))
	rows := b.m.Rows(1)
	defer b.m.Release(rows)
	seq := b.fresh()
	first, row, err := b.begin(ctx, g, seq, rows)
	if err != nil {
		return err
	}
	b.context = append(b.context, first)
	for {
		next, ok, err := follow(g, &row, info)
		if err != nil {
			return err
		}
		if !ok && len(b.context) > 1 { // the text is over: its last token is the one to be read
			last := len(b.context) - 1
			b.context, b.next = b.context[:last], b.context[last]
			break
		}
		if b.next = next; !ok || len(b.context) == want {
			break
		}
		if row, err = b.extend(ctx, seq, len(b.context), []int32{next}, rows[0]); err != nil {
			return err
		}
		b.context = append(b.context, next)
	}
	return b.m.Edit(ctx, []model.Edit{{Op: model.Free, Seq: seq}})
}

// begin starts a sequence with a token that the model accepts.
func (b *modelBench) begin(ctx context.Context, g *rand.Rand, seq uint64, rows []dist.Scores) (int32, dist.Scores, error) {
	info := b.m.Info()
	if info.Begin >= 0 {
		row, err := b.extend(ctx, seq, 0, []int32{info.Begin}, rows[0])
		return info.Begin, row, err
	}
	var first error
	for range 64 {
		t := int32(g.IntN(info.VocabSize))
		if slices.Contains(info.Control, t) {
			continue
		}
		row, err := b.extend(ctx, seq, 0, []int32{t}, rows[0])
		if err == nil {
			return t, row, nil
		}
		if first == nil {
			first = err
		}
	}
	return 0, dist.Scores{}, fault.Wrap(first, fault.Model, "", "no first token was accepted")
}

func (b *modelBench) fresh() uint64 { b.seq++; return b.seq }

func (b *modelBench) extend(ctx context.Context, seq uint64, start int, tokens []int32, row dist.Scores) (dist.Scores, error) {
	in := []model.Input{{Seq: seq, Start: start, Tokens: tokens, Want: model.Last, Scores: []dist.Scores{row}}}
	_, err := b.m.Forward(ctx, in)
	return in[0].Scores[0], err
}

// follow draws a token that may follow and does not end the text; ok is false
// when there is none, and then any token of the support is returned.
func follow(g *rand.Rand, row *dist.Scores, info model.Info) (token int32, ok bool, err error) {
	d, err := dist.NewModel(row)
	if err != nil {
		return 0, false, err
	}
	u, seen := g.Float64(), 0.0
	d.Each(func(id int32, p float64) bool {
		if p <= 0 {
			return true
		}
		if slices.Contains(info.EndOfText, id) {
			if !ok {
				token = id
			}
			return true
		}
		token, ok = id, true
		seen += p
		return seen <= u
	})
	return token, ok, nil
}

// setting measures one phase for one batch.
func (b *modelBench) setting(ctx context.Context, phase Phase, batch int) ([]Speed, error) {
	info := b.m.Info()
	if batch*info.VocabSize > maxScores {
		return nil, fault.New(fault.Usage, "", "", "a batch of %d rows of %d tokens is more than %d scores", batch, info.VocabSize, maxScores)
	}
	p := pass{phase: phase, context: b.context, next: b.next, from: scores(info.VocabSize, batch)}
	for range batch {
		p.seqs = append(p.seqs, b.fresh())
	}
	for _, m := range []model.Model{b.m, b.local} {
		if m == nil {
			continue
		}
		if err := p.start(ctx, m, heapRows(info.VocabSize, 1)[0]); err != nil {
			return nil, err
		}
	}
	var speeds []Speed
	for _, t := range b.opt.Transports {
		rows := heapRows(info.VocabSize, batch)
		if t == Plane {
			shared := b.m.Rows(batch)
			defer b.m.Release(slices.Clone(shared))
			if !b.plane || !b.host.Shared(&shared[0]) {
				continue
			}
			rows = shared
		}
		s := Speed{Model: b.label, Phase: phase, Vocab: info.VocabSize, Batch: batch, Context: len(b.context), Transport: t}
		if err := b.speed(ctx, &s, &p, rows); err != nil {
			return nil, err
		}
		speeds = append(speeds, s)
	}
	if b.local != nil {
		if err := b.local.Edit(ctx, p.edits(model.Free)); err != nil {
			return nil, err
		}
	}
	return speeds, b.m.Edit(ctx, p.edits(model.Free))
}

// speed measures a forward pass with what it is compared with.
func (b *modelBench) speed(ctx context.Context, s *Speed, p *pass, rows []dist.Scores) error {
	idle := heapRows(s.Vocab, s.Batch)
	bare := &kind{ready: func() { write(idle, p.from) }, call: b.trip.Bare}
	call := p.kind(b.m, rows)
	kinds := []*kind{bare, call}
	var local *kind
	if b.local != nil {
		local = p.kind(b.local, heapRows(s.Vocab, s.Batch))
		kinds = append(kinds, local)
	}
	if err := measure(ctx, kinds, b.opt.For); err != nil {
		return err
	}
	s.Forward, s.Bare = times(call.took), times(bare.took)
	if local != nil {
		s.InProcess = times(local.took)
	}
	return nil
}

// pass is a forward pass that can be repeated: what it adds is cut off again.
type pass struct {
	phase   Phase
	context []int32
	next    int32
	seqs    []uint64
	from    [][]float32
}

// start feeds the context to every sequence of a decode.
func (p *pass) start(ctx context.Context, m model.Model, row dist.Scores) error {
	if p.phase == Prefill {
		return nil
	}
	for _, seq := range p.seqs {
		in := []model.Input{{Seq: seq, Tokens: p.context, Want: model.Last, Scores: []dist.Scores{row}}}
		if _, err := m.Forward(ctx, in); err != nil {
			return err
		}
	}
	return nil
}

func (p *pass) edits(op model.Op) []model.Edit {
	out := make([]model.Edit, len(p.seqs))
	for i, seq := range p.seqs {
		out[i] = model.Edit{Op: op, Seq: seq}
		if op == model.Truncate {
			out[i].Length = len(p.context)
		}
	}
	return out
}

func (p *pass) kind(m model.Model, rows []dist.Scores) *kind {
	dense := slices.Clone(rows)
	batch := make([]model.Input, len(p.seqs))
	undo := model.Truncate
	for i, seq := range p.seqs {
		batch[i] = model.Input{Seq: seq, Start: len(p.context), Tokens: []int32{p.next}, Want: model.Last}
		if p.phase == Prefill {
			batch[i].Start, batch[i].Tokens = 0, p.context
			undo = model.Free
		}
	}
	edits := p.edits(undo)
	return &kind{
		ready: func() {
			write(dense, p.from)
			for i := range batch {
				batch[i].Scores = []dist.Scores{dense[i]}
			}
		},
		call: func(ctx context.Context) error { _, err := m.Forward(ctx, batch); return err },
		undo: func(ctx context.Context) error { return m.Edit(ctx, edits) },
	}
}
