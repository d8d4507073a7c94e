package penalty

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/sampler"
)

// ID-31: the sign decides between division and multiplication (FR-05).
func TestRepetitionPenaltyIsAwareOfTheSign(t *testing.T) {
	for _, r := range []struct {
		name     string
		theta    float64
		in, want float32
		history  []int32
	}{
		{"a positive score is divided", 1.5, 2, float32(1.3333333333333333), []int32{0}},
		{"a negative one multiplied", 1.5, -2, -3, []int32{0}},
		{"seen twice counts once", 1.5, -2, -3, []int32{0, 0, 0}},
		{"zero stays zero", 1.5, 0, 0, []int32{0}},
		{"below 1 it rewards", 0.5, -2, -1, []int32{0}},
		{"an overflow stays finite", 1e30, -1e30, -math.MaxFloat32, []int32{0}},
		{"an overflow upwards too", 1e-30, 1e30, math.MaxFloat32, []int32{0}},
	} {
		t.Run(r.name, func(t *testing.T) {
			got := do(t, Repetition{}, []float32{r.in, 1}, r.history, "penalty", r.theta)
			wantScores(t, got, []float32{r.want, 1})
		})
	}
}

// ID-32: 3 - 2·0.5 - 0.7 = 1.3, exact but for the rounding of the result.
func TestFrequencyCountsAndPresenceDoesNot(t *testing.T) {
	got := do(t, Penalties{}, []float32{0, 3}, []int32{1, 1}, "frequency", 0.5, "presence", 0.7)
	wantScores(t, got, []float32{0, float32(1.3)})
	wantScores(t, do(t, Frequency{}, []float32{0, 3}, []int32{1, 1}, "penalty", 0.5), []float32{0, 2})
	wantScores(t, do(t, Presence{}, []float32{0, 3}, []int32{1, 1}, "penalty", 0.5), []float32{0, 2.5})
}

// The order is fixed: repetition, then the others (row 27).
func TestRepetitionComesFirst(t *testing.T) {
	wantScores(t, do(t, Penalties{}, []float32{4, 1}, []int32{0}, "repeat", 2.0, "frequency", 1.0), []float32{1, 1})
	wantScores(t, do(t, Penalties{}, []float32{0.5, 1}, []int32{0}, "repeat", 2.0, "presence", 1.0), []float32{-0.75, 1})
}

func TestWindows(t *testing.T) {
	in := []float32{1, 1, 1, 1, 1}
	h := []int32{0, 1, 2, 2, 3} // 0 and 1 are prompt
	rows := []struct {
		name  string
		lastN int64
		scope string
		want  []float32
	}{
		{"0 is off", 0, "all", []float32{1, 1, 1, 1, 1}},
		{"the newest count, not the oldest", 2, "all", []float32{1, 1, 0, 0, 1}},
		{"-1 is all", -1, "all", []float32{0, 0, -1, 0, 1}},
		{"as long as the context", 5, "all", []float32{0, 0, -1, 0, 1}},
		{"longer than the context", 1 << 40, "all", []float32{0, 0, -1, 0, 1}},
		{"output leaves the prompt out", -1, "output", []float32{1, 1, -1, 0, 1}},
		{"the window is of the output", 2, "output", []float32{1, 1, 0, 0, 1}},
		{"0 is off for the output", 0, "output", []float32{1, 1, 1, 1, 1}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			row := dist.NewDense(slices.Clone(in))
			err := Penalties{}.Apply(&sampler.Row{Scores: &row, History: h, Prompt: 2},
				settings(t, Penalties{}, "frequency", 1.0, "last_n", r.lastN, "scope", r.scope))
			if err != nil {
				t.Fatal(err)
			}
			wantScores(t, row.Values, r.want)
		})
	}
}

// FR-06: of 100 tokens and a window of 8, tokens 93 to 100 are penalised.
func TestWindowIsTheNewestEnd(t *testing.T) {
	h := make([]int32, 100)
	v := make([]float32, 100)
	for i := range h {
		h[i], v[i] = int32(i), 1
	}
	for id, x := range do(t, Presence{}, v, h, "penalty", 1.0, "last_n", 8) {
		if (x == 0) != (id >= 92) {
			t.Errorf("token %d has %v", id, x)
		}
	}
}

// The rule written with a map, against the stage; the order of the window is
// of no account; no score of a seen token rises when the penalty exceeds 1.
func TestPenaltiesAgainstNaive(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 5))
	for range 400 {
		v := randomScores(r, 1+r.IntN(60))
		h := randomTokens(r, r.IntN(900), len(v))
		repeat, frequency, presence := math.Exp(r.NormFloat64()), r.NormFloat64(), r.NormFloat64()
		n := r.IntN(1000)
		pairs := []any{"repeat", repeat, "frequency", frequency, "presence", presence, "last_n", n}
		got := do(t, Penalties{}, v, h, pairs...)
		count := map[int32]int{}
		for _, id := range h[max(0, len(h)-n):] {
			count[id]++
		}
		for id, x := range v {
			want := float64(x)
			if c := count[int32(id)]; c > 0 {
				if want > 0 {
					want /= repeat
				} else {
					want *= repeat
				}
				want -= float64(c)*frequency + presence
			}
			// Half a unit in the last place, and a reordered sum in float64.
			if !(got[id] == float32(want) || math.Abs(float64(got[id])-want) <= 6e-8*math.Abs(want)+1e-12) {
				t.Fatalf("token %d: got %v, want %v", id, got[id], want)
			}
		}
		shuffled := slices.Clone(h[max(0, len(h)-n):])
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		pairs[7] = -1
		wantScores(t, do(t, Penalties{}, v, shuffled, pairs...), got)
		theta := 1 + r.Float64()
		for id, x := range do(t, Repetition{}, v, h, "penalty", theta, "last_n", -1) {
			if x > v[id] || x != v[id] && !slices.Contains(h, int32(id)) {
				t.Fatalf("penalty %v moves token %d from %v to %v", theta, id, v[id], x)
			}
		}
	}
}

// Extreme settings on extreme scores leave finite numbers.
func TestPenaltiesNeverOverflow(t *testing.T) {
	big := []float64{1e308, 1e-308, 3e38, 1e-30}
	for _, repeat := range big {
		for _, f := range []float64{1e308, -1e308, 0} {
			for _, p := range []float64{1e308, -1e308, 0} {
				got := do(t, Penalties{}, []float32{math.MaxFloat32, -math.MaxFloat32, 0, -0.5, negInf, 1}, []int32{0, 0, 1, 1, 2, 3, 4},
					"repeat", repeat, "frequency", f, "presence", p)
				for id, x := range got {
					if dist.Finite(x) != (id != 4) {
						t.Errorf("r = %g, f = %g, a = %g: token %d has %v", repeat, f, p, id, x)
					}
				}
			}
		}
	}
}

func TestHammingCountsChoices(t *testing.T) {
	got := do(t, Hamming{}, []float32{1, 1, 1}, nil, "diversity", 0.5, "tokens", "1=2 2=1 1=1")
	wantScores(t, got, []float32{1, -0.5, 0.5})
	for _, bad := range []string{"1+2=1", "1=-1", "1=-inf"} {
		row := dist.NewDense([]float32{1, 1, 1})
		err := Hamming{}.Apply(&sampler.Row{Scores: &row}, settings(t, Hamming{}, "diversity", 1.0, "tokens", bad))
		wantFault(t, err, fault.Usage, "hamming_diversity", "count")
	}
}
