package mark

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/recorder"

	"lab/plots/canvas"
)

// stage draws marks into a panel of 100 by 100 points whose axes run from 0 to
// 10, and returns what lies on the page.
func stage(t *testing.T, marks func(*canvas.Page) []plot.Plotter) *recorder.Canvas {
	t.Helper()
	p, err := canvas.NewPage(200, canvas.Light(), nil)
	if err != nil {
		t.Fatal(err)
	}
	rect := vg.Rectangle{Min: vg.Point{X: 50, Y: -150}, Max: vg.Point{X: 150, Y: -50}}
	panel := p.Panel(rect, canvas.Axis{Max: 10, Bare: true}, canvas.Axis{Max: 10, Bare: true})
	panel.Draw(marks(p)...)
	p.Down(200)
	var rec recorder.Canvas
	p.Finish("t", "d").Draw(&rec)
	return &rec
}

// paths returns filled and stroked paths after the background.
func paths(rec *recorder.Canvas) (filled, stroked []vg.Path) {
	for _, a := range rec.Actions {
		switch a := a.(type) {
		case *recorder.Fill:
			filled = append(filled, a.Path)
		case *recorder.Stroke:
			stroked = append(stroked, a.Path)
		}
	}
	return filled[1:], stroked
}

func right(p vg.Path) vg.Length {
	x := vg.Length(math.Inf(-1))
	for _, c := range p {
		if c.Type != vg.CloseComp {
			x = max(x, c.Pos.X)
		}
	}
	return x
}

func TestBarsStartAtZeroAndEndAtTheirValue(t *testing.T) {
	rec := stage(t, func(p *canvas.Page) []plot.Plotter {
		return []plot.Plotter{Bars{Page: p, Thick: 0.5, Frame: 0.8, Bars: []Bar{{At: 5, Value: 4, Ghost: 6}}}}
	})
	filled, stroked := paths(rec)
	if len(filled) != 1 || len(stroked) != 1 {
		t.Fatalf("%d fills and %d strokes, want a bar and an outline", len(filled), len(stroked))
	}
	if got := filled[0][0].Pos.X; got != 50 {
		t.Errorf("the bar starts at %v, want the axis at 50", got)
	}
	if got := right(filled[0]); got != 90 {
		t.Errorf("the bar ends at %v, want 90", got)
	}
	if got := right(stroked[0]); got != 110 {
		t.Errorf("the outline ends at %v, want 110", got)
	}
}

func TestALongBarIsCutWithinTheAxis(t *testing.T) {
	rec := stage(t, func(p *canvas.Page) []plot.Plotter {
		return []plot.Plotter{Bars{Page: p, Thick: 0.5, Frame: 0.8, Room: 20, Bars: []Bar{{At: 5, Value: 40, Ghost: 50}}}}
	})
	filled, stroked := paths(rec)
	if got := right(filled[0]); got != 130 {
		t.Errorf("the bar ends at %v, want the room for words at 130", got)
	}
	if len(stroked) != 4 { // two cuts, and an outline open at its end
		t.Errorf("%d strokes, want 4", len(stroked))
	}
}

func TestNothingIsDrawnForNothing(t *testing.T) {
	rec := stage(t, func(p *canvas.Page) []plot.Plotter {
		return []plot.Plotter{
			Bars{Page: p, Bars: []Bar{{At: 5}, {At: 4, Value: math.NaN(), Ghost: math.NaN()}}},
			Lollipops{Page: p, Values: []Bar{{At: 3, Value: math.NaN()}}},
			Curve{Page: p, Width: 1}, Dots{Page: p, Points: []XY{{math.NaN(), 1}, {1, math.Inf(1)}}},
		}
	})
	if filled, stroked := paths(rec); len(filled)+len(stroked) != 0 {
		t.Errorf("%d fills and %d strokes", len(filled), len(stroked))
	}
}

func TestCurveIsBrokenAtGapsAndLosesNoPoint(t *testing.T) {
	nan := math.NaN()
	rec := stage(t, func(p *canvas.Page) []plot.Plotter {
		return []plot.Plotter{Curve{Page: p, Width: 1, Points: []XY{{0, 0}, {1, 1}, {nan, 2}, {3, 3}, {4, nan}, {5, 5}, {6, 6}, {7, 7}}}}
	})
	filled, stroked := paths(rec)
	if len(stroked) != 2 || len(stroked[0]) != 2 || len(stroked[1]) != 3 {
		t.Errorf("lines %v, want two of 2 and 3 points", stroked)
	}
	if len(filled) != 2 { // a ring and a disc
		t.Errorf("%d fills for the lonely point, want 2", len(filled))
	}
}

func TestLollipopAndLevel(t *testing.T) {
	rec := stage(t, func(p *canvas.Page) []plot.Plotter {
		return []plot.Plotter{
			Level{Page: p, Y: 9, Colour: p.Theme().Muted},
			Lollipops{Page: p, Values: []Bar{{At: 5, Value: 4, End: "0.4"}}},
		}
	})
	_, stroked := paths(rec)
	if len(stroked) != 2 || stroked[0][0].Pos.Y != stroked[0][1].Pos.Y || right(stroked[0]) != 150 {
		t.Fatalf("strokes %v, want a level across and a stem", stroked)
	}
	if got := right(stroked[1]); got != 90 {
		t.Errorf("the stem ends at %v, want 90", got)
	}
}

func TestLogGrid(t *testing.T) {
	for _, n := range []int{0, 1, 2, 7, 240, 241, 1000, 262144} {
		got := LogGrid(n, 240)
		if len(got) > 240 || n > 0 && len(got) == 0 {
			t.Fatalf("n = %d: %d indices", n, len(got))
		}
		if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Errorf("n = %d: not rising", n)
		}
		if n > 0 && (got[0] != 0 || got[len(got)-1] != n-1) {
			t.Errorf("n = %d: from %d to %d", n, got[0], got[len(got)-1])
		}
		for i := 1; i < len(got); i++ {
			// Neighbours are one rank or about a factor apart: 262144^(1/239) = 1.054,
			// and rounding to whole ranks can double that near the start.
			if a, b := float64(got[i-1]+1), float64(got[i]+1); b-a > 1 && b/a > 1.12 {
				t.Errorf("n = %d: a jump from rank %v to %v", n, a, b)
			}
		}
	}
}
