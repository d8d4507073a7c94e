package explore

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dop251/goja"

	"lab/core/chain"
	"lab/core/dist"
	"lab/core/plugin/sampler"
	"lab/core/seed"
	"lab/plugins/samplers"
)

// engine runs the page's arithmetic.
func engine(t *testing.T) *goja.Runtime {
	t.Helper()
	vm := goja.New()
	if _, err := vm.RunString(arithmetic + "\n;globalThis.lab = lab;"); err != nil {
		t.Fatal(err)
	}
	return vm
}

func eval(t *testing.T, vm *goja.Runtime, format string, args ...any) goja.Value {
	t.Helper()
	v, err := vm.RunString(fmt.Sprintf(format, args...))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// array writes bytes as a script does.
func array(b []byte) string {
	return "[" + strings.Trim(strings.ReplaceAll(fmt.Sprint(b), " ", ","), "[]") + "]"
}

func TestUniformsAreTheCores(t *testing.T) {
	vm := engine(t)
	prompts := [][]byte{nil, []byte("The weather today is"), []byte("größer ☂"), {0xff, 0}}
	for n := 37; n <= 128; n += 13 { // around the borders of the blocks of SHA-256
		prompts = append(prompts, []byte(strings.Repeat("a", n)))
	}
	for _, prompt := range prompts {
		for _, run := range []uint64{0, 1, 42, 1 << 53, math.MaxUint64} {
			for _, step := range []uint64{0, 1, 77, 1<<32 - 1} {
				var want [1]float64
				seed.New(run, prompt).Uniforms(want[:], 0, step, seed.Draw)
				if got := eval(t, vm, "lab.uniform(%dn, %s, %d)", run, array(prompt), step).ToFloat(); got != want[0] {
					t.Fatalf("seed %d, prompt %q, step %d: got %v, want %v", run, prompt, step, got, want[0])
				}
			}
		}
	}
}

type catalog struct{ *sampler.Set }

func (c catalog) Sampler(name string) (chain.Offer, error) {
	d, err := c.Lookup(name)
	return chain.Offer{Plugin: "lab", Declaration: d, Runner: c.Set}, err
}

func build(t *testing.T, text string) *chain.Chain {
	t.Helper()
	set, err := sampler.NewSet(samplers.All()...)
	if err != nil {
		t.Fatal(err)
	}
	requests, err := chain.Parse(text, "test")
	if err != nil {
		t.Fatal(err)
	}
	c, err := chain.Build(requests, catalog{set})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// script writes a chain as the page keeps it.
func script(text string) string {
	var parts []string
	for _, stage := range strings.Split(text, " | ") {
		name, value, _ := strings.Cut(stage, ":")
		parts = append(parts, fmt.Sprintf("[%q, %s]", name, value))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// Every number of the ledger, the support to the token and the draw are those of
// the core. The tolerance is that of the core's own identities: sums of a few
// hundred terms in two orders of addition, and exponentials within two units of
// the last place.
func TestChainsAreTheCores(t *testing.T) {
	const tol = 1e-9
	inf := float32(math.Inf(-1))
	r := rand.New(rand.NewPCG(8, 3))
	random := func(n int, spread float64) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(r.NormFloat64() * spread)
		}
		return v
	}
	rows := []struct {
		name   string
		scores []float32
	}{
		{"one token", []float32{3}},
		{"ties", []float32{1, 1, 1, 1, 0, 0, 0, 0}},
		{"masked", []float32{2, inf, 1, inf, 0.5, 0}},
		{"flat", random(200, 0.1)},
		{"usual", random(400, 3)},
		{"sharp", random(300, 40)},
		{"far from zero", []float32{70000, 69999, 69990, 65000}},
		{"vanishing weights", []float32{0, -800, -900, 1}},
	}
	chains := []string{
		"temperature:1", "temperature:0", "temperature:0.7", "temperature:2.5", "temperature:0.001",
		"top_k:1", "top_k:3", "top_k:40", "top_k:0", "top_p:0", "top_p:0.5", "top_p:0.9", "top_p:1",
		"min_p:0", "min_p:0.05", "min_p:1", "typical:0.2", "typical:0.95", "typical:1",
		"top_n_sigma:0", "top_n_sigma:1", "top_n_sigma:2",
		"temperature:1.5 | top_k:50 | top_p:0.9 | min_p:0.02",
		"min_p:0.02 | typical:0.9 | top_n_sigma:1.5 | temperature:1.3",
		"top_p:0.9 | temperature:2 | top_p:0.9",
	}
	vm := engine(t)
	for _, row := range rows {
		if err := vm.Set("row", row.scores); err != nil {
			t.Fatal(err)
		}
		for _, text := range chains {
			t.Run(row.name+"/"+text, func(t *testing.T) {
				eval(t, vm, "out = lab.run(Float32Array.from(row), %s)", script(text))
				c := build(t, text)
				for run := range uint64(8) {
					in := &chain.Row{Scores: dist.NewDense(append([]float32(nil), row.scores...)), History: []int32{0}, Prompt: 1,
						Stream: seed.New(run, []byte("prompt"))}
					if err := c.Apply(context.Background(), []*chain.Row{in}, chain.Options{Ledger: true, Rows: true}); err != nil {
						t.Fatal(err)
					}
					got := eval(t, vm, "lab.draw(out.row, lab.uniform(%dn, %s, 0))", run, array([]byte("prompt"))).ToInteger()
					if int32(got) != in.Chosen {
						t.Errorf("seed %d: the page draws %d, the core %d", run, got, in.Chosen)
					}
					if run == 0 {
						sameLedger(t, vm, in, tol)
					}
				}
			})
		}
	}
}

func sameLedger(t *testing.T, vm *goja.Runtime, in *chain.Row, tol float64) {
	t.Helper()
	stages := int(eval(t, vm, "out.ledger.length").ToInteger())
	if stages != len(in.Ledger)-1 { // the core counts the selector as one
		t.Fatalf("%d stages, the core has %d and a selector", stages, len(in.Ledger)-1)
	}
	for i := range stages {
		want := in.Ledger[i].Change
		for name, w := range map[string]float64{
			"supportBefore": float64(want.SupportBefore), "supportAfter": float64(want.SupportAfter), "keptMass": want.KeptMass,
			"entropyBefore": want.EntropyBefore, "entropyAfter": want.EntropyAfter, "kl": want.KL, "tv": want.TV,
		} {
			got := eval(t, vm, "out.ledger[%d].%s", i, name).ToFloat()
			if !(math.Abs(got-w) <= tol*(1+math.Abs(w))) {
				t.Errorf("stage %d: %s is %v, the core has %v", i+1, name, got, w)
			}
		}
		after := &in.After[i]
		kept := map[int]float32{}
		for k, v := range after.Values {
			if dist.Finite(v) {
				kept[int(after.ID(k))] = v
			}
		}
		row, ok := eval(t, vm, "out.ledger[%d].row", i).Export().([]float32)
		if !ok || len(row) != after.Vocab {
			t.Fatalf("stage %d: %d scores, want %d", i+1, len(row), after.Vocab)
		}
		for id, got := range row {
			if v, ok := kept[id]; ok && got != v || !ok && dist.Finite(got) {
				t.Fatalf("stage %d: token %d has the score %v, the core %v (kept: %v)", i+1, id, got, v, ok)
			}
		}
	}
}
