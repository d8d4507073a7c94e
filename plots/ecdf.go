package plots

import (
	"fmt"
	"math"

	"lab/core/fault"
	"lab/plots/canvas"
)

// The question: what share of a sample is at most a value, and does one sample
// lie below another?

const ecdfName = "ecdf"

// Ecdf draws the empirical distribution function of each sample: the share of
// its values that are at most x, in steps. With Level there is a band that holds
// the true function at all places at once with that confidence, for independent
// values: ± √(ln(2/(1−level))/(2n)) (Dvoretzky, Kiefer and Wolfowitz 1956, with
// Massart's constant, The Annals of Probability 1990).
//
// Many samples, panels and logarithmic axes are as in [Line]. Errors: fault.Usage
// for Level, rules, a highlight without a sample, too many samples, and options;
// fault.Data for a negative value on a logarithmic axis and a sample given twice.
func Ecdf(d SampleData, o Options) (fig *Figure, err error) {
	defer guard(ecdfName, &err)
	if !(d.Level >= 0 && d.Level < 1) {
		return nil, fault.New(fault.Usage, "figure "+ecdfName, "level", "%v is outside (0, 1)", d.Level).Fix("use 0.95, or 0 for no band")
	}
	s, err := newSamples(ecdfName, d)
	if err != nil {
		return nil, err
	}
	share := "share of values at most this"
	xy := XYData{X: d.Value, Y: Quantity{Name: "cumulative_share", Title: share}, By: d.By, Ordered: d.Ordered, Facet: d.Facet,
		Highlight: d.Highlight, Rules: d.Rules}
	if d.Level > 0 {
		xy.Interval = fmt.Sprintf("%s confidence for all places at once", canvas.Percent(d.Level))
	}
	for i, values := range s.sorted {
		xy.Series = append(xy.Series, s.steps(i, values))
	}
	m, err := newXY(ecdfName, true, xy)
	if err != nil {
		return nil, err
	}
	m.ecdf = s
	m.emptyWhy = s.emptyWhy
	m.y.Min, m.y.Max = 0, 1.03
	return m.draw(o)
}

// steps returns the different values of a sample with the share up to each.
func (m *samples) steps(i int, sorted []float64) Series {
	out := Series{Name: m.data.Samples[i].Name, Panel: m.data.Samples[i].Panel}
	n := float64(len(sorted))
	half := math.Sqrt(math.Log(2/(1-m.data.Level)) / (2 * n))
	for k, v := range sorted {
		if k+1 < len(sorted) && sorted[k+1] == v {
			continue
		}
		share := float64(k+1) / n
		out.X, out.Y = append(out.X, v), append(out.Y, share)
		if m.data.Level > 0 {
			out.Lo, out.Hi = append(out.Lo, max(share-half, 0)), append(out.Hi, min(share+half, 1))
		}
	}
	return out
}
