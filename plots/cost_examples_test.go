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
