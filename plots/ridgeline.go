package plots

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"lab/core/fault"
	"lab/plots/canvas"
	"lab/plots/mark"
)

// The question: how does the whole shape of a distribution change over a setting
// or from step to step?

const ridgelineName = "ridgeline"

// RidgelineData is up to eight distributions in order. The slices are not kept.
type RidgelineData struct {
	Prompt string
	By     string // what the labels are values of: "temperature", "step"
	Rows   []RidgelineRow
}

// RidgelineRow is one distribution: probabilities of its tokens in any order.
type RidgelineRow struct {
	Label string
	Probs []float64
}

const (
	ridgelineWidth = 5.2
	ridgelineMost  = 8
	ridgePitch     = vg.Length(27)
	ridgeHeight    = vg.Length(46) // of the highest ridge; it may reach over its neighbour
	ridgePoints    = 240
)

// ridge is one row.
type ridge struct {
	label     string
	sorted    []float64 // descending, above zero
	tokens    int
	undefined int
	entropy   float64 // bits; NaN when part of the row is undefined
}

// ridgeline is the content of the figure.
type ridgeline struct {
	data     RidgelineData
	rows     []ridge
	ranks    int
	top      float64 // largest probability
	emptyWhy string
}

// Ridgeline draws distributions below each other, each over the rank of its
// tokens on a logarithmic axis, its height the square root of the probability, so
// that tails can be seen; all rows share the scale. More than eight rows are
// refused: [Temperatures] shows many.
//
// Errors: fault.Usage for more than eight rows and options; fault.Data for
// impossible probabilities. NaN and infinite probabilities are left out and
// counted; without a row the picture says so.
func Ridgeline(d RidgelineData, o Options) (fig *Figure, err error) {
	defer guard(ridgelineName, &err)
	if len(d.Rows) > ridgelineMost {
		return nil, fault.New(fault.Usage, "figure "+ridgelineName, "rows", "%d are more than %d", len(d.Rows), ridgelineMost).
			Fix("draw fewer; temperatures shows many as lines")
	}
	r := &ridgeline{data: d}
	for i, row := range d.Rows {
		one := ridge{label: row.Label, tokens: len(row.Probs)}
		if one.tokens > 0 {
			if one.undefined, err = checkMass(ridgelineName, fmt.Sprintf("row %d (%s)", i+1, fault.Quote(row.Label, 40)), row.Probs, 0); err != nil {
				return nil, err
			}
		}
		for _, p := range row.Probs {
			if defined(p) && p > 0 {
				one.sorted = append(one.sorted, min(p, 1))
				one.entropy -= p * math.Log2(p)
			}
		}
		slices.SortFunc(one.sorted, func(a, b float64) int { return compareFloats(b, a) })
		one.entropy = max(one.entropy, 0)
		if one.undefined > 0 || len(one.sorted) == 0 {
			one.entropy = math.NaN()
		}
		if len(one.sorted) > 0 {
			r.top = max(r.top, one.sorted[0])
		}
		r.ranks = max(r.ranks, len(one.sorted))
		r.rows = append(r.rows, one)
	}
	switch {
	case len(r.rows) == 0:
		r.emptyWhy = "no rows"
	case r.ranks == 0:
		r.emptyWhy = "no token with a defined probability"
	}
	s := sheet{name: ridgelineName, width: ridgelineWidth, title: r.finding(), subtitle: r.subtitle(), x: "rank, likeliest first (log scale)", y: d.By, emptyWhy: r.emptyWhy,
		body: r.draw, notes: r.notes, describe: r.describe, table: r.table,
		text: []string{columnName(d.By, "row", []string{"rank", "prob", "entropy_bits"})}, vega: r.vega, sketch: r.sketch}
	return s.draw(o)
}

// words names a row.
func (r *ridgeline) words(i int) string {
	if r.data.By != "" && isNumber(r.rows[i].label) {
		return r.data.By + " " + r.rows[i].label
	}
	return r.rows[i].label
}

func (r *ridgeline) finding() string {
	var whole []int
	for i, row := range r.rows {
		if len(row.sorted) > 0 {
			whole = append(whole, i)
		}
	}
	switch len(whole) {
	case 0:
		return "Probability over ranked tokens"
	case 1:
		return fmt.Sprintf("The likeliest token has %s of the mass", canvas.Percent(r.rows[whole[0]].sorted[0]))
	}
	first, last := whole[0], whole[len(whole)-1]
	a, b := r.rows[first].sorted[0], r.rows[last].sorted[0]
	turn := "rises"
	switch {
	case a == b:
		return fmt.Sprintf("From %s to %s the likeliest token keeps %s of the mass", shortened(r.words(first), nameLimit), shortened(r.words(last), nameLimit), canvas.Percent(a))
	case b < a:
		turn = "falls"
	}
	return fmt.Sprintf("From %s to %s the likeliest token %s from %s to %s of the mass", shortened(r.words(first), nameLimit), shortened(r.words(last), nameLimit), turn,
		canvas.Percent(a), canvas.Percent(b))
}

func (r *ridgeline) subtitle() string {
	if r.emptyWhy != "" {
		return ""
	}
	text := "Next token"
	if r.data.Prompt != "" {
		text += " after " + quoted(r.data.Prompt, 60)
	}
	return text + fmt.Sprintf("; height: square root of the probability, the highest is %s. Right: entropy.", canvas.Fraction(r.top))
}

func (r *ridgeline) notes() []string {
	var notes []string
	for i, row := range r.rows {
		name := shortened(r.words(i), nameLimit)
		if n := undefinedNote(row.undefined, row.tokens, name); n != "" {
			notes = append(notes, n)
		}
		if r.emptyWhy == "" && row.tokens == 0 {
			notes = append(notes, name+": no tokens, no ridge")
		}
		if row.undefined == 0 && len(row.sorted) == 1 {
			notes = append(notes, name+": one survivor; the seed has no effect here")
		}
	}
	return notes
}

func entropyOf(row ridge) string {
	if !defined(row.entropy) {
		return "n/a"
	}
	return fmt.Sprintf("%.2f bits", row.entropy)
}

func (r *ridgeline) describe() string {
	var b strings.Builder
	b.WriteString("Ridges of probability over ranked tokens")
	if r.emptyWhy != "" {
		return b.String() + ": no data (" + r.emptyWhy + ")."
	}
	b.WriteString(", one below the other. ")
	for i, row := range r.rows {
		fmt.Fprintf(&b, "%s: %s", shortened(r.words(i), nameLimit), plural(len(row.sorted), "token"))
		if len(row.sorted) > 0 {
			fmt.Fprintf(&b, ", likeliest %s, entropy %s", canvas.Fraction(row.sorted[0]), entropyOf(row))
		}
		b.WriteString(". ")
	}
	b.WriteString(strings.Join(r.notes(), " "))
	return strings.TrimSpace(b.String())
}

func (r *ridgeline) table() Table {
	out := Table{Header: []string{columnName(r.data.By, "row", []string{"rank", "prob", "entropy_bits"}), "rank", "prob", "entropy_bits"}}
	for _, row := range r.rows {
		for _, k := range mark.LogGrid(len(row.sorted), ridgePoints) {
			out.Rows = append(out.Rows, []string{canvas.Clean(row.label), fmt.Sprint(k + 1), number(row.sorted[k]), number(row.entropy)})
		}
	}
	return out
}

func (r *ridgeline) draw(p *canvas.Page) {
	st := p.Ink(canvas.Sans, canvas.TickSize)
	labels, ends := vg.Length(0), vg.Length(0)
	for i, row := range r.rows {
		labels = max(labels, p.Words(r.words(i), st).Width())
		ends = max(ends, p.Words(entropyOf(row), p.Muted(canvas.Sans, canvas.NoteSize)).Width())
	}
	labels = min(labels, 0.26*(p.Right()-p.Left()))
	x := canvas.Axis{Name: "rank, likeliest first (log scale)", Log: true, Grid: true}
	x.Fit(1, float64(max(r.ranks, 2)))
	if r.ranks == 1 {
		x.Min, x.Max = -0.5, 1
	}
	head := max(ridgeHeight-ridgePitch, 0)
	height := vg.Length(len(r.rows))*ridgePitch + head
	rect := vg.Rectangle{Min: vg.Point{X: p.Left() + labels + 6, Y: p.Y() - height}, Max: vg.Point{X: p.Right() - ends - 8, Y: p.Y()}}
	x.Ticks = rankTicks(x, rect.Size().X)
	panel := p.Panel(rect, x, canvas.Axis{Min: 0, Max: 1, Bare: true})
	for i, row := range r.rows {
		base := p.Y() - head - vg.Length(i+1)*ridgePitch + 4
		r.drawRidge(p, panel, row, base, i)
		p.Put(p.Words(r.words(i), st).Elide(labels), vg.Point{X: rect.Min.X - 5, Y: base + 3}, canvas.End, canvas.Centre)
		p.Put(p.Words(entropyOf(row), p.Muted(canvas.Sans, canvas.NoteSize)), vg.Point{X: p.Right(), Y: base + 3}, canvas.End, canvas.Centre)
	}
	p.Down(height + p.XAxisHeight(x) + 4)
}

// drawRidge draws one row on its base line. A single token is a bar.
func (r *ridgeline) drawRidge(p *canvas.Page, panel *canvas.Panel, row ridge, base vg.Length, i int) {
	th := p.Theme()
	line := r.colour(th, i)
	fill := canvas.Blend(line, th.Background, 0.35)
	high := func(k int) vg.Length { return ridgeHeight * 0.92 * vg.Length(math.Sqrt(row.sorted[k]/r.top)) }
	p.Line(th.Muted, canvas.GridLine, nil, vg.Point{X: panel.Rect.Min.X, Y: base}, vg.Point{X: panel.Rect.Max.X, Y: base})
	if len(row.sorted) == 1 {
		at := panel.X(0)
		p.Fill(vg.Rectangle{Min: vg.Point{X: at, Y: base}, Max: vg.Point{X: at + 3, Y: base + high(0)}}, line)
		return
	}
	var outline []vg.Point
	for _, k := range mark.LogGrid(len(row.sorted), ridgePoints) {
		outline = append(outline, vg.Point{X: panel.X(math.Log10(float64(k + 1))), Y: base + high(k)})
	}
	if len(outline) == 0 {
		return
	}
	last := outline[len(outline)-1]
	p.Shape(fill, append(append([]vg.Point{{X: outline[0].X, Y: base}}, outline...), vg.Point{X: last.X, Y: base})...)
	p.Line(line, canvas.AxisLine*1.8, nil, append(append([]vg.Point{}, outline...), vg.Point{X: last.X, Y: base})...)
}
