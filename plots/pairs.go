package plots

import (
	"fmt"
	"math"
	"slices"

	"lab/plots/canvas"
)

// The question: when do two runs part, and how far do they move from each other?

const pairsName = "pairs"

// PairsData is pairs of texts that began alike: two runs of the same prompts and
// seeds, say. The slices are not kept.
type PairsData struct {
	A, B  string // names of the runs
	Pairs []Pair
}

// Pair is the tokens of two texts.
type Pair struct {
	A, B     []int32
	AtA, AtB string    // bytes of the tokens at the first difference; may be left out
	TV       []float64 // total variation between the two sampling distributions at each step, in [0, 1]; nil: not known
}

const (
	pairsPoints   = 400
	sameSeries    = "still the same"
	agreeSeries   = "agreement so far"
	distantSeries = "TV so far"
)

// Pairs draws how two runs part: the share of pairs whose tokens are all equal up
// to a step ("still the same"), the share of equal tokens up to a step, averaged
// over pairs ("agreement so far"; a text that has ended agrees with nothing, and
// a pair of which both have ended keeps its value), and where it is known the
// running mean of TV between the two sampling distributions. A rule marks the
// median step of the first difference: with one pair that token, with both
// tokens in words.
//
// Errors: fault.Usage for options; fault.Data for TV outside 0 to 1, or longer
// than the texts. NaN in TV is left out and counted. Without a token the picture
// says so.
func Pairs(d PairsData, o Options) (fig *Figure, err error) {
	defer guard(pairsName, &err)
	c := curves{name: pairsName, title: "Agreement of two runs"}
	c.chart = XYData{X: Quantity{Name: "step"}, Y: Quantity{Name: "share", Title: "share, 0 to 1"}}
	longest, undefined, known := 0, 0, 0
	firsts := make([]int, 0, len(d.Pairs)) // 0-based step of the first difference of the pairs that differ
	for i, p := range d.Pairs {
		where := fmt.Sprintf("pair %d", i)
		if len(p.TV) > max(len(p.A), len(p.B)) {
			return nil, badNumber(pairsName, where, "%d values of TV for %d steps", len(p.TV), max(len(p.A), len(p.B)))
		}
		for k, v := range p.TV {
			if v < 0 || v > 1+sumTolerance {
				return nil, badNumber(pairsName, where, "TV %v at step %d is outside 0 to 1", v, k)
			}
			if !defined(v) {
				undefined++
			}
		}
		if len(p.TV) > 0 {
			known++
		}
		longest = max(longest, len(p.A), len(p.B))
		if k, differ := p.first(); differ {
			firsts = append(firsts, k)
		}
	}
	if longest > 0 {
		c.chart.Series = pairSeries(d.Pairs, lengthGrid(1, longest, pairsPoints), known > 0)
	}
	slices.Sort(firsts)
	c.pairWords(d, firsts, longest, undefined)
	return c.draw(o)
}

// first returns the first step at which the two differ.
func (p Pair) first() (int, bool) {
	n := min(len(p.A), len(p.B))
	for k := range n {
		if p.A[k] != p.B[k] {
			return k, true
		}
	}
	return n, len(p.A) != len(p.B)
}

// pairSeries returns the lines at the steps of the grid.
func pairSeries(pairs []Pair, grid []int, tv bool) []Series {
	same, agree, distant := make([]float64, len(grid)), make([]float64, len(grid)), make([]float64, len(grid))
	counted := make([]int, len(grid)) // pairs with a value of TV
	with := 0                         // pairs with a token
	for _, p := range pairs {
		steps := max(len(p.A), len(p.B))
		if steps == 0 {
			continue
		}
		with++
		first, differ := p.first()
		equal, sum, n, at := 0, 0.0, 0, 0
		for g, step := range grid {
			for ; at < min(step, steps); at++ {
				if at < len(p.A) && at < len(p.B) && p.A[at] == p.B[at] {
					equal++
				}
				if at < len(p.TV) && defined(p.TV[at]) {
					sum, n = sum+p.TV[at], n+1
				}
			}
			if !differ || step <= first {
				same[g]++
			}
			agree[g] += float64(equal) / float64(at)
			if n > 0 {
				distant[g] += sum / float64(n)
				counted[g]++
			}
		}
	}
	all := []Series{{Name: sameSeries}, {Name: agreeSeries}, {Name: distantSeries}}
	for g, step := range grid {
		for i, v := range []float64{same[g] / float64(with), agree[g] / float64(with), distant[g] / float64(counted[g])} {
			all[i].X, all[i].Y = append(all[i].X, float64(step)), append(all[i].Y, v)
		}
	}
	if len(pairs) == 1 {
		all = all[1:] // the rule says when the pair parts
	}
	if !tv {
		all = all[:len(all)-1]
	}
	return all
}

// pairWords makes title, subtitle and the rule.
func (c *curves) pairWords(d PairsData, firsts []int, longest, undefined int) {
	n := len(d.Pairs)
	if n == 0 || longest == 0 {
		return
	}
	names := "the two texts"
	if d.A != "" || d.B != "" {
		names = shortened(d.A, nameLimit) + " and " + shortened(d.B, nameLimit)
	}
	if len(firsts) > 0 {
		at := firsts[(len(firsts)-1)/2] + 1
		c.chart.Rules = []Rule{{Vertical: true, At: float64(at), Label: fmt.Sprintf("half of those that part have parted, step %s", canvas.Count(at))}}
		if n == 1 {
			c.chart.Rules[0].Label = "first difference, step " + canvas.Count(at)
			if p := d.Pairs[0]; p.AtA != "" || p.AtB != "" {
				c.chart.Rules[0].Label = fmt.Sprintf("step %s: %s or %s", canvas.Count(at), quotedToken(p.AtA), quotedToken(p.AtB))
			}
		}
	}
	same := n - len(firsts)
	switch {
	case len(firsts) == 0 && n == 1:
		c.title = fmt.Sprintf("The two texts are the same in all %s", plural(longest, "token"))
	case len(firsts) == 0:
		c.title = fmt.Sprintf("All %s are the same to the end", plural(n, "pair"))
	case n == 1:
		c.title = fmt.Sprintf("The two texts part at step %s", canvas.Count(firsts[0]+1))
	case same == 0:
		c.title = fmt.Sprintf("All %s part, half of them by step %s", plural(n, "pair"), canvas.Count(firsts[(len(firsts)-1)/2]+1))
	default:
		c.title = fmt.Sprintf("Of %s %s %s the same to the end", plural(n, "pair"), canvas.Count(same), verb(same, "is", "are"))
	}
	c.subtitle = fmt.Sprintf("%s of %s, up to %s; agreement: equal tokens up to the step", plural(n, "pair"), names, plural(longest, "token"))
	if len(c.chart.Series) == 3 || n == 1 && len(c.chart.Series) == 2 {
		c.subtitle += "; TV: between the sampling distributions, averaged up to the step"
	}
	if undefined > 0 {
		c.subtitle += fmt.Sprintf("; %s of TV %s undefined and left out", plural(undefined, "value"), verb(undefined, "is", "are"))
	}
	c.subtitle += "."
}

// unknown is a value that is not known.
func unknown() float64 { return math.NaN() }
