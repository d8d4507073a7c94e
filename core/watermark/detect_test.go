package watermark

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"lab/core/fault"
)

var ctx = context.Background()

func detect(t testing.TB, method string, settings map[string]any, prompt, text []int32, vocab int) Result {
	t.Helper()
	r, err := Detect(ctx, method, settings, prompt, text, vocab)
	if err != nil {
		t.Fatal(err)
	}
	checkFinite(t, r)
	return r
}

func checkFinite(t testing.TB, r Result) {
	t.Helper()
	list := []float64{r.Score, r.Expected, r.Z, r.P, r.LnP}
	for _, d := range r.Details {
		list = append(list, d.Value)
	}
	for _, x := range list {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			t.Fatalf("not finite: %+v", r)
		}
	}
	if !(r.P >= 0 && r.P <= 1) || !(r.LnP <= 0) || r.Scored+r.Repeated+r.Short != r.Tokens || r.Scored < 1 || r.Statistic == "" || r.Tail == "" {
		t.Fatalf("contradicts itself: %+v", r)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Fatal(err)
	}
}

// fast are settings under which a detection takes little time.
func fast(method string) map[string]any {
	if method == KeyedMethod {
		return map[string]any{"length": 32, "permutations": 199}
	}
	return nil
}

// A text without the mark gets a small p-value no more often than it says. Random
// texts under fixed seeds, each tested under a key of its own: the number of
// p-values of at most a is binomial with a mean of at most n a, and the limits are
// 3.3 standard deviations above. The mean p-value is near a half; whole numbers of
// tokens make that of a binomial tail larger.
func TestFalsePositives(t *testing.T) {
	const vocab, length = 512, 60
	rows := []struct {
		name, method string
		texts        int
		settings     map[string]any
	}{
		{"green list", GreenListMethod, 600, nil},
		{"green list, selfhash", GreenListMethod, 80, map[string]any{"scheme": SelfHash, "context_width": 4}}, // its table takes 5 ms
		{"tournament", SynthIDMethod, 300, map[string]any{"table_size": 1 << 14}},
		{"gumbel", GumbelMethod, 600, nil},
		{"keyed", KeyedMethod, 150, map[string]any{"length": 32, "permutations": 99}},
		{"keyed, blocks", KeyedMethod, 150, map[string]any{"length": 32, "permutations": 99, "block": 20}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			var p []float64
			for i := range row.texts {
				settings := map[string]any{}
				for k, v := range row.settings {
					settings[k] = v
				}
				if settings["key"] = 1000 + 7*i; row.method == SynthIDMethod {
					delete(settings, "key")
					settings["table_seed"] = i
				}
				r := detect(t, row.method, settings, randomText(uint64(i)+7, 4, vocab), randomText(uint64(i)+1e6, length, vocab), vocab)
				p = append(p, r.P)
			}
			n, mean := float64(row.texts), 0.0
			for _, a := range []float64{0.01, 0.05, 0.2} {
				got := 0.0
				for _, x := range p {
					if x <= a {
						got++
					}
				}
				if most := a*n + 3.3*math.Sqrt(n*a*(1-a)); !(got <= most) {
					t.Errorf("%v of %d texts have p <= %v, at most %.1f are expected", got, row.texts, a, most)
				}
			}
			for _, x := range p {
				mean += x / n
			}
			// Its standard error is below 0.29/sqrt(n).
			if dev := 3.3 * 0.29 / math.Sqrt(n); !(mean > 0.5-dev && mean < 0.56+dev) {
				t.Errorf("mean p = %.3f", mean)
			}
		})
	}
}

func TestTooFewTokens(t *testing.T) {
	for _, m := range Methods() {
		_, err := Detect(ctx, m.Name, fast(m.Name), []int32{1, 2, 3, 4, 5}, nil, 100)
		wantKind(t, err, fault.Data)
		if err == nil || !strings.Contains(err.Error(), "not enough tokens") {
			t.Errorf("%s: %v", m.Name, err)
		}
		detect(t, m.Name, fast(m.Name), []int32{1, 2, 3, 4, 5}, []int32{6}, 100) // one will do
	}
	_, err := Detect(ctx, GumbelMethod, nil, nil, []int32{1, 2, 3, 4}, 100)
	wantKind(t, err, fault.Data)
	_, err = Detect(ctx, GreenListMethod, nil, nil, []int32{1}, 100)
	wantKind(t, err, fault.Data)
	_, err = Detect(ctx, SynthIDMethod, map[string]any{"scope": ScopeAll}, nil, []int32{1, 2}, 100)
	wantKind(t, err, fault.Data)
	_, err = Detect(ctx, KeyedMethod, map[string]any{"block": 3}, nil, []int32{1, 2}, 100)
	wantKind(t, err, fault.Data)
}

// Repeating a text shows nothing new, so it adds nothing to the score.
func TestRepeatsCountOnce(t *testing.T) {
	text := randomText(3, 40, 50)
	twice := append(append([]int32(nil), text...), text...)
	for _, name := range []string{GreenListMethod, SynthIDMethod, GumbelMethod} {
		once, again := detect(t, name, nil, []int32{1, 2, 3, 4}, text, 50), detect(t, name, nil, []int32{1, 2, 3, 4}, twice, 50)
		// Contexts that reach across the seam are new: at most as many as a context is long.
		if fresh := again.Scored - once.Scored; fresh < 0 || fresh > 4 || again.Repeated < 36 {
			t.Errorf("%s: %d scored once, %d twice, %d repeated", name, once.Scored, again.Scored, again.Repeated)
		}
	}
	circle := make([]int32, 500)
	if r := detect(t, GreenListMethod, nil, []int32{0}, circle, 50); r.Scored != 1 || r.Repeated != 499 {
		t.Errorf("a run of one token: %+v", r)
	}
	if r := detect(t, GumbelMethod, map[string]any{"repeats": RepeatsKeep}, []int32{0, 0, 0, 0}, circle, 50); r.Scored != 1 {
		t.Errorf("a run of one token: %+v", r)
	}
}

func TestOnlyTheTextIsScored(t *testing.T) {
	text := randomText(4, 30, 50)
	for _, name := range []string{GreenListMethod, GumbelMethod} {
		r := detect(t, name, nil, nil, text, 50)
		if want := map[string]int{GreenListMethod: 1, GumbelMethod: 4}[name]; r.Short != want {
			t.Errorf("%s: %d tokens without a context, want %d", name, r.Short, want)
		}
		if r := detect(t, name, nil, randomText(5, 9, 50), text, 50); r.Short != 0 || r.Tokens != 30 {
			t.Errorf("%s with a prompt: %+v", name, r)
		}
	}
}

// equalBits returns a seed whose first two bits are equal.
func equalBits() int {
	for seed := range 1000 {
		g := newTorch(uint32(seed))
		if first, second := g.word(), g.word(); first&1 == second&1 {
			return seed
		}
	}
	return -1
}

func TestBadInput(t *testing.T) {
	text := randomText(6, 30, 50)
	rows := []struct {
		name, method string
		settings     map[string]any
		text         []int32
		kind         fault.Kind
		says         string
	}{
		{"unknown method", "kwg", nil, text, fault.Usage, `"kgw"`},
		{"unknown setting", "kgw", map[string]any{"rato": 1}, text, fault.Usage, `"ratio"`},
		{"twice by alias", "kgw", map[string]any{"ratio": 0.5, "gamma": 0.5}, text, fault.Usage, "twice"},
		{"out of range", "kgw", map[string]any{"ratio": 1.0}, text, fault.Usage, "ratio = 1"},
		{"not finite", "kgw", map[string]any{"bias": math.NaN()}, text, fault.Usage, "bias"},
		{"not whole", "kgw", map[string]any{"key": 1.5}, text, fault.Usage, "key = 1.5"},
		{"not text", "kgw", map[string]any{"scheme": 3}, text, fault.Usage, "scheme"},
		{"a choice misspelt", "kgw", map[string]any{"scheme": "lefthsh"}, text, fault.Usage, `"lefthash"`},
		{"a type nobody knows", "kgw", map[string]any{"key": []int{1}}, text, fault.Usage, "key"},
		{"no green token", "kgw", map[string]any{"ratio": 0.001}, text, fault.Usage, "ratio"},
		{"bad keys", "synthid", map[string]any{"keys": "a b"}, text, fault.Usage, "key 1"},
		{"a table of equal bits", "synthid", map[string]any{"table_size": 2, "table_seed": equalBits()}, text, fault.Usage, "table"},
		{"beyond the vocabulary", "kgw", nil, []int32{1, 50}, fault.Data, "token 1 of the text is 50"},
		{"negative", "gumbel_watermark", nil, []int32{-1}, fault.Data, "token 0 of the text is -1"},
		{"too much work", "keyed", map[string]any{"length": 65536, "permutations": 1 << 20}, text, fault.Limit, "additions"},
		{"too many pairs", "keyed", map[string]any{"length": 65536, "permutations": 19}, randomText(1, 300, 50), fault.Limit, "pairs"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			_, err := Detect(ctx, r.method, r.settings, nil, r.text, 50)
			wantKind(t, err, r.kind)
			if err == nil || !strings.Contains(err.Error(), r.says) {
				t.Errorf("%v does not say %s", err, r.says)
			}
		})
	}
}

func TestSettingsOfEveryType(t *testing.T) {
	text := randomText(6, 30, 50)
	want := detect(t, GreenListMethod, map[string]any{"ratio": 0.5, "key": int64(math.MaxInt64 - 2)}, []int32{1}, text, 50)
	for _, s := range []map[string]any{
		{"gamma": "0.5", "key": "9223372036854775805", "bias": 7},
		{"ratio": 0.5, "hashing_key": int64(9223372036854775805), "candidates": 3, "context_width": 1.0},
	} {
		if got := detect(t, "kgw", s, []int32{1}, text, 50); got.Score != want.Score || got.LnP != want.LnP {
			t.Errorf("%v: %+v, want %+v", s, got, want)
		}
	}
}

func TestCancelled(t *testing.T) {
	ended, cancel := context.WithCancel(ctx)
	cancel()
	late, cancel2 := context.WithDeadline(ctx, time.Unix(0, 0))
	defer cancel2()
	for _, m := range Methods() {
		_, err := Detect(ended, m.Name, nil, []int32{1, 2, 3, 4}, randomText(1, 9, 50), 50)
		wantKind(t, err, fault.Interrupted)
		_, err = Detect(late, m.Name, nil, []int32{1, 2, 3, 4}, randomText(1, 9, 50), 50)
		wantKind(t, err, fault.Limit)
	}
}

func TestDefaultsAreLegal(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Methods() {
		for _, name := range append([]string{m.Name}, m.Aliases...) {
			if got, err := Find(name); err != nil || got.Name != m.Name || seen[name] {
				t.Errorf("%s: %v, %v", name, got.Name, err)
			}
			seen[name] = true
		}
		for _, s := range m.Settings {
			v, err := s.check(s.Default)
			if err != nil || v != s.Default {
				t.Errorf("%s: default of %s: %v, %v", m.Name, s.Name, v, err)
			}
		}
	}
}

// Nothing that is handed over makes a detector panic, hang or answer with a number
// that is none.
func FuzzDetect(f *testing.F) {
	for i, m := range Methods() {
		f.Add(uint8(i), []byte{1, 2, 3, 4, 5, 6, 7, 8, 9}, []byte{1, 2, 3}, "ratio", "0.5", 20)
		f.Add(uint8(i), []byte{}, []byte{}, m.Settings[0].Name, "1", 0)
		f.Add(uint8(i), []byte{1, 1, 1, 1, 1, 1}, []byte{1, 1, 1, 1}, "context_width", "2", 2)
	}
	f.Fuzz(func(t *testing.T, which uint8, text, prompt []byte, name, value string, vocab int) {
		m := Methods()[int(which)%len(Methods())]
		settings := fast(m.Name)
		if name != "" {
			if settings == nil {
				settings = map[string]any{}
			}
			settings[name] = value
		}
		ids := func(b []byte) (out []int32) {
			for _, x := range b[:min(len(b), 200)] {
				out = append(out, int32(x)-1)
			}
			return out
		}
		soon, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		r, err := Detect(soon, m.Name, settings, ids(prompt), ids(text), min(vocab, 1<<16))
		if err == nil {
			checkFinite(t, r)
		} else if k := fault.KindOf(err); k == fault.Internal {
			t.Errorf("%v", err)
		}
	})
}
