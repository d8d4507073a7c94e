package watermark

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"lab/core/fault"
)

// The 10,000th output for seed 5489 is what the C++ standard (26.6.6) asks of a
// mersenne_twister_engine.
func TestTwisterKnownAnswer(t *testing.T) {
	g := newTorch(5489)
	var got uint32
	for range 10000 {
		got = g.word()
	}
	if got != 4123659995 {
		t.Errorf("got %d, want 4123659995", got)
	}
}

func TestFollowingOneNumberEqualsThePermutation(t *testing.T) {
	for _, n := range []int{2, 3, 17, 256} {
		for _, k := range []int{1, n / 2, n - 1} {
			for seed := range uint32(20) {
				order := make([]int32, n)
				newTorch(seed).permute(order, k)
				for number := range n {
					want := slices.Contains(order[:k], int32(number))
					if got := newTorch(seed).among(number, n, k); got != want {
						t.Fatalf("n %d, k %d, seed %d: %d is among the first is %v, want %v", n, k, seed, number, got, want)
					}
				}
				slices.Sort(order)
				for i, x := range order {
					if x != int32(i) {
						t.Fatalf("n %d, k %d: not a permutation", n, k)
					}
				}
			}
		}
	}
}

// SplitMix64's first output for seed 0, see the README of the golden set.
func TestUnitIsSplitMix(t *testing.T) {
	first := uint64(16294208416658607535)
	if got, want := Unit(0, 0), (float64(first>>11)+0.5)*0x1p-53; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if Unit(golden, 4) != Unit(0, 5) {
		t.Error("tokens are not successive outputs")
	}
}

// Seeds of the green list are computed modulo 2^64-1 and in wrapping 64-bit
// products; the worked numbers were computed with whole numbers of any length.
func TestGreenSeeds(t *testing.T) {
	g := &Green{vocab: 100, size: 25, key: 15485863, width: 1}
	if got := g.seed([]int32{1 << 30}, 0); got != uint32((15485863<<30)%(1<<32)) {
		t.Errorf("a product below 2^64: %d", got)
	}
	g.key = math.MaxInt64
	// (2^63-1) * (2^31-1) = 2^94 - 2^63 - 2^31 + 1; modulo 2^64-1 that is
	// 2^30 - 2^63 - 2^31 + 1 + 2^64 - 1, whose lower half is 2^30 + 2^31.
	if got := g.seed([]int32{math.MaxInt32}, 0); got != 1<<30+1<<31 {
		t.Errorf("a product beyond 2^64: %d", got)
	}
	g.table = make([]int32, tableSize)
	g.table[7] = 1_000_001 // the entry is one more
	g.key = 15485863
	var key, entry uint64 = 15485863, 1_000_002
	product := key * entry * entry // wraps
	if int64(product) >= 0 {
		t.Fatal("the example does not wrap to a negative number")
	}
	if got := g.seed(nil, 7); got != uint32(product-1) {
		t.Errorf("a negative product: %d, want %d", got, uint32(product-1))
	}
}

func TestEveryContextHasAsManyGreenTokens(t *testing.T) {
	g, err := NewGreen(100, 0.3, 5, LeftHash, 1)
	if err != nil {
		t.Fatal(err)
	}
	for last := range int32(50) {
		context, _ := g.Context([]int32{3, last})
		list := slices.Clone(g.List(context, make([]int32, 100)))
		if len(list) != 30 {
			t.Fatalf("%d green tokens", len(list))
		}
		for token := range int32(100) {
			if g.Has(context, token) != slices.Contains(list, token) {
				t.Fatalf("after %d: token %d is green by one way and not by the other", last, token)
			}
		}
	}
	if g.Has([]int32{1}, 100) || g.Has([]int32{1}, -1) {
		t.Error("a token outside the vocabulary is green")
	}
}

func TestBothSidesNeedTokens(t *testing.T) {
	for _, r := range []struct {
		vocab int
		ratio float64
	}{{10, 0.09}, {1, 0.5}, {1, 0.999}} {
		if _, err := NewGreen(r.vocab, r.ratio, 1, LeftHash, 1); err == nil || fault.KindOf(err) != fault.Usage {
			t.Errorf("ratio %v of %d tokens: %v", r.ratio, r.vocab, err)
		}
	}
}

func TestTournamentContexts(t *testing.T) {
	tour := NewTournament(3, []int64{1, 2}, 64, 0, 2)
	tokens := []int32{5, 6, 5, 6, 5}
	if tour.Context(tokens, 0) != tour.Context([]int32{0, 0}, 2) {
		t.Error("a missing token is not a zero")
	}
	if tour.Context(tokens, 2) != tour.Context(tokens, 4) || tour.Context(tokens, 3) == tour.Context(tokens, 4) {
		t.Error("the context is not the two tokens before")
	}
	for place, want := range []bool{false, false, false, false, true, true} {
		if got := tour.Repeated(tokens, 0, place); got != want {
			t.Errorf("place %d: repeated is %v", place, got)
		}
	}
	if tour.Repeated(tokens, 3, 4) {
		t.Error("a context before the first remembered place counts")
	}
	if NewTournament(3, []int64{1}, 64, 0, 0).Repeated(tokens, 0, 5) {
		t.Error("no history remembers something")
	}
	// A size that is no power of two: remainders are those of division towards
	// minus infinity.
	odd := NewTournament(2, []int64{9}, 7, 3, 0)
	for i := range uint64(2000) {
		h := mix(i)
		x := int64((h+9)*hashFactor + hashStep)
		want := odd.table[((x%7)+7)%7]
		if got := odd.Bit(h, 0); got != want {
			t.Fatalf("hash %d: bit %d, want %d", h, got, want)
		}
	}
}

func TestKeys(t *testing.T) {
	if k, err := ParseKeys(" 1,-2\t3 "); err != nil || !slices.Equal(k, []int64{1, -2, 3}) {
		t.Errorf("%v, %v", k, err)
	}
	for _, bad := range []string{"", " , ", "1 x", "1.5", "99999999999999999999"} {
		if _, err := ParseKeys(bad); err == nil || fault.KindOf(err) != fault.Usage {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// Tails against plain sums in few terms, and against each other far out.
func TestTails(t *testing.T) {
	for _, q := range []float64{0.01, 0.25, 0.5, 0.9} {
		for _, n := range []int{1, 2, 7, 30} {
			sum := 0.0
			for k := n; k >= 0; k-- {
				sum += math.Exp(lnBinomial(k, n, q))
				// 30 terms of relative rounding 1e-15 and the error of Lgamma.
				if got := BinomialTail(k, n, q); !(math.Abs(math.Exp(got)-sum) <= 1e-13) || math.IsInf(got, 0) {
					t.Errorf("P(X >= %d), n %d, q %v: %v, want %v", k, n, q, math.Exp(got), sum)
				}
			}
			if !(math.Abs(sum-1) <= 1e-13) {
				t.Errorf("n %d, q %v: probabilities add up to %v", n, q, sum)
			}
		}
	}
	if got := BinomialTail(4, 3, 0.5); !math.IsInf(got, -1) {
		t.Errorf("more successes than trials: %v", got)
	}
	for _, n := range []int{1, 2, 9} {
		for _, s := range []float64{0, 0.1, 1, 5, 9, 30} {
			sum := 0.0
			for k := range n {
				sum += math.Exp(float64(k)*math.Log(max(s, 1e-300)) - s - lnFactorial(k))
			}
			if got := GammaTail(s, n); !(math.Abs(math.Exp(got)-sum) <= 1e-13) {
				t.Errorf("P(Gamma(%d) >= %v): %v, want %v", n, s, math.Exp(got), sum)
			}
		}
	}
	// ln q^n and -s are exact answers far below the smallest float64.
	if got, want := BinomialTail(100000, 100000, 0.25), 100000*math.Log(0.25); !(math.Abs(got/want-1) <= 1e-9) {
		t.Errorf("all green: %v, want %v", got, want)
	}
	if got := GammaTail(1e6, 1); !(math.Abs(got+1e6) <= 1e-6) {
		t.Errorf("one exponential: %v", got)
	}
	// The two forms of the normal tail meet at 10; the value at 0 is ln 1/2.
	if a, b := NormalTail(math.Nextafter(10, 0)), NormalTail(10); !(math.Abs(a-b) <= 1e-10) {
		t.Errorf("the normal tail jumps from %v to %v", a, b)
	}
	if got := NormalTail(0); !(math.Abs(got+math.Ln2) <= 1e-15) {
		t.Errorf("half: %v", got)
	}
	for _, z := range []float64{-40, 40, 1e4} {
		if got := NormalTail(z); math.IsNaN(got) || math.IsInf(got, 0) || got > 0 {
			t.Errorf("z = %v: %v", z, got)
		}
	}
}

// ID-21: worked numbers of the score, its normal p-value and the exact tail.
func TestGreenScoreIdentity(t *testing.T) {
	rows := []struct {
		greens, scored int
		share, z, p    float64
	}{
		{75, 100, 0.5, 5, 2.866515718791946e-07},
		{50, 100, 0.25, 5.773502691896257, 3.882018268965361e-09},
		{100, 200, 0.5, 0, 0.5},
		{28, 50, 0.5, 0.848528137423857, 0.19807195457603705},
	}
	for _, r := range rows {
		z := GreenZ(r.greens, r.scored, r.share)
		if !(math.Abs(z-r.z) <= 1e-12) || !(math.Abs(math.Exp(NormalTail(z))-r.p) <= 1e-12) {
			t.Errorf("%d of %d: z = %v, p = %v", r.greens, r.scored, z, math.Exp(NormalTail(z)))
		}
	}
	if got := math.Exp(BinomialTail(75, 100, 0.5)); !(math.Abs(got-2.818141017102701e-07) <= 1e-12) {
		t.Errorf("exact tail %v", got)
	}
}

// The numbers of a mark are uniform: chi-squared over 64 cells of 65,536 numbers
// of consecutive tokens and contexts. 63 degrees of freedom: 103.4 is the 0.1 %
// limit. Fixed keys, so it cannot fail by chance.
func TestNumbersOfMarksAreUniform(t *testing.T) {
	const limit = 103.4
	sources := map[string]func(i int32) float64{
		"by token":   func(i int32) float64 { return Unit(NewContextMark(1, 1).Seed([]int32{7}, 1), i) },
		"by context": func(i int32) float64 { return Unit(NewContextMark(1, 1).Seed([]int32{i}, 1), 7) },
	}
	list := NewSequence(9, 1<<16)
	sources["by place"] = func(i int32) float64 { return Unit(list.Seed(0, int(i)), 3) }
	for name, f := range sources {
		var count [64]float64
		for i := range int32(1 << 16) {
			u := f(i)
			if !(u > 0 && u < 1) {
				t.Fatalf("%s: %v", name, u)
			}
			count[int(u*64)]++
		}
		chi := 0.0
		for _, c := range count {
			chi += (c - 1024) * (c - 1024) / 1024
		}
		if !(chi <= limit) {
			t.Errorf("%s: chi-squared %.1f", name, chi)
		}
	}
}

func TestSequenceGoesRound(t *testing.T) {
	s := NewSequence(1, 5)
	if s.Len() != 5 || s.Seed(3, 4) != s.seeds[2] || s.Seed(4, math.MaxInt) != s.seeds[(4+math.MaxInt%5)%5] {
		t.Error("places are not taken modulo the length")
	}
}

func TestContextsBefore(t *testing.T) {
	m := NewContextMark(1, 2)
	tokens := []int32{1, 2, 1, 2, 3}
	if m.Seed(tokens, 2) != m.Seed(tokens, 4) || m.Seed(tokens, 1) == m.Seed(tokens, 3) {
		t.Error("the seed does not depend on the two tokens before alone")
	}
	if !m.Repeated(tokens, 0, 4) || m.Repeated(tokens, 3, 4) || m.Repeated(tokens, 0, 3) {
		t.Error("repeats are not found, or found where there are none")
	}
}

func wantKind(t *testing.T, err error, kind fault.Kind) {
	t.Helper()
	if err == nil || fault.KindOf(err) != kind {
		t.Errorf("error %v, want one of kind %v", err, kind)
	}
}

func randomText(seed uint64, n, vocab int) []int32 {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(r.IntN(vocab))
	}
	return out
}
