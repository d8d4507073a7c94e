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
// without replacement Arvesen 1969, "Jackknifing U-statistics"). Groups are prompts,
// or, where there is one, the attempts at it, at most 100 groups. With FixedPrompts
// they are the attempts within each prompt: variances and degrees of freedom of the
// prompts add up (the stratified jackknife: Jones 1974, "Jackknife estimation of
// functions of stratum means").
func (o *Options) jackknife(prompts []Prompt, x statistic) measure.Estimate {
	attempts := len(prompts) == 1 || o.FixedPrompts
	size := len(prompts)
	if attempts {
		size = 0
		for i := range prompts {
			size += len(prompts[i].Attempts)
		}
	}
	parts := x.parts(prompts)
	e := o.estimate(parts.value(), size, "")
	if !finite(e.Value) {
		e.Note = "it is not defined for these attempts"
		return e
	}
	var all strata
	if attempts {
		for i := range prompts {
			groups := min(len(prompts[i].Attempts), jackknifeGroups)
			kept := parts.terms[i]
			all.add(groups, func(g int) float64 {
				parts.terms[i] = x.term(withoutAttempts(&prompts[i], g, groups))
				return parts.value()
			})
			parts.terms[i] = kept
		}
	} else {
		all.add(len(prompts), func(g int) float64 { return parts.without(g) })
	}
	switch {
	case all.single:
		e.Note = "one attempt: nothing tells how far others would lie from it"
	case math.IsNaN(all.variance):
		e.Note = "without some of the attempts it is not defined: nothing tells how far others would lie from it"
	case !all.varies:
		e.Note = noteAlike
	default:
		half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(all.freedom)}.Quantile((1+o.Level)/2) * math.Sqrt(all.variance)
		e.Lo, e.Hi = e.Value-half, e.Value+half
	}
	return e
}

// statistic is a ratio of means over prompts, or a mean where there is no below.
type statistic struct {
	above, below func(*Prompt) float64
}

// mean is the statistic of a number of each prompt.
func mean(of func(*Prompt) float64) statistic { return statistic{above: of} }

func (x statistic) term(p *Prompt) [2]float64 {
	if x.below == nil {
		return [2]float64{x.above(p), 1}
	}
	return [2]float64{x.above(p), x.below(p)}
}

// parts returns the terms of all prompts.
func (x statistic) parts(prompts []Prompt) parts {
	var out parts
	for i := range prompts {
		out.terms = append(out.terms, x.term(&prompts[i]))
	}
	return out
}

// parts are the terms of a statistic, by prompt.
type parts struct{ terms [][2]float64 }

func (p parts) value() float64 { return p.without(-1) }

// without returns the statistic without a prompt.
func (p parts) without(at int) float64 {
	var above, below float64
	for i, t := range p.terms {
		if i != at {
			above, below = above+t[0], below+t[1]
		}
	}
	return above / below
}

// strata sums the jackknife's variances.
type strata struct {
	variance       float64
	freedom        int
	single, varies bool
}

// add adds those of the values without each of the groups.
func (s *strata) add(groups int, without func(g int) float64) {
	if groups < 2 {
		s.single = true
		return
	}
	values := make([]float64, groups)
	mean := 0.0
	for g := range values {
		values[g] = without(g)
		mean += values[g] / float64(groups)
		s.varies = s.varies || values[g] != values[0]
	}
	for _, v := range values {
		s.variance += float64(groups-1) / float64(groups) * (v - mean) * (v - mean)
	}
	s.freedom += groups - 1
}

// withoutAttempts returns a prompt without every groups-th attempt.
func withoutAttempts(p *Prompt, group, groups int) *Prompt {
	rest := make([]Attempt, 0, len(p.Attempts))
	for i := range p.Attempts {
		if i%groups != group {
			rest = append(rest, p.Attempts[i])
		}
	}
	return &Prompt{Text: p.Text, Attempts: rest}
}

// within intersects the interval with what the quantity can be.
func within(e measure.Estimate, least, most float64) measure.Estimate {
	if !math.IsNaN(e.Lo) {
		e.Lo, e.Hi = max(e.Lo, least), min(e.Hi, most)
	}
	return e
}

// rate returns the chance that one of n attempts is useful. Where attempts are what
// varies, at one prompt or at fixed ones, and all or none are useful, or there is one
// prompt, its interval is Wilson's for one attempt, raised to n; otherwise it is the
// jackknife's, within [0, 1].
func (o *Options) rate(prompts []Prompt, n int) (measure.Estimate, error) {
	raise := func(p float64) float64 { _, solved := retries(p, n); return solved }
	return o.chance(prompts, func(x outcome) float64 { return x.solved }, n, raise, 0, 1)
}

// tries returns the expected attempts up to n, with an interval made like that of
// [Options.rate].
func (o *Options) tries(prompts []Prompt, n int) (measure.Estimate, error) {
	many := func(p float64) float64 { tries, _ := retries(p, n); return tries }
	return o.chance(prompts, func(x outcome) float64 { return x.tries }, n, many, 1, float64(n))
}

// chance is what becomes of n tries: at is its value for a rate of success.
func (o *Options) chance(prompts []Prompt, of func(outcome) float64, n int, at func(p float64) float64, least, most float64) (measure.Estimate, error) {
	value := mean(func(p *Prompt) float64 { return of(o.outcome(p, n)) })
	var hits []bool
	useful := 0
	for i := range prompts {
		for j := range prompts[i].Attempts {
			hits = append(hits, o.useful(prompts[i].Attempts[j].Value))
			if hits[len(hits)-1] {
				useful++
			}
		}
	}
	if len(prompts) > 1 && !(o.FixedPrompts && (useful == 0 || useful == len(hits))) {
		return within(o.jackknife(prompts, value), least, most), nil
	}
	e, err := measure.Proportion(hits, measure.Interval{Level: o.Level})
	if err != nil {
		return e, err
	}
	a, b := at(e.Lo), at(e.Hi)
	e.Value, e.Lo, e.Hi = value.parts(prompts).value(), min(a, b), max(a, b)
	return e, nil
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
