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

// completes reports whether the newest n-1 tokens and id occur in text.
func completes(text, history []int32, n int, id int32) bool {
	if len(history) < n-1 {
		return false
	}
	gram := append(slices.Clone(history[len(history)-n+1:]), id)
	for i := 0; i+n <= len(text); i++ {
		if slices.Equal(text[i:i+n], gram) {
			return true
		}
	}
	return false
}

func TestNgramBansAgainstNaive(t *testing.T) {
	r := rand.New(rand.NewPCG(29, 1))
	for range 2000 {
		vocab := 2 + r.IntN(4)
		v := randomScores(r, vocab+1)
		v[vocab] = 0 // never in the context, so that a token is left
		h := randomTokens(r, r.IntN(40), vocab)
		prompt := randomTokens(r, r.IntN(40), vocab)
		n := 1 + r.IntN(5)
		got := do(t, NoRepeatNgram{}, v, h, "n", n)
		row := dist.NewDense(slices.Clone(v))
		set := settings(t, EncoderNoRepeatNgram{}, "n", n)
		both := append(slices.Clone(prompt), h...)
		if err := (EncoderNoRepeatNgram{}).Apply(&sampler.Row{Scores: &row, History: both, Prompt: len(prompt)}, set); err != nil {
			t.Fatal(err)
		}
		for id, x := range v {
			want := x
			if completes(h, h, n, int32(id)) {
				want = negInf
			}
			if got[id] != want {
				t.Fatalf("n = %d after %v: token %d has %v, want %v", n, h, id, got[id], want)
			}
			want = x
			if completes(prompt, both, n, int32(id)) {
				want = negInf
			}
			if row.Values[id] != want {
				t.Fatalf("n = %d after %v, prompt %v: token %d has %v, want %v", n, h, prompt, id, row.Values[id], want)
			}
		}
	}
}

func TestContextShorterThanTheNgramBansNothing(t *testing.T) {
	v := []float32{1, 2, 3}
	for n := 3; n < 70; n *= 4 {
		wantScores(t, do(t, NoRepeatNgram{}, v, []int32{1}, "n", n), v)
		wantScores(t, do(t, EncoderNoRepeatNgram{}, v, []int32{1}, "n", n, "prompt", "1 1 1"), v)
	}
	wantScores(t, do(t, NoRepeatNgram{}, v, []int32{1, 1, 1}, "n", int64(1)<<62), v)
	wantScores(t, do(t, NoRepeatNgram{}, v, nil, "n", 1), v)
}

// The end of the prompt is followed by no token, so nothing is to be done, and a
// row with an unlisted tail is not refused.
func TestEndOfPromptBansNothing(t *testing.T) {
	row := dist.Scores{Vocab: 9, IDs: []int32{4, 5}, Values: []float32{-0.7, -1.2}, Unlisted: 0.2}
	set := settings(t, EncoderNoRepeatNgram{}, "n", 2)
	if err := (EncoderNoRepeatNgram{}).Apply(&sampler.Row{Scores: &row, History: []int32{1, 2}, Prompt: 2}, set); err != nil {
		t.Error(err)
	}
}

func TestNgramBanThatLeavesNothingIsRefused(t *testing.T) {
	row := dist.NewDense([]float32{1, 2})
	err := NoRepeatNgram{}.Apply(&sampler.Row{Scores: &row, History: []int32{0, 1}}, settings(t, NoRepeatNgram{}, "n", 1))
	wantFault(t, err, fault.Data, "no_repeat_ngram: n: it leaves no token")
}

// The prompt's tokens gain by the inverse of the repetition penalty.
func TestEncoderRepetitionFavoursThePrompt(t *testing.T) {
	row := dist.NewDense([]float32{2, -2, 2, 2})
	set := settings(t, EncoderRepetition{}, "penalty", 2.0)
	if err := (EncoderRepetition{}).Apply(&sampler.Row{Scores: &row, History: []int32{0, 1, 1, 2}, Prompt: 3}, set); err != nil {
		t.Fatal(err)
	}
	wantScores(t, row.Values, []float32{4, -1, 2, 2})
	wantScores(t, do(t, EncoderRepetition{}, []float32{2, -2, 2, 2}, []int32{0}, "penalty", 2.0, "prompt", "2+3 3"), []float32{2, -2, 4, 4})
}

// The inverse of a factor overflows before the factor is 0; a score of 0 stays.
func TestEncoderRepetitionAtTheSmallestFactor(t *testing.T) {
	got := do(t, EncoderRepetition{}, []float32{0, 1, -1}, []int32{0, 1, 2}, "penalty", math.SmallestNonzeroFloat64, "prompt", "0 1 2")
	wantScores(t, got, []float32{0, 0, -math.MaxFloat32})
}

func TestPromptTakesIDsOnly(t *testing.T) {
	row := dist.NewDense([]float32{2, -2})
	for _, s := range []sampler.Sampler{EncoderRepetition{}, EncoderNoRepeatNgram{}} {
		err := s.Apply(&sampler.Row{Scores: &row, Texts: alphabet}, settings(t, s, "prompt", "'a'"))
		wantFault(t, err, fault.Usage, "prompt", `"a" is a text`)
	}
}
