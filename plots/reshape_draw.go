package plots

import (
	"image/color"

	"gonum.org/v1/plot/vg"

	"lab/plots/canvas"
	"lab/plots/mark"
)

// Lengths of the reshape figure, in points.
const (
	rowPitch    = vg.Length(9.6)
	restGap     = 0.5 // rows between the tokens and the bar of the rest
	panelGap    = vg.Length(14)
	lineGap     = vg.Length(10) // between two lines of panels
	panelLeast  = vg.Length(92) // narrowest panel
	labelShare  = 0.28          // of the page, at most, for token labels
	barThick    = 0.62
	ghostFrame  = 0.82
	emptyHeight = vg.Length(110)
)

// otherCap is how many times the longest token bar the axis may grow for the bar
// of all other tokens; a longer one is broken and states its length.
const otherCap = 1.5

// grid is the arrangement of the panels.
type grid struct {
	columns, lines int
	labels         vg.Length // width of the token labels
	width          vg.Length // of a panel
	height         vg.Length // of a data rectangle
	room           vg.Length // at the right end of a panel, for words
	titles         []int     // lines of the longest title, for each line of panels
	headers        []int     // and of the longest statement
	max            float64   // end of the axis, before the room
}

func (r *reshape) draw(o Options) (*Figure, error) {
	p, o, err := o.sheet(reshapeName, reshapeWidth, r.finding(), r.subtitle())
	if err != nil {
		return nil, err
	}
	if r.emptyWhy != "" {
		drawEmpty(p, canvas.Axis{Name: "probability", Max: 1}, canvas.Axis{Name: "token, ranked", Max: 1}, r.emptyWhy)
	} else {
		p.Legend(r.legend())
		r.drawPanels(p)
	}
	return o.finish(p, content{name: reshapeName, describe: r.describe(), notes: r.notes(), table: fixed(r.table()), text: []string{"rule", "token", "token_hex", "row"},
		vega: r.vega, sketch: r.sketch}), nil
}

// drawEmpty draws a frame with the names of its axes and the reason.
func drawEmpty(p *canvas.Page, x, y canvas.Axis, reason string) {
	x.Ticks, y.Ticks = []canvas.Tick{}, []canvas.Tick{}
	p.Down(canvas.NameHeight)
	rect := vg.Rectangle{Min: vg.Point{X: p.Left() + 4, Y: p.Y() - emptyHeight}, Max: vg.Point{X: p.Right() - 4, Y: p.Y()}}
	p.Box(rect, p.Theme().Grid, canvas.GridLine, nil)
	p.Panel(rect, x, y).Empty(reason)
	p.Down(emptyHeight + p.XAxisHeight(x) + 4)
}

func (r *reshape) legend() []canvas.Key {
	outlined := func(dash []vg.Length) func(*canvas.Page, vg.Rectangle) {
		return func(p *canvas.Page, rect vg.Rectangle) {
			p.Box(rect, p.Theme().Ink, canvas.GhostLine, dash)
		}
	}
	keys := []canvas.Key{
		{Words: "sampling distribution", Draw: func(p *canvas.Page, rect vg.Rectangle) { p.Fill(rect, samplingColour(p)) }},
		{Words: "model distribution", Draw: outlined(nil)},
	}
	for _, o := range r.outcomes {
		if !r.all(o) {
			return append(keys, canvas.Key{Words: "removed", Draw: outlined([]vg.Length{2, 1.5})})
		}
	}
	return keys
}

// samplingColour is blue in every figure: the distribution that is drawn from.
func samplingColour(p *canvas.Page) color.RGBA { return p.Theme().Series[0] }

// arrange measures labels and chooses the grid.
func (r *reshape) arrange(p *canvas.Page) grid {
	g := grid{}
	total := p.Right() - p.Left()
	for i := range r.rows {
		g.labels = max(g.labels, r.label(p, i).Width())
	}
	for _, words := range r.restLabels() {
		g.labels = max(g.labels, p.Words(words, p.Muted(canvas.Sans, canvas.ValueSize)).Width())
	}
	g.labels = min(g.labels, vg.Length(labelShare)*total) + 4
	most := max(1, int((total-g.labels+panelGap)/(panelLeast+panelGap)))
	n := len(r.outcomes)
	g.lines = (n + most - 1) / most
	g.columns = (n + g.lines - 1) / g.lines
	g.width = (total - g.labels - vg.Length(g.columns-1)*panelGap) / vg.Length(g.columns)
	g.titles, g.headers = make([]int, g.lines), make([]int, g.lines)
	rows := float64(len(r.rows))
	g.height = vg.Length(rows+r.extraRows()+0.25) * rowPitch

	for k := range r.outcomes {
		for _, i := range r.rows {
			g.max = max(g.max, share(r.data.Model[i]), share(r.data.Panels[k].Sampling[i]))
		}
		line := k / g.columns
		g.titles[line] = max(g.titles[line], len(r.title(p, k, g.width)))
		g.headers[line] = max(g.headers[line], len(r.header(p, k, g.width)))
		for _, b := range r.bars(k) {
			g.room = max(g.room, p.Words(b.End, p.Ink(canvas.Sans, canvas.ValueSize)).Width()+5)
		}
	}
	limit := otherCap * g.max
	for _, o := range r.outcomes {
		for _, v := range []float64{r.restModel, o.other, r.data.Unlisted, o.unlisted} {
			g.max = max(g.max, min(v, limit))
		}
	}
	return g
}

// extraRows is the room of the bars below the tokens, in rows.
func (r *reshape) extraRows() float64 {
	if n := len(r.restLabels()); n > 0 {
		return float64(n) + restGap
	}
	return 0
}

func (r *reshape) hasUnlisted() bool {
	for _, o := range r.outcomes {
		if o.unlisted > 0 {
			return true
		}
	}
	return r.data.Unlisted > 0
}

// restLabels name the bars below the tokens.
func (r *reshape) restLabels() []string {
	var out []string
	if r.rest > 0 {
		out = append(out, "other "+plural(r.rest, "token"))
	}
	if r.hasUnlisted() {
		out = append(out, "unlisted")
	}
	return out
}

// label is the token label of row k.
func (r *reshape) label(p *canvas.Page, k int) canvas.Label {
	token := r.data.Tokens[r.rows[k]]
	if token == "" {
		return p.Words("(empty)", p.Muted(canvas.Sans, canvas.ValueSize))
	}
	return p.Token(token, p.Ink(canvas.Mono, canvas.TickSize))
}

// title is the rule of a panel in at most two lines, shortened in the middle when
// one line would have to be.
func (r *reshape) title(p *canvas.Page, k int, width vg.Length) []canvas.Label {
	name := r.outcomes[k].title
	if name == "" {
		name = named(name, k)
	}
	l := p.Words(name, p.Ink(canvas.Bold, canvas.PanelSize))
	if l.Width() > 2*width {
		l = l.Elide(1.8 * width) // a line break wastes some room
	}
	return l.Wrap(width, 2)
}

// header is the statement of a panel in lines that break between its parts.
func (r *reshape) header(p *canvas.Page, k int, width vg.Length) []canvas.Label {
	style := p.Muted(canvas.Sans, canvas.NoteSize)
	var lines []canvas.Label
	text := ""
	for _, part := range r.parts(r.outcomes[k]) {
		longer := part
		if text != "" {
			longer = text + " · " + part
		}
		if text != "" && p.Words(longer, style).Width() > width {
			lines = append(lines, p.Words(text, style).Elide(width))
			longer = part
		}
		text = longer
	}
	return append(lines, p.Words(text, style).Elide(width))
}

// bars returns the bars of panel k from the top: tokens at 0, -1, …, then the
// rest.
func (r *reshape) bars(k int) []mark.Bar {
	d, o := r.data, r.outcomes[k]
	var bars []mark.Bar
	for row, i := range r.rows {
		bars = append(bars, bar(-float64(row), d.Model[i], d.Panels[k].Sampling[i]))
	}
	at := -float64(len(r.rows)) - restGap
	if r.rest > 0 {
		bars = append(bars, bar(at, r.restModel, o.other))
		at--
	}
	if r.hasUnlisted() {
		bars = append(bars, bar(at, d.Unlisted, o.unlisted))
	}
	return bars
}

func bar(at, model, sampling float64) mark.Bar {
	b := mark.Bar{At: at, Value: share(sampling), Ghost: share(model)}
	switch stateOf(model, sampling) {
	case "undefined":
		b.End, b.Quiet = "n/a", true
		if defined(sampling) {
			b.End = canvas.Fraction(min(sampling, 1)) + " · model n/a"
		}
	case "removed":
		b.End, b.Gone, b.Quiet = "cut", true, true
	case "absent":
	default:
		b.End = canvas.Fraction(min(sampling, 1))
	}
	return b
}

func (r *reshape) drawPanels(p *canvas.Page) {
	g := r.arrange(p)
	x := canvas.Axis{Grid: true}
	// The room for words lies beyond the axis's largest value, and the axis goes
	// on through it.
	x.Max = g.max * float64(g.width/(g.width-g.room))
	y := canvas.Axis{Min: -(float64(len(r.rows)) + r.extraRows() - 0.5) - 0.25, Max: 0.5, Bare: true}
	for line := range g.lines {
		title := vg.Length(g.titles[line]) * canvas.PanelSize * 1.3
		head := title + vg.Length(g.headers[line])*canvas.NoteSize*1.25 + 3
		top := p.Y()
		for column := range g.columns {
			k := line*g.columns + column
			if k >= len(r.outcomes) {
				break
			}
			left := p.Left() + g.labels + vg.Length(column)*(g.width+panelGap)
			words := r.title(p, k, g.width)
			gap := vg.Length(g.titles[line]-len(words)) * canvas.PanelSize * 1.25 // a short title stands by its numbers
			p.Lines(words, vg.Point{X: left, Y: top - gap})
			p.Lines(r.header(p, k, g.width), vg.Point{X: left, Y: top - title})
			rect := vg.Rectangle{Min: vg.Point{X: left, Y: top - head - g.height}, Max: vg.Point{X: left + g.width, Y: top - head}}
			panel := p.Panel(rect, x, y)
			panel.Draw(mark.Bars{Page: p, Bars: r.bars(k), Fill: samplingColour(p), Outline: p.Theme().Ink,
				Thick: barThick, Frame: ghostFrame, Room: g.room})
			p.Line(p.Theme().Ink, canvas.AxisLine, nil, rect.Min, vg.Point{X: rect.Min.X, Y: rect.Max.Y})
			if column == 0 {
				r.drawLabels(p, panel, left-4, g.labels-4)
			}
		}
		p.Down(head + g.height + p.XAxisHeight(x) + 4)
		if line < g.lines-1 {
			p.Down(lineGap)
		}
	}
	left := p.Left() + g.labels
	p.Down(-2)
	p.AxisName("probability", left, left+vg.Length(g.columns)*g.width+vg.Length(g.columns-1)*panelGap, p.Y())
	p.Down(canvas.AxisSize*1.25 + 4)
}

// drawLabels writes the tokens right-aligned beside the first panel of a line.
func (r *reshape) drawLabels(p *canvas.Page, panel *canvas.Panel, right, width vg.Length) {
	put := func(l canvas.Label, at float64) {
		p.Put(l.Elide(width), vg.Point{X: right, Y: panel.Y(at)}, canvas.End, canvas.Centre)
	}
	for k := range r.rows {
		put(r.label(p, k), -float64(k))
	}
	for n, words := range r.restLabels() {
		put(p.Words(words, p.Muted(canvas.Sans, canvas.ValueSize)), -float64(len(r.rows)+n)-restGap)
	}
}
