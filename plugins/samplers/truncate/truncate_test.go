package truncate

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

var negInf = float32(math.Inf(-1))

// sorted is the full sort that the package avoids: the support by descending
// score, then ascending id.
func sorted(values []float32) []int32 {
	var ids []int32
	for i, v := range values {
		if dist.Finite(v) {
			ids = append(ids, int32(i))
		}
	}
	slices.SortFunc(ids, func(a, b int32) int {
		if c := cmp.Compare(values[b], values[a]); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	return ids
}

// naiveTopK and naiveTopP are the rules of the catalogue, word for word.
func naiveTopK(values []float32, k, minKeep int) []int32 {
	ids := sorted(values)
	if k <= 0 {
		return ids
	}
	return ids[:min(len(ids), max(k, minKeep, 1))]
}

// naiveTopP also returns how far from the threshold the deciding sums were,
// relative to the mass.
func naiveTopP(values []float32, p float64, minKeep int) (ids []int32, margin float64) {
	ids = sorted(values)
	if p == 1 {
		return ids, 1
	}
	top := float64(values[ids[0]])
	total := 0.0
	for _, v := range values {
		total += math.Exp(float64(v) - top)
	}
	need, sum, margin := p*total*(1-1e-9), 0.0, 1.0
	n := 0
	for n < len(ids) {
		sum += math.Exp(float64(values[ids[n]]) - top)
		n++
		margin = min(margin, math.Abs(sum-need)/total)
		if sum >= need {
			break
		}
	}
	return ids[:min(len(ids), max(n, minKeep))], margin
}

func run(t testing.TB, s sampler.Sampler, row *dist.Scores, given ...param.Setting) error {
	t.Helper()
	set, err := s.Declare().Params.Resolve("test", "sampler", given)
	if err != nil {
		t.Fatal(err)
	}
	return s.Apply(&sampler.Row{Scores: row, Chosen: -1}, set)
}

func setting(name string, v any) param.Setting { return param.Setting{Name: name, Value: v} }

// support returns the ids left and fails when a survivor's score moved.
func support(t testing.TB, before []float32, after *dist.Scores) []int32 {
	t.Helper()
	var ids []int32
	for i, v := range after.Values {
		if !dist.Finite(v) {
			continue
		}
		id := after.ID(i)
		ids = append(ids, id)
		if math.Float32bits(v) != math.Float32bits(before[id]) {
			t.Fatalf("token %d went from %v to %v", id, before[id], v)
		}
	}
	return ids
}

func byID(ids []int32) []int32 {
	out := slices.Clone(ids)
	slices.Sort(out)
	return out
}

// checkBoth compares both samplers with the full sort, on a dense row and on
// its sparse twin.
func checkBoth(t testing.TB, values []float32, k int, p float64, minKeep int) {
	t.Helper()
	dense := dist.NewDense(values)
	if dense.Check() != nil {
		return
	}
	twin := dense.Clone()
	twin.Keep(func(i int) bool { return dist.Finite(twin.Values[i]) }, nil)
	for _, row := range []*dist.Scores{&dense, &twin} {
		c := row.Clone()
		if err := run(t, TopK{}, &c, setting("top_k", k), setting("min_keep", minKeep)); err != nil {
			t.Fatal(err)
		}
		want := byID(naiveTopK(values, k, minKeep))
		if got := support(t, values, &c); !slices.Equal(got, want) {
			t.Fatalf("top_k %d, min_keep %d of %v: got %v, want %v", k, minKeep, values, got, want)
		}
		c = row.Clone()
		if err := run(t, TopP{}, &c, setting("top_p", p), setting("min_keep", minKeep)); err != nil {
			t.Fatal(err)
		}
		// The two sum in different orders: a margin within the rounding of a few
		// thousand float64 additions may be decided either way.
		ids, margin := naiveTopP(values, p, minKeep)
		if got := support(t, values, &c); !slices.Equal(got, byID(ids)) && margin > 1e-12 {
			t.Fatalf("top_p %v, min_keep %d of %v: got %v, want %v (margin %g)", p, minKeep, values, got, byID(ids), margin)
		}
	}
}

// kinds are ways to fill a row.
var kinds = []struct {
	name string
	draw func(r *rand.Rand) float32
}{
	{"gaussian", func(r *rand.Rand) float32 { return float32(r.NormFloat64() * 3) }},
	{"many ties", func(r *rand.Rand) float32 { return float32(r.IntN(5)) }},
	{"signed zeros", func(r *rand.Rand) float32 { return float32(math.Copysign(0, r.Float64()-0.5)) }},
	{"peaked", func(r *rand.Rand) float32 { return float32(r.ExpFloat64() * 30) }},
	{"nearly equal", func(r *rand.Rand) float32 { return 1 + float32(r.IntN(9))*0x1p-23 }},
	{"all magnitudes", func(r *rand.Rand) float32 { return float32(math.Ldexp(r.Float64()-0.5, r.IntN(250)-125)) }},
	{"crowded towards one score", func(r *rand.Rand) float32 { return float32(-math.Ldexp(1, -r.IntN(140))) }},
	{"masked", func(r *rand.Rand) float32 {
		if r.IntN(3) > 0 {
			return negInf
		}
		return float32(r.NormFloat64())
	}},
}

func TestCutsEqualTheFullSort(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(11, 12))
			for range 400 {
				checkRow(t, r, 1+r.IntN(400), kind.draw, nil)
			}
		})
	}
}

// Rows of more than one block, and long enough that only a part of them comes
// into question; sorted ones put all the best in one place.
func TestCutsOfLongRowsEqualTheFullSort(t *testing.T) {
	for _, kind := range kinds {
		for _, order := range []struct {
			name    string
			arrange func([]float32)
		}{
			{"any order", func([]float32) {}},
			{"ascending", func(v []float32) { slices.Sort(v) }},
			{"descending", func(v []float32) { slices.Sort(v); slices.Reverse(v) }},
		} {
			t.Run(kind.name+"/"+order.name, func(t *testing.T) {
				r := rand.New(rand.NewPCG(13, 14))
				for _, n := range []int{1023, 1024, 1025, 2500, 5000, 20000} {
					checkRow(t, r, n, kind.draw, order.arrange)
				}
			})
		}
	}
}

// checkRow checks one row at random settings, and at ones around the number of
// tokens.
func checkRow(t *testing.T, r *rand.Rand, n int, draw func(*rand.Rand) float32, arrange func([]float32)) {
	t.Helper()
	values := make([]float32, n)
	for i := range values {
		values[i] = draw(r)
	}
	if arrange != nil {
		arrange(values)
	}
	p := r.Float64()
	switch r.IntN(6) {
	case 0:
		p = 1 - math.Ldexp(1, -r.IntN(54))
	case 1:
		p = float64(r.IntN(11)) / 10
	}
	k := r.IntN(n+3) - 1
	if r.IntN(2) == 0 {
		k = 1 + r.IntN(60)
	}
	checkBoth(t, values, k, p, r.IntN(4))
}

func FuzzCutsEqualTheFullSort(f *testing.F) {
	f.Add([]byte{0, 0, 128, 63, 0, 0, 0, 64, 0, 0, 0, 64, 0, 0, 128, 255}, 2, 0.5, 1)
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 128, 255, 255, 127, 127, 255, 255, 127, 255}, 1, 0.999, 0)
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, -1, 0.75, 3)
	f.Fuzz(func(t *testing.T, data []byte, k int, p float64, minKeep int) {
		if len(data) > 2048 || !(p >= 0 && p <= 1) || minKeep < 0 {
			return
		}
		values := make([]float32, len(data)/4)
		for i := range values {
			values[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
		checkBoth(t, values, k, p, minKeep)
	})
}

func TestOffIsIdentityToTheBit(t *testing.T) {
	values := []float32{1, negInf, float32(math.Copysign(0, -1)), 1, -3e38, 1e-45}
	rows := []struct {
		name string
		s    sampler.Sampler
		set  param.Setting
	}{
		{"top_k 0", TopK{}, setting("top_k", 0)},
		{"top_k -1", TopK{}, setting("top_k", -1)},
		{"top_k equal to the support", TopK{}, setting("top_k", 5)},
		{"top_k above the vocabulary", TopK{}, setting("top_k", int64(math.MaxInt64))},
		{"top_p 1", TopP{}, setting("top_p", 1)},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			row := dist.NewDense(slices.Clone(values))
			if err := run(t, r.s, &row, r.set); err != nil {
				t.Fatal(err)
			}
			if !row.Dense() || len(row.Values) != len(values) {
				t.Fatalf("the row changed its form: %+v", row)
			}
			for i, v := range row.Values {
				if math.Float32bits(v) != math.Float32bits(values[i]) {
					t.Errorf("token %d went from %v to %v", i, values[i], v)
				}
			}
		})
	}
}

func TestTies(t *testing.T) {
	rows := []struct {
		name   string
		s      sampler.Sampler
		set    []param.Setting
		values []float32
		want   []int32
	}{
		{"exactly k, lowest ids win", TopK{}, []param.Setting{setting("k", 2)}, []float32{2, 1, 1, 1}, []int32{0, 1}}, // FR-04
		{"keep_all keeps every token equal to the k-th", TopK{}, []param.Setting{setting("k", 2), setting("ties", "keep_all")}, []float32{2, 1, 1, 0}, []int32{0, 1, 2}},
		{"keep_all of tied maxima", TopK{}, []param.Setting{setting("k", 1), setting("ties", "keep_all")}, []float32{0, 3, 3}, []int32{1, 2}},
		{"zeros of either sign tie", TopK{}, []param.Setting{setting("k", 1)}, []float32{float32(math.Copysign(0, -1)), 0}, []int32{0}},
		{"nucleus takes tied tokens in order of id", TopP{}, []param.Setting{setting("p", 0.5)}, []float32{1, 1, 1, 1, 1, 1, 1, 1}, []int32{0, 1, 2, 3}},
		{"a sum of 0.3 of ten equal tokens is three", TopP{}, []param.Setting{setting("p", 0.3)}, []float32{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, []int32{0, 1, 2}},
		{"p = 0 keeps the first maximum", TopP{}, []param.Setting{setting("p", 0)}, []float32{0, 5, 5}, []int32{1}},
		{"min_keep 0 never empties a row", TopP{}, []param.Setting{setting("p", 0), setting("min_keep", 0)}, []float32{0, 5}, []int32{1}},
		{"min_keep above k wins", TopK{}, []param.Setting{setting("k", 1), setting("min_keep", 3)}, []float32{0, 5, 2, 4}, []int32{1, 2, 3}},
		// p = [0.3, 0.1, 0.1, 0.5]: 0.5 + 0.3 reaches 0.8, no third token (FR-01).
		{"a threshold met exactly adds no token", TopP{}, []param.Setting{setting("p", 0.8)},
			[]float32{float32(math.Log(0.3)), float32(math.Log(0.1)), float32(math.Log(0.1)), float32(math.Log(0.5))}, []int32{0, 3}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			row := dist.NewDense(slices.Clone(r.values))
			if err := run(t, r.s, &row, r.set...); err != nil {
				t.Fatal(err)
			}
			if got := support(t, r.values, &row); !slices.Equal(got, r.want) {
				t.Errorf("kept %v, want %v", got, r.want)
			}
		})
	}
}

// A backend that lists the three likeliest of ten tokens, with 0.2 unlisted.
func TestUnlistedTail(t *testing.T) {
	rows := []struct {
		name string
		s    sampler.Sampler
		set  []param.Setting
		want []int32 // nil: refused
	}{
		{"top_k within the list is exact", TopK{}, []param.Setting{setting("k", 2)}, []int32{2, 7}},
		{"top_k of the whole list is exact", TopK{}, []param.Setting{setting("k", 3)}, []int32{2, 7, 9}},
		{"top_k beyond the list is refused", TopK{}, []param.Setting{setting("k", 4)}, nil},
		{"a nucleus within the list is exact", TopP{}, []param.Setting{setting("p", 0.7)}, []int32{2, 7}},
		{"a nucleus of the whole list is exact", TopP{}, []param.Setting{setting("p", 0.8)}, []int32{2, 7, 9}},
		{"a nucleus beyond the list is refused", TopP{}, []param.Setting{setting("p", 0.81)}, nil},
		{"min_keep beyond the list is refused", TopP{}, []param.Setting{setting("p", 0.1), setting("min_keep", 4)}, nil},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			row := dist.Scores{Vocab: 10, IDs: []int32{2, 7, 9}, Unlisted: 0.2,
				Values: []float32{float32(math.Log(0.4)), float32(math.Log(0.3)), float32(math.Log(0.1))}}
			before := row.Clone()
			err := run(t, r.s, &row, r.set...)
			if r.want == nil {
				if err == nil || fault.KindOf(err) != fault.Data {
					t.Errorf("got %v, want a data error", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if row.Unlisted != 0 || !slices.Equal(row.IDs, r.want) {
				t.Errorf("kept %v with %g unlisted, want %v", row.IDs, row.Unlisted, r.want)
			}
			var ws dist.Workspace
			c, err := dist.Compare(&before, &row, &ws)
			if err == nil {
				err = c.Check()
			}
			if err != nil || !c.Truncation {
				t.Errorf("ledger %+v: %v", c, err)
			}
		})
	}
}

func BenchmarkTruncate(b *testing.B) {
	for _, n := range []int{1024, 32768, 262144} {
		r := rand.New(rand.NewPCG(1, uint64(n)))
		values := make([]float32, n)
		for i := range values {
			values[i] = float32(r.NormFloat64() * 3)
		}
		scratch := make([]float32, n)
		for _, c := range []struct {
			s   sampler.Sampler
			set param.Setting
		}{
			{TopK{}, setting("top_k", 40)}, {TopK{}, setting("top_k", n/3)},
			{TopP{}, setting("top_p", 0.9)}, {TopP{}, setting("top_p", 0.999)},
		} {
			set, err := c.s.Declare().Params.Resolve("", "", []param.Setting{c.set})
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%s=%v/%d", c.set.Name, c.set.Value, n), func(b *testing.B) {
				for b.Loop() {
					copy(scratch, values)
					row := dist.NewDense(scratch)
					if err := c.s.Apply(&sampler.Row{Scores: &row}, set); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		b.Run(fmt.Sprintf("full sort, for comparison/%d", n), func(b *testing.B) {
			for b.Loop() {
				sorted(values)
			}
		})
	}
}

// The whole call as a plugin serves it, with the ledger.
func BenchmarkChain(b *testing.B) {
	set, err := sampler.NewSet(TopK{}, TopP{})
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{1024, 32768, 262144} {
		values := make([]float32, n)
		r := rand.New(rand.NewPCG(1, uint64(n)))
		for i := range values {
			values[i] = float32(r.NormFloat64() * 3)
		}
		for _, ledger := range []bool{false, true} {
			b.Run(fmt.Sprintf("ledger=%v/%d", ledger, n), func(b *testing.B) {
				it := &sampler.Item{}
				scratch := make([]float32, n)
				for b.Loop() {
					copy(scratch, values)
					it.Scores = dist.NewDense(scratch)
					call := &sampler.Call{Stages: []sampler.Stage{{Sampler: "top_p"}, {Sampler: "top_k"}}, Items: []*sampler.Item{it}, Ledger: ledger}
					if err := set.Run(context.Background(), call); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
