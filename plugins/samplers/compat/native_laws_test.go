package compat

import (
	"cmp"
	"maps"
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

func TestMersenneTwisterStream(t *testing.T) {
	// The C++ standard gives the 10,000th number of the default seed.
	g := newMT(5489)
	for range 9999 {
		g.word()
	}
	if got := g.word(); got != 4123659995 {
		t.Errorf("10,000th word of seed 5489 is %d, want 4123659995", got)
	}
}

// The generator goes on where it was, from the bytes that it left.
func TestGeneratorStateTravels(t *testing.T) {
	set := param.Values{{Name: "seed", Value: int64(7)}}
	row := &sampler.Row{}
	want := newMT(7)
	for step := range 700 { // past the second twist
		g, extra, err := generator(row, set, "test", 2.5)
		if err != nil {
			t.Fatal(err)
		}
		if wantExtra := 2.5 + float32(step); extra[0] != wantExtra {
			t.Fatalf("step %d: extra number %v, want %v", step, extra[0], wantExtra)
		}
		if got, want := g.word(), want.word(); got != want {
			t.Fatalf("step %d: word %d, want %d", step, got, want)
		}
		g.keep(row, extra[0]+1)
		if len(row.State) > sampler.MaxState {
			t.Fatalf("state of %d bytes", len(row.State))
		}
	}
}

func TestSeedOfTheRun(t *testing.T) {
	set := param.Values{{Name: "seed", Value: int64(randomSeed)}}
	g, _, err := generator(&sampler.Row{Uniforms: []float64{0.25}}, set, "test")
	if err != nil {
		t.Fatal(err)
	}
	if want := newMT(1 << 30); *g != *want {
		t.Error("the seed 4294967295 is not taken from the run's random number 0.25")
	}
}

func TestHostileState(t *testing.T) {
	set := param.Values{{Name: "seed", Value: int64(7)}}
	good := &sampler.Row{}
	newMT(1).keep(good, 1)
	change := func(f func([]byte) []byte) []byte { return f(slices.Clone(good.State)) }
	rows := []struct {
		name  string
		state []byte
	}{
		{"one byte", []byte{1}},
		{"a byte short", change(func(b []byte) []byte { return b[:len(b)-1] })},
		{"a byte long", change(func(b []byte) []byte { return append(b, 0) })},
		{"next word beyond the end", change(func(b []byte) []byte { b[0], b[1] = 0xff, 0xff; return b })},
		{"extra number NaN", change(func(b []byte) []byte { copy(b[len(b)-4:], []byte{0, 0, 0xc0, 0x7f}); return b })},
		{"extra number +Inf", change(func(b []byte) []byte { copy(b[len(b)-4:], []byte{0, 0, 0x80, 0x7f}); return b })},
	}
	if _, _, err := generator(good, set, "test", 1); err != nil {
		t.Fatalf("the good state is refused: %v", err)
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			_, _, err := generator(&sampler.Row{State: r.state}, set, "test", 1)
			if err == nil || fault.KindOf(err) != fault.Data {
				t.Errorf("got %v, want a data error", err)
			}
		})
	}
}

// The sorts are strange in their order of ties only.
func TestSortsSort(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		list := make([]candidate, r.IntN(400)+1)
		for i := range list {
			list[i] = candidate{id: int32(i), logit: float32(r.IntN(60)-30) / 2}
		}
		want := slices.Clone(list)
		slices.SortFunc(want, func(a, b candidate) int { return cmp.Compare(b.logit, a.logit) })
		k := r.IntN(len(list)) + 1
		full, part := slices.Clone(list), slices.Clone(list)
		introsort(full, likelier)
		partialSort(part, k, likelier)
		bucket := bucketSort(list, k)
		x := &pool{}
		for _, c := range list {
			x.p, x.id = append(x.p, c.logit+16), append(x.id, c.id)
		}
		x.sort(len(list))
		for i := range want {
			if full[i].logit != want[i].logit || x.p[i] != want[i].logit+16 {
				t.Fatalf("%d of %d: %v, %v, want %v", i, len(list), full[i].logit, x.p[i]-16, want[i].logit)
			}
			if i < k && (part[i].logit != want[i].logit || bucket[i].logit != want[i].logit) {
				t.Fatalf("first %d of %d: %v, %v, want %v", k, len(list), part[i].logit, bucket[i].logit, want[i].logit)
			}
		}
		for _, l := range [][]candidate{full, part} {
			slices.SortFunc(l, func(a, b candidate) int { return cmp.Compare(a.id, b.id) })
			if !slices.Equal(l, list) {
				t.Fatal("a sort lost or doubled an entry")
			}
		}
	}
}

// Adversaries of a quicksort whose pivot is the last element end in bounded time.
func TestQuicksortIsBounded(t *testing.T) {
	const n = 1 << 18
	for name, at := range map[string]func(i int) float32{
		"ascending":  func(i int) float32 { return float32(i + 1) },
		"descending": func(i int) float32 { return float32(n - i) },
		"equal":      func(int) float32 { return 1 },
		"organ pipe": func(i int) float32 { return float32(min(i, n-i) + 1) },
	} {
		t.Run(name, func(t *testing.T) {
			x := &pool{p: make([]float32, n), id: make([]int32, n)}
			for i := range x.p {
				x.p[i], x.id[i] = at(i), int32(i)
			}
			x.sort(n)
			if !slices.IsSortedFunc(x.p, func(a, b float32) int { return cmp.Compare(b, a) }) {
				t.Error("not sorted")
			}
		})
	}
}

func TestHeapHandsOutInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	h := leastFirst{}
	for i := range 1000 {
		h.push(entry{float32(r.IntN(50)), int32(i)})
	}
	last := h.pop()
	for len(h) > 0 {
		e := h.pop()
		if !last.before(e) {
			t.Fatalf("%v before %v", last, e)
		}
		last = e
	}
}

// A row whose tail is not listed is refused by every rule: the systems have no
// such row.
func TestUnlistedTailIsRefused(t *testing.T) {
	for system, list := range nativeRules() {
		for _, r := range list {
			if r.Apply == nil {
				continue
			}
			t.Run(system+" "+r.Sampler, func(t *testing.T) {
				row := &sampler.Row{System: system, Uniforms: []float64{0.5}, History: []int32{1, 2, 1, 2, 1}, Chosen: -1,
					Scores: &dist.Scores{Vocab: 9, IDs: []int32{1, 2, 5}, Values: []float32{-1, -2, -2}, Unlisted: 0.3}}
				err := r.Apply(row, working(t, r, system))
				if err == nil || fault.KindOf(err) != fault.Data {
					t.Errorf("got %v, want a data error", err)
				}
			})
		}
	}
}

// working returns settings with which a rule does something.
func working(t *testing.T, r Rule, system string) param.Values {
	t.Helper()
	on := map[string]any{
		"temperature": 0.7, "range": 0.3, "factor": 0.4, "top_k": int64(1), "top_p": 0.4, "min_p": 0.5, "typical": 0.4, "top_a": 0.5,
		"tfs": 0.4, "top_n_sigma": 0.5, "probability": 1.0, "threshold": 0.1, "repeat": 1.5, "repetition_penalty": 1.5, "frequency_penalty": 0.5, "presence_penalty": 0.5, "last_n": int64(64), "multiplier": 0.8,
		"target": 0.4, "breakers": "", "seed": int64(1),
	}
	for _, s := range own() {
		d := s.Declare()
		if d.Name != r.Sampler {
			continue
		}
		d.Systems = []sampler.System{{Name: system, Params: r.Params}}
		specs, err := d.ParamsFor(system)
		if err != nil {
			t.Fatal(err)
		}
		var given []param.Setting
		for _, spec := range specs {
			if v, ok := on[spec.Name]; ok {
				given = append(given, param.Setting{Name: spec.Name, Value: v})
			}
		}
		set, err := specs.Resolve("test", d.Name, given)
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	t.Fatalf("no sampler %q", r.Sampler)
	return nil
}

// A draw never takes a masked token, whatever the random numbers are.
func TestMaskedTokensAreNotDrawn(t *testing.T) {
	none := float32(math.Inf(-1))
	for _, r := range llamaSelect() {
		if r.Apply == nil {
			continue
		}
		t.Run(r.Sampler, func(t *testing.T) {
			set := working(t, r, LlamaCpp)
			var state []byte
			for range 2000 {
				scores := dist.NewDense([]float32{none, 1, none, 0.5, 2, none})
				row := &sampler.Row{System: LlamaCpp, Scores: &scores, State: state, Uniforms: []float64{0.5}, Chosen: -1}
				if err := r.Apply(row, set); err != nil {
					t.Fatal(err)
				}
				if !scores.Has(row.Chosen) {
					t.Fatalf("drew %d from %v", row.Chosen, scores)
				}
				state = row.State
			}
		})
	}
}

// A text breaks a repetition wherever tokens spell it, inside one of them or
// across several.
func TestTextBreakers(t *testing.T) {
	words := []string{"a", "b", "x\n", "<en", "d>", "y"}
	texts := func(id int32) []byte { return []byte(words[id]) }
	rows := []struct {
		name     string
		history  []int32
		breakers []param.Token
		want     int
	}{
		{"no breaker", []int32{0, 1, 0, 1}, nil, 4},
		{"inside a token", []int32{0, 2, 0, 1}, []param.Token{{Text: "\n"}}, 2},
		{"across two tokens", []int32{0, 3, 4, 0, 1, 5}, []param.Token{{Text: "<end>"}}, 3},
		{"begins like the text and goes on otherwise", []int32{0, 3, 1, 0}, []param.Token{{Text: "<end>"}}, 4},
		{"the head alone at the end", []int32{0, 1, 3}, []param.Token{{Text: "<end>"}}, 3},
		{"a sequence of ids", []int32{0, 3, 4, 0, 1}, []param.Token{{IDs: []int32{3, 4}}}, 2},
		{"the newest of several", []int32{2, 0, 2, 1}, []param.Token{{Text: "\n"}, {IDs: []int32{0}}}, 1},
		{"a breaker at the end", []int32{0, 1, 2}, []param.Token{{Text: "\n"}}, 0},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			d := &dry{history: r.history, breakers: r.breakers, texts: texts}
			if got := d.limit(); got != r.want {
				t.Errorf("%d tokens follow the last breaker, want %d", got, r.want)
			}
		})
	}
}

// The linear search for repetitions finds what comparing every pair finds.
func TestContinuationsEqualThoseOfEveryPair(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		d := &dry{history: make([]int32, r.IntN(40)+1), allowed: r.IntN(4)}
		for i := range d.history {
			d.history[i] = int32(r.IntN(3))
		}
		n, limit := len(d.history), r.IntN(12)
		want := map[int32]int{}
		for end := 1; end < n; end++ { // the match ends before place end
			length := 0
			for length < end && d.history[end-1-length] == d.history[n-1-length] {
				length++
			}
			if length = min(length, limit); length >= d.allowed {
				next := d.history[end]
				if old, ok := want[next]; !ok || length > old {
					want[next] = length
				}
			}
		}
		if got := d.continuations(limit); !maps.Equal(got, want) {
			t.Fatalf("%v, allowed %d, limit %d: %v, want %v", d.history, d.allowed, limit, got, want)
		}
	}
}

// ExLlamaV2's penalties fade to nothing over the tokens before the window.
func TestPenaltiesFade(t *testing.T) {
	set := param.Values{{Name: "last_n", Value: int64(2)}, {Name: "decay", Value: int64(4)}}
	scores := dist.NewDense(make([]float32, 8))
	row := &sampler.Row{System: ExLlamaV2, Scores: &scores, History: []int32{7, 6, 5, 4, 3, 2, 1, 0}}
	if err := exllamaPenalties(row, set, 1, 0, 1); err != nil {
		t.Fatal(err)
	}
	// Two tokens in full, the third still in full, then a quarter less each.
	if want := []float32{-1, -1, -1, -0.75, -0.5, -0.25, 0, 0}; !slices.Equal(scores.Values, want) {
		t.Errorf("%v, want %v", scores.Values, want)
	}
}

// A setting that a system lacks is refused unless it says what the system does
// anyway.
func TestSettingsThatASystemLacks(t *testing.T) {
	subject := native(t)
	rows := []struct{ sampler, system, name, value, word string }{
		{"top_k", LlamaCpp, "ties", "keep_all", "keep_all"},
		{"top_k", KoboldCpp, "min_keep", "2", "outside [0, 1]"},
		{"penalties", LlamaCpp, "scope", "output", "output"},
		{"penalties", KoboldCpp, "frequency", "0.5", "outside [0, 0]"},
		{"penalties", KoboldCpp, "last_n", "-1", "outside [0"},
		{"mirostat_v2", LlamaCpp, "ceiling", "3", "outside [0, 0]"},
		{"dynatemp", LlamaCpp, "low", "0.5", "outside [-1, -1]"},
		{"xtc", KoboldCpp, "mode", "expected", "expected"},
		{"quadratic", ExLlamaV2, "curve", "2", "outside [1, 1]"},
		{"sample", LlamaCpp, "seed", "4294967296", "outside [0, 4294967295]"},
	}
	for _, r := range rows {
		t.Run(r.system+" "+r.sampler+" "+r.name, func(t *testing.T) {
			d, err := subject.Lookup(r.sampler)
			if err != nil {
				t.Fatal(err)
			}
			specs, err := d.ParamsFor(r.system)
			if err != nil {
				t.Fatal(err)
			}
			_, err = specs.Resolve("sampler", r.sampler, []param.Setting{{Name: r.name, Value: r.value}})
			if err == nil || fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), r.word) {
				t.Errorf("got %v, want a usage error with %q", err, r.word)
			}
		})
	}
}

// The order of the candidates decides which token a random number means.
func TestDrawsInTheOrderAskedFor(t *testing.T) {
	for order, want := range map[string]int32{orderAuto: 0, orderID: 0, orderScore: 2} {
		t.Run(order, func(t *testing.T) {
			// Inside the share of whichever token comes first.
			u := newMT(3).double()
			if !(u < 0.1) {
				t.Fatalf("the first double of the seed is %v", u)
			}
			scores := dist.NewDense([]float32{1, 1.5, 2})
			row := &sampler.Row{System: LlamaCpp, Scores: &scores, Uniforms: []float64{0.5}}
			set := param.Values{{Name: "seed", Value: int64(3)}, {Name: "order", Value: order}}
			if err := llamaDist(row, set); err != nil || row.Chosen != want {
				t.Errorf("drew %d, %v, want %d", row.Chosen, err, want)
			}
		})
	}
}
