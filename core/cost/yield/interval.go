package yield

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"lab/core/measure"
)

// noteAlike says that there is no interval because nothing varies.
const noteAlike = "all attempts are alike: nothing tells how far others would lie from them"

const (
	defaultLevel    = 0.95
	jackknifeGroups = 100 // more attempts are left out in so many groups
)

// estimate is an amount without an interval, and why.
func (o *Options) estimate(v float64, n int, note string) measure.Estimate {
	return measure.Estimate{Value: v, Lo: math.NaN(), Hi: math.NaN(), N: n, Level: o.Level, Method: measure.MethodJackknife, Note: note}
}

// jackknife returns a statistic of prompts with the interval of the delete-a-group
// jackknife: variance (g−1)/g times the squared deviations of the g values without one
// group, and t on g − 1 degrees of freedom (Tukey 1958; for statistics of draws
// without replacement Arvesen 1969, "Jackknifing U-statistics"). Groups are
// prompts, or where there is one the attempts at it, at most 100 groups.
func (o *Options) jackknife(prompts []Prompt, statistic func([]Prompt) float64) measure.Estimate {
	size := len(prompts)
	if size == 1 {
		size = len(prompts[0].Attempts)
	}
	e := o.estimate(statistic(prompts), size, "")
	if !finite(e.Value) {
		e.Note = "it is not defined for these attempts"
		return e
	}
	groups := size
	if len(prompts) == 1 {
		groups = min(size, jackknifeGroups)
	}
	if groups < 2 {
		e.Note = "one attempt: nothing tells how far others would lie from it"
		return e
	}
	without := make([]float64, groups)
	same, mean := true, 0.0
	for g := range without {
		without[g] = statistic(leaveOut(prompts, g, groups))
		if math.IsNaN(without[g]) {
			e.Note = "without some of the attempts it is not defined: nothing tells how far others would lie from it"
			return e
		}
		same = same && without[g] == without[0]
		mean += without[g] / float64(groups)
	}
	if same {
		e.Note = noteAlike
		return e
	}
	squares := 0.0
	for _, w := range without {
		squares += (w - mean) * (w - mean)
	}
	m := float64(groups)
	half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: m - 1}.Quantile((1+o.Level)/2) * math.Sqrt((m-1)/m*squares)
	e.Lo, e.Hi = e.Value-half, e.Value+half
	return e
}

// leaveOut returns the prompts without a group.
func leaveOut(prompts []Prompt, group, groups int) []Prompt {
	if len(prompts) > 1 {
		rest := make([]Prompt, 0, len(prompts)-1)
		rest = append(rest, prompts[:group]...)
		return append(rest, prompts[group+1:]...)
	}
	p := prompts[0]
	rest := make([]Attempt, 0, len(p.Attempts))
	for i := range p.Attempts {
		if i%groups != group {
			rest = append(rest, p.Attempts[i])
		}
	}
	return []Prompt{{Text: p.Text, Attempts: rest}}
}

// within intersects the interval with what the quantity can be.
func within(e measure.Estimate, least, most float64) measure.Estimate {
	if !math.IsNaN(e.Lo) {
		e.Lo, e.Hi = max(e.Lo, least), min(e.Hi, most)
	}
	return e
}

// rate returns the chance that one of n attempts is useful. At one prompt its
// interval is Wilson's for one attempt, raised to n; over several it is the
// jackknife of prompts.
func (o *Options) rate(prompts []Prompt, n int) (measure.Estimate, error) {
	value := func(list []Prompt) float64 {
		return meanOver(list, func(p *Prompt) float64 { return o.outcome(p, n).solved })
	}
	if len(prompts) > 1 {
		return within(o.jackknife(prompts, value), 0, 1), nil
	}
	e, err := o.single(&prompts[0])
	if err != nil {
		return e, err
	}
	_, e.Lo = retries(e.Lo, n)
	_, e.Hi = retries(e.Hi, n)
	e.Value = value(prompts)
	return e, nil
}

// tries returns the expected attempts up to n, with an interval made like that of
// [Options.rate].
func (o *Options) tries(prompts []Prompt, n int) (measure.Estimate, error) {
	value := func(list []Prompt) float64 {
		return meanOver(list, func(p *Prompt) float64 { return o.outcome(p, n).tries })
	}
	if len(prompts) > 1 {
		return within(o.jackknife(prompts, value), 1, float64(n)), nil
	}
	e, err := o.single(&prompts[0])
	if err != nil {
		return e, err
	}
	lo, hi := e.Lo, e.Hi
	e.Lo, _ = retries(hi, n)
	e.Hi, _ = retries(lo, n)
	e.Value = value(prompts)
	return e, nil
}

// single is the share of useful attempts at one prompt.
func (o *Options) single(p *Prompt) (measure.Estimate, error) {
	hits := make([]bool, len(p.Attempts))
	for i := range hits {
		hits[i] = o.useful(p.Attempts[i].Value)
	}
	return measure.Proportion(hits, measure.Interval{Level: o.Level})
}

func meanOver(prompts []Prompt, f func(*Prompt) float64) float64 {
	sum := 0.0
	for i := range prompts {
		sum += f(&prompts[i])
	}
	return sum / float64(len(prompts))
}

// over returns the ratio of two quantities of which the first is positive: the
// interval is that of the difference of their logarithms by the method of variance estimates
// recovery, which keeps the skew of both (Zou and Donner 2008, "Construction of
// confidence limits about effect measures"). They are taken as independent. A
// denominator of 0 gives +Inf, and the least that its interval allows.
func over(a, b measure.Estimate) measure.Estimate {
	e := a
	e.Value, e.Method = a.Value/b.Value, "mover"
	lo, hi := a.Lo, a.Hi
	if a.Note == noteAlike { // what never varies is known
		lo, hi, e.Note = a.Value, a.Value, ""
	}
	if b.Value == 0 {
		e.Value, e.Lo, e.Hi = math.Inf(1), lo/b.Hi, math.Inf(1)
		return e
	}
	if b.Note != "" && e.Note == "" {
		e.Note = b.Note
	}
	down := math.Hypot(math.Log(a.Value/max(lo, 0)), math.Log(b.Hi/b.Value))
	up := math.Hypot(math.Log(hi/a.Value), math.Log(b.Value/max(b.Lo, 0)))
	e.Lo, e.Hi = e.Value*math.Exp(-down), e.Value*math.Exp(up)
	return e
}
