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
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

var negInf = float32(math.Inf(-1))

// settings resolves name=value pairs.
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

// do applies a sampler to a dense row over values, which it does not change.
func do(t testing.TB, s sampler.Sampler, values []float32, history []int32, pairs ...any) []float32 {
	t.Helper()
	row := dist.NewDense(slices.Clone(values))
	r := sampler.Row{Scores: &row, History: history, Step: len(history), Texts: alphabet}
	if err := s.Apply(&r, settings(t, s, pairs...)); err != nil {
		t.Fatal(err)
	}
	if err := row.Check(); err != nil {
		t.Fatal(err)
	}
	return row.Values
}

// alphabet is a vocabulary in which tokens 10 to 13 are the usual breakers, and
// the rest letters.
func alphabet(id int32) []byte {
	if id >= 10 && id < 14 {
		return []byte("\n:\"*"[id-10 : id-9])
	}
	return []byte{'a' + byte(id%26)}
}

func wantScores(t *testing.T, got, want []float32) {
	t.Helper()
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Errorf("token %d: got %v, want %v", i, got[i], want[i])
		}
	}
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

func randomScores(r *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64() * 3)
		if i > 0 && r.IntN(5) == 0 {
			v[i] = negInf
		}
	}
	return v
}

func randomTokens(r *rand.Rand, n, vocab int) []int32 {
	h := make([]int32, n)
	for i := range h {
		h[i] = int32(r.IntN(vocab))
	}
	return h
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

// What the settings switch off changes no bit, whatever the context, and makes
// no row sparse.
func TestOffIsIdentity(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 1))
	off := map[string][]any{
		"penalties":                        {"last_n", -1},
		"dry":                              {"multiplier", 0.0},
		"repetition_penalty":               {"penalty", 1.0},
		"frequency_penalty":                {},
		"presence_penalty":                 {},
		"hamming_diversity":                {"tokens", "1=2"},
		"no_repeat_ngram":                  {"n", 0},
		"min_length":                       {},
		"min_new_tokens":                   {},
		"encoder_repetition_penalty":       {},
		"encoder_no_repeat_ngram":          {},
		"exponential_decay_length_penalty": {"start", 0},
	}
	for _, s := range All() {
		pairs, ok := off[s.Declare().Name]
		if !ok {
			t.Errorf("no row for %s", s.Declare().Name)
		}
		v := randomScores(r, 30)
		wantScores(t, do(t, s, v, randomTokens(r, 40, 30), pairs...), v)
	}
	more := []struct {
		name  string
		s     sampler.Sampler
		pairs []any
	}{
		{"window 0", Penalties{}, []any{"repeat", 2.0, "frequency", 1.0, "presence", 1.0, "last_n", 0}},
		{"window 0 of DRY", Dry{}, []any{"multiplier", 1.0, "allowed_length", 1, "last_n", 0}},
		{"a past minimum", MinLength{}, []any{"min_length", 40, "end", 1}},
		{"generation not begun to decay", DecayLength{}, []any{"start", 40, "factor", 2.0, "end", 1}},
	}
	for _, m := range more {
		t.Run(m.name, func(t *testing.T) {
			v := randomScores(r, 30)
			wantScores(t, do(t, m.s, v, randomTokens(r, 40, 30), m.pairs...), v)
		})
	}
}

// A sparse row gets the scores of its dense twin, and a removed token stays
// removed, for every sampler of the family.
func TestSparseEqualsDense(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 2))
	on := map[string][]any{
		"penalties":                        {"repeat", 1.3, "frequency", 0.2, "presence", -0.1},
		"repetition_penalty":               {"penalty", 0.7, "last_n", -1},
		"frequency_penalty":                {"penalty", 0.5},
		"presence_penalty":                 {"penalty", 0.5},
		"dry":                              {"multiplier", 0.8, "allowed_length", 1, "last_n", -1},
		"hamming_diversity":                {"diversity", 0.5, "tokens", "1=2 7=1 1=1"},
		"no_repeat_ngram":                  {"n", 2},
		"min_length":                       {"min_length", 90, "end", "1 5"},
		"min_new_tokens":                   {"min_new_tokens", 90, "end", "1 5"},
		"encoder_repetition_penalty":       {"penalty", 1.5, "prompt", "1+2 3"},
		"encoder_no_repeat_ngram":          {"n", 1, "prompt", "1 2 3"},
		"exponential_decay_length_penalty": {"start", 3, "factor", 1.1, "end", 1},
	}
	for _, s := range All() {
		for range 50 {
			v := randomScores(r, 30)
			v[29] = 0 // the tokens of the context leave it alone
			h := randomTokens(r, r.IntN(80), 29)
			dense := do(t, s, v, h, on[s.Declare().Name]...)
			row := dist.Scores{Vocab: 30, IDs: []int32{}}
			for i, x := range v {
				if dist.Finite(x) || r.IntN(2) == 0 {
					row.IDs, row.Values = append(row.IDs, int32(i)), append(row.Values, x)
				}
			}
			sr := sampler.Row{Scores: &row, History: h, Step: len(h), Texts: alphabet}
			if err := s.Apply(&sr, settings(t, s, on[s.Declare().Name]...)); err != nil {
				t.Fatal(err)
			}
			for i, x := range row.Values {
				if math.Float32bits(x) != math.Float32bits(dense[row.ID(i)]) {
					t.Fatalf("%s: token %d has %v, dense %v", s.Declare().Name, row.ID(i), x, dense[row.ID(i)])
				}
			}
			for i, x := range v {
				if !dist.Finite(x) && dist.Finite(dense[i]) {
					t.Fatalf("%s revives token %d with %v", s.Declare().Name, i, dense[i])
				}
			}
		}
	}
}

// A row of which the backend lists only the best is refused once something is to
// be done: a seen token may be in the tail.
func TestUnlistedTailIsRefused(t *testing.T) {
	row := dist.Scores{Vocab: 9, IDs: []int32{4, 5}, Values: []float32{-0.7, -1.2}, Unlisted: 0.2}
	h := []int32{1, 2, 1, 2, 1}
	for _, s := range []struct {
		s     sampler.Sampler
		pairs []any
	}{
		{Penalties{}, []any{"repeat", 2.0}},
		{Dry{}, []any{"multiplier", 1.0, "breakers", ""}},
		{NoRepeatNgram{}, []any{"n", 2}},
		{MinLength{}, []any{"min_length", 9, "end", 8}},
		{DecayLength{}, []any{"factor", 2.0, "end", 8}},
		{Hamming{}, []any{"diversity", 1.0, "tokens", "8=1"}},
	} {
		r := sampler.Row{Scores: &row, History: h, Step: 5}
		wantFault(t, s.s.Apply(&r, settings(t, s.s, s.pairs...)), fault.Data, s.s.Declare().Name, "0.2 is unlisted")
		r.History, r.Step = nil, 0
		if name := s.s.Declare().Name; name != "min_length" && name != "hamming_diversity" {
			if err := s.s.Apply(&r, settings(t, s.s, s.pairs...)); err != nil {
				t.Errorf("%s with nothing to do: %v", name, err)
			}
		}
	}
}

func TestRefusedSettings(t *testing.T) {
	for _, r := range []struct {
		s     sampler.Sampler
		name  string
		value any
	}{
		{Penalties{}, "repeat", 0.0}, {Penalties{}, "repeat", -1.0}, {Penalties{}, "repeat", math.Inf(1)}, {Penalties{}, "frequency", math.NaN()},
		{Penalties{}, "last_n", -2}, {Penalties{}, "last_n", 1.5}, {Penalties{}, "scope", "prompt"},
		{Repetition{}, "penalty", 0.0}, {EncoderRepetition{}, "penalty", 0.0},
		{Dry{}, "multiplier", -0.8}, {Dry{}, "base", 0.0}, {Dry{}, "allowed_length", -1}, {Dry{}, "breakers", "1=2"},
		{NoRepeatNgram{}, "n", -1}, {MinLength{}, "min_length", -1}, {MinNewTokens{}, "min_new_tokens", -1},
		{DecayLength{}, "factor", 0.0}, {Hamming{}, "diversity", -1.0},
	} {
		d := r.s.Declare()
		_, err := d.Params.Resolve("sampler", d.Name, []param.Setting{{Name: r.name, Value: r.value}})
		wantFault(t, err, fault.Usage, d.Name)
	}
}

func TestSortedSortsAnyNumberOfKeys(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 3))
	for _, n := range []int{0, 1, 2, few, few + 1, 1000, 5000} {
		for _, bits := range []uint{1, 12, 18, 33, 52, 64} {
			keys := make([]uint64, n)
			for i := range keys {
				keys[i] = r.Uint64() >> (64 - bits)
			}
			want := slices.Clone(keys)
			slices.Sort(want)
			if got := sorted(keys, make([]uint64, n)); !slices.Equal(got, want) {
				t.Errorf("%d keys of %d bits are not sorted", n, bits)
			}
		}
	}
}

// Sequences of one call do not see one another, in any order, alone or together
// (FR-15).
func TestSequencesOfABatchAreApart(t *testing.T) {
	set, err := sampler.NewSet(All()...)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(31, 4))
	rows := make([][]float32, 12)
	histories := make([][]int32, len(rows))
	for i := range rows {
		rows[i] = randomScores(r, 500)
		histories[i] = randomTokens(r, r.IntN(700), 40)
	}
	stages := []sampler.Stage{
		{Sampler: "penalties", Values: param.Values{{Name: "repeat", Value: 1.5}, {Name: "last_n", Value: int64(-1)}}},
		{Sampler: "dry", Values: param.Values{{Name: "multiplier", Value: 0.8}, {Name: "breakers", Value: ""}}},
	}
	run := func(order ...int) map[int][]float32 {
		call := &sampler.Call{Stages: stages, Ledger: true}
		for _, i := range order {
			call.Items = append(call.Items, &sampler.Item{Scores: dist.NewDense(slices.Clone(rows[i])), History: histories[i]})
		}
		if err := set.Run(t.Context(), call); err != nil {
			t.Fatal(err)
		}
		out := map[int][]float32{}
		for k, i := range order {
			out[i] = call.Items[k].Scores.Values
		}
		return out
	}
	together := run(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
	backwards := run(11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
	for i := range rows {
		wantScores(t, together[i], run(i)[i])
		wantScores(t, together[i], backwards[i])
	}
}

func BenchmarkPenalties(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	values := randomScores(r, 262144)
	scratch := slices.Clone(values)
	row := dist.NewDense(scratch)
	for _, n := range []int{64, 1024, 32768} {
		h := randomTokens(r, n, len(values))
		set := settings(b, Penalties{}, "repeat", 1.1, "frequency", 0.01, "last_n", -1)
		b.Run(fmt.Sprint("window=", n), func(b *testing.B) {
			for b.Loop() {
				if err := (Penalties{}).Apply(&sampler.Row{Scores: &row, History: h}, set); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
