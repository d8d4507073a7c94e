package plots

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"lab/core/fault"
)

// sampleFunc is Hist, Ecdf or Violin.
type sampleFunc func(SampleData, Options) (*Figure, error)

func (f sampleFunc) with(d SampleData, list ...Sample) func(Options) (*Figure, error) {
	if d.Value.Name == "" {
		d.Value.Name = "surprisal_bits"
	}
	d.Samples = list
	return func(o Options) (*Figure, error) { return f(d, o) }
}

func (f sampleFunc) of(list ...Sample) func(Options) (*Figure, error) {
	return f.with(SampleData{}, list...)
}

func many(n, values int) []Sample {
	var out []Sample
	for k := range n {
		s := Sample{Name: fmt.Sprintf("strategy %d", k)}
		for i := range values {
			s.Values = append(s.Values, 3+2*math.Sin(float64(i)*1.7+float64(k))+0.1*float64(k))
		}
		out = append(out, s)
	}
	return out
}

func sampleEdges(f sampleFunc) []edge {
	nan, inf := math.NaN(), math.Inf(1)
	logged := SampleData{Value: Quantity{Name: "p", Log: true}}
	var odd []Sample
	for _, token := range oddTokens() {
		odd = append(odd, Sample{Name: token, Values: []float64{1, 2, 3}})
	}
	facets := many(12, 30)
	for i := range facets {
		facets[i].Name, facets[i].Panel = fmt.Sprint("s", i%3), fmt.Sprint(i/3)
	}
	equal := Sample{Name: "greedy", Values: slices.Repeat([]float64{0.5}, 64)}
	return []edge{
		{name: "no samples", draw: f.of(), says: []string{"no data (no samples)", "surprisal_bits"}},
		{name: "no values", draw: f.of(Sample{Name: "a"}), says: []string{"no data (no values)"}},
		{name: "everything undefined", draw: f.of(Sample{Values: []float64{nan, inf, -inf}}), says: []string{"no data (all 3 values undefined)"}},
		{name: "one value", draw: f.of(Sample{Values: []float64{7}}), says: []string{"1 value"}},
		{name: "all equal", draw: f.of(equal), says: []string{"64"}},
		{name: "all equal and zero", draw: f.of(Sample{Values: make([]float64, 9)}), says: []string{"9 values", "0"}},
		{name: "NaN and infinite", draw: f.of(Sample{Values: []float64{1, nan, 2, inf, 3}}), says: []string{"2 of 5 values are undefined and left out."}},
		{name: "an empty sample beside others", draw: f.of(append(many(2, 25), Sample{Name: "none"})...), says: []string{"n = 0 to 25"}},
		{name: "zero on a logarithmic axis", draw: f.with(logged, Sample{Values: []float64{0, 0, 0.1, 0.5, 1}}), says: []string{"2 values of exactly 0 are drawn at the tick 0"}},
		{name: "only zeros on a logarithmic axis", draw: f.with(logged, Sample{Values: []float64{0, 0}}), says: []string{"no data (no value above zero for the logarithmic axis)"}},
		{name: "one value on a logarithmic axis", draw: f.with(logged, Sample{Values: []float64{0.25}}), says: []string{"p (log scale)"}},
		{name: "panels", draw: f.with(SampleData{Facet: "model", By: "strategy"}, facets...), says: []string{"model = 0", "model = 3"}},
		{name: "30 samples", draw: f.of(many(30, 40)...), says: []string{"strategy 0", "strategy 29"}},
		{name: "262,144 values", draw: f.of(many(1, 262144)...), says: []string{"262,144"}},
		{name: "hostile names", draw: f.with(SampleData{By: "<b>\x00\u202e"}, odd...), says: []string{"‹0000›‹001B›", "‹202E›evil"}},
		{name: "few and many values, and all equal", draw: func(o Options) (*Figure, error) { return f(surprisals(200), o) }, says: []string{"human text", "beam:4", "n = 12 to 200"}},
		{name: "huge and tiny numbers", draw: f.of(Sample{Values: []float64{-1e300, 1e-300, 1e300}}), says: []string{"3 values"}},
		{name: "a range that overflows", draw: f.of(Sample{Values: []float64{-math.MaxFloat64, 0, math.MaxFloat64}}), kind: fault.Data, err: "value 0: -1.7976931348623157e+308 is beyond ±1e+300; scale the values"},
		{name: "neighbouring floats", draw: f.of(Sample{Values: []float64{1, math.Nextafter(1, 2)}}), says: []string{"2 values"}},
		{name: "narrow column", draw: func(o Options) (*Figure, error) { o.Width = 3.5; return f(surprisals(50), o) }, says: []string{"greedy"}},
		{name: "negative on a logarithmic axis", draw: f.with(logged, Sample{Name: "a", Values: []float64{1, -2}}), kind: fault.Data, err: `sample "a": value 1 is negative (-2)`},
		{name: "twice the same sample", draw: f.of(equal, equal), kind: fault.Data, err: `sample "greedy": sample 1 has the same name and panel`},
		{name: "too many samples", draw: f.of(many(201, 1)...), kind: fault.Usage, err: "201 are more than 200"},
	}
}

func ecdfEdges() []edge {
	f := sampleFunc(Ecdf)
	return []edge{
		{name: "a band", draw: f.with(SampleData{Level: 0.9}, many(2, 60)...), says: []string{"90\u00a0% confidence for all places at once"}},
		{name: "highlighted", draw: f.with(SampleData{Highlight: "strategy 4"}, many(9, 60)...), says: []string{"strategy 4", "8 others"}},
		{name: "level of 1", draw: f.with(SampleData{Level: 1}, many(1, 2)...), kind: fault.Usage, err: "level: 1 is outside (0, 1)"},
	}
}

func barsOf(d BarData, list ...CategoryBar) func(Options) (*Figure, error) {
	if d.Value.Name == "" {
		d.Value.Name, d.Category = "repetition", "strategy"
	}
	d.Bars = list
	return func(o Options) (*Figure, error) { return Bar(d, o) }
}

func plainBars(n int, value func(int) float64) []CategoryBar {
	var out []CategoryBar
	for i := range n {
		out = append(out, CategoryBar{Name: fmt.Sprintf("category %d", i), Value: value(i), Lo: math.NaN(), Hi: math.NaN()})
	}
	return out
}

func barEdges() []edge {
	nan, inf := math.NaN(), math.Inf(1)
	constant := func(v float64) func(int) float64 { return func(int) float64 { return v } }
	var odd, grouped, facets []CategoryBar
	for i, token := range oddTokens() {
		odd = append(odd, CategoryBar{Name: token, Value: float64(i), Lo: nan, Hi: nan})
	}
	for i := range 60 {
		grouped = append(grouped, CategoryBar{Name: fmt.Sprint("c", i%6), Series: fmt.Sprint("s", i/6), Value: float64(i), Lo: float64(i) - 3, Hi: inf})
	}
	for i := range 12 {
		facets = append(facets, CategoryBar{Name: fmt.Sprint("c", i%3), Panel: fmt.Sprint(i / 3), Value: float64(i) - 4, Lo: float64(i) - 5, Hi: float64(i) - 3})
	}
	logged := BarData{Value: Quantity{Name: "cost", Log: true}}
	return []edge{
		{name: "no bars", draw: barsOf(BarData{}), says: []string{"no data (no bars)", "repetition", "strategy"}},
		{name: "everything undefined", draw: barsOf(BarData{}, plainBars(2, constant(nan))...), says: []string{"no data (all 2 values undefined)"}},
		{name: "one bar", draw: barsOf(BarData{}, plainBars(1, constant(3))...), says: []string{"category 0", "3"}},
		{name: "all equal", draw: barsOf(BarData{}, plainBars(5, constant(3))...), says: []string{"5 values"}},
		{name: "all zero", draw: barsOf(BarData{}, plainBars(5, constant(0))...), says: []string{"5 values"}},
		{name: "NaN and infinite", draw: barsOf(BarData{}, append(plainBars(3, constant(1)), CategoryBar{Name: "nan", Value: nan}, CategoryBar{Name: "inf", Value: inf})...), says: []string{"n/a", "2 of 5 values are undefined (n/a)."}},
		{name: "both sides of zero", draw: barsOf(BarData{}, plainBars(9, func(i int) float64 { return float64(i) - 4 })...), says: []string{"−4", "4"}},
		{name: "all negative", draw: barsOf(BarData{}, plainBars(3, func(i int) float64 { return -float64(i) - 4 })...), says: []string{"−4"}},
		{name: "logarithmic with a zero", draw: barsOf(logged, plainBars(4, func(i int) float64 { return float64(i) * 100 })...), says: []string{"dots, since a logarithmic axis has no zero", "1 value of exactly 0"}},
		{name: "two series with intervals", draw: func(o Options) (*Figure, error) { return Bar(strategies(), o) }, says: []string{"tiny", "grammar", "95 % interval, n = 64"}},
		{name: "ten series", draw: barsOf(BarData{}, grouped...), says: []string{"10 series are drawn in grey"}},
		{name: "panels", draw: barsOf(BarData{Facet: "top_k", Rules: []Rule{{Vertical: true, At: 2, Label: "chance"}}}, facets...), says: []string{"top_k = 3", "a panel per top_k", "chance"}},
		{name: "200 categories", draw: barsOf(BarData{Highlight: "category 150"}, plainBars(200, func(i int) float64 { return float64(i) })...), says: []string{"152 more categories are in the data table only.", "category 150"}},
		{name: "262,144 bars are refused", draw: barsOf(BarData{}, plainBars(262144, constant(1))...), kind: fault.Usage, err: "262144 are more than 100000"},
		{name: "hostile names", draw: barsOf(BarData{}, odd...), says: []string{"‹0000›‹001B›", "‹202E›evil"}},
		{name: "huge and tiny numbers", draw: barsOf(BarData{}, plainBars(2, func(i int) float64 { return 1e300 - 2e300*float64(i) })...), says: []string{"category 1"}},
		{name: "narrow column", draw: func(o Options) (*Figure, error) { o.Width = 3.5; return Bar(strategies(), o) }, says: []string{"greedy"}},
		{name: "given twice", draw: barsOf(BarData{}, append(plainBars(1, constant(1)), plainBars(1, constant(2))...)...), kind: fault.Data, err: "it is given twice; average them"},
		{name: "interval upside down", draw: barsOf(BarData{}, CategoryBar{Name: "a", Lo: 2, Hi: 1}), kind: fault.Data, err: "from 2 down to 1"},
		{name: "negative on a logarithmic axis", draw: barsOf(logged, plainBars(1, constant(-1))...), kind: fault.Data, err: "it is negative (-1)"},
		{name: "a rule at a name", draw: barsOf(BarData{Rules: []Rule{{At: 1}}}, plainBars(1, constant(1))...), kind: fault.Usage, err: "the vertical axis holds names"},
		{name: "highlight of nothing", draw: barsOf(BarData{Highlight: "x"}, plainBars(1, constant(1))...), kind: fault.Usage, err: `unknown category to highlight "x"`},
	}
}

// gridOf is rows by columns of cells.
func gridOf(rows, columns int, cell func(i, j int) float64) HeatData {
	d := HeatData{Value: Quantity{Name: "quality"}, X: Quantity{Name: "step"}, Y: Quantity{Name: "rank"}}
	p := HeatPanel{}
	for j := range columns {
		d.Columns = append(d.Columns, fmt.Sprint("c", j))
	}
	for i := range rows {
		d.Rows = append(d.Rows, fmt.Sprint("r", i))
		row := make([]float64, columns)
		for j := range row {
			row[j] = cell(i, j)
		}
		p.Cells = append(p.Cells, row)
	}
	d.Panels = []HeatPanel{p}
	return d
}

func heatOf(d HeatData) func(Options) (*Figure, error) {
	return func(o Options) (*Figure, error) { return Heat(d, o) }
}

func heatEdges() []edge {
	product := func(i, j int) float64 { return float64(i*j) / 7 }
	constant := func(v float64) func(int, int) float64 { return func(int, int) float64 { return v } }
	holes := gridOf(4, 5, product)
	holes.Panels[0].Cells[1][1], holes.Panels[0].Cells[2] = math.Inf(1), nil
	hostile := gridOf(len(oddTokens()), len(oddTokens()), product)
	hostile.Rows, hostile.Columns = oddTokens(), oddTokens()
	centred := gridOf(5, 5, func(i, j int) float64 { return float64(i - j) })
	zero := 0.0
	centred.Centre = &zero
	panels := gridOf(3, 4, product)
	panels.Facet = "model"
	panels.Panels = append(panels.Panels, HeatPanel{Title: "b"}, HeatPanel{Title: "3", Cells: panels.Panels[0].Cells})
	panels.Best = "min"
	logged := gridOf(3, 3, product)
	logged.Value.Log = true
	bad := gridOf(1, 1, constant(-1))
	bad.Value.Log = true
	wide := gridOf(2, 2, product)
	wide.Columns = wide.Columns[:1]
	nan := math.NaN()
	middle := gridOf(1, 1, product)
	middle.Centre = &nan
	best := gridOf(1, 1, product)
	best.Best = "maxx"
	return []edge{
		{name: "nothing", draw: heatOf(HeatData{Value: Quantity{Name: "p"}, X: Quantity{Name: "step"}, Y: Quantity{Name: "rank"}}), says: []string{"no data (no cells)", "step", "rank"}},
		{name: "everything undefined", draw: heatOf(gridOf(2, 2, constant(nan))), says: []string{"no data (all 4 cells undefined)"}},
		{name: "one cell", draw: heatOf(gridOf(1, 1, constant(3))), says: []string{"1 cell", "3", "c0", "r0"}},
		{name: "all equal", draw: heatOf(gridOf(3, 3, constant(0.5))), says: []string{"9 cells", "0.5"}},
		{name: "missing and infinite", draw: heatOf(holes), says: []string{"n/a", "6 of 20 cells have no value (n/a)."}},
		{name: "centred on zero", draw: heatOf(centred), says: []string{"−4", "4"}},
		{name: "panels, one of them empty", draw: heatOf(panels), says: []string{"b", "model = 3", "framed: the lowest", "12 of 36 cells have no value"}},
		{name: "logarithmic with zeros", draw: heatOf(logged), says: []string{"5 cells of exactly 0 have the colour of the lowest value."}},
		{name: "the example of a sweep", draw: heatOf(sweptHeat()), says: []string{"framed: the highest", "0.889", "1 of 35 cells has no value (n/a)."}},
		{name: "512 by 512", draw: heatOf(gridOf(512, 512, product)), says: []string{"262,144 cells; each drawn is the mean of up to 8 × 7"}},
		{name: "262,144 in one row", draw: heatOf(gridOf(1, 262144, product)), says: []string{"262,144 cells"}},
		{name: "200 columns", draw: heatOf(gridOf(2, 200, product)), says: []string{"the mean of up to 2 × 1", "c0"}},
		{name: "hostile names", draw: heatOf(hostile), says: []string{"‹202E›evil"}},
		{name: "huge numbers", draw: heatOf(gridOf(2, 2, func(i, j int) float64 { return 1e300 * float64(i-j) })), says: []string{"4 cells"}},
		{name: "beyond what is drawn", draw: heatOf(gridOf(2, 2, func(i, j int) float64 { return math.MaxFloat64 * float64(i-j) })), kind: fault.Data, err: "row 0, column 1: -1.7976931348623157e+308 is beyond"},
		{name: "narrow column", draw: func(o Options) (*Figure, error) { o.Width = 3.5; return Heat(sweptHeat(), o) }, says: []string{"temperature"}},
		{name: "negative on a logarithmic scale", draw: heatOf(bad), kind: fault.Data, err: "row 0, column 0 is negative (-1)"},
		{name: "more cells than columns", draw: heatOf(wide), kind: fault.Data, err: "row 0 has 2 cells for 1 columns"},
		{name: "centre at NaN", draw: heatOf(middle), kind: fault.Usage, err: "centre: NaN cannot be the middle"},
		{name: "unknown best", draw: heatOf(best), kind: fault.Usage, err: `unknown best "maxx"; did you mean "max"`},
		{name: "too many cells", draw: heatOf(HeatData{Columns: make([]string, 2000), Rows: make([]string, 2000), Panels: make([]HeatPanel, 1)}), kind: fault.Usage, err: "more than 1048576 cells"},
	}
}

// The function at its values, by hand: of 1, 2, 2, 4 the shares are 1/4, 3/4, 1,
// and the half-width of the band at 95 % is √(ln 40 / 8).
func TestEcdfByHand(t *testing.T) {
	f, err := Ecdf(SampleData{Value: Quantity{Name: "x"}, Level: 0.95, Samples: []Sample{{Values: []float64{2, 4, 1, 2}}}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	half := math.Sqrt(math.Log(40) / 8)
	want := [][]float64{{1, 0.25, 0, 0.25 + half}, {2, 0.75, 0.75 - half, 1}, {4, 1, 1 - half, 1}}
	got := f.Table().Rows
	if len(got) != len(want) {
		t.Fatalf("rows %v", got)
	}
	for i, row := range want {
		for j, v := range row {
			var g float64
			if _, err := fmt.Sscan(got[i][j], &g); err != nil || !(math.Abs(g-v) <= 1e-12) { // rounding
				t.Errorf("row %d, column %d: %s, want %v", i, j, got[i][j], v)
			}
		}
	}
}

// No value is lost or counted twice, and each lies in its bin.
func TestHistogramsCountEveryValueOnce(t *testing.T) {
	for _, d := range []SampleData{surprisals(500), {Value: Quantity{Name: "x"}, Bins: 7, Samples: []Sample{{Values: []float64{0, 0.1, 0.2, 0.3, 0.3, 1}}}},
		{Value: Quantity{Name: "x", Log: true}, Samples: []Sample{{Values: []float64{1e-9, 1e-3, 10, 1e6, 1, 1}}}}} {
		s, err := newSamples(histName, d)
		if err != nil {
			t.Fatal(err)
		}
		h := &hist{samples: s}
		h.count()
		if !slices.IsSorted(h.edges) {
			t.Errorf("edges %v", h.edges)
		}
		for i, values := range h.sorted {
			sum := 0.0
			for k, n := range h.counts[i] {
				sum += n
				inside := 0.0
				for _, v := range values {
					if c := h.x.Coord(v); c >= h.edges[k] && (c < h.edges[k+1] || k == len(h.counts[i])-1 && c <= h.edges[k+1]) {
						inside++
					}
				}
				if inside != n {
					t.Errorf("bin %d holds %v, %v lie in it", k, n, inside)
				}
			}
			if sum != float64(len(values)) {
				t.Errorf("%v counted of %d", sum, len(values))
			}
		}
	}
}

// The density of a sample from a normal distribution has the shape of one.
func TestDensityOfANormalSample(t *testing.T) {
	var values []float64
	for i := range 4000 {
		p := (float64(i) + 0.5) / 4000
		values = append(values, math.Sqrt2*math.Erfinv(2*p-1))
	}
	s := density(values)
	for _, pt := range s {
		// The kernel widens the curve by h² = (0.9·4000^-0.2)² = 0.029 of variance, and
		// the grid adds less: 0.02 of the peak in all.
		if want := math.Exp(-pt.X * pt.X / 2 / 1.029); !(math.Abs(pt.Y-want) <= 0.02) {
			t.Errorf("density %.3f at %.2f, want %.3f", pt.Y, pt.X, want)
		}
	}
}

func TestQuantileOfType7(t *testing.T) {
	for q, want := range map[float64]float64{0: 1, 0.25: 1.75, 0.5: 2.5, 0.75: 3.25, 1: 4} {
		if got := quantile([]float64{1, 2, 3, 4}, q); got != want {
			t.Errorf("q = %v: %v, want %v", q, got, want)
		}
	}
	if !math.IsNaN(quantile(nil, 0.5)) {
		t.Error("a quantile of nothing")
	}
}

func TestHeatMergesTheMeansOfBlocks(t *testing.T) {
	h, err := newHeat(gridOf(1, 400, func(_, j int) float64 { return float64(j) }))
	if err != nil {
		t.Fatal(err)
	}
	if h.block != [2]int{3, 1} || len(h.panels[0].Cells[0]) != 134 || h.panels[0].Cells[0][1] != 4 || h.panels[0].Cells[0][133] != 399 {
		t.Errorf("blocks of %v: %v", h.block, h.panels[0].Cells[0])
	}
	f, err := h.draw(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(f.Table().Rows); n != 400 {
		t.Errorf("%d rows in the table, want every cell", n)
	}
	if !strings.Contains(f.Description(), "highest 399 at step = c399") {
		t.Error(f.Description())
	}
}
