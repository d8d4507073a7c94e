package plots

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"

	"lab/plots/canvas"
	"lab/plots/mark"
)

// Lengths of the temperatures figure, in points.
const (
	curveHeight = vg.Length(150)
	keyPitch    = vg.Length(13)
	keySample   = vg.Length(16)
	keyGap      = vg.Length(8)
)

func (t *temperatures) draw(o Options) (*Figure, error) {
	p, o, err := o.sheet(temperaturesName, temperaturesWidth, t.finding(), t.subtitle())
	if err != nil {
		return nil, err
	}
	x := canvas.Axis{Name: "rank, likeliest first (log scale)", Log: true}
	y := canvas.Axis{Name: "cumulative mass", Max: 1, Ticks: t.massTicks(), Grid: true}
	if t.emptyWhy != "" {
		drawEmpty(p, x, y, t.emptyWhy)
	} else {
		t.drawCurves(p, x, y)
	}
	return o.finish(p, content{name: temperaturesName, describe: t.describe(), notes: t.notes(), table: fixed(t.table()), vega: t.vega, sketch: t.sketch}), nil
}

// massTicks are quarters and the mass of the nucleus; a quarter too near to that
// mass gives way to it.
func (t *temperatures) massTicks() []canvas.Tick {
	const near = 0.07 // of the axis: the height of a label
	ticks := []canvas.Tick{{At: t.topP, Label: canvas.Number(t.topP)}}
	for _, v := range []float64{0, 0.25, 0.5, 0.75, 1} {
		if math.Abs(v-t.topP) >= near {
			ticks = append(ticks, canvas.Tick{At: v, Label: canvas.Number(v)})
		}
	}
	slices.SortFunc(ticks, func(a, b canvas.Tick) int { return compareFloats(a.At, b.At) })
	return ticks
}

// colour returns the line colour of row i.
func (t *temperatures) colour(p *canvas.Page, i int) color.RGBA {
	if t.many() {
		if i == t.highlighted() {
			return samplingColour(p)
		}
		return p.Theme().Muted
	}
	if len(t.rows) == 1 {
		return samplingColour(p)
	}
	return p.Theme().OrderedLine(float64(i) / float64(len(t.rows)-1))
}

// many reports whether there are too many lines to tell apart by colour.
func (t *temperatures) many() bool { return len(t.rows) > directLines }

func (t *temperatures) drawCurves(p *canvas.Page, x, y canvas.Axis) {
	// Half a marker of room on both sides; one token gets a decade around it.
	x.Fit(1, float64(max(t.ranks, 2)))
	if t.ranks == 1 {
		x.Min, x.Max = -0.5, 1
	} else {
		x.Min, x.Max = -0.03*x.Max, 1.02*x.Max
	}
	columns := t.columns(p)
	keys := vg.Length(0)
	for _, c := range columns {
		keys += c.width + keyGap
	}
	keys += keySample
	p.Down(canvas.NameHeight)
	left := p.Left() + p.YAxisWidth(y, curveHeight)
	rect := vg.Rectangle{
		Min: vg.Point{X: left, Y: p.Y() - curveHeight},
		Max: vg.Point{X: p.Right() - keys - 14, Y: p.Y()},
	}
	x.Ticks = rankTicks(x, rect.Size().X)
	panel := p.Panel(rect, x, y)
	panel.Draw(mark.Level{Page: p, Y: t.topP, Colour: p.Theme().Muted})
	for _, i := range t.order() {
		s := t.rows[i]
		width := canvas.SeriesLine
		if t.many() && i != t.highlighted() {
			width = canvas.AxisLine
		}
		panel.Draw(mark.Curve{Page: p, Points: s.points(), Colour: t.colour(p, i), Width: width})
	}
	for _, i := range t.order() {
		s := t.rows[i]
		if s.nucleus > 0 && (!t.many() || i == t.highlighted()) {
			panel.Draw(mark.Dots{Page: p, Radius: 2.8, Colour: t.colour(p, i),
				Points: []mark.XY{{X: math.Log10(float64(s.nucleus)), Y: s.reached}}})
		}
	}
	t.drawKeys(p, columns, rect)
	p.Down(curveHeight + p.XAxisHeight(x) + 4)
}

// rankTicks are the ticks of a logarithmic rank axis, none below the first rank.
func rankTicks(x canvas.Axis, width vg.Length) []canvas.Tick {
	const each = 36 // points of axis for a label
	var ticks []canvas.Tick
	for _, t := range canvas.LogTicks(max(x.Min, 0), x.Max, int(width/each)) {
		if t.At >= 0 {
			ticks = append(ticks, t)
		}
	}
	return ticks
}

// order returns the rows so that the highlighted one is drawn last.
func (t *temperatures) order() []int {
	var out []int
	for i := range t.rows {
		if !t.many() || i != t.highlighted() {
			out = append(out, i)
		}
	}
	if t.many() {
		out = append(out, t.highlighted())
	}
	return out
}

// column is one column of the side labels.
type column struct {
	head  [2]string
	cells []string
	width vg.Length
}

// listed returns the rows that have a side label: all of few, or of many the
// coldest, the highlighted and the hottest.
func (t *temperatures) listed() []int {
	if !t.many() {
		return t.order()
	}
	var out []int
	for i := range t.rows {
		if i == 0 || i == t.highlighted() || i == len(t.rows)-1 {
			out = append(out, i)
		}
	}
	return out
}

// columns lays out the side labels: T, entropy and nucleus.
func (t *temperatures) columns(p *canvas.Page) []column {
	columns := []column{
		{head: [2]string{"", "T"}}, {head: [2]string{"entropy", "bits"}}, {head: [2]string{"nucleus", "tokens"}},
	}
	for _, i := range t.listed() {
		s := t.rows[i]
		for k, text := range []string{canvas.Number(s.temperature), s.entropyWords(), s.nucleusWords()} {
			columns[k].cells = append(columns[k].cells, text)
		}
	}
	for k := range columns {
		for _, text := range append(columns[k].cells, columns[k].head[:]...) {
			columns[k].width = max(columns[k].width, p.Words(text, p.Ink(canvas.Sans, canvas.PanelSize)).Width())
		}
	}
	return columns
}

// drawKeys writes the side labels: samples in the order of the curves, from the
// coldest at the top, with their numbers right-aligned.
func (t *temperatures) drawKeys(p *canvas.Page, columns []column, rect vg.Rectangle) {
	x := rect.Max.X + 14 + keySample
	head := p.Muted(canvas.Sans, canvas.NoteSize)
	ink := p.Ink(canvas.Sans, canvas.PanelSize)
	top := rect.Max.Y
	for _, c := range columns {
		right := x + keyGap + c.width
		for k, text := range c.head {
			p.Put(p.Words(text, head), vg.Point{X: right, Y: top - vg.Length(k)*9}, canvas.End, canvas.Top)
		}
		for k, text := range c.cells {
			p.Put(p.Words(text, ink), vg.Point{X: right, Y: top - 26 - vg.Length(k)*keyPitch}, canvas.End, canvas.Centre)
		}
		x = right
	}
	for k, i := range t.listed() {
		from := vg.Point{X: rect.Max.X + 14, Y: top - 26 - vg.Length(k)*keyPitch}
		to := vg.Point{X: from.X + keySample, Y: from.Y}
		width := canvas.SeriesLine
		if t.many() && i != t.highlighted() {
			width = canvas.AxisLine
		}
		p.Line(t.colour(p, i), width, nil, from, to)
		if s := t.rows[i]; s.nucleus > 0 && (!t.many() || i == t.highlighted()) {
			p.Dot(vg.Point{X: (from.X + to.X) / 2, Y: from.Y}, 2.8, t.colour(p, i), false)
		}
	}
	if t.many() {
		y := top - 26 - vg.Length(len(t.listed()))*keyPitch
		text := p.Words(plural(len(t.rows), "temperature")+", in the table", head)
		for n, l := range text.Wrap(p.Right()-rect.Max.X-14, 2) {
			p.Put(l, vg.Point{X: rect.Max.X + 14, Y: y - vg.Length(n)*9}, canvas.Start, canvas.Centre)
		}
	}
}
