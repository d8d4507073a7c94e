package mark

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"lab/plots/canvas"
)

// Tile is one cell of a heat map.
type Tile struct {
	X, Y          float64 // coordinates of its middle
	Width, Height float64 // in axis units
	Fill          color.RGBA
	Words         string // written in the middle when they fit
	Framed        bool
	Crossed       bool       // a stroke across: there is no value
	Hatch         color.RGBA // of lines across it, on which words have their own ground; the zero colour draws none
	Edge          color.RGBA // of an outline; the zero colour draws none
	Below         string     // under Words, smaller, left out where it does not fit
}

// Tiles draws the cells of a heat map; words are in the colour that reads best
// on their cell.
type Tiles struct {
	Page  *canvas.Page
	Tiles []Tile
	Size  float64 // of the words, in points
}

// seam is how far a cell reaches under the next, in points.
const seam = vg.Length(0.25)

// Plot implements plot.Plotter.
func (t Tiles) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	rect := func(tile Tile) vg.Rectangle {
		return vg.Rectangle{Min: vg.Point{X: x(tile.X - tile.Width/2), Y: y(tile.Y - tile.Height/2)},
			Max: vg.Point{X: x(tile.X + tile.Width/2), Y: y(tile.Y + tile.Height/2)}}
	}
	for _, tile := range t.Tiles {
		r := rect(tile)
		// A hair over the next cell, so that no seam shows between them.
		t.Page.Fill(vg.Rectangle{Min: vg.Point{X: r.Min.X, Y: max(r.Min.Y-seam, c.Min.Y)}, Max: vg.Point{X: min(r.Max.X+seam, c.Max.X), Y: r.Max.Y}}, tile.Fill)
		if tile.Hatch != (color.RGBA{}) {
			hatch(t.Page, r, tile.Hatch)
		}
		if tile.Edge != (color.RGBA{}) {
			t.Page.Box(r, tile.Edge, canvas.GridLine, nil)
		}
		if tile.Crossed {
			t.Page.Line(t.Page.Theme().Muted, canvas.GridLine, nil, r.Min, r.Max)
		}
		t.words(tile, r)
	}
	for _, tile := range t.Tiles {
		if tile.Framed {
			r := rect(tile)
			corners := []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}, r.Min, {X: r.Max.X, Y: r.Min.Y}} // the first side twice: no open corner
			t.Page.Line(t.Page.Theme().Background, 3, nil, corners...)
			t.Page.Line(t.Page.Theme().Ink, 1.4, nil, corners...)
		}
	}
}

// belowSize is the size of the second line of a tile, in points.
const belowSize = 6.2

// words writes the words of a tile, and those below them where there is room.
func (t Tiles) words(tile Tile, r vg.Rectangle) {
	if tile.Words == "" {
		return
	}
	style := canvas.TextStyle{Family: canvas.Sans, Size: t.Size, Colour: t.Page.Theme().TextOn(tile.Fill)}
	l := t.Page.Words(tile.Words, style)
	at := vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: (r.Min.Y + r.Max.Y) / 2}
	if tile.Hatch != (color.RGBA{}) {
		half := vg.Length(t.Size) * 0.55
		t.Page.Fill(vg.Rectangle{Min: vg.Point{X: at.X - l.Width()/2 - 1, Y: at.Y - half}, Max: vg.Point{X: at.X + l.Width()/2 + 1, Y: at.Y + half}}, tile.Fill)
	}
	if tile.Below != "" {
		style.Size = belowSize
		if below := t.Page.Words(tile.Below, style); below.Width()+5 <= r.Size().X && r.Size().Y >= 21 {
			t.Page.Put(below, vg.Point{X: at.X, Y: at.Y - 5}, canvas.Middle, canvas.Centre)
			at.Y += 4
		}
	}
	t.Page.Put(l, at, canvas.Middle, canvas.Centre)
}
