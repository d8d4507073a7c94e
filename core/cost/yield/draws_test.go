package yield

import (
	"math"
	"strings"
	"testing"

	"lab/core/cost"
)

// near is a comparison in which NaN fails.
func near(got, want, tol float64) bool { return math.Abs(got-want) <= tol*(1+math.Abs(want)) }

const tiny = 1e-12 // sums of a few hundred terms of the size of the result

// permutations calls visit with every order of n things.
func permutations(n int, visit func([]int)) {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	var swap func(k int)
	swap = func(k int) {
		if k == n {
			visit(p)
			return
		}
		for i := k; i < n; i++ {
			p[k], p[i] = p[i], p[k]
			swap(k + 1)
			p[k], p[i] = p[i], p[k]
		}
	}
	swap(0)
}

// attempts makes attempts with values, each with own tokens and a prompt of 10.
func attempts(own func(i int) float64, values ...float64) []Attempt {
	out := make([]Attempt, len(values))
	for i, v := range values {
		out[i].Value = v
		out[i].Spent[Tokens] = Spend{Prompt: 10, Own: own(i)}
	}
	return out
}

func setting(prompts ...Prompt) Setting {
	return Setting{Prompts: prompts, Known: map[Unit]Source{Tokens: {Kind: cost.Measured}}}
}

func rising(i int) float64 { return float64(3*i*i + 1) }

func at(v float64) *float64 { return &v }

// What is said of n attempts is the mean over every order in which the attempts
// could have come.
func TestDrawsAreTheMeanOverAllOrders(t *testing.T) {
	for _, row := range []struct {
		name   string
		values []float64
	}{
		{"different values", []float64{0.3, 0.9, 0.1, 0.5, 0.7, 0.2}},
		{"ties", []float64{1, 0, 1, 0, 0, 0}},
		{"none useful", []float64{0, 0, 0, 0, 0}},
		{"all useful", []float64{1, 1, 1, 1}},
		{"one attempt", []float64{0.6}},
		{"negative values", []float64{-1, -3, -2, 0.8}},
	} {
		for _, each := range []bool{false, true} {
			p := Prompt{Attempts: attempts(rising, row.values...)}
			o := Options{AtLeast: at(0.6), PromptEach: each}
			for n := 1; n <= len(row.values); n++ {
				var orders, best, all, until, solved, tries float64
				permutations(len(row.values), func(order []int) {
					orders++
					top, done := math.Inf(-1), false
					prompts := 0.0
					for k, i := range order[:n] {
						a := &p.Attempts[i]
						top = max(top, a.Value)
						all += a.Spent[Tokens].Own
						if k == 0 || each {
							all += a.Spent[Tokens].Prompt
						}
						if done {
							continue
						}
						tries++
						until += a.Spent[Tokens].Own
						if prompts == 0 || each {
							prompts += a.Spent[Tokens].Prompt
						}
						if a.Value >= 0.6 {
							done = true
							solved++
						}
					}
					until += prompts
					best += top
				})
				x := o.outcome(&p, n)
				for _, c := range []struct {
					what      string
					got, want float64
				}{{"best", o.best(&p, n), best}, {"all", o.all(&p, Tokens, n), all}, {"until", o.until(&p, Tokens, n), until}, {"solved", x.solved, solved}, {"tries", x.tries, tries}} {
					if !near(c.got, c.want/orders, tiny) {
						t.Errorf("%s, prompt each %v, n = %d: %s is %v, the mean over all orders %v", row.name, each, n, c.what, c.got, c.want/orders)
					}
				}
			}
		}
	}
}

// The smallest of n is the largest of n with the sign turned.
func TestSmallerIsBetterWhenAsked(t *testing.T) {
	p := Prompt{Attempts: attempts(rising, 5, 3, 8, 1)}
	o := Options{Smaller: true, AtLeast: at(3)}
	want := -ExpectedBest([]float64{-5, -3, -8, -1}, 2)
	if got := o.best(&p, 2); !near(got, want, tiny) {
		t.Errorf("the best of 2 is %v, want %v", got, want)
	}
	if x := o.outcome(&p, 1); !near(x.solved, 0.5, tiny) {
		t.Errorf("%v of the values are at most 3, want a half", x.solved)
	}
}

// Averaged over how many of N independent attempts are useful, the estimates are the
// expectations of core/cost for independent tries: they are unbiased.
func TestRetriesAreUnbiased(t *testing.T) {
	const total = 9
	for _, p := range []float64{0.05, 0.3, 0.8, 1} {
		for n := 1; n <= total; n++ {
			var tries, solved float64
			for k := 0; k <= total; k++ {
				choose := math.Exp(lchoose(total, k))
				weight := choose * math.Pow(p, float64(k)) * math.Pow(1-p, float64(total-k))
				x := outcomeOf(total, k, n)
				tries, solved = tries+weight*x.tries, solved+weight*x.solved
				if pass, err := cost.PassAtK(total, int64(k), int64(n)); err != nil || !near(x.solved, pass, tiny) {
					t.Errorf("%d useful of %d: one of %d is with %v, pass@k is %v (%v)", k, total, n, x.solved, pass, err)
				}
			}
			want, err := cost.EarlyStop(p, int64(n))
			if err != nil || !near(tries, want.Tries, tiny) || !near(solved, want.Solved, tiny) {
				t.Errorf("p = %v, n = %d: %v tries and %v solved on average, want %+v (%v)", p, n, tries, solved, want, err)
			}
		}
	}
}

func lchoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

func contains(err error, text string) bool { return err != nil && strings.Contains(err.Error(), text) }
