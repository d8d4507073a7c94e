package measure

import "math"

const noteOneCluster = "one cluster: nothing tells how far others would lie from it"

// clusterMembers returns the places of each cluster's values, clusters in the
// order of their first value.
func clusterMembers(keys []string) [][]int32 {
	ids, distinct := classes(keys)
	out := make([][]int32, distinct)
	for i, id := range ids {
		out[id] = append(out[id], int32(i))
	}
	return out
}

// clustered sets the interval of the sandwich variance over clusters, with
// G/(G-1) for G clusters and t on G - 1 degrees of freedom (Liang and Zeger 1986,
// "Longitudinal data analysis using generalized linear models"; Cameron and
// Miller 2015, "A practitioner's guide to cluster-robust inference", equations 6
// and 7). The design effect is that variance over the one of independent values
// (Kish 1965, "Survey sampling"). Few clusters make it too narrow; below ten
// that is noted.
func clustered(e Estimate, rest []float64, sumDen float64, iv Interval) Estimate {
	members := clusterMembers(iv.Clusters)
	g := len(members)
	e.Clusters = g
	if g < 2 {
		e.DesignEffect = math.NaN()
		return e.noted(noteOneCluster)
	}
	totals := make([]float64, g)
	for c, m := range members {
		for _, i := range m {
			totals[c] += rest[i]
		}
	}
	se, independent := standardError(totals, sumDen), standardError(rest, sumDen)
	e.DesignEffect = se * se / (independent * independent)
	if largest(totals) <= 1e-12*largest(rest)*float64(len(rest)) { // the residuals of each cluster cancel
		return e.noted("all clusters have the same mean: nothing tells how far others would lie from it")
	}
	if g < 10 {
		e.Note = "fewer than 10 clusters: the interval is likely too narrow"
	}
	return e.student(se, g-1)
}

// largest returns the greatest absolute value.
func largest(values []float64) float64 {
	m := 0.0
	for _, v := range values {
		m = math.Max(m, math.Abs(v))
	}
	return m
}

// Design says how values within a cluster resemble each other.
type Design struct {
	Clusters int
	// ICC is the intraclass correlation, from the analysis of variance with
	// unequal sizes (Donner 1986, "A review of inference procedures for the
	// intraclass correlation coefficient in the one-way random effects model"): at
	// most 1, negative when values of one cluster differ more than chance makes
	// them.
	ICC float64
	// Effect is the design effect 1 + (m - 1) ICC with m = sum of squared sizes /
	// values (Kish 1965): how many times the variance of a mean is that of as
	// many independent values. Never below 0.
	Effect float64
	// EffectiveN is values / Effect.
	EffectiveN float64
}

// Clustering returns how much of the spread of values lies between clusters;
// clusters names the cluster of each value. Fewer than two clusters, no cluster
// with two values, equal values or a value that is not finite are data errors.
func Clustering(values []float64, clusters []string) (Design, error) {
	const op = "clustering"
	if len(clusters) != len(values) {
		return Design{}, misuse(op, "%d clusters for %d values", len(clusters), len(values)).Fix("name the cluster of every value")
	}
	if err := finite(op, values, 2); err != nil {
		return Design{}, err
	}
	members := clusterMembers(clusters)
	n, g := float64(len(values)), float64(len(members))
	switch {
	case len(members) < 2:
		return Design{}, bad(op, "all %d values are of one cluster", len(values))
	case len(members) == len(values):
		return Design{}, bad(op, "each of the %d clusters has one value", len(members)).Fix("draw more than one sample per cluster")
	case equal(values):
		return Design{}, bad(op, "all values are equal")
	}
	grand := mean(values)
	var between, within, squares float64
	for _, m := range members {
		size, center := float64(len(m)), 0.0
		for _, i := range m {
			center += values[i] / size
		}
		for _, i := range m {
			within += (values[i] - center) * (values[i] - center)
		}
		between += size * (center - grand) * (center - grand)
		squares += size * size
	}
	between /= g - 1
	within /= n - g
	size := (n - squares/n) / (g - 1)
	d := Design{Clusters: len(members)}
	d.ICC = (between - within) / (between + (size-1)*within)
	d.Effect = math.Max(0, 1+(squares/n-1)*d.ICC)
	d.EffectiveN = n / d.Effect
	return d, nil
}
