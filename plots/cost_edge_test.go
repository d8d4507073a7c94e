package plots

import (
	"math"
	"strings"

	"lab/core/fault"
)

// costEdges returns the edge rows of the cost figures.
func costEdges() map[string][]edge {
	return map[string][]edge{
		costLifetimeName: costLifetimeEdges(), costBatchName: costBatchEdges(),
		costContextName: costContextEdges(), costStepName: costStepEdges(),
		costFrontierName: costFrontierEdges(), costRooflineName: costRooflineEdges(),
		costQualityName: costQualityEdges(), costBillName: costBillEdges(), costGrowthName: costGrowthEdges(),
		costOptimumName: costOptimumEdges(), costSpeculativeName: costSpeculativeEdges(), costDriversName: costDriversEdges(),
	}
}

var (
	nan      = math.NaN()
	inf      = math.Inf(1)
	longName = strings.Repeat("a very long name ", 12) + "\u202e\n\xff"
)

// with draws a figure of changed example data.
func with[D any](draw func(D, Options) (*Figure, error), data func() D, change func(*D)) func(Options) (*Figure, error) {
	return func(o Options) (*Figure, error) {
		d := data()
		if change != nil {
			change(&d)
		}
		return draw(d, o)
	}
}

func narrow(draw func(Options) (*Figure, error)) func(Options) (*Figure, error) {
	return func(o Options) (*Figure, error) { o.Width = 3.5; return draw(o) }
}

func constant(n int, v float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

func costLifetimeEdges() []edge {
	of := func(change func(*CostLifetimeData)) func(Options) (*Figure, error) {
		return with(CostLifetime, exampleLifetime, change)
	}
	short := func(d *CostLifetimeData, tokens, cost []float64) {
		d.Tokens, d.Inference, d.Lo, d.Hi, d.Days = tokens, cost, nil, nil, nil
	}
	return []edge{
		{name: "example", draw: of(nil), says: []string{"inference passes training after 45T tokens, on 26 Sep 2026", "3 D = 45T tokens", "queries", "Formulas F3, F5, F28, F29",
			"With the bands the crossover lies between 26.7T and 85.5T tokens."}},
		{name: "no points", draw: of(func(d *CostLifetimeData) { *d = CostLifetimeData{} }), says: []string{"no data (no points)", "tokens served (log scale)", "Formulas and conventions not stated."}},
		{name: "one point below", draw: of(func(d *CostLifetimeData) { short(d, []float64{1e12}, []float64{1e20}) }), says: []string{"does not pass training within 1T tokens", "never within this range"}},
		{name: "all equal", draw: of(func(d *CostLifetimeData) {
			short(d, []float64{1e12, 2e12}, []float64{7e23, 7e23})
			d.Training = 7e23
			d.TrainingLo, d.TrainingHi = 0, 0
		}), says: []string{"after 1T tokens"}},
		{name: "all undefined", draw: of(func(d *CostLifetimeData) { short(d, []float64{1, 2}, []float64{nan, inf}) }), says: []string{"no data (all 2 points undefined)"}},
		{name: "NaN breaks the line", draw: of(func(d *CostLifetimeData) { d.Inference[30], d.Inference[31] = nan, inf }), says: []string{"2 of 60 points are undefined and left out."}},
		{name: "zero on the log axis", draw: of(func(d *CostLifetimeData) { d.Inference[0], d.Lo[0] = 0, 0 }), says: []string{"1 value of exactly 0 has no place on a logarithmic axis and is left out."}},
		{name: "an interval down to zero", draw: of(func(d *CostLifetimeData) { d.Lo[3], d.Lo[4] = 0, nan }), says: []string{"1 interval reaches zero or below and ends at the edge of the logarithmic axis.", "1 interval is undefined and not drawn."}},
		{name: "passed from the start", draw: of(func(d *CostLifetimeData) { d.Training, d.TrainingLo, d.TrainingHi = 1e20, 0, 0 }), says: []string{"costs more than training from the first point on"}},
		{name: "demand ends", draw: of(func(d *CostLifetimeData) { d.Reach = 2e13 }), says: []string{"never passes training: demand ends at 20T of 45T tokens", "never served"}},
		{name: "a band that reaches never", draw: of(func(d *CostLifetimeData) { d.Reach = 6e13 }), says: []string{"between 26.7T and never in this range tokens"}},
		{name: "50,000 points", draw: of(func(d *CostLifetimeData) {
			x := logSpace(1e11, 1e16, 50000)
			short(d, x, mapped(x, func(t float64) float64 { return 1.606e10 * t }))
		}), says: []string{"after 45T tokens"}},
		{name: "long and hostile name", draw: of(func(d *CostLifetimeData) { d.Model, d.Unit, d.Interval = longName, longName, longName }), says: []string{"tokens served"}},
		{name: "narrow column", draw: narrow(of(nil)), says: []string{"45T tokens"}},
		{name: "negative cost", draw: of(func(d *CostLifetimeData) { d.Inference[2] = -1 }), kind: fault.Data, err: "figure cost_lifetime: inference: cost of point 2 is negative (-1)"},
		{name: "tokens fall", draw: of(func(d *CostLifetimeData) { d.Tokens[2] = 1 }), kind: fault.Data, err: "tokens of point 2 is 1 after"},
		{name: "lengths differ", draw: of(func(d *CostLifetimeData) { d.Inference = d.Inference[1:] }), kind: fault.Data, err: "59 values of cost for 60 points"},
		{name: "interval upside down", draw: of(func(d *CostLifetimeData) { d.Lo[1] = 1e30 }), kind: fault.Data, err: "the interval of cost at point 1 runs from 1e+30 down to"},
		{name: "free training", draw: of(func(d *CostLifetimeData) { d.Training, d.TrainingLo, d.TrainingHi = 0, 0, 0 }), kind: fault.Usage, err: "cost of training: 0 is not a number above zero"},
		{name: "training outside its band", draw: of(func(d *CostLifetimeData) { d.TrainingHi = 1 }), kind: fault.Data, err: "is not within its band"},
		{name: "no date", draw: of(func(d *CostLifetimeData) { d.Start = "1 May" }), kind: fault.Usage, err: `start: "1 May" is no date; write it as in 2026-12-31`},
	}
}

func costBatchEdges() []edge {
	of := func(change func(*CostBatchData)) func(Options) (*Figure, error) {
		return with(CostBatch, func() CostBatchData { return exampleBatch(2048, 8192, 32768) }, change)
	}
	one := func(s CostBatchSeries) func(Options) (*Figure, error) {
		return of(func(d *CostBatchData) { *d = CostBatchData{Series: []CostBatchSeries{s}} })
	}
	return []edge{
		{name: "example", draw: of(nil), says: []string{"critical batch 295", "memory is full", "measured", "Dots: 5 measurements, whiskers 5 to 95 % of 200 steps.", "From batch 1 to 223 throughput grows ×47.9"}},
		{name: "no series", draw: of(func(d *CostBatchData) { d.Series = nil }), says: []string{"no data (no series)", "batch, sequences"}},
		{name: "no points", draw: one(CostBatchSeries{}), says: []string{"no data (no points)"}},
		{name: "one point", draw: one(CostBatchSeries{Batch: []float64{1}, StepMS: []float64{3}}), says: []string{"Nothing was measured."}},
		{name: "measurements alone", draw: one(CostBatchSeries{Measured: []float64{1, 2}, MeasuredMS: []float64{3, 4}}), says: []string{"Dots: 2 measurements."}},
		{name: "all equal", draw: one(CostBatchSeries{Batch: []float64{1, 2, 4}, StepMS: []float64{3, 3, 3}}), says: []string{"throughput grows ×4 while a step takes ×1 the time"}},
		{name: "all undefined", draw: one(CostBatchSeries{Batch: []float64{1, 2}, StepMS: []float64{nan, inf}}), says: []string{"no data (all 2 points undefined)"}},
		{name: "zero and NaN", draw: of(func(d *CostBatchData) { d.Series[0].StepMS[3], d.Series[0].StepMS[4] = 0, nan }), says: []string{"undefined and left out.", "1 value of exactly 0"}},
		{name: "never compute-bound", draw: of(func(d *CostBatchData) { d.Critical = inf }), says: []string{"No batch makes a step compute-bound."}},
		{name: "12 series", draw: func(o Options) (*Figure, error) {
			return CostBatch(exampleBatch(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048), o)
		}, says: []string{"context 2048"}},
		{name: "50,000 points", draw: one(CostBatchSeries{Batch: logSpace(1, 1e5, 50000), StepMS: logSpace(1, 1e3, 50000)}), says: []string{"throughput"}},
		{name: "long and hostile name", draw: of(func(d *CostBatchData) { d.Series[0].Name = longName }), says: []string{"context 8192"}},
		{name: "narrow column", draw: narrow(of(nil)), says: []string{"throughput, token/s"}},
		{name: "memory for less than one", draw: of(func(d *CostBatchData) { d.Series[2].Limit = 0.5 }), says: []string{"does not fit"}},
		{name: "negative time", draw: one(CostBatchSeries{Name: "x", Batch: []float64{1}, StepMS: []float64{-3}}), kind: fault.Data, err: `series "x": step time of point 0 is negative (-3)`},
		{name: "a name twice", draw: of(func(d *CostBatchData) { d.Series[1].Name = d.Series[0].Name }), kind: fault.Data, err: "is given twice, at 1 and 2"},
		{name: "a batch twice", draw: one(CostBatchSeries{Batch: []float64{2, 2}, StepMS: []float64{3, 3}}), kind: fault.Data, err: "batch of point 1 is 2 after 2; sort the points"},
		{name: "too many series", draw: func(o Options) (*Figure, error) { return CostBatch(exampleBatch(logSpace(1, 4096, 30)...), o) }, kind: fault.Usage, err: "30 are more than 12"},
		{name: "critical batch negative", draw: of(func(d *CostBatchData) { d.Critical = -1 }), kind: fault.Usage, err: "critical batch: -1 is not a number above zero"},
	}
}
