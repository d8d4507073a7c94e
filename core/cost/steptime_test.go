package cost

import (
	"math"
	"strings"
	"testing"
)

var device = Device{Peak: 1e12, Bandwidth: 1e10, Chips: 2}

// Overlap hides the cache behind arithmetic, which at best halves the time.
func TestOverlapIsAtMostTwiceBelowSplit(t *testing.T) {
	for _, w := range []Work{{Linear: 1e12, Weights: 1e9, Cache: 1e10}, {Linear: 1e9, Weights: 1e9, Cache: 1e8}, {Linear: 4e12, Weights: 1e8, Cache: 2e10}} {
		s, err1 := StepTimeOf(w, device, Floor(), Split, 0)
		o, err2 := StepTimeOf(w, device, Floor(), Overlap, 0)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if !(o.Total <= s.Total*(1+rounding) && s.Total <= 2*o.Total*(1+rounding)) {
			t.Errorf("%+v: split %g, overlap %g", w, s.Total, o.Total)
		}
	}
}

func TestAFloorIsBelowEveryFit(t *testing.T) {
	w := Work{Linear: 1e12, Weights: 1e9, Cache: 1e10}
	floor, _ := StepTimeOf(w, device, Floor(), Split, 0)
	fit, err := StepTimeOf(w, device, Efficiency{Compute: 0.5, Weights: 0.8, Cache: 0.4}, Split, 1e-3)
	if err != nil || !floor.Floor || fit.Floor || !(floor.Total < fit.Total) {
		t.Errorf("floor %+v, fit %+v, %v", floor, fit, err)
	}
	near(t, "cache at its own efficiency", fit.Cache, floor.Cache/0.4, rounding)
	near(t, "arithmetic at its own", fit.Compute, floor.Compute/0.5, rounding)
	near(t, "weights at their own", fit.Weights, floor.Weights/0.8, rounding)
}

func TestAStepIsMadeOfItsBytes(t *testing.T) {
	a := parse(t, dense)
	s := Serving{Format: Format{Weight: 2, Cache: 2}, Device: device, Efficiency: Floor(), Routing: Expected}
	b, err := a.StepBytes(100, 8, s.Format, Expected)
	if err != nil {
		t.Fatal(err)
	}
	x, err := a.Step(100, 8, s)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "cache", x.Cache, (b.CacheRead+b.CacheWrite+b.Embedding)/2e10, rounding)
	near(t, "weights", x.Weights, b.Weights/2e10, rounding)
	near(t, "total", x.Total, x.Cache+max(x.Compute, x.Weights), rounding)
}

func TestManyStepsAreTheSumOfEach(t *testing.T) {
	for name, text := range map[string]string{"dense": dense, "mixed": mixed, "latent": latent} {
		a, f := parse(t, text), Format{Weight: 2, Cache: 1}
		var sum Work
		for i := int64(1); i <= 50; i++ {
			w, err := a.StepWork(7+i, 3, f, Expected)
			if err != nil {
				t.Fatal(err)
			}
			sum = Work{Linear: sum.Linear + w.Linear, Attention: sum.Attention + w.Attention, Weights: sum.Weights + w.Weights, Cache: sum.Cache + w.Cache}
		}
		w, err := a.StepsWork(7, 50, 3, f, Expected)
		if err != nil {
			t.Fatal(err)
		}
		near(t, name+" linear", w.Linear, sum.Linear, rounding)
		near(t, name+" attention", w.Attention, sum.Attention, rounding)
		near(t, name+" weights", w.Weights, sum.Weights, rounding)
		near(t, name+" cache", w.Cache, sum.Cache, rounding)
	}
}

func TestAPromptInOneChunkIsThePrefill(t *testing.T) {
	a := parse(t, dense)
	s := Serving{Format: Format{Weight: 2, Cache: 2}, Device: device, Efficiency: Floor(), Routing: Expected}
	whole := got(t)(a.Prompt(Prefill{New: 64}, 0, s))
	near(t, "a chunk longer than the prompt", got(t)(a.Prompt(Prefill{New: 64}, 100, s)), whole, 0)
	if parts := got(t)(a.Prompt(Prefill{New: 64}, 8, s)); !(parts > whole) {
		t.Errorf("chunks of 8 take %g, one of 64 takes %g: weights are read eight times", parts, whole)
	}
	if _, err := a.Prompt(Prefill{New: 1 << 30}, 1, s); err == nil {
		t.Error("2^30 steps were added up")
	}
}

func TestUtilisationAboveOneIsRefused(t *testing.T) {
	if u := got(t)(MFU(1e12, 1, device)); u != 0.5 {
		t.Errorf("MFU %g", u)
	}
	for name, err := range map[string]error{
		"MFU": second(MFU(3e12, 1, device)),
		"MBU": second(MBU(3e10, 1, device)),
	} {
		if err == nil || !strings.Contains(err.Error(), "above 1") {
			t.Errorf("%s: %v", name, err)
		}
	}
	sparse := device
	sparse.PeakLimit = sparse.Peak / 2
	if _, err := MFU(1e12, 1, sparse); err == nil || !strings.Contains(err.Error(), "dense") {
		t.Errorf("a sparse peak was taken: %v", err)
	}
}

func second(_ float64, err error) error { return err }

func TestLatenciesInvertEachOther(t *testing.T) {
	e2e := got(t)(E2E(0.5, 0.02, 100))
	near(t, "tpot", got(t)(TPOT(e2e, 0.5, 100)), 0.02, rounding)
	if _, err := TPOT(0.5, 0.5, 1); err == nil {
		t.Error("a request of one token has a tpot")
	}
	if _, err := TPOT(0.4, 0.5, 10); err == nil {
		t.Error("a request ended before its first token")
	}
	near(t, "one token ends with the first", got(t)(E2E(0.5, 9, 1)), 0.5, 0)
}

func TestOneChipTalksToNobody(t *testing.T) {
	c := Collectives{PerLayer: 2, Layers: 32, Latency: 1e-5, Link: 1e11, Chips: 1, Batch: 8, Model: 4096, Bytes: 2}
	if v := got(t)(c.Time()); v != 0 {
		t.Errorf("one chip takes %g s", v)
	}
	c.Chips = 8
	near(t, "eight chips", got(t)(c.Time()), 64*(1e-5+2*7.0/8*8*4096*2/1e11), rounding)
}

// Every point that is marked has a better one that fits, and no other has.
func TestTheFrontierMarksWhatIsDominated(t *testing.T) {
	a := parse(t, dense)
	s := Serving{Format: Format{Weight: 2, Cache: 2}, Device: device, Efficiency: Floor(), Routing: Expected, Offset: 1e-4}
	batches := []int64{64, 1, 2, 4, 4, 8, 4096, 1 << 30}
	points, fit, err := a.Frontier(200, batches, 2e7, 0.9, s)
	if err != nil {
		t.Fatal(err)
	}
	if fit.MaxBatch < 8 || fit.MaxBatch >= 1<<30 {
		t.Fatalf("%+v fits: the test needs some that do not", fit)
	}
	for i, p := range points {
		if p.Fits != (p.Batch <= fit.MaxBatch) {
			t.Errorf("batch %d fits: %v", p.Batch, p.Fits)
		}
		worse := false
		for j, q := range points {
			worse = worse || i != j && q.Fits && q.PerUser >= p.PerUser && q.PerChip >= p.PerChip && (q.PerUser > p.PerUser || q.PerChip > p.PerChip)
		}
		if worse != p.Dominated {
			t.Errorf("batch %d: dominated %v, want %v", p.Batch, p.Dominated, worse)
		}
	}
	made := []FrontierPoint{{PerUser: 1, PerChip: 1, Fits: true}, {PerUser: 2, PerChip: 1, Fits: true}, {PerUser: 2, PerChip: 1, Fits: true}, {PerUser: 3, PerChip: 0.5}, {PerUser: 1, PerChip: 2, Fits: true}}
	mark(made)
	for i, want := range []bool{true, false, false, false, false} {
		if made[i].Dominated != want {
			t.Errorf("made point %d: dominated %v", i, made[i].Dominated)
		}
	}
}

func TestMemorySaysWhatIsMissing(t *testing.T) {
	a := parse(t, dense)
	f := Format{Weight: 2, Cache: 2}
	one := got(t)(a.Cache(100, 1, 2))
	weights := 2 * float64(size(t, a).Total)
	for _, n := range []int64{0, 1, 7} {
		memory := (weights + float64(n)*one) / 0.5
		x, err := a.MaxBatch(100, memory+1, 0.5, f)
		if err != nil || x.MaxBatch != n {
			t.Errorf("room for %d: %+v, %v", n, x, err)
		}
		if (x.Missing > 0) != (n == 0) {
			t.Errorf("room for %d, missing %g", n, x.Missing)
		}
	}
	x, _ := a.MaxBatch(100, weights, 0.5, f)
	near(t, "missing", x.Missing, weights/2+one, rounding)
}

// Anscombe's first data set, whose regression is printed everywhere; t(0.975, 9)
// is 2.262157.
func TestFitLineGivesTheTextbookIntervals(t *testing.T) {
	x := []float64{10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5}
	y := []float64{8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68}
	l, err := FitLine(x, y, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	const printed = 1e-5 // seven digits are printed
	near(t, "slope", l.Slope, 0.5000909, printed)
	near(t, "intercept", l.Intercept, 3.0000909, printed)
	near(t, "slope's interval", l.SlopeHi-l.Slope, 2.262157*0.1179055, printed)
	near(t, "intercept's interval", l.Intercept-l.InterceptLo, 2.262157*1.1247468, printed)
	at, err := l.At(9)
	if err != nil || at.Extrapolated || !(at.Lo < at.Seconds && at.Seconds < at.Hi) {
		t.Errorf("at the mean: %+v, %v", at, err)
	}
	if far, _ := l.At(15); !far.Extrapolated || !(far.Hi-far.Lo > at.Hi-at.Lo) {
		t.Errorf("beyond what was measured: %+v", far)
	}
}

func TestTwoPointsAreALineWithoutAnInterval(t *testing.T) {
	l, err := FitLine([]float64{0, 10}, []float64{1, 2}, 0.9)
	if err != nil || !math.IsNaN(l.SlopeLo) {
		t.Errorf("%+v, %v", l, err)
	}
	near(t, "slope", l.Slope, 0.1, rounding)
	for name, f := range map[string]func() (Line, error){
		"one point":       func() (Line, error) { return FitLine([]float64{1}, []float64{1}, 0.9) },
		"one context":     func() (Line, error) { return FitLine([]float64{1, 1}, []float64{1, 2}, 0.9) },
		"fewer times":     func() (Line, error) { return FitLine([]float64{1, 2}, []float64{1}, 0.9) },
		"no time":         func() (Line, error) { return FitLine([]float64{1, 2}, []float64{1, 0}, 0.9) },
		"not a number":    func() (Line, error) { return FitLine([]float64{1, math.NaN()}, []float64{1, 1}, 0.9) },
		"a level of 95 %": func() (Line, error) { return FitLine([]float64{1, 2}, []float64{1, 1}, 95) },
	} {
		if _, err := f(); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
