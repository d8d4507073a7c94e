package explore

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"lab/core/chain"
	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/sampler"
	"lab/core/seed"
	"lab/plugins/samplers"
)

func uintText(v uint64) string { return strconv.FormatUint(v, 10) }

type catalog struct{ *sampler.Set }

func (c catalog) Sampler(name string) (chain.Offer, error) {
	d, err := c.Lookup(name)
	return chain.Offer{Plugin: "lab", Declaration: d, Runner: c.Set}, err
}

var allSamplers = sync.OnceValues(func() (*sampler.Set, error) { return sampler.NewSet(samplers.All()...) })

func newCatalog(t testing.TB) catalog {
	t.Helper()
	set, err := allSamplers()
	if err != nil {
		t.Fatal(err)
	}
	return catalog{set}
}

func build(t *testing.T, text string) *chain.Chain {
	t.Helper()
	requests, err := chain.Parse(text, "test")
	if err != nil {
		t.Fatal(err)
	}
	c, err := chain.Build(requests, newCatalog(t))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// trial applies a chain as the page does, and flattens what comes of it.
const trial = `(values, ids, vocab, unlisted, chain, uniforms) => {
	const row = { ids: ids && Int32Array.from(ids), values: Float32Array.from(values), vocab, unlisted };
	const out = lab.run(row, chain.split(" | ").map(s => [s.split(":")[0], Number(s.split(":")[1])]));
	return {
		refused: out.refused || "",
		ledger: out.ledger.map(l => [l.supportBefore, l.supportAfter, l.keptMass, l.cutMass, l.entropyBefore, l.entropyAfter, l.kl, l.tv, l.unlistedAfter]),
		ids: out.ledger.map(l => Array.from(l.row.values.keys()).filter(i => lab.has(l.row.values[i])).map(i => lab.idOf(l.row, i))),
		scores: out.ledger.map(l => Array.from(l.row.values.filter(lab.has))),
		drawn: out.refused ? [] : uniforms.map(u => lab.draw(out.row, u)),
	};
}`

var seeds = []uint64{0, 1, 2, 3, math.MaxUint64}

// uniforms are the numbers of those seeds, for which the page has its own test.
func uniforms() []float64 {
	u := make([]float64, len(seeds))
	for i, s := range seeds {
		seed.New(s, []byte("p")).Uniforms(u[i:i+1], 0, 0, seed.Draw)
	}
	return u
}

type row struct {
	name   string
	scores []float32
	chains []string // nil: all
}

func trials() []row {
	inf := float32(math.Inf(-1))
	r := rand.New(rand.NewPCG(8, 3))
	random := func(n int, spread float64) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(r.NormFloat64() * spread)
		}
		return v
	}
	masked := random(1200, 3)
	for i := range masked {
		if i%3 == 1 {
			masked[i] = inf
		}
	}
	return []row{
		{"one token", []float32{3}, nil},
		{"ties", []float32{1, 1, 1, 1, 0, 0, 0, 0}, nil},
		{"masked", []float32{2, inf, 1, inf, 0.5, 0}, nil},
		{"flat", random(60, 0.1), nil},
		{"usual", random(90, 3), nil},
		{"far from zero", []float32{70000, 69999, 69990, 65000}, nil},
		{"vanishing weights", []float32{0, -800, -900, 1}, nil},
		{"several blocks", random(2100, 2), []string{"typical:0.8", "top_n_sigma:2", "temperature:1.5 | top_k:1200 | top_p:0.95 | min_p:0.02"}},
		{"blocks with holes", masked, []string{"top_p:0.99", "typical:0.95 | temperature:0.7", "min_p:0.05 | top_p:0.5"}},
		{"a hundred equal", make([]float32, 100), []string{"top_p:0.55", "typical:0.55"}},
		{"two scores, three times", slices.Repeat(random(2, 1000), 3), []string{"top_n_sigma:2", "top_n_sigma:1.999"}},
		{"two scores, five times", slices.Repeat(random(2, 100), 5), []string{"top_n_sigma:2"}},
		{"two scores, six times", slices.Repeat(random(2, 1000), 6), []string{"top_n_sigma:2"}},
		{"at the border", []float32{0, float32(math.Log(0.05)), float32(math.Log(0.3)), float32(math.Log(0.7)), float32(math.Log(0.11))},
			[]string{"min_p:0.05", "min_p:0.3", "min_p:0.7", "min_p:0.11"}},
		{"long ties", make([]float32, 1100), []string{"top_p:0.5", "typical:0.5"}},
	}
}

var chains = []string{
	"temperature:1", "temperature:0", "temperature:0.7", "temperature:0.001",
	"top_k:1", "top_k:3", "top_k:40", "top_k:0", "top_p:0", "top_p:0.5", "top_p:0.9", "top_p:1",
	"min_p:0", "min_p:0.05", "min_p:1", "typical:0", "typical:0.2", "typical:0.95", "typical:1",
	"top_n_sigma:0", "top_n_sigma:1", "top_n_sigma:2",
	"temperature:1.5 | top_k:50 | top_p:0.9 | min_p:0.02",
	"min_p:0.02 | typical:0.9 | top_n_sigma:1.5 | temperature:1.3",
	"top_p:0.9 | temperature:2 | top_p:0.9",
}

// Supports, scores and draws are those of the core, to the bit. So are the sums
// that decide about them; those of the ledger are plain ones, for which the
// tolerance is that of the core's own identities.
func TestChainsAreTheCores(t *testing.T) {
	const tol = 1e-9
	run := engine(t, trial)
	for _, r := range trials() {
		list := r.chains
		if list == nil {
			list = chains
		}
		for _, text := range list {
			t.Run(r.name+"/"+text, func(t *testing.T) {
				out := run(r.scores, nil, len(r.scores), 0, text, uniforms()).(map[string]any)
				if out["refused"] != "" {
					t.Fatal(out["refused"])
				}
				c := build(t, text)
				for i, drawn := range floats(t, out["drawn"]) {
					in := &chain.Row{Scores: dist.NewDense(slices.Clone(r.scores)), History: []int32{0}, Prompt: 1, Stream: seed.New(seeds[i], []byte("p"))}
					if err := c.Apply(context.Background(), []*chain.Row{in}, chain.Options{Ledger: true, Rows: true}); err != nil {
						t.Fatal(err)
					}
					if int32(drawn) != in.Chosen {
						t.Errorf("seed %d: the page draws %v, the core %d", seeds[i], drawn, in.Chosen)
					}
					if i == 0 {
						sameLedger(t, out, in, tol)
					}
				}
			})
		}
	}
}

func sameLedger(t *testing.T, out map[string]any, in *chain.Row, tol float64) {
	t.Helper()
	ledger := out["ledger"].([]any)
	if len(ledger) != len(in.Ledger)-1 { // the core counts the selector as one
		t.Fatalf("%d stages, the core has %d and a selector", len(ledger), len(in.Ledger)-1)
	}
	for i, line := range ledger {
		c := in.Ledger[i].Change
		got := floats(t, line)
		for j, want := range []float64{float64(c.SupportBefore), float64(c.SupportAfter), c.KeptMass, 1 - c.KeptMass, c.EntropyBefore, c.EntropyAfter, c.KL, c.TV, c.UnlistedAfter} {
			if !(math.Abs(got[j]-want) <= tol*(1+math.Abs(want))) {
				t.Errorf("stage %d: number %d of the ledger is %v, the core has %v", i+1, j, got[j], want)
			}
		}
		var ids, scores []float64
		for k, v := range in.After[i].Values {
			if dist.Finite(v) {
				ids, scores = append(ids, float64(in.After[i].ID(k))), append(scores, float64(v))
			}
		}
		if got := floats(t, out["ids"].([]any)[i]); !slices.Equal(got, ids) {
			t.Fatalf("stage %d keeps %d tokens, the core %d, or others", i+1, len(got), len(ids))
		}
		if got := floats(t, out["scores"].([]any)[i]); !slices.Equal(got, scores) {
			t.Fatalf("stage %d has other scores than the core", i+1)
		}
	}
}

// With an unlisted tail, the page refuses what the core refuses, and else does
// the same.
func TestUnlistedTailsAreTheCores(t *testing.T) {
	run := engine(t, trial)
	p := []float64{0.4, 0.25, 0.15, 0.1}
	in := dist.Scores{Vocab: 50, IDs: []int32{3, 4, 17, 40}, Unlisted: 0.1}
	for _, x := range p {
		in.Values = append(in.Values, float32(math.Log(x)))
	}
	texts := append([]string{"top_k:4", "top_k:5", "top_p:0.89", "top_p:0.91", "min_p:0.3", "min_p:0.2", "top_k:3 | temperature:2 | typical:0.5",
		"temperature:2 | top_k:3", "top_p:0.6 | top_n_sigma:1"}, chains...)
	refused := 0
	for _, text := range texts {
		t.Run(text, func(t *testing.T) {
			out := run(in.Values, in.IDs, in.Vocab, in.Unlisted, text, uniforms()[:1]).(map[string]any)
			r := &chain.Row{Scores: in.Clone(), History: []int32{0}, Prompt: 1, Stream: seed.New(0, []byte("p"))}
			err := build(t, text).Apply(context.Background(), []*chain.Row{r}, chain.Options{Ledger: true, Rows: true})
			reason := out["refused"].(string)
			if (err != nil) != (reason != "") {
				t.Fatalf("the page: %q; the core: %v", reason, err)
			}
			if err != nil {
				refused++
				stage, _, _ := strings.Cut(reason, ":")
				if stage == "draw" {
					stage = "sample"
				}
				if !strings.Contains(err.Error(), stage) || fault.KindOf(err) != fault.Data {
					t.Errorf("the page refuses %q, the core %v", reason, err)
				}
				return
			}
			if got := floats(t, out["drawn"]); int32(got[0]) != r.Chosen {
				t.Errorf("the page draws %v, the core %d", got, r.Chosen)
			}
			sameLedger(t, out, r, 1e-6) // the row's log probabilities are float32
		})
	}
	if refused < 5 || refused > len(texts)-5 {
		t.Errorf("%d of %d chains were refused", refused, len(texts))
	}
}

// A head of a row, with what the others hold, keeps and draws what the whole row
// does wherever it is not refused.
func TestHeadsDrawWhatWholeRowsDo(t *testing.T) {
	run := engine(t, trial)
	r := rand.New(rand.NewPCG(11, 12))
	scores := make([]float32, 1200)
	for i := range scores {
		scores[i] = float32(r.NormFloat64() * 2)
	}
	head, err := Head(Node{Row: dist.NewDense(scores)}, 400)
	if err != nil {
		t.Fatal(err)
	}
	if len(head.Row.IDs) != 400 || !slices.IsSorted(head.Row.IDs) || !(head.Row.Unlisted > 0.001 && head.Row.Unlisted < 0.5) {
		t.Fatalf("%d tokens and %v for the others", len(head.Row.IDs), head.Row.Unlisted)
	}
	for _, text := range []string{"top_k:50", "top_k:400 | temperature:1.4", "top_p:0.7", "min_p:0.05 | typical:0.9", "top_p:0.5 | top_n_sigma:1"} {
		t.Run(text, func(t *testing.T) {
			whole := run(scores, nil, len(scores), 0, text, uniforms()).(map[string]any)
			part := run(head.Row.Values, head.Row.IDs, len(scores), head.Row.Unlisted, text, uniforms()).(map[string]any)
			if part["refused"] != "" {
				t.Fatal(part["refused"])
			}
			if fmt.Sprint(part["drawn"]) != fmt.Sprint(whole["drawn"]) || fmt.Sprint(part["ids"]) != fmt.Sprint(whole["ids"]) {
				t.Errorf("the head draws %v, the whole row %v, or they keep other tokens", part["drawn"], whole["drawn"])
			}
			for i, line := range part["ledger"].([]any) {
				got, want := floats(t, line), floats(t, whole["ledger"].([]any)[i])
				for _, j := range []int{1, 2, 3, 5, 6, 7} { // the support and the entropy before are of what is listed
					if !(math.Abs(got[j]-want[j]) <= 1e-9*(1+math.Abs(want[j]))) {
						t.Errorf("stage %d: number %d of the ledger is %v, of the whole row %v", i+1, j, got[j], want[j])
					}
				}
			}
		})
	}
}
