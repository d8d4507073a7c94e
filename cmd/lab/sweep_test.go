package main

import (
	"context"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/generate"
	"lab/core/plugin/host"
	"lab/core/store"
	"lab/core/sweep"
)

// memory keeps records in a map, without their costs, which differ from run to run.
type memory struct {
	records map[[2]int]store.Record
	order   [][2]int
	full    int // after so many more records, keeping fails; 0: never
}

func (k *memory) Has(cell, sample int) bool {
	_, ok := k.records[[2]int{cell, sample}]
	return ok
}

func (k *memory) Put(r store.Record) error {
	at := [2]int{r.Cell, r.Sample}
	if k.Has(r.Cell, r.Sample) {
		return fault.New(fault.Internal, "keep", "", "%v is kept already", at)
	}
	if k.full > 0 {
		if k.full--; k.full == 0 {
			return fault.New(fault.Data, "keep", "", "no space")
		}
	}
	if k.records == nil {
		k.records = map[[2]int]store.Record{}
	}
	if r.Failure == "" && (r.Cost == nil || !(r.Cost.FLOPs > 0)) {
		return fault.New(fault.Internal, "keep", "", "%v came without what it took: %+v", at, r.Cost)
	}
	r.Cost = nil
	k.records[at] = r
	k.order = append(k.order, at)
	return nil
}

var sweepSpec = sweep.Spec{
	Grid: []sweep.Block{{
		"prompt":      {"The weather today is", "The weather", "Anna has a"},
		"temperature": {0.5, 1.0, int64(2)},
		"top_p":       {0.9, "off"},
	}},
	Fixed:   map[string]any{"seed": int64(3), "max_tokens": int64(9), "model": "tiny"},
	Samples: 4,
}

func TestSweepSamplesAreThoseGeneratedAlone(t *testing.T) {
	s := session(t, nil)
	p, err := sweep.New(t.Context(), s, sweepSpec)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"prompt", "temperature", "top_p"}; !reflect.DeepEqual(p.Axes, want) || len(p.Cells) != 18 {
		t.Fatalf("axes %v, %d cells; want %v, 18", p.Axes, len(p.Cells), want)
	}
	var kept memory
	sum, err := p.Run(t.Context(), &kept, sweep.Options{})
	if err != nil || sum.Finished != 72 || len(kept.records) != 72 {
		t.Fatalf("%+v, %v", sum, err)
	}
	for i, c := range p.Cells {
		text := "temperature:" + map[any]string{0.5: "0.5", 1.0: "1", int64(2): "2"}[c.Values[1]]
		if c.Values[2] != "off" {
			text += " | top_p:0.9"
		}
		built, err := s.Chain(t.Context(), text, "test")
		if err != nil {
			t.Fatal(err)
		}
		if c.Chain.String() != built.String() {
			t.Errorf("cell %d has the chain %s, want %s", i, c.Chain, built)
		}
		m, err := s.Model(t.Context(), "tiny", nil)
		if err != nil {
			t.Fatal(err)
		}
		for sample := range uint64(4) {
			alone, err := m.Run(t.Context(), []generate.Job{{Prompt: []byte(c.Values[0].(string)), Chain: built, Seed: 3, Sample: sample, MaxTokens: 9}},
				generate.Options{Ledger: true})
			if err != nil {
				t.Fatal(err)
			}
			if got := kept.records[[2]int{i, int(sample)}].Trace; !reflect.DeepEqual(got, alone.Samples[0]) {
				t.Fatalf("cell %d, sample %d is %+v, alone %+v", i, sample, got, alone.Samples[0])
			}
		}
	}
	if sum.Usage.DecodeTokens >= int64(sum.Tokens) {
		t.Errorf("%d tokens were evaluated for %d generated: nothing was shared", sum.Usage.DecodeTokens, sum.Tokens)
	}
}

// Whatever is kept already, and however a run ends, what is missing is generated
// and nothing else.
func TestSweepGoesOnWhereItStopped(t *testing.T) {
	s := session(t, nil)
	spec := sweepSpec
	spec.Grid = append(slices.Clone(spec.Grid), sweep.Block{"search": {"beam:width=2", "best_of:n=3"}, "prompt": {"The weather today is"}})
	p, err := sweep.New(t.Context(), s, spec)
	if err != nil {
		t.Fatal(err)
	}
	var whole memory
	if _, err := p.Run(t.Context(), &whole, sweep.Options{}); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 6 {
		kept := memory{records: map[[2]int]store.Record{}}
		for at, r := range whole.records {
			if rng.IntN(3) == 0 {
				kept.records[at] = r
			}
		}
		before := len(kept.records)
		stops := 0
		first, err := p.Run(t.Context(), &kept, sweep.Options{Batch: 1 + rng.IntN(20),
			Stopping: func() bool { stops++; return round%2 == 0 && stops > 10 }})
		if err != nil || first.Kept != before || first.Finished != len(kept.order) || first.Finished+first.Kept+first.Left != p.Total(sweep.Options{}) {
			t.Fatalf("round %d: %+v with %d kept before and %d now: %v", round, first, before, len(kept.records), err)
		}
		if round%2 == 0 && first.Left == 0 {
			t.Errorf("round %d: stopping left nothing", round)
		}
		if _, err := p.Run(t.Context(), &kept, sweep.Options{}); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(kept.records, whole.records) {
			t.Fatalf("round %d: the records differ", round)
		}
	}
}

func TestSweepEndsWithAnErrorOfItsKeeper(t *testing.T) {
	p, err := sweep.New(t.Context(), session(t, nil), sweepSpec)
	if err != nil {
		t.Fatal(err)
	}
	kept := memory{full: 5}
	if _, err := p.Run(t.Context(), &kept, sweep.Options{}); err == nil || !strings.Contains(err.Error(), "no space") {
		t.Errorf("got %v", err)
	}
}

// The parts of a sweep that is shared between several runs make the whole.
func TestSweepParts(t *testing.T) {
	p, err := sweep.New(t.Context(), session(t, nil), sweepSpec)
	if err != nil {
		t.Fatal(err)
	}
	var whole, parts memory
	if _, err := p.Run(t.Context(), &whole, sweep.Options{}); err != nil {
		t.Fatal(err)
	}
	for part := range 5 {
		if _, err := p.Run(t.Context(), &parts, sweep.Options{Mine: func(cell int) bool { return cell%5 == part }}); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(whole.records, parts.records) {
		t.Error("the parts together differ from the whole")
	}
}

// A model whose process dies for good fails its own cells; the others go on.
func TestSweepOutlivesAModel(t *testing.T) {
	s, err := experiment.Open(host.Options{Builtins: builtins()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = s.Close(context.Background()) }() // which cannot verify the model that is gone
	spec := sweepSpec
	spec.Fixed = map[string]any{"max_tokens": int64(4)}
	spec.Grid = []sweep.Block{{"prompt": {"The weather today is"}, "model": {"tiny", "grammar"}}}
	p, err := sweep.New(t.Context(), s, spec)
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Model(t.Context(), "tiny", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Handle().Close(); err != nil {
		t.Fatal(err)
	}
	var kept memory
	sum, err := p.Run(t.Context(), &kept, sweep.Options{})
	if err != nil || sum.Failed != 4 || sum.Finished != 4 {
		t.Fatalf("%+v, %v", sum, err)
	}
	for at, r := range kept.records {
		if (r.Failure != "") != (at[0] == 0) {
			t.Errorf("%v: %q", at, r.Failure)
		}
	}
	if _, err := p.Run(t.Context(), &memory{}, sweep.Options{FailFast: true}); err == nil {
		t.Errorf("failing fast, it did not fail")
	}
}

func TestSweepRefusesWhatCannotRun(t *testing.T) {
	s := session(t, nil)
	block := func(pairs ...any) sweep.Block {
		b := sweep.Block{}
		for i := 0; i < len(pairs); i += 2 {
			b[pairs[i].(string)] = pairs[i+1].([]any)
		}
		return b
	}
	prompt := map[string]any{"prompt": "Anna has a"}
	rows := []struct {
		name  string
		spec  sweep.Spec
		wants []string
	}{
		{"no grid", sweep.Spec{Samples: 1}, []string{"grid: it is empty"}},
		{"no values", sweep.Spec{Grid: []sweep.Block{block("top_p", []any{})}, Samples: 1}, []string{`"top_p"`, "no values"}},
		{"no samples", sweep.Spec{Grid: []sweep.Block{block("top_p", []any{0.5})}}, []string{"samples", "0 is outside"}},
		{"unknown key", sweep.Spec{Grid: []sweep.Block{block("temprature", []any{0.5})}, Samples: 1, Fixed: prompt}, []string{`did you mean "temperature"`}},
		{"unknown setting of a stage", sweep.Spec{Grid: []sweep.Block{block("top_p.minkeep", []any{0.5})}, Samples: 1, Fixed: prompt}, []string{`did you mean`, "min_keep"}},
		{"twice", sweep.Spec{Grid: []sweep.Block{block("seed", []any{int64(1)})}, Samples: 1, Fixed: map[string]any{"seed": int64(2)}}, []string{"fixed for all cells as well"}},
		{"all invalid cells", sweep.Spec{Grid: []sweep.Block{block("temperature", []any{1.0, -1.0}, "top_p", []any{0.5, 7.0})}, Samples: 1, Fixed: prompt},
			[]string{"3 of 4 cells are invalid", "cell 1 (temperature=1, top_p=7)", "cell 3 (temperature=-1, top_p=7)", "nothing was run"}},
		{"no prompt", sweep.Spec{Grid: []sweep.Block{block("top_p", []any{0.5})}, Samples: 1}, []string{"prompt", "empty"}},
		{"unknown model", sweep.Spec{Grid: []sweep.Block{block("model", []any{"tinny"})}, Samples: 1, Fixed: prompt}, []string{`"tiny"`}},
		{"stage that the chain lacks", sweep.Spec{Grid: []sweep.Block{block("top_p", []any{0.5})}, Samples: 1, Fixed: map[string]any{"prompt": "A", "chain": "temperature:0.5"}},
			[]string{"has no stage top_p"}},
		{"stage that the chain has twice", sweep.Spec{Grid: []sweep.Block{block("top_p", []any{0.5})}, Samples: 1, Fixed: map[string]any{"prompt": "A", "chain": "top_p:0.5|top_p:0.3"}},
			[]string{"top_p twice"}},
		{"same cell twice", sweep.Spec{Grid: []sweep.Block{block("top_p", []any{0.5, 0.5})}, Samples: 1, Fixed: prompt}, []string{"its settings are those of cell 0"}},
		{"half a token", sweep.Spec{Grid: []sweep.Block{block("max_tokens", []any{1.5})}, Samples: 1, Fixed: prompt}, []string{"max_tokens", "1.5 is not a whole number"}},
		{"unknown strategy", sweep.Spec{Grid: []sweep.Block{block("search", []any{"beem"})}, Samples: 1, Fixed: prompt}, []string{`did you mean "beam"`}},
		{"prompt too long", sweep.Spec{Grid: []sweep.Block{block("prompt", []any{strings.Repeat("The weather today is ", 400)})}, Samples: 1}, []string{"the context of model"}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			_, err := sweep.New(context.Background(), s, r.spec)
			if err == nil {
				t.Fatal("it was accepted")
			}
			for _, want := range r.wants {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, want %q in it", err, want)
				}
			}
		})
	}
}

// What is watched are the samples that are missing.
func TestAResumedSweepCountsWhatIsMissing(t *testing.T) {
	s := session(t, nil)
	p, err := sweep.New(t.Context(), s, sweepSpec)
	if err != nil {
		t.Fatal(err)
	}
	var kept memory
	for _, arm := range []struct{ full, missing int }{{30, 72}, {0, 72 - 29}, {0, 0}} {
		kept.full = arm.full
		missing, last := -1, 0
		sum, err := p.Run(t.Context(), &kept, sweep.Options{Watch: func(n int) func(int, int) {
			missing = n
			return func(finished, _ int) { last = finished }
		}})
		if (err != nil) != (arm.full > 0) {
			t.Fatal(err)
		}
		if missing != arm.missing || arm.full == 0 && last != missing || last > sum.Finished {
			t.Errorf("%d missing, %d of them at the end; want %d, %d were finished", missing, last, arm.missing, sum.Finished)
		}
	}
}
