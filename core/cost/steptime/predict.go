package steptime

import (
	"fmt"
	"slices"

	"lab/core/fault"
)

// Prediction is what a fit says of a call.
type Prediction struct {
	Point          // what the call does, and its seconds
	Lo     float64 // the interval at Fitted.Level: of the fit, not of one measurement
	Hi     float64
	Beyond string // what was measured, when the call is outside of it: an extrapolation, to be shown apart
}

// Predict returns the seconds of a call at a context and a batch. What it does is
// interpolated between the counts of the measured points: those of a decode step
// linearly, of a prefill linearly by token. That is exact for dense models but for
// the scores of a prompt's last token. Outside of the measured contexts
// or batches the lines go on, and Beyond says so. A prefill has no batch but 1.
func (f *Fitted) Predict(context, batch int) (Prediction, error) {
	if context < 0 || batch < 1 {
		return Prediction{}, fault.New(fault.Usage, op, "", "there is no call at a context of %d and a batch of %d", context, batch)
	}
	p := Prediction{Point: f.work(context, batch)}
	p.Seconds = f.at(&p.Point)
	var all []float64
	for _, x := range f.draws {
		all = append(all, predict(f.columns, x, &p.Point))
	}
	p.Lo, p.Hi = interval(all, f.Level)
	contexts, batches := f.measured()
	if context < contexts[0] || context > contexts[len(contexts)-1] || batch < batches[0] || batch > batches[len(batches)-1] {
		p.Beyond = fmt.Sprintf("contexts %d to %d, batches %d to %d were measured", contexts[0], contexts[len(contexts)-1], batches[0], batches[len(batches)-1])
	}
	return p, nil
}

func (f *Fitted) at(p *Point) float64 {
	x := make([]float64, len(f.Terms))
	for i := range f.Terms {
		x[i] = f.Terms[i].SecondsPer
	}
	return predict(f.columns, x, p)
}

// measured returns the contexts and batches of the points, ascending.
func (f *Fitted) measured() (contexts, batches []int) {
	for _, r := range f.Residuals {
		contexts, batches = append(contexts, r.Context), append(batches, r.Batch)
	}
	slices.Sort(contexts)
	slices.Sort(batches)
	return slices.Compact(contexts), slices.Compact(batches)
}

// work interpolates what a call does.
func (f *Fitted) work(context, batch int) Point {
	contexts, batches := f.measured()
	at := func(value func(*Point) float64, of func(*Point) int, x int, list []int) float64 {
		known := func(x int) float64 { // the mean, of equal numbers mostly
			sum, n := 0.0, 0.0
			for i := range f.Residuals {
				if p := &f.Residuals[i].Point; of(p) == x {
					sum, n = sum+value(p), n+1
				}
			}
			return sum / n
		}
		if len(list) == 1 { // nothing to draw a line through but the origin
			if list[0] == 0 {
				return known(0)
			}
			return known(list[0]) * float64(x) / float64(list[0])
		}
		i, _ := slices.BinarySearch(list, x)
		i = min(max(i, 1), len(list)-1)
		a, b := list[i-1], list[i]
		return known(a) + (known(b)-known(a))*float64(x-a)/float64(b-a)
	}
	byBatch := func(p *Point) int { return p.Batch }
	byContext := func(p *Point) int { return p.Context }
	p := Point{Context: context, Batch: batch}
	if f.prefill { // tokens of a prompt attend to those before them: by token, counts are lines
		perToken := func(value func(*Point) float64) float64 {
			return max(0, float64(context)*at(func(p *Point) float64 { return value(p) / float64(max(p.Context, 1)) }, byContext, context, contexts))
		}
		p.Linear = perToken(func(p *Point) float64 { return p.Linear })
		p.Cache = perToken(func(p *Point) float64 { return p.Cache })
		return p
	}
	perRow := func(value func(*Point) float64) float64 {
		return max(0, float64(batch)*at(func(p *Point) float64 { return value(p) / float64(p.Batch) }, byContext, context, contexts))
	}
	p.Cache = perRow(func(p *Point) float64 { return p.Cache })
	p.Attention = perRow(func(p *Point) float64 { return p.Attention })
	p.Linear = at(func(p *Point) float64 { return p.Linear }, byBatch, batch, batches)
	if p.Weights = f.Residuals[0].Weights; len(batches) > 1 {
		p.Weights = at(func(p *Point) float64 { return p.Weights }, byBatch, batch, batches)
	}
	return p
}
