package transformer

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"lab/core/fault"
	"lab/core/plugin/model"
	"lab/plugins/models/internal/kernel"
)

func TestRoundedLinesAreTheNearestMultiplesOfTheirScale(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	for _, size := range []int{1, 10, 31, 32, 33, 64, 100} {
		for _, magnitude := range []float64{1e-6, 1e-3, 1, 300, 1e5} {
			x := make([]float32, size)
			for i := range x {
				x[i] = float32(magnitude * r.NormFloat64())
			}
			padded := (size + 31) / 32 * 32
			blocks := make([]byte, padded/32*34)
			round(blocks, x)
			wide := make([]float32, padded)
			kernel.Best().Widen(wide, blocks, kernel.Q8_0)
			for i, w := range wide {
				if i >= size {
					if w != 0 {
						t.Fatalf("element %d beyond the line is %v", i, w)
					}
					continue
				}
				largest := 0.0
				for _, v := range x[i&^31 : min(i&^31+32, size)] {
					largest = max(largest, math.Abs(float64(v)))
				}
				// Half a step, a rounding of the scale to 11 bits (127 steps of
				// it) and, below the normal numbers of half precision, 2^-25.
				step := largest / 127
				if bound := step/2 + largest/2048 + 127.0/(1<<25); !(math.Abs(float64(w-x[i])) <= bound) {
					t.Fatalf("size %d, magnitude %g: %v became %v, bound %v", size, magnitude, x[i], w, bound)
				}
			}
		}
	}
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 1e38} {
		blocks, wide := make([]byte, 34), make([]float32, 32)
		round(blocks, []float32{1, bad, 2})
		kernel.Best().Widen(wide, blocks, kernel.Q8_0)
		if wide[0] == wide[0] {
			t.Errorf("%v is kept as %v", bad, wide[:3])
		}
	}
}

func TestScalesAreRoundedAsHalfPrecisionIs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	for h := range 0x7c00 { // every number that is not negative, and what lies between it and the next
		at, next := fromHalf(uint16(h)), fromHalf(uint16(h))
		if h < 0x7bff {
			next = fromHalf(uint16(h + 1))
		}
		for _, x := range []float64{at, at + (next-at)*0.49*r.Float64(), at + (next-at)/2} {
			want := uint16(h)
			if x == at+(next-at)/2 && x != at && h%2 == 1 {
				want++ // a tie goes to the even one
			}
			value, bits := halfScale(float32(x))
			if bits != want || value != fromHalf(want) {
				t.Fatalf("%v becomes %#04x (%v), want %#04x", x, bits, value, want)
			}
		}
	}
}

func openCached(t testing.TB, name string, threads int, format kernel.Format, k *kernel.Kernels) *engine {
	t.Helper()
	data, err := os.ReadFile(peerPath(name))
	if err != nil {
		t.Fatal(err)
	}
	e, err := openSet(t, data, func(o *options) { o.threads, o.cache, o.kernels = threads, format, k })
	if err != nil {
		t.Fatal(err)
	}
	e.pool.small = 0
	return e
}

// A cache of 8 bits is near the one of float32, and smaller.
func TestACacheOf8BitsChangesScoresALittle(t *testing.T) {
	for _, name := range peerNames(t) {
		t.Run(name, func(t *testing.T) {
			tokens := readPeer(t, name).Tokens
			whole, rounded := openCached(t, name, 1, kernel.F32, kernel.Best()), openCached(t, name, 1, kernel.Q8_0, kernel.Best())
			want, got := all(t, whole, 1, tokens), all(t, rounded, 1, tokens)
			distances := make([]float64, len(want))
			for p := range want {
				distances[p] = distance(got[p], want[p])
			}
			slices.Sort(distances)
			median := distances[len(distances)/2]
			// Every key and value is off by up to half of 1/127 of its block's
			// largest. Weights of these models are drawn large and heads are
			// small, so that errors hardly cancel: measured up to 0.016. Where a
			// row picks another expert it is off by more, hence the median.
			t.Logf("median relative distance %.2g, largest %.2g", median, distances[len(distances)-1])
			if name == "gemma2-27b" {
				return // its 46 layers of random weights amplify any rounding
			}
			if !(median <= 0.03) || median == 0 {
				t.Errorf("median relative distance %g", median)
			}
			lines := int64(2 * rounded.hyper.layers * rounded.hyper.kvHeads * pageTokens)
			if got, want := rounded.cache.pageBytes(), lines*34*int64((rounded.hyper.headSize+31)/32); got != want {
				t.Errorf("a page takes %d bytes, want %d", got, want)
			}
		})
	}
}

// With trained weights, and heads of a whole block, errors are of the same size.
func TestACacheOf8BitsChangesATrainedModelALittle(t *testing.T) {
	whole, err := openSet(t, tinyWeights, func(*options) {})
	if err != nil {
		t.Fatal(err)
	}
	rounded, err := openSet(t, tinyWeights, func(o *options) { o.cache = kernel.Q8_0 })
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := whole.Encode(context.Background(), []byte("Anna has a red ball. The ball is under the table."), model.EncodeOptions{Begin: true})
	if err != nil {
		t.Fatal(err)
	}
	want, got := all(t, whole, 1, tokens), all(t, rounded, 1, tokens)
	largest := 0.0
	for p := range want {
		largest = max(largest, distance(got[p], want[p]))
	}
	t.Logf("largest relative distance %.2g", largest)
	if !(largest <= 0.08) || largest == 0 { // measured 0.048
		t.Errorf("relative distance %g", largest)
	}
	if a, b := whole.cache.pageBytes(), rounded.cache.pageBytes(); a*34 != b*128 {
		t.Errorf("a page takes %d bytes in float32 and %d in 8 bits", a, b)
	}
}

func TestScoresWithACacheOf8BitsDependOnNothingElse(t *testing.T) {
	for _, name := range []string{"gemma3", "llama", "mixtral"} {
		for _, k := range kernel.All() {
			t.Run(name+"/"+k.Name(), func(t *testing.T) {
				s := storedModel(t, peerPath(name))
				o := &oracle{t: t, e: openCached(t, name, 1, kernel.Q8_0, kernel.Best()), seen: map[string][]float32{}}
				driveSchedule(t, o, openCached(t, name, 3, kernel.Q8_0, k), s, 3, 15)
			})
		}
	}
}

func TestAFullCacheNamesWhatFitsAndWhatWouldDo(t *testing.T) {
	s := small()
	e := s.open(t, 7, 1, kernel.Best())
	page := e.cache.pageBytes()
	e.cache.limit = 300
	all(t, e, 1, make([]int32, pageTokens))
	batch := make([]model.Input, 400)
	for i := range batch {
		batch[i] = model.Input{Seq: uint64(i + 2), Tokens: []int32{1}}
	}
	_, err := e.Forward(context.Background(), batch)
	mib := (401*page + 1<<20 - 1) >> 20
	wantError(t, err, fault.Limit, "of the 400 sequences of this call the first 299 would fit", fmt.Sprintf("cache_mib of at least %d", mib), "q8_0")
	if _, err := e.Forward(context.Background(), batch[:299]); err != nil {
		t.Errorf("what was said to fit does not: %v", err)
	}
	e.cache.limit = int((mib << 20) / page)
	if _, err := e.Forward(context.Background(), batch[299:]); err != nil {
		t.Errorf("the cache that was said to do does not: %v", err)
	}
}

func TestMemoryThatIsNotThereIsNotTaken(t *testing.T) {
	s := small()
	e := s.open(t, 7, 1, kernel.Best())
	left := int64(100 << 20)
	e.cache.memory = func() (int64, bool) { return left, true }
	pages := int(checkEvery/e.cache.pageBytes()) + 1
	batch := make([]extension, pages)
	for i := range batch {
		batch[i] = extension{id: uint64(i), tokens: 1}
	}
	drafts, err := e.cache.reserve(batch)
	if err != nil {
		t.Fatal(err)
	}
	e.cache.abandon(drafts)
	left = 1 << 20
	if drafts, err = e.cache.reserve(batch); err != nil {
		t.Errorf("pages at hand are refused: %v", err)
	}
	e.cache.commit(drafts)
	for i := range batch {
		batch[i].id += uint64(pages)
	}
	used := e.cache.used
	_, err = e.cache.reserve(batch)
	wantError(t, err, fault.Limit, "the machine has 1 MiB left", "MiB more")
	if e.cache.used != used {
		t.Error("the refused pages are held")
	}
	if n, known := availableMemory(); known && n <= 0 {
		t.Errorf("this machine is said to have %d bytes", n)
	}
}

func TestAModelLargerThanTheMachineIsRefusedBeforeItIsPacked(t *testing.T) {
	s := small()
	s.kind = tinyShape().kind
	machine := func(left int64, known bool) func(*options) {
		return func(o *options) { o.memory = func() (int64, bool) { return left, known } }
	}
	data := s.bytes(t, 7)
	if _, err := openSet(t, data, machine(1<<20, true)); err != nil {
		t.Errorf("a model that fits: %v", err)
	}
	if _, err := openSet(t, data, machine(0, false)); err != nil {
		t.Errorf("a machine that does not tell: %v", err)
	}
	if _, err := openSet(t, data, machine(1000, true)); err == nil {
		t.Error("weights that need memory of their own were opened without any")
	} else {
		wantError(t, err, fault.Limit, "its weights take", "the machine has 0 MiB left")
	}
	if _, err := openSet(t, small().bytes(t, 7), machine(1000, true)); err != nil {
		t.Errorf("weights in float32 need no memory of their own: %v", err)
	}
}

// Thousands of sequences live on one prefix: each costs a page of its own once
// it is extended, and gives what it would alone.
func TestThousandsOfForksOfOnePrefix(t *testing.T) {
	const forks = 4096
	s := shape{vocab: 262, context: 64, width: 8, layers: 1, heads: 2, kvHeads: 1, headSize: 4, ffn: 8}
	e := s.open(t, 7, 2, kernel.Best())
	prefix := s.tokens(rand.New(rand.NewPCG(2, 9)), 40)
	all(t, e, 0, prefix)
	pages := e.cache.used
	edits, batch := make([]model.Edit, forks), make([]model.Input, forks)
	for i := range forks {
		edits[i] = model.Edit{Op: model.Fork, Seq: 0, To: uint64(i + 1), Length: len(prefix)}
		batch[i] = model.Input{Seq: uint64(i + 1), Start: len(prefix), Tokens: []int32{int32(i % s.vocab)}, Want: model.Last, Scores: rowsFor(e, 1)}
	}
	if err := e.Edit(context.Background(), edits); err != nil {
		t.Fatal(err)
	}
	if e.cache.used != pages || len(e.cache.seqs) != forks+1 {
		t.Fatalf("%d pages of %d sequences after the forks, %d before", e.cache.used, len(e.cache.seqs), pages)
	}
	if _, err := e.Forward(context.Background(), batch); err != nil {
		t.Fatal(err)
	}
	if e.cache.used != pages+forks {
		t.Errorf("%d pages, want %d", e.cache.used, pages+forks)
	}
	o := newOracle(t, s, kernel.Best())
	for _, i := range []int{0, 1, 127, 128, 129, 2000, forks - 1} {
		o.check("a fork of thousands", append(append([]int32(nil), prefix...), batch[i].Tokens[0]), batch[i].Scores[0].Values)
	}
	for i := range edits {
		edits[i] = model.Edit{Op: model.Free, Seq: uint64(i + 1)}
	}
	if err := e.Edit(context.Background(), edits); err != nil {
		t.Fatal(err)
	}
	if e.cache.used != pages {
		t.Errorf("%d pages are left, want %d", e.cache.used, pages)
	}
}

// BenchmarkFork reports what forking 64 samples from a prompt of 1,000 tokens
// costs, as a share of its prefill; less than a hundredth is promised.
func BenchmarkFork(b *testing.B) {
	s := tinyShape()
	s.context = 1024
	e := s.open(b, 1, 2, kernel.Best())
	e.pool.small = smallWork
	start := time.Now()
	if _, err := e.Forward(context.Background(), []model.Input{{Tokens: s.tokens(rand.New(rand.NewPCG(1, 2)), 1000)}}); err != nil {
		b.Fatal(err)
	}
	prefill := time.Since(start)
	fork, free := make([]model.Edit, 64), make([]model.Edit, 64)
	for i := range fork {
		fork[i] = model.Edit{Op: model.Fork, Seq: 0, To: uint64(i + 1), Length: 1000}
		free[i] = model.Edit{Op: model.Free, Seq: uint64(i + 1)}
	}
	for b.Loop() {
		if err := e.Edit(context.Background(), fork); err != nil {
			b.Fatal(err)
		}
		if err := e.Edit(context.Background(), free); err != nil {
			b.Fatal(err)
		}
	}
	share := b.Elapsed().Seconds() / float64(b.N) / prefill.Seconds()
	b.ReportMetric(100*share, "%-of-prefill")
	if share >= 0.01 {
		b.Errorf("64 forks and their ends take %.2g of the prefill", share)
	}
}
