package plots

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"

	"lab/core/fault"
	"lab/plots/canvas"
	"lab/plots/mark"
)

// The question: how do samples differ in where they lie and how far they spread?

const (
	violinName    = "violin"
	leastForShape = 20  // values; fewer are drawn one by one
	shapePoints   = 96  // of a violin's outline
	gridBins      = 512 // in which values are counted before they are smoothed
	mostRows      = 60  // of a panel
)

// violin is the content of the figure.
type violin struct {
	*samples
	rows []mark.Row // of each sample, At set when drawn
}

// Violin draws samples as rows, named at the left: with 20 values or more the
// density cut at the range of the data, a bar between the quartiles and a dot at
// the median; with fewer the values themselves and a line at the median; of
// values all equal a line and their number. The density is a Gaussian kernel's
// with the bandwidth 0.9·min(s, IQR/1.34)·n^(−1/5) (Silverman, Density
// Estimation, 1986, equation 3.31), on a logarithmic axis that of log10 of the
// values; all are drawn equally wide. Panels share their scale and their rows.
//
// Errors: fault.Usage for rules that are not vertical, more than 60 rows or 64
// panels, and options; fault.Data for a negative value on a logarithmic axis and
// a sample given twice. NaN and infinite values are left out and counted; zeros
// on a logarithmic axis lie at the tick 0.
func Violin(d SampleData, o Options) (fig *Figure, err error) {
	defer guard(violinName, &err)
	return drawViolin(violinName, d, o, nil)
}

// drawViolin draws a figure of a name that is a violin; finding makes its title,
// nil leaves it to the violin.
func drawViolin(name string, d SampleData, o Options, finding func(*violin) string) (*Figure, error) {
	for _, r := range d.Rules {
		if !r.Vertical {
			return nil, fault.New(fault.Usage, "figure "+name, "rule "+fault.Quote(r.Label, 40), "the vertical axis holds names, not numbers").
				Fix("give it at a value of x")
		}
	}
	s, err := newSamples(name, d)
	if err != nil {
		return nil, err
	}
	if len(s.names) > mostRows {
		return nil, fault.New(fault.Usage, "figure "+name, "samples", "%d rows are more than %d", len(s.names), mostRows).Fix("draw fewer, or use a facet")
	}
	v := &violin{samples: s}
	if v.emptyWhy == "" {
		for _, values := range s.sorted {
			v.rows = append(v.rows, v.row(values))
		}
	}
	if finding != nil && o.Title == "" {
		o.Title = finding(v)
	}
	return v.draw(o)
}

// row measures one sample.
func (v *violin) row(sorted []float64) mark.Row {
	r := mark.Row{Median: math.NaN()}
	coords := make([]float64, len(sorted))
	for i, x := range sorted {
		coords[i] = v.coord(x)
	}
	if len(coords) == 0 {
		return r
	}
	r.Median = v.coord(quantile(sorted, 0.5))
	r.Box = [2]float64{v.coord(quantile(sorted, 0.25)), v.coord(quantile(sorted, 0.75))}
	switch {
	case identical(sorted):
	case len(coords) < leastForShape:
		r.Points = coords
	default:
		r.Shape = density(coords)
	}
	return r
}

// density returns the kernel density of sorted values at points over their range,
// the largest 1. Values are counted in a fine grid first, which costs less than
// one kernel per value and moves each by at most a thousandth of the range.
func density(sorted []float64) []mark.XY {
	lo, hi := sorted[0], sorted[len(sorted)-1]
	width := hi - lo
	n := float64(len(sorted))
	mean, squares := 0.0, 0.0
	for _, v := range sorted {
		mean += (v - lo) / width / n
	}
	counts := make([]float64, gridBins)
	for _, v := range sorted {
		t := (v - lo) / width
		squares += (t - mean) * (t - mean)
		counts[min(int(t*gridBins), gridBins-1)]++
	}
	spread := math.Sqrt(squares / (n - 1))
	if iqr := (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / width; iqr > 0 {
		spread = min(spread, iqr/1.34)
	}
	h := max(0.9*spread*math.Pow(n, -0.2), 1.0/gridBins) // not below the grid
	out := make([]mark.XY, shapePoints)
	most := 0.0
	for i := range out {
		t := float64(i) / (shapePoints - 1)
		sum := 0.0
		for k, c := range counts {
			if c > 0 {
				d := (t - (float64(k)+0.5)/gridBins) / h
				sum += c * math.Exp(-d*d/2)
			}
		}
		out[i] = mark.XY{X: lo + t*width, Y: sum}
		most = max(most, sum)
	}
	for i := range out {
		out[i].Y /= most
	}
	return out
}

func (v *violin) draw(o Options) (*Figure, error) {
	title := v.data.Value.words()
	if v.data.By != "" {
		title += ", by " + v.data.By
	} else {
		title = "Distribution of " + title
	}
	p, o, err := o.sheet(v.figure, panelWidth(len(v.panels)), title, v.subtitle())
	if err != nil {
		return nil, err
	}
	if v.emptyWhy != "" {
		drawEmpty(p, canvas.Axis{Name: v.data.Value.axisName(), Max: 1}, canvas.Axis{Name: v.data.By, Max: 1}, v.emptyWhy)
	} else {
		v.drawPanels(p)
	}
	return o.finish(p, content{name: v.figure, describe: v.describe("Violins"), notes: v.notes(), table: v.table, text: v.textColumns(), vega: v.vega, sketch: v.sketch}), nil
}

func (v *violin) subtitle() string {
	if v.emptyWhy != "" {
		return ""
	}
	text := v.sizes()
	shapes, points, same := false, false, false
	for i, r := range v.rows {
		shapes = shapes || r.Shape != nil
		points = points || r.Points != nil
		same = same || identical(v.sorted[i])
	}
	if shapes {
		text += "; shape: density, bar: quartiles, dot: median"
	}
	if points {
		text += fmt.Sprintf("; below n = %d the values and a line at the median", leastForShape)
	}
	if same && !points {
		text += "; a line alone: all values identical"
	}
	return text
}

func (v *violin) drawPanels(p *canvas.Page) {
	const pitch = 22
	names := make([]string, len(v.names))
	for i := range v.data.Samples {
		k := slices.Index(v.names, v.data.Samples[i].Name)
		names[k] = shownName(v.data.Samples[i].Name)
		if len(v.names) == 1 && v.names[0] == "" {
			names[k] = "" // one sample needs no name
		}
	}
	ends := p.Words("identical", p.Muted(canvas.Sans, canvas.NoteSize)).Width() + 22
	g := canvas.Grid{Height: vg.Length(max(len(names), 2)) * pitch, Least: 110}
	for _, panel := range v.panels {
		g.Titles = append(g.Titles, v.panelWords(panel))
	}
	g.Y = canvas.Axis{Min: -float64(len(names)) + 0.4, Max: 0.6, Ticks: rowTicks(p, names, pitch), Name: v.data.By}
	if len(v.rows) <= len(v.panels) && v.data.By == "" {
		g.Y.Name = ""
	}
	g.Room = ends
	if strip := ruleStrip(v.data.Rules); strip > 0 {
		g.Y.Max += float64(strip / pitch)
		g.Height += strip
	}
	width := float64(p.Right()-p.Left()-p.YAxisWidth(g.Y, g.Height))/float64(g.Columns(p, len(g.Titles))) - float64(g.Room)
	g.X = v.x.ticked(width, 36)
	colour := p.Theme().Series[0]
	for k, panel := range p.Grid(g) {
		marks := mark.Violins{Page: p, Half: 0.4, Fill: canvas.Blend(colour, p.Theme().Background, 0.35), Line: colour, Radius: 1.7}
		for i, s := range v.data.Samples {
			if s.Panel != v.panels[k] {
				continue
			}
			row := v.rows[i]
			row.At = -float64(slices.Index(v.names, s.Name))
			marks.Rows = append(marks.Rows, row)
			words := "n = " + canvas.Count(len(v.sorted[i]))
			if identical(v.sorted[i]) {
				words = canvas.Count(len(v.sorted[i])) + " identical"
			}
			l := p.Words(words, p.Muted(canvas.Sans, canvas.NoteSize)).Elide(ends - 4)
			p.Put(l, vg.Point{X: panel.Rect.Max.X + 4, Y: panel.Y(row.At)}, canvas.Start, canvas.Centre)
		}
		panel.Draw(marks)
		for _, r := range v.data.Rules {
			panel.Draw(mark.Rule{Page: p, At: v.x.Coord(r.At), Vertical: true, Words: r.Label})
		}
	}
}

// table returns the numbers behind each row: the values themselves are the
// caller's, and may be millions.
func (v *violin) table() Table {
	header, cells := v.sampleColumns()
	t := Table{Header: append(header, "n", "min", "quartile_1", "median", "quartile_3", "max", "mean")}
	for i, s := range v.sorted {
		row := append(cells(i), fmt.Sprint(len(s)))
		mean := math.NaN()
		for k, x := range s {
			if k == 0 {
				mean = 0
			}
			mean += x / float64(len(s))
		}
		for _, q := range []float64{0, 0.25, 0.5, 0.75, 1} {
			row = append(row, number(quantile(s, q)))
		}
		t.Rows = append(t.Rows, append(row, number(mean)))
	}
	return t
}
