package measure

import (
	"encoding/json"
	"math"
	"strconv"

	"lab/core/fault"
	"lab/core/trace"
)

// The methods of intervals. Which ones a statistic knows is in its comment.
const (
	MethodT                = "t"                 // Student's t on the mean, or on the linearised ratio
	MethodBootstrap        = "bootstrap"         // percentiles of resampled statistics
	MethodBCa              = "bca"               // the same, corrected for bias and acceleration
	MethodWilson           = "wilson"            // score interval of a proportion
	MethodExact            = "exact"             // Clopper–Pearson, or order statistics of a quantile
	MethodCluster          = "cluster"           // sandwich variance over clusters, t on clusters - 1
	MethodClusterBootstrap = "cluster_bootstrap" // percentiles of resampled clusters
	MethodJackknife        = "jackknife"         // leave one sample out; for measures of a whole set
)

// Interval says how an interval is made. The zero value is the statistic's own
// method at 95 %.
type Interval struct {
	// Method is one of the methods above; empty chooses the statistic's own:
	// "t" for means and ratios, "wilson" for proportions, "exact" for quantiles,
	// "jackknife" for measures of a whole set; with Clusters "cluster", and
	// "cluster_bootstrap" for quantiles.
	Method string
	// Level is the confidence, in (0, 1); 0 is 0.95.
	Level float64
	// Resamples is how many times the bootstrap draws; 0 is 1,999, otherwise in
	// [99, 1e6].
	Resamples int
	// Seed of the bootstrap's stream.
	Seed uint64
	// Clusters names the cluster of each value, such as its prompt. Values of one
	// cluster may depend on each other, clusters may not.
	Clusters []string
}

// Estimate is a number with what is known about its error.
type Estimate struct {
	Value  float64
	Lo, Hi float64 // NaN where the interval is not known; Note says why
	N      int     // values it was made from
	Level  float64 // confidence of [Lo, Hi]
	Method string  // of the interval

	Missing      int     // samples that were left out because the measure is not defined for them
	Clusters     int     // clusters, when the method looks at them
	DesignEffect float64 // variance over that of independent values, when clustered; NaN when unknown
	Note         string  // what the reader has to know
}

// MarshalJSON writes a number that is not finite as null.
func (e Estimate) MarshalJSON() ([]byte, error) {
	form := struct {
		Value        trace.Real  `json:"value"`
		Lo           trace.Real  `json:"lo"`
		Hi           trace.Real  `json:"hi"`
		N            int         `json:"n"`
		Level        float64     `json:"level"`
		Method       string      `json:"method"`
		Missing      int         `json:"missing,omitempty"`
		Clusters     int         `json:"clusters,omitempty"`
		DesignEffect *trace.Real `json:"design_effect,omitempty"`
		Note         string      `json:"note,omitempty"`
	}{trace.Real(e.Value), trace.Real(e.Lo), trace.Real(e.Hi), e.N, e.Level, e.Method, e.Missing, e.Clusters, nil, e.Note}
	if e.Clusters > 0 {
		d := trace.Real(e.DesignEffect)
		form.DesignEffect = &d
	}
	return json.Marshal(form)
}

// Map returns the estimate of f of the quantity, f increasing: both ends go
// through f. exp2 makes a perplexity of a mean surprisal.
func (e Estimate) Map(f func(float64) float64) Estimate {
	e.Value, e.Lo, e.Hi = f(e.Value), f(e.Lo), f(e.Hi)
	return e
}

// unknown returns an estimate without an interval.
func unknown(value float64, n int, level float64, method string) Estimate {
	return Estimate{Value: value, Lo: math.NaN(), Hi: math.NaN(), N: n, Level: level, Method: method}
}

// noted returns e without an interval and with the reason.
func (e Estimate) noted(why string) Estimate {
	e.Lo, e.Hi, e.Note = math.NaN(), math.NaN(), why
	return e
}

const (
	noteOne   = "one value: nothing tells how far others would lie from it"
	noteEqual = "all values are equal: nothing tells how far others would lie from them"
)

const (
	defaultLevel     = 0.95
	defaultResamples = 1999 // (1999+1)·0.025 is a whole number, as Davison and Hinkley 1997, section 2.2, advise
	maxDraws         = 1 << 29
)

// settle checks the settings and fills in the defaults. known lists the methods
// of the statistic, its own first.
func (iv Interval) settle(op string, n int, known ...string) (Interval, error) {
	if iv.Level == 0 {
		iv.Level = defaultLevel
	}
	if err := checkLevel(op, iv.Level); err != nil {
		return iv, err
	}
	if iv.Clusters != nil && len(iv.Clusters) != n {
		return iv, misuse(op, "%d clusters for %d values", len(iv.Clusters), n).Fix("name the cluster of every value")
	}
	clustered := false
	if iv.Method == "" {
		iv.Method = known[0]
		if iv.Clusters != nil {
			iv.Method = MethodClusterBootstrap
			for _, m := range known {
				if m == MethodCluster {
					iv.Method = MethodCluster
				}
			}
		}
	}
	ok := false
	for _, m := range known {
		ok = ok || m == iv.Method
	}
	if !ok {
		return iv, fault.Unknown(op, "interval method", iv.Method, known)
	}
	clustered = iv.Method == MethodCluster || iv.Method == MethodClusterBootstrap
	switch {
	case clustered && iv.Clusters == nil:
		return iv, misuse(op, "method %q without clusters", iv.Method).Fix("name the cluster of every value, such as its prompt")
	case !clustered && iv.Clusters != nil:
		return iv, misuse(op, "method %q takes values as independent, and clusters were given", iv.Method).
			Fix("use %q or %q, or give no clusters", MethodCluster, MethodClusterBootstrap)
	}
	if iv.Resamples == 0 {
		iv.Resamples = defaultResamples
	}
	if iv.Resamples < 99 || iv.Resamples > 1e6 {
		return iv, misuse(op, "resamples = %d is outside [99, 1000000]", iv.Resamples)
	}
	resampled := iv.Method == MethodBootstrap || iv.Method == MethodBCa || iv.Method == MethodClusterBootstrap
	if resampled && n > maxDraws/iv.Resamples {
		return iv, fault.New(fault.Limit, op, "", "%d resamples of %d values are more than %d draws", iv.Resamples, n, maxDraws).
			Fix("use method %q, or fewer resamples", known[0])
	}
	return iv, nil
}

func checkLevel(op string, level float64) error {
	if !(level > 0 && level < 1) {
		return misuse(op, "level = %v is outside (0, 1)", level).Fix("0.95 is usual")
	}
	return nil
}

func itoa(i int) string { return strconv.Itoa(i) }
