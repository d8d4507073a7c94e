package yield

import (
	"math"
	"slices"

	"lab/core/cost"
)

// ExpectedBest returns the expectation of the largest of n values that are drawn
// without replacement: Σ v_(i) C(i−1, n−1)/C(N, n) over the ascending values, i from 1.
// It is the unbiased estimate of the best of n from N ≥ n samples (Hoeffding 1948,
// "A class of statistics with asymptotically normal distribution"; so used by Nakano
// et al. 2021, "WebGPT"). n must be in [1, len(values)], and no value NaN; otherwise
// it is NaN.
func ExpectedBest(values []float64, n int) float64 {
	total := len(values)
	if n < 1 || n > total {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	weight := float64(n) / float64(total) // that the largest is among the n
	sum := 0.0
	for i := total - 1; i >= n-1; i-- {
		sum += weight * sorted[i]
		weight *= float64(i-n+1) / float64(max(i, 1)) // C(i−1, n−1)/C(i, n−1)
	}
	return sum
}

// outcome is what trying at one prompt comes to: at most n attempts, drawn without
// replacement.
type outcome struct {
	solved float64 // chance that one of n is useful: pass@n
	tries  float64 // expected attempts when the first useful one ends them
}

// outcomeOf returns that of useful attempts among total. tries = Σ (1 − pass@j) over j from 0
// to n−1: attempt j+1 is made when none of j before was useful. NaN where n > total.
func outcomeOf(total, useful, n int) outcome {
	if n < 1 || n > total {
		return outcome{math.NaN(), math.NaN()}
	}
	tries, none := 0.0, 1.0 // none of the first j was useful: C(N−k, j)/C(N, j)
	for j := range n {
		tries += none
		none *= float64(max(total-useful-j, 0)) / float64(total-j)
	}
	return outcome{solved: 1 - none, tries: tries}
}

// tally is what is summed over the attempts at a prompt.
type tally struct {
	attempts, useful     int
	prompt               float64 // mean of the shared part
	ownUseful, ownOthers float64 // means of the own part
	own                  float64
}

// useful reports whether a value is good enough; an undefined one is not.
func (o *Options) useful(v float64) bool {
	switch {
	case o.AtLeast == nil || math.IsNaN(v):
		return false
	case o.Smaller:
		return v <= *o.AtLeast
	}
	return v >= *o.AtLeast
}

func (o *Options) tally(p *Prompt, u Unit) tally {
	t := tally{attempts: len(p.Attempts)}
	for i := range p.Attempts {
		a := &p.Attempts[i]
		t.prompt += a.Spent[u].Prompt
		if o.useful(a.Value) {
			t.useful++
			t.ownUseful += a.Spent[u].Own
		} else {
			t.ownOthers += a.Spent[u].Own
		}
	}
	t.own = (t.ownUseful + t.ownOthers) / float64(t.attempts)
	t.prompt /= float64(t.attempts)
	t.ownUseful /= float64(max(t.useful, 1))
	t.ownOthers /= float64(max(t.attempts-t.useful, 1))
	return t
}

// all returns what n attempts take on average.
func (o *Options) all(p *Prompt, u Unit, n int) float64 {
	t := o.tally(p, u)
	if o.PromptEach {
		return float64(n) * (t.prompt + t.own)
	}
	return t.prompt + float64(n)*t.own
}

// until returns what attempts take on average when the first useful one ends
// them, at most n: those before it are not useful, so that it counts when useful
// answers are the shorter ones.
func (o *Options) until(p *Prompt, u Unit, n int) float64 {
	t := o.tally(p, u)
	x := outcomeOf(t.attempts, t.useful, n)
	own := t.ownOthers*(x.tries-x.solved) + t.ownUseful*x.solved
	if o.PromptEach {
		return t.prompt*x.tries + own
	}
	return t.prompt + own
}

// outcome returns that of a prompt.
func (o *Options) outcome(p *Prompt, n int) outcome {
	k := 0
	for i := range p.Attempts {
		if o.useful(p.Attempts[i].Value) {
			k++
		}
	}
	return outcomeOf(len(p.Attempts), k, n)
}

// best returns the expected best value of n attempts at a prompt, those without a
// value left out; NaN where fewer than n have one.
func (o *Options) best(p *Prompt, n int) float64 {
	values := make([]float64, 0, len(p.Attempts))
	for i := range p.Attempts {
		v := p.Attempts[i].Value
		if o.Smaller {
			v = -v
		}
		if !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	b := ExpectedBest(values, n)
	if o.Smaller {
		return -b
	}
	return b
}

// retries returns expected tries and chance of success for independent attempts with
// success rate p (F21 of core/cost), by which an interval of p becomes one of them.
func retries(p float64, n int) (tries, solved float64) {
	r, err := cost.EarlyStop(p, int64(n))
	if err != nil {
		return math.NaN(), math.NaN()
	}
	return r.Tries, r.Solved
}
