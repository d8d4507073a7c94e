package plots

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"lab/core/fault"
)

// A power law met between its points is met exactly, however wide they lie apart.
func TestMeetsIsExactForPowers(t *testing.T) {
	for _, power := range []float64{0.3, 1, 2.5} {
		x := []float64{1, 7, 1000, 1e6}
		y := mapped(x, func(v float64) float64 { return 3 * math.Pow(v, power) })
		for _, at := range []float64{1, 2, 7, 500, 1e5, 1e6} {
			level := 3 * math.Pow(at, power)
			const tol = 1e-12 // a few roundings of logarithms and exponentials
			if got := meets(x, y, level); !(math.Abs(got/at-1) <= tol) {
				t.Errorf("power %g: level %g is met at %v, want %v", power, level, got, at)
			}
			if got := valueAt(x, y, at); !(math.Abs(got/level-1) <= tol) {
				t.Errorf("power %g: value at %g is %v, want %v", power, at, got, level)
			}
		}
	}
}

func TestMeetsEnds(t *testing.T) {
	x, y := []float64{1, 2, 4}, []float64{10, 20, 40}
	rows := []struct {
		name     string
		x, y     []float64
		level, w float64
	}{
		{"above from the start", x, y, 5, math.Inf(-1)},
		{"at the first point", x, y, 10, 1},
		{"never", x, y, 41, inf},
		{"over an undefined point", x, []float64{10, nan, 40}, 20, 2},
		{"no points", nil, nil, 5, nan},
		{"an undefined level", x, y, nan, nan},
		{"zeros are passed over", x, []float64{0, 0, 40}, 40, 4},
	}
	for _, r := range rows {
		if got := meets(r.x, r.y, r.level); got != r.w && !(math.IsNaN(got) && math.IsNaN(r.w)) && !(math.Abs(got-r.w) <= 1e-12) {
			t.Errorf("%s: %v, want %v", r.name, got, r.w)
		}
	}
}

// The front is what its definition says, over many small grids with ties.
func TestFrontIsWhatNothingBeats(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		points := make([]tradeOff, r.IntN(12))
		for i := range points {
			points[i] = tradeOff{Cost: float64(r.IntN(5)), Gain: float64(r.IntN(5))}
			if r.IntN(10) == 0 {
				points[i].Gain = nan
			}
		}
		got := front(points)
		for i, p := range points {
			want := defined(p.Gain)
			for _, q := range points {
				if defined(q.Gain) && q.Cost <= p.Cost && q.Gain >= p.Gain && (q.Cost < p.Cost || q.Gain > p.Gain) {
					want = false
				}
			}
			if got[i] != want {
				t.Fatalf("%v: point %d is %v, want %v", points, i, got[i], want)
			}
		}
	}
}

// Twice the training cost moves the crossover to twice the tokens, and its band
// with it: inference is proportional to tokens.
func TestCrossoverIsProportional(t *testing.T) {
	d := exampleLifetime()
	one, err := d.find()
	if err != nil {
		t.Fatal(err)
	}
	d.Training, d.TrainingLo, d.TrainingHi = 2*d.Training, 2*d.TrainingLo, 2*d.TrainingHi
	two, err := d.find()
	if err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2]float64{{one.at, two.at}, {one.early, two.early}, {one.late, two.late}} {
		if !(math.Abs(pair[1]/pair[0]-2) <= 1e-12) { // roundings of an interpolation
			t.Errorf("%v and %v, want twice", pair[0], pair[1])
		}
	}
	if want := 3 * exampleTrained; !(math.Abs(one.at/want-1) <= 1e-12) {
		t.Errorf("the crossover is %v, want 3 D = %v (F28)", one.at, want)
	}
}

// What is drawn of a memory limit adds up: the model's points are all in one of
// the two parts, and the limit is in both.
func TestBatchIsSplitAtTheLimit(t *testing.T) {
	s := CostBatchSeries{Batch: []float64{1, 4, 16}, StepMS: []float64{1, 2, 4}, Limit: 8}
	within, beyond := s.split()
	if len(within[0]) != 3 || within[0][2] != 8 || len(beyond[0]) != 2 || beyond[0][0] != 8 || beyond[1][0] != within[1][2] {
		t.Errorf("within %v, beyond %v", within, beyond)
	}
	s.Limit = 4
	if within, beyond = s.split(); len(within[0]) != 2 || len(beyond[0]) != 2 {
		t.Errorf("at a point: within %v, beyond %v", within, beyond)
	}
}

// A cost figure takes any numbers and any words: it draws them or refuses them.
func FuzzCostFiguresNeverPanic(f *testing.F) {
	f.Add([]byte{200, 100, 50, 220}, "a b", 0.5, 3)
	f.Add([]byte{0, 1, 2, 3, 200}, "\xff\u202e\n", math.NaN(), -1)
	f.Add([]byte{}, "", 0.0, 0)
	f.Add([]byte{255}, "x", 1.0, 1)
	f.Add([]byte{10, 20, 30, 40, 50, 60, 70, 80}, "2026-01-01", 1e12, 2)
	f.Fuzz(func(t *testing.T, data []byte, text string, v float64, n int) {
		if len(data) > 60 {
			data = data[:60]
		}
		y := floats(data)
		x := make([]float64, len(y))
		for i := range x {
			x[i] = float64(i+1) * 3
		}
		basis := CostBasis{Formulas: []string{text}, Conventions: text}
		bars := []CostBar{{Name: text, Values: y, Total: v}, {Name: text + "2", Values: y}}
		parts := make([]string, len(y))
		for i := range parts {
			parts[i] = text + string(rune('a'+i))
		}
		o := Options{Width: 3.5}
		figures := []func() (*Figure, error){
			func() (*Figure, error) {
				return CostLifetime(CostLifetimeData{Model: text, Unit: text, Training: v, Tokens: x, Inference: y, Days: y, Start: text, Reach: v, TokensPerQuery: v, TrainingTokens: v, CostBasis: basis}, o)
			},
			func() (*Figure, error) {
				return CostBatch(CostBatchData{Series: []CostBatchSeries{{Name: text, Batch: x, StepMS: y, Limit: v, Measured: x, MeasuredMS: y}}, Critical: v}, o)
			},
			func() (*Figure, error) {
				return CostContext(CostContextData{Unit: text, Series: []CostContextSeries{{Name: text, Context: x, Cost: y, Marks: []CostMark{{v, text}}}}}, o)
			},
			func() (*Figure, error) {
				return CostStep(CostStepData{Over: text, Parts: parts, Bars: bars, Repeats: n}, o)
			},
			func() (*Figure, error) {
				return CostFrontier(CostFrontierData{Unit: text, Price: n > 0, Budget: v, Series: []CostFrontierSeries{{Name: text, Batch: x, PerUser: y, Y: x}}}, o)
			},
			func() (*Figure, error) {
				return CostRoofline(CostRooflineData{Roofs: []CostRoof{{text, v, 2}}, Points: []CostRoofPoint{{text, v, math.NaN(), n}}}, o)
			},
			func() (*Figure, error) {
				return CostQuality(CostQualityData{Quality: Quantity{Name: text, Log: n > 0}, Unit: text, Series: []CostQualitySeries{{Name: text, Cost: x, Quality: y, N: parts}}, Seeds: n}, o)
			},
			func() (*Figure, error) {
				return CostBill(CostBillData{Unit: text, Parts: parts, Bars: bars, PriceDate: text}, o)
			},
			func() (*Figure, error) {
				return CostGrowth(CostGrowthData{Levels: []CostGrowthLevel{{text, x, y}}, Products: []CostProduct{{text, v, v}}, Start: text}, o)
			},
			func() (*Figure, error) {
				return CostOptimum(CostOptimumData{Quality: text, Panels: []CostOptimumPanel{{text, []CostOptimumCurve{{text, x, y}}, v, v}}}, o)
			},
			func() (*Figure, error) {
				return CostSpeculative(CostSpeculativeData{Alpha: []float64{0.1, v}, Gamma: []float64{1, float64(n)}, Panels: []CostSpeculativePanel{{text, [][]float64{{v, 1}, {2, v}}, []CostSpeculativePoint{{text, v, v, v}}}}}, o)
			},
			func() (*Figure, error) {
				return CostDrivers(CostDriversData{Outcome: Quantity{Name: text, Log: n > 0}, Median: v, Factors: []CostFactor{{text, v, 2, text, text, true}, {text + "2", 1, v, "", "", false}}}, o)
			},
		}
		for i, draw := range figures {
			fig, err := draw()
			if err != nil {
				if fault.KindOf(err) == fault.Internal {
					t.Errorf("figure %d: %v", i, err)
				}
				continue
			}
			insidePage(t, fig)
			nothingOverlaps(t, fig)
			if err := fig.Table().CSV(&bytes.Buffer{}); err != nil {
				t.Errorf("figure %d: %v", i, err)
			}
		}
	})
}
