package measure

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"lab/core/seed"
)

// draws is the source of one use of random numbers: resample b of it depends on
// the seed, the use and b alone.
type draws struct {
	stream seed.Stream
	lane   uint32
	buffer []float64
}

func newDraws(s uint64, use string) *draws {
	return &draws{stream: seed.New(s, []byte("measure")), lane: seed.Lane(use, 0)}
}

// uniforms returns n numbers in [0, 1) of resample b, valid until the next call.
func (d *draws) uniforms(b, n int) []float64 {
	if cap(d.buffer) < n {
		d.buffer = make([]float64, n)
	}
	u := d.buffer[:n]
	d.stream.Uniforms(u, uint64(b), 0, d.lane)
	return u
}

// below turns a uniform number into an index below n. u n is never rounded up to
// n: u is at most 1 - 2^-53, and n 2^-53 is more than half the spacing of the
// numbers just below n.
func below(u float64, n int) int { return int(u * float64(n)) }

// resample returns the statistic of each of the bootstrap's samples: n indexes
// drawn with replacement.
func resample(n int, value func([]int32) float64, iv Interval) []float64 {
	d := newDraws(iv.Seed, "bootstrap")
	index := make([]int32, n)
	out := make([]float64, iv.Resamples)
	for b := range out {
		for i, u := range d.uniforms(b, n) {
			index[i] = int32(below(u, n))
		}
		out[b] = value(index)
	}
	return out
}

// bootstrap sets the percentile or the BCa interval of a statistic of n values.
// without[i] is the statistic without value i; BCa alone reads it.
func bootstrap(e Estimate, value func([]int32) float64, without []float64, iv Interval) Estimate {
	replicates := resample(e.N, value, iv)
	lo, hi := (1-e.Level)/2, (1+e.Level)/2
	if iv.Method == MethodBCa {
		var ok bool
		if lo, hi, ok = bcaLevels(e.Value, replicates, without, e.Level); !ok {
			return e.noted("every resample lies on one side of the estimate, or no value matters alone: BCa is undefined")
		}
	}
	return e.percentiles(replicates, lo, hi)
}

// percentiles sets the interval to quantiles of the replicates (Efron 1979,
// "Bootstrap methods: another look at the jackknife").
func (e Estimate) percentiles(replicates []float64, lo, hi float64) Estimate {
	slices.Sort(replicates)
	e.Lo, e.Hi = quantile(replicates, lo), quantile(replicates, hi)
	if e.Lo == e.Hi {
		return e.noted("the resamples do not differ: nothing tells how far others would lie from them")
	}
	return e
}

// bcaLevels returns the levels of the percentiles that correct for the bias and
// the acceleration of a statistic: Efron 1987, "Better bootstrap confidence
// intervals", with the acceleration from the jackknife (Efron and Tibshirani
// 1993, equation 14.15). Replicates equal to the estimate count half as below.
func bcaLevels(value float64, replicates, without []float64, level float64) (lo, hi float64, ok bool) {
	below := 0.0
	for _, r := range replicates {
		switch {
		case r < value:
			below++
		case r == value:
			below += 0.5
		}
	}
	z0 := distuv.UnitNormal.Quantile(below / float64(len(replicates)))
	center := mean(without)
	var cubes, squares float64
	for _, w := range without {
		d := center - w
		cubes += d * d * d
		squares += d * d
	}
	a := cubes / (6 * math.Pow(squares, 1.5))
	at := func(p float64) float64 {
		z := z0 + distuv.UnitNormal.Quantile(p)
		return distuv.UnitNormal.CDF(z0 + z/(1-a*z))
	}
	lo, hi = at((1-level)/2), at((1+level)/2)
	return lo, hi, !math.IsInf(z0, 0) && lo > 0 && hi < 1 && lo < hi // false for NaN
}

// clusterBootstrap sets the percentile interval of resampled clusters: as many
// clusters as there are, drawn whole and with replacement (Davison and Hinkley
// 1997, "Bootstrap methods and their application", section 3.8).
func clusterBootstrap(e Estimate, value func([]int32) float64, iv Interval) Estimate {
	members := clusterMembers(iv.Clusters)
	e.Clusters, e.DesignEffect = len(members), math.NaN()
	if len(members) < 2 {
		return e.noted(noteOneCluster)
	}
	d := newDraws(iv.Seed, "cluster bootstrap")
	replicates := make([]float64, iv.Resamples)
	var index []int32
	for b := range replicates {
		index = index[:0]
		for _, u := range d.uniforms(b, len(members)) {
			index = append(index, members[below(u, len(members))]...)
		}
		replicates[b] = value(index)
	}
	return e.percentiles(replicates, (1-e.Level)/2, (1+e.Level)/2)
}
