package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/host"
	"lab/core/plugin/sampler"
)

// Case is a sampler with its settings.
type Case struct {
	Label       string // what the report calls it
	Declaration sampler.Declaration
	Stage       sampler.Stage
}

// Hop is what one setting of a sampler costs. All times are of one call, which
// carries Batch rows.
type Hop struct {
	Case      string
	Vocab     int
	Batch     int
	Transport Transport
	Call      Times // the whole call: there, the stage, back, with the host's checks and its copy for a repetition
	Bare      Times // the gRPC round trip of the same process that carries nothing
	Watched   Times // the same under the host's deadline and watchdog
	InProcess Times // the same stage in this process; unknown when it is not at hand
}

// PerRow returns the median time of a call for each of its rows, in seconds.
func (h *Hop) PerRow() float64 { return h.Call.Median.Seconds() / float64(h.Batch) }

// Samplers measures samplers of one plugin. A transport that the plugin does not
// offer is left out. Errors are those of [host.Host.Runner], and usage errors for
// sizes that cannot be measured.
func Samplers(ctx context.Context, h *host.Host, plugin string, cases []Case, opt Options) ([]Hop, error) {
	if err := opt.Check(); err != nil {
		return nil, err
	}
	opt = opt.orDefault()
	info, err := h.Plugin(ctx, plugin)
	if err != nil {
		return nil, err
	}
	trip, err := h.Trip(ctx, plugin)
	if err != nil {
		return nil, err
	}
	b := &samplerBench{host: h, plugin: plugin, trip: trip, plane: info.Plane, opt: opt}
	var out []Hop
	total := len(cases) * len(opt.Vocab) * len(opt.Batch)
	done := 0
	for _, c := range cases {
		for _, vocab := range opt.Vocab {
			for _, batch := range opt.Batch {
				opt.Progress(done, total, settingName(c.Label, vocab, batch))
				hops, err := b.setting(ctx, c, vocab, batch)
				if err != nil {
					return nil, fault.Wrap(err, fault.Plugin, "bench", settingName(c.Label, vocab, batch))
				}
				out = append(out, hops...)
				done++
			}
		}
	}
	opt.Progress(done, total, "")
	return out, nil
}

type samplerBench struct {
	host   *host.Host
	plugin string
	trip   *host.Trip
	plane  bool
	opt    Options
}

// setting measures one sampler for one vocabulary and batch. Each transport has
// rounds of its own: what one leaves behind, garbage above all, would be collected
// at the cost of the other.
func (b *samplerBench) setting(ctx context.Context, c Case, vocab, batch int) ([]Hop, error) {
	key, err := b.vocabulary(c, vocab)
	if err != nil {
		return nil, err
	}
	from := scores(vocab, batch)
	var hops []Hop
	for _, t := range b.opt.Transports {
		rows := heapRows(vocab, batch)
		if t == Plane {
			shared := b.host.Rows(vocab, batch)
			defer b.host.Release(shared)
			if !b.plane || !b.host.Shared(&shared[0]) {
				continue // the plugin, or this machine, has no shared memory
			}
			rows = shared
		}
		h := Hop{Case: c.Label, Vocab: vocab, Batch: batch, Transport: t}
		if err := b.hop(ctx, &h, stageCall(b.host.Runner(b.plugin), c, rows, from, key), c, from, key); err != nil {
			return nil, err
		}
		hops = append(hops, h)
	}
	return hops, nil
}

// hop measures a call with what it is compared with.
func (b *samplerBench) hop(ctx context.Context, h *Hop, call *kind, c Case, from [][]float32, key string) error {
	idle := heapRows(h.Vocab, h.Batch)
	bare := &kind{ready: func() { write(idle, from) }, call: b.trip.Bare}
	watched := &kind{ready: func() { write(idle, from) }, call: b.trip.Watched}
	kinds := []*kind{bare, watched, call}
	var local *kind
	if b.opt.Local != nil {
		set := b.opt.Local.WithTexts(func(string) func(int32) []byte { return text })
		local = stageCall(set, c, heapRows(h.Vocab, h.Batch), from, key)
		kinds = append(kinds, local)
	}
	if err := measure(ctx, kinds, b.opt.For); err != nil {
		return err
	}
	h.Call, h.Bare, h.Watched = times(call.took), times(bare.took), times(watched.took)
	if local != nil {
		h.InProcess = times(local.took)
	}
	return nil
}

// vocabulary makes texts for a sampler that reads them, and returns their key.
func (b *samplerBench) vocabulary(c Case, vocab int) (string, error) {
	if !c.Declaration.Needs.TokenTexts && !c.Stage.Values.HoldText() {
		return "", nil
	}
	key := fmt.Sprintf("bench %d", vocab)
	return key, b.host.AddVocabulary(key, pieces(vocab))
}

// stageCall is a call of one stage over rows that are written anew before it.
func stageCall(run sampler.Runner, c Case, rows []dist.Scores, from [][]float32, key string) *kind {
	call := &sampler.Call{Stages: []sampler.Stage{c.Stage}, Vocabulary: key}
	dense := append([]dist.Scores(nil), rows...)
	for i := range rows {
		call.Items = append(call.Items, surroundings(c.Declaration, rows[i].Vocab, i))
	}
	return &kind{
		ready: func() {
			write(dense, from)
			for i, it := range call.Items {
				it.Scores, it.States, it.Chosen = dense[i], nil, -1
			}
		},
		call: func(ctx context.Context) error { return run.Run(ctx, call) },
	}
}

// contextLength is how many tokens of context a stage is given at most.
const contextLength = 256

// surroundings is what a stage is told besides the scores.
func surroundings(d sampler.Declaration, vocab, i int) *sampler.Item {
	g := rand.New(rand.NewPCG(uint64(vocab), uint64(i)))
	it := &sampler.Item{History: make([]int32, contextLength), Prompt: contextLength / 4, Sample: uint64(i)}
	it.Step = len(it.History) - it.Prompt
	for k := range it.History {
		it.History[k] = int32(g.IntN(min(vocab, 500)))
	}
	u := make([]float64, d.Needs.Uniforms)
	for k := range u {
		u[k] = g.Float64()
	}
	it.Uniforms = [][]float64{u}
	for range d.Needs.Passes {
		row := heapRows(vocab, 1)
		write(row, scores(vocab, 1))
		it.Passes = append(it.Passes, row[0])
	}
	return it
}

// pieces are the texts of a vocabulary of this package's own.
func pieces(n int) [][]byte {
	all := make([][]byte, n)
	for i := range all {
		all[i] = text(int32(i))
	}
	return all
}

// text is the text of a token: a few signs and letters, then words.
func text(id int32) []byte {
	const signs = "abcdefghijklmnopqrstuvwxyz\n:\"* .0123456789{}[],-"
	if int(id) < len(signs) {
		return []byte(signs[id : id+1])
	}
	return []byte(" w" + strconv.Itoa(int(id)))
}
