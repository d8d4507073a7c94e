package dist

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lab/core/fault"
)

func lnOf(p ...float64) []float32 {
	out := make([]float32, len(p))
	for i, x := range p {
		out[i] = float32(math.Log(x))
	}
	return out
}

// topThree is a backend that lists three of eight tokens and hides 0.2.
func topThree() *Scores {
	return &Scores{Vocab: 8, IDs: []int32{1, 4, 6}, Values: lnOf(0.3, 0.4, 0.1), Unlisted: 0.2}
}

func refused(t *testing.T, what string, err error, want string) {
	t.Helper()
	if err == nil || fault.KindOf(err) != fault.Data || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: got %v, want a data error with %q", what, err, want)
	}
}

func TestUnlistedTailIsExactBoundedOrRefused(t *testing.T) {
	const tol = 1e-7 // log probabilities are float32
	s := topThree()
	d := mustSoftmax(t, s)
	near(t, "P", d.P(4), 0.4, tol)
	if !math.IsNaN(d.P(0)) || !math.IsNaN(d.SurprisalBits(0)) {
		t.Errorf("P of an unlisted token is %v, want NaN: it is unknown, not 0", d.P(0))
	}
	if d.P(-1) != 0 || d.P(8) != 0 {
		t.Error("a token outside the vocabulary has a probability")
	}
	list, rest := d.Top(2)
	if list[0].ID != 4 || list[1].ID != 1 || d.Rank(6) != 3 || d.Rank(0) != 0 {
		t.Errorf("top %v, rank %d", list, d.Rank(6))
	}
	near(t, "rest", rest, 0.3, tol)

	// The hidden 0.2 is at best two tokens of 0.1 (none is likelier than the
	// least likely listed one), at worst five of 0.04.
	_, err := d.EntropyBits()
	refused(t, "entropy", err, "0.2 is unlisted")
	h := d.EntropyBounds()
	at := func(p ...float64) float64 {
		v, _ := mustProbs(t, p...).EntropyBits()
		return v
	}
	near(t, "least entropy", h.Low, at(0.3, 0.4, 0.1, 0.1, 0.1), 1e-6)
	near(t, "greatest entropy", h.High, at(0.3, 0.4, 0.1, 0.04, 0.04, 0.04, 0.04, 0.04), 1e-6)
	if h.Exact() || !mustProbs(t, 0.5, 0.5).EntropyBounds().Exact() {
		t.Error("bounds are exact only without a tail")
	}
}

func TestDivergencesFromAnUnlistedTail(t *testing.T) {
	const tol = 1e-7 // log probabilities are float32
	s := topThree()
	d := mustSoftmax(t, s)
	two := keep(s, 1, 4)
	two.Unlisted = 0
	q := mustSoftmax(t, two)
	kl, err1 := KL(q, d)
	tv, err2 := TV(q, d)
	js, err3 := JS(q, d)
	mass, err4 := KeptMass(q, d)
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil {
		t.Fatal(err1, err2, err3, err4)
	}
	near(t, "KL", kl, -math.Log2(0.7), 1e-6)
	near(t, "TV", tv, 0.3, tol)
	near(t, "kept mass", mass, 0.7, tol)
	p8, q8 := mustProbs(t, 0.3, 0.4, 0.1, 0.05, 0.05, 0.05, 0.05), mustProbs(t, 0.3/0.7, 0.4/0.7, 0, 0, 0, 0, 0)
	want, _ := JS(q8, p8) // however the tail is spread, JS is the same
	near(t, "JS", js, want, 1e-6)

	_, err := KL(d, q)
	refused(t, "KL of the listed part", err, "unlisted")
	_, err = TV(d, d)
	refused(t, "TV", err, "unlisted")
	_, err = KL(mustProbs(t, 0.5, 0.5, 0, 0, 0, 0, 0, 0), d)
	refused(t, "KL of a token in the tail", err, "token 0 is in the unlisted tail")

	var ws Workspace
	c, err := Compare(s, two, &ws)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Check(); err != nil {
		t.Error(err)
	}
	near(t, "ledger KL", c.KL, kl, 1e-12)
	near(t, "ledger TV", c.TV, tv, 1e-12)
	near(t, "ledger kept mass", c.KeptMass, mass, 1e-12)
	near(t, "ledger entropy before is the least", c.EntropyBefore, d.EntropyBounds().Low, 0)
	if !c.Truncation || c.UnlistedBefore != 0.2 || c.UnlistedAfter != 0 {
		t.Errorf("%+v", c)
	}
	c, err = Compare(s, s, &ws)
	if err != nil || c.KL != 0 || c.TV != 0 || c.Check() != nil {
		t.Errorf("an untouched row: %+v, %v, %v", c, err, c.Check())
	}
	near(t, "an untouched row keeps its mass", c.KeptMass, 1, 1e-15)
}

func TestRowsWhoseTailDoesNotFitAreRefused(t *testing.T) {
	s := topThree()
	s.Unlisted = 0.1
	_, err := Softmax(s)
	refused(t, "too much listed", err, "mass of 0.8")
	var ws Workspace
	hot := topThree()
	for i := range hot.Values {
		hot.Values[i] /= 2
	}
	_, err = Compare(topThree(), hot, &ws)
	refused(t, "a rescaled row that keeps its tail", err, "only a stage that truncates")
	grown := topThree()
	grown.Unlisted = 0.3
	_, err = Compare(topThree(), grown, &ws)
	refused(t, "a tail that grows", err, "from 0.2 to 0.3")
	other := &Scores{Vocab: 8, IDs: []int32{0}, Values: []float32{0}}
	_, err = Compare(topThree(), other, &ws)
	refused(t, "a token out of the tail", err, "did not list")
	masked := topThree()
	masked.Values[2] = negInf
	masked.Unlisted = 0.3
	if d := mustSoftmax(t, masked); d.P(6) != 0 || !math.IsNaN(d.P(5)) || d.Support() != 2 {
		t.Errorf("a masked token has P %v and support %d, an unlisted one %v", d.P(6), d.Support(), d.P(5))
	}
}

func TestTopAndRankEqualTheFullSort(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 42))
	for n := range 200 {
		s := random(r, 1+r.IntN(500), 3, 5*(n%2))
		if n%3 == 0 { // many ties
			for i, v := range s.Values {
				if !removed(v) {
					s.Values[i] = float32(math.Round(float64(v)))
				}
			}
		}
		d := mustSoftmax(t, s)
		var order []int32
		d.Each(func(id int32, _ float64) bool { order = append(order, id); return true })
		slices.SortStableFunc(order, func(a, b int32) int {
			switch {
			case s.Values[a] > s.Values[b]:
				return -1
			case s.Values[a] < s.Values[b]:
				return 1
			}
			return 0
		})
		for _, k := range []int{-1, 0, 1, 3, len(order) / 2, len(order), len(order) + 5} {
			list, rest := d.Top(k)
			if len(list) != max(0, min(k, len(order))) {
				t.Fatalf("Top(%d) of %d has %d entries", k, len(order), len(list))
			}
			sum := rest
			for i, e := range list {
				sum += e.P
				if e.ID != order[i] || e.P != d.P(e.ID) {
					t.Fatalf("Top(%d)[%d] is token %d, want %d", k, i, e.ID, order[i])
				}
			}
			near(t, "list and rest", sum, 1, 1e-12)
		}
		for i, id := range order {
			if d.Rank(id) != i+1 || s.Rank(id) != i+1 {
				t.Fatalf("rank of token %d is %d (row: %d), want %d", id, d.Rank(id), s.Rank(id), i+1)
			}
		}
	}
}

func TestFromProbabilitiesRefuses(t *testing.T) {
	for name, p := range map[string][]float64{
		"nothing":        nil,
		"a sum below 1":  {0.5, 0.4},
		"a sum above 1":  {0.5, 0.6},
		"off by 1e-8":    {0.5, 0.5 + 1e-8},
		"negative":       {1.5, -0.5},
		"NaN":            {1, math.NaN()},
		"infinite":       {1, math.Inf(1)},
		"all impossible": {0, 0},
	} {
		if _, err := FromProbabilities(p); err == nil || fault.KindOf(err) != fault.Data {
			t.Errorf("%s: got %v, want a data error", name, err)
		}
	}
}

func TestSizes(t *testing.T) {
	var ws Workspace
	one := row(-3)
	c, err := Compare(one, one, &ws)
	if err != nil || c.Check() != nil || c.EntropyBefore != 0 || c.KeptMass != 1 {
		t.Errorf("one token: %+v, %v", c, err)
	}
	const n = 262144
	equal := NewDense(make([]float32, n))
	first := equal.Clone()
	first.KeepBest(0, 1, 1)
	c, err = Compare(&equal, &first, &ws)
	if err != nil || c.Check() != nil {
		t.Fatal(err, c.Check())
	}
	near(t, "entropy of 2^18 equal tokens", c.EntropyBefore, 18, 1e-12)
	near(t, "KL of keeping one", c.KL, 18, 1e-12)
	near(t, "kept mass", c.KeptMass, 1.0/n, 0)
	if first.Dense() || !slices.Equal(first.IDs, []int32{0}) {
		t.Errorf("kept %v", first.IDs)
	}
}
