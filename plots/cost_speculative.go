package plots

import (
	"fmt"
	"math"

	"gonum.org/v1/plot/vg"

	"lab/plots/canvas"
)

// The question: when does a draft model make decoding faster, and how long
// should it draft?

const costSpeculativeName = "cost_speculative"

// CostSpeculativeData is the speedup of speculative decoding over acceptance and
// draft length. Slices are not kept.
type CostSpeculativeData struct {
	Alpha  []float64 // acceptance of the columns, rising, 0 to 1
	Gamma  []float64 // draft lengths of the rows, whole, rising, at least 1
	Panels []CostSpeculativePanel
	CostBasis
}

// CostSpeculativePanel is a cost of verifying: "v = 1", "v = γ + 1".
type CostSpeculativePanel struct {
	Name     string
	Speedup  [][]float64 // of a row at each column, above zero; NaN: not known
	Measured []CostSpeculativePoint
}

// CostSpeculativePoint is a measured acceptance at the draft length it was
// measured with.
type CostSpeculativePoint struct {
	Name         string
	Alpha, Gamma float64
	Speedup      float64 // measured; 0 or NaN: not known
}

const (
	mostAcceptances = 120
	mostLengths     = 40
)

// CostSpeculative draws the speedup as a map, a panel per cost of verifying:
// blue where speculation is faster, vermilion where it is slower, on one scale of
// its logarithm for all panels; with the best draft length of each column, the
// contour where it breaks even, and measured points. Where every length is slower
// the best is not to speculate, and the ridge has no point.
//
// Errors: fault.Usage for more than 120 columns, 40 rows or 12 panels and
// options; fault.Data for acceptance outside 0 to 1, lengths that are not whole
// or below 1, rows and columns that do not rise, panels of another size, speedups
// that are not above zero and names given twice.
func CostSpeculative(d CostSpeculativeData, o Options) (fig *Figure, err error) {
	defer guard(costSpeculativeName, &err)
	if err := d.check(); err != nil {
		return nil, err
	}
	x, y := Quantity{Name: "alpha", Title: "acceptance α"}, Quantity{Name: "gamma", Title: "draft length γ", Unit: "tokens"}
	c := &chart{figure: costSpeculativeName, shared: true, across: 3, alone: true, noEnds: true, basis: d.CostBasis, title: d.finding(),
		begin: "Map of the speedup of speculative decoding, a panel per cost of verifying"}
	if len(d.Panels) > 1 {
		c.width = costWide
	}
	low, high, undefined := d.extremes()
	most := math.Max(math.Abs(math.Log(low)), math.Abs(math.Log(high)))
	measured := false
	for _, p := range d.Panels {
		pl := &plane{title: p.Name, x: x, y: y}
		pl.cells, pl.ticks = d.cells(p, most), d.lengths()
		ridgeX, ridgeY := d.ridge(p)
		edgeX, edgeY := d.contour(p)
		pl.curves = []curve{
			{kind: "break-even", look: look{hue: hueInk, dash: []vg.Length{5, 2}}, X: edgeX, Y: edgeY, derived: true, silent: true},
			{kind: "best length", look: look{hue: hueInk, width: canvas.RefLine}, X: ridgeX, Y: ridgeY, derived: true, silent: true},
		}
		for _, m := range p.Measured {
			words := m.Name
			if m.Speedup > 0 && defined(m.Speedup) {
				words += " ×" + canvas.Significant(m.Speedup, 3)
			}
			measured = true
			pl.dots = append(pl.dots, dots{name: m.Name, kind: "measured", look: look{hue: hueInk, symbol: canvas.Diamond}, X: []float64{m.Alpha}, Y: []float64{m.Gamma}, Labels: []string{words}})
		}
		c.says = append(c.says, d.panelWords(p))
		c.planes = append(c.planes, pl)
	}
	c.keys = d.keys(low, high, measured)
	c.subtitle = "Colour: speedup over plain decoding, one scale for all panels."
	if undefined > 0 {
		c.notes = append(c.notes, fmt.Sprintf("%s undefined and grey.", plural(undefined, "cell")))
	}
	c.rows, c.tone = d.table, "log2_speedup"
	switch {
	case len(d.Panels) == 0:
		c.planes, c.emptyWhy = []*plane{{x: x, y: y}}, "no panels"
	case len(d.Alpha) == 0 || len(d.Gamma) == 0:
		c.emptyWhy = "no cells"
	case undefined == len(d.Panels)*len(d.Alpha)*len(d.Gamma):
		c.emptyWhy = "all " + plural(undefined, "cell") + " undefined"
	}
	return c.draw(o)
}

// keys explain colours and lines.
func (d CostSpeculativeData) keys(low, high float64, measured bool) []canvas.Key {
	tone := func(t float64, words string) canvas.Key {
		return canvas.Key{Words: words, Draw: func(p *canvas.Page, r vg.Rectangle) {
			p.Fill(r, cell{tone: t}.colour(p.Theme()))
			p.Box(r, p.Theme().Grid, canvas.GridLine, nil)
		}}
	}
	var keys []canvas.Key
	if low < 1 {
		keys = append(keys, tone(-1, "slower, down to ×"+canvas.Significant(low, 2)))
	}
	if high > 1 {
		keys = append(keys, tone(1, "faster, up to ×"+canvas.Significant(high, 2)))
	}
	keys = append(keys, lineKey(look{hue: hueInk, width: canvas.RefLine}, "best γ"), lineKey(look{hue: hueInk, dash: []vg.Length{5, 2}}, "break-even"))
	if measured {
		keys = append(keys, dotKey(look{hue: hueInk, symbol: canvas.Diamond}, false, "measured"))
	}
	return keys
}

func (d CostSpeculativeData) check() error {
	for _, n := range []struct {
		what    string
		n, most int
	}{{"columns", len(d.Alpha), mostAcceptances}, {"rows", len(d.Gamma), mostLengths}, {"panels", len(d.Panels), mostCostTogether}} {
		if err := checkCount(costSpeculativeName, n.what, n.n, n.most); err != nil {
			return err
		}
	}
	for k, a := range d.Alpha {
		if !(a >= 0 && a <= 1) {
			return badNumber(costSpeculativeName, "acceptance", "column %d is %v, outside 0 to 1", k, a)
		}
	}
	for k, g := range d.Gamma {
		if !(g >= 1) || g != math.Trunc(g) || math.IsInf(g, 0) {
			return badNumber(costSpeculativeName, "draft length", "row %d is %v, not a whole number above zero", k, g)
		}
	}
	if err := checkRising(costSpeculativeName, "acceptance", "alpha", d.Alpha); err != nil {
		return err
	}
	if err := checkRising(costSpeculativeName, "draft length", "gamma", d.Gamma); err != nil {
		return err
	}
	var names []string
	for i, p := range d.Panels {
		where := fmt.Sprintf("panel %d (%s)", i+1, fault40(p.Name))
		names = append(names, p.Name)
		if len(p.Speedup) != len(d.Gamma) {
			return badNumber(costSpeculativeName, where, "%d rows for %d draft lengths", len(p.Speedup), len(d.Gamma))
		}
		for r, row := range p.Speedup {
			if len(row) != len(d.Alpha) {
				return badNumber(costSpeculativeName, where, "row %d has %d speedups for %d acceptances", r, len(row), len(d.Alpha))
			}
			for k, v := range row {
				if defined(v) && v <= 0 {
					return badNumber(costSpeculativeName, where, "the speedup in row %d, column %d is %v, not above zero", r, k, v)
				}
			}
		}
		for _, m := range p.Measured {
			if !(m.Alpha >= 0 && m.Alpha <= 1) || !(m.Gamma >= 0) || m.Speedup < 0 || math.IsInf(m.Gamma, 0) {
				return badNumber(costSpeculativeName, where, "the measured point %s at acceptance %v and length %v is impossible", fault40(m.Name), m.Alpha, m.Gamma)
			}
		}
	}
	return checkNames(costSpeculativeName, "panel", names)
}

// extremes returns the smallest and the largest speedup, 1 among them, and how many
// are undefined.
func (d CostSpeculativeData) extremes() (low, high float64, undefined int) {
	low, high = 1, 1
	for _, p := range d.Panels {
		for _, row := range p.Speedup {
			for _, v := range row {
				if !defined(v) {
					undefined++
					continue
				}
				low, high = min(low, v), max(high, v)
			}
		}
	}
	return low, high, undefined
}

// edgesOf returns the borders of cells around values: the middles between them,
// and as far beyond the first and the last.
func edgesOf(v []float64, alone float64) []float64 {
	if len(v) == 0 {
		return nil
	}
	out := make([]float64, len(v)+1)
	for i := range out {
		switch {
		case len(v) == 1:
			out[i] = v[0] + alone*(float64(i)-0.5)
		case i == 0:
			out[i] = v[0] - (v[1]-v[0])/2
		case i == len(v):
			out[i] = v[i-1] + (v[i-1]-v[i-2])/2
		default:
			out[i] = (v[i-1] + v[i]) / 2
		}
	}
	return out
}

// lengths are ticks at draft lengths, every k-th when they are many.
func (d CostSpeculativeData) lengths() []canvas.Tick {
	every := (len(d.Gamma) + 9) / 10
	out := []canvas.Tick{}
	for i := 0; i < len(d.Gamma); i += every {
		out = append(out, canvas.Tick{At: d.Gamma[i], Label: canvas.Significant(d.Gamma[i], 4)})
	}
	return out
}

func (d CostSpeculativeData) cells(p CostSpeculativePanel, most float64) []cell {
	xs, ys := edgesOf(d.Alpha, 0.1), edgesOf(d.Gamma, 1)
	var out []cell
	for r, row := range p.Speedup {
		for k, v := range row {
			tone := 0.0
			switch {
			case !defined(v):
				tone = math.NaN()
			case most > 0:
				tone = math.Log(v) / most
			}
			out = append(out, cell{X0: xs[k], X1: xs[k+1], Y0: ys[r], Y1: ys[r+1], value: math.Log2(v), tone: tone})
		}
	}
	return out
}

// best returns the row of the largest speedup of a column, the shortest on ties;
// −1 when none is above 1.
func (p CostSpeculativePanel) best(column int) int {
	at, most := -1, 1.0
	for r, row := range p.Speedup {
		if defined(row[column]) && row[column] > most {
			at, most = r, row[column]
		}
	}
	return at
}

// ridge returns the best draft length of each column as steps.
func (d CostSpeculativeData) ridge(p CostSpeculativePanel) (x, y []float64) {
	xs := edgesOf(d.Alpha, 0.1)
	for k := range d.Alpha {
		at := math.NaN()
		if r := p.best(k); r >= 0 {
			at = d.Gamma[r]
		}
		x, y = append(x, xs[k], xs[k+1]), append(y, at, at)
	}
	return x, y
}

// contour returns where a row first reaches a speedup of 1, between columns on a
// straight line, as steps over rows.
func (d CostSpeculativeData) contour(p CostSpeculativePanel) (x, y []float64) {
	ys := edgesOf(d.Gamma, 1)
	for r, row := range p.Speedup {
		at := math.NaN()
		for k := 1; k < len(row); k++ {
			if row[k-1] < 1 && row[k] >= 1 {
				at = d.Alpha[k-1] + (1-row[k-1])/(row[k]-row[k-1])*(d.Alpha[k]-d.Alpha[k-1])
				break
			}
		}
		x, y = append(x, at, at), append(y, ys[r], ys[r+1])
	}
	return x, y
}

// top returns the largest speedup of a panel with its place; 0 without one above
// 1.
func (d CostSpeculativeData) top(p CostSpeculativePanel) (speedup, alpha, gamma float64) {
	for k := range d.Alpha {
		if r := p.best(k); r >= 0 && p.Speedup[r][k] > speedup {
			speedup, alpha, gamma = p.Speedup[r][k], d.Alpha[k], d.Gamma[r]
		}
	}
	return speedup, alpha, gamma
}

func (d CostSpeculativeData) panelWords(p CostSpeculativePanel) string {
	s, a, g := d.top(p)
	if s == 0 {
		return shortened(p.Name, nameLimit) + ": never faster."
	}
	return fmt.Sprintf("%s: at most ×%s, at acceptance %s and length %s.", shortened(p.Name, nameLimit), canvas.Significant(s, 3), canvas.Significant(a, 3), canvas.Significant(g, 3))
}

func (d CostSpeculativeData) finding() string {
	if len(d.Panels) == 0 {
		return "When a draft model makes decoding faster"
	}
	never, first := 0, ""
	for _, p := range d.Panels {
		if s, _, _ := d.top(p); s == 0 {
			never++
		}
	}
	for k := range d.Alpha {
		if r := d.Panels[0].best(k); r >= 0 {
			first = canvas.Significant(d.Alpha[k], 2)
			break
		}
	}
	text := "A draft pays from acceptance " + first
	if first == "" {
		text = "A draft never pays"
	}
	text += " at " + shortened(d.Panels[0].Name, 24)
	if never > 0 && first != "" {
		text += fmt.Sprintf("; in %d of %d panels it never does", never, len(d.Panels))
	}
	return text
}

func (d CostSpeculativeData) table() Table {
	t := Table{Header: []string{"panel", "kind", "alpha", "gamma", "speedup", "best", "label"}}
	for _, p := range d.Panels {
		for r := range p.Speedup {
			for k := range d.Alpha {
				t.Rows = append(t.Rows, []string{canvas.Clean(p.Name), "cell", number(d.Alpha[k]), number(d.Gamma[r]), number(p.Speedup[r][k]), fmt.Sprint(p.best(k) == r), ""})
			}
		}
		for _, m := range p.Measured {
			t.Rows = append(t.Rows, []string{canvas.Clean(p.Name), "measured", number(m.Alpha), number(m.Gamma), number(m.Speedup), "false", canvas.Clean(m.Name)})
		}
	}
	return t
}
