package plots

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"lab/core/fault"
)

// xyFunc is Line or Scatter.
type xyFunc func(XYData, Options) (*Figure, error)

// of draws series with plain axes.
func (f xyFunc) of(series ...Series) func(Options) (*Figure, error) {
	return f.with(XYData{}, series...)
}

func (f xyFunc) with(d XYData, series ...Series) func(Options) (*Figure, error) {
	if d.X.Name == "" {
		d.X.Name, d.Y.Name = "step", "entropy_bits"
	}
	d.Series = series
	return func(o Options) (*Figure, error) { return f(d, o) }
}

// wave is n points, different for each k.
func wave(name string, n, k int) Series {
	s := Series{Name: name}
	for i := range n {
		s.X = append(s.X, float64(i+1))
		s.Y = append(s.Y, 3+math.Sin(float64(i)/9+float64(k))+0.1*float64(k))
	}
	return s
}

func waves(series, points int) []Series {
	var out []Series
	for k := range series {
		out = append(out, wave(fmt.Sprintf("prompt %d", k), points, k))
	}
	return out
}

func logBoth() XYData {
	return XYData{X: Quantity{Name: "rank", Log: true}, Y: Quantity{Name: "p", Log: true}}
}

// xyEdges are the rows that both general charts over two quantities must pass.
func xyEdges(f xyFunc) []edge {
	nan, inf := math.NaN(), math.Inf(1)
	var odd []Series
	for i, token := range oddTokens() {
		odd = append(odd, Series{Name: token, X: []float64{1, 2}, Y: []float64{float64(i), 3}, Labels: []string{token, "x"}})
	}
	ordered := XYData{By: "top_p", Ordered: true, Interval: "95 % interval"}
	five := func() []Series {
		var out []Series
		for i, name := range []string{"0.5", "0.8", "0.9", "0.95", "1"} {
			s := wave(name, 6, i)
			s.Lo, s.Hi = []float64{1, 2, 2, 2, nan, 2}, []float64{5, 5, 5, 5, 5, 5}
			out = append(out, s)
		}
		return out
	}
	facets := waves(12, 9)
	for i := range facets {
		facets[i].Name, facets[i].Panel = fmt.Sprint(i%3), fmt.Sprintf("model %d", i/3)
	}
	both := waves(16, 9)
	for i := range both {
		both[i].Name, both[i].Panel = fmt.Sprint("s", i%8), fmt.Sprintf("model %d", i/8)
	}
	big := waves(1, 262144)
	steep := Series{Name: "p", X: []float64{1, 10, 100, 1000}, Y: []float64{0.5, 0.01, 0, 1e-7}}
	zeroRule := XYData{X: Quantity{Name: "a", Log: true}, Y: Quantity{Name: "b"}, Rules: []Rule{{Vertical: true, At: 0, Label: "nil"}}}
	return []edge{
		{name: "no series", draw: f.of(), says: []string{"no data (no series)", "step", "entropy_bits"}},
		{name: "no points", draw: f.of(Series{Name: "a"}), says: []string{"no data (no points)"}},
		{name: "everything undefined", draw: f.of(Series{X: []float64{1, nan}, Y: []float64{inf, 2}}), says: []string{"no data (all 2 points undefined)"}},
		{name: "one point", draw: f.of(Series{X: []float64{3}, Y: []float64{0.25}}), says: []string{"1 point", "3.00", "0.250"}},
		{name: "one point with an interval", draw: f.of(Series{X: []float64{3}, Y: []float64{0.25}, Lo: []float64{0.2}, Hi: []float64{0.3}}), says: []string{"interval"}},
		{name: "all equal", draw: f.of(Series{X: []float64{1, 2, 3}, Y: []float64{7, 7, 7}}), says: []string{"7.0", "3 points"}},
		{name: "all equal and zero", draw: f.of(Series{X: []float64{1, 2, 3}, Y: []float64{0, 0, 0}}), says: []string{"0"}},
		{name: "all equal on logarithmic axes", draw: f.with(logBoth(), Series{X: []float64{8}, Y: []float64{0.125}}), says: []string{"rank (log scale)"}},
		{name: "NaN and infinite", draw: f.of(Series{X: []float64{1, 2, 3, 4, nan, 6}, Y: []float64{1, nan, 2, inf, 3, 4}}), says: []string{"3 of 6 points are undefined and left out"}},
		{name: "zero on a logarithmic axis", draw: f.with(logBoth(), steep), says: []string{"0", "1 value of exactly 0 is drawn open at the tick 0"}},
		{name: "only zeros on a logarithmic axis", draw: f.with(logBoth(), Series{X: []float64{1, 2}, Y: []float64{0, 0}}), says: []string{"no data (no value above zero for the logarithmic axis)"}},
		{name: "interval to below zero on a logarithmic axis", draw: f.with(logBoth(), Series{X: []float64{1, 2}, Y: []float64{0.1, 0.2}, Lo: []float64{-0.1, 0.1}, Hi: []float64{0.3, 0.3}}),
			says: []string{"1 interval reaches zero or below and ends at the edge of the logarithmic axis."}},
		{name: "undefined and infinite intervals", draw: f.of(Series{X: []float64{1, 2, 3}, Y: []float64{1, 2, 3}, Lo: []float64{nan, 1, -inf}, Hi: []float64{2, 3, inf}}), says: []string{"1 of the intervals is undefined and not drawn."}},
		{name: "five ordered series", draw: f.with(ordered, five()...), says: []string{"top_p = 0.5", "top_p = 1", "95 % interval", "5 of the intervals are undefined"}},
		{name: "six series", draw: f.of(waves(6, 20)...), says: []string{"prompt 0", "prompt 5"}},
		{name: "30 series", draw: f.of(waves(30, 40)...), says: []string{"prompt 0", "prompt 29", "30 series"}},
		{name: "30 series, one highlighted", draw: f.with(XYData{Highlight: "prompt 17"}, waves(30, 40)...), says: []string{"prompt 17", "in grey the other 29"}, not: []string{"prompt 16"}},
		{name: "panels", draw: f.with(XYData{Facet: "model"}, facets...), says: []string{"model 0", "model 3", "a panel per model"}},
		{name: "many series in panels", draw: f.with(XYData{Facet: "model"}, both...), says: []string{"8 series are drawn in grey, too many to tell apart."}},
		{name: "262,144 points", draw: f.of(big...), says: []string{"262,144 points"}},
		{name: "262,144 points in 30 series", draw: f.of(waves(30, 8738)...), says: []string{"262,140 points in 30 series"}},
		{name: "hostile names and labels", draw: f.of(odd...), says: []string{"‹0000›‹001B›", "‹202E›evil", "<b>&\"'"}},
		{name: "hostile quantities", draw: f.with(XYData{X: Quantity{Name: "a\x00\u202eb", Unit: strings.Repeat("unit ", 40)}, Y: Quantity{Title: "<t>&\r\n\xff", Name: "y"}}, wave("", 9, 0)), says: []string{"<t>&", "a‹0000›‹202E›b"}},
		{name: "rules", draw: f.with(XYData{Rules: []Rule{{Vertical: true, At: 1, Label: "model"}, {At: -1, Label: strings.Repeat("a budget ", 30)}, {At: 3}}}, wave("", 9, 0)), says: []string{"model", "a budget"}},
		{name: "narrow column", draw: func(o Options) (*Figure, error) {
			o.Width = 3.5
			return f.with(XYData{Facet: "model"}, facets...)(o)
		}, says: []string{"model 3"}},
		{name: "huge and tiny numbers", draw: f.of(Series{X: []float64{1e300, -1e300}, Y: []float64{1e-300, 2e-300}}), says: []string{"2 points"}},
		{name: "a range that overflows", draw: f.of(Series{X: []float64{math.MaxFloat64, -math.MaxFloat64}, Y: []float64{1, 2}}), kind: fault.Data, err: "x of point 0: 1.7976931348623157e+308 is beyond ±1e+300"},
		{name: "lengths differ", draw: f.of(Series{X: []float64{1}, Y: []float64{1, 2}}), kind: fault.Data, err: "1 values of X and 2 of Y"},
		{name: "one end only", draw: f.of(Series{X: []float64{1}, Y: []float64{1}, Lo: []float64{1}}), kind: fault.Data, err: "an interval has one end only"},
		{name: "interval upside down", draw: f.of(Series{X: []float64{1}, Y: []float64{1}, Lo: []float64{2}, Hi: []float64{1}}), kind: fault.Data, err: "from 2 down to 1"},
		{name: "twice the same series", draw: f.of(wave("a", 2, 1), wave("a", 2, 2)), kind: fault.Data, err: `series "a": series 1 has the same name and panel`},
		{name: "negative on a logarithmic axis", draw: f.with(logBoth(), Series{Name: "a", X: []float64{1, -2}, Y: []float64{1, 1}}), kind: fault.Data, err: `series "a": x of point 1 is negative (-2)`},
		{name: "a rule at zero on a logarithmic axis", draw: f.with(zeroRule, wave("a", 2, 1)), kind: fault.Usage, err: `rule "nil": 0 has no place`},
		{name: "a rule at NaN", draw: f.with(XYData{Rules: []Rule{{At: nan}}}, wave("a", 2, 1)), kind: fault.Usage, err: "NaN is not a finite number"},
		{name: "highlight of nothing", draw: f.with(XYData{Highlight: "b"}, wave("a", 2, 1)), kind: fault.Usage, err: `unknown series to highlight "b"`},
		{name: "too many series", draw: f.of(waves(513, 1)...), kind: fault.Usage, err: "513 are more than 512"},
	}
}

func scatterEdges() []edge {
	f := xyFunc(Scatter)
	crowd := Series{}
	for i := range 60 {
		crowd.X, crowd.Y = append(crowd.X, float64(i%8)*1e-3), append(crowd.Y, float64(i/8)*1e-3)
		crowd.Labels = append(crowd.Labels, fmt.Sprintf("a long label %d", i))
	}
	return []edge{
		{name: "labels without room", draw: f.of(crowd, wave("far", 2, 0)), says: []string{"labels without room are in the data table only."}},
		{name: "joined and hollow", draw: func(o Options) (*Figure, error) { return Scatter(frontier(), o) }, says: []string{"joined in order", "dominated", "budget 40 ms", "32"}},
		{name: "too many to join", draw: f.with(XYData{Join: true}, wave("a", 5000, 1)), kind: fault.Usage, err: "5000 points are too many to join"},
	}
}

// A line of two values at one place is the usual sign of a forgotten column.
func TestALineTakesOneValueAtAPlace(t *testing.T) {
	_, err := Line(XYData{X: Quantity{Name: "temperature"}, Y: Quantity{Name: "d"}, Series: []Series{{X: []float64{1, 2, 1, 1}, Y: []float64{1, 2, 3, 4}}}}, Options{})
	if err == nil || fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "temperature = 1 has 3 values of d, a line takes one; average them") {
		t.Errorf("got %v", err)
	}
}

func TestTheTableHoldsEveryPoint(t *testing.T) {
	d := frontier()
	f, err := Scatter(d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	d.Series[0].Y[0] = 99 // the figure keeps its own
	table := f.Table()
	want := "backend,tokens_per_second,latency_ms,latency_ms_lo,latency_ms_hi,tokens_per_second_lo,tokens_per_second_hi,label,hollow"
	if got := strings.Join(table.Header, ","); got != want {
		t.Errorf("header %s, want %s", got, want)
	}
	if len(table.Rows) != 18 || table.Rows[0][0] != "tiny" || table.Rows[0][2] == "99" || table.Rows[10][8] != "true" {
		t.Errorf("rows %v", table.Rows)
	}
}

// Series keep their colour and shape from panel to panel.
func TestSeriesLookTheSameInEveryPanel(t *testing.T) {
	m, err := newXY(lineName, true, sweepLines("a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	if len(m.names) != 3 || len(m.panels) != 2 || m.series[0].name != m.series[3].name || m.series[0].panel == m.series[3].panel {
		t.Errorf("names %q, panels %q", m.names, m.panels)
	}
}
