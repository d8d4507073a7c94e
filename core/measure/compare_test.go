package measure

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestPairingUndoesSharedNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 5))
	var p Pairs
	for range 4000 {
		shared := rng.NormFloat64()
		p.A, p.B = append(p.A, 1+2*shared+rng.NormFloat64()), append(p.B, 2*shared+rng.NormFloat64())
	}
	c := must(ComparePairs(p, Interval{}))(t)
	// Var A = Var B = 5, Var(A-B) = 2, correlation 4/5; 4,000 values know them to about 5 %.
	near(t, "correlation", c.Correlation, 0.8, 0.03)
	near(t, "reduction", c.VarianceReduction, 0.8, 0.03)
	near(t, "factor", c.Factor, 5, 0.4)
	near(t, "reduction and factor", c.Factor*(1-c.VarianceReduction), 1, 1e-12)
	near(t, "variances", c.VarDifference, c.VarA+c.VarB-2*c.Correlation*math.Sqrt(c.VarA*c.VarB), 1e-10)
	near(t, "the same difference", c.Unpaired.Value, c.Difference.Value, 1e-12)
	ratio := (c.Unpaired.Hi - c.Unpaired.Lo) / (c.Difference.Hi - c.Difference.Lo)
	near(t, "width ratio", ratio*ratio, c.Factor, 0.01) // t on other degrees of freedom
}

func TestComparisonOfEqualSettings(t *testing.T) {
	x := []float64{1, 2, 3}
	c := must(ComparePairs(Pairs{A: x, B: x}, Interval{}))(t)
	if c.VarianceReduction != 1 || !math.IsInf(c.Factor, 1) || !math.IsNaN(c.Difference.Lo) || c.Difference.Note == "" {
		t.Errorf("%+v", c)
	}
	for _, name := range []string{"t", "wilcoxon", "sign"} {
		if r := must(TestPairs(name, Pairs{A: x, B: x}, 0, 0))(t); !math.IsNaN(r.P) || r.Note == "" {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := must(TestPairs("permutation", Pairs{A: x, B: x}, 0, 0))(t); r.P != 1 {
		t.Errorf("permutation: %+v", r)
	}
	if r := must(MannWhitney(x, x))(t); r.P != 1 {
		t.Errorf("mann-whitney: %+v", r)
	}
	flat := []float64{4, 4, 4}
	if r := must(Welch(flat, flat))(t); !math.IsNaN(r.P) || r.Note == "" {
		t.Errorf("welch: %+v", r)
	}
}

func TestMatchKeys(t *testing.T) {
	p := must(MatchKeys(map[string]float64{"b": 2, "a": 1, "x": 9}, map[string]float64{"a": 10, "b": 20, "y": 8, "z": 7}))(t)
	if fmt.Sprint(p) != "{[1 2] [10 20] 1 2}" {
		t.Error(p)
	}
	if _, err := MatchKeys(map[int]float64{1: 1}, map[int]float64{2: 1}); err == nil {
		t.Error("no common key is accepted")
	}
}

// Exchanging the sides changes no p, and turns the statistic round.
func TestTestsAreSymmetric(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	for range 60 {
		var p, back Pairs
		for range 3 + rng.IntN(12) {
			p.A, p.B = append(p.A, float64(rng.IntN(6))), append(p.B, float64(rng.IntN(6)))
		}
		back.A, back.B = p.B, p.A
		for _, name := range []string{"t", "wilcoxon", "sign", "permutation"} {
			a, b := must(TestPairs(name, p, 0, 1))(t), must(TestPairs(name, back, 0, 1))(t)
			if !(math.Abs(a.P-b.P) <= 1e-12) && !(math.IsNaN(a.P) && math.IsNaN(b.P)) {
				t.Errorf("%s of %v: %v and %v", name, p, a.P, b.P)
			}
		}
		for _, name := range []string{"welch", "mann_whitney", "permutation"} {
			a, b := must(TestGroups(name, p.A, p.B, 0, 1))(t), must(TestGroups(name, p.B, p.A, 0, 1))(t)
			if name == "permutation" && !a.Exact {
				continue // other draws for other places
			}
			if !(math.Abs(a.P-b.P) <= 1e-12) && !(math.IsNaN(a.P) && math.IsNaN(b.P)) {
				t.Errorf("%s of %v: %v and %v", name, p, a.P, b.P)
			}
		}
	}
}

// Without a difference, p is at most alpha in at most alpha of the trials, up to
// 4.5 binomial deviations: the law of every test.
func TestTestsKeepTheirLevel(t *testing.T) {
	const times, alpha = 1000, 0.05
	limit := alpha*times + 4.5*math.Sqrt(times*alpha*(1-alpha))
	hits := map[string]int{}
	rng := rand.New(rand.NewPCG(6, 6))
	for i := range times {
		var p Pairs
		for range 20 {
			p.A, p.B = append(p.A, rng.NormFloat64()), append(p.B, rng.NormFloat64())
		}
		for _, name := range []string{"t", "wilcoxon", "sign", "permutation"} {
			if must(TestPairs(name, p, 199, uint64(i)))(t).P <= alpha {
				hits["paired "+name]++
			}
		}
		for _, name := range []string{"welch", "mann_whitney", "permutation"} {
			if must(TestGroups(name, p.A, p.B, 199, uint64(i)))(t).P <= alpha {
				hits["groups "+name]++
			}
		}
		looks := must(UntilSignificant(p, true, 2, alpha))(t)
		if looks.Naive > 0 {
			hits["peeking"]++
		}
		if looks.Corrected > 0 {
			hits["corrected peeking"]++
		}
	}
	for name, n := range hits {
		if name != "peeking" && float64(n) > limit {
			t.Errorf("%s: %d of %d", name, n, times)
		}
		if name == "peeking" && float64(n) < 2*alpha*times {
			t.Errorf("peeking over 5 looks finds only %d of %d", n, times)
		}
	}
	if len(hits) != 9 {
		t.Errorf("%d tests ever found anything: %v", len(hits), hits)
	}
}

// Drawn permutations agree with all of them.
func TestDrawnPermutationsNearTheExactOnes(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 7))
	var p Pairs
	for range 17 {
		p.A, p.B = append(p.A, rng.NormFloat64()+0.5), append(p.B, rng.NormFloat64())
	}
	exact := must(PermutePairs(p, 0, 0))(t)
	// Eighteen values make the same test drawn: the added pair differs by 0.
	more := Pairs{A: append(append([]float64{}, p.A...), 1), B: append(append([]float64{}, p.B...), 1)}
	drawn := must(PermutePairs(more, 20_000, 4))(t)
	if !exact.Exact || drawn.Exact {
		t.Fatalf("%+v %+v", exact, drawn)
	}
	near(t, "pairs", drawn.P, exact.P, 5*math.Sqrt(exact.P*(1-exact.P)/20_000)) // 5 standard errors
	a, b := p.A[:8], p.B[:9]                                                    // 24,310 ways
	every := must(PermuteGroups(a, b, 0, 0))(t)
	hits := 0
	const times = 4000
	order := append(append([]float64{}, a...), b...)
	for range times {
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		if math.Abs(mean(order[:8])-mean(order[8:])) >= math.Abs(every.Statistic)-1e-12 {
			hits++
		}
	}
	near(t, "groups", float64(hits)/times, every.P, 5*math.Sqrt(every.P*(1-every.P)/times))
	if again := must(PermutePairs(more, 20_000, 4))(t); again != drawn {
		t.Error("the same seed gives another p")
	}
}

func TestAdjustmentsAreOrdered(t *testing.T) {
	p := []float64{0.04, 0.001, 0.03, 0.5, 1, 0}
	holm, bh := must(Holm(p))(t), must(BenjaminiHochberg(p))(t)
	for i := range p {
		if !(p[i] <= bh[i] && bh[i] <= holm[i] && holm[i] <= 1) {
			t.Errorf("p = %v: BH %v, Holm %v", p[i], bh[i], holm[i])
		}
	}
	if one := must(Holm([]float64{0.3}))(t); one[0] != 0.3 {
		t.Error(one)
	}
	if none := must(BenjaminiHochberg(nil))(t); len(none) != 0 {
		t.Error(none)
	}
}

func TestExpectedBestOfEqualSettings(t *testing.T) {
	var in struct{ K []int }
	var want struct {
		E []float64 `json:"e_max"`
	}
	tol := identity(t, "ID-30", &in, &want)
	for i, k := range in.K {
		near(t, fmt.Sprint(k), ExpectedBest(k), want.E[i], tol)
	}
	near(t, "one", ExpectedBest(1), 0, 0)
	near(t, "three", ExpectedBest(3), 1.5/math.Sqrt(math.Pi), 1e-12)
	if !math.IsNaN(ExpectedBest(0)) {
		t.Error("the best of none has an expectation")
	}
}

// Among equal settings the naive value is too good by what is predicted, and each
// correction takes most of it back.
func TestTheWinnersCurseIsCorrected(t *testing.T) {
	const times, cellsN, n = 600, 8, 16
	rng := rand.New(rand.NewPCG(4, 4))
	var naive, predicted float64
	corrected := map[string]float64{}
	for i := range times {
		cells := make([][]float64, cellsN)
		for j := range cells {
			for range n {
				cells[j] = append(cells[j], 5+rng.NormFloat64())
			}
		}
		for _, c := range []string{CorrectSplit, CorrectBootstrap, CorrectShrink} {
			b := must(BestOf(cells, false, c, Interval{Seed: uint64(i), Resamples: 99}))(t)
			corrected[c] += (b.Corrected.Value - 5) / times
			if c == CorrectSplit {
				naive += (b.Naive.Value - 5) / times
				predicted += b.ByChance / times
			}
		}
	}
	se := 0.25 / math.Sqrt(times) // of a mean of n values, over times trials: about 0.01
	near(t, "naive bias", naive, ExpectedBest(cellsN)/4, 5*se)
	near(t, "predicted bias", predicted, ExpectedBest(cellsN)/4, 0.02)
	near(t, "split", corrected[CorrectSplit], 0, 5*se*math.Sqrt2)
	if v := corrected[CorrectBootstrap]; !(v < 0.5*naive) {
		t.Errorf("bootstrap leaves %v of %v", v, naive)
	}
	if v := corrected[CorrectShrink]; !(v < 0.5*naive) {
		t.Errorf("shrinkage leaves %v of %v", v, naive)
	}
}

func TestBestOfFindsTheBest(t *testing.T) {
	cells := [][]float64{{1, 2, 1, 2}, {9, 8, 9, 8}, {3, 4, 3, 4}, {0, 1, 0, 1}}
	high := must(BestOf(cells, false, "", Interval{}))(t)
	low := must(BestOf(cells, true, CorrectShrink, Interval{}))(t)
	if high.Cell != 1 || high.SplitCell != 1 || high.Naive.Value != 8.5 || high.Note == "" || high.ByChance <= 0 {
		t.Errorf("%+v", high)
	}
	if low.Cell != 3 || !(low.Corrected.Value > low.Naive.Value) || low.ByChance >= 0 {
		t.Errorf("%+v", low)
	}
	mirrored := make([][]float64, len(cells))
	for j, c := range cells {
		for _, v := range c {
			mirrored[j] = append(mirrored[j], -v)
		}
	}
	for _, c := range []string{CorrectSplit, CorrectBootstrap, CorrectShrink} {
		a, b := must(BestOf(cells, false, c, Interval{Seed: 2}))(t), must(BestOf(mirrored, true, c, Interval{Seed: 2}))(t)
		near(t, c+" mirrored", b.Corrected.Value, -a.Corrected.Value, 1e-12)
	}
}

func TestPowerBySimulation(t *testing.T) {
	plan := Plan{Difference: 0.7, SD: 1.4, Paired: true, Correlation: 0.6}
	n := must(NeededN(plan))(t)
	if at, before := must(PowerOf(plan, n))(t), must(PowerOf(plan, n-1))(t); !(at >= 0.8 && before < 0.8) {
		t.Fatalf("power %v at %d, %v before", at, n, before)
	}
	pairs := must(NeededN(Plan{Difference: 0.1, SD: 1.4, Paired: true, Correlation: 0.6}))(t)
	groups := must(NeededN(Plan{Difference: 0.1, SD: 1.4}))(t)
	near(t, "values per group over pairs", float64(groups)/float64(pairs), 2.5, 0.01) // 1/(1 - 0.6), but for degrees of freedom
	rng := rand.New(rand.NewPCG(9, 1))
	const times = 2000
	found := 0
	for range times {
		var p Pairs
		for range n {
			x, y := rng.NormFloat64(), rng.NormFloat64()
			p.A, p.B = append(p.A, 0.7+1.4*x), append(p.B, 1.4*(0.6*x+0.8*y))
		}
		if must(PairedT(p))(t).P <= 0.05 {
			found++
		}
	}
	near(t, "found", float64(found)/times, must(PowerOf(plan, n))(t), 4.5*math.Sqrt(0.16/times)) // 4.5 standard errors
}

func TestLooksDouble(t *testing.T) {
	var p Pairs
	for i := range 100 {
		p.A, p.B = append(p.A, float64(i%7)+1), append(p.B, float64(i%5))
	}
	for first, want := range map[int]string{10: "[10 20 40 80 100]", 100: "[100]", 50: "[50 100]", 64: "[64 100]"} {
		got := must(UntilSignificant(p, false, first, 0))(t)
		if fmt.Sprint(got.N) != want || len(got.P) != len(got.N) || got.Threshold*float64(len(got.N)) != 0.05 || !strings.Contains(got.Note, "peeking") {
			t.Errorf("first %d: %+v", first, got)
		}
	}
}

func TestComparisonsRefuse(t *testing.T) {
	two := []float64{1, 2}
	nan := Pairs{A: []float64{1, 2, 3}, B: []float64{1, 2, math.NaN()}}
	four := []float64{1, 2, 3, 4}
	for name, c := range map[string]struct {
		err  error
		part string
	}{
		"no pairs":                 {second(PairedT(Pairs{})), "0 values"},
		"unequal sides":            {second(SignedRank(Pairs{A: two, B: two[:1]})), "2 values and 1 values"},
		"NaN in b":                 {second(ComparePairs(nan, Interval{})), "b: value 2 is NaN"},
		"NaN in a group":           {second(MannWhitney(two, nan.B)), "b: value 2 is NaN"},
		"one value for welch":      {second(Welch(two, two[:1])), "1 values"},
		"an unknown paired test":   {second(TestPairs("wilcox", nan, 0, 0)), `did you mean "wilcoxon"`},
		"an unknown group test":    {second(TestGroups("welsh", two, two, 0, 0)), `did you mean "welch"`},
		"few permutations":         {second(PermutePairs(Pairs{A: two, B: two}, 5, 0)), "resamples = 5"},
		"mcnemar of other lengths": {second(McNemar([]bool{true}, nil)), "1 values and 0"},
		"mcnemar of none":          {second(McNemar(nil, nil)), "no pairs"},
		"p above 1":                {second(Holm([]float64{0.1, 1.5})), "value 1 is 1.5"},
		"p NaN":                    {second(BenjaminiHochberg([]float64{math.NaN()})), "value 0 is NaN"},
		"best of one":              {second(BestOf([][]float64{four}, false, "", Interval{})), "1 cells"},
		"best of short cells":      {second(BestOf([][]float64{four, two}, false, "", Interval{})), "cell 1"},
		"shrinking two":            {second(BestOf([][]float64{four, four}, false, CorrectShrink, Interval{})), "2 cells"},
		"an unknown correction":    {second(BestOf([][]float64{four, four}, false, "splt", Interval{})), `did you mean "split"`},
		"no difference":            {second(NeededN(Plan{SD: 1})), "difference = 0"},
		"no deviation":             {second(NeededN(Plan{Difference: 1})), "sd = 0"},
		"a correlation of 1":       {second(NeededN(Plan{Difference: 1, SD: 1, Paired: true, Correlation: 1})), "correlation = 1"},
		"unpaired correlation":     {second(NeededN(Plan{Difference: 1, SD: 1, Correlation: 0.5})), "without pairs"},
		"a tiny difference":        {second(NeededN(Plan{Difference: 1e-9, SD: 1})), "needs more than"},
		"power of one":             {second(PowerOf(Plan{Difference: 1, SD: 1}, 1)), "n = 1"},
		"power 1":                  {second(NeededN(Plan{Difference: 1, SD: 1, Power: 1})), "power = 1"},
		"a first look at all":      {second(UntilSignificant(Pairs{A: two, B: two}, true, 3, 0)), "first = 3"},
		"alpha 5":                  {second(UntilSignificant(Pairs{A: two, B: two}, true, 2, 5)), "alpha = 5"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.part) {
			t.Errorf("%s: %v, want %q", name, c.err, c.part)
		}
	}
}
