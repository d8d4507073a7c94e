package plots

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// The examples of the general charts: what a sweep over temperature and top_p
// might give, from closed formulas and fixed seeds, so that every run draws the
// same. The numbers are made up and measure no model.

// sweepLines is distinct bigrams over temperature, one series per top_p, with an
// interval, in the given number of panels.
func sweepLines(models ...string) XYData {
	d := XYData{
		X: Quantity{Name: "temperature"}, Y: Quantity{Name: "distinct_2", Title: "distinct bigrams", Unit: "share"},
		By: "top_p", Ordered: true, Interval: "95 % interval over 64 samples",
	}
	if len(models) == 0 {
		models = []string{""}
	} else {
		d.Facet = "model"
	}
	for k, model := range models {
		for i, p := range []float64{0.8, 0.95, 1} {
			s := Series{Name: fmt.Sprint(p), Panel: model}
			for j, t := range []float64{0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.5} {
				y := 1 / (1 + math.Exp(2.1-2.4*t-0.6*float64(i)+0.4*float64(k)))
				half := 0.02 + 0.03*y*(1-y) + 0.004*float64(j)
				s.X, s.Y = append(s.X, t), append(s.Y, y)
				s.Lo, s.Hi = append(s.Lo, y-half), append(s.Hi, y+half)
			}
			d.Series = append(d.Series, s)
		}
	}
	return d
}

// frontier is latency against throughput of three backends by batch size.
func frontier() XYData {
	d := XYData{
		X: Quantity{Name: "tokens_per_second", Title: "throughput", Unit: "token/s", Log: true},
		Y: Quantity{Name: "latency_ms", Title: "latency per token", Unit: "ms", Log: true}, By: "backend", Join: true,
		Hollow: "dominated", Rules: []Rule{{At: 40, Label: "budget 40 ms"}},
	}
	for i, name := range []string{"tiny", "remote", "int8"} {
		s := Series{Name: name}
		for j := range 6 {
			batch := math.Pow(2, float64(j))
			ms := (4 + 6*float64(i)) * (1 + batch/(6+4*float64(i)))
			s.X, s.Y = append(s.X, 1000*batch/ms), append(s.Y, ms)
			s.XLo, s.XHi = append(s.XLo, 950*batch/ms), append(s.XHi, 1040*batch/ms)
			s.Lo, s.Hi = append(s.Lo, ms*0.94), append(s.Hi, ms*1.08)
			s.Labels, s.Hollow = append(s.Labels, fmt.Sprint(batch)), append(s.Hollow, i == 1 && j > 2)
		}
		d.Series = append(d.Series, s)
	}
	return d
}

// surprisals are samples of a gamma-like quantity for three strategies, with a
// fixed seed; the last two are too few for a density and all equal.
func surprisals(n int) SampleData {
	d := SampleData{Value: Quantity{Name: "surprisal_bits", Title: "surprisal", Unit: "bits"}, By: "strategy",
		Rules: []Rule{{Vertical: true, At: 2.5, Label: "human text"}}}
	r := rand.New(rand.NewPCG(7, 1))
	for i, name := range []string{"temperature:1", "top_p:0.9", "min_p:0.1", "beam:4", "greedy"} {
		s := Sample{Name: name}
		count := []int{n, n, n, 12, 64}[i]
		for range count {
			v := -math.Log(r.Float64()*r.Float64()) * (1.2 - 0.25*float64(i))
			if i == 4 {
				v = 0.5
			}
			s.Values = append(s.Values, v)
		}
		d.Samples = append(d.Samples, s)
	}
	return d
}

// strategies is one measure of seven strategies for two models.
func strategies() BarData {
	d := BarData{Value: Quantity{Name: "repetition", Title: "repeated 4-grams", Unit: "%"}, Category: "strategy", By: "model", Interval: "95 % interval, n = 64"}
	for i, name := range []string{"greedy", "beam:4", "temperature:0.7", "temperature:1", "top_k:40", "top_p:0.9", "min_p:0.1"} {
		for k, model := range []string{"tiny", "grammar"} {
			v := 62/(1+0.9*float64(i)) + 3*float64(k)
			d.Bars = append(d.Bars, CategoryBar{Name: name, Series: model, Value: v, Lo: 0.85 * v, Hi: 1.1*v + 1})
		}
	}
	return d
}

// sweptHeat is a measure over temperature and top_p, one cell of which failed.
func sweptHeat() HeatData {
	d := HeatData{Value: Quantity{Name: "quality", Title: "mean quality"}, X: Quantity{Name: "temperature"}, Y: Quantity{Name: "top_p"}, RowsUp: true, Best: "max"}
	ps := []float64{0.5, 0.8, 0.9, 0.95, 1}
	var cells [][]float64
	for i, p := range ps {
		d.Rows = append(d.Rows, fmt.Sprint(p))
		cells = append(cells, nil)
		for j, t := range []float64{0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.5} {
			if i == 0 {
				d.Columns = append(d.Columns, fmt.Sprint(t))
			}
			v := 0.9 - (t-0.7)*(t-0.7) - 2*(p-0.88)*(p-0.88)
			if i == 4 && j == 6 {
				v = math.NaN()
			}
			cells[i] = append(cells[i], v)
		}
	}
	d.Panels = []HeatPanel{{Cells: cells}}
	return d
}
