package feedback

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"lab/core/dist"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

func settings(v param.Values) (out []param.Setting) {
	for _, x := range v {
		out = append(out, param.Setting(x))
	}
	return out
}

// benchmark applies a sampler to fresh copies of a row; the copy is part of the
// time.
func benchmark(b *testing.B, name string, row dist.Scores, values param.Values) {
	var s sampler.Sampler
	for _, x := range All() {
		if x.Declare().Name == name {
			s = x
		}
	}
	values32 := slices.Clone(row.Values)
	for b.Loop() {
		copy(values32, row.Values)
		scores := dist.NewDense(values32)
		r := sampler.Row{Scores: &scores, Uniforms: []float64{0.6}, Chosen: -1}
		if err := s.Apply(&r, values); err != nil {
			b.Fatal(err)
		}
	}
}

// The row that is left is the formula's, and the mean is that of the tokens'
// original probabilities.
func TestAdaptiveFollowsItsFormula(t *testing.T) {
	set, r := newSet(t), rand.New(rand.NewPCG(1, 9))
	for n, row := range rows(r) {
		for _, target := range []float64{0, 0.3, 1} {
			mean, decay := target, 0.8
			var state []byte
			for range 4 {
				it := mustStep(t, set, "adaptive_p", row, state, r.Float64(), with("target", target, "decay", decay))
				p := probs(row)
				aim := math.Min(math.Max(2*target-mean, 0), 1)
				for i, v := range row.Values {
					got := it.Scores.Values[i]
					if !dist.Finite(v) {
						if dist.Finite(got) {
							t.Fatalf("row %d: token %d came back", n, i)
						}
						continue
					}
					d := math.Abs(p[i]-aim) / 0.3
					if want := 5 - 10*d*d/(1+d); !(math.Abs(float64(got)-want) <= 1e-5) { // float32 of up to 21
						t.Fatalf("row %d: token %d has score %v, want %v", n, i, got, want)
					}
				}
				mean = decay*mean + (1-decay)*p[row.Index(it.Chosen)]
				if state = it.States[0]; !(math.Abs(number(state)-mean) <= 1e-12) {
					t.Fatalf("row %d: the mean is %v, want %v", n, number(state), mean)
				}
			}
		}
	}
}

// The mean probability of the drawn tokens is steered to the target: from 0.5
// down to 0.2 where both are likely. 3,000 draws under a fixed seed.
func TestAdaptiveSteers(t *testing.T) {
	set, r := newSet(t), rand.New(rand.NewPCG(2, 9))
	var values []float32
	for _, p := range []float64{0.5, 0.2, 0.15, 0.1, 0.05} {
		values = append(values, float32(math.Log(p)))
	}
	row := dist.NewDense(values)
	for _, target := range []float64{0.15, 0.3, 0.4} {
		var state []byte
		mean := 0.0
		for range 3000 {
			it := mustStep(t, set, "adaptive_p", row, state, r.Float64(), with("target", target))
			state = it.States[0]
			mean += it.Changes[0].ProbBefore / 3000
		}
		if !(math.Abs(mean-target) <= 0.05) {
			t.Errorf("target %v: mean %v", target, mean)
		}
	}
}

// off says which settings switch a selector off: it then draws as the sampler sample
// does and leaves the row as it is, to the bit.
func TestOffIsAPlainDraw(t *testing.T) {
	set, r := newSet(t), rand.New(rand.NewPCG(3, 9))
	for n, row := range rows(r) {
		u := r.Float64()
		total, run, want := 0.0, 0.0, int32(-1)
		p := probs(row)
		for _, x := range p {
			total += x
		}
		for i, x := range p {
			if run += x; run > u*total && want < 0 {
				want = row.ID(i)
			}
		}
		for name, values := range map[string]param.Values{"adaptive_p": with("target", -1.0), "skew": with("skew", 0.0)} {
			it := mustStep(t, set, name, row, nil, u, values)
			if it.Chosen != want || len(it.States[0]) != 0 {
				t.Errorf("row %d: %s chose %d, want %d; state %v", n, name, it.Chosen, want, it.States[0])
			}
			for i, v := range row.Values {
				if math.Float32bits(v) != math.Float32bits(it.Scores.Values[i]) {
					t.Fatalf("row %d: %s changed token %d", n, name, row.ID(i))
				}
			}
		}
	}
}

// The row that skew leaves is the law of its draw: the chance of rank r is
// F_r^(e^k) - F_(r-1)^(e^k), and the token drawn is the first whose F exceeds
// u^(e^-k).
func TestSkewIsTheLawThatItStates(t *testing.T) {
	set, r := newSet(t), rand.New(rand.NewPCG(4, 9))
	for n, row := range rows(r) {
		at, p := order(row), probs(row)
		for _, k := range []float64{-3, -0.5, 0.5, 2} {
			u := r.Float64()
			it := mustStep(t, set, "skew", row, nil, u, with("skew", k))
			after := probs(it.Scores)
			sum, bent, want := 0.0, math.Pow(u, math.Exp(-k)), int32(-1)
			near := false
			for _, i := range at {
				before := math.Pow(min(sum, 1), math.Exp(k))
				sum += p[i]
				chance := math.Pow(min(sum, 1), math.Exp(k)) - before
				if !(math.Abs(after[i]-chance) <= 2e-6*chance+1e-12) { // scores are float32
					t.Fatalf("row %d, skew %v: token %d has chance %v, want %v", n, k, row.ID(i), after[i], chance)
				}
				near = near || math.Abs(sum-bent) <= 1e-12
				if sum > bent && want < 0 {
					want = row.ID(i)
				}
			}
			if it.Chosen != want && !near {
				t.Errorf("row %d, skew %v: chose %d, want %d", n, k, it.Chosen, want)
			}
		}
	}
}

// Chi-squared of 20,000 skewed draws against the row that was left, 4 degrees of
// freedom, the 0.1 % limit 18.4668 (ID-38); the seed is fixed.
func TestSkewedDrawsFollowTheLaw(t *testing.T) {
	set, r := newSet(t), rand.New(rand.NewPCG(5, 9))
	row := dist.NewDense([]float32{0.1, 1, 0.1, -0.5, -1})
	for _, k := range []float64{-0.7, 0.7} {
		const n = 20000
		var count [5]float64
		var law []float64
		for range n {
			it := mustStep(t, set, "skew", row, nil, r.Float64(), with("skew", k))
			count[it.Chosen]++
			law = probs(it.Scores)
		}
		chi := 0.0
		for i, c := range count {
			chi += (c - n*law[i]) * (c - n*law[i]) / (n * law[i])
		}
		if !(chi <= 18.4668) {
			t.Errorf("skew %v: chi-squared %.2f", k, chi)
		}
	}
}
