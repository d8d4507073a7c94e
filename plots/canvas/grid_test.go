package canvas

import (
	"fmt"
	"testing"

	"gonum.org/v1/plot/vg"
)

// gridOf draws a grid of n panels and returns them with the picture.
func gridOf(t *testing.T, width vg.Length, n int, room vg.Length) ([]*Panel, *Picture) {
	t.Helper()
	p, err := NewPage(width, Light(), nil)
	if err != nil {
		t.Fatal(err)
	}
	g := Grid{X: Axis{Name: "temperature", Max: 10, Grid: true, Ticks: []Tick{{At: 0, Label: "0"}, {At: 10, Label: "10"}}}, Y: Axis{Name: "entropy, bits", Max: 5}, Height: 90, Room: room}
	for i := range n {
		g.Titles = append(g.Titles, fmt.Sprint("panel ", i))
	}
	panels := p.Grid(g)
	return panels, p.Finish("t", "d")
}

// All panels have one size, lie on the page and apart, and the axes are named
// once; every column has labels below its lowest panel and nowhere else.
func TestGridsShareTheirAxes(t *testing.T) {
	for n := 1; n <= 13; n++ {
		for _, width := range []vg.Length{3.5 * 72, 5.2 * 72, 14 * 72} {
			panels, pic := gridOf(t, width, n, 20)
			if len(panels) != n {
				t.Fatalf("%d panels, want %d", len(panels), n)
			}
			lowest := map[vg.Length]vg.Length{}
			for i, a := range panels {
				if a.Rect.Size() != panels[0].Rect.Size() && !near(a.Rect.Size(), panels[0].Rect.Size()) {
					t.Errorf("n = %d: panel %d is %v, the first %v", n, i, a.Rect.Size(), panels[0].Rect.Size())
				}
				if a.Rect.Min.X < Margin || a.Rect.Max.X+20 > width-Margin+0.01 {
					t.Errorf("n = %d: panel %d at %v leaves the page of %v", n, i, a.Rect, width)
				}
				for _, b := range panels[:i] {
					if a.Rect.Min.X < b.Rect.Max.X && b.Rect.Min.X < a.Rect.Max.X && a.Rect.Min.Y < b.Rect.Max.Y && b.Rect.Min.Y < a.Rect.Max.Y {
						t.Errorf("n = %d: panels at %v and %v overlap", n, a.Rect, b.Rect)
					}
				}
				lowest[a.Rect.Min.X] = min(lowest[a.Rect.Min.X], a.Rect.Min.Y)
			}
			count := map[string]int{}
			for _, w := range pic.Words() {
				count[w.Text]++
			}
			if count["temperature"] != 1 || count["entropy, bits"] != 1 || count["panel 0"] != 1 {
				t.Errorf("n = %d: names %v", n, count)
			}
			if got := count["10"]; got != len(lowest) { // the last tick of the horizontal axis
				t.Errorf("n = %d, %v wide: %d labelled horizontal axes for %d columns", n, width, got, len(lowest))
			}
		}
	}
}

func near(a, b vg.Point) bool {
	const rounding = 1e-6
	return a.X-b.X < rounding && b.X-a.X < rounding && a.Y-b.Y < rounding && b.Y-a.Y < rounding
}

// Every shape has about the area of a disc, and hollow ones a hole.
func TestSymbolsAreAboutEquallyHeavy(t *testing.T) {
	disc := 3.14159
	for s := Square; s < symbols; s++ {
		path := s.path(vg.Point{}, 1)
		area := 0.0
		for i, c := range path[:len(path)-1] {
			next := path[(i+1)%(len(path)-1)]
			area += float64(c.Pos.X*next.Pos.Y-next.Pos.X*c.Pos.Y) / 2
		}
		if area < 0 {
			area = -area
		}
		if !(area > 0.75*disc && area < 1.3*disc) {
			t.Errorf("symbol %d has the area %.2f, a disc %.2f", s, area, disc)
		}
	}
	if SymbolAt(0) != Disc || SymbolAt(int(symbols)) != Disc || SymbolAt(1) == SymbolAt(2) {
		t.Error("the order of symbols")
	}
}
