package mark

import (
	"image/color"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"lab/plots/canvas"
)

var black = color.RGBA{A: 255}

// The laws of spreading labels: the order stays, neighbours keep their distance,
// all lie inside when they fit, and labels that are far enough apart stay.
func TestSpreadKeepsOrderDistanceAndLimits(t *testing.T) {
	const gap, slack = 9.0, 1e-9 // rounding
	r := rand.New(rand.NewPCG(1, 1))
	for round := range 500 {
		n := 1 + r.IntN(12)
		want := make([]float64, n)
		for i := range want {
			want[i] = math.Floor(r.Float64()*110) - 5 // with ties, and beyond the limits
		}
		got := Spread(slices.Clone(want), gap, 0, 120)
		for i := range want {
			for j := range want {
				switch {
				case want[i] > want[j] && !(got[i] >= got[j]+gap-slack):
					t.Fatalf("round %d: %v became %v", round, want, got)
				case want[i] == want[j] && i < j && !(got[i] >= got[j]+gap-slack):
					t.Fatalf("round %d: of equal places the first is not the highest: %v became %v", round, want, got)
				}
			}
			if !(got[i] >= -slack && got[i] <= 120+slack) {
				t.Fatalf("round %d: %v became %v, outside 0 to 120", round, want, got)
			}
		}
	}
	for _, want := range [][]float64{nil, {5}, {10, 40, 80}} {
		if got := Spread(want, gap, 0, 120); !slices.Equal(got, want) && len(want) > 0 {
			t.Errorf("%v became %v", want, got)
		}
	}
	if got := Spread([]float64{50, 50}, 10, 0, 100); got[0] != 55 || got[1] != 45 {
		t.Errorf("two at 50 became %v, want 55 and 45 around it", got)
	}
}

// Thinning keeps the ends, and in every stretch the lowest and the highest point.
func TestThinKeepsWhatCanBeSeen(t *testing.T) {
	const n, columns = 20000, 100
	r := rand.New(rand.NewPCG(2, 2))
	points := make([]XY, n)
	for i := range points {
		points[i] = XY{float64(i), r.NormFloat64()}
	}
	got := Thin(points, 0, n-1, columns)
	if len(got) > 4*columns || got[0] != points[0] || got[len(got)-1] != points[n-1] {
		t.Fatalf("%d points from %v to %v", len(got), got[0], got[len(got)-1])
	}
	if !slices.IsSortedFunc(got, func(a, b XY) int { return int(math.Copysign(1, a.X-b.X)) }) {
		t.Error("not by rising X")
	}
	extremes := func(list []XY) map[int][2]float64 {
		out := map[int][2]float64{}
		for _, p := range list {
			k := min(int(p.X/(n-1)*columns), columns-1)
			e, ok := out[k]
			if !ok {
				e = [2]float64{p.Y, p.Y}
			}
			out[k] = [2]float64{min(e[0], p.Y), max(e[1], p.Y)}
		}
		return out
	}
	all, kept := extremes(points), extremes(got)
	if len(all) != columns || len(kept) != columns {
		t.Fatalf("%d and %d stretches", len(all), len(kept))
	}
	for k, e := range all {
		if kept[k] != e {
			t.Errorf("stretch %d: %v, want %v", k, kept[k], e)
		}
	}
	if few := points[:400]; len(Thin(few, 0, 400, columns)) != 400 {
		t.Error("few points were thinned")
	}
}

func TestThinKeepsWideGapsOnly(t *testing.T) {
	const n = 10000
	points := make([]XY, n)
	nan := math.NaN()
	for i := range points {
		points[i] = XY{float64(i), 1}
	}
	points[1234].Y = nan // narrower than what can be seen
	for i := 5000; i < 6000; i++ {
		points[i].Y = nan
	}
	gaps := 0
	for _, p := range Thin(points, 0, n-1, 50) {
		if math.IsNaN(p.X) {
			gaps++
		}
	}
	if gaps != 1 {
		t.Errorf("%d gaps, want the wide one", gaps)
	}
	spans := make([]Span, n)
	for i := range spans {
		spans[i] = Span{float64(i), -float64(i % 7), float64(i % 11)}
	}
	spans[77] = Span{nan, nan, nan}
	got := ThinSpans(spans, 0, n-1, 50)
	if len(got) != 50 || got[3].Lo != -6 || got[3].Hi != 10 {
		t.Errorf("%d spans, the fourth %v, want 50 from -6 to 10", len(got), got[3])
	}
}

func TestStepsHoldTheirValueToTheNextPoint(t *testing.T) {
	got := Steps([]XY{{1, 0.25}, {2, 0.75}, {4, 1}}, 0)
	want := []XY{{1, 0}, {1, 0.25}, {2, 0.25}, {2, 0.75}, {4, 0.75}, {4, 1}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := StepSpans([]Span{{1, 0, 2}, {3, 1, 4}}); !slices.Equal(got, []Span{{1, 0, 2}, {3, 0, 2}}) {
		t.Errorf("spans %v", got)
	}
}

func TestBandIsCutAtThePanelAndBrokenAtGaps(t *testing.T) {
	nan := math.NaN()
	rec := stage(t, func(p *canvas.Page) []plot.Plotter {
		return []plot.Plotter{Band{Page: p, Fill: black, Spans: []Span{{1, -50, 50}, {2, 2, 4}, {nan, 1, 2}, {4, 2, nan}, {6, 3, 5}}}}
	})
	filled, _ := paths(rec)
	if len(filled) != 2 {
		t.Fatalf("%d fills, want an area and a bar for the lonely span", len(filled))
	}
	for _, c := range filled[0] {
		// Finish moves the page up by its height of 212.16 points.
		if c.Type != vg.CloseComp && (c.Pos.Y < 62.15 || c.Pos.Y > 162.17) {
			t.Errorf("the band reaches %v, outside the panel", c.Pos)
		}
	}
	if got := right(filled[1]); got != 112 { // 6 of 10 is 110, and 2 points of width
		t.Errorf("the lonely span ends at %v, want 112", got)
	}
}

func TestWhiskersHaveCapsWhereTheyEndInside(t *testing.T) {
	rec := stage(t, func(p *canvas.Page) []plot.Plotter {
		return []plot.Plotter{
			Whiskers{Page: p, Colour: black, Points: []XY{{5, 5}, {1, 1}}, Spans: []Span{{0, 4, 6}, {0, math.NaN(), 2}}},
			Whiskers{Page: p, Colour: black, Across: true, Points: []XY{{5, 5}}, Spans: []Span{{0, -90, 6}}},
		}
	})
	_, stroked := paths(rec)
	if len(stroked) != 5 { // a line and two caps, and a line and one cap
		t.Errorf("%d strokes, want 5", len(stroked))
	}
	if across := stroked[3]; across[0].Pos.X != 50 || across[1].Pos.X != 110 || across[0].Pos.Y != across[1].Pos.Y {
		t.Errorf("the whisker across is %v", across)
	}
}

// Words beside points never cover words, points or the edge; those without a
// place are counted.
func TestPointLabelsFindRoomOrAreCounted(t *testing.T) {
	missed := 0
	var words []canvas.PlacedWords
	p, err := canvas.NewPage(200, canvas.Light(), nil)
	if err != nil {
		t.Fatal(err)
	}
	rect := vg.Rectangle{Min: vg.Point{X: 50, Y: -150}, Max: vg.Point{X: 150, Y: -50}}
	panel := p.Panel(rect, canvas.Axis{Max: 10, Bare: true}, canvas.Axis{Max: 10, Bare: true})
	var points []XY
	var names []string
	for i := range 40 {
		points = append(points, XY{float64(i%7) * 1.5, float64(i/7) * 1.7})
		names = append(names, "label")
	}
	panel.Draw(PointLabels{Page: p, Points: points, Words: names, Radius: 2.5, Missed: &missed, Avoid: []XY{{9.9, 9.9}}})
	p.Down(200)
	words = p.Finish("t", "d").Words()
	if len(words)+missed != 40 || missed == 0 || len(words) < 5 {
		t.Fatalf("%d labels placed and %d missed of 40", len(words), missed)
	}
	for i, a := range words {
		for _, b := range words[:i] {
			if a.Rect.Min.X < b.Rect.Max.X && b.Rect.Min.X < a.Rect.Max.X && a.Rect.Min.Y < b.Rect.Max.Y && b.Rect.Min.Y < a.Rect.Max.Y {
				t.Errorf("%v over %v", a.Rect, b.Rect)
			}
		}
		if a.Rect.Min.X < 50 || a.Rect.Max.X > 150 {
			t.Errorf("%v outside the panel", a.Rect)
		}
	}
}

// Every point is in exactly one cell, and the fullest square has the side given.
func TestCellsHoldEveryPoint(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	var points []XY
	for range 5000 {
		points = append(points, XY{10 * r.Float64(), 10 * r.Float64() * r.Float64()})
	}
	points = append(points, XY{math.NaN(), 1})
	x, y := canvas.Axis{Max: 10}, canvas.Axis{Max: 10}
	g := cellsOf(points, 4, 100, 100, 0, 10, 0, 10)
	sum := int32(0)
	for _, n := range g.counts {
		sum += n
	}
	cells, most := CountCells(points, 4, 100, 100, x, y)
	if sum != 5000 || cells == 0 || most == 0 {
		t.Fatalf("%d points in %d cells, most %d", sum, cells, most)
	}
	rec := stage(t, func(p *canvas.Page) []plot.Plotter {
		return []plot.Plotter{Cells{Page: p, Side: 4, Most: most, Series: []CellSeries{{points, black}}}}
	})
	filled, _ := paths(rec)
	if len(filled) != cells {
		t.Errorf("%d squares for %d cells", len(filled), cells)
	}
	widest := vg.Length(0)
	for _, f := range filled {
		widest = max(widest, right(f)-f[0].Pos.X)
	}
	if !(math.Abs(float64(widest-4)) <= 1e-9) { // rounding
		t.Errorf("the fullest square is %v wide, want 4", widest)
	}
}

func TestSignedBarsGoBothWays(t *testing.T) {
	rec := stage(t, func(p *canvas.Page) []plot.Plotter {
		nan := math.NaN()
		return []plot.Plotter{SignedBars{Page: p, Bars: []SignedBar{
			{At: 2, Thick: 1, From: 5, To: 8, Lo: nan, Hi: nan}, {At: 4, Thick: 1, From: 5, To: 3, Lo: 2, Hi: 4}, {At: 6, Thick: 1, From: 5, To: nan, Lo: nan, Hi: nan},
		}}}
	})
	filled, stroked := paths(rec)
	if len(filled) != 2 || len(stroked) != 6 { // a whisker, its caps, and a halo of each
		t.Fatalf("%d bars and %d strokes, want 2 and 6", len(filled), len(stroked))
	}
	if got := [4]vg.Length{filled[0][0].Pos.X, right(filled[0]), filled[1][0].Pos.X, right(filled[1])}; got != [4]vg.Length{100, 130, 80, 100} {
		t.Errorf("bars from and to %v", got)
	}
}

func TestRulesOutsideThePanelAreNotDrawn(t *testing.T) {
	rec := stage(t, func(p *canvas.Page) []plot.Plotter {
		return []plot.Plotter{Rule{Page: p, At: 11, Words: "a"}, Rule{Page: p, At: -1, Vertical: true}, Rule{Page: p, At: math.NaN()}, Rule{Page: p, At: 5, Vertical: true}}
	})
	if _, stroked := paths(rec); len(stroked) != 1 || stroked[0][0].Pos.X != 100 {
		t.Errorf("strokes %v, want one at 100", stroked)
	}
}
