package plots

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"lab/core/fault"
	"lab/core/measure"
)

// The edge rows of the figures over many texts: entropy, zipf, repetition and
// pairs.

func curveEdges() map[string][]edge {
	return map[string][]edge{entropyName: entropyEdges(), zipfName: zipfEdges(), repetitionName: repetitionEdges(), pairsName: pairsEdges(),
		gridName: gridEdges()}
}

// curveGoldens are their golden pictures.
func curveGoldens() map[string]func(Options) (*Figure, error) {
	return map[string]func(Options) (*Figure, error){
		entropyName: func(o Options) (*Figure, error) {
			return Entropy(exampleEntropy(12, 0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.5, 2), o)
		},
		zipfName:       func(o Options) (*Figure, error) { return Zipf(exampleZipf(), o) },
		repetitionName: func(o Options) (*Figure, error) { return Repetition(exampleRepetition(), o) },
		pairsName:      func(o Options) (*Figure, error) { return Pairs(examplePairs(24), o) },
		gridName:       func(o Options) (*Figure, error) { return SweepGrid(exampleGrid(6, 4), o) },
	}
}

func entropyEdges() []edge {
	nan, inf := math.NaN(), math.Inf(1)
	of := func(rows ...EntropyRow) func(Options) (*Figure, error) {
		return func(o Options) (*Figure, error) { return Entropy(EntropyData{rows}, o) }
	}
	var many []EntropyRow
	for i := range 400 {
		many = append(many, EntropyRow{0.01 * float64(i), []float64{float64(i % 7), 3}, nil})
	}
	long := make([]float64, 262144)
	for i := range long {
		long[i] = float64(i%1000) / 100
	}
	return []edge{
		{name: "empty", draw: of(), says: []string{"no data (no series)", "temperature T", "bits"}},
		{name: "no prompts", draw: of(EntropyRow{Temperature: 1}), says: []string{"no data (the one point is undefined)", "0 prompts"}},
		{name: "one temperature", draw: of(EntropyRow{0.7, []float64{2}, []float64{0.5}}), says: []string{"At T = 0.7 the entropy is 2.00 bits", "KL(sampling‖model)", "1 prompt"}, not: []string{"T = 1"}},
		{name: "one prompt", draw: of(EntropyRow{0.5, []float64{1}, nil}, EntropyRow{2, []float64{4}, nil}), says: []string{"From T = 0.5 to 2 the entropy rises from 1.0 to 4.0 bits", "T = 1"}, not: []string{"KL(sampling‖model)"}},
		{name: "all equal", draw: of(EntropyRow{0.5, []float64{3, 3}, []float64{0, 0}}, EntropyRow{2, []float64{3, 3}, []float64{0, 0}}), says: []string{"stays at 3.0 bits (median of 2 prompts)"}},
		{name: "falling", draw: of(EntropyRow{0.5, []float64{3, 3}, nil}, EntropyRow{2, []float64{1, 1}, nil}), says: []string{"falls from 3.0 to 1.0 bits"}},
		{name: "zero", draw: of(EntropyRow{0, []float64{0, 0}, []float64{0, 0}}), says: []string{"the entropy is 0 bits"}},
		{name: "undefined", draw: of(EntropyRow{1, []float64{nan, 2, 3}, []float64{inf, 1, 1}}), says: []string{"2 values are undefined and left out"}},
		{name: "everything undefined", draw: of(EntropyRow{1, []float64{nan}, nil}), says: []string{"no data (the one point is undefined)"}},
		{name: "400 temperatures", draw: of(many...), says: []string{"400 temperatures, 2 prompts"}},
		{name: "262,144 prompts", draw: of(EntropyRow{1, long, nil}), says: []string{"262,144 prompts"}},
		{name: "narrow column", draw: func(o Options) (*Figure, error) { o.Width = 3.5; return Entropy(exampleEntropy(3, 0.5, 1, 2), o) }, says: []string{"median of 3 prompts"}},
		{name: "negative entropy", draw: of(EntropyRow{1, []float64{-1}, nil}), kind: fault.Data, err: "figure entropy: temperature 1: the entropy of prompt 0 is negative (-1 bits)"},
		{name: "negative KL", draw: of(EntropyRow{1, []float64{1}, []float64{-1}}), kind: fault.Data, err: "KL of prompt 0 is negative"},
		{name: "given twice", draw: of(EntropyRow{1, nil, nil}, EntropyRow{1, nil, nil}), kind: fault.Data, err: "temperature 1 is given twice"},
		{name: "another number of prompts", draw: of(EntropyRow{1, []float64{1}, nil}, EntropyRow{2, []float64{1, 2}, nil}), kind: fault.Data, err: "2 prompts, another temperature has 1; give NaN"},
		{name: "infinite temperature", draw: of(EntropyRow{inf, nil, nil}), kind: fault.Data, err: "temperature +Inf"},
	}
}

func zipfEdges() []edge {
	of := func(texts ...ZipfText) func(Options) (*Figure, error) {
		return func(o Options) (*Figure, error) { return Zipf(ZipfData{Texts: texts}, o) }
	}
	var thirty []ZipfText
	for i := range 30 {
		thirty = append(thirty, ZipfText{Name: fmt.Sprint("text ", i), Counts: zipfCounts(500, 0.6+0.03*float64(i), 400)})
	}
	return []edge{
		{name: "empty", draw: of(), says: []string{"no data (no series)", "rank of the token (log scale)", "count (log scale)"}},
		{name: "a text without types", draw: of(ZipfText{Name: "a", Counts: nil}, ZipfText{Name: "b", Counts: []int{3, 2}}), says: []string{"a has no token and no line"}},
		{name: "no types at all", draw: of(ZipfText{Name: "a"}), says: []string{"no data (no series)", "a has no token and no line."}},
		{name: "one type", draw: of(ZipfText{Name: "a", Counts: []int{7}}), says: []string{"n/a", "7 tokens of 1 type"}},
		{name: "one type once", draw: of(ZipfText{Counts: []int{1}}), says: []string{"The text falls off with the exponent n/a"}},
		{name: "all equal", draw: of(ZipfText{Name: "a", Counts: []int{5, 5, 5, 5}}), says: []string{"exponent 0.00"}},
		{name: "all once", draw: of(ZipfText{Name: "a", Counts: []int{1, 1, 1}}), says: []string{"3 tokens of 3 types"}},
		{name: "unsorted", draw: of(ZipfText{Name: "a", Counts: []int{1, 100, 10}}), says: []string{"111 tokens of 3 types"}},
		{name: "30 texts", draw: of(thirty...), says: []string{"text 29, s = "}},
		{name: "262,144 types", draw: of(ZipfText{Name: "big", Counts: zipfCounts(1e7, 1, 262144)}, ZipfText{Name: "people", Counts: zipfCounts(1e6, 1.1, 262144), Reference: true}), says: []string{"262,144 types", "big, s = 1.00"}},
		{name: "odd name", draw: of(ZipfText{Name: "<b>\u202e\xff" + strings.Repeat("long ", 60), Counts: []int{3, 2, 1}}), says: []string{"‹202E›"}},
		{name: "narrow column", draw: func(o Options) (*Figure, error) { o.Width = 3.5; return Zipf(exampleZipf(), o) }, says: []string{"people, s = 1.0"}},
		{name: "zero count", draw: of(ZipfText{Name: "a", Counts: []int{3, 0}}), kind: fault.Data, err: `figure zipf: text "a": count 1 is 0`},
		{name: "negative count", draw: of(ZipfText{Counts: []int{-3}}), kind: fault.Data, err: "text 1: count 0 is -3"},
		{name: "given twice", draw: of(ZipfText{Name: "a", Counts: []int{2}}, ZipfText{Name: "a", Counts: []int{3}}), kind: fault.Data, err: "has the same name and panel"},
	}
}

func repetitionEdges() []edge {
	of := func(n int, strategies ...RepetitionStrategy) func(Options) (*Figure, error) {
		return func(o Options) (*Figure, error) { return Repetition(RepetitionData{n, strategies}, o) }
	}
	samples := func(texts ...[]int32) RepetitionStrategy { return RepetitionStrategy{"a", texts} }
	var thirty []RepetitionStrategy
	for i := range 30 {
		thirty = append(thirty, RepetitionStrategy{fmt.Sprint("s", i), [][]int32{loopingText(100, 20+i, 5, i), loopingText(100, 30+i, 5, i)}})
	}
	constant := make([]int32, 50)
	return []edge{
		{name: "empty", draw: of(0), says: []string{"no data (no series)", "repeated 4-grams, %", "tokens"}},
		{name: "no samples", draw: of(2, samples()), says: []string{"no data (no points)"}},
		{name: "all too short", draw: of(4, samples([]int32{1}, []int32{1, 2})), says: []string{"no data (no points)", "2 samples shorter than 4 tokens left out"}},
		{name: "one n-gram", draw: of(2, samples([]int32{1, 2})), says: []string{"0\u00a0% of the 2-grams are repetitions at the end", "1 sample"}},
		{name: "one token repeated", draw: of(1, samples(constant)), says: []string{"98\u00a0% of the 1-grams"}},
		{name: "nothing repeated", draw: of(32, samples(loopingText(64, 0, 1, 5), loopingText(64, 0, 1, 6))), says: []string{"0\u00a0%"}},
		{name: "all equal", draw: of(2, samples(loopingText(64, 9, 3, 5), loopingText(64, 9, 3, 5)), RepetitionStrategy{"b", [][]int32{loopingText(64, 9, 3, 5)}}), says: []string{"All strategies end with"}},
		{name: "unequal lengths", draw: of(2, samples(loopingText(64, 9, 3, 5), loopingText(8, 9, 3, 5), []int32{1})), says: []string{"as far as half of them go", "1 sample shorter than 2 tokens left out"}},
		{name: "30 strategies", draw: of(3, thirty...), says: []string{"30 strategies of 2 samples", "s29"}},
		{name: "262,144 tokens", draw: of(4, samples(loopingText(262144, 100000, 300, 1))), says: []string{"200k"}},
		{name: "odd name", draw: of(2, RepetitionStrategy{"<b>\u202e\xff" + strings.Repeat("long ", 60), [][]int32{constant}}, samples(constant)), says: []string{"‹202E›"}},
		{name: "narrow column", draw: func(o Options) (*Figure, error) { o.Width = 3.5; return Repetition(exampleRepetition(), o) }, says: []string{"greedy"}},
		{name: "n out of range", draw: of(33), kind: fault.Usage, err: "n: 33 is outside 1 to 32"},
		{name: "negative n", draw: of(-1), kind: fault.Usage, err: "n: -1 is outside 1 to 32"},
		{name: "given twice", draw: of(2, samples(constant), samples(constant)), kind: fault.Data, err: "has the same name and panel"},
	}
}

func pairsEdges() []edge {
	of := func(pairs ...Pair) func(Options) (*Figure, error) {
		return func(o Options) (*Figure, error) { return Pairs(PairsData{A: "a", B: "b", Pairs: pairs}, o) }
	}
	one := []int32{1, 2, 3, 4}
	odd := examplePairs(1)
	odd.Pairs[0].AtA, odd.Pairs[0].AtB = "\xe6\x97", strings.Repeat("long", 60)
	long := loopingText(262144, 0, 1, 3)
	other := slices.Clone(long)
	other[200000]++
	return []edge{
		{name: "empty", draw: of(), says: []string{"no data (no series)", "step", "share, 0 to 1"}},
		{name: "no tokens", draw: of(Pair{}, Pair{}), says: []string{"no data (no series)"}},
		{name: "one token", draw: of(Pair{A: one[:1], B: one[:1]}), says: []string{"The two texts are the same in all 1 token"}},
		{name: "equal", draw: of(Pair{A: one, B: one}, Pair{A: one, B: one}), says: []string{"All 2 pairs are the same to the end", "still the same"}},
		{name: "different from the start", draw: of(Pair{A: one, B: []int32{9, 9, 9, 9}, AtA: " x", AtB: " y"}), says: []string{"The two texts part at step 1", "step 1: “␣x” or “␣y”"}},
		{name: "one ended earlier", draw: of(Pair{A: one, B: one[:2]}), says: []string{"The two texts part at step 3", "first difference, step 3"}},
		{name: "an empty one", draw: of(Pair{A: one}, Pair{A: one, B: one}), says: []string{"Of 2 pairs 1 is the same to the end"}},
		{name: "undefined", draw: of(Pair{A: one, B: one, TV: []float64{math.NaN(), 0, 0, 0}}), says: []string{"1 value of TV is undefined and left out"}},
		{name: "all part", draw: of(Pair{A: one, B: one[:2]}, Pair{A: one, B: one[:3]}), says: []string{"All 2 pairs part, half of them by step 3"}},
		{name: "odd tokens", draw: func(o Options) (*Figure, error) { return Pairs(odd, o) }, says: []string{"‹E6 97›"}},
		{name: "262,144 tokens", draw: of(Pair{A: long, B: other}), says: []string{"The two texts part at step 200,001"}},
		{name: "narrow column", draw: func(o Options) (*Figure, error) { o.Width = 3.5; return Pairs(examplePairs(8), o) }, says: []string{"TV so far"}},
		{name: "TV above one", draw: of(Pair{A: one, B: one, TV: []float64{1.5}}), kind: fault.Data, err: "figure pairs: pair 0: TV 1.5 at step 0 is outside 0 to 1"},
		{name: "negative TV", draw: of(Pair{A: one, B: one, TV: []float64{0, -0.1}}), kind: fault.Data, err: "TV -0.1 at step 1"},
		{name: "too much TV", draw: of(Pair{A: one[:1], TV: []float64{0, 0}}), kind: fault.Data, err: "2 values of TV for 1 steps"},
	}
}

// TestRepetitionEndsAtSeqRep checks the running count against the measure of a
// whole text, which counts in another way.
func TestRepetitionEndsAtSeqRep(t *testing.T) {
	for salt := range 30 {
		for _, n := range []int{1, 2, 4, 9} {
			text := loopingText(40+7*salt, salt%3*20, 5, salt)
			whole, err := measure.SeqRep(text, n)
			if err != nil {
				t.Fatal(err)
			}
			got := repeatedShare(text, n, lengthGrid(n, len(text), 20))
			if last := got[len(got)-1]; !(math.Abs(last-100*whole) <= 1e-9) { // one division each
				t.Errorf("n = %d, text %d: %v, seq_rep says %v", n, salt, last, 100*whole)
			}
		}
	}
}

func TestSpreadOfIsTheQuantileOfDefinition7(t *testing.T) {
	values := []float64{math.NaN()}
	for i := range 101 {
		values = append(values, float64((37*i)%101))
	}
	median, lo, hi, n := spreadOf(values)
	if median != 50 || lo != 5 || hi != 95 || n != 101 { // of 0..100 the q quantile is 100·q
		t.Errorf("median %v, band %v to %v of %d, want 50, 5 to 95 of 101", median, lo, hi, n)
	}
	if m, lo, _, n := spreadOf([]float64{math.Inf(1)}); n != 0 || defined(m) || defined(lo) {
		t.Errorf("of no values: median %v, lo %v, n %d", m, lo, n)
	}
}

// TestPairsAgainstTheirDefinition counts every step anew.
func TestPairsAgainstTheirDefinition(t *testing.T) {
	d := examplePairs(9)
	d.Pairs = append(d.Pairs, Pair{A: []int32{1, 2, 3}, B: []int32{1, 2}}, Pair{})
	grid := lengthGrid(1, 64, 400)
	got := pairSeries(d.Pairs, grid, false)
	for g, step := range grid {
		same, agree, with := 0, 0.0, 0
		for _, p := range d.Pairs {
			n := max(len(p.A), len(p.B))
			if n == 0 {
				continue
			}
			with++
			if slices.Equal(p.A[:min(step, len(p.A))], p.B[:min(step, len(p.B))]) {
				same++
			}
			equal := 0
			for k := range min(step, len(p.A), len(p.B)) {
				if p.A[k] == p.B[k] {
					equal++
				}
			}
			agree += float64(equal) / float64(min(step, n))
		}
		if want := float64(same) / float64(with); got[0].Y[g] != want {
			t.Errorf("step %d: %v still the same, want %v", step, got[0].Y[g], want)
		}
		if want := agree / float64(with); !(math.Abs(got[1].Y[g]-want) <= 1e-12) { // sums in the same order
			t.Errorf("step %d: agreement %v, want %v", step, got[1].Y[g], want)
		}
	}
}

func TestLengthGridHoldsBothEnds(t *testing.T) {
	for _, r := range [][3]int{{1, 1, 5}, {1, 2, 400}, {4, 262144, 120}, {3, 9, 7}} {
		g := lengthGrid(r[0], r[1], r[2])
		if g[0] != r[0] || g[len(g)-1] != r[1] || len(g) > r[2] || !slices.IsSorted(g) || len(slices.Compact(slices.Clone(g))) != len(g) {
			t.Errorf("%v gives %v", r, g)
		}
	}
	if g := lengthGrid(5, 4, 10); len(g) != 0 {
		t.Errorf("no lengths give %v", g)
	}
}
