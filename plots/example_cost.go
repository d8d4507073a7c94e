package plots

import (
	"fmt"
	"math"
)

// The examples of the cost figures: closed formulas with the dimensions of an
// 8-billion model on one accelerator, so that every run draws the same. The
// formulas themselves are tested in core/cost; here they only make curves.

const (
	exampleParams    = 8.03e9
	exampleTrained   = 15e12 // tokens
	examplePeak      = 989e12
	exampleBandwidth = 3.35e12
	exampleCache     = 131072 // bytes per token
)

func logSpace(from, to float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.Exp(math.Log(from) + float64(i)/float64(n-1)*math.Log(to/from))
	}
	return out
}

func mapped(v []float64, f func(float64) float64) []float64 {
	out := make([]float64, len(v))
	for i := range v {
		out[i] = f(v[i])
	}
	return out
}

var exampleBasis = CostBasis{Formulas: []string{"F5", "F9"}, Conventions: "causal, 2 FLOP per multiply-add, dense peak, M = 8.03 G"}

func exampleLifetime() CostLifetimeData {
	const perToken = 2 * exampleParams
	d := CostLifetimeData{
		Model: "8 B model", Unit: "FLOP", Training: 6 * exampleParams * exampleTrained,
		Tokens: logSpace(1e11, 1e16, 60), Interval: "5 to 95 % over served size and prompt share",
		TokensPerQuery: 700, Start: "2026-01-01", TrainingTokens: exampleTrained,
		CostBasis: CostBasis{Formulas: []string{"F3", "F5", "F28", "F29"}, Conventions: exampleBasis.Conventions},
	}
	d.TrainingLo, d.TrainingHi = 0.95*d.Training, 1.33*d.Training
	d.Inference = mapped(d.Tokens, func(t float64) float64 { return perToken * t })
	d.Lo = mapped(d.Tokens, func(t float64) float64 { return 0.7 * perToken * t })
	d.Hi = mapped(d.Tokens, func(t float64) float64 { return 1.6 * perToken * t })
	d.Days = mapped(d.Tokens, func(t float64) float64 { return math.Log1p(0.0013*t/1.4e11) / 0.0013 })
	return d
}

// exampleStep is the time of a step in ms at a batch and a context.
func exampleStep(batch, context float64) float64 {
	cache := batch * context * exampleCache / exampleBandwidth
	return 1000 * (cache + math.Max(2*exampleParams*batch/examplePeak, 2*exampleParams/exampleBandwidth))
}

func exampleBatch(contexts ...float64) CostBatchData {
	d := CostBatchData{Critical: examplePeak / exampleBandwidth, Interval: "5 to 95 % of 200 steps", CostBasis: CostBasis{Formulas: []string{"F9", "F13"}, Conventions: exampleBasis.Conventions}}
	for i, c := range contexts {
		s := CostBatchSeries{Name: fmt.Sprintf("context %g", c), Batch: logSpace(1, 1024, 41), Limit: math.Floor(60e9 / (c * exampleCache))}
		s.StepMS = mapped(s.Batch, func(b float64) float64 { return exampleStep(b, c) })
		if i == 0 {
			s.Measured = []float64{1, 4, 16, 64, 128}
			s.MeasuredMS = mapped(s.Measured, func(b float64) float64 { return 1.3*exampleStep(b, c) + 0.6 })
			s.Lo = mapped(s.MeasuredMS, func(m float64) float64 { return 0.96 * m })
			s.Hi = mapped(s.MeasuredMS, func(m float64) float64 { return 1.12 * m })
		}
		d.Series = append(d.Series, s)
	}
	return d
}

func exampleContext(names ...string) CostContextData {
	d := CostContextData{Unit: "FLOP", CostBasis: CostBasis{Formulas: []string{"F3", "F7"}, Conventions: exampleBasis.Conventions}}
	if len(names) == 0 {
		names = []string{"MHA", "GQA", "window 4k", "latent"}
	}
	for i, n := range names {
		per := []float64{5.2e5, 5.2e5, 5.2e5, 2.9e5}[i%4] * (1 + 0.4*float64(i/4))
		s := CostContextSeries{Name: n, Context: logSpace(256, 131072, 40)}
		s.Cost = mapped(s.Context, func(c float64) float64 {
			if i%4 == 2 {
				c = math.Min(c, 4096)
			}
			return 2*exampleParams*(1+0.12*float64(i)) + per*c*(1+0.6*float64(1-min(i, 1)))
		})
		if i == 0 {
			s.Marks = []CostMark{{At: 19300, Label: "attention = weights"}}
		}
		if i%4 == 2 {
			s.Marks = []CostMark{{At: math.Inf(1), Label: "attention = weights"}}
		}
		d.Series = append(d.Series, s)
	}
	return d
}

func exampleStepTime() CostStepData {
	d := CostStepData{Over: "context", Parts: []string{"weights", "cache", "compute", "communication", "sampler", "plugin call"},
		Interval: "5 to 95 %", Repeats: 200, CostBasis: CostBasis{Formulas: []string{"F9", "F10", "F23"}, Conventions: exampleBasis.Conventions}}
	for _, c := range []float64{512, 2048, 8192, 32768} {
		v := []float64{4.8, 8 * c * exampleCache / exampleBandwidth * 1000, 0.3, 0.25, 0.18, 0.42}
		b := CostBar{Name: fmt.Sprint(c), Values: v}
		sum, _ := b.sum()
		b.Total, b.Lo, b.Hi = 1.14*sum+0.3, 1.1*sum, 1.25*sum+0.4
		d.Bars = append(d.Bars, b)
	}
	return d
}

func exampleFrontier(names ...string) CostFrontierData {
	if len(names) == 0 {
		names = []string{"bf16", "int8", "int8 + draft"}
	}
	d := CostFrontierData{Unit: "USD per million tokens", Price: true, Budget: 50, CostBasis: CostBasis{Formulas: []string{"F9", "F13", "F16"}, Conventions: exampleBasis.Conventions}}
	for i, n := range names {
		s := CostFrontierSeries{Name: n, Measured: i == 1}
		for _, b := range []float64{1, 4, 16, 64, 256, 512} {
			ms := exampleStep(b, 2048) * (1 - 0.35*float64(min(i, 1))) * (1 + 0.15*float64(max(i-1, 0))*math.Log2(b)/3)
			if i == 2 {
				ms *= 0.55
			}
			s.Batch, s.PerUser = append(s.Batch, b), append(s.PerUser, 1000/ms)
			s.Y, s.Fits = append(s.Y, 2.5/3600/(1000*b/ms)*1e6), append(s.Fits, b <= 256)
		}
		d.Series = append(d.Series, s)
	}
	return d
}

func exampleRoofline() CostRooflineData {
	d := CostRooflineData{Roofs: []CostRoof{{"H100 bf16", examplePeak, exampleBandwidth}, {"A100 bf16", 312e12, 2.04e12}},
		CostBasis: CostBasis{Formulas: []string{"F8"}, Conventions: exampleBasis.Conventions}}
	for _, b := range []float64{1, 8, 64, 256} {
		d.Points = append(d.Points, CostRoofPoint{Name: fmt.Sprintf("decode, batch %g", b), Intensity: b, Rate: math.NaN()})
	}
	d.Points = append(d.Points, CostRoofPoint{"prefill 2048", 2000, 610e12, 0}, CostRoofPoint{"decode attention", 4, 9.1e12, 0}, CostRoofPoint{"decode, batch 8", 8, 12e12, 1})
	return d
}

func exampleQuality(names ...string) CostQualityData {
	if len(names) == 0 {
		names = []string{"vote of n", "best of n", "beam"}
	}
	d := CostQualityData{Quality: Quantity{Name: "accuracy", Unit: "share"}, Unit: "FLOP", Seeds: 5, Interval: "95 % over seeds",
		CostBasis: CostBasis{Formulas: []string{"F20", "F21", "F22"}, Conventions: exampleBasis.Conventions}}
	for i, n := range names {
		s := CostQualitySeries{Name: n}
		for _, k := range []float64{1, 2, 4, 8, 16} {
			judge := 1 + 0.4*float64(i%2)
			s.Cost = append(s.Cost, 3e12*k*judge)
			q := 0.42 + (0.10+0.04*float64(i%3))*math.Log2(k) - 0.012*float64(i%3)*math.Pow(math.Log2(k), 2) - 0.02*float64(i%3)
			s.Quality = append(s.Quality, q)
			s.Lo, s.Hi = append(s.Lo, q-0.03), append(s.Hi, q+0.025)
			s.N = append(s.N, fmt.Sprint(k))
		}
		d.Series = append(d.Series, s)
	}
	return d
}

func exampleBill() CostBillData {
	d := CostBillData{Unit: "USD", PriceDate: "2026-11-30", Parts: []string{"new prompt", "cached", "write", "output", "reasoning", "rejected", "judge"},
		CostBasis: CostBasis{Formulas: []string{"F16", "F20"}, Conventions: "list prices, input and output"}}
	d.Bars = []CostBar{
		{Name: "greedy", Values: []float64{0.0016, 0, 0, 0.0040, 0, 0, 0}},
		{Name: "cached prompt", Values: []float64{0.0002, 0.00014, 0, 0.0040, 0, 0, 0}, Total: 0.0044},
		{Name: "best of 4", Values: []float64{0.0016, 0, 0, 0.0040, 0, 0.0120, 0.0031}},
		{Name: "reasoning", Values: []float64{0.0016, 0, 0, 0.0040, 0.0180, 0, 0}},
	}
	return d
}

func exampleGrowth() CostGrowthData {
	d := CostGrowthData{Start: "2026-01-01", Products: []CostProduct{{"chat product", 0.08, 210}, {"internal tool", -0.02, 900}},
		CostBasis: CostBasis{Formulas: []string{"F28", "F29"}, Conventions: exampleBasis.Conventions}}
	for _, q := range []float64{2e11, 2e10, 4e9} {
		l := CostGrowthLevel{Name: fmt.Sprintf("%.3gG tokens/day", q/1e9)}
		for g := -0.3; g < 0.405; g += 0.01 {
			rate := math.Log1p(g) / 30.4
			x := rate * 45e12 / q
			days := math.Log1p(x) / rate
			if math.Abs(rate) < 1e-9 {
				days = 45e12 / q
			}
			if x <= -1 {
				days = math.Inf(1)
			}
			l.Growth, l.Days = append(l.Growth, g), append(l.Days, days)
		}
		d.Levels = append(d.Levels, l)
	}
	return d
}

func exampleOptimum(sets int) CostOptimumData {
	d := CostOptimumData{Quality: "loss of a 13 B model trained to its optimum", CostBasis: CostBasis{Formulas: []string{"F24", "F25", "F26", "F27"}, Conventions: "6 N D + 2 N Q"}}
	for i := range sets {
		const a, b = 406.4, 410.7
		alpha, beta := 0.336+0.006*float64(i), 0.283+0.02*float64(i)
		n0 := 13e9
		d0 := math.Pow(beta*b*math.Pow(n0, alpha)/(alpha*a), 1/beta)
		loss := a*math.Pow(n0, -alpha) + b*math.Pow(d0, -beta)
		p := CostOptimumPanel{Name: []string{"Hoffmann 2022", "Besiroglu 2024", "third set"}[i%3], Params: n0, FLOP: 6 * n0 * d0}
		if i > 2 {
			p.Name += fmt.Sprint(" ", i)
		}
		for _, q := range []float64{1e11, 2e12, 1e13} {
			k := CostOptimumCurve{Name: fmt.Sprintf("%gT tokens served", q/1e12), Params: logSpace(1.5e9, 4e10, 80)}
			k.FLOP = mapped(k.Params, func(n float64) float64 {
				rest := loss - a*math.Pow(n, -alpha)
				if rest <= 0 {
					return math.NaN()
				}
				t := math.Pow(b/rest, 1/beta)
				return 6*n*t + 2*n*q
			})
			p.Curves = append(p.Curves, k)
		}
		d.Panels = append(d.Panels, p)
	}
	return d
}

func exampleSpeculative() CostSpeculativeData {
	d := CostSpeculativeData{CostBasis: CostBasis{Formulas: []string{"F17", "F18", "F19"}, Conventions: "independent acceptance, draft step 0.1 of a target step"}}
	for a := 0; a <= 20; a++ {
		d.Alpha = append(d.Alpha, float64(a)/20)
	}
	for g := 1; g <= 10; g++ {
		d.Gamma = append(d.Gamma, float64(g))
	}
	for i, v := range []func(float64) float64{func(float64) float64 { return 1 }, func(float64) float64 { return 2 }, func(g float64) float64 { return g + 1 }} {
		p := CostSpeculativePanel{Name: []string{"v = 1", "v = 2", "v = γ + 1"}[i]}
		for _, g := range d.Gamma {
			row := mapped(d.Alpha, func(a float64) float64 {
				e := g + 1
				if a < 1 {
					e = (1 - math.Pow(a, g+1)) / (1 - a)
				}
				return e / (0.1*g + v(g))
			})
			p.Speedup = append(p.Speedup, row)
		}
		d.Panels = append(d.Panels, p)
	}
	d.Panels[0].Measured = []CostSpeculativePoint{{"tiny", 0.72, 4, 1.9}}
	return d
}

func exampleDrivers() CostDriversData {
	return CostDriversData{Outcome: Quantity{Name: "crossover", Unit: "tokens", Log: true}, Median: 45e12,
		Factors: []CostFactor{
			{"recomputation in training", 45e12, 60e12, "none", "full", true},
			{"serving MFU", 9e12, 67e12, "0.04", "0.30", false},
			{"training MFU", 60e12, 36e12, "0.30", "0.50", false},
			{"price of a chip hour", 33e12, 58e12, "USD 1.9", "USD 3.4", false},
			{"served model", 45e12, math.Inf(1), "same", "distilled", true},
		}, CostBasis: CostBasis{Formulas: []string{"F28", "F33"}, Conventions: exampleBasis.Conventions}}
}
