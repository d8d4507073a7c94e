package cost

import (
	"math"
	"testing"
)

// A prompt processed at once costs what its tokens cost one by one, and in two
// parts what it costs in one: both exactly, in causal counting with all scores.
func TestPrefillIsTheSumOfItsSteps(t *testing.T) {
	for name, text := range map[string]string{"dense": dense, "windows and a mixture": mixed, "latent": latent} {
		t.Run(name, func(t *testing.T) {
			a := parse(t, text)
			for _, s := range []int64{1, 2, 31, 32, 33, 100} {
				sum := 0.0
				for c := int64(1); c <= s; c++ {
					sum += got(t)(a.Decode(c, Convention{}))
				}
				whole := got(t)(a.Prefill(Prefill{New: s, AllLogits: true}, Convention{}))
				near(t, "one by one", sum, whole, rounding)
				near(t, "a run of steps", got(t)(a.DecodeRun(0, s, Convention{})), whole, rounding)
				near(t, "training", got(t)(a.TrainPerToken(s, Convention{}, false))*float64(s), 3*whole, rounding)
				near(t, "training with recomputation", got(t)(a.TrainPerToken(s, Convention{}, true))*float64(s), 4*whole, rounding)
				for p := int64(1); p < s; p += 7 {
					first := got(t)(a.Prefill(Prefill{New: p, AllLogits: true}, Convention{}))
					rest := got(t)(a.Prefill(Prefill{New: s - p, Cached: p, AllLogits: true}, Convention{}))
					near(t, "two parts", first+rest, whole, rounding)
				}
			}
		})
	}
}

func TestOnlyTheLastScoresSaveTheHead(t *testing.T) {
	a := parse(t, dense)
	all, last := got(t)(a.Prefill(Prefill{New: 50, AllLogits: true}, Convention{})), got(t)(a.Prefill(Prefill{New: 50}, Convention{}))
	near(t, "the head", all-last, 2*49*float64(a.Vocab*a.Model), rounding)
}

func TestTheFullSquareIsTwiceTheCausalHalfInTheLimit(t *testing.T) {
	a := parse(t, dense)
	linear := 2 * float64(size(t, a).Matmul) * 4096
	full := got(t)(a.Prefill(Prefill{New: 4096, AllLogits: true}, Convention{Full: true})) - linear
	causal := got(t)(a.Prefill(Prefill{New: 4096, AllLogits: true}, Convention{})) - linear
	near(t, "full over causal", full/causal, 2*4096.0/4097, rounding)
}

func TestAWindowAsLongAsTheContextChangesNothing(t *testing.T) {
	wide, none := parse(t, dense), parse(t, dense)
	for i := range wide.Layers {
		wide.Layers[i].Attention.Window = 300
	}
	for _, c := range []Convention{{}, {Full: true}} {
		near(t, "prefill", got(t)(wide.Prefill(Prefill{New: 300}, c)), got(t)(none.Prefill(Prefill{New: 300}, c)), 0)
		if x, y := got(t)(wide.Prefill(Prefill{New: 301}, c)), got(t)(none.Prefill(Prefill{New: 301}, c)); !(x < y) {
			t.Errorf("a window of 300 costs %g at 301 tokens, no window %g", x, y)
		}
	}
	near(t, "cache beyond the window", got(t)(wide.Cache(1000, 1, 2)), got(t)(none.Cache(300, 1, 2)), 0)
}

// At the crossover the two sides are equal, with windows too.
func TestCrossoversSitWhereBothSidesAreEqual(t *testing.T) {
	for name, text := range map[string]string{"dense": dense, "half the layers windowed": mixed, "latent": latent} {
		t.Run(name, func(t *testing.T) {
			a := parse(t, text)
			c := got(t)(a.AttentionCrossover(Convention{}))
			m := 2 * float64(size(t, a).Matmul)
			sum := 0.0
			for i := range a.Layers {
				x := &a.Layers[i].Attention
				w := c
				if x.Window > 0 {
					w = min(c, float64(x.Window))
				}
				sum += x.perPosition(Convention{}) * w
			}
			near(t, "attention against weights", sum, m, rounding)
			f := Format{Weight: 2, Cache: 1}
			for _, b := range []int64{1, 8} {
				c := got(t)(a.CacheCrossover(b, f))
				near(t, "cache against weights", float64(b)*a.cached(c)*f.Cache, f.Weight*a.touched(Expected, float64(b)), rounding)
			}
		})
	}
	a := parse(t, dense)
	for i := range a.Layers {
		a.Layers[i].Attention.Window = 8
	}
	if c, err := a.AttentionCrossover(Convention{}); err != nil || !math.IsInf(c, 1) {
		t.Errorf("windows of 8 reach the weights at %g, %v; they never do", c, err)
	}
}

func TestDistinctExpertsLieBetweenTheirBounds(t *testing.T) {
	for _, e := range []float64{2, 8, 256} {
		for _, k := range []float64{1, 2} {
			last := 0.0
			for b := 1.0; b < 1e5; b *= 3 {
				d := got(t)(DistinctExperts(e, k, b))
				if !(d >= k*(1-rounding) && d <= min(b*k, e)*(1+rounding) && d >= last) {
					t.Errorf("E=%g k=%g B=%g: %g, before %g", e, k, b, d, last)
				}
				last = d
			}
			near(t, "one token", got(t)(DistinctExperts(e, k, 1)), k, rounding)
		}
	}
	a := parse(t, mixed)
	low, mid, high := a.touched(Same, 8), a.touched(Expected, 8), a.touched(Distinct, 8)
	if !(low < mid && mid < high) {
		t.Errorf("weights read: %g, %g, %g", low, mid, high)
	}
	near(t, "one token reads M", a.touched(Expected, 1), float64(size(t, a).Matmul), rounding)
}

func TestTheLedgerCountsWhatARequestCosts(t *testing.T) {
	a := parse(t, dense)
	l := Ledger{Prompt: 40, Cached: 10, Written: 5, Output: 20, Reasoning: 4, Wasted: 6, Judge: 7}
	o, err := a.Operations(l, Convention{})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "prefill", o.Prefill, got(t)(a.Prefill(Prefill{New: 45, Cached: 10}, Convention{})), 0)
	near(t, "decode", o.Decode, got(t)(a.DecodeRun(55, 29, Convention{})), 0)
	near(t, "judge", o.Judge, got(t)(a.Prefill(Prefill{New: 7, AllLogits: true}, Convention{})), 0)
	if _, err := a.Operations(Ledger{Cached: 9, Output: 3}, Convention{}); err == nil {
		t.Error("tokens came from a prompt that nobody processed")
	}
	if _, err := a.Operations(Ledger{Prompt: 9, Output: -3}, Convention{}); err == nil {
		t.Error("a negative count was taken")
	}
}
