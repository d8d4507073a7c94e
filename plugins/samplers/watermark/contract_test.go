package watermark

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
	"lab/core/watermark"
	"lab/plugins/samplers/selection"
)

func TestRefusals(t *testing.T) {
	set := fullSet(t)
	tail := dist.Scores{Vocab: 9, IDs: []int32{4}, Values: []float32{float32(math.Log(0.8))}, Unlisted: 0.2}
	flat := dist.NewDense(make([]float32, 8))
	rows := []struct {
		name, method string
		row          dist.Scores
		state        []byte
		values       param.Values
		kind         fault.Kind
		says         string
	}{
		{"tail", "kgw", tail, nil, nil, fault.Data, "unlisted"},
		{"tail", "synthid", tail, nil, nil, fault.Data, "unlisted"},
		{"tail", "watermark_gumbel", tail, nil, nil, fault.Data, "unlisted"},
		{"tail", "watermark_keyed", tail, nil, nil, fault.Data, "unlisted"},
		{"nothing green", "kgw", flat, nil, with("ratio", 0.1), fault.Usage, "0 of 8"},
		{"keys", "synthid", flat, nil, with("keys", "1 two"), fault.Usage, "key 2"},
		{"offset", "watermark_keyed", flat, nil, with("offset", int64(9), "length", int64(9)), fault.Usage, "offset = 9"},
		{"state of another length", "watermark_keyed", flat, []byte{1}, nil, fault.Data, "1 bytes"},
		{"state beyond the list", "watermark_keyed", flat, []byte{0, 1, 0, 0}, nil, fault.Data, "place 256"},
		{"overflow", "kgw", dist.NewDense([]float32{3.4e38, 3.4e38, 3.4e38, 0}), nil, with("bias", 1e38, "ratio", 0.9), fault.Data, "cannot be added"},
	}
	for _, r := range rows {
		it := &sampler.Item{Scores: r.row.Clone(), History: []int32{1, 2, 3, 4}, States: [][]byte{r.state}}
		if strings.HasSuffix(r.method, "gumbel") || strings.HasSuffix(r.method, "keyed") {
			it.Uniforms = [][]float64{{0.5}}
		}
		err := run(t, set, it, r.method, r.values...)
		if err == nil || fault.KindOf(err) != r.kind || !strings.Contains(err.Error(), r.says) {
			t.Errorf("%s, %s: %v", r.method, r.name, err)
		}
	}
}

// Numbers of a mark are the same ones that the race uses; otherwise no detector
// would find it.
func TestRaceAndDetectorShareTheirNumbers(t *testing.T) {
	flat := dist.NewDense(make([]float32, 500))
	for seed := range uint64(200) {
		want, least := int32(-1), 2.0
		for token := range int32(500) {
			if u := watermark.Unit(seed, token); u < least {
				want, least = token, u
			}
		}
		if got := selection.Race(&flat, seed); got != want {
			t.Fatalf("seed %d: the race is won by %d, the smallest number is that of %d", seed, got, want)
		}
	}
}

// Every declaration is there and whole, and none offers what only the detector
// uses.
func TestDeclarations(t *testing.T) {
	for _, m := range watermark.Methods() {
		d, err := fullSet(t).Lookup(m.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range m.Settings {
			if _, has := d.Params.Find(s.Name); has == s.Detector {
				t.Errorf("%s: %s is offered: %v", m.Name, s.Name, has)
			}
		}
		if d.Formula == "" || len(d.Params) == 0 {
			t.Errorf("%+v", d)
		}
	}
}

// The cache gives each key its own value, to any number of callers at once, and
// holds no more than it may.
func TestCache(t *testing.T) {
	var c cache[int, string]
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 200 {
				k := (i*7 + g) % 11
				if v, err := c.get(k, func() (string, error) { return fmt.Sprint(k), nil }); err != nil || v != fmt.Sprint(k) {
					t.Errorf("%d: %q, %v", k, v, err)
				}
			}
		})
	}
	wg.Wait()
	if len(c.keys) != kept || len(c.vals) != kept {
		t.Errorf("it holds %d keys and %d values", len(c.keys), len(c.vals))
	}
	made := 0
	for _, k := range []int{1, 2, 3, 4, 1, 5, 1, 2} { // 2 is the oldest when 5 comes
		if _, err := c.get(k+100, func() (string, error) { made++; return "", nil }); err != nil {
			t.Fatal(err)
		}
	}
	if made != 6 {
		t.Errorf("%d values were made, want 6", made)
	}
	if _, err := c.get(999, func() (string, error) { return "", fault.New(fault.Usage, "", "", "no") }); err == nil || slices.Contains(c.keys, 999) {
		t.Error("a failure is kept")
	}
}

func FuzzKeyedState(f *testing.F) {
	f.Add([]byte{}, 0.5, 3)
	f.Add([]byte{255, 0, 0, 0}, 0.0, 0)
	f.Add([]byte{255, 255, 255, 255}, 0.9, math.MaxInt)
	set := fullSet(f)
	f.Fuzz(func(t *testing.T, state []byte, u float64, step int) {
		if !(u >= 0 && u < 1) || step < 0 || len(state) > 64 {
			return
		}
		it := &sampler.Item{Scores: language(nil, 1), Step: step, States: [][]byte{state}, Uniforms: [][]float64{{u}}}
		err := run(t, set, it, "watermark_keyed")
		if k := fault.KindOf(err); err != nil && k != fault.Data {
			t.Error(err)
		}
		if err == nil && len(it.States[0]) != 4 {
			t.Errorf("state %v", it.States[0])
		}
	})
}

func BenchmarkMarks(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	values := make([]float32, 262144)
	for i := range values {
		values[i] = float32(r.NormFloat64() * 3)
	}
	work := make([]float32, len(values))
	for _, s := range All() {
		set, err := s.Declare().Params.Resolve("bench", "", nil)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(s.Declare().Name, func(b *testing.B) {
			for b.Loop() {
				copy(work, values)
				scores := dist.NewDense(work)
				row := sampler.Row{Scores: &scores, History: []int32{1, 2, 3, 4, 5}, Prompt: 2, Uniforms: []float64{0.5}, Chosen: -1}
				if err := s.Apply(&row, set); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
