package measure

import (
	"errors"
	"math"

	"lab/core/trace"
)

// jackknifeGroups is how many groups of samples are left out in turn when there
// are more samples than that.
const jackknifeGroups = 100

// ofSet returns a measure of the token sequences of a set, with the jackknife as
// its interval. Empty texts are left out and counted.
func ofSet(f func([][]int32) (float64, error)) func([]*trace.Sample, Interval) (Estimate, error) {
	return func(samples []*trace.Sample, iv Interval) (Estimate, error) {
		var set [][]int32
		var clusters []string
		for i, s := range samples {
			t := Content(s)
			if len(t) == 0 {
				continue
			}
			set = append(set, t)
			if iv.Clusters != nil {
				clusters = append(clusters, iv.Clusters[i])
			}
		}
		iv.Clusters = clusters
		e, err := jackknife(set, f, iv)
		e.Missing = len(samples) - len(set)
		return e, err
	}
}

// jackknife returns a measure of a set with the interval of the delete-a-group
// jackknife: variance (g-1)/g times the squared deviations of the g values without
// one group, and t on g - 1 degrees of freedom (Tukey 1958; Efron and Tibshirani
// 1993, "An introduction to the bootstrap", chapter 11). The bootstrap is no
// choice here: it draws samples twice, and these measures count what is there
// twice. Groups are samples, or iv.Clusters, or 100 groups of every hundredth
// sample when there are more. A set too small for the measure has value NaN.
func jackknife(set [][]int32, f func([][]int32) (float64, error), iv Interval) (Estimate, error) {
	n := len(set)
	iv, err := iv.settleSet("jackknife", n)
	if err != nil {
		return Estimate{}, err
	}
	value, err := f(set)
	var few short
	switch {
	case errors.As(err, &few):
		return unknown(math.NaN(), n, iv.Level, iv.Method).noted(few.Error()), nil
	case err != nil:
		return Estimate{}, err
	}
	e := unknown(value, n, iv.Level, iv.Method)
	group := make([]int32, n)
	groups := min(n, jackknifeGroups)
	for i := range group {
		group[i] = int32(i % max(1, groups))
	}
	if iv.Clusters != nil {
		group, groups = classes(iv.Clusters)
		e.Clusters, e.DesignEffect = groups, math.NaN()
	}
	if groups < 2 {
		return e.noted("one group: nothing tells how far others would lie from it"), nil
	}
	without := make([]float64, groups)
	rest := make([][]int32, 0, n)
	for g := range without {
		rest = rest[:0]
		for i, s := range set {
			if group[i] != int32(g) {
				rest = append(rest, s)
			}
		}
		v, err := f(rest)
		if errors.As(err, &few) {
			return e.noted("without one group the measure is not defined: " + few.Error()), nil
		}
		if err != nil {
			return Estimate{}, err
		}
		without[g] = v
	}
	if equal(without) {
		return e.noted("no group changes the measure: nothing tells how far others would lie from it"), nil
	}
	center, squares := mean(without), 0.0
	for _, w := range without {
		squares += (w - center) * (w - center)
	}
	m := float64(groups)
	return e.student(math.Sqrt((m-1)/m*squares), groups-1), nil
}

// settleSet checks the settings of a measure whose only method is the jackknife,
// which takes clusters too.
func (iv Interval) settleSet(op string, n int) (Interval, error) {
	clusters := iv.Clusters
	iv.Clusters = nil
	if iv.Method == MethodCluster && clusters != nil {
		iv.Method = MethodJackknife // of clusters
	}
	iv, err := iv.settle(op, n, MethodJackknife)
	iv.Clusters = clusters
	return iv, err
}

// fact returns a measure that is true of the set as it is and estimates nothing.
func fact(f func([]*trace.Sample) float64) func([]*trace.Sample, Interval) (Estimate, error) {
	return func(samples []*trace.Sample, iv Interval) (Estimate, error) {
		iv.Clusters = nil
		iv, err := iv.settle("measure", len(samples), "none")
		return unknown(f(samples), len(samples), iv.Level, iv.Method).noted("a count of what is there, which grows with the number of samples; coverage and chao1 estimate"), err
	}
}

// ofOutputs returns an estimate from how often each output occurs.
func ofOutputs(f func([]int, float64) (Estimate, error)) func([]*trace.Sample, Interval) (Estimate, error) {
	return func(samples []*trace.Sample, iv Interval) (Estimate, error) {
		ids, distinct := classes(outputs(samples))
		e, err := f(counts(ids, distinct), defaultLevel)
		if err != nil {
			return Estimate{}, err
		}
		if iv.Clusters != nil {
			return Estimate{}, misuse("measure", "it takes outputs as independent draws, and clusters were given").Fix("estimate it for each prompt by itself")
		}
		if iv, err = iv.settle("measure", len(samples), e.Method); err != nil {
			return Estimate{}, err
		}
		return f(counts(ids, distinct), iv.Level)
	}
}

func contents(samples []*trace.Sample) [][]int32 {
	out := make([][]int32, len(samples))
	for i, s := range samples {
		out[i] = Content(s)
	}
	return out
}

func outputs(samples []*trace.Sample) []string {
	out := make([]string, len(samples))
	for i, s := range samples {
		out[i] = Output(s)
	}
	return out
}
