package plots

import (
	"image/color"

	"gonum.org/v1/plot/vg"

	"lab/plots/canvas"
)

// Lengths of the sweep grid, in points.
const (
	gridWidest  = vg.Length(64)  // of a column
	gridTallest = vg.Length(34)  // of a row
	gridHighest = vg.Length(400) // of all rows
	gridLabels  = 0.25           // of the page, at most, for the names of the rows
)

// draw draws the colour bar, the cells and the names of both settings.
func (g *settingsGrid) draw(p *canvas.Page) {
	if g.lo < g.hi {
		colourBar(p, g.data.Value.axisName(), g.lo, g.hi, p.Theme().Sequential)
	}
	st := p.Ink(canvas.Sans, canvas.TickSize)
	labels := vg.Length(0)
	for _, name := range g.data.YNames {
		labels = max(labels, p.Words(name, st).Width())
	}
	labels = min(labels, vg.Length(gridLabels)*(p.Right()-p.Left()))
	left := p.Left() + labels + 5
	nx, ny := len(g.data.XNames), len(g.data.YNames)
	w := min((p.Right()-left)/vg.Length(nx), gridWidest)
	h := min(w*0.62, gridTallest, gridHighest/vg.Length(ny))
	p.Put(p.Words(g.data.Y.axisName(), p.Ink(canvas.Sans, canvas.AxisSize)).Elide(p.Right()-p.Left()), vg.Point{X: p.Left(), Y: p.Y()}, canvas.Start, canvas.Top)
	p.Down(14)
	bottom := p.Y() - h*vg.Length(ny)
	place := func(x, y int) vg.Rectangle {
		return vg.Rectangle{Min: vg.Point{X: left + w*vg.Length(x), Y: bottom + h*vg.Length(y)}, Max: vg.Point{X: left + w*vg.Length(x+1), Y: bottom + h*vg.Length(y+1)}}
	}
	for x := range nx {
		for y := range ny {
			g.drawCell(p, place(x, y), g.at[x][y])
		}
	}
	if g.best >= 0 && g.lo < g.hi {
		b := g.data.Cells[g.best]
		r := place(b.X, b.Y)
		r.Min.X, r.Min.Y, r.Max.X, r.Max.Y = r.Min.X+0.8, r.Min.Y+0.8, r.Max.X-0.8, r.Max.Y-0.8
		p.Box(r, p.Theme().Background, canvas.SeriesLine+1.2, nil)
		p.Box(r, p.Theme().Ink, canvas.SeriesLine, nil)
	}
	every := max(1, int(9.5/h)+1)
	if h >= 9.5 {
		every = 1
	}
	for y := 0; y < ny; y += every {
		p.Put(p.Words(g.data.YNames[y], st).Elide(labels), vg.Point{X: left - 4, Y: bottom + h*(vg.Length(y)+0.5)}, canvas.End, canvas.Centre)
	}
	g.drawColumns(p, left, w, bottom, st)
	p.Down(h*vg.Length(ny) + 15)
	p.AxisName(g.data.X.axisName(), left, left+w*vg.Length(nx), p.Y())
	p.Down(15)
}

// drawColumns names the columns, every k-th when they are narrow.
func (g *settingsGrid) drawColumns(p *canvas.Page, left, w, bottom vg.Length, st canvas.TextStyle) {
	longest := vg.Length(0)
	for _, name := range g.data.XNames {
		longest = max(longest, p.Words(name, st).Width())
	}
	room := max(w-3, min(longest, 60))
	every := 1
	for w*vg.Length(every) < room+3 {
		every++
	}
	end := left - 10
	for x := 0; x < len(g.data.XNames); x += every {
		l := p.Words(g.data.XNames[x], st).Elide(room)
		at := left + w*(vg.Length(x)+0.5) - l.Width()/2
		at = min(max(at, p.Left()), p.Right()-l.Width())
		if at < end+2 {
			continue
		}
		end = at + l.Width()
		p.Put(l, vg.Point{X: at, Y: bottom - 4}, canvas.Start, canvas.Top)
	}
}

// drawCell draws one cell; -1 is a pair of settings that was not run.
func (g *settingsGrid) drawCell(p *canvas.Page, r vg.Rectangle, i int) {
	th := p.Theme()
	if i < 0 {
		p.Box(r, th.Grid, canvas.GridLine, nil)
		return
	}
	c := g.data.Cells[i]
	fill, words := unmeasured(th), "n/a"
	switch {
	case c.Failed != "":
		p.Fill(r, th.Background)
		hatch(p, r, th.Muted)
		p.Box(r, th.Grid, canvas.GridLine, nil)
		if l := p.Words("failed", p.Ink(canvas.Sans, canvas.ValueSize)); l.Width()+4 <= r.Size().X && r.Size().Y >= 10 {
			p.PutClear(l, vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: (r.Min.Y + r.Max.Y) / 2}, canvas.Middle)
		}
		return
	case defined(c.Value):
		share := 0.5
		if g.lo < g.hi {
			share = (c.Value - g.lo) / (g.hi - g.lo)
		}
		fill, words = th.Sequential(share), canvas.Digits(c.Value, 3)
	}
	p.Fill(r, fill)
	p.Box(r, th.Grid, canvas.GridLine, nil)
	g.cellValue(p, r, th.TextOn(fill), words, i)
}

// cellValue writes the value, and the interval of the best below it, where there
// is room.
func (g *settingsGrid) cellValue(p *canvas.Page, r vg.Rectangle, ink color.RGBA, words string, i int) {
	middle := vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: (r.Min.Y + r.Max.Y) / 2}
	value := p.Words(words, canvas.TextStyle{Family: canvas.Sans, Size: canvas.PanelSize, Colour: ink})
	if value.Width()+4 > r.Size().X || r.Size().Y < 10 {
		return
	}
	c := g.data.Cells[i]
	if i == g.best && defined(c.Lo) && defined(c.Hi) && g.lo < g.hi {
		below := p.Words(intervalWords(c), canvas.TextStyle{Family: canvas.Sans, Size: 6.2, Colour: ink})
		if below.Width()+5 <= r.Size().X && r.Size().Y >= 21 {
			p.Put(below, vg.Point{X: middle.X, Y: middle.Y - 5}, canvas.Middle, canvas.Centre)
			middle.Y += 4
		}
	}
	p.Put(value, middle, canvas.Middle, canvas.Centre)
}

// hatch fills a rectangle with rising lines.
func hatch(p *canvas.Page, r vg.Rectangle, c color.RGBA) {
	const apart = vg.Length(4)
	w, h := r.Size().X, r.Size().Y
	for off := apart - h; off < w; off += apart { // where a line meets the lower edge
		from, to := max(off, 0), min(off+h, w)
		if to > from {
			p.Line(c, canvas.GridLine, nil, vg.Point{X: r.Min.X + from, Y: r.Min.Y + from - off}, vg.Point{X: r.Min.X + to, Y: r.Min.Y + to - off})
		}
	}
}
