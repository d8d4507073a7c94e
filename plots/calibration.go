package plots

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"
	"gonum.org/v1/plot/vg"

	"lab/plots/canvas"
	"lab/plots/mark"
)

// The question: are tokens drawn as often as their probabilities say?

const calibrationName = "calibration"

// CalibrationData is a distribution and how often each of its tokens was drawn.
// The slices are not kept.
type CalibrationData struct {
	Prompt string
	Probs  []float64 // of each token
	Counts []int     // how often it was drawn
	Tokens []string  // bytes of each token, for the table; nil: none
}

const (
	calibrationWidth = 4.2
	leastExpected    = 5.0  // draws; rarer tokens are put together, for the test and the picture
	mostSingles      = 300  // tokens drawn by themselves
	fitLevel         = 0.01 // below this the title says that the draws do not fit
)

// calibrated is one point: a token, or tokens of about equal probability.
type calibrated struct {
	token    string // "" for several
	tokens   int
	mass     float64 // of all its tokens
	hits     int
	lo, hi   int // 2.5 and 97.5 % quantile of Binomial(n, mass)
	x, y     float64
	alone    bool
	outlying bool
}

// calibration is the content of the figure.
type calibration struct {
	data       CalibrationData
	draws      int
	points     []calibrated // by rising probability
	chi2, p    float64
	df         int
	impossible int // draws of tokens with probability 0
	undefined  int
	outside    int
	drawnKinds int
	emptyWhy   string
}

// Calibration draws how often tokens were drawn against their probability, on
// logarithmic axes: a point for each token of which at least 5 draws are
// expected, and one for all rarer tokens of each half decade of probability, by
// their averages. The band holds 95 % of binomial draws about the diagonal.
// Pearson's chi-squared over the same tokens, the rarer ones together as far as 5
// draws are expected, stands in the subtitle with its p value.
//
// Errors: fault.Usage for options; fault.Data for impossible probabilities,
// negative counts and lists of different lengths. NaN probabilities are left out
// and counted, with their draws. Without draws the picture says so.
func Calibration(d CalibrationData, o Options) (fig *Figure, err error) {
	defer guard(calibrationName, &err)
	c, err := newCalibration(d)
	if err != nil {
		return nil, err
	}
	s := sheet{name: calibrationName, width: calibrationWidth, title: c.finding(), subtitle: c.subtitle(),
		x: "probability (log scale)", y: "share of the draws (log scale)", emptyWhy: c.emptyWhy,
		body: c.draw, notes: c.notes, describe: c.describe, table: c.table,
		text: []string{"token", "token_hex"}, vega: c.vega, sketch: c.sketch}
	return s.draw(o)
}

func newCalibration(d CalibrationData) (*calibration, error) {
	if len(d.Counts) != len(d.Probs) || len(d.Tokens) != len(d.Probs) && len(d.Tokens) > 0 {
		return nil, badNumber(calibrationName, "counts", "%d counts and %d tokens for %d probabilities", len(d.Counts), len(d.Tokens), len(d.Probs))
	}
	d.Probs, d.Counts, d.Tokens = slices.Clone(d.Probs), slices.Clone(d.Counts), slices.Clone(d.Tokens)
	c := &calibration{data: d, p: math.NaN()}
	if len(d.Probs) == 0 {
		c.emptyWhy = "no tokens"
		return c, nil
	}
	var err error
	if c.undefined, err = checkMass(calibrationName, "probabilities", d.Probs, 0); err != nil {
		return nil, err
	}
	var order []int
	for i, n := range d.Counts {
		switch p := d.Probs[i]; {
		case n < 0:
			return nil, badNumber(calibrationName, "counts", "count %d is %d", i, n)
		case !defined(p):
			continue
		case p == 0:
			c.impossible += n
		default:
			order = append(order, i)
		}
		c.draws += n
	}
	switch {
	case c.draws == 0:
		c.emptyWhy = "no draws"
	case len(order) == 0:
		c.emptyWhy = "no token with a probability"
	}
	if c.emptyWhy != "" {
		return c, nil
	}
	slices.SortStableFunc(order, func(a, b int) int { return compareFloats(d.Probs[a], d.Probs[b]) })
	c.group(order)
	c.test()
	return c, nil
}

// group makes the points of tokens by rising probability.
func (c *calibration) group(order []int) {
	singles := len(order)
	for singles > 0 && len(order)-singles < mostSingles && float64(c.draws)*c.data.Probs[order[singles-1]] >= leastExpected {
		singles--
	}
	half := func(p float64) float64 { return math.Floor(2 * math.Log10(p)) }
	for k, i := range order {
		p := c.data.Probs[i]
		alone := k >= singles
		if last := len(c.points) - 1; alone || last < 0 || half(p) != half(c.points[last].mass/float64(c.points[last].tokens)) {
			c.points = append(c.points, calibrated{alone: alone})
		}
		pt := &c.points[len(c.points)-1]
		pt.tokens, pt.mass, pt.hits = pt.tokens+1, pt.mass+p, pt.hits+c.data.Counts[i]
		if alone && len(c.data.Tokens) > 0 {
			pt.token = c.data.Tokens[i]
		}
		if c.data.Counts[i] > 0 {
			c.drawnKinds++
		}
	}
	for i := range c.points {
		pt := &c.points[i]
		pt.mass = min(pt.mass, 1)
		each := float64(pt.tokens) // an average token of the group
		pt.x, pt.y = pt.mass/each, float64(pt.hits)/float64(c.draws)/each
		pt.lo, pt.hi = binomialQuantile(0.025, c.draws, pt.mass), binomialQuantile(0.975, c.draws, pt.mass)
		if pt.outlying = pt.hits < pt.lo || pt.hits > pt.hi; pt.outlying {
			c.outside++
		}
	}
}

// binomialQuantile returns the smallest k with P(X <= k) >= q.
func binomialQuantile(q float64, n int, p float64) int {
	if p >= 1 {
		return n
	}
	b := distuv.Binomial{N: float64(n), P: p}
	lo, hi := 0, n
	for lo < hi {
		mid := lo + (hi-lo)/2
		if b.CDF(float64(mid)) >= q {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// test is Pearson's chi-squared over cells of at least 5 expected draws; what is
// left of the rare tokens joins the last cell of them.
func (c *calibration) test() {
	type bin struct{ expected, hits float64 }
	var cells []bin
	open := bin{}
	for _, pt := range c.points {
		open.expected += float64(c.draws) * pt.mass
		open.hits += float64(pt.hits)
		if open.expected >= leastExpected {
			cells = append(cells, open)
			open = bin{}
		}
	}
	if open.expected > 0 && len(cells) > 0 {
		last := &cells[len(cells)-1]
		last.expected, last.hits = last.expected+open.expected, last.hits+open.hits
	}
	c.df = len(cells) - 1
	if c.df < 1 {
		return
	}
	for _, b := range cells {
		c.chi2 += (b.hits - b.expected) * (b.hits - b.expected) / b.expected
	}
	if c.impossible > 0 {
		c.chi2 = math.Inf(1)
	}
	c.p = distuv.ChiSquared{K: float64(c.df)}.Survival(c.chi2)
	if c.impossible > 0 {
		c.p = 0
	}
}

func (c *calibration) finding() string {
	switch {
	case c.emptyWhy != "":
		return "Draws against probabilities"
	case c.impossible > 0:
		return "Tokens of probability 0 were drawn"
	case !defined(c.p):
		return "Too few draws to test them"
	case c.p < fitLevel:
		return "The draws do not fit the distribution"
	}
	return "The draws fit the distribution"
}

func (c *calibration) subtitle() string {
	if c.emptyWhy != "" {
		return ""
	}
	text := plural(c.draws, "draw")
	if c.data.Prompt != "" {
		text += " after " + quoted(c.data.Prompt, 40)
	}
	if defined(c.p) {
		text += fmt.Sprintf("; χ² = %s, %s, p = %s", canvas.Significant(c.chi2, 3), plural(c.df, "degree")+" of freedom", canvas.Digits(c.p, 2))
	}
	return text + "; band: 95 % of binomial draws."
}

func (c *calibration) notes() []string {
	if c.emptyWhy != "" {
		return nil
	}
	notes := []string{fmt.Sprintf("%s of %s outside the band, where 1 in 20 is expected.", canvas.Count(c.outside), plural(len(c.points), "point")+" "+verb(len(c.points), "lies", "lie"))}
	groups, rare := 0, 0
	for _, pt := range c.points {
		if !pt.alone {
			groups, rare = groups+1, rare+pt.tokens
		}
	}
	if groups > 0 {
		notes = append(notes, fmt.Sprintf("Squares: %s of fewer than 5 expected draws, averaged in %s.", plural(rare, "token"), plural(groups, "group")))
	}
	if c.impossible > 0 {
		notes = append(notes, fmt.Sprintf("%s of tokens with probability 0: impossible draws.", plural(c.impossible, "draw")))
	}
	if n := undefinedNote(c.undefined, len(c.data.Probs), "Distribution"); n != "" {
		notes = append(notes, n)
	}
	return notes
}

func (c *calibration) describe() string {
	var b strings.Builder
	b.WriteString("Share of the draws over the probability of tokens")
	if c.emptyWhy != "" {
		return b.String() + ": no data (" + c.emptyWhy + ")."
	}
	fmt.Fprintf(&b, ", with the diagonal of equal values. %s. %s ", c.finding(), c.subtitle())
	for i := len(c.points) - 1; i >= max(0, len(c.points)-8); i-- {
		pt := c.points[i]
		what := plural(pt.tokens, "token")
		if pt.alone && pt.token != "" {
			what = shortened(canvas.Visible(pt.token), nameLimit)
		}
		fmt.Fprintf(&b, "%s: probability %s, share %s. ", what, canvas.Fraction(pt.x), canvas.Fraction(pt.y))
	}
	b.WriteString(strings.Join(c.notes(), " "))
	return strings.TrimSpace(b.String())
}

func (c *calibration) table() Table {
	out := Table{Header: []string{"token", "token_hex", "tokens", "prob", "share", "draws", "draws_lo", "draws_hi"}}
	for _, pt := range c.points {
		visible, bytes := "", ""
		if pt.alone {
			visible, bytes = tokenCells(pt.token)
		}
		out.Rows = append(out.Rows, []string{visible, bytes, fmt.Sprint(pt.tokens), number(pt.x), number(pt.y), fmt.Sprint(pt.hits), fmt.Sprint(pt.lo), fmt.Sprint(pt.hi)})
	}
	return out
}

func (c *calibration) draw(p *canvas.Page) {
	const side = vg.Length(210)
	each := func(pt calibrated, hits int) float64 { return float64(hits) / float64(c.draws) / float64(pt.tokens) }
	zeros := false
	coords := func(yield func(float64)) {
		for _, pt := range c.points {
			for _, v := range []float64{pt.x, pt.y, each(pt, pt.lo), each(pt, pt.hi)} {
				zeros = zeros || v == 0
				yield(math.Log10(v))
			}
		}
	}
	coords(func(float64) {})
	x := newScale(Quantity{Name: "probability", Log: true}, coords, 0.03, false, false)
	y := newScale(Quantity{Name: "share", Title: "share of the draws", Log: true}, coords, 0.03, zeros, false)
	g := canvas.Grid{Titles: []string{""}, Height: side, X: x.ticked(float64(side), 36), Y: y.ticked(float64(side), 30)}
	panel := p.Grid(g)[0]
	at := func(v float64) float64 {
		if v == 0 {
			return y.floor
		}
		return math.Log10(v)
	}
	th := p.Theme()
	var band []mark.Span
	var singles, groups, out []mark.XY
	for i, pt := range c.points {
		if i > 0 && pt.alone != c.points[i-1].alone { // of tokens by themselves the band is another one
			band = append(band, mark.Span{At: unknown(), Lo: unknown(), Hi: unknown()})
		}
		band = append(band, mark.Span{At: math.Log10(pt.x), Lo: at(each(pt, pt.lo)), Hi: at(each(pt, pt.hi))})
		place := mark.XY{X: math.Log10(pt.x), Y: at(pt.y)}
		switch {
		case pt.outlying:
			out = append(out, place)
		case pt.alone:
			singles = append(singles, place)
		default:
			groups = append(groups, place)
		}
	}
	panel.Draw(mark.Band{Page: p, Spans: band, Fill: canvas.Blend(th.Series[0], th.Background, 0.2)},
		mark.Curve{Page: p, Points: []mark.XY{{X: max(x.Min, y.Min), Y: max(x.Min, y.Min)}, {X: min(x.Max, y.Max), Y: min(x.Max, y.Max)}}, Colour: th.Muted, Width: canvas.RefLine, Dash: []vg.Length{5, 2}},
		mark.Markers{Page: p, Points: groups, Symbol: canvas.Square, Radius: 2.4, Colour: th.Series[0]},
		mark.Markers{Page: p, Points: singles, Radius: 2.2, Colour: th.Series[0]},
		mark.Markers{Page: p, Points: out, Symbol: canvas.Diamond, Radius: 2.6, Colour: th.Series[1]})
}
