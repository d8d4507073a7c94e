package generate

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"lab/core/chain"
	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/sampler"
	"lab/core/trace"
)

func engine(t *testing.T, m *toy) *Engine {
	t.Helper()
	e, err := New(context.Background(), m)
	if err != nil {
		t.Fatal(err)
	}
	m.engines = append(m.engines, e)
	return e
}

func jobsFor(c *chain.Chain, prompts []string, samples int) []Job {
	var jobs []Job
	for _, p := range prompts {
		for i := range samples {
			jobs = append(jobs, Job{Prompt: []byte(p), Chain: c, Seed: 7, Sample: uint64(i), MaxTokens: 9})
		}
	}
	return jobs
}

func TestASampleIsTheSameWhateverItsCompany(t *testing.T) {
	c := build(t, "count | flat", nil)
	prompts := []string{"The weather", "A dog", "The weather today"}
	jobs := jobsFor(c, prompts, 16)
	alone := make([]trace.Sample, len(jobs))
	for i, j := range jobs {
		r, err := engine(t, newToy(t)).Run(context.Background(), []Job{j}, Options{Ledger: true})
		if err != nil {
			t.Fatal(err)
		}
		alone[i] = r.Samples[0]
	}
	for _, batch := range []int{1, 7, 64} {
		for _, order := range []string{"forward", "backward"} {
			t.Run(fmt.Sprintf("batch %d %s", batch, order), func(t *testing.T) {
				mine := slices.Clone(jobs)
				want := slices.Clone(alone)
				if order == "backward" {
					slices.Reverse(mine)
					slices.Reverse(want)
				}
				m := newToy(t)
				r, err := engine(t, m).Run(context.Background(), mine, Options{Batch: batch, Ledger: true})
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(r.Samples, want) {
					t.Error("samples differ from those generated alone")
				}
				if n := m.left(); n != 0 {
					t.Errorf("%d sequences were left behind", n)
				}
			})
		}
	}
	distinct := map[string]bool{}
	for _, s := range alone {
		distinct[fmt.Sprint(s.Tokens)] = true
	}
	if len(distinct) != len(alone) {
		t.Errorf("%d samples, only %d distinct: streams are shared", len(alone), len(distinct))
	}
}

func TestAPromptIsPrefilledOnce(t *testing.T) {
	m := newToy(t)
	prompt := "The weather today is"
	_, err := engine(t, m).Run(context.Background(), jobsFor(build(t, "flat", nil), []string{prompt}, 10), Options{Batch: 4})
	if err != nil {
		t.Fatal(err)
	}
	prefills := 0
	for _, call := range m.calls {
		for _, n := range call {
			if n > 1 {
				prefills += n
			}
		}
	}
	if prefills != len(prompt) {
		t.Errorf("%d prompt tokens were evaluated for 10 samples of a prompt of %d", prefills, len(prompt))
	}
	if m.peak > 5 {
		t.Errorf("%d sequences were alive at once for a batch of 4 and one trunk", m.peak)
	}
}

func TestSplittingAChainOverPluginsChangesNothing(t *testing.T) {
	one := build(t, "count | flat", map[string][]sampler.Sampler{"p": {count{}, flat{}}})
	two := build(t, "count | flat", map[string][]sampler.Sampler{"p": {count{}}, "q": {flat{}}})
	var got [2]*Result
	for i, c := range []*chain.Chain{one, two} {
		r, err := engine(t, newToy(t)).Run(context.Background(), jobsFor(c, []string{"A dog"}, 3), Options{Ledger: true})
		if err != nil {
			t.Fatal(err)
		}
		for s := range r.Samples {
			for k := range r.Samples[s].Steps {
				for g := range r.Samples[s].Steps[k].Stages {
					if p := r.Samples[s].Steps[k].Stages[g].ChosenProbBefore; !(p > 0) {
						t.Errorf("chain %d, step %d, stage %d: the chosen token has no probability before", i, k, g)
					}
					r.Samples[s].Steps[k].Stages[g].Plugin = ""
				}
			}
		}
		got[i] = r
	}
	if !reflect.DeepEqual(got[0].Samples, got[1].Samples) {
		t.Error("samples or ledgers differ between one plugin and two")
	}
}

func TestStops(t *testing.T) {
	c := build(t, "flat", nil)
	base := Job{Prompt: []byte("A dog"), Chain: c, Seed: 1, MaxTokens: 12}
	run := func(t *testing.T, m *toy, j Job) trace.Sample {
		t.Helper()
		r, err := engine(t, m).Run(context.Background(), []Job{j}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return r.Samples[0]
	}
	free := run(t, newToy(t), base)
	if free.Stop.Reason != trace.MaxTokens || len(free.Tokens) != 12 {
		t.Fatalf("undisturbed: %d tokens, %q", len(free.Tokens), free.Stop.Reason)
	}
	t.Run("a stop string over three tokens", func(t *testing.T) {
		m := newToy(t)
		raw, _ := m.Decode(context.Background(), free.Tokens)
		j := base
		j.Stop = []string{string(raw[4:7])}
		s := run(t, m, j)
		if s.Stop.Reason != trace.StopString || s.Stop.Offset != 4 || len(s.Tokens) != 7 {
			t.Errorf("stop %+v after %d tokens", s.Stop, len(s.Tokens))
		}
	})
	t.Run("an end token ends without text", func(t *testing.T) {
		m := newToy(t)
		m.end = []int32{free.Tokens[3]}
		s := run(t, m, base)
		if s.Stop.Reason != trace.EndOfText || len(s.Tokens) != 4 {
			t.Errorf("stop %+v after %d tokens", s.Stop, len(s.Tokens))
		}
	})
	t.Run("a full context is said", func(t *testing.T) {
		m := newToy(t)
		m.context = len(base.Prompt) + 3
		s := run(t, m, base)
		if s.Stop.Reason != trace.ContextFull || len(s.Tokens) != 4 {
			t.Errorf("stop %+v after %d tokens, want context_full after 4", s.Stop, len(s.Tokens))
		}
	})
}

func TestBadInput(t *testing.T) {
	c := build(t, "flat", nil)
	rows := []struct {
		name string
		job  Job
		kind fault.Kind
		want string
	}{
		{"an empty prompt", Job{Chain: c, MaxTokens: 1}, fault.Usage, "empty"},
		{"a prompt longer than the context", Job{Prompt: []byte(strings.Repeat("a", 5000)), Chain: c, MaxTokens: 1}, fault.Limit, "5000"},
		{"no tokens wanted", Job{Prompt: []byte("a"), Chain: c}, fault.Usage, "max_tokens = 0"},
		{"an empty stop string", Job{Prompt: []byte("a"), Chain: c, MaxTokens: 1, Stop: []string{""}}, fault.Usage, "stop string"},
		{"a sample beyond the streams", Job{Prompt: []byte("a"), Chain: c, MaxTokens: 1, Sample: 1 << 32}, fault.Usage, "4294967296"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			_, err := engine(t, newToy(t)).Run(context.Background(), []Job{r.job}, Options{})
			if err == nil || fault.KindOf(err) != r.kind || !strings.Contains(err.Error(), r.want) {
				t.Errorf("got %v (%v), want %v with %q", err, fault.KindOf(err), r.kind, r.want)
			}
		})
	}
}

func TestAnInterruptKeepsWhatWasGenerated(t *testing.T) {
	m := newToy(t)
	ctx, cancel := context.WithCancel(context.Background())
	m.onForward = func() {
		if len(m.calls) == 5 {
			cancel()
		}
	}
	r, err := engine(t, m).Run(ctx, jobsFor(build(t, "flat", nil), []string{"A dog"}, 3), Options{Batch: 2})
	if fault.KindOf(err) != fault.Interrupted {
		t.Fatalf("error %v", err)
	}
	tokens := 0
	for _, s := range r.Samples {
		tokens += len(s.Tokens)
		if s.Stop.Reason != trace.Interrupted {
			t.Errorf("sample %d: stop %q", s.Sample, s.Stop.Reason)
		}
	}
	if tokens == 0 {
		t.Error("the tokens generated before the interrupt are lost")
	}
	if n := m.left(); n != 0 {
		t.Errorf("%d sequences were left behind", n)
	}
}

func TestAFailureLeavesNoSequenceBehind(t *testing.T) {
	for fail := 1; fail <= 4; fail++ {
		m := newToy(t)
		m.failAt = fail
		_, err := engine(t, m).Run(context.Background(), jobsFor(build(t, "flat", nil), []string{"A dog", "The sun"}, 3), Options{Batch: 2})
		if err == nil {
			t.Fatalf("call %d: no error", fail)
		}
		if n := m.left(); n != 0 {
			t.Errorf("call %d: %d sequences were left behind", fail, n)
		}
	}
}

func TestAUselessSeedIsWarnedOf(t *testing.T) {
	r, err := engine(t, newToy(t)).Run(context.Background(), jobsFor(build(t, "point", nil), []string{"A dog"}, 1), Options{Ledger: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "seed has no effect") {
		t.Errorf("warnings: %q", r.Warnings)
	}
}

func TestStreamedTextIsTheText(t *testing.T) {
	c := build(t, "flat", nil)
	streamed := map[int]string{}
	jobs := jobsFor(c, []string{"A dog", "The sun"}, 4)
	r, err := engine(t, newToy(t)).Run(context.Background(), jobs, Options{Batch: 3,
		OnText: func(job int, text []byte) { streamed[job] += string(text) }})
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range r.Samples {
		raw := s.Text
		if s.Raw != nil {
			raw = string(s.Raw)
		}
		if streamed[i] != raw {
			t.Errorf("job %d: streamed %q, text %q", i, streamed[i], raw)
		}
	}
}

// A model that rules a token out refuses the calls that hold it: what stands
// before is scored all the same.
func TestScoreReachesTheTokenAModelRefuses(t *testing.T) {
	m := newToy(t)
	m.refuses = 'X'
	e := engine(t, m)
	scored, err := scoreOne(e, "A dog", " barX")
	if err != nil {
		t.Fatal(err)
	}
	want, err := scoreOne(engine(t, newToy(t)), "A dog", " barX")
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(scored, want) {
		t.Errorf("got %v, want %v", scored, want)
	}
	if _, err := scoreOne(e, "A dog", " barXY"); fault.KindOf(err) != fault.Model {
		t.Errorf("a text beyond the refused token: %v", err)
	}
	if n := m.left(); n != 0 {
		t.Errorf("%d sequences were left behind", n)
	}
}

func TestScoreIsTheSurprisalOfEachTokenInItsContext(t *testing.T) {
	e := engine(t, newToy(t))
	prompt, text := "A dog", " barks"
	scored, err := scoreOne(e, prompt, text)
	if err != nil {
		t.Fatal(err)
	}
	if len(scored) != len(text) {
		t.Fatalf("%d tokens scored, want %d", len(scored), len(text))
	}
	for i, s := range scored {
		p, err := e.Next(context.Background(), []byte(prompt+text[:i]))
		if err != nil {
			t.Fatal(err)
		}
		d, err := dist.NewModel(&p.Scores)
		if err != nil {
			t.Fatal(err)
		}
		if want := d.SurprisalBits(int32(text[i])); s.SurprisalBits != want || s.Token != int32(text[i]) {
			t.Errorf("token %d: %d with %v bits, want %d with %v", i, s.Token, s.SurprisalBits, text[i], want)
		}
	}
}
