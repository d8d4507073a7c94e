package plots

import (
	"fmt"
	"math"
)

// The examples of the general charts: what a sweep over temperature and top_p
// gives, from closed formulas, so that every run draws the same.

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
