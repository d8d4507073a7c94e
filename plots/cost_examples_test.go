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
			s.Y, s.Full = append(s.Y, 2.5/3600/(1000*b/ms)*1e6), append(s.Full, b > 256)
		}
		d.Series = append(d.Series, s)
	}
	return d
}

func exampleRoofline() CostRooflineData {
	d := CostRooflineData{Roofs: []CostRoof{{"H100 bf16", examplePeak, exampleBandwidth}, {"A100 bf16", 312e12, 2.04e12}},
		CostBasis: CostBasis{Formulas: []string{"F8"}, Conventions: exampleBasis.Conventions}}
	for _, b := range []float64{1, 8, 64, 256} {
		d.Points = append(d.Points, CostRoofPoint{Name: fmt.Sprintf("decode, batch %g", b), Intensity: b, Rate: nan})
	}
	d.Points = append(d.Points, CostRoofPoint{"prefill 2048", 2000, 610e12, 0}, CostRoofPoint{"decode attention", 4, 9.1e12, 0}, CostRoofPoint{"decode, batch 8", 8, 12e12, 1})
	return d
}
