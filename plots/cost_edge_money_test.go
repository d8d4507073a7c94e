package plots

import (
	"fmt"

	"lab/core/fault"
)

func costQualityEdges() []edge {
	of := func(change func(*CostQualityData)) func(Options) (*Figure, error) {
		return with(CostQuality, func() CostQualityData { return exampleQuality() }, change)
	}
	one := func(s CostQualitySeries) func(Options) (*Figure, error) {
		return of(func(d *CostQualityData) { *d = CostQualityData{Unit: "USD", Series: []CostQualitySeries{s}} })
	}
	return []edge{
		{name: "example", draw: of(nil), says: []string{"Accuracy rises from 0.42 to 0.82 for ×16 the cost, with vote of n (1 to 16)", "15 points, 5 on the front. 5 seeds each. Whiskers: 95 % over seeds.", "beaten by another point", "front"}},
		{name: "no series", draw: of(func(d *CostQualityData) { d.Series = nil }), says: []string{"no data (no series)", "cost of an item, FLOP (log scale)"}},
		{name: "no points", draw: one(CostQualitySeries{}), says: []string{"no data (no points)"}},
		{name: "one point", draw: one(CostQualitySeries{Name: "greedy", Cost: []float64{1}, Quality: []float64{0.5}}), says: []string{"greedy beats every other point", "1 point, 1 on the front."}, not: []string{"front"}},
		{name: "all equal", draw: one(CostQualitySeries{Name: "x", Cost: []float64{1, 1}, Quality: []float64{0.5, 0.5}}), says: []string{"2 points, 2 on the front."}},
		{name: "all undefined", draw: one(CostQualitySeries{Cost: []float64{1, 2}, Quality: []float64{nan, inf}}), says: []string{"no data (all 2 points undefined)"}},
		{name: "free items", draw: one(CostQualitySeries{Cost: []float64{0, 2}, Quality: []float64{0.5, 0.6}}), says: []string{"1 value of exactly 0 has no place"}},
		{name: "NaN ends", draw: of(func(d *CostQualityData) { d.Series[0].Lo[0], d.Series[0].Quality[1] = nan, nan }), says: []string{"1 interval is undefined and not drawn.", "1 of 15 points is undefined and left out."}},
		{name: "intervals of cost", draw: of(func(d *CostQualityData) {
			for i := range d.Series {
				d.Series[i].XLo, d.Series[i].XHi = mapped(d.Series[i].Cost, func(c float64) float64 { return 0.8 * c }), mapped(d.Series[i].Cost, func(c float64) float64 { return 1.3 * c })
			}
		}), says: []string{"accuracy, share"}},
		{name: "30 series", draw: func(o Options) (*Figure, error) { return CostQuality(exampleQuality(numbered(30)...), o) }, says: []string{"w29"}},
		{name: "50,000 points", draw: one(CostQualitySeries{Cost: logSpace(1, 1e6, 50000), Quality: logSpace(0.01, 0.9, 50000)}), says: []string{"50,000 points, 50,000 on the front."}},
		{name: "long and hostile names", draw: of(func(d *CostQualityData) {
			d.Series[0].Name, d.Series[0].N[0], d.Quality.Title, d.Unit = longName, longName, longName, longName
		}), says: []string{"best of n"}},
		{name: "narrow column", draw: narrow(of(nil)), says: []string{"best of n"}},
		{name: "negative cost", draw: one(CostQualitySeries{Cost: []float64{-1}, Quality: []float64{1}}), kind: fault.Data, err: "cost of point 0 is negative (-1)"},
		{name: "lengths differ", draw: one(CostQualitySeries{Cost: []float64{1}}), kind: fault.Data, err: "0 values of quality for 1 points"},
		{name: "words differ", draw: of(func(d *CostQualityData) { d.Series[0].N = d.Series[0].N[1:] }), kind: fault.Data, err: "4 words for 5 points"},
		{name: "interval upside down", draw: of(func(d *CostQualityData) { d.Series[0].Lo[2] = 1 }), kind: fault.Data, err: "the interval of quality at point 2 runs from 1 down to"},
		{name: "too many series", draw: func(o Options) (*Figure, error) { return CostQuality(exampleQuality(numbered(31)...), o) }, kind: fault.Usage, err: "31 are more than 30"},
	}
}

func costBillEdges() []edge {
	of := func(change func(*CostBillData)) func(Options) (*Figure, error) {
		return with(CostBill, exampleBill, change)
	}
	bars := func(b ...CostBar) func(Options) (*Figure, error) {
		return of(func(d *CostBillData) { *d = CostBillData{Unit: "FLOP", Parts: []string{"a", "b"}, Bars: b} })
	}
	many := func(n int) func(Options) (*Figure, error) {
		return of(func(d *CostBillData) {
			d.Bars = nil
			for i := range n {
				d.Bars = append(d.Bars, CostBar{Name: fmt.Sprint("strategy ", i), Values: []float64{1, float64(i), 0, 1, 1, 1, 1}})
			}
		})
	}
	return []edge{
		{name: "example", draw: of(nil), says: []string{"Reasoning: ×5.44 the cost of cached prompt; 76\u00a0% of it is reasoning", "Prices of 2026-11-30.", "USD 0.0056", "billed 0.0044"}, not: []string{"write"}},
		{name: "no bars", draw: bars(), says: []string{"no data (no strategies)", "cost of a response, FLOP"}},
		{name: "no parts", draw: of(func(d *CostBillData) { d.Parts, d.Bars = nil, []CostBar{{Name: "x"}} }), says: []string{"no data (no parts)"}},
		{name: "one bar", draw: bars(CostBar{Name: "greedy", Values: []float64{1, 3}}), says: []string{"A response costs 4 FLOP; 75\u00a0% of it is b"}},
		{name: "all equal", draw: bars(CostBar{Name: "x", Values: []float64{1, 3}}, CostBar{Name: "y", Values: []float64{3, 1}}), says: []string{"A response costs 4 FLOP"}},
		{name: "nothing to pay", draw: bars(CostBar{Name: "x", Values: []float64{0, 0}}), says: []string{"The bill of a response"}},
		{name: "all undefined", draw: bars(CostBar{Name: "x", Values: []float64{nan, inf}}), says: []string{"no data (all 2 values undefined)"}},
		{name: "a part undefined", draw: bars(CostBar{Name: "x", Values: []float64{nan, 2}}, CostBar{Name: "y", Values: []float64{1, 2}}), says: []string{"at least 2 FLOP", "1 of 4 values is undefined and left out."}},
		{name: "an interval of the total", draw: bars(CostBar{Name: "x", Values: []float64{1, 2}, Total: 4, Lo: 3, Hi: 5}), says: []string{"3 FLOP · billed 4"}},
		{name: "30 bars", draw: many(30), says: []string{"strategy 29"}},
		{name: "long and hostile names", draw: of(func(d *CostBillData) { d.Bars[0].Name, d.Parts[1] = longName, longName }), says: []string{"output"}},
		{name: "narrow column", draw: narrow(of(nil)), says: []string{"output"}},
		{name: "a price without a date", draw: of(func(d *CostBillData) { d.PriceDate = "" }), kind: fault.Usage, err: `price date: a bill in "USD" has none; give the date`},
		{name: "no date", draw: of(func(d *CostBillData) { d.PriceDate = "now" }), kind: fault.Usage, err: `"now" is no date`},
		{name: "negative part", draw: bars(CostBar{Name: "x", Values: []float64{-1, 2}}), kind: fault.Data, err: `"a" is negative`},
		{name: "a bar twice", draw: bars(CostBar{Name: "x", Values: []float64{1, 2}}, CostBar{Name: "x", Values: []float64{1, 2}}), kind: fault.Data, err: "is given twice"},
		{name: "too many bars", draw: many(41), kind: fault.Usage, err: "41 are more than 40"},
	}
}

func costGrowthEdges() []edge {
	of := func(change func(*CostGrowthData)) func(Options) (*Figure, error) {
		return with(CostGrowth, exampleGrowth, change)
	}
	one := func(growth, days []float64) func(Options) (*Figure, error) {
		return of(func(d *CostGrowthData) { *d = CostGrowthData{Levels: []CostGrowthLevel{{"q", growth, days}}} })
	}
	return []edge{
		{name: "example", draw: of(nil), says: []string{"200G tokens/day: from 695 days at −12\u00a0% a month (26 Nov 2027) to 113 days at 40\u00a0% a month (23 Apr 2026)", "never", "chat product", "20G tokens/day: never at growth of −2 % a month or less."}},
		{name: "no levels", draw: of(func(d *CostGrowthData) { *d = CostGrowthData{} }), says: []string{"no data (no levels of demand)", "growth of demand, % a month"}},
		{name: "no points", draw: one(nil, nil), says: []string{"no data (no points)"}},
		{name: "one point", draw: one([]float64{0.1}, []float64{30}), says: []string{"q: inference passes training after 30 days at 10\u00a0% a month"}},
		{name: "one point, never", draw: one([]float64{-0.1}, []float64{inf}), says: []string{"no data (never, at every growth)", "q: inference never passes training"}},
		{name: "all equal", draw: one([]float64{0, 0.1}, []float64{30, 30}), says: []string{"q: from 30 days at 0\u00a0% a month to 30 days at 10\u00a0% a month"}},
		{name: "all undefined", draw: one([]float64{0, 0.1}, []float64{nan, nan}), says: []string{"no data (all 2 points undefined)"}},
		{name: "NaN and zero", draw: one([]float64{0, 0.1, 0.2, 0.3}, []float64{30, nan, 0, 10}), says: []string{"1 of 4 points is undefined", "1 value of exactly 0"}},
		{name: "a product that is never there", draw: of(func(d *CostGrowthData) { d.Products[0].Days = inf }), says: []string{"internal tool", "is undefined and left out."}},
		{name: "12 levels", draw: of(func(d *CostGrowthData) {
			l := d.Levels[0]
			d.Levels = nil
			for i := range 12 {
				l.Name = fmt.Sprint("level ", i)
				d.Levels = append(d.Levels, l)
			}
		}), says: []string{"level 11"}},
		{name: "50,000 points", draw: one(linear(-0.5, 0.5, 50000), logSpace(1e4, 1e2, 50000)), says: []string{"growth of demand"}},
		{name: "long and hostile names", draw: of(func(d *CostGrowthData) { d.Levels[0].Name, d.Products[0].Name = longName, longName }), says: []string{"internal tool"}},
		{name: "narrow column", draw: narrow(of(nil)), says: []string{"never"}},
		{name: "less than nothing", draw: one([]float64{-1}, []float64{3}), kind: fault.Data, err: "growth of point 0 is -1, which leaves nothing"},
		{name: "negative days", draw: one([]float64{0}, []float64{-3}), kind: fault.Data, err: "days of point 0 is negative"},
		{name: "growth twice", draw: one([]float64{0, 0}, []float64{3, 3}), kind: fault.Data, err: "growth of point 1 is 0 after 0"},
		{name: "no date", draw: of(func(d *CostGrowthData) { d.Start = "soon" }), kind: fault.Usage, err: `"soon" is no date`},
	}
}

func linear(from, to float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = from + float64(i)/float64(n-1)*(to-from)
	}
	return out
}

func costOptimumEdges() []edge {
	of := func(change func(*CostOptimumData)) func(Options) (*Figure, error) {
		return with(CostOptimum, func() CostOptimumData { return exampleOptimum(2) }, change)
	}
	one := func(params, flop []float64) func(Options) (*Figure, error) {
		return of(func(d *CostOptimumData) {
			*d = CostOptimumData{Panels: []CostOptimumPanel{{Name: "set", Curves: []CostOptimumCurve{{"q", params, flop}}}}}
		})
	}
	return []edge{
		{name: "example", draw: of(nil), says: []string{"From 0.1T tokens served to 10T tokens served the best model goes from 12G to 4.61G parameters", "Besiroglu 2024", "cheapest to train", "minimum"}},
		{name: "no panels", draw: of(func(d *CostOptimumData) { d.Panels = nil }), says: []string{"no data (no coefficients)", "parameters (log scale)"}},
		{name: "no curves", draw: of(func(d *CostOptimumData) { d.Panels[0].Curves = nil; d.Panels = d.Panels[:1] }), says: []string{"no data (no points)"}},
		{name: "no points", draw: one(nil, nil), says: []string{"no data (no points)"}},
		{name: "one point", draw: one([]float64{1e9}, []float64{1e20}), says: []string{"The best size of a model that is used", "1 hollow dot is at the edge of the sizes drawn: the best size lies beyond."}},
		{name: "all equal", draw: one([]float64{1e9, 2e9, 3e9}, []float64{1e20, 1e20, 1e20}), says: []string{"still falling at the edge"}},
		{name: "a minimum inside", draw: one([]float64{1e9, 2e9, 3e9}, []float64{3e20, 1e20, 2e20}), says: []string{"minimum"}, not: []string{"still falling at the edge"}},
		{name: "all undefined", draw: one([]float64{1e9, 2e9}, []float64{nan, inf}), says: []string{"no data (all 2 points undefined)"}},
		{name: "NaN and zero", draw: of(func(d *CostOptimumData) { d.Panels[0].Curves[0].FLOP[3], d.Panels[0].Curves[0].Params[0] = nan, 0 }), says: []string{"undefined and left out.", "1 value of exactly 0"}},
		{name: "12 panels", draw: func(o Options) (*Figure, error) { return CostOptimum(exampleOptimum(12), o) }, says: []string{"third set 11"}},
		{name: "50,000 points", draw: one(logSpace(1e8, 1e11, 50000), logSpace(1e22, 1e20, 50000)), says: []string{"parameters"}},
		{name: "long and hostile names", draw: of(func(d *CostOptimumData) {
			d.Panels[0].Name, d.Panels[0].Curves[0].Name, d.Quality = longName, longName, longName
		}), says: []string{"Besiroglu 2024"}},
		{name: "narrow column", draw: narrow(of(nil)), says: []string{"Besiroglu 2024"}},
		{name: "negative cost", draw: one([]float64{1e9}, []float64{-1}), kind: fault.Data, err: `panel 1 ("set"), series "q": FLOP of point 0 is negative`},
		{name: "sizes fall", draw: one([]float64{2, 1}, []float64{1, 1}), kind: fault.Data, err: "parameters of point 1 is 1 after 2"},
		{name: "a set twice", draw: of(func(d *CostOptimumData) { d.Panels[1].Name = d.Panels[0].Name }), kind: fault.Data, err: "is given twice"},
		{name: "an optimum without cost", draw: of(func(d *CostOptimumData) { d.Panels[0].FLOP = 0 }), kind: fault.Data, err: "parameters at 0 FLOP are not above zero"},
		{name: "13 panels", draw: func(o Options) (*Figure, error) { return CostOptimum(exampleOptimum(13), o) }, kind: fault.Usage, err: "13 are more than 12"},
	}
}

func costSpeculativeEdges() []edge {
	of := func(change func(*CostSpeculativeData)) func(Options) (*Figure, error) {
		return with(CostSpeculative, exampleSpeculative, change)
	}
	one := func(alpha, gamma []float64, rows ...[]float64) func(Options) (*Figure, error) {
		return of(func(d *CostSpeculativeData) {
			*d = CostSpeculativeData{Alpha: alpha, Gamma: gamma, Panels: []CostSpeculativePanel{{Name: "v", Speedup: rows}}}
		})
	}
	sized := func(columns, rows int) func(Options) (*Figure, error) {
		d := CostSpeculativeData{Alpha: linear(0, 1, columns), Panels: []CostSpeculativePanel{{Name: "v"}}}
		for r := range rows {
			d.Gamma = append(d.Gamma, float64(r+1))
			d.Panels[0].Speedup = append(d.Panels[0].Speedup, mapped(d.Alpha, func(a float64) float64 { return 0.3 + 2*a*float64(r+1)/float64(rows) }))
		}
		return func(o Options) (*Figure, error) { return CostSpeculative(d, o) }
	}
	return []edge{
		{name: "example", draw: of(nil), says: []string{"A draft pays from acceptance 0.15 at v = 1; in 1 of 3 panels it never does", "best γ", "break-even", "tiny ×1.9", "faster, up to ×5.5"}},
		{name: "no panels", draw: of(func(d *CostSpeculativeData) { d.Panels = nil }), says: []string{"no data (no panels)", "acceptance α"}},
		{name: "no cells", draw: one(nil, nil), says: []string{"no data (no cells)"}},
		{name: "one cell", draw: one([]float64{0.5}, []float64{4}, []float64{2}), says: []string{"A draft pays from acceptance 0.5 at v", "faster, up to ×2"}},
		{name: "all equal to 1", draw: one([]float64{0.5, 0.6}, []float64{4}, []float64{1, 1}), says: []string{"A draft never pays at v"}, not: []string{"faster, up to ×1"}},
		{name: "always slower", draw: one([]float64{0.5, 0.6}, []float64{4}, []float64{0.5, 0.8}), says: []string{"A draft never pays at v", "slower, down to ×0.5"}},
		{name: "all undefined", draw: one([]float64{0.5, 0.6}, []float64{4}, []float64{nan, inf}), says: []string{"no data (all 2 cells undefined)"}},
		{name: "a cell undefined", draw: one([]float64{0.5, 0.6}, []float64{4}, []float64{nan, 2}), says: []string{"1 cell undefined and grey."}},
		{name: "120 by 40 cells", draw: sized(120, 40), says: []string{"acceptance α"}},
		{name: "a measurement without a speedup", draw: of(func(d *CostSpeculativeData) { d.Panels[0].Measured[0].Speedup = nan }), says: []string{"tiny"}},
		{name: "long and hostile names", draw: of(func(d *CostSpeculativeData) { d.Panels[0].Name, d.Panels[0].Measured[0].Name = longName, longName }), says: []string{"v = 2"}},
		{name: "narrow column", draw: narrow(of(nil)), says: []string{"v = 2"}},
		{name: "acceptance above one", draw: one([]float64{1.5}, []float64{4}, []float64{2}), kind: fault.Data, err: "column 0 is 1.5, outside 0 to 1"},
		{name: "half a token", draw: one([]float64{0.5}, []float64{1.5}, []float64{2}), kind: fault.Data, err: "row 0 is 1.5, not a whole number"},
		{name: "no speed", draw: one([]float64{0.5}, []float64{1}, []float64{0}), kind: fault.Data, err: "the speedup in row 0, column 0 is 0, not above zero"},
		{name: "rows missing", draw: one([]float64{0.5}, []float64{1, 2}, []float64{1}), kind: fault.Data, err: "1 rows for 2 draft lengths"},
		{name: "columns missing", draw: one([]float64{0.5, 0.6}, []float64{1}, []float64{1}), kind: fault.Data, err: "row 0 has 1 speedups for 2 acceptances"},
		{name: "too many rows", draw: sized(2, 41), kind: fault.Usage, err: "41 are more than 40"},
	}
}

func costDriversEdges() []edge {
	of := func(change func(*CostDriversData)) func(Options) (*Figure, error) {
		return with(CostDrivers, exampleDrivers, change)
	}
	factors := func(median float64, f ...CostFactor) func(Options) (*Figure, error) {
		return of(func(d *CostDriversData) { *d = CostDriversData{Median: median, Factors: f} })
	}
	many := func(n int) func(Options) (*Figure, error) {
		return of(func(d *CostDriversData) {
			d.Factors = nil
			for i := range n {
				d.Factors = append(d.Factors, CostFactor{Name: fmt.Sprint("factor ", i), AtLo: 40e12 - 1e12*float64(i%30), AtHi: 50e12 + 1e12*float64(i)})
			}
		})
	}
	return []edge{
		{name: "example", draw: of(nil), says: []string{"Served model moves the crossover most: from 45T to never", "distilled: never", "0.04: 9T", "median 45T", "a scenario: ends are choices"}},
		{name: "no factors", draw: factors(1), says: []string{"no data (no factors)", "outcome"}},
		{name: "one factor", draw: factors(1, CostFactor{Name: "x", AtLo: 0, AtHi: 2}), says: []string{"X moves the outcome most: from 0 to 2"}, not: []string{"a scenario: ends are choices"}},
		{name: "all equal", draw: factors(1, CostFactor{Name: "x", AtLo: 1, AtHi: 1}), says: []string{"No factor moves the outcome"}},
		{name: "zero median", draw: factors(0, CostFactor{Name: "x", AtLo: -1, AtHi: 1}), says: []string{"median 0"}},
		{name: "both ends on one side", draw: factors(1, CostFactor{Name: "x", AtLo: 2, AtHi: 3}), says: []string{"median 1"}},
		{name: "never at both ends", draw: factors(1, CostFactor{Name: "x", AtLo: inf, AtHi: inf}, CostFactor{Name: "y", AtLo: 0, AtHi: 4}), says: []string{"X decides whether the outcome is ever reached"}},
		{name: "all undefined", draw: factors(1, CostFactor{Name: "x", AtLo: nan, AtHi: 2}), says: []string{"no data (all 1 factor undefined)"}},
		{name: "one undefined", draw: factors(1, CostFactor{Name: "x", AtLo: nan, AtHi: 2}, CostFactor{Name: "y", AtLo: 0, AtHi: 4}), says: []string{"1 of 2 factors is undefined and left out."}},
		{name: "30 factors", draw: many(30), says: []string{"factor 29", "factor 0"}},
		{name: "long and hostile names", draw: of(func(d *CostDriversData) {
			d.Factors[0].Name, d.Factors[0].LoWords, d.Outcome.Title = longName, longName, longName
		}), says: []string{"serving MFU"}},
		{name: "narrow column", draw: narrow(of(nil)), says: []string{"serving MFU"}},
		{name: "median undefined", draw: factors(nan, CostFactor{Name: "x", AtLo: 0, AtHi: 4}), kind: fault.Data, err: "median: NaN has no place on the axis"},
		{name: "zero on the log axis", draw: of(func(d *CostDriversData) { d.Factors[0].AtLo = 0 }), kind: fault.Data, err: `factor 1 ("recomputation in training"): an outcome of 0 has no place on a logarithmic axis`},
		{name: "a factor twice", draw: factors(1, CostFactor{Name: "x"}, CostFactor{Name: "x"}), kind: fault.Data, err: "is given twice"},
		{name: "too many", draw: many(41), kind: fault.Usage, err: "41 are more than 40"},
	}
}
