package measure

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// covers counts in how many of times trials an interval holds the truth.
func covers(t *testing.T, times int, seed uint64, trial func(*rand.Rand, int) (e Estimate, truth float64)) int {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	n := 0
	for i := range times {
		if e, truth := trial(rng, i); e.Lo <= truth && truth <= e.Hi {
			n++
		}
	}
	return n
}

// Each interval holds the truth as often as it says, within 4.5 binomial standard
// deviations; bootstrap intervals of 40 values are known to be somewhat narrow
// (Efron and Tibshirani 1993, section 14.3), and get 2.5 % of slack below.
func TestIntervalsCoverAsOftenAsTheySay(t *testing.T) {
	const times, level = 1000, 0.9
	normal := func(rng *rand.Rand, n int) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = 3 + rng.NormFloat64()
		}
		return out
	}
	skewed := func(rng *rand.Rand, n int) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = rng.ExpFloat64()
		}
		return out
	}
	iv := func(method string, i int) Interval {
		return Interval{Method: method, Level: level, Resamples: 199, Seed: uint64(i)}
	}
	clusteredValues := func(rng *rand.Rand) (values []float64, keys []string) {
		for g := range 20 {
			shift := rng.NormFloat64()
			for range 2 + rng.IntN(5) {
				values, keys = append(values, shift+rng.NormFloat64()), append(keys, itoa(g))
			}
		}
		return values, keys
	}
	for name, c := range map[string]struct {
		slack float64 // below the level
		more  bool    // whether it may cover more often
		trial func(*rand.Rand, int) (Estimate, float64)
	}{
		"t on 5 normal values": {trial: func(r *rand.Rand, i int) (Estimate, float64) { return must(Mean(normal(r, 5), iv(MethodT, i)))(t), 3 }},
		"bootstrap of 40 normal": {slack: 0.025, trial: func(r *rand.Rand, i int) (Estimate, float64) {
			return must(Mean(normal(r, 40), iv(MethodBootstrap, i)))(t), 3
		}},
		"BCa of 40 skewed": {slack: 0.025, trial: func(r *rand.Rand, i int) (Estimate, float64) {
			return must(Mean(skewed(r, 40), iv(MethodBCa, i)))(t), 1
		}},
		"median by order": {more: true, trial: func(r *rand.Rand, i int) (Estimate, float64) {
			return must(Median(skewed(r, 31), iv(MethodExact, i)))(t), math.Ln2
		}},
		"median by bootstrap": {slack: 0.025, more: true, trial: func(r *rand.Rand, i int) (Estimate, float64) {
			return must(Median(skewed(r, 31), iv(MethodBootstrap, i)))(t), math.Ln2
		}},
		"exact proportion": {more: true, trial: func(r *rand.Rand, i int) (Estimate, float64) {
			return must(Proportion(coins(r, 30, 0.2), iv(MethodExact, i)))(t), 0.2
		}},
		"Wilson's proportion": {slack: 0.02, more: true, trial: func(r *rand.Rand, i int) (Estimate, float64) {
			return must(Proportion(coins(r, 30, 0.2), iv(MethodWilson, i)))(t), 0.2
		}},
		"cluster sandwich": {slack: 0.025, trial: func(r *rand.Rand, i int) (Estimate, float64) {
			v, k := clusteredValues(r)
			set := iv(MethodCluster, i)
			set.Clusters = k
			return must(Mean(v, set))(t), 0
		}},
		"cluster bootstrap": {slack: 0.04, trial: func(r *rand.Rand, i int) (Estimate, float64) { // 20 clusters are few
			v, k := clusteredValues(r)
			set := iv(MethodClusterBootstrap, i)
			set.Clusters = k
			return must(Mean(v, set))(t), 0
		}},
		"ratio of sums": {slack: 0.02, trial: func(r *rand.Rand, i int) (Estimate, float64) {
			var num, den []float64
			for range 60 {
				d := float64(1 + r.IntN(30))
				num, den = append(num, 2*d+math.Sqrt(d)*r.NormFloat64()), append(den, d)
			}
			return must(Ratio(num, den, iv(MethodT, i)))(t), 2
		}},
	} {
		got := float64(covers(t, times, 11, c.trial)) / times
		sd := math.Sqrt(level * (1 - level) / times)
		if got < level-c.slack-4.5*sd || !c.more && got > level+4.5*sd {
			t.Errorf("%s: covers %.4f of the time, says %v", name, got, level)
		}
	}
	// Values that resemble each other in a cluster, taken as independent: too narrow.
	wrong := covers(t, times, 11, func(r *rand.Rand, i int) (Estimate, float64) {
		v, _ := clusteredValues(r)
		return must(Mean(v, iv(MethodT, i)))(t), 0
	})
	if wrong > 800 {
		t.Errorf("ignoring clusters covers %d times of %d; the test of clusters tells nothing", wrong, times)
	}
}

func coins(rng *rand.Rand, n int, p float64) []bool {
	out := make([]bool, n)
	for i := range out {
		out[i] = rng.Float64() < p
	}
	return out
}

// Scaling and shifting values does the same to estimate and ends, for every method.
func TestIntervalsFollowTheScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	var x, y []float64
	var keys []string
	for i := range 24 {
		v := rng.ExpFloat64()
		x, y, keys = append(x, v), append(y, 4*v-8), append(keys, itoa(i/3))
	}
	for _, m := range meanMethods {
		iv := Interval{Method: m, Seed: 5, Resamples: 199}
		if strings.HasPrefix(m, MethodCluster) {
			iv.Clusters = keys
		}
		a, b := must(Mean(x, iv))(t), must(Mean(y, iv))(t)
		near(t, m+" value", b.Value, 4*a.Value-8, 1e-12)
		near(t, m+" lo", b.Lo, 4*a.Lo-8, 1e-9)
		near(t, m+" hi", b.Hi, 4*a.Hi-8, 1e-9)
		if !(a.Lo < a.Value && a.Value < a.Hi) || a.N != 24 || a.Method != m || a.Level != 0.95 {
			t.Errorf("%s: %+v", m, a)
		}
	}
}

func TestOneValuePerClusterIsAsIndependent(t *testing.T) {
	x := []float64{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5}
	var keys []string
	for i := range x {
		keys = append(keys, itoa(i))
	}
	a, b := must(Mean(x, Interval{}))(t), must(Mean(x, Interval{Clusters: keys}))(t)
	near(t, "lo", b.Lo, a.Lo, 1e-14)
	near(t, "hi", b.Hi, a.Hi, 1e-14)
	near(t, "design effect", b.DesignEffect, 1, 1e-14)
}

func TestDuplicatedClustersAddNothing(t *testing.T) {
	x := []float64{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8}
	var many []float64
	var keys []string
	for i, v := range x {
		for range 5 {
			many, keys = append(many, v), append(keys, itoa(i))
		}
	}
	a, b := must(Mean(x, Interval{}))(t), must(Mean(many, Interval{Clusters: keys}))(t)
	near(t, "lo", b.Lo, a.Lo, 1e-12)
	near(t, "hi", b.Hi, a.Hi, 1e-12)
	d := must(Clustering(many, keys))(t)
	near(t, "ICC", d.ICC, 1, 1e-12)
	near(t, "effect", d.Effect, 5, 1e-12)
	near(t, "effective n", d.EffectiveN, 12, 1e-10)
}

func TestSameSeedSameBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	x := make([]float64, 50)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	for _, m := range []string{MethodBootstrap, MethodBCa} {
		one := must(Mean(x, Interval{Method: m, Seed: 1}))(t)
		again := must(Mean(slices.Clone(x), Interval{Method: m, Seed: 1}))(t)
		other := must(Mean(x, Interval{Method: m, Seed: 2}))(t)
		if one != again {
			t.Errorf("%s: %v, then %v", m, one, again)
		}
		if one.Lo == other.Lo {
			t.Errorf("%s: another seed gives the same end %v", m, one.Lo)
		}
	}
	// Resample b is the same whatever the number of resamples.
	value := func(index []int32) float64 { return float64(index[0])*50 + float64(index[49]) }
	few, many := resample(50, value, Interval{Seed: 3, Resamples: 99}), resample(50, value, Interval{Seed: 3, Resamples: 300})
	if !slices.Equal(few, many[:99]) {
		t.Error("the first resamples depend on how many there are")
	}
}

// An interval is never without width: it is unknown and says why.
func TestDegenerateDataHasNoInterval(t *testing.T) {
	ten := func(v float64) []float64 { return slices.Repeat([]float64{v}, 10) }
	keys := strings.Split("a a a a a b b b b b", " ")
	one := slices.Repeat([]string{"a"}, 10)
	mixed := []float64{1, 2, 3, 4, 5, 1, 2, 3, 4, 5}
	for name, e := range map[string]Estimate{
		"t of one":              must(Mean([]float64{4}, Interval{}))(t),
		"bootstrap of one":      must(Mean([]float64{4}, Interval{Method: MethodBootstrap}))(t),
		"t of equal":            must(Mean(ten(0.1), Interval{}))(t),
		"bootstrap of equal":    must(Mean(ten(0.1), Interval{Method: MethodBootstrap}))(t),
		"BCa of equal":          must(Mean(ten(0.1), Interval{Method: MethodBCa}))(t),
		"clusters of equal":     must(Mean(ten(0.1), Interval{Clusters: keys}))(t),
		"one cluster":           must(Mean(mixed, Interval{Clusters: one}))(t),
		"one cluster, drawn":    must(Mean(mixed, Interval{Clusters: one, Method: MethodClusterBootstrap}))(t),
		"clusters that agree":   must(Mean(mixed, Interval{Clusters: keys}))(t),
		"agreeing, drawn":       must(Mean(mixed, Interval{Clusters: keys, Method: MethodClusterBootstrap}))(t),
		"median of one":         must(Median([]float64{4}, Interval{}))(t),
		"median of equal":       must(Median(ten(4), Interval{Method: MethodBootstrap}))(t),
		"ratio of nearly equal": must(Ratio([]float64{0.1 + 0.1 + 0.1, 0.5, 0.7}, []float64{3, 5, 7}, Interval{}))(t),
		"ratio of equal":        must(Ratio([]float64{2, 4, 8}, []float64{1, 2, 4}, Interval{}))(t),
		"perplexity of one":     must(Perplexity([]float64{30}, []float64{10}, Interval{}))(t),
		"difference of equal":   must(WelchInterval(ten(1), ten(2), 0.95))(t),
	} {
		if !math.IsNaN(e.Lo) || !math.IsNaN(e.Hi) || e.Note == "" || math.IsNaN(e.Value) {
			t.Errorf("%s: %+v", name, e)
		}
	}
	e := must(Median([]float64{1, 2, 2, 2, 2, 2, 2, 2, 3}, Interval{}))(t)
	if e.Lo != 2 || e.Hi != 2 || e.Note == "" {
		t.Errorf("ties: %+v", e)
	}
}

func TestIntervalsRefuse(t *testing.T) {
	two := []float64{1, 2}
	for name, c := range map[string]struct {
		err  error
		part string
	}{
		"no values":              {second(Mean(nil, Interval{})), "0 values"},
		"NaN":                    {second(Mean([]float64{1, math.NaN()}, Interval{})), "value 1 is NaN"},
		"infinity":               {second(Median([]float64{math.Inf(1), 1}, Interval{})), "value 0 is +Inf"},
		"a misspelt method":      {second(Mean(two, Interval{Method: "bootstrp"})), `did you mean "bootstrap"`},
		"wilson of numbers":      {second(Mean(two, Interval{Method: MethodWilson})), "value 1 = 2"},
		"level 95":               {second(Mean(two, Interval{Level: 95})), "level = 95"},
		"level NaN":              {second(Proportion([]bool{true}, Interval{Level: math.NaN()})), "level = NaN"},
		"few resamples":          {second(Mean(two, Interval{Resamples: 3})), "resamples = 3"},
		"too many draws":         {second(Mean(make([]float64, 2000), Interval{Method: MethodBootstrap, Resamples: 1e6})), "more than 536870912 draws"},
		"clusters of other size": {second(Mean(two, Interval{Clusters: []string{"a"}})), "1 clusters for 2 values"},
		"cluster without":        {second(Mean(two, Interval{Method: MethodCluster})), "without clusters"},
		"t with clusters":        {second(Mean(two, Interval{Method: MethodT, Clusters: []string{"a", "b"}})), "as independent"},
		"bca of a median":        {second(Median(two, Interval{Method: MethodBCa})), "unknown interval method"},
		"quantile 1":             {second(Quantile(two, 1, Interval{})), "q = 1"},
		"a denominator of 0":     {second(Ratio(two, []float64{1, 0}, Interval{})), "denominator 1 is 0"},
		"unequal lengths":        {second(Ratio(two, []float64{1}, Interval{})), "2 numerators and 1"},
		"4 hits of 3":            {second(ProportionOf(4, 3, Interval{})), "4 hits among 3"},
		"no coins":               {second(Proportion(nil, Interval{})), "no values"},
		"clustering of singles":  {second(Clustering(two, []string{"a", "b"})), "has one value"},
		"clustering of one":      {second(Clustering(two, []string{"a", "a"})), "one cluster"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.part) {
			t.Errorf("%s: %v, want %q", name, c.err, c.part)
		}
	}
}

func TestWilsonAndItsIdentities(t *testing.T) {
	var in struct{ Cases [][2]int }
	var want struct{ CI95 [][]float64 }
	tol := identity(t, "ID-29", &in, &want)
	for i, c := range in.Cases {
		e := must(ProportionOf(c[0], c[1], Interval{}))(t)
		nearPair(t, fmt.Sprint(c), e.Lo, e.Hi, want.CI95[i], tol)
		if math.Signbit(e.Lo) {
			t.Errorf("%v: a negative zero", c)
		}
	}
	for n := 1; n < 40; n++ {
		for k := 0; k <= n; k++ {
			w := must(ProportionOf(k, n, Interval{}))(t)
			x := must(ProportionOf(k, n, Interval{Method: MethodExact}))(t)
			mirror := must(ProportionOf(n-k, n, Interval{Method: MethodExact}))(t)
			near(t, "exact is symmetric", x.Lo, 1-mirror.Hi, 1e-9) // two inversions of the beta distribution
			// The ends solve the binomial tails of 2.5 %, and Wilson's the score equation.
			if k > 0 {
				near(t, "upper tail", 1-binomialCDF(k-1, n, x.Lo), 0.025, 1e-9)
			}
			if w.Lo > 0 {
				p := float64(k) / float64(n)
				near(t, "score", (p-w.Lo)/math.Sqrt(w.Lo*(1-w.Lo)/float64(n)), 1.959963984540054, 1e-7)
			}
			if !(w.Lo <= w.Value && w.Value <= w.Hi && x.Lo <= x.Value && x.Value <= x.Hi && x.Hi <= 1 && x.Lo >= 0) {
				t.Errorf("%d/%d: %v %v", k, n, w, x)
			}
		}
	}
}

func TestEstimateInJSON(t *testing.T) {
	e := must(Mean([]float64{2}, Interval{}))(t)
	got, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"value":2,"lo":null,"hi":null,"n":1,"level":0.95,"method":"t","note":"` + noteOne + `"}`; string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
}
