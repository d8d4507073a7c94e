package plots

import (
	"image/color"
	"slices"

	"gonum.org/v1/plot/vg"

	"lab/plots/canvas"
	"lab/plots/mark"
)

// CostBasis says what the numbers of a cost figure rest on; it is printed below
// every one of them.
type CostBasis struct {
	Formulas    []string // ids such as "F3"
	Conventions string   // "causal, 2 FLOP per MAC, dense peak, M = 8.03 G"
	Measured    bool     // numbers were measured, and need no formula
}

// words returns the line below the figure.
func (b CostBasis) words() string {
	b.Formulas = unique(b.Formulas)
	if len(b.Formulas) == 0 && b.Conventions == "" && !b.Measured {
		return "Formulas and conventions not stated."
	}
	text := "Formulas not stated"
	switch len(b.Formulas) {
	case 0:
		if b.Measured {
			text = "Measured"
		}
	case 1:
		text = "Formula " + b.Formulas[0]
	default:
		text = "Formulas"
		for i, f := range b.Formulas {
			if i > 0 {
				text += ","
			}
			text += " " + f
		}
	}
	if b.Conventions != "" {
		text += " · " + b.Conventions
	}
	return text + "."
}

// unique returns names once each, in their order.
func unique(names []string) []string {
	var out []string
	for _, n := range names {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// chart is the content of a cost figure that is drawn over two quantities: one
// or more planes of the same marks. Floors are curves, measurements are dots.
type chart struct {
	figure string
	planes []*plane
	across int       // planes side by side at most
	shared bool      // planes share both axes
	alone  bool      // derived marks alone are a picture
	noEnds bool      // curves end anywhere and are named in the legend
	height vg.Length // of a plane; 0: by their number
	width  float64   // of the figure in inches, its own

	keys      []canvas.Key // beside those of the named curves
	title     string
	subtitle  string
	begin     string   // of the description
	says      []string // more of it: what the figure computed
	notes     []string // below the picture
	basis     CostBasis
	emptyWhy  string
	tone      string       // column of what cells show
	rows      func() Table // instead of the general table
	undefined int          // points without a value
	total     int
	placed    int  // points with a place
	zeros     int  // points without a place on a logarithmic axis
	open      int  // intervals without an end
	below     int  // intervals cut at the lower edge of a logarithmic axis
	unplaced  int  // words without a place, known after drawing
	splitUp   bool // each name got its own plane
}

// plane is one panel.
type plane struct {
	title  string
	x, y   Quantity
	curves []curve
	dots   []dots
	rules  []Rule
	notes  []mark.Note // in values; placed with the rest
	shades []shade
	cells  []cell
	reach  []float64     // values that the horizontal axis has to hold besides
	ticks  []canvas.Tick // of the vertical axis; nil: chosen
	top    *topAxis

	sx, sy scale
}

// topAxis relabels the horizontal axis: what it shows is x over Per.
type topAxis struct {
	Name string
	Per  float64
}

// curve is a line, with a band between Lo and Hi where they are given.
type curve struct {
	name, kind string
	look       look
	X, Y       []float64
	Lo, Hi     []float64
	derived    bool      // follows from another curve: its points are not counted
	keyless    bool      // the figure makes its key
	at         []mark.XY // coordinates of the points, NaN where the line breaks
	silent     bool      // has no name in the picture: a part of another, or explained by a key
}

// dots are points, with whiskers where ends are given.
type dots struct {
	name, kind string
	look       look
	X, Y       []float64
	Lo, Hi     []float64
	XLo, XHi   []float64
	Labels     []string
	Hollow     []bool
	at         []mark.XY
	Strong     bool // labels are the finding
	derived    bool // follows from what is counted already
	keyed      bool // named in the legend when no curve has the name
}

// shade is a hatched region in values; infinite ends are the edges.
type shade struct {
	X0, X1, Y0, Y1 float64
	Words          string
}

// look says how a mark is drawn. Its colour is a place in the theme, so that a
// figure is made before its theme is known.
type look struct {
	hue    hue
	place  float64 // of hueOrdered, 0..1
	dash   []vg.Length
	width  vg.Length // 0: of a series
	symbol canvas.Symbol
}

// cell is a rectangle of a map, in values of linear axes.
type cell struct {
	X0, X1, Y0, Y1 float64
	value          float64 // what the tone shows, 0 at the background
	tone           float64 // -1 vermilion, 0 background, 1 blue; NaN: undefined, grey
}

// colour returns the colour of a tone on the diverging scale.
func (c cell) colour(th Theme) color.RGBA {
	switch {
	case c.tone != c.tone:
		return th.Grid
	case c.tone < 0:
		return canvas.Blend(th.Series[1], th.Background, -c.tone)
	}
	return canvas.Blend(th.Series[0], th.Background, c.tone)
}

type hue int

// Hues: the series of the theme from 0 on, and those outside it.
const (
	hueTraining  hue = 0 // blue, in all figures
	hueInference hue = 1 // vermilion, in all figures
	hueInk       hue = -1
	hueMuted     hue = -2
	hueOrdered   hue = -3
)

func (l look) colour(th Theme) color.RGBA {
	switch l.hue {
	case hueInk:
		return th.Ink
	case hueMuted:
		return th.Muted
	case hueOrdered:
		return th.OrderedLine(l.place)
	}
	return th.Series[int(l.hue)%len(th.Series)]
}

func (l look) thickness() vg.Length {
	if l.width == 0 {
		return canvas.SeriesLine
	}
	return l.width
}

// lookOf returns the look of series i of n: their colours run in order when they
// are steps of a quantity.
func lookOf(i, n int, ordered bool) look {
	if ordered && n > 1 {
		return look{hue: hueOrdered, place: float64(i) / float64(n-1), symbol: canvas.SymbolAt(i)}
	}
	hues := len(Theme{}.Series)
	return look{hue: hue(i % hues), dash: dashes(i / hues), symbol: canvas.SymbolAt(i)}
}

// names returns the different names of curves and dots, in their order.
func (c *chart) names() []string {
	var out []string
	add := func(n string) {
		if n != "" && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	for _, pl := range c.planes {
		for _, k := range pl.curves {
			if !k.silent {
				add(k.name)
			}
		}
		for _, d := range pl.dots {
			add(d.name)
		}
	}
	return out
}
