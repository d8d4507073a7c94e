package plots

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"lab/core/fault"
	"lab/plots/canvas"
	"lab/plots/mark"
)

// The question: how often does each size of a quantity occur?

const (
	histName     = "hist"
	mostBins     = 200
	fewestChosen = 6 // bins when nobody says how many
	mostChosen   = 60
)

// hist is the content of a histogram.
type hist struct {
	*samples
	edges  []float64   // of the bins, in axis coordinates, rising
	counts [][]float64 // of each sample and bin
	zeros  []float64   // of each sample, under a logarithmic axis
	titles []string    // of the panels, one per sample
}

// Hist draws histograms, a panel for each sample, with the same bins and scales
// in all of them. The bins have round edges, of about the width 2·IQR/∛n of all
// values together (Freedman and Diaconis 1981) or as many as Bins asks for; a
// bin holds its left edge, the last one both. On a logarithmic axis they are
// equally wide in log10, and values of 0 have an open bar at the tick 0.
//
// Errors: fault.Usage for Bins, rules, more than 200 samples or 64 panels, and
// options; fault.Data for a negative value on a logarithmic axis and a sample
// given twice. NaN and infinite values are left out and counted.
func Hist(d SampleData, o Options) (fig *Figure, err error) {
	defer guard(histName, &err)
	if d.Bins < 0 || d.Bins > mostBins {
		return nil, fault.New(fault.Usage, "figure "+histName, "bins", "%d is outside 1 to %d", d.Bins, mostBins).Fix("leave it out to have them chosen")
	}
	s, err := newSamples(histName, d)
	if err != nil {
		return nil, err
	}
	if len(d.Samples) > mostPanels {
		return nil, fault.New(fault.Usage, "figure "+histName, "samples", "%d are more than %d panels", len(d.Samples), mostPanels).
			Fix("draw a violin, or fewer samples")
	}
	h := &hist{samples: s}
	h.count()
	return h.draw(o)
}

// count chooses the bins and counts.
func (h *hist) count() {
	for i := range h.sorted {
		words, panel := h.words(i), h.panelWords(h.data.Samples[i].Panel)
		if words != "" && panel != "" {
			words += " · "
		}
		h.titles = append(h.titles, words+panel)
	}
	if h.emptyWhy != "" {
		return
	}
	h.edges = h.chooseEdges()
	h.x.Min, h.x.Max = h.edges[0], h.edges[len(h.edges)-1]
	if !math.IsNaN(h.x.floor) {
		width := h.x.Max - h.x.Min
		h.x.floor = h.x.Min - 0.1*width
		h.x.Min = h.x.floor - 0.05*width
	}
	bins := len(h.edges) - 1
	for _, s := range h.sorted {
		counts, zeros := make([]float64, bins), 0.0
		for _, v := range s {
			c := h.coord(v)
			if h.data.Value.Log && v == 0 {
				zeros++
				continue
			}
			k := int((c - h.edges[0]) / (h.edges[bins] - h.edges[0]) * float64(bins))
			k = min(max(k, 0), bins-1)
			for k > 0 && c < h.edges[k] { // rounding
				k--
			}
			for k < bins-1 && c >= h.edges[k+1] {
				k++
			}
			counts[k]++
		}
		if n := float64(len(s)); h.data.Share && n > 0 {
			for k := range counts {
				counts[k] /= n
			}
			zeros /= n
		}
		h.counts = append(h.counts, counts)
		h.zeros = append(h.zeros, zeros)
	}
}

// chooseEdges returns round edges around all values in axis coordinates.
func (h *hist) chooseEdges() []float64 {
	var all []float64
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, s := range h.sorted {
		for _, v := range s {
			if c := h.x.Coord(v); defined(c) {
				lo, hi = min(lo, c), max(hi, c)
				all = append(all, c)
			}
		}
	}
	a := canvas.Axis{}
	a.Fit(lo, hi) // widened when all are equal
	if h.data.Value.Log && lo == hi {
		a.Min, a.Max = lo-0.5, hi+0.5
	}
	want := float64(h.data.Bins)
	if want == 0 {
		want = freedman(all, a.Max-a.Min)
	}
	step := roundStep((a.Max - a.Min) / want)
	first := math.Floor(a.Min/step + 1e-9)
	last := math.Ceil(a.Max/step - 1e-9)
	if !(step > 0) || !(last > first) || last-first > 2*mostBins+2 { // beyond the digits of the numbers
		edges := make([]float64, int(want)+1)
		for i := range edges {
			t := float64(i) / math.Floor(want)
			edges[i] = (1-t)*a.Min + t*a.Max
		}
		return edges
	}
	var edges []float64
	for k := first; k <= last; k++ {
		edges = append(edges, k*step)
	}
	return edges
}

// freedman returns how many bins the rule gives over a range.
func freedman(values []float64, width float64) float64 {
	sorted := append([]float64(nil), values...)
	slices.Sort(sorted)
	n := len(sorted)
	iqr := quantile(sorted, 0.75) - quantile(sorted, 0.25)
	bins := math.Ceil(math.Log2(float64(max(n, 1))) + 1) // Sturges, when half of the values are equal
	if iqr > 0 {
		bins = math.Ceil(width / (2 * iqr / math.Cbrt(float64(n))))
	}
	return min(max(bins, fewestChosen), mostChosen)
}

// roundStep returns the step of 1, 2, 2.5 or 5 times a power of ten that is
// nearest to a width, on a logarithmic scale.
func roundStep(width float64) float64 {
	if !(width > 0) || math.IsInf(width, 0) {
		return 0
	}
	e := math.Floor(math.Log10(width))
	best, far := 0.0, math.Inf(1)
	for _, m := range []float64{1, 2, 2.5, 5, 10} {
		step := m * math.Pow(10, e)
		if d := math.Abs(math.Log(step / width)); d < far {
			best, far = step, d
		}
	}
	return best
}

// identical reports whether a sample holds one value several times.
func identical(sorted []float64) bool { return len(sorted) > 1 && sorted[0] == sorted[len(sorted)-1] }

func (h *hist) yQuantity() Quantity {
	if h.data.Share {
		return Quantity{Name: "share", Title: "share of values"}
	}
	return Quantity{Name: "count", Title: "number of values"}
}

func (h *hist) draw(o Options) (*Figure, error) {
	title := "Distribution of " + h.data.Value.words()
	p, o, err := o.sheet(histName, panelWidth(len(h.titles)), title, h.subtitle())
	if err != nil {
		return nil, err
	}
	if h.emptyWhy != "" {
		drawEmpty(p, canvas.Axis{Name: h.data.Value.axisName(), Max: 1}, canvas.Axis{Name: h.yQuantity().words(), Max: 1}, h.emptyWhy)
	} else {
		h.drawPanels(p)
	}
	return o.finish(p, content{name: histName, describe: h.describe("Histograms"), notes: h.notes(), table: h.table, text: h.textColumns(), vega: h.vega, sketch: h.sketch}), nil
}

func (h *hist) subtitle() string {
	if h.emptyWhy != "" {
		return ""
	}
	text := h.sizes()
	width := h.edges[1] - h.edges[0]
	if !h.data.Value.Log {
		text += "; bins of " + canvas.Significant(width, 3)
		if h.data.Value.Unit != "" {
			text += " " + h.data.Value.Unit
		}
	} else {
		text += "; bins by a factor of " + canvas.Significant(math.Pow(10, width), 3)
	}
	for i, s := range h.sorted {
		if identical(s) {
			text += "; " + strings.TrimPrefix(h.placeWords(i)+": ", ": ") + canvas.Count(len(s)) + " identical values"
			break
		}
	}
	return text
}

func (h *hist) drawPanels(p *canvas.Page) {
	most := 0.0
	for i, counts := range h.counts {
		most = max(most, h.zeros[i])
		for _, n := range counts {
			most = max(most, n)
		}
	}
	g := canvas.Grid{Titles: h.titles, Height: singleHeight * 0.8}
	if len(h.titles) > 1 {
		g.Height = facetHeight * 0.85
	}
	g.Y = canvas.Axis{Name: h.yQuantity().words(), Max: most * 1.05, Grid: true}
	if most == 0 {
		g.Y.Max = 1
	}
	if !h.data.Share {
		g.Y.Ticks = wholeTicks(g.Y.Max, int(g.Height/28))
	}
	width := float64(p.Right()-p.Left()-p.YAxisWidth(g.Y, g.Height)) / float64(g.Columns(p, len(g.Titles)))
	g.X = h.x.ticked(width, 36)
	g.X.Grid = false
	for i, panel := range p.Grid(g) {
		colour := p.Theme().Series[0]
		bars := mark.Columns{Page: p, Edges: h.edges, Heights: h.counts[i], Fill: canvas.Blend(colour, p.Theme().Background, 0.75)}
		panel.Draw(bars)
		if h.zeros[i] > 0 {
			half := 0.03 * (h.x.Max - h.x.Min)
			panel.Draw(mark.Columns{Page: p, Edges: []float64{h.x.floor - half, h.x.floor + half}, Heights: []float64{h.zeros[i]}, Fill: p.Theme().Background, Outline: colour})
		}
		for _, r := range h.data.Rules {
			axis := canvas.Axis{}
			if r.Vertical {
				axis = h.x.Axis
			}
			panel.Draw(mark.Rule{Page: p, At: axis.Coord(r.At), Vertical: r.Vertical, Words: r.Label})
		}
		if len(h.sorted[i]) == 0 {
			p.Put(p.Words("no values", p.Muted(canvas.Sans, canvas.NoteSize)), middle(panel.Rect), canvas.Middle, canvas.Centre)
		}
	}
}

func (h *hist) table() Table {
	header, cells := h.sampleColumns()
	t := Table{Header: append(header, "from", "to", h.yQuantity().Name)}
	value := func(c float64) float64 {
		if h.data.Value.Log {
			return math.Pow(10, c)
		}
		return c
	}
	for i := range h.counts {
		if h.zeros[i] > 0 {
			t.Rows = append(t.Rows, append(cells(i), "0", "0", number(h.zeros[i])))
		}
		for k, n := range h.counts[i] {
			t.Rows = append(t.Rows, append(cells(i), number(value(h.edges[k])), number(value(h.edges[k+1])), fmt.Sprint(n)))
		}
	}
	return t
}
