package transformer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"lab/core/dist"
	"lab/core/plugin/model"
	"lab/plugins/models/internal/gguf"
	"lab/plugins/models/internal/kernel"
)

// decoding is a set of sequences that share a prompt and grow together.
type decoding struct {
	e      *engine
	r      *rand.Rand
	batch  []model.Input
	prompt int
	steps  int
	cost   model.Usage
}

// newDecoding prefills one prompt and forks it.
func newDecoding(b testing.TB, e *engine, size, prompt, steps int) *decoding {
	b.Helper()
	d := &decoding{e: e, r: rand.New(rand.NewPCG(1, 2)), prompt: prompt, steps: steps}
	tokens := make([]int32, prompt)
	for i := range tokens {
		tokens[i] = int32(d.r.IntN(e.hyper.vocab))
	}
	if _, err := e.Forward(context.Background(), []model.Input{{Seq: 0, Tokens: tokens}}); err != nil {
		b.Fatal(err)
	}
	var edits []model.Edit
	for i := range size {
		edits = append(edits, model.Edit{Op: model.Fork, Seq: 0, To: uint64(i + 1), Length: prompt})
		d.batch = append(d.batch, model.Input{
			Seq: uint64(i + 1), Start: prompt, Tokens: []int32{0}, Want: model.Last,
			Scores: []dist.Scores{dist.NewDense(make([]float32, e.hyper.vocab))},
		})
	}
	if err := e.Edit(context.Background(), edits); err != nil {
		b.Fatal(err)
	}
	return d
}

// step decodes one token per sequence; after the last step all go back to the
// prompt.
func (d *decoding) step(b testing.TB) {
	if d.batch[0].Start == d.prompt+d.steps {
		edits := make([]model.Edit, len(d.batch))
		for i := range d.batch {
			edits[i] = model.Edit{Op: model.Truncate, Seq: d.batch[i].Seq, Length: d.prompt}
			d.batch[i].Start = d.prompt
		}
		if err := d.e.Edit(context.Background(), edits); err != nil {
			b.Fatal(err)
		}
	}
	for i := range d.batch {
		d.batch[i].Tokens[0] = int32(d.r.IntN(d.e.hyper.vocab))
	}
	u, err := d.e.Forward(context.Background(), d.batch)
	if err != nil {
		b.Fatal(err)
	}
	for i := range d.batch {
		d.batch[i].Start++
	}
	d.cost = d.cost.Add(u)
}

func tinySized(b testing.TB, threads int) *engine {
	e := tinyShape().open(b, 1, threads, kernel.Best())
	e.pool.small = smallWork
	return e
}

// report adds tokens, operations and bytes per second.
func report(b *testing.B, u model.Usage, seconds float64) {
	b.ReportMetric(float64(u.PrefillTokens+u.DecodeTokens)/seconds, "tokens/s")
	b.ReportMetric(float64(u.FLOPs)/seconds/1e9, "GFLOP/s")
	b.ReportMetric(float64(u.BytesMoved)/seconds/1e9, "GB/s")
}

// BenchmarkDecode extends sequences of 10 to 42 tokens by one token each.
func BenchmarkDecode(b *testing.B) {
	for _, threads := range []int{1, 2} {
		for _, size := range []int{1, 8, 32} {
			b.Run(fmt.Sprintf("threads=%d/batch=%d", threads, size), func(b *testing.B) {
				d := newDecoding(b, tinySized(b, threads), size, 10, 32)
				for b.Loop() {
					d.step(b)
				}
				report(b, d.cost, b.Elapsed().Seconds())
			})
		}
	}
}

// BenchmarkPrefill evaluates a prompt of 128 tokens.
func BenchmarkPrefill(b *testing.B) {
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d/tokens=128", threads), func(b *testing.B) {
			e := tinySized(b, threads)
			tokens := tinyShape().tokens(rand.New(rand.NewPCG(1, 2)), 128)
			in := model.Input{Tokens: tokens, Want: model.Last, Scores: []dist.Scores{dist.NewDense(make([]float32, e.hyper.vocab))}}
			var cost model.Usage
			for b.Loop() {
				u, err := e.Forward(context.Background(), []model.Input{in})
				if err != nil {
					b.Fatal(err)
				}
				cost = cost.Add(u)
				if err := e.Edit(context.Background(), []model.Edit{{Op: model.Free}}); err != nil {
					b.Fatal(err)
				}
			}
			report(b, cost, b.Elapsed().Seconds())
		})
	}
}

// BenchmarkBatchGain compares the tokens per second of 32 sequences with those
// of one. The two take turns, at least 20 each, and the best turn of each
// counts, so that a busy machine disturbs both alike. It fails when the gain is
// below 4, except where the arithmetic has no vectors: there every token costs
// the same.
func BenchmarkBatchGain(b *testing.B) {
	const size, steps = 32, 32
	e1, e32 := tinySized(b, 2), tinySized(b, 2)
	one, many := newDecoding(b, e1, 1, 10, steps), newDecoding(b, e32, size, 10, steps)
	turn := func(d *decoding) time.Duration {
		start := time.Now()
		for range steps {
			d.step(b)
		}
		return time.Since(start)
	}
	best1, best32 := turn(one), turn(many)
	again := func() { best1, best32 = min(best1, turn(one)), min(best32, turn(many)) }
	for range 20 {
		again()
	}
	for b.Loop() {
		again()
	}
	gain := size * best1.Seconds() / best32.Seconds()
	b.ReportMetric(gain, "gain")
	b.ReportMetric(steps/best1.Seconds(), "tokens/s-batch-1")
	b.ReportMetric(size*steps/best32.Seconds(), "tokens/s-batch-32")
	b.ReportMetric(0, "ns/op")
	if gain < 4 && kernel.Best().Name() != "portable" {
		b.Errorf("32 sequences yield %.2f times the tokens per second of one; at least 4 are promised", gain)
	}
}

// BenchmarkOpen reads the file, checks it and digests it.
func BenchmarkOpen(b *testing.B) {
	data := tinyShape().bytes(b, 1)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		f, err := gguf.Read("random", data)
		if err != nil {
			b.Fatal(err)
		}
		e, err := open(context.Background(), f, "random", options{threads: 2, cacheBytes: 1 << 30, kernels: kernel.Best()})
		if err != nil {
			b.Fatal(err)
		}
		if err := e.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
