package transformer

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"lab/core/plugin/model"
	"lab/plugins/models/internal/kernel"
)

// oracle gives the scores after a prefix of tokens, computed one token at a
// time in a sequence of its own: what every other way of getting there must
// equal bit by bit.
type oracle struct {
	t    *testing.T
	e    *engine
	seen map[string][]float32
	next uint64
}

func newOracle(t *testing.T, s shape, k *kernel.Kernels) *oracle {
	return &oracle{t: t, e: s.open(t, 7, 1, k), seen: map[string][]float32{}}
}

func (o *oracle) scores(prefix []int32) []float32 {
	o.t.Helper()
	key := func(n int) string {
		b := make([]byte, 0, 4*n)
		for _, token := range prefix[:n] {
			b = binary.LittleEndian.AppendUint32(b, uint32(token))
		}
		return string(b)
	}
	if v, ok := o.seen[key(len(prefix))]; ok {
		return v
	}
	o.next++
	for i := range prefix {
		rows := rowsFor(o.e, 1)
		in := model.Input{Seq: o.next, Start: i, Tokens: prefix[i : i+1], Want: model.Last, Scores: rows}
		if _, err := o.e.Forward(context.Background(), []model.Input{in}); err != nil {
			o.t.Fatal(err)
		}
		o.seen[key(i+1)] = rows[0].Values
	}
	if err := o.e.Edit(context.Background(), []model.Edit{{Op: model.Free, Seq: o.next}}); err != nil {
		o.t.Fatal(err)
	}
	return o.seen[key(len(prefix))]
}

// check compares a row with the oracle's, bit by bit.
func (o *oracle) check(what string, prefix []int32, got []float32) {
	o.t.Helper()
	want := o.scores(prefix)
	for id := range want {
		if math.Float32bits(got[id]) != math.Float32bits(want[id]) {
			o.t.Fatalf("%s: after %d tokens, token %d scores %x instead of %x", what, len(prefix), id,
				math.Float32bits(got[id]), math.Float32bits(want[id]))
		}
	}
}

// schedule drives an engine at random: batches of any size and order, chunks of
// any length, forks, truncations, frees.
type schedule struct {
	t    *testing.T
	e    *engine
	s    shape
	r    *rand.Rand
	live map[uint64][]int32
	ids  []uint64 // of live, in order of creation
	next uint64
	text []int32 // most sequences follow it for a while, so that prefixes meet
}

func (s *schedule) create() uint64 {
	s.next++
	s.live[s.next] = nil
	s.ids = append(s.ids, s.next)
	return s.next
}

// edit forks, truncates or frees a random sequence.
func (s *schedule) edit() {
	id := s.ids[s.r.IntN(len(s.ids))]
	tokens := s.live[id]
	length := s.r.IntN(len(tokens) + 1)
	var edit model.Edit
	switch s.r.IntN(5) {
	case 0, 1:
		if len(tokens) == 0 {
			return // it was never evaluated and does not exist yet
		}
		to := s.create()
		s.live[to] = append([]int32(nil), tokens[:length]...)
		edit = model.Edit{Op: model.Fork, Seq: id, To: to, Length: length}
	case 2, 3:
		if len(tokens) == 0 {
			return
		}
		s.live[id] = tokens[:length:length]
		edit = model.Edit{Op: model.Truncate, Seq: id, Length: length}
	default:
		s.live[id] = nil
		edit = model.Edit{Op: model.Free, Seq: id}
	}
	if err := s.e.Edit(context.Background(), []model.Edit{edit}); err != nil {
		s.t.Fatal(err)
	}
}

// forward extends a random set of sequences and checks every row it gets.
func (s *schedule) forward(o *oracle) {
	var batch []model.Input
	for _, i := range s.r.Perm(len(s.ids))[:1+s.r.IntN(min(len(s.ids), 9))] {
		id := s.ids[i]
		have := s.live[id]
		room := s.s.context - len(have)
		if room == 0 {
			continue
		}
		n := 1
		if s.r.IntN(3) == 0 {
			n = 1 + s.r.IntN(min(room, 40))
		}
		tokens := make([]int32, n)
		for j := range tokens {
			tokens[j] = s.text[len(have)+j]
			if s.r.IntN(20) == 0 {
				tokens[j] = int32(s.r.IntN(3)) // few alternatives, so that the oracle can remember
			}
		}
		want := model.Want(s.r.IntN(3))
		batch = append(batch, model.Input{
			Seq: id, Start: len(have), Tokens: tokens, Want: want, Scores: rowsFor(s.e, want.Rows(n)),
		})
	}
	if _, err := s.e.Forward(context.Background(), batch); err != nil {
		s.t.Fatal(err)
	}
	for _, in := range batch {
		s.live[in.Seq] = append(s.live[in.Seq], in.Tokens...)
		for j := range in.Scores {
			prefix := s.live[in.Seq][:in.Start+len(in.Tokens)-len(in.Scores)+j+1]
			o.check(fmt.Sprintf("sequence %d in a batch of %d", in.Seq, len(batch)), prefix, in.Scores[j].Values)
		}
	}
}

// runSchedule takes a model through so many random steps.
func runSchedule(t *testing.T, s shape, threads int, k *kernel.Kernels, steps int) {
	driveSchedule(t, newOracle(t, s, kernel.Best()), s.open(t, 7, threads, k), s, threads, steps) // of two implementations, too
}

// driveSchedule takes an engine through so many random steps.
func driveSchedule(t *testing.T, o *oracle, e *engine, s shape, seed, steps int) {
	r := rand.New(rand.NewPCG(uint64(seed), 5))
	sch := &schedule{t: t, e: e, s: s, r: r, live: map[uint64][]int32{}, text: s.tokens(r, s.context)}
	sch.create()
	for range steps {
		if len(sch.ids) < 12 && r.IntN(4) == 0 {
			sch.create()
		}
		if r.IntN(2) == 0 {
			sch.edit()
		}
		sch.forward(o)
	}
}

func TestScoresDoNotDependOnBatchChunksForksTruncationsOrThreads(t *testing.T) {
	s := small()
	s.kind = mixedKinds
	for _, k := range kernel.All() {
		for _, threads := range []int{1, 2, 3} {
			steps := 60
			if k.Name() == "portable" {
				steps = 20
			}
			t.Run(fmt.Sprintf("%s/threads=%d", k.Name(), threads), func(t *testing.T) { runSchedule(t, s, threads, k, steps) })
		}
	}
	for _, name := range peerNames(t) {
		s := storedModel(t, peerPath(name))
		for _, k := range kernel.All() {
			for _, threads := range []int{1, 3} {
				steps := 25
				if k.Name() == "portable" {
					steps = 6
				}
				t.Run(fmt.Sprintf("%s/%s/threads=%d", name, k.Name(), threads), func(t *testing.T) {
					runSchedule(t, s, threads, k, steps)
				})
			}
		}
	}
}

func TestALongPromptIsTakenInPiecesWithoutATrace(t *testing.T) {
	s := small()
	s.context = 3*maxRows + 10
	o := newOracle(t, s, kernel.Best())
	e := s.open(t, 7, 2, kernel.Best())
	tokens := s.tokens(rand.New(rand.NewPCG(1, 6)), s.context)
	scores := all(t, e, 1, tokens)
	for _, p := range []int{0, 1, maxRows - 1, maxRows, maxRows + 1, 2 * maxRows, s.context - 1} {
		o.check("one call", tokens[:p+1], scores[p])
	}
}

// lawful are a llama with random weights and a small model of every architecture.
func lawful(t *testing.T) map[string]shape {
	shapes := map[string]shape{"random": small()}
	for _, name := range peerNames(t) {
		shapes[name] = storedModel(t, peerPath(name))
	}
	return shapes
}

func TestTheOrderOfABatchChangesNothing(t *testing.T) {
	for name, s := range lawful(t) {
		t.Run(name, func(t *testing.T) { testOrder(t, s) })
	}
}

func testOrder(t *testing.T, s shape) {
	r := rand.New(rand.NewPCG(2, 6))
	inputs := make([]model.Input, 33)
	for i := range inputs {
		inputs[i] = model.Input{Seq: uint64(i), Tokens: s.tokens(r, 1+r.IntN(5)), Want: model.Last}
	}
	var first [][]float32
	for round := range 3 {
		e := s.open(t, 7, 2, kernel.Best())
		batch := make([]model.Input, len(inputs))
		got := make([][]float32, len(inputs))
		for i, j := range r.Perm(len(inputs)) {
			batch[i] = inputs[j]
			batch[i].Scores = rowsFor(e, 1)
			got[j] = batch[i].Scores[0].Values
		}
		if _, err := e.Forward(context.Background(), batch); err != nil {
			t.Fatal(err)
		}
		if round == 0 {
			first = got
			continue
		}
		for i := range got {
			for id := range got[i] {
				if math.Float32bits(got[i][id]) != math.Float32bits(first[i][id]) {
					t.Fatalf("round %d: input %d, token %d differs", round, i, id)
				}
			}
		}
	}
}

func TestAFailedCallChangesNoSequence(t *testing.T) {
	for name, s := range lawful(t) {
		t.Run(name, func(t *testing.T) { testFailedCall(t, s) })
	}
}

func testFailedCall(t *testing.T, s shape) {
	o := newOracle(t, s, kernel.Best())
	r := rand.New(rand.NewPCG(3, 6))
	a, b := s.tokens(r, 20), s.tokens(r, 9)
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	rows := []struct {
		name string
		ctx  context.Context
		fail func(e *engine) []model.Input
	}{
		{"a token outside the vocabulary", context.Background(), func(*engine) []model.Input {
			return []model.Input{{Seq: 1, Start: 20, Tokens: b}, {Seq: 2, Start: 9, Tokens: []int32{int32(s.vocab)}}}
		}},
		{"a context that is full", context.Background(), func(*engine) []model.Input {
			return []model.Input{{Seq: 2, Start: 9, Tokens: a}, {Seq: 1, Start: 20, Tokens: make([]int32, s.context-19)}}
		}},
		{"a call cancelled between layers", context.Background(), nil},
		{"a cancelled call", cancelled, func(*engine) []model.Input {
			return []model.Input{{Seq: 1, Start: 20, Tokens: b}, {Seq: 2, Start: 9, Tokens: a}, {Seq: 3, Tokens: a}}
		}},
		{"a cache that is full", context.Background(), func(e *engine) []model.Input {
			e.cache.limit = e.cache.used + 1
			return []model.Input{{Seq: 1, Start: 20, Tokens: b}, {Seq: 3, Tokens: a}}
		}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			e := s.open(t, 7, 1, kernel.Best())
			all(t, e, 1, a)
			all(t, e, 2, b)
			// A fork of the second makes its last page a shared one.
			if err := e.Edit(context.Background(), []model.Edit{{Op: model.Fork, Seq: 2, To: 9, Length: 5}}); err != nil {
				t.Fatal(err)
			}
			used := e.cache.used
			ctx, batch := row.ctx, []model.Input{{Seq: 1, Start: 20, Tokens: b}, {Seq: 2, Start: 9, Tokens: a}, {Seq: 3, Tokens: a}}
			if row.fail == nil {
				ctx = &expiring{Context: ctx, left: min(2, e.hyper.layers-1)}
			} else {
				batch = row.fail(e)
			}
			if _, err := e.Forward(ctx, batch); err == nil {
				t.Fatal("the call did not fail")
			}
			e.cache.limit = 1000
			if e.cache.used != used || len(e.cache.seqs) != 3 {
				t.Errorf("the cache holds %d pages of %d sequences, %d of 3 before", e.cache.used, len(e.cache.seqs), used)
			}
			for _, q := range []struct {
				id     uint64
				prefix []int32
			}{{1, a}, {2, b}, {9, b[:5]}} {
				in := model.Input{Seq: q.id, Start: len(q.prefix), Tokens: []int32{4}, Want: model.Last, Scores: rowsFor(e, 1)}
				if _, err := e.Forward(context.Background(), []model.Input{in}); err != nil {
					t.Fatal(err)
				}
				o.check("after a failed call", append(append([]int32(nil), q.prefix...), 4), in.Scores[0].Values)
			}
		})
	}
}

// expiring is a context that ends after it was asked so often.
type expiring struct {
	context.Context
	left int
}

func (e *expiring) Err() error {
	if e.left--; e.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestForksShareMemoryAndFreeingReturnsIt(t *testing.T) {
	s := small()
	e := s.open(t, 7, 1, kernel.Best())
	ctx := context.Background()
	all(t, e, 1, s.tokens(rand.New(rand.NewPCG(4, 6)), 2*pageTokens+3))
	edit := func(edits ...model.Edit) {
		t.Helper()
		if err := e.Edit(ctx, edits); err != nil {
			t.Fatal(err)
		}
	}
	want := func(what string, pages int) {
		t.Helper()
		if e.cache.used != pages || e.cache.bytes() != int64(pages)*e.cache.pageBytes() {
			t.Errorf("%s: %d pages, want %d", what, e.cache.used, pages)
		}
	}
	want("a prompt of two pages and a bit", 3)
	for i := range uint64(10) {
		edit(model.Edit{Op: model.Fork, Seq: 1, To: 10 + i, Length: 2*pageTokens + 3})
	}
	want("ten forks", 3)
	edit(model.Edit{Op: model.Free, Seq: 1})
	want("without the original", 3)
	for i := range uint64(10) {
		in := model.Input{Seq: 10 + i, Start: 2*pageTokens + 3, Tokens: []int32{5}}
		if _, err := e.Forward(ctx, []model.Input{in}); err != nil {
			t.Fatal(err)
		}
	}
	want("ten extended forks, the last of which keeps the page it inherits", 2+10)
	edit(model.Edit{Op: model.Truncate, Seq: 10, Length: pageTokens})
	want("one of them cut to a page", 2+9)
	for i := range uint64(10) {
		edit(model.Edit{Op: model.Free, Seq: 10 + i}, model.Edit{Op: model.Free, Seq: 10 + i})
	}
	want("all freed", 0)
	if len(e.cache.seqs) != 0 {
		t.Errorf("%d sequences are left", len(e.cache.seqs))
	}
}
