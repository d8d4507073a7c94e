package canvas

import "gonum.org/v1/plot/vg"

// Grid is panels that share both axes, side by side and below each other: small
// multiples with equal scales, or one panel that fills the width. The axes are
// named once; ticks are labelled left of the first column and below the lowest
// panel of each column.
type Grid struct {
	Titles []string // of the panels, in reading order; one empty title for a single panel
	X, Y   Axis
	Height vg.Length // of a data rectangle
	Room   vg.Length // kept free right of each data rectangle, for words
	Least  vg.Length // narrowest data rectangle; 0: 92
}

// Lengths of a grid, in points.
const (
	gridLeast  = vg.Length(92)
	gridGap    = vg.Length(14) // between columns
	gridBelow  = vg.Length(8)  // below a row
	titleSpace = vg.Length(PanelSize*leading + 2)
	mostAcross = 4
)

// Columns returns how many panels of n stand side by side on the page.
func (g Grid) Columns(p *Page, n int) int {
	least := g.Least
	if least == 0 {
		least = gridLeast
	}
	total := p.Right() - p.Left() - p.YAxisWidth(g.Y, g.Height)
	most := max(1, min(mostAcross, int((total+gridGap)/(least+g.Room+gridGap))))
	rows := (n + most - 1) / most
	return max(1, (n+rows-1)/max(rows, 1))
}

// Grid draws the titles and axes of a grid below what is on the page, moves the
// used height below it, and returns the panels in the order of the titles.
func (p *Page) Grid(g Grid) []*Panel {
	n := len(g.Titles)
	if n == 0 {
		return nil
	}
	columns := g.Columns(p, n)
	left := p.Left() + p.YAxisWidth(g.Y, g.Height)
	width := (p.Right()-left-vg.Length(columns-1)*gridGap)/vg.Length(columns) - g.Room
	titled := false
	for _, t := range g.Titles {
		titled = titled || t != ""
	}
	if g.Y.Name != "" {
		l := p.Words(g.Y.Name, p.Ink(Sans, AxisSize)).Elide(p.Right() - p.Left())
		p.Put(l, vg.Point{X: p.Left(), Y: p.Y()}, Start, Top)
		p.Down(AxisSize*leading + 3)
	}
	x, y := g.X, g.Y
	x.Name, y.Name = "", ""
	panels := make([]*Panel, n)
	for first := 0; first < n; first += columns {
		if titled {
			p.Down(titleSpace)
		}
		below := gridBelow
		for i := first; i < min(first+columns, n); i++ {
			x.Mute, y.Mute = i+columns < n, i > first
			at := left + vg.Length(i-first)*(width+g.Room+gridGap)
			if titled {
				p.Put(p.Words(g.Titles[i], p.Ink(Bold, PanelSize)).Elide(width+g.Room), vg.Point{X: at, Y: p.Y() + 4}, Start, Baseline)
			}
			rect := vg.Rectangle{Min: vg.Point{X: at, Y: p.Y() - g.Height}, Max: vg.Point{X: at + width, Y: p.Y()}}
			panels[i] = p.Panel(rect, x, y)
			if !x.Mute {
				below = max(below, p.XAxisHeight(x)+2)
			}
		}
		p.Down(g.Height + below)
	}
	if g.X.Name != "" {
		across := vg.Length(min(columns, n))
		p.AxisName(g.X.Name, left, left+across*width+(across-1)*(g.Room+gridGap), p.Y()+1)
		p.Down(AxisSize*leading + 2)
	}
	p.Down(4)
	return panels
}
