package plots

import (
	"fmt"
	"math"

	"lab/plots/canvas"
)

// The question: is the work bound by memory or by arithmetic, and how near is it
// to the bound?

const costRooflineName = "cost_roofline"

// CostRooflineData is the roofs of devices and the work under them (Williams et
// al. 2009). Slices are not kept.
type CostRooflineData struct {
	Roofs  []CostRoof
	Points []CostRoofPoint
	CostBasis
}

// CostRoof is a device.
type CostRoof struct {
	Name      string
	Peak      float64 // FLOP/s, dense
	Bandwidth float64 // bytes/s
}

// CostRoofPoint is a kind of work at its arithmetic intensity.
type CostRoofPoint struct {
	Name      string
	Intensity float64 // FLOP/byte
	Rate      float64 // FLOP/s reached; 0 or NaN: not measured, drawn hollow on its roof
	Roof      int     // number of the roof it runs below
}

const (
	mostRoofs      = 12
	mostRoofPoints = 60
	// aboveRoof is how far a point may lie above its roof by rounding of the
	// datasheet's numbers.
	aboveRoof = 1.01
)

// ridge is the intensity where a roof turns flat.
func (r CostRoof) ridge() float64 { return r.Peak / r.Bandwidth }

// at is the height of the roof.
func (r CostRoof) at(intensity float64) float64 { return math.Min(r.Peak, r.Bandwidth*intensity) }

// CostRoofline draws roofs as lines with their ridge, work that was measured as
// filled points and work that was only computed as hollow points on its roof.
// Ridges are computed here, as peak over bandwidth.
//
// Errors: fault.Usage for more than 12 roofs or 60 points and options; fault.Data
// for peaks, bandwidths and intensities that are not above zero, names given
// twice, and a rate above its roof, which no measurement has: the peak is then
// not the one of this arithmetic.
func CostRoofline(d CostRooflineData, o Options) (fig *Figure, err error) {
	defer guard(costRooflineName, &err)
	if err := d.check(); err != nil {
		return nil, err
	}
	pl := &plane{x: Quantity{Name: "intensity", Title: "arithmetic intensity", Unit: "FLOP/byte", Log: true},
		y: Quantity{Name: "rate", Title: "rate", Unit: "FLOP/s", Log: true}}
	c := &chart{figure: costRooflineName, planes: []*plane{pl}, alone: true, basis: d.CostBasis, begin: "Roofs of devices and the work below them", title: d.finding()}
	lo, hi := d.extent()
	for i, r := range d.Roofs {
		x := []float64{lo, r.ridge(), hi}
		l := lookOf(i, len(d.Roofs), false)
		pl.curves = append(pl.curves, curve{name: r.Name, kind: "roof", derived: true, look: l, X: x, Y: mapAt(x, r.at)})
		pl.dots = append(pl.dots, dots{name: r.Name, kind: "ridge", derived: true, look: look{hue: hueMuted, symbol: canvas.Nabla}, X: x[1:2], Y: []float64{r.Peak},
			Labels: []string{"ridge " + canvas.Significant(r.ridge(), 3)}})
		c.says = append(c.says, fmt.Sprintf("%s: ridge at %s FLOP/byte.", shortened(r.Name, nameLimit), canvas.Significant(r.ridge(), 3)))
	}
	computed, measured := 0, 0
	for i := range d.Roofs {
		var only dots
		l := lookOf(i, len(d.Roofs), false)
		l.symbol = canvas.Disc
		only = dots{name: d.Roofs[i].Name, kind: "work", look: l}
		for _, p := range d.Points {
			if p.Roof != i || !defined(p.Intensity) {
				continue
			}
			rate, hollow := p.Rate, !defined(p.Rate) || p.Rate == 0
			if hollow {
				rate = d.Roofs[i].at(p.Intensity)
				computed++
			} else {
				measured++
				c.says = append(c.says, fmt.Sprintf("%s reaches %s of its roof.", shortened(p.Name, nameLimit), canvas.Percent(min(rate/d.Roofs[i].at(p.Intensity), 1))))
			}
			only.X, only.Y = append(only.X, p.Intensity), append(only.Y, rate)
			only.Labels, only.Hollow = append(only.Labels, p.Name), append(only.Hollow, hollow)
		}
		if len(only.X) > 0 {
			pl.dots = append(pl.dots, only)
		}
	}
	if measured > 0 {
		c.keys = append(c.keys, measuredKey())
	}
	if computed > 0 {
		c.keys = append(c.keys, dotKey(look{hue: hueInk}, true, "computed, on its roof"))
	}
	for _, p := range d.Points {
		if !defined(p.Intensity) {
			c.undefined++
			c.total++
		}
	}
	c.subtitle = fmt.Sprintf("%s below %s; left of a ridge memory is the bound, right of it arithmetic.", plural(measured+computed, "kind")+" of work", plural(len(d.Roofs), "roof"))
	c.says = append([]string{c.title + "."}, c.says...)
	if len(d.Roofs) == 0 {
		c.emptyWhy = "no roofs"
	}
	return c.draw(o)
}

func mapAt(x []float64, f func(float64) float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = f(v)
	}
	return out
}

func (d CostRooflineData) check() error {
	if err := checkCount(costRooflineName, "roofs", len(d.Roofs), mostRoofs); err != nil {
		return err
	}
	if err := checkCount(costRooflineName, "points", len(d.Points), mostRoofPoints); err != nil {
		return err
	}
	var names []string
	for i, r := range d.Roofs {
		where := fmt.Sprintf("roof %d (%s)", i+1, fault40(r.Name))
		names = append(names, r.Name)
		if !(r.Peak > 0) || !(r.Bandwidth > 0) || math.IsInf(r.Peak, 0) || math.IsInf(r.Bandwidth, 0) {
			return badNumber(costRooflineName, where, "a peak of %v FLOP/s and a bandwidth of %v bytes/s are no device", r.Peak, r.Bandwidth)
		}
	}
	for i, p := range d.Points {
		where := fmt.Sprintf("point %d (%s)", i+1, fault40(p.Name))
		switch {
		case p.Roof < 0 || p.Roof >= len(d.Roofs):
			return badNumber(costRooflineName, where, "roof %d does not exist, there are %d", p.Roof, len(d.Roofs))
		case p.Intensity <= 0 && defined(p.Intensity) || p.Rate < 0:
			return badNumber(costRooflineName, where, "an intensity of %v or a rate of %v is not above zero", p.Intensity, p.Rate)
		case defined(p.Intensity) && defined(p.Rate) && p.Rate > aboveRoof*d.Roofs[p.Roof].at(p.Intensity):
			return badNumber(costRooflineName, where, "%.4g FLOP/s is above its roof of %.4g", p.Rate, d.Roofs[p.Roof].at(p.Intensity)).
				Fix("check the bytes counted, and that the peak is the dense one of this arithmetic")
		}
	}
	return checkNames(costRooflineName, "roof", names)
}

// extent returns the intensities between which roofs are drawn: all work and all
// ridges, with half a decade around.
func (d CostRooflineData) extent() (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, r := range d.Roofs {
		lo, hi = min(lo, r.ridge()/30), max(hi, r.ridge()*10)
	}
	for _, p := range d.Points {
		if defined(p.Intensity) {
			lo, hi = min(lo, p.Intensity/3), max(hi, p.Intensity*3)
		}
	}
	return lo, hi
}

// finding counts the work bound by memory.
func (d CostRooflineData) finding() string {
	bound, total, name := 0, 0, ""
	for _, p := range d.Points {
		if defined(p.Intensity) {
			total++
			name = shortened(p.Name, nameLimit)
			if p.Intensity < d.Roofs[p.Roof].ridge() {
				bound++
			}
		}
	}
	switch {
	case total == 0:
		return "Roofs of devices"
	case total == 1 && bound == 1:
		return name + " is bound by memory"
	case total == 1:
		return name + " is bound by arithmetic"
	case bound == total:
		return fmt.Sprintf("All %d kinds of work are bound by memory", total)
	case bound == 0:
		return fmt.Sprintf("All %d kinds of work are bound by arithmetic", total)
	}
	return fmt.Sprintf("%d of %d kinds of work %s bound by memory, the rest by arithmetic", bound, total, verb(bound, "is", "are"))
}
