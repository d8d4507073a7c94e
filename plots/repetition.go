package plots

import (
	"fmt"
	"math"

	"lab/core/fault"
	"lab/plots/canvas"
)

// The question: do texts begin to repeat themselves as they grow, and under which
// strategy?

const repetitionName = "repetition"

// RepetitionData is samples of several strategies. The slices are not kept.
type RepetitionData struct {
	N          int // length of the n-grams, 1 to 32 tokens; 0: 4
	Strategies []RepetitionStrategy
}

// RepetitionStrategy is the samples of one strategy, each as its token ids.
type RepetitionStrategy struct {
	Name    string
	Samples [][]int32
}

const (
	repetitionDefault = 4
	repetitionMost    = 32
	repetitionPoints  = 120 // lengths looked at
)

// Repetition draws the share of n-grams that occurred before in the same text,
// in percent, against the length: the median over the samples of a strategy
// with a band from their 5 to their 95 % quantile. At the full length it is
// seq-rep-n of Welleck et al. 2020, 1 - distinct/all n-grams. A line goes as far
// as half of its samples; the shorter ones count up to their end.
//
// Errors: fault.Usage for N, more than 512 strategies and options; fault.Data
// for a name given twice. Samples shorter than an n-gram are counted below the
// picture; without a longer one the picture says so.
func Repetition(d RepetitionData, o Options) (fig *Figure, err error) {
	defer guard(repetitionName, &err)
	n := d.N
	if n == 0 {
		n = repetitionDefault
	}
	if n < 1 || n > repetitionMost {
		return nil, fault.New(fault.Usage, "figure "+repetitionName, "n", "%d is outside 1 to %d", d.N, repetitionMost).Fix("leave it out for %d", repetitionDefault)
	}
	c := curves{name: repetitionName, title: "Repeated n-grams over the length"}
	c.chart = XYData{X: Quantity{Name: "length", Title: "tokens"}, Y: Quantity{Name: "repeated", Title: fmt.Sprintf("repeated %d-grams", n), Unit: "%"},
		By: "strategy", Interval: "5 to 95 % of the samples"}
	short, total := 0, 0
	least, most := math.MaxInt, 0
	banded := false
	for _, st := range d.Strategies {
		s, few := st.series(n)
		short, total = short+few, total+len(st.Samples)
		least, most = min(least, len(st.Samples)-few), max(most, len(st.Samples)-few)
		banded = banded || len(st.Samples)-few > 1
		c.chart.Series = append(c.chart.Series, s)
	}
	c.repetitionWords(n)
	if total > 0 {
		c.subtitle = plural(total-short, "sample")
		if len(d.Strategies) > 1 {
			c.subtitle = fmt.Sprintf("%s strategies of %s to %s", canvas.Count(len(d.Strategies)), canvas.Count(least), plural(most, "sample"))
			if least == most {
				c.subtitle = fmt.Sprintf("%s strategies of %s", canvas.Count(len(d.Strategies)), plural(most, "sample"))
			}
		}
		if banded {
			c.subtitle += "; line: median, band: 5 to 95 % of the samples"
		}
		c.subtitle += ", as far as half of them go"
		if short > 0 {
			c.subtitle += fmt.Sprintf("; %s shorter than %d tokens left out", plural(short, "sample"), n)
		}
		c.subtitle += "."
	}
	return c.draw(o)
}

// series returns the line of a strategy, and how many of its samples are too
// short for one n-gram.
func (st RepetitionStrategy) series(n int) (s Series, short int) {
	s.Name = st.Name
	longest := 0
	lengths := []int{}
	for _, tokens := range st.Samples {
		if len(tokens) < n {
			short++
			continue
		}
		longest = max(longest, len(tokens))
		lengths = append(lengths, len(tokens))
	}
	if len(lengths) == 0 {
		return s, short
	}
	grid := lengthGrid(n, longest, repetitionPoints)
	shares := make([][]float64, len(grid)) // of every length, the samples that reach it
	for _, tokens := range st.Samples {
		if len(tokens) >= n {
			for k, v := range repeatedShare(tokens, n, grid) {
				shares[k] = append(shares[k], v)
			}
		}
	}
	for k, list := range shares {
		if 2*len(list) < len(lengths) {
			break
		}
		s.spread(float64(grid[k]), list)
	}
	s.settle()
	return s, short
}

// repeatedShare returns, for every length of the rising grid that the text
// reaches, the percentage of its n-grams up to there that occurred before.
func repeatedShare(tokens []int32, n int, grid []int) []float64 {
	seen := map[[repetitionMost]int32]struct{}{}
	var out []float64
	repeated := 0
	for end := n; end <= len(tokens) && len(out) < len(grid); end++ {
		var gram [repetitionMost]int32
		copy(gram[:], tokens[end-n:end])
		if _, known := seen[gram]; known {
			repeated++
		} else {
			seen[gram] = struct{}{}
		}
		if end == grid[len(out)] {
			out = append(out, 100*float64(repeated)/float64(end-n+1))
		}
	}
	return out
}

// repetitionWords makes the title from the ends of the lines.
func (c *curves) repetitionWords(n int) {
	high, low := -1, -1
	end := func(i int) float64 {
		s := c.chart.Series[i]
		if len(s.Y) == 0 {
			return unknown()
		}
		return s.Y[len(s.Y)-1]
	}
	for i := range c.chart.Series {
		v := end(i)
		if !defined(v) {
			continue
		}
		if high < 0 || v > end(high) {
			high = i
		}
		if low < 0 || v < end(low) {
			low = i
		}
	}
	if high < 0 {
		return
	}
	share := func(i int) string { return canvas.Percent(end(i) / 100) }
	name := func(i int) string { return shortened(c.chart.Series[i].Name, nameLimit) }
	grams := fmt.Sprintf("%d-grams", n)
	switch {
	case len(c.chart.Series) == 1:
		c.title = fmt.Sprintf("%s of the %s are repetitions at the end", share(high), grams)
	case end(high) == end(low):
		c.title = fmt.Sprintf("All strategies end with %s of their %s repeated", share(high), grams)
	default:
		c.title = fmt.Sprintf("%s ends with %s of its %s repeated, %s with %s", name(high), share(high), grams, name(low), share(low))
	}
}
