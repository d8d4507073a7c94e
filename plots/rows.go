package plots

import (
	"gonum.org/v1/plot/vg"

	"lab/plots/canvas"
)

// Names of rows: bars, violins, rows of a heat map. They are what tells one
// setting from another, so they get much room before anything is cut.

const (
	rowLabels = 0.4 // of the page, at most, for the names of rows
	// rowTwo is the pitch from which a name may have two lines, in points.
	rowTwo = vg.Length(2.2*canvas.TickSize + 1)
	// rowFill is how much of two lines a name is cut to: what stands at the break
	// does not fill the first.
	rowFill = 1.75
)

// rowName lays out the name of a row in at most most points: on one line where it
// fits, else on two when the rows are far enough apart, broken at a blank where
// there is one. What is longer is cut in the middle.
func rowName(p *canvas.Page, name string, st canvas.TextStyle, most, pitch vg.Length) []canvas.Label {
	l := p.Words(name, st)
	if l.Width() <= most || pitch < rowTwo {
		return []canvas.Label{l.Elide(most)}
	}
	return l.Elide(rowFill*most).Wrap(most, 2)
}

// widestOf returns the width of the widest line.
func widestOf(lines []canvas.Label) vg.Length {
	w := vg.Length(0)
	for _, l := range lines {
		w = max(w, l.Width())
	}
	return w
}

// putRow draws the lines of a name left of a point, around its height.
func putRow(p *canvas.Page, lines []canvas.Label, at vg.Point) {
	for i, l := range lines {
		up := (float64(len(lines)-1)/2 - float64(i)) * canvas.LineApart
		p.Put(l, vg.Point{X: at.X, Y: at.Y + vg.Length(up)}, canvas.End, canvas.Centre)
	}
}

// rowTicks are the names of rows, pitch apart, from the lowest.
func rowTicks(p *canvas.Page, names []string, pitch vg.Length) []canvas.Tick {
	var ticks []canvas.Tick
	for i := len(names) - 1; i >= 0; i-- {
		lines := rowName(p, names[i], p.Ink(canvas.Sans, canvas.TickSize), rowLabels*(p.Right()-p.Left()), pitch)
		t := canvas.Tick{At: -float64(i), Label: lines[0].Text()}
		if len(lines) > 1 {
			t.Second = lines[1].Text()
		}
		ticks = append(ticks, t)
	}
	return ticks
}

// pitchFor returns how far rows have to be apart for their names: pitch, or room
// for two lines when one of them needs them.
func pitchFor(p *canvas.Page, names []string, pitch vg.Length) vg.Length {
	for _, name := range names {
		if p.Words(name, p.Ink(canvas.Sans, canvas.TickSize)).Width() > rowLabels*(p.Right()-p.Left()) {
			return max(pitch, rowTwo)
		}
	}
	return pitch
}
