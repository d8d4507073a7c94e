package plots

import (
	"fmt"
	"strings"

	"gonum.org/v1/plot/vg"

	"lab/plots/canvas"
	"lab/plots/mark"
)

// drawUpright draws bars from left to right, with what was measured as a line
// over them.
func (s *stack) drawUpright(p *canvas.Page) {
	n := float64(len(s.bars))
	x := canvas.Axis{Name: s.groups, Min: -0.6, Max: n - 0.4}
	for i, b := range s.bars {
		x.Ticks = append(x.Ticks, canvas.Tick{At: float64(i), Label: shortened(b.Name, 14)})
	}
	y := s.value.axis()
	y.Max = s.top()
	p.Down(canvas.NameHeight)
	left := p.Left() + p.YAxisWidth(y, costHeight)
	rect := vg.Rectangle{Min: vg.Point{X: left, Y: p.Y() - costHeight}, Max: vg.Point{X: p.Right() - 4, Y: p.Y()}}
	panel := p.Panel(rect, x, y)
	panel.Draw(mark.Blocks{Page: p, Blocks: s.blocks(p), Gap: 0.8})
	points, spans := s.totals()
	ink := p.Theme().Ink
	panel.Draw(mark.Curve{Page: p, Points: points, Colour: ink, Width: canvas.RefLine},
		mark.Whiskers{Page: p, Points: points, Spans: spans, Colour: ink},
		mark.Markers{Page: p, Points: points, Radius: markerRadius, Colour: ink})
	p.Down(costHeight + p.XAxisHeight(x) + costBelow)
}

// top is the end of the value axis, with room above the highest bar.
func (s *stack) top() float64 {
	if top := s.highest(); top > 0 {
		return 1.06 * top
	}
	return 1
}

// drawLying draws bars from top to bottom with their totals at the end.
func (s *stack) drawLying(p *canvas.Page) {
	names, width := s.names(p)
	room := vg.Length(0)
	for i := range s.bars {
		room = max(room, p.Words(s.endWords(i), p.Ink(canvas.Sans, canvas.ValueSize)).Width())
	}
	room += 8
	height := vg.Length(len(s.bars)) * lyingPitch
	y := canvas.Axis{Min: -float64(len(s.bars)) + 0.5, Max: 0.5, Bare: true}
	rect := vg.Rectangle{Min: vg.Point{X: p.Left() + width + 6, Y: p.Y() - height}, Max: vg.Point{X: p.Right(), Y: p.Y()}}
	free := max(rect.Size().X-room, 0.3*rect.Size().X)
	x := s.value.axis()
	x.LineTo = s.top()
	x.Max = x.LineTo * float64(rect.Size().X/free)
	x.Ticks = canvas.LinearTicks(0, x.LineTo, int(max(float64(free/50), 2)))
	panel := p.Panel(rect, x, y)
	panel.Draw(mark.Blocks{Page: p, Blocks: s.blocks(p), Gap: 0.8})
	points, spans := s.totals()
	ink := p.Theme().Ink
	panel.Draw(mark.Whiskers{Page: p, Points: points, Spans: spans, Across: true, Colour: ink},
		mark.Markers{Page: p, Points: points, Radius: markerRadius, Colour: ink})
	for i, b := range s.bars {
		putRow(p, names[i], vg.Point{X: rect.Min.X - 4, Y: panel.Y(s.at(i))})
		sum, _ := b.sum()
		end := panel.X(max(sum, share(b.Total), b.Hi)) + 5
		words := p.Words(s.endWords(i), p.Ink(canvas.Sans, canvas.ValueSize)).Elide(p.Right() - end)
		p.PutClear(words, vg.Point{X: end, Y: panel.Y(s.at(i))}, canvas.Start)
	}
	p.Down(height + p.XAxisHeight(x) + costBelow)
}

// names lays out the names of bars and returns the room they take.
func (s *stack) names(p *canvas.Page) (labels [][]canvas.Label, width vg.Length) {
	for _, b := range s.bars {
		l := rowName(p, stackName(b), p.Ink(canvas.Sans, canvas.PanelSize), rowLabels*(p.Right()-p.Left()), lyingPitch)
		labels, width = append(labels, l), max(width, widestOf(l))
	}
	return labels, width
}

func stackName(b CostBar) string {
	if b.Name == "" {
		return "(no name)"
	}
	return b.Name
}

// endWords is the total at the end of a bar.
func (s *stack) endWords(i int) string {
	b := s.bars[i]
	sum, whole := b.sum()
	text := amountWords(sum, s.value.Unit)
	if !whole {
		text = "at least " + text
	}
	if b.Total > 0 {
		text += " · " + s.total + " " + canvas.Significant(b.Total, 3)
	}
	return text
}

func (s *stack) allNotes() []string {
	if s.emptyWhy != "" {
		return nil
	}
	notes := append([]string{}, s.notes...)
	if s.undefined > 0 {
		notes = append(notes, fmt.Sprintf("%s of %s %s undefined and left out.", canvas.Count(s.undefined),
			plural(len(s.bars)*len(s.parts), "value"), verb(s.undefined, "is", "are")))
	}
	return notes
}

func (s *stack) describe() string {
	begin := s.begin + ": " + s.value.axisName() + " by " + s.groups
	if s.emptyWhy != "" {
		return begin + ": no data (" + s.emptyWhy + ")."
	}
	var b strings.Builder
	b.WriteString(begin + ". ")
	for i, bar := range s.bars {
		if i == mostDescribed {
			fmt.Fprintf(&b, "And %d more bars, in the table. ", len(s.bars)-i)
			break
		}
		b.WriteString(shortened(stackName(bar), nameLimit) + ": " + s.endWords(i) + " (")
		for k, v := range bar.Values {
			if k > 0 {
				b.WriteString(", ")
			}
			b.WriteString(shortened(s.parts[k], nameLimit) + " " + canvas.Significant(v, 3))
		}
		b.WriteString("). ")
	}
	for _, w := range append(append([]string{}, s.says...), s.allNotes()...) {
		b.WriteString(w + " ")
	}
	b.WriteString(s.basis.words())
	return b.String()
}

func (s *stack) table() Table {
	var t Table
	for _, h := range []string{s.groups, "part", s.value.Name, "share", "lo", "hi"} {
		t.Header = append(t.Header, columnName(h, "bar", t.Header))
	}
	for _, b := range s.bars {
		total, _ := b.sum()
		for k, v := range b.Values {
			part := "NaN"
			if total > 0 {
				part = number(v / total)
			}
			t.Rows = append(t.Rows, []string{canvas.Clean(b.Name), canvas.Clean(s.parts[k]), number(v), part, "NaN", "NaN"})
		}
		if b.Total > 0 {
			lo, hi := "NaN", "NaN"
			if b.Hi > 0 {
				lo, hi = number(b.Lo), number(b.Hi)
			}
			t.Rows = append(t.Rows, []string{canvas.Clean(b.Name), s.total, number(b.Total), "NaN", lo, hi})
		}
	}
	return t
}
