package measure

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"

	"lab/core/fault"
)

// The ways to correct what the best of many settings promises.
const (
	CorrectSplit     = "split"     // choose on one half, measure on the other
	CorrectBootstrap = "bootstrap" // subtract the selection bias of resamples
	CorrectShrink    = "shrink"    // draw all means towards their mean
)

// Best is the best of several settings, with what choosing it did to its number.
type Best struct {
	Cell      int      // the best by its mean; the first one on ties
	Naive     Estimate // its mean, as if the cell had been chosen beforehand; too good on average
	Corrected Estimate // its mean without the luck of being chosen
	SplitCell int      // the cell that Corrected is of: the best of the first half for "split", otherwise Cell
	// ByChance is what the best of as many equal settings would gain by luck alone:
	// the expected maximum of as many standard normals times the pooled standard
	// error of a mean (independent cells; common random numbers make it less).
	ByChance float64
	Cells    int
	Note     string
}

// BestOf returns the cell with the largest mean, the smallest if smaller is set,
// and corrects its mean for having been chosen, the winner's curse. cells[j] are
// the values of setting j; at least two cells of at least four values.
//
//   - "split" (default) deals the values of each cell to two halves, the same
//     places in cells of the same size so that common random numbers stay together,
//     chooses on the first and reports the second with its t interval: unbiased for
//     the cell it chose, at the price of half the values (Cox 1975, "A note on data-
//     splitting for the evaluation of significance levels").
//   - "bootstrap" subtracts the mean over resamples of how far the winner's
//     resampled mean lies above its mean (Tibshirani and Tibshirani 2009, "A bias
//     correction for the minimum error rate in cross-validation", use the same
//     quantity). Cells of one size are resampled together.
//   - "shrink" is the positive-part James–Stein estimate towards the mean of the
//     cells with a pooled variance (Efron and Morris 1975, "Data analysis using
//     Stein's estimator and its generalizations"); at least four cells.
//
// The last two have no interval. iv gives level, seed and resamples; its method
// is of Naive and must know independent values.
func BestOf(cells [][]float64, smaller bool, correction string, iv Interval) (Best, error) {
	const op = "best of"
	if correction == "" {
		correction = CorrectSplit
	}
	least := map[string]int{CorrectSplit: 2, CorrectBootstrap: 2, CorrectShrink: 4}[correction]
	if least == 0 {
		return Best{}, fault.Unknown(op, "correction", correction, []string{CorrectSplit, CorrectBootstrap, CorrectShrink})
	}
	if len(cells) < least {
		return Best{}, bad(op, "%d cells were given", len(cells)).Fix("give at least %d for %q", least, correction)
	}
	if iv.Clusters != nil {
		return Best{}, misuse(op, "clusters were given").Fix("give one value per cluster: its mean")
	}
	sign := 1.0
	if smaller {
		sign = -1
	}
	means := make([]float64, len(cells))
	same, draws := true, 0
	for j, c := range cells {
		if err := finite(op+": cell "+itoa(j), c, 4); err != nil {
			return Best{}, err
		}
		means[j] = mean(c)
		same = same && len(c) == len(cells[0])
		draws += len(c)
	}
	out := Best{Cell: highest(means, sign), Cells: len(cells)}
	out.SplitCell = out.Cell
	var err error
	if out.Naive, err = Mean(cells[out.Cell], iv); err != nil {
		return Best{}, err
	}
	if iv, err = (Interval{Level: iv.Level, Resamples: iv.Resamples, Seed: iv.Seed}).settle(op, len(cells), MethodT); err != nil {
		return Best{}, err
	}
	noise := pooledVariance(cells)
	out.ByChance = sign * ExpectedBest(len(cells)) * math.Sqrt(noise)
	out.Note = "the best of " + itoa(len(cells)) + " settings is too good on average: report the corrected value, or measure the setting again under another seed"
	switch correction {
	case CorrectSplit:
		out.Corrected, out.SplitCell, err = splitBest(cells, sign, iv)
	case CorrectBootstrap:
		if draws > maxDraws/iv.Resamples {
			return Best{}, misuse(op, "%d resamples of %d values are more than %d draws", iv.Resamples, draws, maxDraws).Fix("use %q, or fewer resamples", CorrectSplit)
		}
		bias := selectionBias(cells, means, sign, same, iv)
		out.Corrected = unknown(means[out.Cell]-bias, len(cells[out.Cell]), iv.Level, CorrectBootstrap).
			noted("the bootstrap corrects the value and gives no interval")
	default:
		center, spread := mean(means), 0.0
		for _, m := range means {
			spread += (m - center) * (m - center)
		}
		keep := 0.0
		if spread > 0 {
			keep = math.Max(0, 1-float64(len(cells)-3)*noise/spread)
		}
		out.Corrected = unknown(center+keep*(means[out.Cell]-center), len(cells[out.Cell]), iv.Level, CorrectShrink).
			noted("shrinkage corrects the value and gives no interval")
	}
	return out, err
}

// highest returns the place of the largest sign·value, the first one on ties.
func highest(values []float64, sign float64) int {
	best := 0
	for j, v := range values {
		if sign*v > sign*values[best] {
			best = j
		}
	}
	return best
}

// pooledVariance returns the mean variance of the cells' means.
func pooledVariance(cells [][]float64) float64 {
	total := 0.0
	for _, c := range cells {
		if !equal(c) {
			total += variance(c) / float64(len(c))
		}
	}
	return total / float64(len(cells))
}

// splitBest chooses on the first half of each cell and measures the second.
func splitBest(cells [][]float64, sign float64, iv Interval) (Estimate, int, error) {
	first := make([]float64, len(cells))
	second := make([][]float64, len(cells))
	for j, c := range cells {
		// The order depends on the seed and the size alone.
		order := ascending(newDraws(iv.Seed, "split").uniforms(0, len(c)))
		half := make([]float64, 0, len(c)/2)
		for i, at := range order {
			if i < len(c)/2 {
				half = append(half, c[at])
			} else {
				second[j] = append(second[j], c[at])
			}
		}
		first[j] = mean(half)
	}
	chosen := highest(first, sign)
	e, err := Mean(second[chosen], Interval{Method: MethodT, Level: iv.Level})
	e.Method = CorrectSplit
	return e, chosen, err
}

// selectionBias returns the mean over resamples of the winner's resampled mean
// less its mean.
func selectionBias(cells [][]float64, means []float64, sign float64, together bool, iv Interval) float64 {
	d := newDraws(iv.Seed, "best of")
	widest := 0
	offset := make([]int, len(cells))
	for j, c := range cells {
		if !together {
			offset[j] = widest
			widest += len(c)
		} else {
			widest = len(c)
		}
	}
	total := 0.0
	again := make([]float64, len(cells))
	for b := range iv.Resamples {
		u := d.uniforms(b, widest)
		for j, c := range cells {
			s := 0.0
			for i := range c {
				s += c[below(u[offset[j]+i], len(c))]
			}
			again[j] = s / float64(len(c))
		}
		w := highest(again, sign)
		total += again[w] - means[w]
	}
	return total / float64(iv.Resamples)
}

// ExpectedBest returns the expected maximum of k independent standard normals,
// the integral of x k φ(x) Φ(x)^(k-1); 0 for k = 1, NaN below (David and Nagaraja
// 2003, "Order statistics", section 3.1).
func ExpectedBest(k int) float64 {
	if k < 1 {
		return math.NaN()
	}
	if k == 1 {
		return 0
	}
	f := func(x float64) float64 {
		return x * float64(k) * distuv.UnitNormal.Prob(x) * math.Pow(distuv.UnitNormal.CDF(x), float64(k-1))
	}
	// Below -10 and above 10 the density is less than 1e-22 for every k that fits
	// in memory, and 500 nodes are exact to rounding between.
	return quad.Fixed(f, -10, 10, 500, nil, 0)
}
