package measure

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
)

// identity reads the inputs and expected values of one item of identities.json.
func identity(t *testing.T, id string, in, want any) (tol float64) {
	t.Helper()
	var file struct {
		Items []struct {
			ID               string
			Inputs, Expected json.RawMessage
			AbsTol           float64 `json:"abs_tol"`
		}
	}
	load(t, "identities.json", &file)
	for _, it := range file.Items {
		if it.ID != id {
			continue
		}
		if err := json.Unmarshal(it.Inputs, in); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(it.Expected, want); err != nil {
			t.Fatal(err)
		}
		return it.AbsTol
	}
	t.Fatalf("no item %s", id)
	return 0
}

func TestDistinctHasTwoDefinitions(t *testing.T) {
	var in struct {
		Tokens []string
		N      []int
	}
	var want struct {
		Unique []float64 `json:"unique_ratio"`
		Once   []float64 `json:"singleton_ratio"`
	}
	tol := identity(t, "ID-25", &in, &want)
	for i, n := range in.N {
		near(t, "distinct", must(Distinct(in.Tokens, n))(t), want.Unique[i], tol)
		near(t, "once", must(Once(in.Tokens, n))(t), want.Once[i], tol)
		near(t, "pooled over one text", must(PooledDistinct([][]string{in.Tokens}, n))(t), want.Unique[i], tol)
	}
	near(t, "type-token", must(TypeToken(in.Tokens))(t), want.Unique[0], tol)
}

func TestRepetitionRatesAndDiversity(t *testing.T) {
	var in struct{ Tokens []string }
	var want struct {
		Rep       []float64
		Diversity float64
	}
	tol := identity(t, "ID-26", &in, &want)
	for i, w := range want.Rep {
		near(t, "seq-rep", must(SeqRep(in.Tokens, i+2))(t), w, tol)
	}
	near(t, "diversity", must(Diversity(in.Tokens))(t), want.Diversity, tol)
}

func TestLoopOfADeterministicChain(t *testing.T) {
	var in struct {
		Next  map[string]int
		Start int
	}
	var want struct {
		Tail  int `json:"tail_length"`
		Cycle int `json:"cycle_length"`
	}
	identity(t, "ID-15", &in, &want)
	path := []int{in.Start}
	for len(path) < 3+3*2 {
		path = append(path, in.Next[fmt.Sprint(path[len(path)-1])])
	}
	if got := must(FindLoop(path, 3))(t); got != (Loop{Period: want.Cycle, Repeats: 3, Start: want.Tail}) {
		t.Errorf("%v of %v", got, path)
	}
}

func TestPassAtKIsUnbiased(t *testing.T) {
	var in struct {
		Cases [][3]int
		Q     float64
		N, K  int
	}
	var want struct {
		Pass []float64 `json:"pass_at_k"`
		True float64
	}
	tol := identity(t, "ID-20", &in, &want)
	for i, c := range in.Cases {
		near(t, fmt.Sprint(c), must(PassAtK(c[0], c[1], c[2]))(t), want.Pass[i], tol)
	}
	expected := 0.0
	for c := 0; c <= in.N; c++ {
		p := binomialCDF(c, in.N, in.Q) - binomialCDF(c-1, in.N, in.Q)
		expected += p * must(PassAtK(in.N, c, in.K))(t)
	}
	near(t, "expectation over the binomial", expected, want.True, tol)
	// C(1e6, 5e5) overflows every float; the product does not. To first order 1 - (1-c/n)^k.
	near(t, "a million samples", must(PassAtK(1_000_000, 10, 500_000))(t), 1-math.Pow(0.5, 10), 1e-4)
}

func TestZipfIdentitiesAndAPowerLaw(t *testing.T) {
	var in struct {
		A []int `json:"counts_a"`
		B []int `json:"counts_b"`
	}
	var want struct{ A, B float64 }
	tol := identity(t, "ID-24", &in, &want)
	near(t, "a", must(ZipfRegression(in.A))(t), want.A, tol)
	near(t, "b", must(ZipfRegression(in.B))(t), want.B, tol)
	var law []int
	for r := 1; r <= 300; r++ {
		law = append(law, int(math.Round(1e9/math.Pow(float64(r), 1.2))))
	}
	near(t, "regression of 1.2", must(ZipfRegression(law))(t), 1.2, 1e-6) // counts are rounded to 1e-6 of them
	near(t, "mle of 1.2", must(ZipfMLE(law))(t), 1.2, 1e-6)
}

func TestPerplexityPoolsTokens(t *testing.T) {
	var in struct {
		Corpus [][]float64
	}
	var want struct {
		Pooled float64 `json:"pooled_ppl"`
	}
	tol := identity(t, "ID-27", &in, &want)
	var bits, tokens []float64
	for _, text := range in.Corpus {
		bits, tokens = append(bits, -sum(text)/math.Ln2), append(tokens, float64(len(text)))
	}
	e := must(Perplexity(bits, tokens, Interval{}))(t)
	near(t, "pooled", e.Value, want.Pooled, tol)
	if !(e.Lo < e.Value && e.Value < e.Hi) {
		t.Errorf("interval [%v, %v]", e.Lo, e.Hi)
	}
}

func TestExpectedNumberOfDistinctOutcomes(t *testing.T) {
	var in struct {
		P []float64
		N []int
	}
	var want struct {
		E []float64 `json:"E_distinct"`
	}
	identity(t, "ID-13", &in, &want)
	rng := rand.New(rand.NewPCG(1, 13))
	const times = 20_000
	for i, n := range in.N {
		total := 0.0
		for range times {
			draw := make([]int, n)
			for j := range draw {
				for u := rng.Float64() - in.P[0]; u >= 0; u -= in.P[draw[j]] {
					draw[j]++
				}
			}
			total += float64(Unique(draw))
		}
		near(t, fmt.Sprint("distinct of ", n), total/times, want.E[i], 5/math.Sqrt(times)) // 5 standard errors, sd < 1
	}
}

// slowLoop tries every period and every start.
func slowLoop(tokens []byte, repeats int) Loop {
	for p := 1; p*repeats <= len(tokens); p++ {
		start := len(tokens) - p
		for start > 0 && tokens[start-1] == tokens[start-1+p] {
			start--
		}
		if rounds := (len(tokens) - start) / p; rounds >= repeats {
			return Loop{Period: p, Repeats: rounds, Start: start}
		}
	}
	return Loop{}
}

func FuzzFindLoop(f *testing.F) {
	for _, s := range []string{"", "a", "aa", "aaa", "xabab", "xababab", "abcabcabcab", "aabaabaab", "abababcababab"} {
		f.Add([]byte(s), 2)
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, tokens []byte, repeats int) {
		if repeats < 2 || len(tokens) > 200 {
			return
		}
		if got, want := must(FindLoop(tokens, repeats))(t), slowLoop(tokens, repeats); got != want {
			t.Errorf("%q in %d rounds: %v, want %v", tokens, repeats, got, want)
		}
	})
}

func TestLoopsOfRandomTexts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 3000 {
		tokens := make([]byte, rng.IntN(24))
		for i := range tokens {
			tokens[i] = byte(rng.IntN(2))
		}
		want := slowLoop(tokens, 3)
		if want.Period > 0 {
			found++
		}
		if got := must(FindLoop(tokens, 3))(t); got != want {
			t.Fatalf("%v: %v, want %v", tokens, got, want)
		}
	}
	if found < 500 {
		t.Errorf("only %d texts end in a loop", found)
	}
}

// Renaming tokens changes no measure, and reversing a text none that looks at
// n-grams as sets.
func TestMeasuresDoNotDependOnNames(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		tokens := make([]int, 5+rng.IntN(60))
		for i := range tokens {
			tokens[i] = rng.IntN(12)
		}
		words := make([]string, len(tokens))
		for i, x := range tokens {
			words[i] = fmt.Sprintf("w%d", 99-x)
		}
		back := slices.Clone(tokens)
		slices.Reverse(back)
		for n := 1; n <= 4; n++ {
			d := must(Distinct(tokens, n))(t)
			near(t, "renamed", must(Distinct(words, n))(t), d, 0)
			near(t, "reversed", must(Distinct(back, n))(t), d, 0)
			near(t, "seq-rep", must(SeqRep(tokens, n))(t), 1-d, 0)
			if o := must(Once(tokens, n))(t); o > d {
				t.Errorf("once-%d = %v exceeds distinct %v", n, o, d)
			}
		}
		near(t, "rep over all", must(Rep(tokens, len(tokens)))(t), 1-must(TypeToken(tokens))(t), 1e-15)
		if a, b := must(Rep(tokens, 4))(t), must(Rep(tokens, 9))(t); a > b {
			t.Errorf("rep/4 = %v exceeds rep/9 = %v", a, b)
		}
	}
}

func TestSelfBLEUEnds(t *testing.T) {
	same := [][]string{Words("the cat sat on the mat"), Words("the cat sat on the mat"), Words("the cat sat on the mat")}
	for _, v := range must(SelfBLEU(same, 4))(t) {
		near(t, "equal texts", v, 1, 1e-15)
	}
	for _, v := range must(SelfBLEU([][]string{Words("a b c"), Words("d e f")}, 2))(t) {
		near(t, "nothing in common", v, 0, 0)
	}
}

func TestCoverageIsNearlyUnbiased(t *testing.T) {
	// The estimate's expectation is the coverage of n - 1 draws.
	p := []float64{0.4, 0.3, 0.1, 0.1, 0.05, 0.03, 0.02}
	const n, times = 20, 20_000
	want := 0.0
	for _, x := range p {
		want += x * (1 - math.Pow(1-x, n-1))
	}
	rng := rand.New(rand.NewPCG(5, 6))
	total := 0.0
	for range times {
		count := make([]int, len(p))
		for range n {
			k := 0
			for u := rng.Float64() - p[0]; u >= 0 && k < len(p)-1; u -= p[k] {
				k++
			}
			count[k]++
		}
		total += must(Coverage(slices.DeleteFunc(count, func(c int) bool { return c == 0 }), 0.95))(t).Value / times
	}
	near(t, "mean coverage", total, want, 5*0.1/math.Sqrt(times)) // 5 standard errors, sd < 0.1
}

func TestEstyAndChaoIntervalsCover(t *testing.T) {
	const kinds, n, times = 60, 80, 1500
	rng := rand.New(rand.NewPCG(7, 8))
	covered, total, mean := 0, 0, 0.0
	for range times {
		count := map[int]int{}
		for range n {
			count[rng.IntN(kinds)]++
		}
		var list []int
		for _, c := range count {
			list = append(list, c)
		}
		truth := float64(len(list)) / kinds
		if e := must(Coverage(list, 0.95))(t); e.Lo <= truth && truth <= e.Hi {
			covered++
		}
		e := must(Chao1(list, 0.95))(t)
		mean += e.Value / times
		if e.Lo <= kinds && kinds <= e.Hi {
			total++
		}
		if e.Lo < float64(len(list)) {
			t.Fatalf("fewer than the %d seen: %v", len(list), e.Lo)
		}
	}
	// 1,500 trials at 95 % give 1,425 with sd 8.4; both intervals are asymptotic, so 92 % is asked for.
	if covered < 1380 || total < 1380 {
		t.Errorf("coverage was covered %d times of %d, the number of kinds %d times", covered, times, total)
	}
	near(t, "mean of Chao1 for equal kinds", mean, kinds, 3) // exact for equal kinds up to a bias of order 1/n
}

func TestKLToTheTruth(t *testing.T) {
	q := must(dist.FromProbabilities([]float64{0.5, 0.5, 0}))(t)
	p := must(dist.FromProbabilities([]float64{0.25, 0.25, 0.5}))(t)
	got := must(KL([]dist.Distribution{q, p, p}, []dist.Distribution{p, p, q}))(t)
	for i, want := range []float64{1, 0} {
		near(t, "KL "+itoa(i), got[i], want, 1e-15)
	}
	if !math.IsInf(got[2], 1) {
		t.Errorf("KL outside the support = %v", got[2])
	}
	if _, err := KL([]dist.Distribution{q}, nil); fault.KindOf(err) != fault.Usage {
		t.Errorf("lists of different length: %v", err)
	}
}

func TestScores(t *testing.T) {
	texts := []string{" Paris\n", "paris", "It is Paris."}
	if got := ExactMatch(texts, "Paris"); !slices.Equal(got, []bool{true, false, false}) {
		t.Error(got)
	}
	if got := must(Matches(texts, `(?i)paris\.?$`))(t); !slices.Equal(got, []bool{false, true, true}) {
		t.Error(got)
	}
}

func TestTextMeasuresRefuse(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		kind fault.Kind
	}{
		"distinct of nothing":        {second(Distinct([]int{}, 1)), fault.Data},
		"distinct of too few":        {second(Distinct([]int{1}, 2)), fault.Data},
		"distinct of no length":      {second(Distinct([]int{1}, 0)), fault.Usage},
		"seq-rep of too few":         {second(SeqRep([]int{1, 2, 3}, 4)), fault.Data},
		"diversity of three":         {second(Diversity([]int{1, 2, 3})), fault.Data},
		"rep without a window":       {second(Rep([]int{1}, 0)), fault.Usage},
		"a loop of one round":        {second(FindLoop([]int{1}, 1)), fault.Usage},
		"self-BLEU of one":           {second(SelfBLEU([][]int{{1}}, 2)), fault.Data},
		"self-BLEU with an empty":    {second(SelfBLEU([][]int{{1}, {}}, 2)), fault.Data},
		"self-BLEU of order 0":       {second(SelfBLEU([][]int{{1}, {2}}, 0)), fault.Usage},
		"zipf of one type":           {second(ZipfRegression([]int{4})), fault.Data},
		"zipf of a count of 0":       {second(ZipfMLE([]int{4, 0})), fault.Data},
		"coverage of nothing":        {second(Coverage(nil, 0.95)), fault.Data},
		"coverage at a wrong level":  {second(Coverage([]int{1}, 95)), fault.Usage},
		"chao1 of a negative":        {second(Chao1([]int{-1}, 0.95)), fault.Data},
		"pass@k for k > n":           {second(PassAtK(3, 1, 4)), fault.Usage},
		"pass@k for c > n":           {second(PassAtK(3, 4, 1)), fault.Usage},
		"a malformed expression":     {second(Matches(nil, "(")), fault.Usage},
		"pooled distinct of too few": {second(PooledDistinct([][]int{{1}, {2}}, 2)), fault.Data},
	} {
		if c.err == nil || fault.KindOf(c.err) != c.kind {
			t.Errorf("%s: %v, want a %v error", name, c.err, c.kind)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// The estimators say when they know nothing.
func TestUnseenWithoutSingletons(t *testing.T) {
	for _, counts := range [][]int{{5}, {2, 3}, {1, 1, 1}, {1}} {
		c, h := must(Coverage(counts, 0.95))(t), must(Chao1(counts, 0.95))(t)
		if c.Note == "" || !math.IsNaN(c.Lo) || !math.IsNaN(c.Hi) {
			t.Errorf("coverage of %v: %+v", counts, c)
		}
		if h.Note == "" || !math.IsNaN(h.Lo) || !math.IsNaN(h.Hi) || h.Value < float64(len(counts)) {
			t.Errorf("chao1 of %v: %+v", counts, h)
		}
	}
}
