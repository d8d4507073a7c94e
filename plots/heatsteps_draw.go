package plots

import (
	"image/color"

	"gonum.org/v1/plot/vg"

	"lab/plots/canvas"
)

// Lengths of the heat_steps figure, in points.
const (
	stepCell   = vg.Length(36) // narrowest column
	stepWidest = vg.Length(64)
	stepRow    = vg.Length(19)
	stepHead   = vg.Length(11)
	stepApart  = vg.Length(8) // between lines of columns
	rankColumn = vg.Length(16)
)

func (h *heatSteps) draw(p *canvas.Page) {
	colourBar(p, "probability", 0, 1, h.colour(p))
	left := p.Left() + rankColumn
	room := p.Right() - left
	across := max(1, int(room/stepCell))
	lines := (len(h.shown) + across - 1) / across
	across = (len(h.shown) + lines - 1) / lines
	width := min(room/vg.Length(across), stepWidest)
	for first := 0; first < len(h.shown); first += across {
		h.drawLine(p, h.shown[first:min(first+across, len(h.shown))], first, left, width)
	}
}

// colour maps a probability; the root spreads the small ones apart.
func (h *heatSteps) colour(p *canvas.Page) func(float64) color.RGBA {
	return func(v float64) color.RGBA { return p.Theme().Sequential(v) }
}

// below reports whether some chosen token of a line stands under the ranks.
func (h *heatSteps) below(steps []HeatStep) bool {
	for _, s := range steps {
		if s.ChosenRank == 0 || s.ChosenRank > h.data.Ranks {
			return true
		}
	}
	return false
}

// drawLine draws one line of columns: numbers of the steps, cells, and the
// chosen tokens of lower ranks.
func (h *heatSteps) drawLine(p *canvas.Page, steps []HeatStep, first int, left, width vg.Length) {
	muted := p.Muted(canvas.Sans, canvas.NoteSize)
	head := "step"
	if l := p.Words(head, muted); l.Width() <= rankColumn {
		p.Put(l, vg.Point{X: left - 3, Y: p.Y() - stepHead/2}, canvas.End, canvas.Centre)
	}
	rows := h.data.Ranks
	for k := range rows {
		y := p.Y() - stepHead - (vg.Length(k)+0.5)*stepRow
		p.Put(p.Words(canvas.Count(k+1), muted), vg.Point{X: left - 4, Y: y}, canvas.End, canvas.Centre)
	}
	lower := h.below(steps)
	for i, s := range steps {
		x := left + vg.Length(i)*width
		p.Put(p.Words(canvas.Count(h.data.First+first+i+1), muted), vg.Point{X: x + width/2, Y: p.Y() - stepHead/2}, canvas.Middle, canvas.Centre)
		var frame vg.Rectangle
		for k := range rows {
			r := h.place(p, x, width, k)
			if h.drawStepCell(p, s, k, r); s.ChosenRank == k+1 {
				frame = r
			}
		}
		if s.ChosenRank == 0 || s.ChosenRank > rows {
			frame = h.place(p, x, width, rows)
			frame.Min.Y, frame.Max.Y = frame.Min.Y-3, frame.Max.Y-3
			h.drawLower(p, s, frame)
		}
		inner := vg.Rectangle{Min: vg.Point{X: frame.Min.X + 0.7, Y: frame.Min.Y + 0.7}, Max: vg.Point{X: frame.Max.X - 0.7, Y: frame.Max.Y - 0.7}}
		p.Box(inner, p.Theme().Ink, canvas.RefLine, nil)
	}
	height := stepHead + vg.Length(rows)*stepRow + stepApart
	if lower {
		height += stepRow + 3
	}
	p.Down(height)
}

// place returns the cell of a row in a column.
func (h *heatSteps) place(p *canvas.Page, x, width vg.Length, row int) vg.Rectangle {
	top := p.Y() - stepHead - vg.Length(row)*stepRow
	return vg.Rectangle{Min: vg.Point{X: x, Y: top - stepRow}, Max: vg.Point{X: x + width, Y: top}}
}

func (h *heatSteps) drawStepCell(p *canvas.Page, s HeatStep, k int, r vg.Rectangle) {
	th := p.Theme()
	middle := vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: (r.Min.Y + r.Max.Y) / 2}
	if k >= len(s.Likeliest) {
		p.Fill(r, unmeasured(th))
		p.Box(r, th.Grid, canvas.GridLine, nil)
		p.Put(p.Words("n/a", p.Muted(canvas.Sans, canvas.ValueSize)), middle, canvas.Middle, canvas.Centre)
		return
	}
	t := s.Likeliest[k]
	fill := unmeasured(th)
	if defined(t.Prob) {
		fill = h.colour(p)(min(t.Prob, 1))
	}
	p.Fill(r, fill)
	p.Box(r, th.Grid, canvas.GridLine, nil)
	h.cellWords(p, t.Text, probWords(t.Prob), th.TextOn(fill), r)
}

// drawLower draws a chosen token that is not among the likeliest.
func (h *heatSteps) drawLower(p *canvas.Page, s HeatStep, r vg.Rectangle) {
	words := probWords(s.ChosenProb)
	if s.ChosenRank > 0 {
		words = "rank " + canvas.Number(float64(s.ChosenRank))
	}
	h.cellWords(p, s.Chosen, words, p.Theme().Ink, r)
}

// cellWords writes a token and a number below it.
func (h *heatSteps) cellWords(p *canvas.Page, token, number string, c color.RGBA, r vg.Rectangle) {
	room := r.Size().X - 3.5
	x := (r.Min.X + r.Max.X) / 2
	label := p.Token(token, canvas.TextStyle{Family: canvas.Mono, Size: 7, Colour: c})
	if token == "" {
		label = p.Words("(empty)", canvas.TextStyle{Family: canvas.Sans, Size: 6.5, Colour: c})
	}
	p.Put(label.Elide(room), vg.Point{X: x, Y: r.Max.Y - 6}, canvas.Middle, canvas.Centre)
	p.Put(p.Words(number, canvas.TextStyle{Family: canvas.Sans, Size: 6.5, Colour: c}).Elide(room), vg.Point{X: x, Y: r.Min.Y + 5.5}, canvas.Middle, canvas.Centre)
}
