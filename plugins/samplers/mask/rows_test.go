package mask

import (
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

// Removing tokens from a row with an unlisted tail gives shares that nobody
// knows; keeping listed ones is exact.
func TestUnlistedTail(t *testing.T) {
	tail := func() *dist.Scores {
		return &dist.Scores{Vocab: 10, IDs: []int32{3, 4, 6}, Values: []float32{-1, -2, -3}, Unlisted: 0.4}
	}
	for name, pairs := range map[string][]any{
		"logit_bias": {"bias", "3=1"}, "bad_words": {"words", "9"}, "suppress_tokens": {"tokens", "3"}, "ignore_eos": nil,
	} {
		wantFault(t, named(name).Apply(context(tail()), settings(t, named(name), pairs...)), fault.Data, name, "a mass of 0.4 is unlisted")
	}
	s := tail()
	if err := (AllowedTokens{}).Apply(context(s), settings(t, AllowedTokens{}, "tokens", "6 3")); err != nil {
		t.Fatal(err)
	}
	if s.Unlisted != 0 || !slices.Equal(s.IDs, []int32{3, 6}) || !slices.Equal(s.Values, []float32{-1, -3}) {
		t.Errorf("%+v", s)
	}
	wantFault(t, AllowedTokens{}.Apply(context(tail()), settings(t, AllowedTokens{}, "tokens", "6 5")), fault.Data, "token 5 is not among the 3 listed ones")
	s = tail()
	if err := (AllowedTokens{}).Apply(context(s), settings(t, AllowedTokens{})); err != nil || s.Unlisted != 0.4 {
		t.Errorf("an empty list: %+v, %v", s, err)
	}
}

// Through the host's side of the contract: a broken row passes the repair as
// first stage and is refused without it.
func TestRepair(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	set, err := sampler.NewSet(All()...)
	if err != nil {
		t.Fatal(err)
	}
	run := func(values []float32, given ...param.Value) ([]float32, error) {
		it := &sampler.Item{Scores: dist.NewDense(slices.Clone(values))}
		err := set.Run(t.Context(), &sampler.Call{Stages: []sampler.Stage{{Sampler: "repair", Values: given}}, Items: []*sampler.Item{it}})
		return it.Scores.Values, err
	}
	got, err := run([]float32{1, nan, inf, negInf, 2})
	if want := []float32{1, 0, math.MaxFloat32, negInf, 2}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	got, err = run([]float32{nan, inf}, param.Value{Name: "nan", Value: -5.0}, param.Value{Name: "inf", Value: 50.0})
	if want := []float32{-5, 50}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	_, err = run([]float32{negInf, negInf})
	wantFault(t, err, fault.Data, "stage 1 (repair)", "no token is left")
	row := dist.Scores{Vocab: 9, IDs: []int32{1, 2}, Values: []float32{nan, -1}, Unlisted: 0.3}
	wantFault(t, Repair{}.Apply(&sampler.Row{Scores: &row}, settings(t, Repair{})), fault.Data, "token 1 has score NaN", "0.3")
}

// The rules of a list against a walk over the vocabulary, on random rows.
func TestListsAgainstNaive(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 1))
	for range 500 {
		n := 2 + r.IntN(60)
		v := make([]float32, n)
		for i := range v {
			if v[i] = float32(r.NormFloat64()); i > 0 && r.IntN(4) == 0 {
				v[i] = negInf
			}
		}
		var list []string
		listed := map[int]bool{}
		for range 1 + r.IntN(n) {
			id := r.IntN(n)
			listed[id] = true
			list = append(list, param.Format(int64(id)))
		}
		for name, stays := range map[string]bool{"suppress_tokens": false, "allowed_tokens": true} {
			want, left := slices.Clone(v), false
			for id := range want {
				if listed[id] != stays {
					want[id] = negInf
				}
				left = left || dist.Finite(want[id])
			}
			got, err := do(t, named(name), v, "tokens", strings.Join(list, " "))
			if !left {
				wantFault(t, err, fault.Data, name, "leaves no token")
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			wantScores(t, got, want)
		}
	}
}

func BenchmarkLists(b *testing.B) {
	values := make([]float32, 262144)
	for name, pairs := range map[string][]any{
		"logit_bias": {"bias", "5=1 77=-1 4+6=2 9000=3"}, "logit_bias/text": {"bias", "'dog'=1e-9"}, "suppress_tokens": {"tokens", "3 4 5 100000"},
	} {
		s := named(strings.TrimSuffix(name, "/text"))
		row := dist.NewDense(slices.Clone(values))
		r := context(&row)
		r.Texts = func(id int32) []byte {
			if id == 3 {
				return []byte("dog")
			}
			return []byte("x")
		}
		set := settings(b, s, pairs...)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := s.Apply(r, set); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
