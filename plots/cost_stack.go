package plots

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"lab/plots/canvas"
	"lab/plots/mark"
)

// CostBar is one bar of a stack: the same parts as all others, in their order.
type CostBar struct {
	Name   string
	Values []float64 // of each part, at least 0; NaN: not known

	// Total is what was measured or billed for the whole bar, beside the sum of
	// its parts; NaN or 0: not known. Lo and Hi are its interval, both 0: none.
	Total  float64
	Lo, Hi float64
}

// stack is the content of a figure of stacked bars, upright or lying. All bars
// start at zero.
type stack struct {
	figure  string
	value   Quantity
	groups  string // what the bars are: "context", "strategy"
	parts   []string
	bars    []CostBar
	upright bool
	total   string // what Total is: "measured"

	title, subtitle, begin string
	says, notes            []string
	basis                  CostBasis
	emptyWhy               string
	undefined              int
}

const (
	mostStacks = 40
	mostParts  = 12
	lyingPitch = vg.Length(20) // of a lying bar
	lyingThick = 0.72          // of a pitch
)

// newStack checks the bars.
func newStack(s *stack) error {
	if err := checkCount(s.figure, "bars", len(s.bars), mostStacks); err != nil {
		return err
	}
	if err := checkCount(s.figure, "parts", len(s.parts), mostParts); err != nil {
		return err
	}
	if err := checkNames(s.figure, "part", s.parts); err != nil {
		return err
	}
	var names []string
	for i, b := range s.bars {
		where := fmt.Sprintf("bar %d (%s)", i+1, fault40(b.Name))
		names = append(names, b.Name)
		if len(b.Values) != len(s.parts) {
			return badNumber(s.figure, where, "%d values for %d parts", len(b.Values), len(s.parts))
		}
		for k, v := range b.Values {
			switch {
			case !defined(v):
				s.undefined++
			case v < 0:
				return badNumber(s.figure, where, "%s is negative (%v)", fault40(s.parts[k]), v)
			}
		}
		if b.Total < 0 || math.IsInf(b.Total, 0) || b.Lo > b.Hi || math.IsNaN(b.Lo) || math.IsNaN(b.Hi) || math.IsInf(b.Hi, 0) || b.Lo < 0 {
			return badNumber(s.figure, where, "a total of %v with an interval from %v to %v is impossible", b.Total, b.Lo, b.Hi)
		}
	}
	if err := checkNames(s.figure, s.groups, names); err != nil {
		return err
	}
	switch {
	case len(s.bars) == 0:
		s.emptyWhy = "no " + plural2(s.groups)
	case len(s.parts) == 0:
		s.emptyWhy = "no parts"
	case s.undefined == len(s.bars)*len(s.parts):
		s.emptyWhy = "all " + plural(s.undefined, "value") + " undefined"
	}
	return nil
}

func plural2(noun string) string {
	if strings.HasSuffix(noun, "y") {
		return strings.TrimSuffix(noun, "y") + "ies"
	}
	return noun + "s"
}

// sum returns the sum of the parts that are known, and whether all are.
func (b CostBar) sum() (total float64, whole bool) {
	whole = true
	for _, v := range b.Values {
		if defined(v) {
			total += v
		} else {
			whole = false
		}
	}
	return total, whole
}

// highest is the longest bar with its measured total and interval.
func (s *stack) highest() float64 {
	top := 0.0
	for _, b := range s.bars {
		v, _ := b.sum()
		top = max(top, v, share(b.Total), b.Hi)
	}
	return top
}

// largestPart returns the part with the largest value of a bar, −1 without one
// above zero.
func (b CostBar) largestPart() int {
	at := -1
	for k, v := range b.Values {
		if defined(v) && v > 0 && (at < 0 || v > b.Values[at]) {
			at = k
		}
	}
	return at
}

// fillOf returns the fill of part i; from the sixth on parts are hatched too.
func fillOf(th Theme, i int) (fill, hatching color.RGBA) {
	fills := []color.RGBA{th.Series[0], th.Series[1], th.Series[2], th.Amber, th.Series[3], canvas.Blend(th.Muted, th.Background, 0.55)}
	fill = fills[i%len(fills)]
	if i >= len(fills) {
		hatching = canvas.Blend(th.Background, fill, 0.75)
	}
	return fill, hatching
}

func (s *stack) draw(o Options) (*Figure, error) {
	title, subtitle := s.title, s.subtitle
	if s.emptyWhy != "" {
		subtitle = ""
	}
	p, o, err := o.sheet(s.figure, costWidth, title, subtitle)
	if err != nil {
		return nil, err
	}
	if s.emptyWhy != "" {
		x, y := canvas.Axis{Name: s.value.axisName(), Max: 1}, canvas.Axis{Name: s.groups, Max: 1}
		if s.upright {
			x, y = y, x
		}
		drawEmpty(p, x, y, s.emptyWhy)
	} else {
		p.Legend(s.legend())
		if s.upright {
			s.drawUpright(p)
		} else {
			s.drawLying(p)
		}
	}
	o.Footer = source(s.basis, o.Footer)
	return o.finish(p, content{name: s.figure, describe: s.describe(), notes: s.allNotes(), table: s.table, drawn: s.viewTable, text: append([]string{"order"}, s.table().Header[:2]...), vega: s.vega}), nil
}

// legend names the parts in the order of the stack.
func (s *stack) legend() []canvas.Key {
	var keys []canvas.Key
	for i, name := range s.parts {
		if !slices.ContainsFunc(s.bars, func(b CostBar) bool { return b.Values[i] > 0 && defined(b.Values[i]) }) {
			continue // drawn nowhere
		}
		keys = append(keys, canvas.Key{Words: name, Draw: func(p *canvas.Page, r vg.Rectangle) {
			fill, hatching := fillOf(p.Theme(), i)
			p.Fill(r, fill)
			if hatching != (color.RGBA{}) {
				mark.HatchKey(p, r, color.RGBA{}, hatching)
			}
		}})
	}
	for _, b := range s.bars {
		if b.Total > 0 {
			return append(keys, canvas.Key{Words: s.total, Draw: func(p *canvas.Page, r vg.Rectangle) {
				at := middle(r)
				if s.upright {
					p.Line(p.Theme().Ink, canvas.RefLine, nil, vg.Point{X: r.Min.X, Y: at.Y}, vg.Point{X: r.Max.X, Y: at.Y})
				}
				p.Mark(at, canvas.Disc, markerRadius, p.Theme().Ink, false)
			}})
		}
	}
	return keys
}

// blocks returns the parts of all bars as rectangles with their shares in them.
func (s *stack) blocks(p *canvas.Page) []mark.Block {
	var out []mark.Block
	for i, b := range s.bars {
		at, from := s.at(i), 0.0
		total, _ := b.sum()
		for k, v := range b.Values {
			if !defined(v) || v == 0 {
				continue
			}
			fill, hatching := fillOf(p.Theme(), k)
			words := ""
			if total > 0 && v/total >= 0.01 {
				words = canvas.Percent(v / total)
			}
			block := mark.Block{Fill: fill, Hatch: hatching, Words: words, Aside: s.upright && b.Total > 0}
			if s.upright {
				block.X0, block.X1, block.Y0, block.Y1 = at-lyingThick/2, at+lyingThick/2, from, from+v
			} else {
				block.X0, block.X1, block.Y0, block.Y1 = from, from+v, at-lyingThick/2, at+lyingThick/2
			}
			out = append(out, block)
			from += v
		}
	}
	return out
}

// at is where bar i stands: upright from the left, lying from the top.
func (s *stack) at(i int) float64 {
	if s.upright {
		return float64(i)
	}
	return -float64(i)
}

// totals returns the measured totals as points with intervals.
func (s *stack) totals() (points []mark.XY, spans []mark.Span) {
	for i, b := range s.bars {
		pt, sp := mark.XY{X: math.NaN(), Y: math.NaN()}, mark.Span{Lo: math.NaN(), Hi: math.NaN()}
		if b.Total > 0 {
			pt = mark.XY{X: s.at(i), Y: b.Total}
			if !s.upright {
				pt = mark.XY{X: b.Total, Y: s.at(i)}
			}
			if b.Hi > 0 {
				sp = mark.Span{At: s.at(i), Lo: b.Lo, Hi: b.Hi}
			}
		}
		points, spans = append(points, pt), append(spans, sp)
	}
	return points, spans
}
