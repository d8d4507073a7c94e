package plots

import (
	"lab/plots/canvas"
)

// sheet is what a figure adds to the frame that all share: its words, its body
// and its data. Notes and description are asked for after the body is drawn,
// since drawing decides what has no room.
type sheet struct {
	name     string
	width    float64 // the figure's own, inches
	title    string
	subtitle string
	x, y     string // names of the axes of the frame when there is nothing to draw
	emptyWhy string
	body     func(p *canvas.Page)
	notes    func() []string
	describe func() string
	table    func() Table
	text     []string      // columns of the table that hold names
	vega     func(v *view) // how the table is drawn elsewhere
	sketch   func(s *sketchpad)
}

// draw draws the frame around the body.
func (s sheet) draw(o Options) (*Figure, error) {
	p, o, err := o.sheet(s.name, s.width, s.title, s.subtitle)
	if err != nil {
		return nil, err
	}
	if s.emptyWhy != "" {
		drawEmpty(p, canvas.Axis{Name: s.x, Max: 1}, canvas.Axis{Name: s.y, Max: 1}, s.emptyWhy)
	} else {
		s.body(p)
	}
	sketch := s.sketch
	if s.emptyWhy != "" {
		sketch = func(pad *sketchpad) { pad.empty(s.emptyWhy) }
	}
	return o.finish(p, content{name: s.name, describe: s.describe(), notes: s.notes(), table: s.table, text: s.text, vega: s.vega, sketch: sketch}), nil
}
