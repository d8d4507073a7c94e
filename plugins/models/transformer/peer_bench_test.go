//go:build peer

package transformer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"lab/core/dist"
	"lab/core/plugin/model"
	"lab/plugins/models/internal/kernel"
)

// now is the time of the clock, or with the environment variable CPU that of the
// process, for busy machines; then one thread works.
func now(t *testing.T) time.Duration {
	if os.Getenv("CPU") == "" {
		return time.Duration(time.Now().UnixNano())
	}
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestSpeedOfAFile prints, for the file that LAB_BENCH_GGUF names and two threads,
// tokens per second of 1, 8 and 32 sequences and of a prompt of 512: one turn of
// testdata/peer/bench.py, which measures llama.cpp in between.
func TestSpeedOfAFile(t *testing.T) {
	path := os.Getenv("LAB_BENCH_GGUF")
	if path == "" {
		t.Fatal("LAB_BENCH_GGUF names no file")
	}
	threads := 2
	if os.Getenv("CPU") != "" {
		threads = 1
	}
	e := openWith(t, path, threads, kernel.Best())
	const steps = 12
	for _, size := range []int{1, 8, 32} {
		d := newDecoding(t, e, size, 8, steps)
		d.step(t) // packs the matrices
		took := make([]float64, steps)
		for i := range took {
			start := now(t)
			d.step(t)
			took[i] = (now(t) - start).Seconds()
		}
		fmt.Printf("b%d %.1f\n", size, float64(size)/median(took))
		edits := []model.Edit{{Op: model.Free}}
		for i := range size {
			edits = append(edits, model.Edit{Op: model.Free, Seq: uint64(i + 1)})
		}
		if err := e.Edit(context.Background(), edits); err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	in := model.Input{Tokens: make([]int32, 512), Want: model.Last, Scores: []dist.Scores{dist.NewDense(make([]float32, e.hyper.vocab))}}
	for i := range in.Tokens {
		in.Tokens[i] = int32(r.IntN(e.hyper.vocab))
	}
	took := make([]float64, 3)
	for i := range took {
		start := now(t)
		if _, err := e.Forward(context.Background(), []model.Input{in}); err != nil {
			t.Fatal(err)
		}
		took[i] = (now(t) - start).Seconds()
		if err := e.Edit(context.Background(), []model.Edit{{Op: model.Free}}); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Printf("pp512 %.1f\n", 512/median(took))
}

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}
