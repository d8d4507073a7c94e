package feedback

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
)

// run makes n draws under a fixed seed and returns the mean surprise, of the kind
// asked for and as the ledger has it, and mu after the last.
func run(t *testing.T, name string, n int, values param.Values, rawSurprise bool) (mean, mu float64, err error) {
	t.Helper()
	set, r, row := newSet(t), rand.New(rand.NewPCG(5, 6)), zipf()
	var state []byte
	for range n {
		it, err := step(set, name, row, state, r.Float64(), values)
		if err != nil {
			return mean, mu, err
		}
		state = it.States[0]
		p := it.Changes[0].ProbAfter
		if rawSurprise {
			p = it.Changes[0].ProbBefore
		}
		mean -= math.Log2(p) / float64(n)
		mu = number(state)
	}
	return mean, mu, nil
}

// ID-23: mu moves by eta (S - tau) and nothing else, so the mean surprise is tau
// plus what mu lost, for every run. Recomputed from the record of 4,000 steps. mu
// is bounded when surprise is renormalised, so the mean is near the target: mu
// has moved by less than 8 bits, 8/(0.1*4000) = 0.02.
func TestMeanSurpriseIsPinnedToTheTarget(t *testing.T) {
	const n, eta = 4000, 0.1
	for _, name := range []string{"mirostat_v1", "mirostat_v2"} {
		for _, tau := range []float64{2, 3, 5} {
			t.Run(fmt.Sprint(name, " ", tau), func(t *testing.T) {
				mean, last, err := run(t, name, n, with("tau", tau, "eta", eta), false)
				if err != nil {
					t.Fatal(err)
				}
				// 4,000 roundings of sums of some bits.
				if want := tau + (2*tau-last)/(eta*n); !(math.Abs(mean-want) <= 1e-9) {
					t.Errorf("mean surprise %v, from mu %v", mean, want)
				}
				if !(math.Abs(mean-tau) <= 0.02) {
					t.Errorf("mean surprise %v bits, target %v", mean, tau)
				}
			})
		}
	}
}

// With raw surprise and a target of 2 bits the likeliest word alone costs 2.56
// bits (ID-23). Nothing of that is silent.
func TestTargetOutOfReach(t *testing.T) {
	const n = 4000
	unreachable := func(more ...any) param.Values {
		return with(append([]any{"tau", 2.0, "surprise", "raw"}, more...)...)
	}
	for _, name := range []string{"mirostat_v1", "mirostat_v2"} {
		_, _, err := run(t, name, n, unreachable(), true)
		wantError(t, err, fault.Data, "tau = 2 bits is out of reach")
		wantError(t, err, fault.Data, "surprise of 2.563 bits")

		mean, last, err := run(t, name, n, unreachable("out_of_reach", "follow"), true)
		if err != nil {
			t.Fatal(err)
		}
		// A few first steps draw other words.
		if !(math.Abs(mean-2.56) <= 0.01) || !(math.Abs(last+221) <= 3) {
			t.Errorf("%s: mean %v, mu %v; ID-23 has 2.56 and -221", name, mean, last)
		}
		if want := 2 + (4-last)/(0.1*n); !(math.Abs(mean-want) <= 1e-9) {
			t.Errorf("%s: mean %v, from mu %v", name, mean, want)
		}

		_, last, err = run(t, name, n, unreachable("out_of_reach", "hold", "floor", -3.0), true)
		if err != nil || last != -3 {
			t.Errorf("%s held: mu %v, %v", name, last, err)
		}
		// Reachable targets need none of it.
		if _, _, err = run(t, name, n, with("tau", 3.0, "surprise", "raw", "eta", 1.0), true); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCeilingBoundsMu(t *testing.T) {
	set, certain := newSet(t), dist.NewDense([]float32{0})
	var state []byte
	for range 50 {
		state = mustStep(t, set, "mirostat_v2", certain, state, 0.5, with("tau", 4.0, "eta", 1.0, "ceiling", 10.0)).States[0]
	}
	if number(state) != 10 {
		t.Errorf("mu = %v", number(state))
	}
	if start := mustStep(t, set, "mirostat_v2", certain, nil, 0.5, with("tau", 4.0, "eta", 0.0, "ceiling", 5.0)).States[0]; number(start) != 5 {
		t.Errorf("mu starts at %v", number(start))
	}
}

// order returns the finite places of a row by descending score, ties by id.
func order(row dist.Scores) (at []int) {
	for i, v := range row.Values {
		if dist.Finite(v) {
			at = append(at, i)
		}
	}
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(row.Values[b], row.Values[a]) })
	return at
}

// probs returns the probabilities of a row by place, summed without a trick.
func probs(row dist.Scores) []float64 {
	top, total := float64(slices.Max(row.Values)), 0.0
	p := make([]float64, len(row.Values))
	for i, v := range row.Values {
		p[i] = math.Exp(float64(v) - top)
		total += p[i]
	}
	for i := range p {
		p[i] /= total
	}
	return p
}

func support(row *dist.Scores) (ids []int32) {
	for i, v := range row.Values {
		if dist.Finite(v) {
			ids = append(ids, row.ID(i))
		}
	}
	return ids
}

// Version 2 keeps what the formula says, token by token. Where a token's surprise
// is within rounding of mu either answer will do.
func TestV2KeepsWhatIsNotTooSurprising(t *testing.T) {
	set := newSet(t)
	for n, row := range rows(rand.New(rand.NewPCG(1, 2))) {
		for _, tau := range []float64{0, 0.3, 2, 6} {
			it := mustStep(t, set, "mirostat_v2", row, nil, 0.4, with("tau", tau))
			kept, p := support(&it.Scores), probs(row)
			at := order(row)
			if len(kept) == 1 && kept[0] == row.ID(at[0]) && !(-math.Log2(p[at[0]]) <= 2*tau-1e-9) {
				continue // the likeliest alone is left, as it must
			}
			for i, v := range row.Values {
				if !dist.Finite(v) {
					continue
				}
				cost := -math.Log2(p[i])
				if has := slices.Contains(kept, row.ID(i)); has != (cost <= 2*tau) && !(math.Abs(cost-2*tau) <= 1e-9) && !math.IsInf(cost, 1) {
					t.Fatalf("row %d, mu %v: token %d costs %v bits and is kept: %v", n, 2*tau, row.ID(i), cost, has)
				}
			}
		}
	}
}

// A token of surprise mu stays: four equal tokens cost 2 bits each.
func TestV2KeepsEquality(t *testing.T) {
	flat := dist.NewDense([]float32{0, 0, 0, 0})
	if it := mustStep(t, newSet(t), "mirostat_v2", flat, nil, 0.9, with("tau", 1.0)); len(it.Scores.Values) != 4 || it.Chosen != 3 {
		t.Errorf("left %+v, chose %d", it.Scores, it.Chosen)
	}
	if it := mustStep(t, newSet(t), "mirostat_v2", flat, nil, 0.9, with("tau", 0.99)); !slices.Equal(it.Scores.IDs, []int32{0}) {
		t.Errorf("left %+v", it.Scores)
	}
}

// Version 1 against the paper's algorithm over a sorted list.
func TestV1KeepsTheEstimatedRank(t *testing.T) {
	set := newSet(t)
	for n, row := range append(rows(rand.New(rand.NewPCG(3, 4))), zipf()) {
		at := order(row)
		for _, m := range []int{2, 7, 100} {
			for _, tau := range []float64{0, 1, 3, 8} {
				tb, tt := 0.0, 0.0
				for i := 0; i+1 < min(m, len(at)); i++ {
					x := math.Log(float64(i+2) / float64(i+1))
					tb += x * (float64(row.Values[at[i]]) - float64(row.Values[at[i+1]]))
					tt += x * x
				}
				s, N := tb/tt, float64(len(at))
				want := math.Pow((s-1)*math.Exp2(2*tau)/(1-math.Pow(N, -(s-1))), 1/s)
				if math.IsNaN(want) { // one token, or a limit of the formula; see below
					continue
				}
				it := mustStep(t, set, "mirostat_v1", row, nil, 0.4, with("tau", tau, "m", int64(m)))
				got := len(support(&it.Scores))
				low, high := max(1, min(N, math.Floor(want*(1-1e-9)))), max(1, min(N, math.Floor(want*(1+1e-9))))
				if float64(got) < low || float64(got) > high {
					t.Fatalf("row %d, m %d, tau %v: keeps %d of %v, the formula %v", n, m, tau, got, N, want)
				}
				if got < len(at) {
					for _, place := range at[:got] {
						if !it.Scores.Has(row.ID(place)) {
							t.Fatalf("row %d: token %d of the first %d is gone", n, row.ID(place), got)
						}
					}
				}
			}
		}
	}
}

func TestZipfLimits(t *testing.T) {
	rows := []struct {
		name  string
		s, mu float64
		n     int
		want  int
	}{
		{"one token", 2, 5, 1, 1},
		{"all equal, mu high", 0, 12, 1000, 1000},
		{"all equal, mu low", 0, 5, 1000, 1},
		{"s = 1 is the limit 2^mu / ln N", 1, 6, 1000, 9}, // 64/6.9078 = 9.26
		{"just above 1", 1 + 1e-12, 6, 1000, 9},
		{"mu far below 0", 1.5, -500, 1000, 1},
		{"mu far above", 1.5, 500, 1000, 1000},
		{"steep", 1e6, 3, 1000, 1},
		{"hardly steep at all", 1e-12, 12, 1000, 1000},
	}
	for _, r := range rows {
		if got := zipfRank(r.s, r.mu, r.n); got != r.want {
			t.Errorf("%s: %d, want %d", r.name, got, r.want)
		}
	}
}

func TestRanks(t *testing.T) {
	for n, row := range rows(rand.New(rand.NewPCG(7, 8))) {
		want := order(row)
		list := byRank(row.Values)
		if len(list) != len(want) {
			t.Fatalf("row %d: %d ranks, want %d", n, len(list), len(want))
		}
		for i, x := range list {
			if int(x.place) != want[i] {
				t.Fatalf("row %d: place %d at rank %d, want %d", n, x.place, i, want[i])
			}
		}
		for _, k := range []int{1, (len(want) + 1) / 2, len(want)} {
			floor, ties := kth(row.Values, k)
			if floor != row.Values[want[k-1]] {
				t.Fatalf("row %d: number %d is %v, want %v", n, k, floor, row.Values[want[k-1]])
			}
			above := 0
			for _, v := range row.Values {
				if v > floor {
					above++
				}
			}
			if above+ties != k {
				t.Fatalf("row %d: %d above and %d equal make %d", n, above, ties, k)
			}
		}
	}
	for _, v := range []float32{0, 1, -1, 1e-45, -1e-45, math.MaxFloat32, -math.MaxFloat32} {
		if unkey(key(v)) != v {
			t.Errorf("%v has no key of its own", v)
		}
	}
}

// A row with an unlisted tail is exact while the cut falls among the listed.
func TestV2WithAnUnlistedTail(t *testing.T) {
	p := []float64{0.5, 0.25, 0.05}
	row := dist.Scores{Vocab: 50, IDs: []int32{4, 9, 30}, Unlisted: 0.2}
	for _, x := range p {
		row.Values = append(row.Values, float32(math.Log(x)))
	}
	it := mustStep(t, newSet(t), "mirostat_v2", row, nil, 0.99, with("tau", 1.1))
	if !slices.Equal(it.Scores.IDs, []int32{4, 9}) || it.Scores.Unlisted != 0 || it.Chosen != 9 {
		t.Errorf("left %+v, chose %d", it.Scores, it.Chosen)
	}
	_, err := step(newSet(t), "mirostat_v2", row, nil, 0.5, with("tau", 3.0))
	wantError(t, err, fault.Data, "unlisted")
	for _, name := range []string{"mirostat_v1", "adaptive_p", "skew"} {
		_, err := step(newSet(t), name, row, nil, 0.5, nil)
		wantError(t, err, fault.Data, "unlisted")
	}
}

func TestBadSettings(t *testing.T) {
	for _, v := range []param.Values{with("tau", -1.0), with("eta", -0.1), with("surprise", "rough"), with("floor", 1.0), with("m", int64(1))} {
		_, err := step(newSet(t), "mirostat_v1", zipf(), nil, 0.5, v)
		wantError(t, err, fault.Usage, v[0].Name)
	}
	_, err := step(newSet(t), "adaptive_p", zipf(), nil, 0.5, with("decay", 0.995))
	wantError(t, err, fault.Usage, "0.99")
	_, err = step(newSet(t), "skew", zipf(), nil, 0.5, with("skew", 21.0))
	wantError(t, err, fault.Usage, "20")
}

// Bytes that no stage wrote are refused, or are a number that a stage could have
// written.
func FuzzState(f *testing.F) {
	f.Add([]byte{}, 0.5)
	f.Add([]byte{1, 2, 3}, 0.5)
	f.Add(save(math.NaN()), 0.5)
	f.Add(save(math.Inf(-1)), 0.1)
	f.Add(save(1e300), 0.9)
	f.Add(save(0.5), 0.0)
	set, row := newSet(f), zipf()
	f.Fuzz(func(t *testing.T, state []byte, u float64) {
		if !(u >= 0 && u < 1) || len(state) > 100 {
			return
		}
		for _, name := range []string{"mirostat_v1", "mirostat_v2", "adaptive_p"} {
			it, err := step(set, name, row, state, u, nil)
			if err != nil {
				if k := fault.KindOf(err); k != fault.Data {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			if len(state) != 0 && len(state) != 8 || len(it.States[0]) != 8 || math.IsNaN(number(it.States[0])) {
				t.Errorf("%s took %v and left %v", name, state, it.States[0])
			}
		}
	})
}

func BenchmarkSelectors(b *testing.B) {
	set := newSet(b)
	for _, n := range []int{32768, 262144} {
		row := gaussian(n)
		for _, name := range []string{"mirostat_v1", "mirostat_v2", "adaptive_p", "skew"} {
			values := param.Values(nil)
			if name == "skew" {
				values = with("skew", 0.5)
			}
			b.Run(fmt.Sprint(name, "/", n), func(b *testing.B) {
				d, _ := set.Lookup(name)
				v, err := d.Params.Resolve("bench", name, settings(values))
				if err != nil {
					b.Fatal(err)
				}
				benchmark(b, name, row, v)
			})
		}
	}
}
