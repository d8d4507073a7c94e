package transformer

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"lab/core/fault"
	"lab/core/plugin/model"
	"lab/core/plugin/param"
	"lab/plugins/models/internal/gguf"
	"lab/plugins/models/internal/kernel"
)

// openSet opens bytes with some options changed.
func openSet(t testing.TB, data []byte, change func(*options)) (*engine, error) {
	t.Helper()
	f, err := gguf.Read(`"m"`, data)
	if err != nil {
		t.Fatal(err)
	}
	opt := options{threads: 1, cacheBytes: 1 << 28, kernels: kernel.Best()}
	change(&opt)
	e, err := open(context.Background(), f, "m", opt)
	if err == nil {
		t.Cleanup(func() {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return e, err
}

func mustScaling(t testing.TB, text string) scaling {
	t.Helper()
	s, err := parseScaling(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A scaling that is asked for is the one that a file would ask for itself.
func TestARopeSettingDoesWhatTheMetadataWould(t *testing.T) {
	scaled := func(pairs ...gguf.Pair) []byte {
		s := small()
		s.context = 192
		s.edit = func(m *ingredients) {
			for _, p := range pairs {
				set(p.Key, p.Value)(m)
			}
		}
		return s.bytes(t, 7)
	}
	kind := func(k string) gguf.Pair { return gguf.Pair{Key: "llama.rope.scaling.type", Value: k} }
	factor := gguf.Pair{Key: "llama.rope.scaling.factor", Value: float32(2)}
	origin := gguf.Pair{Key: "llama.rope.scaling.original_context_length", Value: uint32(96)}
	plain := small().bytes(t, 7)
	tokens := small().tokens(rand.New(rand.NewPCG(1, 9)), 150)
	rows := []struct {
		name, rope string
		asked      []byte // opened with the setting
		meant      []byte
	}{
		{"linear", "linear:2", plain, scaled(kind("linear"), factor)},
		{"yarn", "yarn:2", plain, scaled(kind("yarn"), factor, origin)},
		{"none", "none", plain, scaled()},
		{"none in place of linear", "none", scaled(kind("linear"), factor), scaled()},
		{"yarn in place of linear", "yarn:2", scaled(kind("linear"), factor), scaled(kind("yarn"), factor, origin)},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			asked, err := openSet(t, r.asked, func(o *options) { o.scaling, o.context = mustScaling(t, r.rope), 192 })
			if err != nil {
				t.Fatal(err)
			}
			if n := asked.Info().ContextLength; n != 192 {
				t.Errorf("a context of %d", n)
			}
			meant, err := openSet(t, r.meant, func(*options) {})
			if err != nil {
				t.Fatal(err)
			}
			got, want := all(t, asked, 1, tokens), all(t, meant, 1, tokens)
			for p := range want {
				for id := range want[p] {
					if math.Float32bits(got[p][id]) != math.Float32bits(want[p][id]) {
						t.Fatalf("position %d, token %d: %v, want %v", p, id, got[p][id], want[p][id])
					}
				}
			}
		})
	}
}

func TestAContextBeyondTheTrainedOneWantsAScaling(t *testing.T) {
	llama := small().bytes(t, 7)
	gpt2, err := os.ReadFile(peerPath("gpt2"))
	if err != nil {
		t.Fatal(err)
	}
	rows := []struct {
		name    string
		data    []byte
		rope    string
		context int
		words   []string // none: it opens
	}{
		{"as trained", llama, "", 0, nil},
		{"shorter", llama, "", 50, nil},
		{"longer", llama, "", 97, []string{"context of 97", "96 tokens", "rope", "yarn:2"}},
		{"longer, scaled", llama, "linear:2", 192, nil},
		{"longer than the scaling covers", llama, "yarn:2", 193, []string{"context of 193", "192 tokens", "yarn:2"}},
		{"longer, as it is", llama, "none", 500, nil},
		{"positions of a table", gpt2, "", 97, []string{"context of 97", "96 tokens"}},
		{"positions of a table, scaled", gpt2, "linear:2", 97, []string{"not rotated"}},
		{"a table of which a part is used", gpt2, "", 50, nil},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			e, err := openSet(t, r.data, func(o *options) { o.scaling, o.context = mustScaling(t, r.rope), r.context })
			if r.words != nil {
				wantError(t, err, fault.Usage, r.words...)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			limit := e.Info().ContextLength
			if r.context > 0 && limit != r.context {
				t.Errorf("the context is %d", limit)
			}
			_, err = e.Forward(context.Background(), []model.Input{{Tokens: make([]int32, limit+1)}})
			wantError(t, err, fault.Limit, "context of")
			if _, err = e.Forward(context.Background(), []model.Input{{Tokens: make([]int32, limit)}}); err != nil {
				t.Errorf("a full context: %v", err)
			}
		})
	}
}

func TestRopeSettingsThatMakeNoSenseAreRefused(t *testing.T) {
	for _, text := range []string{"linear", "linear:", "linear:0.5", "linear:NaN", "linear:x", "yarn:-1", "yarn:1e9", "none:2", "ntk:2", ":", "yarn:2:3"} {
		_, err := parseScaling(text)
		wantError(t, err, fault.Usage, "rope")
	}
	b := GGUF()
	_, err := b.Open(context.Background(), "testdata/random.gguf", defaults(t, b, param.Setting{Name: "rope", Value: "spiral"}))
	wantError(t, err, fault.Usage, "spiral", "linear:FACTOR")
}

// What a file claims as its context costs nothing until it is used.
func TestAHugeContextTakesNoMemory(t *testing.T) {
	s := small()
	s.edit = set("llama.context_length", uint32(maxContext))
	data := s.bytes(t, 7)
	result := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			e, err := openSet(b, data, func(*options) {})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := e.Forward(context.Background(), []model.Input{{Tokens: []int32{1}}}); err != nil {
				b.Fatal(err)
			}
		}
	})
	if n := result.AllocedBytesPerOp(); n > 4<<20 {
		t.Errorf("%d bytes for one token", n)
	}
}

// A model of longrope takes its long factors for contexts beyond the original
// one, whatever is evaluated.
func TestTheContextChoosesTheRotaryFactors(t *testing.T) {
	long, err := os.ReadFile(peerPath("phi3-long"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct {
		context int
		tensor  string
	}{{0, "rope_factors_long.weight"}, {25, "rope_factors_long.weight"}, {24, "rope_factors_short.weight"}} {
		e, err := openSet(t, long, func(o *options) { o.context = r.context })
		if err != nil {
			t.Fatal(err)
		}
		if got := e.weight.ropeFactors.name; got != r.tensor {
			t.Errorf("a context of %d takes %s", r.context, got)
		}
	}
}
