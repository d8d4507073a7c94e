package truncate

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// A token exactly at a threshold stays, wherever the zero of the scores is and
// however the numbers round.
func TestTokensAtTheThresholdStay(t *testing.T) {
	equal := func(n int, v float32) []float32 { return slices.Repeat([]float32{v}, n) }
	rows := []struct {
		name string
		s    sampler.Sampler
		make func(r *rand.Rand) ([]float32, []param.Setting)
	}{
		{"two scores in equal numbers are two deviations apart", TopNSigma{}, func(r *rand.Rand) ([]float32, []param.Setting) {
			a, b := float32(r.NormFloat64()*1000), float32(r.NormFloat64())
			return slices.Repeat([]float32{a, b}, 1+r.IntN(6)), []param.Setting{setting("n", 2)}
		}},
		{"equal tokens have the collision probability", PLess{}, func(r *rand.Rand) ([]float32, []param.Setting) {
			return equal(1+r.IntN(2000), float32(r.NormFloat64()*1000)), nil
		}},
		{"n equal tokens have 1/n", Epsilon{}, func(r *rand.Rand) ([]float32, []param.Setting) {
			n := 2 + r.IntN(2000)
			return equal(n, float32(r.NormFloat64()*1000)), []param.Setting{setting("epsilon", 1/float64(n))}
		}},
		{"n equal tokens have n times the square", TopA{}, func(r *rand.Rand) ([]float32, []param.Setting) {
			n := 2 + r.IntN(2000)
			return equal(n, float32(r.NormFloat64()*1000)), []param.Setting{setting("a", n)}
		}},
		{"the likeliest have all of the largest probability", MinP{}, func(r *rand.Rand) ([]float32, []param.Setting) {
			return equal(2+r.IntN(9), float32(r.NormFloat64()*1000)), []param.Setting{setting("p", 1)}
		}},
		{"the whole entropy of the best tokens", TopH{}, func(r *rand.Rand) ([]float32, []param.Setting) {
			v := make([]float32, 2+r.IntN(99))
			for i := range v {
				v[i] = float32(r.NormFloat64() * 3)
			}
			return v, []param.Setting{setting("h", 1), setting("cap", 101)}
		}},
	}
	for _, c := range rows {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(63, 64))
			for range 2000 {
				values, set := c.make(r)
				row := dist.NewDense(slices.Clone(values))
				if err := run(t, c.s, &row, set...); err != nil {
					t.Fatal(err)
				}
				if len(row.Values) != len(values) {
					t.Fatalf("%v of %d tokens: %d are left", set, len(values), len(row.Values))
				}
			}
		})
	}
}

// A token that an earlier stage removed says nothing of those that are not
// listed.
func TestMaskedTokenIsNoEvidenceOfTheTail(t *testing.T) {
	row := dist.Scores{Vocab: 10, IDs: []int32{2, 7, 9}, Unlisted: 0.5,
		Values: []float32{float32(math.Log(0.3)), negInf, float32(math.Log(0.2))}}
	for _, c := range []struct {
		s   sampler.Sampler
		set param.Setting
	}{
		{MinP{}, setting("p", 0.1)}, {Epsilon{}, setting("epsilon", 0.01)}, {TopA{}, setting("a", 0.1)}, {TopH{}, setting("cap", 3)},
		{Epsilon{}, setting("min_keep", 3)},
	} {
		s := row.Clone()
		if err := run(t, c.s, &s, c.set); err == nil || fault.KindOf(err) != fault.Data {
			t.Errorf("%s %v leaves %v (%v), want a data error", c.s.Declare().Name, c.set, s, err)
		}
	}
}

// A share of the entropy of the cap best tokens needs no more than them.
func TestTopHOfAListedHeadIsExact(t *testing.T) {
	row := dist.Scores{Vocab: 10, IDs: []int32{2, 7, 9}, Unlisted: 0.2,
		Values: []float32{float32(math.Log(0.4)), float32(math.Log(0.3)), float32(math.Log(0.1))}}
	if err := run(t, TopH{}, &row, setting("h", 1), setting("cap", 2)); err != nil {
		t.Fatal(err)
	}
	if row.Unlisted != 0 || !slices.Equal(row.IDs, []int32{2, 7}) {
		t.Errorf("kept %v with %g unlisted", row.IDs, row.Unlisted)
	}
}

// Texts stand for every token of their bytes, a sequence is refused, and so are
// texts where there are none to look them up in.
func TestXTCProtects(t *testing.T) {
	row := func() dist.Scores { return dist.NewDense([]float32{1, 1, 1, 1}) } // each 1/4
	texts := func(id int32) []byte { return []byte{"abac"[id]} }
	apply := func(protect string, texts func(int32) []byte) (dist.Scores, error) {
		t.Helper()
		s := row()
		x := XTC{}
		set, err := x.Declare().Params.Resolve("", "", []param.Setting{setting("probability", 1), setting("protect", protect)})
		if err != nil {
			t.Fatal(err)
		}
		return s, x.Apply(&sampler.Row{Scores: &s, Uniforms: []float64{0}, Texts: texts}, set)
	}
	support := func(s dist.Scores) (ids []int32) {
		for i, v := range s.Values {
			if dist.Finite(v) {
				ids = append(ids, s.ID(i))
			}
		}
		return ids
	}
	for protect, want := range map[string][]int32{"": {3}, "1": {1, 3}, "'a'": {0, 2, 3}, "'a' 1 3": {0, 1, 2, 3}} {
		s, err := apply(protect, texts)
		if got := support(s); err != nil || !slices.Equal(got, want) {
			t.Errorf("protect %q keeps %v (%v), want %v", protect, got, err, want)
		}
	}
	for protect, texts := range map[string]func(int32) []byte{"0+1": texts, "4": texts, "'z'": texts, "'a'": nil} {
		if _, err := apply(protect, texts); err == nil || fault.KindOf(err) != fault.Usage {
			t.Errorf("protect %q: got %v, want a usage error", protect, err)
		}
	}
}

// FuzzFamily gives a row of any finite scores to every rule. Whatever the
// settings, some of the row is left, scores do not move, and the sparse twin
// keeps the same tokens.
func FuzzFamily(f *testing.F) {
	add := func(seed uint64, values ...float32) {
		var data []byte
		for _, v := range values {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		}
		f.Add(data, seed)
	}
	add(1, 1, 2, 3, negInf, 2)
	add(2, math.MaxFloat32, -math.MaxFloat32, 0, 1)
	add(3, 0, 0, 0, 0)
	add(4, 7)
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		if len(data) > 2048 {
			return
		}
		values := make([]float32, len(data)/4)
		for i := range values {
			values[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
		dense := dist.NewDense(values)
		if dense.Check() != nil {
			return
		}
		twin := dense.Clone()
		twin.Keep(func(i int) bool { return dist.Finite(twin.Values[i]) }, nil)
		r := rand.New(rand.NewPCG(seed, 65))
		for _, c := range tailCases {
			given := append(c.set(r), setting("min_keep", r.IntN(5)))
			set, err := c.s.Declare().Params.Resolve("", "", given)
			if err != nil {
				t.Fatal(err)
			}
			var kept [2][]int32
			for i, row := range []*dist.Scores{&dense, &twin} {
				s := row.Clone()
				if err := c.s.Apply(&sampler.Row{Scores: &s, Uniforms: []float64{0}}, set); err != nil {
					t.Fatalf("%s %v: %v", c.s.Declare().Name, set, err)
				}
				if err := s.Check(); err != nil {
					t.Fatalf("%s %v: %v", c.s.Declare().Name, set, err)
				}
				kept[i] = support(t, values, &s)
			}
			least := min(len(twin.Values), max(1, int(set.Int("min_keep"))))
			if len(kept[0]) < least || !slices.Equal(kept[0], kept[1]) {
				t.Fatalf("%s %v of %v keeps %v, its twin %v", c.s.Declare().Name, set, values, kept[0], kept[1])
			}
		}
	})
}
