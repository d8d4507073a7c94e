package steptime

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"lab/core/fault"
)

// machineOf is a made-up machine and model: what a call does and how long it takes.
type machineOf struct {
	weights, flop, cache, step, row float64 // seconds per byte, FLOP, byte, step, row
	split                           bool
}

func (m machineOf) point(context, batch int) Point {
	b := float64(batch)
	p := Point{Context: context, Batch: batch, Weights: 2e6 + 300*b, Linear: 4e6 * b, Cache: 6144 * float64(context) * b}
	w, f := m.weights*p.Weights, m.flop*p.Linear
	p.Seconds = m.cache*p.Cache + m.step + m.row*b
	if m.split {
		p.Seconds += max(w, f)
	} else {
		p.Seconds += w + f
	}
	return p
}

func (m machineOf) grid(contexts, batches []int) []Point {
	var out []Point
	for _, c := range contexts {
		for _, b := range batches {
			out = append(out, m.point(c, b))
		}
	}
	return out
}

var (
	contexts = []int{0, 64, 128, 224}
	batches  = []int{1, 2, 4, 8, 16, 32}
	summing  = machineOf{weights: 1e-10, flop: 1e-11, cache: 1.2e-10}
	hiding   = machineOf{weights: 2e-10, flop: 1.2e-11, cache: 1e-10, step: 1e-4, split: true}
)

func term(t *testing.T, f *Fitted, name string) Term {
	t.Helper()
	i := slices.IndexFunc(f.Terms, func(x Term) bool { return x.Name == name })
	if i < 0 {
		t.Fatalf("there is no term %q in %+v", name, f.Terms)
	}
	return f.Terms[i]
}

// near allows for the least squares of exact numbers: normal equations of columns
// scaled to length 1.
func close6(got, want float64) bool { return math.Abs(got-want) <= 1e-6*math.Abs(want) }

func TestExactTimesGiveTheirConstantsBack(t *testing.T) {
	for name, c := range map[string]struct {
		machine machineOf
		form    string
		want    map[string]float64
	}{
		"sum":                   {summing, "sum", map[string]float64{"weights": 1e-10, "arithmetic": 1e-11, "cache": 1.2e-10}},
		"split":                 {hiding, "split", map[string]float64{"weights": 2e-10, "arithmetic": 1.2e-11, "cache": 1e-10, "step": 1e-4}},
		"only the cache counts": {machineOf{cache: 3e-10, weights: 1e-12}, "sum", map[string]float64{"cache": 3e-10}},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := Fit(c.machine.grid(contexts, batches), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if f.Form != c.form {
				t.Errorf("form %q, want %q", f.Form, c.form)
			}
			for name, want := range c.want {
				if got := term(t, f, name); !close6(got.SecondsPer, want) || !close6(*got.PerSecond, 1/want) {
					t.Errorf("%s: %+v, want %g", name, got, want)
				}
			}
			if !(f.MostResidual <= 1e-6) {
				t.Errorf("residuals up to %g", f.MostResidual)
			}
		})
	}
}

// A step's offset and the weights are one constant as long as every step reads the
// same weights, and so are a row's and its arithmetic: the rates are lower bounds.
func TestWhatCannotBeToldApartIsHeldByOneTerm(t *testing.T) {
	m := summing
	m.step, m.row = 5e-4, 1e-5
	f, err := Fit(m.grid(contexts, batches), Options{Form: "sum"})
	if err != nil {
		t.Fatal(err)
	}
	w, a := term(t, f, "weights"), term(t, f, "arithmetic")
	if !reflect.DeepEqual(w.Holds, []string{"step"}) || !reflect.DeepEqual(a.Holds, []string{"row"}) || len(f.Terms) != 3 {
		t.Errorf("%+v", f.Terms)
	}
	if !(*w.PerSecond < 1/m.weights && *a.PerSecond < 1/m.flop) {
		t.Errorf("%g bytes and %g FLOP a second are no lower bounds", *w.PerSecond, *a.PerSecond)
	}
	if !(f.MostResidual <= 1e-6) {
		t.Errorf("residuals up to %g", f.MostResidual)
	}
	p, err := f.Predict(64, 8)
	if want := m.point(64, 8).Seconds; err != nil || !close6(p.Seconds, want) {
		t.Errorf("%g seconds (%v), want %g", p.Seconds, err, want)
	}
	// Experts are read by batch, so that the offset shows.
	points := m.grid(contexts, batches)
	for i := range points {
		p := &points[i]
		more := 1e6 * math.Sqrt(float64(p.Batch))
		p.Weights += more
		p.Seconds += m.weights * more
	}
	if f, err = Fit(points, Options{Form: "sum"}); err != nil {
		t.Fatal(err)
	}
	if got := term(t, f, "step"); math.Abs(got.SecondsPer-m.step) > 1e-3*m.step {
		t.Errorf("step: %+v, want %g", got, m.step)
	}
}

// No constant is below 0, whatever the times are.
func TestConstantsAreNotNegative(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		points := summing.grid(contexts, batches[:4])
		for i := range points {
			points[i].Seconds = math.Exp(4*rng.Float64()) * 1e-4
		}
		f, err := Fit(points, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range f.Terms {
			if !(x.SecondsPer >= 0 && x.Lo >= 0 && x.Lo <= x.Hi) || (x.PerSecond == nil) != (x.SecondsPer == 0) {
				t.Fatalf("%+v", x)
			}
		}
	}
}

// The answer is the best of all x of at least 0: no step along an axis, or away
// from 0, makes it better.
func TestNonNegativeLeastSquares(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		n, p := 12, 1+rng.IntN(5)
		a, y := make([][]float64, p), make([]float64, n)
		for j := range a {
			a[j] = make([]float64, n)
			for i := range a[j] {
				a[j][i] = rng.Float64()
			}
		}
		for i := range y {
			y[i] = rng.NormFloat64()
		}
		x := nonNegative(a, y)
		left := slices.Clone(y)
		for j := range a {
			for i := range left {
				left[i] -= x[j] * a[j][i]
			}
		}
		for j := range a {
			slope := dot(a[j], left) // Kuhn and Tucker: 0 where x is above 0, not above 0 elsewhere
			if x[j] < 0 || slope > 1e-9 || x[j] > 0 && slope < -1e-9 {
				t.Fatalf("x = %v, slope %g in column %d", x, slope, j)
			}
		}
	}
}

// Times that scatter by 5 % give intervals of which about 90 % hold the constant:
// of 200 seeds at least 160 do, 4.7 standard errors below 90 %. It cannot fail by
// chance: the seeds are fixed.
func TestIntervalsHoldTheConstant(t *testing.T) {
	held, half := 0, 0.0
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 9))
		points := summing.grid(contexts, batches)
		for i := range points {
			points[i].Seconds *= math.Exp(0.05 * rng.NormFloat64())
		}
		f, err := Fit(points, Options{Seed: seed, Form: "sum"})
		if err != nil {
			t.Fatal(err)
		}
		c := term(t, f, "cache")
		if c.Lo <= summing.cache && summing.cache <= c.Hi {
			held++
		}
		half += (c.Hi - c.Lo) / summing.cache / 200
	}
	t.Logf("%d of 200 intervals hold the constant; they are %.3g of it wide", held, half)
	if held < 160 || !(half < 0.3) {
		t.Errorf("%d of 200 intervals hold the constant; they are %g of it wide", held, half)
	}
}

// Points in which the machine did something else do not carry the fit away.
func TestOutliersCountLittle(t *testing.T) {
	points := summing.grid(contexts, batches)
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range points {
		points[i].Seconds *= math.Exp(0.02 * rng.NormFloat64())
	}
	points[3].Seconds *= 8
	points[17].Seconds *= 5
	f, err := Fit(points, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := term(t, f, "cache").SecondsPer; !(math.Abs(got/summing.cache-1) < 0.1) {
		t.Errorf("cache: %g, want about %g", got, summing.cache)
	}
	if !(f.MedianResidual < 0.05 && f.MostResidual > 3) {
		t.Errorf("residuals: median %g, most %g", f.MedianResidual, f.MostResidual)
	}
}

func TestPredictionsSayWhenTheyExtrapolate(t *testing.T) {
	points := hiding.grid(contexts, batches)
	f, err := Fit(points, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		context, batch int
		beyond         bool
	}{{0, 1, false}, {100, 3, false}, {224, 32, false}, {225, 32, true}, {1000, 8, true}, {64, 33, true}, {64, 256, true}} {
		p, err := f.Predict(c.context, c.batch)
		if err != nil {
			t.Fatal(err)
		}
		if want := hiding.point(c.context, c.batch); !close6(p.Seconds, want.Seconds) || !close6(p.Cache+1, want.Cache+1) || !close6(p.Weights, want.Weights) || (p.Beyond != "") != c.beyond {
			t.Errorf("%+v: %+v, want %+v", c, p, want)
		}
		if !(p.Lo <= p.Seconds*(1+1e-6) && p.Hi >= p.Seconds*(1-1e-6)) {
			t.Errorf("%+v: %g is outside of [%g, %g]", c, p.Seconds, p.Lo, p.Hi)
		}
	}
	for _, c := range [][2]int{{-1, 1}, {1, 0}} {
		if _, err := f.Predict(c[0], c[1]); fault.KindOf(err) != fault.Usage {
			t.Errorf("%v: got %v", c, err)
		}
	}
}

// Attention shows in a prefill where there are points enough; in between, counts
// are lines by token.
func TestPrefill(t *testing.T) {
	at := func(c int, attention float64) Point {
		n := float64(c)
		p := Point{Context: c, Batch: 1, Linear: 4e6*n + 3000*n*n, Cache: 6144 * n * n / 2}
		p.Seconds = 2e-4 + 1e-11*p.Linear + attention*p.Cache
		return p
	}
	for name, c := range map[string]struct {
		attention float64
		contexts  []int
		terms     []string
	}{
		"without attention": {0, []int{32, 64, 128, 256}, []string{"arithmetic", "step"}},
		"with attention":    {1e-10, []int{32, 48, 64, 96, 128, 192, 256}, []string{"arithmetic", "cache", "step"}},
	} {
		t.Run(name, func(t *testing.T) {
			var points []Point
			for _, n := range c.contexts {
				points = append(points, at(n, c.attention))
			}
			f, err := Fit(points, Options{Prefill: true})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, x := range f.Terms {
				got = append(got, x.Name)
			}
			if !reflect.DeepEqual(got, c.terms) || !close6(term(t, f, "arithmetic").SecondsPer, 1e-11) || !close6(term(t, f, "step").SecondsPer, 2e-4) {
				t.Errorf("%+v", f.Terms)
			}
			for _, n := range []int{32, 100, 1000} {
				p, err := f.Predict(n, 1)
				if want := at(n, c.attention); err != nil || !close6(p.Seconds, want.Seconds) || (p.Beyond != "") != (n > 256) {
					t.Errorf("%d tokens: %+v (%v), want %+v", n, p, err, want)
				}
			}
		})
	}
}

// A backend that counts nothing leaves offsets and the tokens held.
func TestUncounted(t *testing.T) {
	var points []Point
	for _, c := range contexts {
		for _, b := range batches {
			points = append(points, Point{Context: c, Batch: b, Cache: float64(c * b), Seconds: 1e-4 + 2e-5*float64(b) + 1e-6*float64(b*c)})
		}
	}
	f, err := Fit(points, Options{Uncounted: true})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"step": 1e-4, "row": 2e-5, "cache": 1e-6} {
		if got := term(t, f, name); !close6(got.SecondsPer, want) || name == "cache" && got.Unit != "token" {
			t.Errorf("%+v, want %g", got, want)
		}
	}
}

func TestTheSameSeedGivesTheSameFit(t *testing.T) {
	points := summing.grid(contexts, batches)
	for i := range points {
		points[i].Seconds *= 1 + 0.1*math.Sin(float64(i))
	}
	a, err := Fit(points, Options{Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	b, _ := Fit(points, Options{Seed: 3})
	c, _ := Fit(points, Options{Seed: 4})
	if !reflect.DeepEqual(a.Terms, b.Terms) || reflect.DeepEqual(a.Terms, c.Terms) {
		t.Errorf("seed 3 gives %+v and %+v, seed 4 %+v", a.Terms, b.Terms, c.Terms)
	}
}

func TestFitRefuses(t *testing.T) {
	good := summing.grid(contexts, batches)
	with := func(change func(*Point)) []Point {
		p := slices.Clone(good)
		change(&p[2])
		return p
	}
	for name, c := range map[string]struct {
		points []Point
		opt    Options
	}{
		"no points":       {nil, Options{}},
		"one point":       {good[:1], Options{}},
		"no time":         {with(func(p *Point) { p.Seconds = 0 }), Options{}},
		"NaN seconds":     {with(func(p *Point) { p.Seconds = math.NaN() }), Options{}},
		"endless":         {with(func(p *Point) { p.Seconds = math.Inf(1) }), Options{}},
		"bytes below 0":   {with(func(p *Point) { p.Cache = -1 }), Options{}},
		"NaN FLOP":        {with(func(p *Point) { p.Linear = math.NaN() }), Options{}},
		"no sequences":    {with(func(p *Point) { p.Batch = 0 }), Options{}},
		"level":           {good, Options{Level: 1}},
		"an unknown form": {good, Options{Form: "spilt"}},
	} {
		if _, err := Fit(c.points, c.opt); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func BenchmarkFit(b *testing.B) {
	points := hiding.grid(contexts, batches)
	for i := range points {
		points[i].Seconds *= 1 + 0.1*math.Sin(float64(i))
	}
	for b.Loop() {
		if _, err := Fit(points, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
