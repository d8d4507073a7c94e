package measure

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"
)

// load reads a file of testdata; reference.json is written by reference.py there.
func load(t testing.TB, name string, into any) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

func near(t testing.TB, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s = %.17g, want %.17g within %g", what, got, want, tol)
	}
}

func nearPair(t testing.TB, what string, lo, hi float64, want []float64, tol float64) {
	t.Helper()
	near(t, what+" lo", lo, want[0], tol)
	near(t, what+" hi", hi, want[1], tol)
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestSelfBLEUIsThatOfNLTK(t *testing.T) {
	var ref struct {
		SelfBLEU struct {
			Texts  [][]int
			Scores map[string][]float64
		} `json:"self_bleu"`
	}
	load(t, "reference.json", &ref)
	if len(ref.SelfBLEU.Scores) != 5 {
		t.Fatal("the file lacks scores")
	}
	for name, want := range ref.SelfBLEU.Scores {
		n, _ := strconv.Atoi(name)
		got := must(SelfBLEU(ref.SelfBLEU.Texts, n))(t)
		for i := range want {
			near(t, fmt.Sprintf("BLEU-%d of text %d", n, i), got[i], want[i], 1e-12) // a few logarithms
		}
	}
}

func TestZipfExponentsAreThoseOfSciPy(t *testing.T) {
	var ref struct {
		Zipf []struct {
			Counts          []int
			Regression, MLE float64
		}
	}
	load(t, "reference.json", &ref)
	for i, row := range ref.Zipf {
		shuffled := slices.Clone(row.Counts)
		slices.Reverse(shuffled)
		near(t, fmt.Sprintf("regression %d", i), must(ZipfRegression(shuffled))(t), row.Regression, 1e-12)
		near(t, fmt.Sprintf("mle %d", i), must(ZipfMLE(shuffled))(t), row.MLE, 1e-5) // what a minimiser without derivatives finds
	}
}

func TestIntervalsAreThoseOfSciPy(t *testing.T) {
	var ref struct {
		Mean struct {
			X, T95, T80, Percentile90, BCa90, Replicates []float64
		}
		Ratio struct {
			Den, T95 []float64
			Value    float64
		}
		Proportions []struct {
			K, N                                 int
			Wilson95, Wilson80, Exact95, Exact80 []float64
		}
		Quantiles []struct {
			X       []float64
			Q       float64
			Value   float64
			Exact95 []*float64
		}
	}
	load(t, "reference.json", &ref)
	const tol = 1e-9 // quantiles of t and beta agree to about 1e-11
	x := ref.Mean.X
	e := must(Mean(x, Interval{}))(t)
	nearPair(t, "t 95", e.Lo, e.Hi, ref.Mean.T95, tol)
	e = must(Mean(x, Interval{Level: 0.8}))(t)
	nearPair(t, "t 80", e.Lo, e.Hi, ref.Mean.T80, tol)

	base := unknown(mean(x), len(x), 0.9, MethodBootstrap)
	p := base.percentiles(slices.Clone(ref.Mean.Replicates), 0.05, 0.95)
	nearPair(t, "percentile", p.Lo, p.Hi, ref.Mean.Percentile90, 1e-12)
	without := make([]float64, len(x))
	for i := range x {
		without[i] = (sum(x) - x[i]) / float64(len(x)-1)
	}
	lo, hi, ok := bcaLevels(mean(x), ref.Mean.Replicates, without, 0.9)
	if !ok {
		t.Fatal("BCa is undefined")
	}
	p = base.percentiles(slices.Clone(ref.Mean.Replicates), lo, hi)
	nearPair(t, "bca", p.Lo, p.Hi, ref.Mean.BCa90, tol)

	e = must(Ratio(x, ref.Ratio.Den, Interval{}))(t)
	near(t, "ratio", e.Value, ref.Ratio.Value, 1e-12)
	nearPair(t, "ratio t 95", e.Lo, e.Hi, ref.Ratio.T95, tol)

	for _, row := range ref.Proportions {
		for _, c := range []struct {
			method string
			level  float64
			want   []float64
		}{{MethodWilson, 0.95, row.Wilson95}, {MethodWilson, 0.8, row.Wilson80}, {MethodExact, 0.95, row.Exact95}, {MethodExact, 0.8, row.Exact80}} {
			e := must(ProportionOf(row.K, row.N, Interval{Method: c.method, Level: c.level}))(t)
			nearPair(t, fmt.Sprintf("%s %v of %d/%d", c.method, c.level, row.K, row.N), e.Lo, e.Hi, c.want, tol)
		}
	}
	for _, row := range ref.Quantiles {
		e := must(Quantile(row.X, row.Q, Interval{}))(t)
		what := fmt.Sprintf("quantile %v of %d", row.Q, len(row.X))
		near(t, what, e.Value, row.Value, 1e-12)
		for i, end := range []float64{e.Lo, e.Hi} {
			if row.Exact95[i] == nil {
				if !math.IsNaN(end) || e.Note == "" {
					t.Errorf("%s: end %d = %v with note %q, want none", what, i, end, e.Note)
				}
				continue
			}
			near(t, what+" end "+itoa(i), end, *row.Exact95[i], 0) // the same order statistic
		}
	}
}

func TestClusterIntervalIsThatOfStatsmodels(t *testing.T) {
	var ref struct {
		Cluster struct {
			Y, T95       []float64
			Groups       []string
			DesignEffect float64 `json:"design_effect"`
			ICC, Kish    float64
		}
	}
	load(t, "reference.json", &ref)
	c := ref.Cluster
	e := must(Mean(c.Y, Interval{Clusters: c.Groups}))(t)
	nearPair(t, "cluster", e.Lo, e.Hi, c.T95, 1e-9)
	near(t, "design effect", e.DesignEffect, c.DesignEffect, 1e-9)
	d := must(Clustering(c.Y, c.Groups))(t)
	near(t, "ICC", d.ICC, c.ICC, 1e-12)
	near(t, "Kish's effect", d.Effect, c.Kish, 1e-12)
	near(t, "effective n", d.EffectiveN, 60/c.Kish, 1e-10)
	if e.Method != MethodCluster || e.Clusters != d.Clusters {
		t.Errorf("method %q over %d clusters", e.Method, e.Clusters)
	}
}

func TestPairedTestsAreThoseOfSciPy(t *testing.T) {
	var ref struct {
		Pairs []struct {
			A, B         []float64
			T            float64
			TP           float64  `json:"t_p"`
			SignP        float64  `json:"sign_p"`
			WilcoxonP    *float64 `json:"wilcoxon_p"`
			PermutationP *float64 `json:"permutation_p"`
			Corr         float64
		}
		McNemar []struct {
			B, C int
			P    float64
		}
	}
	load(t, "reference.json", &ref)
	wilcoxon, permuted := 0, 0
	for i, row := range ref.Pairs {
		p := Pairs{A: row.A, B: row.B}
		what := fmt.Sprintf("pairs %d: ", i)
		got := must(PairedT(p))(t)
		near(t, what+"t", got.Statistic, row.T, 1e-9)
		near(t, what+"p of t", got.P, row.TP, 1e-10)
		near(t, what+"p of sign", must(SignTest(p))(t).P, row.SignP, 1e-10)
		near(t, what+"correlation", must(ComparePairs(p, Interval{}))(t).Correlation, row.Corr, 1e-12)
		// Differences of rounded values tie only when they are rounded again.
		d := make([]float64, len(row.A))
		for j := range d {
			d[j] = math.Round((row.A[j]-row.B[j])*1e6) / 1e6
		}
		tied := Pairs{A: d, B: make([]float64, len(d))}
		if row.WilcoxonP != nil {
			wilcoxon++
			near(t, what+"p of wilcoxon", must(SignedRank(tied))(t).P, *row.WilcoxonP, 1e-10)
		}
		if row.PermutationP != nil {
			permuted++
			near(t, what+"p of permutation", must(PermutePairs(tied, 0, 1))(t).P, *row.PermutationP, 1e-12)
		}
	}
	if wilcoxon < 3 || permuted < 2 {
		t.Errorf("%d and %d rows were compared", wilcoxon, permuted)
	}
	if len(ref.McNemar) != 5 {
		t.Fatalf("%d rows of mcnemar", len(ref.McNemar))
	}
	for _, row := range ref.McNemar {
		a, b := make([]bool, 20+row.B+row.C), make([]bool, 20+row.B+row.C)
		for i := range row.B {
			a[i] = true
		}
		for i := range row.C {
			b[row.B+i] = true
		}
		near(t, fmt.Sprintf("mcnemar %d %d", row.B, row.C), must(McNemar(a, b))(t).P, row.P, 1e-12)
	}
}

func TestGroupTestsAreThoseOfSciPy(t *testing.T) {
	var ref struct {
		Groups []struct {
			A, B, Welch90 []float64
			T, DF, U      float64
			TP            float64  `json:"t_p"`
			UP            *float64 `json:"u_p"`
			PermutationP  *float64 `json:"permutation_p"`
		}
	}
	load(t, "reference.json", &ref)
	permuted := 0
	for i, row := range ref.Groups {
		what := fmt.Sprintf("groups %d: ", i)
		w := must(Welch(row.A, row.B))(t)
		near(t, what+"t", w.Statistic, row.T, 1e-10)
		near(t, what+"df", w.DF, row.DF, 1e-9)
		near(t, what+"p of t", w.P, row.TP, 1e-10)
		e := must(WelchInterval(row.A, row.B, 0.9))(t)
		nearPair(t, what+"welch", e.Lo, e.Hi, row.Welch90, 1e-9)
		u := must(MannWhitney(row.A, row.B))(t)
		near(t, what+"U", u.Statistic, row.U, 0)
		if row.UP != nil {
			near(t, what+"p of U", u.P, *row.UP, 1e-10)
		}
		if row.PermutationP != nil {
			permuted++
			p := must(PermuteGroups(row.A, row.B, 0, 1))(t)
			near(t, what+"p of permutation", p.P, *row.PermutationP, 1e-12)
			if !p.Exact {
				t.Error(what + "the permutations were drawn")
			}
		}
	}
	if permuted < 2 {
		t.Errorf("%d rows were permuted", permuted)
	}
}

func TestAdjustmentsAndPowerAreThoseOfStatsmodels(t *testing.T) {
	var ref struct {
		Many  struct{ P, Holm, BH []float64 }
		Power []struct {
			D, Alpha, Paired, Groups float64
			N                        int
		}
		Needed []struct {
			D, Power       float64
			Paired, Groups int
		}
	}
	load(t, "reference.json", &ref)
	holm, bh := must(Holm(ref.Many.P))(t), must(BenjaminiHochberg(ref.Many.P))(t)
	for i := range ref.Many.P {
		near(t, "holm "+itoa(i), holm[i], ref.Many.Holm[i], 1e-14)
		near(t, "bh "+itoa(i), bh[i], ref.Many.BH[i], 1e-14)
	}
	for _, row := range ref.Power {
		// A correlation of 1/2 makes the deviation of differences SD itself.
		paired := must(PowerOf(Plan{Difference: row.D, SD: 1, Paired: true, Correlation: 0.5, Alpha: row.Alpha}, row.N))(t)
		groups := must(PowerOf(Plan{Difference: -row.D, SD: 1, Alpha: row.Alpha}, row.N))(t)
		near(t, fmt.Sprintf("paired power %+v", row), paired, row.Paired, 1e-8) // what their noncentral t is good for
		near(t, fmt.Sprintf("power of groups %+v", row), groups, row.Groups, 1e-8)
	}
	for _, row := range ref.Needed {
		if n := must(NeededN(Plan{Difference: row.D, SD: 1, Paired: true, Correlation: 0.5, Power: row.Power}))(t); n != row.Paired {
			t.Errorf("%+v: %d pairs", row, n)
		}
		if n := must(NeededN(Plan{Difference: row.D, SD: 1, Power: row.Power}))(t); n != row.Groups {
			t.Errorf("%+v: %d per group", row, n)
		}
	}
}
