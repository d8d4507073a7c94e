package samplers

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"lab/core/dist"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// A speedCase is a chain, and the same rules as a list of candidates that is
// sorted whole: the straightforward way, which the samplers here avoid.
type speedCase struct {
	name   string
	stages []speedStage
	plain  func(c *candidates)
}

type speedStage struct {
	name string
	set  []param.Setting
}

func with(name string, set ...any) speedStage {
	s := speedStage{name: name}
	for i := 0; i < len(set); i += 2 {
		s.set = append(s.set, param.Setting{Name: set[i].(string), Value: set[i+1]})
	}
	return s
}

// defaults are the truncations of the usual chain and its temperature.
var defaults = []speedStage{with("top_k", "top_k", 40), with("top_p", "top_p", 0.95), with("min_p", "min_p", 0.05), with("temperature", "temperature", 0.8)}

// penalties are over the newest 64 tokens.
var penalties = with("penalties", "repeat", 1.1, "last_n", 64)

func (c *candidates) defaults() {
	c.topK(40)
	c.topP(0.95)
	c.minP(0.05)
	c.temperature(0.8)
}

// draws ends stages with a draw.
func draws(stages ...speedStage) []speedStage { return append(slices.Clone(stages), with("sample")) }

var speedCases = []speedCase{
	{"default", draws(defaults...), (*candidates).defaults},
	{"sample", draws(), func(*candidates) {}},
	{"top_p", draws(with("top_p", "top_p", 0.95)), func(c *candidates) { c.topP(0.95) }},
	{"min_p", draws(with("min_p", "min_p", 0.05)), func(c *candidates) { c.minP(0.05) }},
	{"top_n_sigma", draws(with("top_n_sigma", "top_n_sigma", 1.0)), (*candidates).topNSigma},
	{"typical", draws(with("typical", "typical", 0.95)), func(c *candidates) { c.typical(0.95) }},
	{"xtc", draws(with("xtc", "probability", 1.0, "threshold", 0.01)), func(c *candidates) { c.xtc(0.01) }},
	{"mirostat_v2", []speedStage{with("mirostat_v2", "tau", 5.0)}, func(c *candidates) { c.mirostat(10) }},
	{"penalties", draws(penalties), (*candidates).penalties},
	{"penalties_default", draws(append([]speedStage{penalties}, defaults...)...), func(c *candidates) { c.penalties(); c.defaults() }},
}

// candidates is a list of tokens as many programs keep it.
type candidates struct {
	list    []candidate
	sorted  bool
	history []int32
	u       float64
}

type candidate struct {
	id    int32
	score float32
	p     float64
}

func (c *candidates) sort() {
	if !c.sorted {
		slices.SortFunc(c.list, func(a, b candidate) int {
			return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.id, b.id))
		})
		c.sorted = true
	}
}

func (c *candidates) softmax() {
	top := float32(math.Inf(-1))
	for _, t := range c.list {
		top = max(top, t.score)
	}
	total := 0.0
	for i, t := range c.list {
		c.list[i].p = math.Exp(float64(t.score - top))
		total += c.list[i].p
	}
	for i := range c.list {
		c.list[i].p /= total
	}
}

func (c *candidates) topK(k int) {
	c.sort()
	c.list = c.list[:min(k, len(c.list))]
}

func (c *candidates) topP(p float64) {
	c.sort()
	c.softmax()
	sum := 0.0
	for i, t := range c.list {
		if sum += t.p; sum >= p {
			c.list = c.list[:i+1]
			return
		}
	}
}

func (c *candidates) minP(a float64) {
	c.softmax()
	most := 0.0
	for _, t := range c.list {
		most = max(most, t.p)
	}
	c.keep(func(t candidate) bool { return t.p >= a*most })
}

func (c *candidates) keep(f func(candidate) bool) {
	n := 0
	for _, t := range c.list {
		if f(t) {
			c.list[n] = t
			n++
		}
	}
	c.list = c.list[:n]
}

func (c *candidates) temperature(t float32) {
	for i := range c.list {
		c.list[i].score /= t
	}
}

// penalties divides or multiplies the scores of the newest 64 tokens by 1.1.
func (c *candidates) penalties() {
	count := map[int32]int{}
	for _, id := range c.history[max(0, len(c.history)-64):] {
		count[id]++
	}
	for i, t := range c.list {
		if count[t.id] == 0 {
			continue
		}
		if t.score > 0 {
			c.list[i].score /= 1.1
		} else {
			c.list[i].score *= 1.1
		}
	}
}

// mirostat keeps the tokens of a surprise up to mu bits, at least one.
func (c *candidates) mirostat(mu float64) {
	c.sort()
	c.softmax()
	for i, t := range c.list {
		if i > 0 && -math.Log2(t.p) > mu {
			c.list = c.list[:i]
			return
		}
	}
}

// topNSigma keeps the tokens within a standard deviation of the largest score.
func (c *candidates) topNSigma() {
	top, sum, squares := math.Inf(-1), 0.0, 0.0
	for _, t := range c.list {
		top = max(top, float64(t.score))
		sum += float64(t.score)
	}
	mean := sum / float64(len(c.list))
	for _, t := range c.list {
		squares += (float64(t.score) - mean) * (float64(t.score) - mean)
	}
	floor := top - math.Sqrt(squares/float64(len(c.list)))
	c.keep(func(t candidate) bool { return float64(t.score) >= floor })
}

// typical keeps the tokens whose surprisal is closest to the entropy.
func (c *candidates) typical(p float64) {
	c.softmax()
	h := 0.0
	for _, t := range c.list {
		h -= t.p * math.Log(t.p)
	}
	off := func(t candidate) float64 { return math.Abs(-math.Log(t.p) - h) }
	order := make([]float64, len(c.list))
	for i, t := range c.list {
		order[t.id] = off(c.list[i])
	}
	slices.SortFunc(c.list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(order[a.id], order[b.id]), cmp.Compare(a.id, b.id))
	})
	c.sorted = true
	sum := 0.0
	for i, t := range c.list {
		if sum += t.p; sum >= p {
			c.list = c.list[:i+1]
			return
		}
	}
}

// xtc removes all but the last of the tokens that reach a threshold.
func (c *candidates) xtc(threshold float64) {
	c.sort()
	c.softmax()
	n := 0
	for n < len(c.list) && c.list[n].p >= threshold {
		n++
	}
	if n >= 2 {
		c.list = c.list[n-1:]
	}
}

// draw takes the tokens in the order of their ids, as the stage sample does.
func (c *candidates) draw() int32 {
	if c.sorted {
		slices.SortFunc(c.list, func(a, b candidate) int { return cmp.Compare(a.id, b.id) })
	}
	c.softmax()
	sum := 0.0
	for _, t := range c.list {
		if sum += t.p; sum > c.u {
			return t.id
		}
	}
	return c.list[len(c.list)-1].id
}

// run rebuilds the list and applies the rules.
func (c *candidates) run(rules func(*candidates), values []float32) int32 {
	c.list, c.sorted = c.list[:0], false
	for i, v := range values {
		c.list = append(c.list, candidate{id: int32(i), score: v})
	}
	rules(c)
	return c.draw()
}

// speedInputs are the two kinds of rows of the catalogue: flat ones, whose
// probability is spread over thousands of tokens, and those of a model that is
// sure of a few.
var speedInputs = []struct {
	name string
	fill func(r *rand.Rand, values []float32)
}{
	{"gaussian", func(r *rand.Rand, values []float32) {
		for i := range values {
			values[i] = float32(r.NormFloat64() * 3)
		}
	}},
	{"peaked", func(r *rand.Rand, values []float32) {
		for i := range values {
			values[i] = float32(r.NormFloat64()*2 - 6)
		}
		for i := range 20 {
			values[r.IntN(len(values))] = float32(18 - i)
		}
	}},
}

var speedSizes = []int{32000, 128256, 262144}

func speedRow(kind, n int) []float32 {
	values := make([]float32, n)
	speedInputs[kind].fill(rand.New(rand.NewPCG(uint64(kind), uint64(n))), values)
	return values
}

// speedHistory is a context of tokens that are among the row's.
func speedHistory(n int) []int32 {
	r := rand.New(rand.NewPCG(7, uint64(n)))
	history := make([]int32, 200)
	for i := range history {
		history[i] = int32(r.IntN(n))
	}
	return history
}

// speedRun is a chain made ready to run over a row again and again.
type speedRun struct {
	set     *sampler.Set
	call    sampler.Call
	item    sampler.Item
	values  []float32
	scratch []float32
}

func newSpeedRun(tb testing.TB, c speedCase, values []float32, u float64) *speedRun {
	tb.Helper()
	s := &speedRun{set: newSet(tb), values: values, scratch: make([]float32, len(values))}
	s.item.History = speedHistory(len(values))
	for i, st := range c.stages {
		d, err := s.set.Lookup(st.name)
		if err != nil {
			tb.Fatal(err)
		}
		v, err := d.Params.Resolve("test", st.name, st.set)
		if err != nil {
			tb.Fatal(err)
		}
		s.call.Stages = append(s.call.Stages, sampler.Stage{Sampler: st.name, Values: v})
		s.item.Uniforms = append(s.item.Uniforms, nil)
		for range d.Needs.Uniforms {
			s.item.Uniforms[i] = append(s.item.Uniforms[i], u)
		}
	}
	s.call.Items = []*sampler.Item{&s.item}
	return s
}

// rebuildPart is how much of a fresh row is copied at a time. Copies of a
// mebibyte and more go round the caches, which a row that a model writes does
// not.
const rebuildPart = 1 << 16

// once copies the fresh row and applies the chain to it.
func (s *speedRun) once(tb testing.TB) int32 {
	for at := 0; at < len(s.values); at += rebuildPart {
		copy(s.scratch[at:], s.values[at:min(at+rebuildPart, len(s.values))])
	}
	s.item.Scores = dist.NewDense(s.scratch)
	for i := range s.item.States {
		s.item.States[i] = nil
	}
	if err := s.set.Run(context.Background(), &s.call); err != nil {
		tb.Fatal(err)
	}
	return s.item.Chosen
}

// BenchmarkCatalogue measures chains on one thread, the copy of a fresh row
// included. The metric x-plain is how many times longer the plain version
// takes, its list rebuilt as well. With LAB_PEER_PYTHON set to a Python that has
// llama-cpp-python and numpy, llama.cpp is timed in the same run: x-llama.cpp is
// how many times longer it takes, its array filled anew, and x-llama.cpp-ready
// the same for its chain alone, with an array that is ready.
func BenchmarkCatalogue(b *testing.B) {
	peer := newPeer(b)
	for _, c := range speedCases {
		for kind, in := range speedInputs {
			for _, n := range speedSizes {
				values := speedRow(kind, n)
				b.Run(fmt.Sprintf("%s/%s/%d", c.name, in.name, n), func(b *testing.B) {
					plain := plainTime(c, values)
					s := newSpeedRun(b, c, values, 0.7)
					for b.Loop() {
						s.once(b)
					}
					ours := b.Elapsed() / time.Duration(b.N)
					b.ReportMetric(plain.Seconds()/ours.Seconds(), "x-plain")
					if llama, ok := peer.times(b, c.name, kind, n); ok {
						b.ReportMetric(llama.Step/1e6/ours.Seconds(), "x-llama.cpp")
						b.ReportMetric((llama.Step-llama.Fill)/1e6/ours.Seconds(), "x-llama.cpp-ready")
					}
				})
			}
		}
	}
}

// plainTime returns the shortest of a few runs of the plain version.
func plainTime(c speedCase, values []float32) time.Duration {
	list := &candidates{u: 0.7, history: speedHistory(len(values))}
	shortest := time.Duration(math.MaxInt64)
	for range 4 {
		start := time.Now()
		list.run(c.plain, values)
		shortest = min(shortest, time.Since(start))
	}
	return shortest
}

// The two ways of a speed case are the same rules: they draw the same tokens.
func TestPlainVersionsDrawTheSameTokens(t *testing.T) {
	for _, c := range speedCases {
		for kind, in := range speedInputs {
			t.Run(c.name+"/"+in.name, func(t *testing.T) {
				values := speedRow(kind, 5000)
				r := rand.New(rand.NewPCG(3, 4))
				list := &candidates{history: speedHistory(len(values))}
				for range 20 {
					list.u = r.Float64()
					got := newSpeedRun(t, c, values, list.u).once(t)
					if want := list.run(c.plain, values); got != want {
						t.Fatalf("u = %v: drew %d, the plain version %d", list.u, got, want)
					}
				}
			})
		}
	}
}
