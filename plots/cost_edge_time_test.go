package plots

import (
	"fmt"
	"math"

	"lab/core/fault"
)

func costContextEdges() []edge {
	of := func(change func(*CostContextData)) func(Options) (*Figure, error) {
		return with(CostContext, func() CostContextData { return exampleContext() }, change)
	}
	one := func(s CostContextSeries) func(Options) (*Figure, error) {
		return of(func(d *CostContextData) { *d = CostContextData{Unit: "ms", Series: []CostContextSeries{s}} })
	}
	return []edge{
		{name: "example", draw: of(nil), says: []string{"From context 256 to 131k the cost of a token grows ×7.69 with MHA, ×1.1 with window 4k", "attention = weights: 19.3k", "window 4k: attention = weights at no context."}},
		{name: "no series", draw: of(func(d *CostContextData) { d.Series = nil }), says: []string{"no data (no series)", "context, tokens (log scale)"}},
		{name: "no points", draw: one(CostContextSeries{}), says: []string{"no data (no points)"}},
		{name: "one point", draw: one(CostContextSeries{Context: []float64{64}, Cost: []float64{2}}), says: []string{"Cost of an output token over the context"}},
		{name: "measurements alone", draw: one(CostContextSeries{Measured: []float64{64, 128}, Value: []float64{2, 3}, Lo: []float64{1, 2}, Hi: []float64{3, 4}}), says: []string{"Dots: 2 measurements."}},
		{name: "all equal", draw: one(CostContextSeries{Context: []float64{64, 128}, Cost: []float64{2, 2}}), says: []string{"the cost of a token grows ×1"}},
		{name: "all undefined", draw: one(CostContextSeries{Context: []float64{64, 128}, Cost: []float64{nan, inf}}), says: []string{"no data (all 2 points undefined)"}},
		{name: "all zero", draw: one(CostContextSeries{Context: []float64{64, 128}, Cost: []float64{0, 0}}), says: []string{"no data (no value above zero for the logarithmic axis)"}},
		{name: "NaN and zero", draw: of(func(d *CostContextData) { d.Series[1].Cost[4], d.Series[1].Cost[5] = nan, 0 }), says: []string{"1 of 160 points is undefined", "1 value of exactly 0"}},
		{name: "30 series", draw: func(o Options) (*Figure, error) { return CostContext(exampleContext(numbered(30)...), o) }, says: []string{"w29", "w0"}},
		{name: "50,000 points", draw: one(CostContextSeries{Context: logSpace(1, 1e6, 50000), Cost: logSpace(1, 1e3, 50000)}), says: []string{"grows ×1k"}},
		{name: "long and hostile name", draw: of(func(d *CostContextData) {
			d.Series[0].Name, d.Series[0].Marks[0].Label, d.Unit = longName, longName, longName
		}), says: []string{"GQA"}},
		{name: "narrow column", draw: narrow(of(nil)), says: []string{"GQA"}},
		{name: "negative cost", draw: one(CostContextSeries{Context: []float64{1}, Cost: []float64{-1}}), kind: fault.Data, err: "cost of point 0 is negative"},
		{name: "lengths differ", draw: one(CostContextSeries{Context: []float64{1}}), kind: fault.Data, err: "0 values of cost for 1 points"},
		{name: "a mark beside the curve", draw: of(func(d *CostContextData) { d.Series[0].Marks[0].At = 1 }), kind: fault.Data, err: "the mark \"attention = weights\" at 1 is not on its curve; give a context within"},
		{name: "31 series", draw: func(o Options) (*Figure, error) { return CostContext(exampleContext(numbered(31)...), o) }, kind: fault.Usage, err: "31 are more than 30"},
	}
}

func costStepEdges() []edge {
	of := func(change func(*CostStepData)) func(Options) (*Figure, error) {
		return with(CostStep, exampleStepTime, change)
	}
	bars := func(b ...CostBar) func(Options) (*Figure, error) {
		return of(func(d *CostStepData) { *d = CostStepData{Parts: []string{"a", "b"}, Bars: b} })
	}
	many := func(n int) func(Options) (*Figure, error) {
		return of(func(d *CostStepData) {
			d.Bars = nil
			for i := range n {
				d.Bars = append(d.Bars, CostBar{Name: fmt.Sprint(1<<min(i, 20)) + fmt.Sprint(i), Values: []float64{1, float64(i), 0, 1, 1, 1}, Total: float64(i)})
			}
		})
	}
	return []edge{
		{name: "example", draw: of(nil), says: []string{"At context 512, 79\u00a0% of a step is weights; at 32768, 63\u00a0% is cache", "measured", "200 steps each", "The measured time is 1.16 to 1.19 times the stack."}},
		{name: "no bars", draw: bars(), says: []string{"no data (no settings)", "time of a step, ms"}},
		{name: "no parts", draw: of(func(d *CostStepData) { d.Parts, d.Bars = nil, []CostBar{{Name: "x"}} }), says: []string{"no data (no parts)"}},
		{name: "one bar", draw: bars(CostBar{Name: "1", Values: []float64{1, 3}}), says: []string{"At setting 1, 75\u00a0% of a step is b", "25\u00a0%"}, not: []string{"measured"}},
		{name: "all zero", draw: bars(CostBar{Name: "1", Values: []float64{0, 0}}), says: []string{"What a step spends its time on"}},
		{name: "all undefined", draw: bars(CostBar{Name: "1", Values: []float64{nan, inf}}), says: []string{"no data (all 2 values undefined)"}},
		{name: "a part undefined", draw: bars(CostBar{Name: "1", Values: []float64{nan, 2}, Total: 3}), says: []string{"1 of 2 values is undefined and left out.", "Stack: model"}},
		{name: "a total without its interval", draw: bars(CostBar{Name: "1", Values: []float64{1, 2}, Total: 3}, CostBar{Name: "2", Values: []float64{1, 2}}), says: []string{"The measured time is 1 times the stack."}},
		{name: "30 bars", draw: many(30), says: []string{"weights"}},
		{name: "12 parts", draw: of(func(d *CostStepData) {
			d.Parts = numbered(12)
			d.Bars = []CostBar{{Name: "1", Values: constant(12, 1)}}
		}), says: []string{"w11", "8.3\u00a0%"}},
		{name: "long and hostile names", draw: of(func(d *CostStepData) { d.Over, d.Bars[0].Name, d.Parts[1] = longName, longName, longName }), says: []string{"weights"}},
		{name: "narrow column", draw: narrow(of(nil)), says: []string{"weights"}},
		{name: "negative part", draw: bars(CostBar{Name: "1", Values: []float64{-1, 2}}), kind: fault.Data, err: `bar 1 ("1"): "a" is negative (-1)`},
		{name: "values missing", draw: bars(CostBar{Name: "1", Values: []float64{1}}), kind: fault.Data, err: "1 values for 2 parts"},
		{name: "a bar twice", draw: bars(CostBar{Name: "1", Values: []float64{1, 2}}, CostBar{Name: "1", Values: []float64{1, 2}}), kind: fault.Data, err: `setting "1": is given twice`},
		{name: "interval upside down", draw: bars(CostBar{Name: "1", Values: []float64{1, 2}, Total: 2, Lo: 3, Hi: 1}), kind: fault.Data, err: "from 3 to 1 is impossible"},
		{name: "too many bars", draw: many(41), kind: fault.Usage, err: "41 are more than 40"},
	}
}

func costFrontierEdges() []edge {
	of := func(change func(*CostFrontierData)) func(Options) (*Figure, error) {
		return with(CostFrontier, func() CostFrontierData { return exampleFrontier() }, change)
	}
	one := func(s CostFrontierSeries) func(Options) (*Figure, error) {
		return of(func(d *CostFrontierData) {
			*d = CostFrontierData{Unit: "tokens/s per chip", Series: []CostFrontierSeries{s}}
		})
	}
	return []edge{
		{name: "example", draw: of(nil), says: []string{"At 50 tokens/s per user the cheapest is int8 + draft at batch 256", "beaten by another point", "does not fit", "needed: 50", "int8, measured", "5 of 15 points on the front."}},
		{name: "no series", draw: of(func(d *CostFrontierData) { d.Series = nil }), says: []string{"no data (no series)", "speed of one user, tokens/s (log scale)"}},
		{name: "no points", draw: one(CostFrontierSeries{}), says: []string{"no data (no points)"}},
		{name: "one point", draw: one(CostFrontierSeries{Name: "x", Batch: []float64{1}, PerUser: []float64{2}, Y: []float64{3}}), says: []string{"x at batch 1 beats every other point", "1 of 1 point on the front."}},
		{name: "all equal", draw: one(CostFrontierSeries{Batch: []float64{1, 2}, PerUser: []float64{2, 2}, Y: []float64{3, 3}}), says: []string{"2 of 2 points on the front."}, not: []string{"beaten by another point"}},
		{name: "a rate is better when more", draw: one(CostFrontierSeries{Batch: []float64{1, 2, 4}, PerUser: []float64{8, 7, 6}, Y: []float64{3, 2, 9}}), says: []string{"×1.33 the speed of one user costs ×3 the throughput", "2 of 3 points on the front."}},
		{name: "all undefined", draw: one(CostFrontierSeries{Batch: []float64{1}, PerUser: []float64{nan}, Y: []float64{3}}), says: []string{"no data (the one point is undefined)"}},
		{name: "NaN and zero", draw: of(func(d *CostFrontierData) { d.Series[0].PerUser[0], d.Series[0].Y[1] = nan, 0 }), says: []string{"1 of 18 points is undefined", "1 value of exactly 0"}},
		{name: "nothing fits", draw: of(func(d *CostFrontierData) {
			for _, s := range d.Series {
				clear(s.Fits)
			}
		}), says: []string{"does not fit", "0 of 0 points on the front."}},
		{name: "too fast a need", draw: of(func(d *CostFrontierData) { d.Budget = 5000 }), says: []string{"No point reaches the 5k tokens/s per user that are needed"}},
		{name: "30 series", draw: func(o Options) (*Figure, error) { return CostFrontier(exampleFrontier(numbered(30)...), o) }, says: []string{"w29"}},
		{name: "50,000 points", draw: one(CostFrontierSeries{Batch: logSpace(1, 1e6, 50000), PerUser: logSpace(1000, 1, 50000), Y: logSpace(1, 1e3, 50000)}), says: []string{"50,000 of 50,000 points on the front."}},
		{name: "long and hostile name", draw: of(func(d *CostFrontierData) { d.Series[0].Name, d.Unit = longName, longName }), says: []string{"does not fit"}},
		{name: "narrow column", draw: narrow(of(nil)), says: []string{"does not fit"}},
		{name: "negative speed", draw: one(CostFrontierSeries{Batch: []float64{1}, PerUser: []float64{-2}, Y: []float64{3}}), kind: fault.Data, err: "speed of point 0 is negative (-2)"},
		{name: "lengths differ", draw: one(CostFrontierSeries{Batch: []float64{1}, Y: []float64{3}}), kind: fault.Data, err: "0 values of speed for 1 points"},
		{name: "fits of another length", draw: one(CostFrontierSeries{Batch: []float64{1}, PerUser: []float64{2}, Y: []float64{3}, Fits: []bool{true, false}}), kind: fault.Data, err: "2 values of Fits for 1 points"},
		{name: "budget negative", draw: of(func(d *CostFrontierData) { d.Budget = -1 }), kind: fault.Usage, err: "speed needed: -1"},
	}
}

func costRooflineEdges() []edge {
	of := func(change func(*CostRooflineData)) func(Options) (*Figure, error) {
		return with(CostRoofline, exampleRoofline, change)
	}
	under := func(p ...CostRoofPoint) func(Options) (*Figure, error) {
		return of(func(d *CostRooflineData) { *d = CostRooflineData{Roofs: []CostRoof{{"x", 100, 10}}, Points: p} })
	}
	many := func(roofs, points int) func(Options) (*Figure, error) {
		return of(func(d *CostRooflineData) {
			*d = CostRooflineData{}
			for i := range roofs {
				d.Roofs = append(d.Roofs, CostRoof{fmt.Sprintf("roof %d", i), 1e14 * float64(i+1), 1e12 * math.Sqrt(float64(i+1))})
			}
			for i := range points {
				d.Points = append(d.Points, CostRoofPoint{fmt.Sprintf("work %d", i), float64(i + 1), nan, i % roofs})
			}
		})
	}
	return []edge{
		{name: "example", draw: of(nil), says: []string{"6 of 7 kinds of work are bound by memory, the rest by arithmetic", "ridge 295", "ridge 153", "decode attention", "computed, on its roof"}},
		{name: "no roofs", draw: of(func(d *CostRooflineData) { *d = CostRooflineData{} }), says: []string{"no data (no roofs)", "arithmetic intensity, FLOP/byte (log scale)"}},
		{name: "no points", draw: under(), says: []string{"Roofs of devices", "ridge 10"}},
		{name: "one point", draw: under(CostRoofPoint{"w", 1, 5, 0}), says: []string{"w is bound by memory", "measured"}},
		{name: "at the ridge", draw: under(CostRoofPoint{"w", 10, nan, 0}), says: []string{"w is bound by arithmetic"}},
		{name: "all equal", draw: under(CostRoofPoint{"v", 1, 5, 0}, CostRoofPoint{"w", 1, 5, 0}), says: []string{"All 2 kinds of work are bound by memory"}},
		{name: "undefined intensity", draw: under(CostRoofPoint{"w", nan, 5, 0}, CostRoofPoint{"v", 20, 50, 0}), says: []string{"v is bound by arithmetic", "1 of 2 points is undefined and left out."}},
		{name: "12 roofs and 60 points", draw: many(12, 60), says: []string{"roof 11"}},
		{name: "1 roof and 60 points", draw: many(1, 60), says: []string{"without room"}},
		{name: "long and hostile names", draw: of(func(d *CostRooflineData) { d.Roofs[0].Name, d.Points[0].Name = longName, longName }), says: []string{"A100 bf16"}},
		{name: "narrow column", draw: narrow(of(nil)), says: []string{"A100 bf16"}},
		{name: "above the roof", draw: under(CostRoofPoint{"w", 1, 11, 0}), kind: fault.Data, err: `point 1 ("w"): 11 FLOP/s is above its roof of 10; check the bytes counted`},
		{name: "no such roof", draw: under(CostRoofPoint{"w", 1, 5, 1}), kind: fault.Data, err: "roof 1 does not exist, there are 1"},
		{name: "no device", draw: of(func(d *CostRooflineData) { d.Roofs[0].Bandwidth = 0 }), kind: fault.Data, err: "are no device"},
		{name: "negative intensity", draw: under(CostRoofPoint{"w", -1, 5, 0}), kind: fault.Data, err: "is not above zero"},
		{name: "13 roofs", draw: many(13, 1), kind: fault.Usage, err: "13 are more than 12"},
	}
}
