package penalty

import (
	"math"
	"slices"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/sampler"
)

// at length: a row with a context of 5 tokens, of which 3 are prompt.
func lengthRow(values ...float32) (*dist.Scores, *sampler.Row) {
	s := dist.NewDense(values)
	return &s, &sampler.Row{Scores: &s, History: []int32{1, 1, 1, 1, 1}, Prompt: 3, Step: 2, Texts: alphabet, Vocabulary: "letters"}
}

func TestEndTokensAreHeldBack(t *testing.T) {
	rows := []struct {
		name    string
		s       sampler.Sampler
		setting string
		least   int
		held    bool
	}{
		{"prompt and completion are too short", MinLength{}, "min_length", 6, true},
		{"they have the length", MinLength{}, "min_length", 5, false},
		{"the completion is too short", MinNewTokens{}, "min_new_tokens", 3, true},
		{"it has the length", MinNewTokens{}, "min_new_tokens", 2, false},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			for _, end := range []string{"", "2", "2 2", "'c'"} { // 2 is c
				s, row := lengthRow(1, 2, 3)
				row.EndOfText = []int32{2}
				if err := r.s.Apply(row, settings(t, r.s, r.setting, r.least, "end", end)); err != nil {
					t.Fatal(err)
				}
				want := []float32{1, 2, 3}
				if r.held {
					want[2] = negInf
				}
				wantScores(t, s.Values, want)
			}
		})
	}
}

func TestEndTokensMustBeKnownAndNotAll(t *testing.T) {
	for _, s := range All() {
		name := s.Declare().Name
		var pairs []any
		switch name {
		case "min_length", "min_new_tokens":
			pairs = []any{name, 9}
		case "exponential_decay_length_penalty":
			pairs = []any{"factor", 2.0}
		default:
			continue
		}
		_, row := lengthRow(1, 2, 3)
		wantFault(t, s.Apply(row, settings(t, s, pairs...)), fault.Usage, name, "end", "the model names no tokens that end a text")
		wantFault(t, s.Apply(row, settings(t, s, append(pairs, "end", "7")...)), fault.Usage, name, "token 7 is outside the vocabulary of 3")
		wantFault(t, s.Apply(row, settings(t, s, append(pairs, "end", "1+2")...)), fault.Usage, name, "1+2 is a sequence")
		wantFault(t, s.Apply(row, settings(t, s, append(pairs, "end", "'q'")...)), fault.Usage, name, `no token of the vocabulary has the text "q"`)
		if name != "exponential_decay_length_penalty" {
			wantFault(t, s.Apply(row, settings(t, s, append(pairs, "end", "0 1 2")...)), fault.Data, name, "leaves no token")
		}
	}
}

// l + |l| (f^(n-start) - 1): both signs rise; the end token counts once.
func TestDecayRaisesTheEnd(t *testing.T) {
	s, row := lengthRow(4, -4, 0, negInf, 9)
	set := settings(t, DecayLength{}, "start", 1, "factor", 1.5, "end", "0 1 2 3 0")
	if err := (DecayLength{}).Apply(row, set); err != nil {
		t.Fatal(err)
	}
	wantScores(t, s.Values, []float32{6, -2, 0, negInf, 9})
	row.Step = 1 << 20
	before := slices.Clone(s.Values)
	if err := (DecayLength{}).Apply(row, set); err != nil {
		t.Fatal(err)
	}
	wantScores(t, s.Values, []float32{math.MaxFloat32, math.MaxFloat32, before[2], negInf, 9})
}
