package plots

import (
	"fmt"
	"image/color"
	"math"

	"lab/plots/canvas"
)

// sketch writes every panel as bars of the sampling distribution, with the
// model's probability in words.
func (r *reshape) sketch(s *sketchpad) {
	if r.emptyWhy != "" {
		s.empty(r.emptyWhy)
		return
	}
	most := 0.0
	for _, p := range r.data.Panels {
		for _, i := range r.rows {
			most = max(most, share(p.Sampling[i]), share(r.data.Model[i]))
		}
	}
	for k, p := range r.data.Panels {
		if k == sketchPanels {
			s.more(len(r.data.Panels)-k, "panels")
			break
		}
		s.words(p.Title, s.theme.Ink)
		var list []charBar
		for _, i := range r.rows {
			q, model := p.Sampling[i], r.data.Model[i]
			words := "n/a"
			switch {
			case q == 0 && model > 0:
				words = "cut"
			case defined(q):
				words = canvas.Fraction(q)
			}
			if defined(model) {
				words += " (model " + canvas.Fraction(model) + ")"
			}
			part := 0.0
			if most > 0 {
				part = share(q) / most
			}
			list = append(list, charBar{name: canvas.Visible(r.data.Tokens[i]), share: part, words: words, colour: s.theme.Series[0]})
		}
		s.bars(list)
	}
}

// sketch plots the curves of cumulative mass.
func (t *temperatures) sketch(s *sketchpad) {
	if t.emptyWhy != "" {
		s.empty(t.emptyWhy)
		return
	}
	x, y := canvas.Axis{Log: true, Max: max(math.Log10(float64(t.ranks)), 0.3)}, canvas.Axis{Max: 1}
	colours := func(i int) color.RGBA {
		if len(t.rows) == 1 {
			return s.theme.Series[0]
		}
		return s.theme.OrderedLine(float64(i) / float64(len(t.rows)-1))
	}
	for _, i := range t.listed() {
		row := t.rows[i]
		s.keys([]charKey{{i, fmt.Sprintf("T = %s: entropy %s bits, nucleus %s", canvas.Significant(row.temperature, 3), row.entropyWords(), row.nucleusWords()), colours(i)}})
	}
	s.words("cumulative mass", s.theme.Muted)
	plot := s.plot(s.width-12, sketchRows, x, y)
	for i, row := range t.rows {
		points := row.points()
		for k, pt := range points {
			plot.point(pt.X, pt.Y, i)
			if k > 0 {
				plot.join(points[k-1].X, points[k-1].Y, pt.X, pt.Y, i)
			}
		}
	}
	plot.draw(x, y, len(t.rows), colours)
	s.line(s.label("rank, likeliest first (log scale)", s.width-2))
}

// sketch writes what is left after each stage as bars.
func (c *chain) sketch(s *sketchpad) {
	if c.emptyWhy != "" {
		s.empty(c.emptyWhy)
		return
	}
	list := []charBar{{name: "model", share: 1, words: c.modelWords(), colour: s.theme.Series[0]}}
	for i, stage := range c.data.Stages {
		list = append(list, charBar{name: stageName(stage, i), share: min(share(stage.Mass), 1), words: c.statement(i) + ", TV " + c.distance(i), colour: s.theme.Series[0]})
	}
	s.words("share of the model’s mass", s.theme.Muted)
	s.bars(list)
}
