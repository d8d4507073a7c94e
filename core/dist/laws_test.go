package dist

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"lab/core/fault"
)

var negInf = float32(math.Inf(-1))

// random returns a dense row whose scores have the given spread and of which
// about one in hole is masked (0: none). At least one token is left.
func random(r *rand.Rand, n int, spread float64, hole int) *Scores {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64() * spread)
		if hole > 0 && r.IntN(hole) == 0 {
			v[i] = negInf
		}
	}
	if i := r.IntN(n); removed(v[i]) {
		v[i] = 1
	}
	s := NewDense(v)
	return &s
}

// sparse returns the twin of a row that lists only the support.
func sparse(s *Scores) *Scores {
	c := s.Clone()
	c.Keep(func(i int) bool { return !removed(c.Values[i]) }, nil)
	return &c
}

// dense returns the twin of a row that lists the whole vocabulary.
func dense(s *Scores) *Scores {
	v := make([]float32, s.Vocab)
	for i := range v {
		v[i] = negInf
	}
	for i, x := range s.Values {
		v[s.ID(i)] = x
	}
	d := NewDense(v)
	return &d
}

func TestDenseAndSparseTwinsHaveEqualBits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 200 {
		before := random(r, 1+r.IntN(300), []float64{0.1, 3, 400}[n%3], []int{0, 2, 20}[n%3])
		after := before.Clone()
		switch n % 4 {
		case 0:
			for i := range after.Values {
				after.Values[i] /= 1.7
			}
		case 1:
			top, _ := topScore(after.Values)
			after.KeepBest(top-1, 1, 1)
		case 2: // the head goes, the weights need a new reference
			top, support := topScore(after.Values)
			if support > 1 {
				after.Keep(func(i int) bool { return after.Values[i] < top || i == len(after.Values)-1 }, nil)
			}
		}
		if after.Check() != nil {
			continue
		}
		d, e := mustSoftmax(t, before), mustSoftmax(t, sparse(before))
		if !reflect.DeepEqual(d, e) {
			t.Fatalf("row %d: the distributions differ", n)
		}
		var want Change
		for k, pair := range [][2]*Scores{
			{before, &after}, {sparse(before), &after}, {before, sparse(&after)},
			{sparse(before), dense(&after)}, {before, dense(&after)},
		} {
			var ws Workspace
			c, err := Compare(pair[0], pair[1], &ws)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Check(); err != nil {
				t.Fatal(err)
			}
			if k == 0 {
				want = c
			} else if c != want {
				t.Fatalf("row %d, form %d: %+v, want %+v", n, k, c, want)
			}
		}
	}
}

// The ledger and the divergences of two distributions are computed by different
// code; both must say the same. Tolerance: rounding of a few hundred terms.
func TestLedgerAgreesWithTheDivergences(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var ws Workspace
	for n := range 300 {
		before := random(r, 2+r.IntN(200), []float64{0.5, 5, 60}[n%3], 4*(n%2))
		after := before.Clone()
		for i := range after.Values {
			after.Values[i] *= float32(0.3 + r.Float64())
			if r.IntN(5) == 0 {
				after.Values[i] = negInf
			}
		}
		if after.Check() != nil {
			continue
		}
		c, err := Compare(before, &after, &ws)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
		p, q := mustSoftmax(t, before), mustSoftmax(t, &after)
		kl, _ := KL(q, p)
		tv, _ := TV(q, p)
		mass, _ := KeptMass(q, p)
		js, _ := JS(q, p)
		hp, _ := p.EntropyBits()
		hq, _ := q.EntropyBits()
		near(t, "KL", c.KL, kl, 1e-10*(1+kl))
		near(t, "TV", c.TV, tv, 1e-12)
		near(t, "kept mass", c.KeptMass, mass, 1e-12)
		near(t, "entropy before", c.EntropyBefore, hp, 0)
		near(t, "entropy after", c.EntropyAfter, hq, 0)
		if !(js >= 0 && js <= tv+1e-12) { // Lin 1991: JS in bits is at most TV
			t.Errorf("JS %g exceeds TV %g", js, tv)
		}
		naive := 0.0
		q.Each(func(_ int32, x float64) bool {
			if x > 0 {
				naive -= x * math.Log2(x)
			}
			return true
		})
		near(t, "entropy by its definition", hq, naive, 1e-11*(1+naive))
	}
}

func TestIdentityChangesNothing(t *testing.T) {
	s := random(rand.New(rand.NewPCG(5, 6)), 1000, 4, 3)
	var ws Workspace
	c, err := Compare(s, s, &ws)
	if err != nil {
		t.Fatal(err)
	}
	if c.KL != 0 || c.TV != 0 || !c.Truncation || c.SupportBefore != c.SupportAfter {
		t.Errorf("%+v", c)
	}
	near(t, "kept mass", c.KeptMass, 1, 0)
}

func TestTokenThatEntersMakesKLInfinite(t *testing.T) {
	var ws Workspace
	before := row(1, 0, 0)
	before.Values[2] = negInf
	c, err := Compare(before, row(1, 0, 0), &ws)
	if err != nil || !math.IsInf(c.KL, 1) || c.Truncation {
		t.Fatalf("%+v, %v", c, err)
	}
	if err := c.Check(); err != nil {
		t.Errorf("an infinite KL of a growing support is legal: %v", err)
	}
	if c.TV <= 0 || c.TV >= 1 {
		t.Errorf("TV %g", c.TV)
	}
}

func TestRemovedHeadFarAboveTheRest(t *testing.T) {
	// The survivors' mass underflows: KL is still right, and the identity with
	// log2(kept mass) is not asked of a mass that is 0.
	before := row(2000, 0, -1)
	var ws Workspace
	c, err := Compare(before, keep(before, 1, 2), &ws)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "KL", c.KL*math.Ln2, 2000-math.Log1p(math.Exp(-1)), 1e-9)
	if c.KeptMass != 0 || c.TV != 1 {
		t.Errorf("kept mass %g, TV %g", c.KeptMass, c.TV)
	}
	if err := c.Check(); err != nil {
		t.Error(err)
	}
}

func TestChosenTokenIsFollowedThroughTheChain(t *testing.T) {
	first := row(1, 3, 3, 0)
	second := keep(first, 1, 2)
	third := keep(first, 2)
	var ws Workspace
	changes := make([]Change, 2)
	if err := ws.Start(first); err != nil {
		t.Fatal(err)
	}
	for i, s := range []*Scores{second, third} {
		var err error
		if changes[i], err = ws.Next(s); err != nil {
			t.Fatal(err)
		}
	}
	alone := slices.Clone(changes)
	ws.Choose(2, changes)
	alone[0].Choose(first, second, 2)
	alone[1].Choose(second, third, 2)
	if !slices.Equal(changes, alone) {
		t.Errorf("the workspace says %+v, the rows %+v", changes, alone)
	}
	c := changes[0]
	if c.RankBefore != 2 || c.RankAfter != 2 || changes[1].RankAfter != 1 || changes[1].ProbAfter != 1 || c.ProbAfter != 0.5 {
		t.Errorf("%+v", changes)
	}
	ws.Choose(0, changes)
	if c := changes[0]; c.RankBefore != 3 || c.RankAfter != 0 || c.ProbAfter != 0 || changes[1].RankBefore != 0 {
		t.Errorf("a removed token: %+v", changes)
	}
	for _, c := range changes {
		if err := c.Check(); err != nil {
			t.Error(err)
		}
	}
}

func TestMalformedRowsNameTheToken(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	rows := []struct {
		name, want string
		s          Scores
	}{
		{"NaN", "token 1 has score NaN", NewDense([]float32{0, nan, 1})},
		{"+Inf", "token 2 has score +Inf", NewDense([]float32{0, 1, inf})},
		{"NaN in a sparse row", "token 7 has score NaN", Scores{Vocab: 9, IDs: []int32{2, 7}, Values: []float32{0, nan}}},
		{"all masked", "no token is left", NewDense([]float32{negInf, negInf})},
		{"empty sparse row", "no token is left", Scores{Vocab: 4, IDs: []int32{}}},
		{"no vocabulary", "no token is left", Scores{}},
		{"too few scores", "2 scores for a vocabulary of 3", Scores{Vocab: 3, Values: []float32{0, 0}}},
		{"ids and scores differ in number", "for 2 token ids", Scores{Vocab: 3, IDs: []int32{0, 1}, Values: []float32{0}}},
		{"ids out of order", "token id 1 at position 1", Scores{Vocab: 3, IDs: []int32{2, 1}, Values: []float32{0, 0}}},
		{"an id twice", "token id 1 at position 1", Scores{Vocab: 3, IDs: []int32{1, 1}, Values: []float32{0, 0}}},
		{"negative id", "token id -1", Scores{Vocab: 3, IDs: []int32{-1}, Values: []float32{0}}},
		{"id beyond the vocabulary", "token id 3", Scores{Vocab: 3, IDs: []int32{3}, Values: []float32{0}}},
		{"unlisted mass of 1", "unlisted mass", Scores{Vocab: 3, IDs: []int32{1}, Values: []float32{0}, Unlisted: 1}},
		{"unlisted mass is NaN", "unlisted mass", Scores{Vocab: 3, IDs: []int32{1}, Values: []float32{0}, Unlisted: math.NaN()}},
		{"unlisted mass without unlisted tokens", "all 1 tokens", Scores{Vocab: 1, IDs: []int32{0}, Values: []float32{-1}, Unlisted: 0.5}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			var ws Workspace
			_, err1 := Softmax(&r.s)
			err2 := ws.Start(&r.s)
			for _, err := range []error{err1, err2} {
				if err == nil || fault.KindOf(err) != fault.Data || !strings.Contains(err.Error(), r.want) {
					t.Errorf("got %v, want a data error with %q", err, r.want)
				}
			}
			if err := ws.Start(row(0, 0)); err != nil {
				t.Fatal(err)
			}
			if _, err := ws.Next(&r.s); err == nil {
				t.Error("Next accepts it")
			}
		})
	}
}

func TestNextWithoutStart(t *testing.T) {
	var ws Workspace
	if _, err := ws.Next(row(1)); fault.KindOf(err) != fault.Internal || err == nil {
		t.Errorf("got %v", err)
	}
}

func TestVocabularyMustNotChange(t *testing.T) {
	var ws Workspace
	if _, err := Compare(row(1, 2), row(1, 2, 3), &ws); err == nil {
		t.Error("Compare accepts rows of 2 and 3 tokens")
	}
	if _, err := KL(mustProbs(t, 1), mustProbs(t, 0.5, 0.5)); err == nil {
		t.Error("KL accepts vocabularies of 1 and 2 tokens")
	}
}

// Model and Sampling must not be exchanged by accident, nor by a conversion.
func TestModelAndSamplingAreDifferentTypes(t *testing.T) {
	m, s := reflect.TypeFor[Model](), reflect.TypeFor[Sampling]()
	if m.AssignableTo(s) || s.AssignableTo(m) || m.ConvertibleTo(s) || s.ConvertibleTo(m) {
		t.Error("the compiler takes one for the other")
	}
	model, err := NewModel(row(2, 1))
	if err != nil {
		t.Fatal(err)
	}
	sampling, err := NewSampling(row(2, 1))
	if err != nil {
		t.Fatal(err)
	}
	if kl, err := KL(sampling.Distribution, model.Distribution); kl != 0 || err != nil {
		t.Errorf("KL %g, %v", kl, err)
	}
	if !reflect.DeepEqual(model.Unshaped(), sampling) {
		t.Error("an empty chain changes the distribution")
	}
}

func TestWarmWorkspaceAllocatesNothing(t *testing.T) {
	before := random(rand.New(rand.NewPCG(7, 8)), 5000, 3, 0)
	hot := before.Clone()
	for i := range hot.Values {
		hot.Values[i] /= 2
	}
	cut := hot.Clone()
	cut.KeepBest(2, 0, 500)
	var ws Workspace
	changes := make([]Change, 2)
	run := func() {
		var err error
		if err = ws.Start(before); err == nil {
			changes[0], err = ws.Next(&hot)
		}
		if err == nil {
			changes[1], err = ws.Next(&cut)
		}
		ws.Choose(cut.IDs[0], changes)
		if err == nil {
			err = changes[1].Check()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	run()
	if n := testing.AllocsPerRun(20, run); n != 0 {
		t.Errorf("%g allocations per chain, want 0", n)
	}
}

// A workspace that follows a chain says of every stage what a fresh one says of
// its two rows, whatever came before, also where stages leave a row as it was.
func TestChainsAreTheirStages(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	var ws Workspace // one for all chains
	for n := range 200 {
		rows := []*Scores{random(r, 1+r.IntN(3000), 3, 3*(n%3))}
		if n%5 == 0 {
			rows[0] = sparse(rows[0])
		}
		if err := ws.Start(rows[0]); err != nil {
			t.Fatal(err)
		}
		var changes []Change
		for range 1 + r.IntN(6) {
			last := rows[len(rows)-1]
			next := last.Clone()
			switch r.IntN(4) {
			case 0:
				for i := range next.Values {
					next.Values[i] *= 0.7
				}
			case 1:
				top, _ := topScore(next.Values)
				next.KeepFrom(top - 4)
			case 2:
				next = *sparse(last)
			}
			c, err := ws.Next(&next)
			if err != nil {
				t.Fatal(err)
			}
			if kept := ws.Last(); kept.Vocab != next.Vocab || kept.Dense() != next.Dense() || !slices.Equal(kept.IDs, next.IDs) || !slices.Equal(kept.Values, next.Values) {
				t.Fatalf("the last row is %v, want %v", kept, next)
			}
			rows, changes = append(rows, &next), append(changes, c)
		}
		token := rows[0].ID(r.IntN(rows[0].Len()))
		ws.Choose(token, changes)
		for i, got := range changes {
			want, err := Compare(rows[i], rows[i+1], new(Workspace))
			if err != nil {
				t.Fatal(err)
			}
			want.Choose(rows[i], rows[i+1], token)
			if got != want {
				t.Fatalf("stage %d of %d: %+v, want %+v", i, len(changes), got, want)
			}
		}
	}
}

func TestRankAtTheEdges(t *testing.T) {
	zero := math.Copysign(0, -1)
	s := row(zero, 0, math.MaxFloat32, math.SmallestNonzeroFloat32, zero, -math.MaxFloat32, math.MaxFloat32)
	for id, want := range []int{4, 5, 1, 3, 6, 7, 2} {
		if got := s.Rank(int32(id)); got != want {
			t.Errorf("token %d with score %v has rank %d, want %d", id, s.Values[id], got, want)
		}
	}
}
