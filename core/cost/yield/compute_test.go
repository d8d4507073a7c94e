package yield

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"lab/core/cost"
	"lab/core/fault"
	"lab/core/measure"
	"lab/core/seed"
)

// For a mean the jackknife is Student's t, over attempts and over prompts.
func TestJackknifeOfAMeanIsStudents(t *testing.T) {
	values := []float64{0.2, 0.9, 0.4, 0.4, 0.75, 0.1, 0.6}
	want, err := measure.Mean(values, measure.Interval{Level: 0.9})
	if err != nil {
		t.Fatal(err)
	}
	var spread []Prompt
	for _, v := range values {
		spread = append(spread, Prompt{Attempts: attempts(rising, v, v)})
	}
	for name, s := range map[string]Setting{"attempts": setting(Prompt{Attempts: attempts(rising, values...)}), "prompts": setting(spread...)} {
		r, err := Compute([]Setting{s}, Options{Level: 0.9})
		if err != nil {
			t.Fatal(err)
		}
		q := r.Rows[0].Quality
		if !near(q.Value, want.Value, tiny) || !near(q.Lo, want.Lo, 1e-9) || !near(q.Hi, want.Hi, 1e-9) { // quantile of t is exact to about 1e-10
			t.Errorf("%s: %v in [%v, %v], want %v in [%v, %v]", name, q.Value, q.Lo, q.Hi, want.Value, want.Lo, want.Hi)
		}
	}
}

// For a mean of means within prompts the stratified jackknife has the variance of
// survey sampling, Σ s²/n over the prompts over their number squared.
func TestFixedPromptsAreStrata(t *testing.T) {
	groups := [][]float64{{0.2, 0.9, 0.4}, {0.4, 0.75, 0.1, 0.6}}
	var prompts []Prompt
	variance, freedom := 0.0, 0
	for _, values := range groups {
		prompts = append(prompts, Prompt{Attempts: attempts(rising, values...)})
		n := float64(len(values))
		mean, squares := 0.0, 0.0
		for _, v := range values {
			mean += v / n
		}
		for _, v := range values {
			squares += (v - mean) * (v - mean)
		}
		variance += squares / (n - 1) / n / 4
		freedom += len(values) - 1
	}
	r, err := Compute([]Setting{setting(prompts...)}, Options{FixedPrompts: true})
	if err != nil {
		t.Fatal(err)
	}
	q := r.Rows[0].Quality
	half := distuv.StudentsT{Sigma: 1, Nu: float64(freedom)}.Quantile(0.975) * math.Sqrt(variance)
	if !near(q.Hi-q.Value, half, 1e-9) || !near(q.Value-q.Lo, half, 1e-9) || q.N != 7 { // the quantile is exact to about 1e-10
		t.Errorf("%v in [%v, %v] of %d, want half a width of %v", q.Value, q.Lo, q.Hi, q.N, half)
	}
}

func TestAmountsOfARow(t *testing.T) {
	s := setting(Prompt{Attempts: attempts(func(int) float64 { return 40 }, 1, 0, 0, 1, 0)}) // 10 + 40 tokens each, 2 of 5 useful
	r, err := Compute([]Setting{s}, Options{AtLeast: at(1), N: []int{1, 2}})
	if err != nil || len(r.Rows) != 2 {
		t.Fatalf("%+v (%v)", r, err)
	}
	one, two := r.Rows[0], r.Rows[1]
	for _, row := range []struct {
		what      string
		got, want float64
	}{
		{"an answer", one.Amounts[Tokens].Answer.Value, 50},
		{"two answers share the prompt", two.Amounts[Tokens].Answer.Value, 90},
		{"a useful answer", one.Amounts[Tokens].PerUseful.Value, 50 / 0.4},
		{"success of two", two.Useful.Value, 0.7},
		{"tries of two", two.Tries.Value, 1.6},
		{"trying twice", two.Amounts[Tokens].Until.Value, 10 + 1.6*40},
		{"trying twice, for each success", two.Amounts[Tokens].UntilPerUseful.Value, 74 / 0.7},
		{"quality per token", one.Amounts[Tokens].QualityPer.Value, 0.4 / 50},
	} {
		if !near(row.got, row.want, tiny) {
			t.Errorf("%s: %v, want %v", row.what, row.got, row.want)
		}
	}
	e := one.Amounts[Tokens].PerUseful
	if !(e.Lo < e.Value && e.Value < e.Hi) || !near(e.Lo, 50/one.Useful.Hi, 1e-9) || !near(e.Hi, 50/one.Useful.Lo, 1e-9) { // through exp and log
		t.Errorf("every attempt costs 50, so the cost of a useful one is within 50/[%v, %v], not [%v, %v]", one.Useful.Lo, one.Useful.Hi, e.Lo, e.Hi)
	}
	if _, there := one.Amounts[USD]; there || r.By != Tokens || !r.HasFront {
		t.Errorf("usd is not known, and is there: %v; the front is by %v", there, r.By)
	}
}

// Twice the cost is twice the cost, and half the quality for it.
func TestAmountsScaleWithTheUnit(t *testing.T) {
	values := []float64{0.1, 0.8, 0.3, 0.9, 0.2, 0.6}
	rows := func(factor float64) []Row {
		p := Prompt{Attempts: attempts(rising, values...)}
		for i := range p.Attempts {
			sp := &p.Attempts[i].Spent[Tokens]
			sp.Prompt, sp.Own = sp.Prompt*factor, sp.Own*factor
		}
		r, err := Compute([]Setting{setting(p)}, Options{AtLeast: at(0.5), N: []int{1, 3}})
		if err != nil {
			t.Fatal(err)
		}
		return r.Rows
	}
	a, b := rows(1), rows(2)
	for i := range a {
		x, y := a[i].Amounts[Tokens], b[i].Amounts[Tokens]
		for _, pair := range []struct {
			what   string
			x, y   measure.Estimate
			factor float64
		}{{"answer", x.Answer, y.Answer, 2}, {"until", *x.Until, *y.Until, 2}, {"per useful", *x.PerUseful, *y.PerUseful, 2}, {"quality per", *x.QualityPer, *y.QualityPer, 0.5}} {
			for j, v := range [][2]float64{{pair.x.Value, pair.y.Value}, {pair.x.Lo, pair.y.Lo}, {pair.x.Hi, pair.y.Hi}} {
				if !near(v[1], v[0]*pair.factor, 1e-9) {
					t.Errorf("row %d, %s, %d: %v became %v", i, pair.what, j, v[0], v[1])
				}
			}
		}
	}
}

// The interval of the cost of a useful answer holds the truth about as often as it
// says: 2,000 runs of 30 attempts under a fixed seed; one in 20 may miss it.
func TestCostOfAUsefulAnswerIsCovered(t *testing.T) {
	const runs, each, p = 2000, 30, 0.3
	held := 0
	u := make([]float64, 2*each)
	for run := range runs {
		seed.New(7, []byte("yield")).Uniforms(u, uint64(run), 0, 0)
		values := make([]float64, each)
		for i := range values {
			if u[i] < p {
				values[i] = 1
			}
		}
		s := setting(Prompt{Attempts: attempts(func(i int) float64 { return 20 + 60*u[each+i] }, values...)}) // mean 10 + 50
		r, err := Compute([]Setting{s}, Options{AtLeast: at(1)})
		if err != nil {
			t.Fatal(err)
		}
		if e := r.Rows[0].Amounts[Tokens].PerUseful; e.Lo <= 60/p && 60/p <= e.Hi {
			held++
		}
	}
	if share := float64(held) / runs; !(share >= 0.935 && share <= 0.985) { // exact under the seed; Wilson's own coverage at n = 30 is 0.93 to 0.98
		t.Errorf("%v of the intervals hold the truth, want about 0.95", share)
	}
}

func TestWhatNeverWorkedHasNoFiniteCost(t *testing.T) {
	s := setting(Prompt{Attempts: attempts(rising, 0, 0, 0, 0)})
	r, err := Compute([]Setting{s}, Options{AtLeast: at(1), N: []int{1, 4}})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Rows {
		a := row.Amounts[Tokens]
		if row.Useful.Value != 0 || !math.IsInf(a.PerUseful.Value, 1) || !math.IsInf(a.PerUseful.Hi, 1) {
			t.Errorf("n = %d: %+v", row.N, a.PerUseful)
		}
		if row.N == 1 && !(a.PerUseful.Lo > a.Answer.Lo && a.PerUseful.Lo < math.Inf(1)) {
			t.Errorf("the least that a useful answer may cost is %v, want more than an answer's %v", a.PerUseful.Lo, a.Answer.Lo)
		}
		if row.Tries.Value != float64(row.N) {
			t.Errorf("%v tries of %d", row.Tries.Value, row.N)
		}
	}
}

func TestSettingsThatAreRefused(t *testing.T) {
	usd := USD
	good := setting(Prompt{Attempts: attempts(rising, 1, 2)})
	hole := setting(Prompt{Attempts: attempts(func(int) float64 { return math.NaN() }, 1)})
	for _, row := range []struct {
		name     string
		settings []Setting
		o        Options
		kind     fault.Kind
		want     string
	}{
		{"none", nil, Options{}, fault.Data, "no settings"},
		{"no prompts", []Setting{{}}, Options{}, fault.Data, "no attempts"},
		{"a prompt without attempts", []Setting{setting(Prompt{})}, Options{}, fault.Data, "no attempts"},
		{"an infinite value", []Setting{setting(Prompt{Attempts: attempts(rising, math.Inf(1))})}, Options{}, fault.Data, "infinite"},
		{"an amount that is not known", []Setting{hole}, Options{}, fault.Data, "NaN tokens"},
		{"a level of 1", []Setting{good}, Options{Level: 1}, fault.Usage, "(0, 1)"},
		{"no attempts wanted", []Setting{good}, Options{N: []int{0}}, fault.Usage, "0 in place 0"},
		{"numbers that fall", []Setting{good}, Options{N: []int{2, 1}}, fault.Usage, "ascending"},
		{"more than there are", []Setting{good}, Options{N: []int{3}}, fault.Usage, "more than any setting"},
		{"a threshold that is none", []Setting{good}, Options{AtLeast: at(math.NaN())}, fault.Usage, "at_least"},
		{"a front by what is not known", []Setting{good}, Options{By: &usd}, fault.Usage, "not known"},
	} {
		_, err := Compute(row.settings, row.o)
		if fault.KindOf(err) != row.kind || !contains(err, row.want) {
			t.Errorf("%s: %v, want %v with %q", row.name, err, row.kind, row.want)
		}
	}
	if _, err := UnitNamed("dollar"); fault.KindOf(err) != fault.Usage {
		t.Errorf("an unknown unit: %v", err)
	}
}

// The front of a unit is of the points that no other beats, found by comparing each
// with each.
func TestFrontIsWhatNoPointBeats(t *testing.T) {
	u := make([]float64, 2)
	for run := range 200 {
		n := run%13 + 1
		quality, amount := make([]float64, n), make([]float64, n)
		for i := range n {
			seed.New(3, []byte("front")).Uniforms(u, uint64(run), uint64(i), 0)
			quality[i], amount[i] = math.Floor(5*u[0]), math.Floor(5*u[1]) // few values, many ties
			if run%7 == 0 && i == 0 {
				quality[i] = math.NaN()
			}
		}
		on := Front(quality, amount)
		for i := range n {
			want := !math.IsNaN(quality[i])
			for j := range n {
				if quality[j] >= quality[i] && amount[j] <= amount[i] && (quality[j] > quality[i] || amount[j] < amount[i]) {
					want = false
				}
			}
			if on[i] != want {
				t.Fatalf("run %d: point %d of %v, %v: on the front %v, want %v", run, i, quality, amount, on[i], want)
			}
		}
	}
}

// The front is by the dearest unit that every setting knows.
func TestFrontTakesAUnitThatAllKnow(t *testing.T) {
	a, b := setting(Prompt{Attempts: attempts(rising, 1, 2)}), setting(Prompt{Attempts: attempts(rising, 0, 1)})
	a.Known[USD] = Source{Kind: cost.Measured}
	r, err := Compute([]Setting{a, b}, Options{})
	if err != nil || r.By != Tokens || !r.Rows[0].Front || r.Rows[1].Front {
		t.Errorf("the front is by %v, %+v (%v); want by tokens, the first row alone", r.By, r.Rows, err)
	}
	none := setting(Prompt{Attempts: attempts(rising, 1)})
	none.Known = nil
	if r, err := Compute([]Setting{a, none}, Options{}); err != nil || r.HasFront {
		t.Errorf("a setting knows no unit, and there is a front: %v (%v)", r.HasFront, err)
	}
}

// A measure of a set is set against an answer, a count against all of them.
func TestSetsAgainstCosts(t *testing.T) {
	s := setting(Prompt{Attempts: attempts(func(int) float64 { return 40 }, 0, 0, 0, 0), Set: &measure.Estimate{Value: 0.5, Lo: 0.4, Hi: 0.6, N: 4}})
	for _, row := range []struct {
		count bool
		want  float64
	}{{false, 0.5 / 50}, {true, 0.5 / 170}} {
		r, err := Compute([]Setting{s}, Options{Count: row.count})
		if err != nil || r.Rows[0].N != 4 || r.Rows[0].Amounts[Tokens].Answer.Value != 170 {
			t.Fatalf("%+v (%v); want the 170 tokens of 4 answers", r, err)
		}
		if q := r.Rows[0].Amounts[Tokens].QualityPer; !near(q.Value, row.want, tiny) || !near(q.Lo, row.want*0.8, tiny) {
			t.Errorf("count %v: %+v, want %v", row.count, q, row.want)
		}
	}
}

func BenchmarkCompute(b *testing.B) {
	values := make([]float64, 1000)
	for i := range values {
		values[i] = float64(i%7) / 7
	}
	for _, n := range []int{1, 16} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			s := setting(Prompt{Attempts: attempts(rising, values...)})
			for b.Loop() {
				if _, err := Compute([]Setting{s}, Options{AtLeast: at(0.5), N: []int{n}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
