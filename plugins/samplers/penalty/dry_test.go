package penalty

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/sampler"
)

// naive is the definition: for every token that followed an earlier occurrence
// of the newest n tokens, the largest such n that no breaker lies in.
func naive(tokens []int32, breaker func(int32) bool, limit int) map[int32]int {
	m := len(tokens)
	out := map[int32]int{}
	for j := 1; j < m; j++ {
		n := 0
		for n < j && n < limit && tokens[j-1-n] == tokens[m-1-n] && !breaker(tokens[m-1-n]) {
			n++
		}
		if id := tokens[j]; n > out[id] && !breaker(id) {
			out[id] = n
		}
	}
	return out
}

func naiveDry(v []float32, tokens []int32, multiplier, base float64, allowed int, breaker func(int32) bool) []float64 {
	most := int(math.Log(math.MaxFloat32) / math.Log(base)) // so that base^most is a float32
	out := make([]float64, len(v))
	for i := range v {
		out[i] = float64(v[i])
	}
	for id, n := range naive(tokens, breaker, math.MaxInt) {
		if n >= max(allowed, 1) {
			out[id] -= multiplier * math.Pow(base, float64(min(n-allowed, most)))
		}
	}
	return out
}

func checkDry(t *testing.T, v []float32, h []int32, lastN, allowed int, breakers []int32) {
	t.Helper()
	window := h
	if lastN >= 0 {
		window = h[max(0, len(h)-lastN):]
	}
	want := naiveDry(v, window, 0.8, 1.5, allowed, func(id int32) bool { return slices.Contains(breakers, id) })
	list := strings.Trim(fmt.Sprint(breakers), "[]")
	got := do(t, Dry{}, v, h, "multiplier", 0.8, "base", 1.5, "allowed_length", allowed, "last_n", lastN, "breakers", list)
	for id, x := range got {
		// Rounding to float32, of a penalty that may be far below its range.
		w := max(want[id], -math.MaxFloat32)
		if math.IsInf(want[id], -1) {
			w = want[id]
		}
		if !(float64(x) == w || math.Abs(float64(x)-w) <= 1e-7*math.Abs(w)) {
			t.Fatalf("context %v, window %d, allowed %d, breakers %v: token %d has %v, want %v", h, lastN, allowed, breakers, id, x, w)
		}
	}
}

func TestDryAgainstNaive(t *testing.T) {
	r := rand.New(rand.NewPCG(28, 1))
	for range 2000 {
		vocab := 1 + r.IntN(5)
		v := randomScores(r, vocab)
		var breakers []int32
		if r.IntN(2) == 0 {
			breakers = randomTokens(r, 1+r.IntN(2), vocab)
		}
		h := randomTokens(r, r.IntN(120), vocab)
		if len(h) > 20 && r.IntN(2) == 0 { // a loop of tokens
			for i := 7; i < len(h); i++ {
				h[i] = h[i-7]
			}
		}
		checkDry(t, v, h, r.IntN(140)-1, r.IntN(5), breakers)
	}
}

func FuzzDry(f *testing.F) {
	f.Add([]byte{1, 2, 3, 1, 2, 3, 1, 2}, uint8(2), uint8(9), uint8(200))
	f.Add([]byte{1, 1, 1, 1, 1}, uint8(0), uint8(3), uint8(1))
	f.Add([]byte{}, uint8(1), uint8(0), uint8(0))
	f.Fuzz(func(t *testing.T, context []byte, allowed, lastN, breaker uint8) {
		if len(context) > 300 {
			return
		}
		h := make([]int32, len(context))
		for i, b := range context {
			h[i] = int32(b % 6)
		}
		checkDry(t, []float32{1, 0, -1, 2, negInf, 3}, h, int(lastN)-1, int(allowed%8), []int32{int32(breaker % 6)})
	})
}

// ID-32: 0.8 · 1.75^(5-2) = 4.2875, exact in float64.
func TestDryPenaltyGrowsWithTheMatch(t *testing.T) {
	h := []int32{1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5}
	got := do(t, Dry{}, make([]float32, 8), h, "multiplier", 0.8)
	wantScores(t, got, []float32{0, 0, 0, 0, 0, 0, float32(-4.2875000000000005), 0})
}

func TestDryBreakers(t *testing.T) {
	h := []int32{1, 2, 3, 4, 9, 1, 2, 3} // 4 would make four of a kind
	long := []int32{20, 21, 1, 2, 3, 4, 9, 20, 21, 1, 2, 3}
	rows := []struct {
		name     string
		h        []int32
		breakers string
		want     float64 // what is taken from token 4, at base 2 and allowed 1
	}{
		{"none", h, "", 4},
		{"the usual texts, absent", h, `'\n' ':' '"' '*'`, 4},
		{"one inside the match shortens it", h, "2", 1},
		{"the newest decides", h, "1 2", 1},
		{"at the end there is no match", h, "3", 0},
		{"the token itself is exempt", h, "4", 0},
		{"one before the match does nothing", h, "9", 4},
		{"a text is every token that contains it", h, "'c'", 1}, // 2 is c
		{"a text that no token has alone", h, "'cz'", 4},
		{"a sequence ends the match after it", h, "1+2", 1},
		{"a sequence of the wrong order does nothing", h, "2+1", 4},
		{"a sequence that is not complete does nothing", h, "3+7", 4},
		{"a sequence exempts no token", h, "3+4", 4},
		{"longer than the context", h, "9+9+9+9+9+9+9+9+9", 4},
		{"a text over two tokens", h, "'bc'", 1},
		{"a text over all three", h, "'bcd'", 0},
		{"a text that begins before another breaker", h, "2 'bcd'", 0},
		{"a text that ends inside an older token", long, "'uv'", 4},
		{"a text over the border of the match", long, "'vb'", 2},
		{"a text that does not occur", long, "'jbcd'", 16},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			got := do(t, Dry{}, make([]float32, 30), r.h, "multiplier", 1.0, "base", 2.0, "allowed_length", 1, "breakers", r.breakers)
			if float64(-got[4]) != r.want {
				t.Errorf("token 4 has %v, want -%v", got[4], r.want)
			}
		})
	}
}

// Newline, colon, quote and star break by default.
func TestDryDefaultBreakers(t *testing.T) {
	for _, id := range []int32{10, 11, 12, 13} {
		got := do(t, Dry{}, make([]float32, 30), []int32{1, id, 3, 4, 9, 1, id, 3}, "multiplier", 1.0, "base", 2.0, "allowed_length", 1)
		if got[4] != -1 {
			t.Errorf("breaker %d: token 4 has %v, want -1", id, got[4])
		}
	}
}

func TestDryRefusesWhatItCannotLookFor(t *testing.T) {
	rows := []struct{ name, breakers, want string }{
		{"a text of excessive length", "'" + strings.Repeat("x", mostLength+1) + "'", "longer than 1024"},
		{"a sequence of excessive length", strings.Repeat("1+", mostLength) + "1", "longer than 1024"},
		{"too many texts", strings.Repeat("'xy' ", mostTexts+1), "more than 256"},
		{"too many sequences", strings.Repeat("1+2 ", mostTexts+1), "more than 256"},
		{"an id outside the vocabulary", "3", "token 3 is outside the vocabulary of 3"},
		{"in a sequence too", "1+3", "token 3 is outside"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			row := dist.NewDense([]float32{0, 1, 2})
			err := Dry{}.Apply(&sampler.Row{Scores: &row, Texts: alphabet}, settings(t, Dry{}, "multiplier", 1.0, "breakers", r.breakers))
			wantFault(t, err, fault.Usage, "dry", "breakers", r.want)
		})
	}
	t.Run("texts without a vocabulary", func(t *testing.T) {
		row := dist.NewDense([]float32{0, 1})
		err := Dry{}.Apply(&sampler.Row{Scores: &row}, settings(t, Dry{}, "multiplier", 1.0))
		wantFault(t, err, fault.Usage, "dry", "breakers", "texts")
	})
}

// A long repetition meets the cap on the exponent, or the end of float32;
// either leaves a finite score.
func TestDryNeverOverflows(t *testing.T) {
	h := make([]int32, 5000)
	for _, r := range []struct{ multiplier, base, want float64 }{
		{0.8, 1.75, 0.8 * math.Pow(1.75, 158)}, // the cap of the catalogue
		{1e300, 1.75, math.MaxFloat32},
		{1e300, 1e300, math.MaxFloat32},
		{0.8, 1, 0.8},
		{0.8, 0.5, 0}, // 0.8 · 2^-4997 is no number above 0
		{1e308, 1.0000005, math.MaxFloat32},
	} {
		got := do(t, Dry{}, []float32{0, 1}, h, "multiplier", r.multiplier, "base", r.base, "last_n", -1, "breakers", "")
		if !(math.Abs(float64(-got[0])-r.want) <= 1e-6*r.want) || got[1] != 1 {
			t.Errorf("multiplier %g, base %g: %v, want -%g", r.multiplier, r.base, got, r.want)
		}
	}
}

// A context of one repeated token is the worst case of a search that starts
// anew at every place: 10^12 comparisons, which would not end within the time
// limit of a test.
func TestRepeatsAreFoundInLinearTime(t *testing.T) {
	h := make([]int32, 1<<20)
	got := do(t, Dry{}, []float32{0, 1}, h, "multiplier", 0.8, "base", 1.0, "last_n", -1, "breakers", "1+0 1+0+0")
	wantScores(t, got, []float32{-0.8, 1})
	wantScores(t, do(t, NoRepeatNgram{}, []float32{0, 1}, h, "n", 1<<19), []float32{negInf, 1})
	row := dist.NewDense([]float32{0, 1})
	err := EncoderNoRepeatNgram{}.Apply(&sampler.Row{Scores: &row, History: h, Prompt: len(h) - 1}, settings(t, EncoderNoRepeatNgram{}, "n", 1<<19))
	if err != nil || row.Values[0] != negInf {
		t.Errorf("%v, %v", row.Values, err)
	}
}

func BenchmarkDry(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	values := randomScores(r, 262144)
	text := []byte(" word")
	for _, c := range []struct {
		name  string
		n     int
		vocab int
	}{{"window=64", 64, 1000}, {"window=32768", 32768, 20000}, {"window=32768,repetitive", 32768, 3}} {
		h := randomTokens(r, c.n, c.vocab)
		row := dist.NewDense(slices.Clone(values))
		set := settings(b, Dry{}, "multiplier", 1e-9, "last_n", -1)
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if err := (Dry{}).Apply(&sampler.Row{Scores: &row, History: h, Texts: func(int32) []byte { return text }}, set); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
