package plots

import (
	"fmt"
	"image/color"
	"math"
	"strings"

	"lab/plots/canvas"
	"lab/plots/vega"
)

// Vega-Lite and characters for the figures of texts and sweeps.

func (t *tokens) vega(v *view) {
	v.note = "Here as a bar for each token."
	bits := 5 // model_surprisal_bits
	if t.data.Sampling {
		bits = 9
	}
	y := v.of(bits, "quantitative", "surprisal, bits")
	fill := v.of(bits, "quantitative", "surprisal, bits")
	fill.Scale = &vega.Scale{Range: stopsOf(v.theme)}
	v.layers([]vega.Spec{{Mark: &vega.Mark{Type: "bar", Stroke: css(v.theme.Grid), Tooltip: vega.AllFields()},
		Encoding: &vega.Encoding{X: v.of(0, "ordinal", "token"), Y: y, Color: fill}}}, nil, viewWidth, viewHeight)
}

// sketch writes the tokens with their bits, on the colours of the picture where
// there are colours.
func (t *tokens) sketch(s *sketchpad) {
	line, used := "", 0
	flush := func() {
		s.line(line)
		line, used = "", 0
	}
	for _, tok := range t.shown {
		text := s.cut(canvas.Visible(tok.Text), s.width/2) + " " + t.cellNumber(tok)
		size := cells().StringWidth(text) + 2
		if used > 0 && used+size > s.width {
			flush()
		}
		back := unmeasured(s.theme)
		if b := t.bits(tok); defined(b) {
			back = s.theme.Sequential(b / t.top)
		}
		if s.colour {
			text = s.fill(text, back, s.theme.TextOn(back))
		}
		line, used = line+text+"  ", used+size
		if strings.Contains(tok.Text, "\n") {
			flush()
		}
	}
	if used > 0 {
		flush()
	}
	s.more(len(t.data.Tokens)-t.data.First-len(t.shown), "tokens")
}

func (h *heatSteps) vega(v *view) {
	p := v.of(4, "quantitative", "probability")
	p.Scale = &vega.Scale{Range: stopsOf(v.theme), Domain: []float64{0, 1}}
	e := vega.Encoding{X: v.of(0, "ordinal", "step"), Y: v.of(1, "ordinal", "rank"), Color: p}
	words := vega.Encoding{X: e.X, Y: e.Y, Text: v.of(2, "nominal", "")}
	v.layers([]vega.Spec{
		{Mark: &vega.Mark{Type: "rect", Tooltip: vega.AllFields()}, Encoding: &e},
		{Mark: &vega.Mark{Type: "text", Color: css(v.theme.Ink)}, Encoding: &words},
	}, nil, map[string]int{"step": 56}, map[string]int{"step": 20})
}

// sketch writes a line for each step, the chosen token in brackets.
func (h *heatSteps) sketch(s *sketchpad) {
	shown := min(len(h.shown), 24)
	for i, step := range h.shown[:shown] {
		line := fmt.Sprintf("%3d", h.data.First+i+1)
		add := func(text string, chosen bool) {
			if chosen {
				text = "[" + text + "]"
			}
			if room := s.width - cells().StringWidth(line) - 2; room > 8 {
				line += "  " + s.cut(text, room)
			}
		}
		for k, t := range step.Likeliest {
			add(s.cut(canvas.Visible(t.Text), 14)+" "+probWords(t.Prob), step.ChosenRank == k+1)
		}
		if step.ChosenRank == 0 || step.ChosenRank > len(step.Likeliest) {
			add(s.cut(canvas.Visible(step.Chosen), 14)+" "+probWords(step.ChosenProb), true)
		}
		s.line(line)
	}
	s.more(len(h.shown)-shown, "steps")
}

func (c *calibration) vega(v *view) {
	q := func(name, title string) Quantity { return Quantity{Name: name, Title: title, Log: true} }
	x, y := v.quantity(3, q("prob", "probability"), false), v.quantity(4, q("share", "share of the draws"), false)
	v.positive(4, q("share", ""))
	v.layers([]vega.Spec{{Mark: &vega.Mark{Type: "point", Filled: vega.Yes(), Tooltip: vega.AllFields()},
		Encoding: &vega.Encoding{X: x, Y: y, Color: &vega.Channel{Value: css(v.theme.Series[0])}}}}, nil, viewHeight, viewHeight)
}

// sketch plots the points and the diagonal.
func (c *calibration) sketch(s *sketchpad) {
	var x canvas.Axis
	x.Log = true
	var values []float64
	for _, pt := range c.points {
		values = append(values, pt.x, pt.y)
	}
	x.Fit(values...)
	s.words("share of the draws (log scale)", s.theme.Muted)
	plot := s.plot(min(s.width-14, 60), 20, x, x)
	plot.join(x.Min, x.Min, x.Max, x.Max, 0)
	for _, pt := range c.points {
		plot.point(math.Log10(pt.x), math.Log10(pt.y), 1)
	}
	plot.draw(x, x, 2, func(i int) color.RGBA {
		return []color.RGBA{s.theme.Muted, s.theme.Series[0]}[i]
	})
	s.line("probability (log scale)")
}

func (r *ridgeline) vega(v *view) {
	v.note = "Here as lines over each other."
	var labels []string
	for _, row := range r.rows {
		labels = append(labels, row.label)
	}
	x := v.quantity(1, Quantity{Name: "rank", Title: "rank, likeliest first", Log: true}, false)
	colour := v.coloured(0, labels, r.data.By, func(i int) color.RGBA { return r.colour(v.theme, i) })
	v.layers([]vega.Spec{{Mark: &vega.Mark{Type: "line", Tooltip: vega.AllFields()},
		Encoding: &vega.Encoding{X: x, Y: v.of(2, "quantitative", "probability"), Color: colour}}}, nil, viewWidth, viewHeight)
}

// colour returns the line colour of row i.
func (r *ridgeline) colour(th Theme, i int) color.RGBA {
	if len(r.rows) < 2 {
		return th.OrderedLine(0)
	}
	return th.OrderedLine(float64(i) / float64(len(r.rows)-1))
}

// sketch plots all rows over each other.
func (r *ridgeline) sketch(s *sketchpad) {
	x, y := canvas.Axis{Log: true, Max: max(math.Log10(float64(r.ranks)), 0.3)}, canvas.Axis{Max: math.Sqrt(r.top)}
	for i, row := range r.rows {
		s.keys([]charKey{{i, r.words(i) + ": " + entropyOf(row), r.colour(s.theme, i)}})
	}
	s.words("square root of the probability", s.theme.Muted)
	plot := s.plot(s.width-12, sketchRows, x, y)
	for i, row := range r.rows {
		for k, p := range row.sorted {
			plot.point(math.Log10(float64(k+1)), math.Sqrt(p), i)
			if k > 512 { // further on the line is on the axis, or as good as there
				break
			}
		}
	}
	plot.draw(x, y, len(r.rows), func(i int) color.RGBA { return r.colour(s.theme, i) })
	s.line(s.label("rank, likeliest first (log scale)", s.width-2))
}

func (t *timeline) vega(v *view) {
	var names []string
	for _, r := range t.requests {
		names = append(names, r.Name)
	}
	x := v.of(2, "quantitative", "time, ms")
	colour := v.coloured(1, t.kinds, "", func(i int) color.RGBA { return t.colourIn(v.theme, t.kinds[i]) })
	v.layers([]vega.Spec{{Mark: &vega.Mark{Type: "bar", Tooltip: vega.AllFields()},
		Encoding: &vega.Encoding{X: x, X2: v.end(3), Y: v.names(0, names, "request"), Color: colour}}}, nil, viewWidth, map[string]int{"step": 18})
}

// sketch writes a line for each request, in signs or colours of what took most of
// each cell.
func (t *timeline) sketch(s *sketchpad) {
	var keys []charKey
	for i, k := range t.kinds {
		keys = append(keys, charKey{i, k, t.colourIn(s.theme, k)})
	}
	s.keys(keys)
	rows := t.requests[:min(len(t.requests), 20)]
	var names []string
	for _, r := range rows {
		names = append(names, r.Name)
	}
	label := s.widest(names)
	width := s.width - label - 2
	span := t.hi - t.lo
	for _, r := range rows {
		line := s.label(r.Name, label) + " "
		for k := range width {
			from, to := t.lo+span*float64(k)/float64(width), t.lo+span*float64(k+1)/float64(width)
			best, most := -1, 0.0
			for _, sp := range r.Spans {
				if over := min(sp.ToMS, to) - max(sp.FromMS, from); over > most {
					for i, kind := range t.kinds {
						if kind == sp.Kind {
							best, most = i, over
						}
					}
				}
			}
			switch {
			case best < 0:
				line += " "
			case s.colour:
				line += s.tint("█", t.colourIn(s.theme, t.kinds[best]))
			default:
				line += sign(best)
			}
		}
		s.line(line)
	}
	s.more(len(t.requests)-len(rows), "requests")
	s.words(fmt.Sprintf("%s to %s ms", canvas.Significant(t.lo, 4), canvas.Significant(t.hi, 4)), s.theme.Muted)
}
