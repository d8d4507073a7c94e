package plots

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"lab/plots/canvas"
)

const (
	sketchRows   = 16
	sketchPanels = 12 // panels and rows beyond are left to the picture
)

// more says how many things a sketch leaves out.
func (s *sketchpad) more(n int, what string) {
	if n > 0 {
		s.words(fmt.Sprintf("and %s more %s, in the picture and the table", canvas.Count(n), what), s.theme.Muted)
	}
}

// sketch draws the panels below each other, with a key of the series.
func (m *xy) sketch(s *sketchpad) {
	if m.emptyWhy != "" {
		s.empty(m.emptyWhy)
		return
	}
	if len(m.names) > 1 && !m.split {
		var keys []charKey
		for i := range min(len(m.names), sketchPanels) {
			keys = append(keys, charKey{i, m.seriesWords(i), m.styleIn(s.theme, i).colour})
		}
		s.keys(keys)
		s.more(len(m.names)-len(keys), "series")
	}
	for k := range m.panels {
		if k == sketchPanels {
			s.more(len(m.panels)-k, "panels")
			break
		}
		if title := m.panelTitle(k); title != "" {
			s.words(title, s.theme.Ink)
		}
		x, y := m.x.ticked(float64(s.width), 12), m.y.ticked(sketchRows, 4)
		s.words(m.data.Y.axisName(), s.theme.Muted)
		plot := s.plot(s.width-12, sketchRows, x, y)
		for _, r := range m.data.Rules {
			if r.Vertical {
				plot.join(m.x.Coord(r.At), y.Min, m.x.Coord(r.At), y.Max, len(m.names))
			} else {
				plot.join(x.Min, m.y.Coord(r.At), x.Max, m.y.Coord(r.At), len(m.names))
			}
		}
		for _, p := range m.inPanel(k) {
			m.sketchSeries(plot, p)
		}
		plot.draw(x, y, m.signs(), func(i int) color.RGBA {
			if i == len(m.names) {
				return s.theme.Muted
			}
			return m.styleIn(s.theme, i).colour
		})
		s.line(s.label(m.data.X.axisName(), s.width-2))
	}
}

// signs is how many kinds of signs a panel needs: one for each series, and one
// for reference lines.
func (m *xy) signs() int {
	if m.split {
		return 1
	}
	n := len(m.names)
	if len(m.data.Rules) > 0 {
		n++
	}
	return n
}

func (m *xy) sketchSeries(plot *charPlot, p placed) {
	for i, pt := range p.points {
		plot.point(pt.X, pt.Y, p.name)
		switch {
		case i == 0:
		case m.ecdf != nil:
			before := p.points[i-1].Y
			plot.join(p.points[i-1].X, before, pt.X, before, p.name)
			plot.join(pt.X, before, pt.X, pt.Y, p.name)
		case m.joined():
			plot.join(p.points[i-1].X, p.points[i-1].Y, pt.X, pt.Y, p.name)
		}
	}
	for _, pt := range p.zero {
		plot.point(pt.X, pt.Y, p.name)
	}
}

// sketch writes a bar per row of the figure, with its interval in words.
func (b *bars) sketch(s *sketchpad) {
	if b.emptyWhy != "" {
		s.empty(b.emptyWhy)
		return
	}
	far := 0.0
	for _, bar := range b.data.Bars {
		if defined(bar.Value) {
			far = max(far, math.Abs(bar.Value))
		}
	}
	var list []charBar
	for _, bar := range b.data.Bars {
		if _, drawn := b.at[bar.Name]; !drawn {
			continue
		}
		name := bar.Name
		for _, part := range []string{b.seriesWords(bar.Series), bar.Panel} {
			if part != "" {
				name += " · " + part
			}
		}
		words := b.valueWords(bar)
		if defined(bar.Lo) && defined(bar.Hi) {
			words += " (" + canvas.Significant(bar.Lo, 3) + " to " + canvas.Significant(bar.Hi, 3) + ")"
		}
		share := math.Abs(bar.Value) / far
		if far == 0 || !defined(share) {
			share = 0
		}
		list = append(list, charBar{name: name, share: share, words: words, colour: b.colourIn(s.theme, bar.Name, bar.Series)})
	}
	shown := min(len(list), barsShown)
	s.words(b.data.Value.axisName(), s.theme.Muted)
	s.bars(list[:shown])
	s.more(len(list)-shown, "bars")
}

// sketch writes the grid as numbers when they fit, else as shades.
func (h *heat) sketch(s *sketchpad) {
	if h.emptyWhy != "" {
		s.empty(h.emptyWhy)
		return
	}
	label := s.widest(h.rows)
	way := " downwards, "
	if h.data.RowsUp {
		way = " upwards, "
	}
	s.words(h.data.Y.axisName()+way+h.data.X.axisName()+" across", s.theme.Muted)
	for k, p := range h.panels {
		if k == sketchPanels {
			s.more(len(h.panels)-k, "panels")
			break
		}
		if p.Title != "" {
			s.words(p.Title, s.theme.Ink)
		}
		cell := min((s.width-label-1)/max(len(h.columns), 1), 9)
		numbers := cell >= 6
		if !numbers {
			cell = max(min(cell, 2), 1)
		}
		columns := min(len(h.columns), (s.width-label-1)/cell)
		if numbers {
			head := strings.Repeat(" ", label)
			for _, c := range h.columns[:columns] {
				head += " " + s.label(c, cell-1)
			}
			s.line(head)
		}
		for i := range p.Cells {
			row := i
			if h.data.RowsUp {
				row = len(p.Cells) - 1 - i
			}
			if i == 2*sketchRows {
				s.more(len(p.Cells)-i, "rows")
				break
			}
			line := s.label(h.rows[row], label)
			for j, v := range p.Cells[row][:columns] {
				words := ""
				if numbers {
					words, _ = h.cellWords(k, row, j, v, 3)
				}
				if numbers && h.frames[k] == [2]int{row, j} {
					words = "*" + words
				}
				line += s.heatCell(h, h.tile(s.theme, k, row, j, v).Fill, v, words, cell, numbers)
			}
			s.line(line)
		}
		s.more(len(h.columns)-columns, "columns")
	}
}

// heatCell writes a cell: its words on its colour, or without both a shade.
func (s *sketchpad) heatCell(h *heat, back color.RGBA, v float64, words string, cell int, numbers bool) string {
	text := strings.Repeat(" ", cell)
	if numbers {
		text = cells().FillLeft(s.cut(words, cell-1), cell)
	}
	if s.colour {
		return s.fill(text, back, s.theme.TextOn(back))
	}
	if numbers {
		return text
	}
	shades := []rune("·░▒▓█")
	shade := "?"
	if defined(v) {
		a := math.Abs(h.amount(v))
		shade = string(shades[min(int(a*float64(len(shades))), len(shades)-1)])
	}
	return strings.Repeat(shade, cell)
}

// sketch writes the bins of every sample as bars.
func (h *hist) sketch(s *sketchpad) {
	if h.emptyWhy != "" {
		s.empty(h.emptyWhy)
		return
	}
	most := 0.0
	for i := range h.counts {
		most = max(most, h.zeros[i], slices.Max(h.counts[i]))
	}
	value := func(c float64) string {
		if h.data.Value.Log {
			c = math.Pow(10, c)
		}
		return canvas.Significant(c, 3)
	}
	for i, counts := range h.counts {
		if i == sketchPanels {
			s.more(len(h.counts)-i, "samples")
			break
		}
		if h.titles[i] != "" {
			s.words(h.titles[i], s.theme.Ink)
		}
		var list []charBar
		if h.zeros[i] > 0 {
			list = append(list, charBar{name: "0", share: h.zeros[i] / most, words: canvas.Significant(h.zeros[i], 3), colour: s.theme.Series[0]})
		}
		for k, n := range counts {
			list = append(list, charBar{name: value(h.edges[k]) + " to " + value(h.edges[k+1]), share: n / max(most, 1e-300), words: canvas.Significant(n, 3), colour: s.theme.Series[0]})
		}
		s.bars(list)
	}
}

// sketch writes a box per sample: ends, quartiles and median.
func (v *violin) sketch(s *sketchpad) {
	if v.emptyWhy != "" {
		s.empty(v.emptyWhy)
		return
	}
	names := make([]string, len(v.rows))
	for i := range v.rows {
		names[i] = v.placeWords(i)
	}
	label := s.widest(names)
	room := max(s.width-label-14, 8)
	place := func(x float64) int {
		return min(max(int(math.Round((v.coord(x)-v.x.Min)/(v.x.Max-v.x.Min)*float64(room-1))), 0), room-1)
	}
	for i, values := range v.sorted {
		if i == 4*sketchPanels {
			s.more(len(v.sorted)-i, "samples")
			break
		}
		row := []rune(strings.Repeat(" ", room))
		if len(values) > 0 {
			at := func(q float64) int { return place(quantile(values, q)) }
			for c := at(0); c <= at(1); c++ {
				row[c] = '─'
			}
			for c := at(0.25); c <= at(0.75); c++ {
				row[c] = '▒'
			}
			row[at(0)], row[at(1)], row[at(0.5)] = '├', '┤', '█'
		}
		s.line(s.label(names[i], label) + " " + s.tint(string(row), s.theme.Series[0]) + " n = " + canvas.Count(len(values)))
	}
	axis := v.x.ticked(float64(room), 12)
	plot := s.plot(room, 0, axis, canvas.Axis{Max: 1})
	var ticks []canvas.Tick
	ticks = append(ticks, ticksIn(axis, max(room/12, 2))...)
	labels := []rune(strings.Repeat(" ", room+8))
	last := -1
	for _, t := range ticks {
		fx, _ := plot.at(t.At, 0)
		start := int(math.Round(fx)) / 2
		if start <= last || start < 0 || start+len([]rune(t.Label)) > len(labels) {
			continue
		}
		copy(labels[start:], []rune(t.Label))
		last = start + len([]rune(t.Label))
	}
	s.line(strings.Repeat(" ", label+1) + string(labels))
	s.words(v.data.Value.axisName(), s.theme.Muted)
}
