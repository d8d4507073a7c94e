package bench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/sampler"
)

// Transport is how rows of scores reach a plugin.
type Transport string

const (
	Inline Transport = "inline" // as bytes in the messages
	Plane  Transport = "plane"  // in shared memory, only named in the messages
)

// Transports lists every transport.
func Transports() []Transport { return []Transport{Inline, Plane} }

// Options say what is measured. The zero value measures all transports for the
// vocabularies and batches of [Options.orDefault].
type Options struct {
	Vocab      []int         // tokens of a row; default 1000, 32000, 262144
	Batch      []int         // sequences of a call; default 1, 8
	Transports []Transport   // default all
	Prefill    int           // tokens of the context of a model at most; default 64
	For        time.Duration // time spent on one setting, as far as MinRounds allows; default 500 ms

	// Local are the same samplers in this process, nil when they are not at hand.
	Local *sampler.Set
	// Progress is told how many settings are done and which comes next.
	Progress func(done, total int, next string)
}

const (
	minRounds = 15 // of every kind of call, however long they take
	maxRounds = 2000
	warmUp    = 3
	maxScores = 1 << 26 // of one call: 256 MiB
	maxVocab  = 1 << 24
	maxBatch  = 1 << 12
	maxTokens = 1 << 16
	maxLists  = 64
)

// orDefault fills in what is not given.
func (o Options) orDefault() Options {
	if len(o.Vocab) == 0 {
		o.Vocab = []int{1000, 32_000, 262_144}
	}
	if len(o.Batch) == 0 {
		o.Batch = []int{1, 8}
	}
	if len(o.Transports) == 0 {
		o.Transports = Transports()
	}
	if o.Prefill == 0 {
		o.Prefill = 64
	}
	if o.For <= 0 {
		o.For = 500 * time.Millisecond
	}
	if o.Progress == nil {
		o.Progress = func(int, int, string) {}
	}
	return o
}

// Check returns a usage error for sizes that cannot be measured.
func (o Options) Check() error {
	bad := func(format string, args ...any) *fault.Error {
		return fault.New(fault.Usage, "bench", "", format, args...)
	}
	o = o.orDefault()
	if max(len(o.Vocab), len(o.Batch), len(o.Transports)) > maxLists {
		return bad("more than %d sizes are asked for", maxLists)
	}
	for _, v := range o.Vocab {
		if v < 1 || v > maxVocab {
			return bad("a vocabulary of %d tokens is outside 1 to %d", v, maxVocab)
		}
	}
	for _, b := range o.Batch {
		if b < 1 || b > maxBatch {
			return bad("a batch of %d is outside 1 to %d", b, maxBatch)
		}
	}
	if v, b := slices.Max(o.Vocab), slices.Max(o.Batch); v*b > maxScores {
		return bad("a batch of %d rows of %d tokens is more than %d scores", b, v, maxScores).
			Fix("measure the large vocabulary with a smaller batch, in a run of its own")
	}
	for _, t := range o.Transports {
		if !slices.Contains(Transports(), t) {
			return fault.Unknown("bench", "transport", string(t), []string{string(Inline), string(Plane)})
		}
	}
	if o.Prefill < 1 || o.Prefill > maxTokens {
		return bad("a context of %d tokens is outside 1 to %d", o.Prefill, maxTokens)
	}
	return nil
}

// Times are what the calls of one kind took. No call was made when Rounds is 0.
type Times struct {
	Rounds           int
	P10, Median, P90 time.Duration
}

// Known reports whether anything was measured.
func (t Times) Known() bool { return t.Rounds > 0 }

// Over returns the ratio of two medians; NaN when one is not known.
func (t Times) Over(other Times) float64 {
	if !t.Known() || other.Median <= 0 {
		return math.NaN()
	}
	return float64(t.Median) / float64(other.Median)
}

// times sorts what was measured. The percentiles are the values at those places.
func times(all []time.Duration) Times {
	n := len(all)
	if n == 0 {
		return Times{}
	}
	slices.Sort(all)
	at := func(q float64) time.Duration { return all[int(q*float64(n-1)+0.5)] }
	return Times{Rounds: n, P10: at(0.1), Median: at(0.5), P90: at(0.9)}
}

// kind is one kind of call: how it is prepared, and the call.
type kind struct {
	ready func()
	call  func(context.Context) error
	undo  func(context.Context) error // after the call; may be nil
	took  []time.Duration
}

// measure makes the calls of all kinds, each round in another order, until the
// time is up.
func measure(ctx context.Context, kinds []*kind, limit time.Duration) error {
	for range warmUp {
		for _, k := range kinds {
			if err := k.make(ctx); err != nil {
				return err
			}
		}
	}
	for _, k := range kinds {
		k.took = k.took[:0]
	}
	g := rand.New(rand.NewPCG(1, uint64(len(kinds))))
	order := slices.Clone(kinds)
	began := time.Now()
	for r := 0; r < maxRounds && (r < minRounds || time.Since(began) < limit); r++ {
		g.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, k := range order {
			if err := k.make(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// make makes the call once.
func (k *kind) make(ctx context.Context) error {
	k.ready()
	start := time.Now()
	err := k.call(ctx)
	k.took = append(k.took, time.Since(start))
	if err == nil && k.undo != nil {
		err = k.undo(ctx)
	}
	return err
}

// write fills rows with scores: what a forward pass leaves, which is in the caches.
// A single copy of 1 MiB or more would go round them.
func write(rows []dist.Scores, from [][]float32) {
	const piece = 4096
	for i := range rows {
		for at := 0; at < len(from[i]); at += piece {
			copy(rows[i].Values[at:], from[i][at:min(at+piece, len(from[i]))])
		}
	}
}

// scores returns a batch of rows that look like a language model's: scores fall
// with the logarithm of the rank, with noise, over tokens in no order.
func scores(vocab, batch int) [][]float32 {
	g := rand.New(rand.NewPCG(uint64(vocab), uint64(batch)))
	row := make([]float32, vocab)
	for rank, id := range g.Perm(vocab) {
		row[id] = float32(-steepness*math.Log(float64(rank+1)) + 0.5*g.NormFloat64())
	}
	out := make([][]float32, batch)
	for i := range out { // the same row, begun at another token
		at := i * 997 % vocab
		out[i] = append(slices.Clone(row[at:]), row[:at]...)
	}
	return out
}

// steepness makes the nucleus of 0.9 hold some hundreds of tokens of 32,000.
const steepness = 1.4

func heapRows(vocab, n int) []dist.Scores {
	out := make([]dist.Scores, n)
	for i := range out {
		out[i] = dist.NewDense(make([]float32, vocab))
	}
	return out
}

func settingName(label string, vocab, batch int) string {
	return fmt.Sprintf("%s, %d tokens, batch %d", label, vocab, batch)
}
