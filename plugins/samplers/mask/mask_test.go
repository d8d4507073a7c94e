package mask

import (
	"math"
	"slices"
	"strings"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

var negInf = float32(math.Inf(-1))

func settings(t testing.TB, s sampler.Sampler, pairs ...any) param.Values {
	t.Helper()
	var given []param.Setting
	for i := 0; i < len(pairs); i += 2 {
		given = append(given, param.Setting{Name: pairs[i].(string), Value: pairs[i+1], Origin: "test"})
	}
	d := s.Declare()
	set, err := d.Params.Resolve("sampler", d.Name, given)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// words is a vocabulary in which tokens 1 and 5 have the same text.
func words(id int32) []byte {
	return []byte([]string{"", "dog", "cat", " dog", "</s>", "dog", "e", "f", "g", "h"}[id%10])
}

// context is what a row of ten words holds besides its scores.
func context(s *dist.Scores) *sampler.Row {
	return &sampler.Row{Scores: s, History: []int32{7, 8, 2, 1}, Prompt: 4, Texts: words, Vocabulary: "words", EndOfText: []int32{4}}
}

func do(t testing.TB, s sampler.Sampler, values []float32, pairs ...any) (dist.Scores, error) {
	t.Helper()
	row := dist.NewDense(slices.Clone(values))
	err := s.Apply(context(&row), settings(t, s, pairs...))
	return row, err
}

func wantFault(t *testing.T, err error, kind fault.Kind, parts ...string) {
	t.Helper()
	if err == nil || fault.KindOf(err) != kind {
		t.Fatalf("got %v, want a %v error", err, kind)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("%q does not contain %q", err, p)
		}
	}
}

// scoresOf returns the scores by token, -Inf for removed ones.
func scoresOf(s *dist.Scores) []float32 {
	out := make([]float32, s.Vocab)
	for id := range out {
		out[id] = negInf
		if i := s.Index(int32(id)); i >= 0 {
			out[id] = s.Values[i]
		}
	}
	return out
}

func wantScores(t *testing.T, got dist.Scores, want []float32) {
	t.Helper()
	for id, x := range scoresOf(&got) {
		if math.Float32bits(x) != math.Float32bits(want[id]) {
			t.Errorf("token %d: got %v, want %v", id, x, want[id])
		}
	}
}

func named(name string) sampler.Sampler {
	for _, s := range All() {
		if s.Declare().Name == name {
			return s
		}
	}
	panic(name)
}

var zeros = make([]float32, 10)

// with returns ten zeros with some scores replaced.
func with(pairs ...float32) []float32 {
	v := slices.Clone(zeros)
	for i := 0; i < len(pairs); i += 2 {
		v[int(pairs[i])] = pairs[i+1]
	}
	return v
}

// only returns ten removed tokens but for some with score 0.
func only(ids ...int) []float32 {
	v := slices.Repeat([]float32{negInf}, 10)
	for _, id := range ids {
		v[id] = 0
	}
	return v
}

func TestDeclarations(t *testing.T) {
	set, err := sampler.NewSet(All()...)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range set.Declarations() {
		if d.Formula == "" {
			t.Errorf("%s has no formula", d.Name)
		}
	}
}

// The context of these rows is 7 8 2 1, all of it prompt.
func TestRules(t *testing.T) {
	inf := float32(math.Inf(-1))
	rows := []struct {
		name, sampler string
		pairs         []any
		want          []float32
	}{
		{"a bias is added", "logit_bias", []any{"bias", "3=1.5 9=-2"}, with(3, 1.5, 9, -2)},
		{"biases of one token add up", "logit_bias", []any{"bias", "3=1.5 3=-0.5"}, with(3, 1)},
		{"opposite biases leave a token alone", "logit_bias", []any{"bias", "3=1 3=-1"}, zeros},
		{"-inf removes", "logit_bias", []any{"bias", "3=-inf"}, with(3, inf)},
		{"-inf wins", "logit_bias", []any{"bias", "3=-inf 3=100"}, with(3, inf)},
		{"a text is every token that has it", "logit_bias", []any{"bias", "'dog'=2"}, with(1, 2, 5, 2)},
		{"a text and an id add up", "logit_bias", []any{"bias", "5=1 'dog'=2"}, with(1, 2, 5, 3)},
		{"a blank belongs to a text", "logit_bias", []any{"bias", "' dog'=2"}, with(3, 2)},
		{"a sequence biases its last token", "logit_bias", []any{"bias", "2+1+6=3"}, with(6, 3)},
		{"a sequence that does not follow is idle", "logit_bias", []any{"bias", "2+6=3"}, zeros},
		{"a sequence longer than the context is idle", "logit_bias", []any{"bias", "1+7+8+2+1+6=3"}, zeros},
		{"a sequence as long as the context", "logit_bias", []any{"bias", "7+8+2+1+6=3"}, with(6, 3)},
		{"a sum beyond float32 is its largest number", "logit_bias", []any{"bias", "3=3e38 3=3e38"}, with(3, math.MaxFloat32)},
		{"below it the lowest", "logit_bias", []any{"bias", "3=-3e38 3=-3e38"}, with(3, -math.MaxFloat32)},
		{"no bias", "logit_bias", nil, zeros},

		{"bad words", "bad_words", []any{"words", "3 'dog' 1+9 2+8 8+2+1+0"}, with(0, inf, 1, inf, 3, inf, 5, inf, 9, inf)},
		{"no bad words", "bad_words", nil, zeros},
		{"suppressed", "suppress_tokens", []any{"tokens", "3 'dog' 3"}, with(1, inf, 3, inf, 5, inf)},
		{"none suppressed", "suppress_tokens", nil, zeros},

		{"at the first generated token", "begin_suppress_tokens", []any{"tokens", "3"}, with(3, inf)},
		{"at a length", "begin_suppress_tokens", []any{"tokens", "3", "begin_index", 4}, with(3, inf)},
		{"at another length", "begin_suppress_tokens", []any{"tokens", "3", "begin_index", 3}, zeros},

		{"allowed, in any order", "allowed_tokens", []any{"tokens", "9 3 'dog' 3"}, only(1, 3, 5, 9)},
		{"all allowed", "allowed_tokens", []any{"tokens", "0 1 2 3 4 5 6 7 8 9"}, zeros},
		{"an empty list allows all", "allowed_tokens", nil, zeros},

		{"forced", "forced_token", []any{"token", "3"}, only(3)},
		{"a text is forced, with its twin", "forced_token", []any{"token", "'dog'"}, only(1, 5)},
		{"a sequence begins after the prompt", "forced_token", []any{"token", "3+6"}, only(3)},
		{"a sequence goes on", "forced_token", []any{"token", "3+6+9", "position", 3}, only(6)},
		{"a sequence has ended", "forced_token", []any{"token", "3+6", "position", 2}, zeros},
		{"a later place", "forced_token", []any{"token", "3", "position", 5}, zeros},
		{"nothing forced", "forced_token", nil, zeros},

		{"begin is forced at length 1 only", "forced_bos", []any{"token", "3"}, zeros},
		{"end is forced one before the limit", "forced_eos", []any{"max_length", 5}, only(4)},
		{"the given ends go before the model's", "forced_eos", []any{"max_length", 5, "end", "8 6"}, only(6, 8)},
		{"end is not forced earlier", "forced_eos", []any{"max_length", 6}, zeros},
		{"nor later", "forced_eos", []any{"max_length", 4}, zeros},
		{"nor without a limit", "forced_eos", nil, zeros},

		{"the model's ends are removed", "ignore_eos", nil, with(4, inf)},
		{"the given ends are", "ignore_eos", []any{"end", "'</s>' 9"}, with(4, inf, 9, inf)},

		{"a sound row needs no repair", "repair", nil, zeros},
	}
	for _, r := range rows {
		t.Run(r.sampler+": "+r.name, func(t *testing.T) {
			s := named(r.sampler)
			got, err := do(t, s, zeros, r.pairs...)
			if err != nil {
				t.Fatal(err)
			}
			wantScores(t, got, r.want)
			if slices.Equal(r.want, zeros) && !got.Dense() {
				t.Error("a row that stays as it is became sparse")
			}
			again, err := do(t, s, zeros, r.pairs...) // now from the list of texts found
			if err != nil {
				t.Fatal(err)
			}
			wantScores(t, again, r.want)

			// The same with half of the tokens not listed, and one removed.
			row := dist.Scores{Vocab: 10, IDs: []int32{1, 3, 4, 6, 7, 9}, Values: []float32{0, 0, 0, 0, negInf, 0}}
			if err := s.Apply(context(&row), settings(t, s, r.pairs...)); err != nil {
				t.Fatal(err)
			}
			want := slices.Clone(r.want)
			want[0], want[2], want[5], want[7], want[8] = negInf, negInf, negInf, negInf, negInf
			wantScores(t, row, want)
			if err := row.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A bias of 0, given or as a sum, changes no bit, not even the sign of a zero.
func TestBiasOfNothing(t *testing.T) {
	minus := float32(math.Copysign(0, -1))
	for _, bias := range []string{"3=0", "3=1 3=-1"} {
		got, err := do(t, LogitBias{}, with(3, minus), "bias", bias)
		if err != nil {
			t.Fatal(err)
		}
		wantScores(t, got, with(3, minus))
	}
	row := dist.Scores{Vocab: 10, IDs: []int32{3}, Values: []float32{-1}, Unlisted: 0.4}
	if err := (LogitBias{}).Apply(context(&row), settings(t, LogitBias{}, "bias", "3=0 9=0")); err != nil || row.Unlisted != 0.4 {
		t.Errorf("%+v, %v", row, err)
	}
}

func TestForcedBeginActsAtLengthOne(t *testing.T) {
	row := dist.NewDense(slices.Clone(zeros))
	r := context(&row)
	r.History = []int32{0}
	if err := (ForcedBOS{}).Apply(r, settings(t, ForcedBOS{}, "bos", "3")); err != nil {
		t.Fatal(err)
	}
	wantScores(t, row, only(3))
}

func TestForcedSequenceFollowsTheSteps(t *testing.T) {
	for step, want := range [][]float32{only(3), only(6), zeros} {
		row := dist.NewDense(slices.Clone(zeros))
		r := context(&row)
		r.Step = step
		if err := (ForcedToken{}).Apply(r, settings(t, ForcedToken{}, "token", "3+6")); err != nil {
			t.Fatal(err)
		}
		wantScores(t, row, want)
	}
}

// The score of a forced token is kept.
func TestForcedTokenKeepsItsScore(t *testing.T) {
	got, err := do(t, ForcedToken{}, with(3, -7.5), "token", "3")
	if err != nil || len(got.Values) != 1 || got.Values[0] != -7.5 || got.IDs[0] != 3 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestRefusals(t *testing.T) {
	removed := with(3, negInf)
	rows := []struct {
		name, sampler string
		kind          fault.Kind
		values        []float32
		pairs         []any
		parts         []string
	}{
		{"all removed", "suppress_tokens", fault.Data, only(3, 4), []any{"tokens", "3 4 5"}, []string{"suppress_tokens: suppress_tokens: it leaves no token"}},
		{"all removed by words", "bad_words", fault.Data, only(3), []any{"words", "3"}, []string{"bad_words: bad_words: it leaves no token"}},
		{"all removed by a bias", "logit_bias", fault.Data, only(3), []any{"bias", "3=-inf"}, []string{"logit_bias: bias: it leaves no token"}},
		{"only removed ones are allowed", "allowed_tokens", fault.Data, removed, []any{"tokens", "3"}, []string{"allowed_tokens: allowed_tokens: it leaves no token"}},
		{"a removed token is forced", "forced_token", fault.Data, removed, []any{"token", "3"}, []string{"forced_token: token: it leaves no token"}},
		{"a removed end is forced", "forced_eos", fault.Data, removed, []any{"max_length", 5, "end", "3"}, []string{"forced_eos: end: it leaves no token"}},
		{"only ends are left", "ignore_eos", fault.Data, only(4), nil, []string{"ignore_eos: end: it leaves no token"}},
		{"an id outside the vocabulary", "logit_bias", fault.Usage, zeros, []any{"bias", "10=1"}, []string{"bias: token 10 is outside the vocabulary of 10"}},
		{"in a sequence too", "bad_words", fault.Usage, zeros, []any{"words", "1+99"}, []string{"token 99 is outside"}},
		{"an unknown text", "logit_bias", fault.Usage, zeros, []any{"bias", "'god'=1"}, []string{`no token of the vocabulary has the text "god"`}},
		{"a part of a text is unknown", "suppress_tokens", fault.Usage, zeros, []any{"tokens", "'do'"}, []string{`"do"`}},
		{"a bias beyond float32", "logit_bias", fault.Usage, zeros, []any{"bias", "1=1e39"}, []string{"bias: 1e+39 is larger than any score"}},
		{"a sequence where tokens are wanted", "suppress_tokens", fault.Usage, zeros, []any{"tokens", "1+2"}, []string{"1+2 is a sequence"}},
		{"a sequence is allowed", "allowed_tokens", fault.Usage, zeros, []any{"tokens", "1+2"}, []string{"1+2 is a sequence"}},
		{"two forced tokens", "forced_token", fault.Usage, zeros, []any{"token", "1 2"}, []string{"2 items are given"}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			_, err := do(t, named(r.sampler), r.values, r.pairs...)
			wantFault(t, err, r.kind, r.parts...)
		})
	}
	t.Run("no end token is known", func(t *testing.T) {
		for _, name := range []string{"ignore_eos", "forced_eos"} {
			row := dist.NewDense(slices.Clone(zeros))
			r := context(&row)
			r.EndOfText = nil
			set := settings(t, named("ignore_eos"))
			if name == "forced_eos" {
				set = settings(t, named(name), "max_length", 5)
			}
			wantFault(t, named(name).Apply(r, set), fault.Usage, name+": end: it is empty")
		}
	})
	t.Run("texts without a vocabulary", func(t *testing.T) {
		row := dist.NewDense(slices.Clone(zeros))
		r := context(&row)
		r.Texts = nil
		wantFault(t, named("logit_bias").Apply(r, settings(t, LogitBias{}, "bias", "'dog'=1")), fault.Usage, "logit_bias: bias: it holds texts")
	})
}
