package generate

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"lab/core/chain"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
	"lab/core/trace"
)

// feedOf gives jobs one after another and keeps what comes of them.
func feedOf(jobs []Job) (feed Feed, done map[int]trace.Sample, failed map[int]error) {
	done, failed = map[int]trace.Sample{}, map[int]error{}
	next := 0
	return Feed{
		Next: func() (Job, bool) {
			if next == len(jobs) {
				return Job{}, false
			}
			next++
			return jobs[next-1], true
		},
		Done: func(f Finished) error {
			if _, twice := done[f.Job]; twice {
				return fmt.Errorf("job %d is done twice", f.Job)
			}
			done[f.Job] = f.Sample
			return nil
		},
		Failed: func(job int, err error) error {
			failed[job] = err
			return nil
		},
	}, done, failed
}

// cells returns jobs for every sample under every chain, those of one sample
// next to each other.
func cells(samples int, chains ...*chain.Chain) []Job {
	var jobs []Job
	for i := range samples {
		for _, c := range chains {
			jobs = append(jobs, Job{Prompt: []byte("The weather"), Chain: c, Seed: 7, Sample: uint64(i), MaxTokens: 12})
		}
	}
	return jobs
}

func alone(t *testing.T, jobs []Job) map[int]trace.Sample {
	t.Helper()
	out := map[int]trace.Sample{}
	for i, j := range jobs {
		r, err := engine(t, newToy(t)).Run(t.Context(), []Job{j}, Options{Ledger: true})
		if err != nil {
			t.Fatal(err)
		}
		out[i] = r.Samples[0]
	}
	return out
}

// Samples that stand at one context are evaluated once: there are as many forward
// tokens as distinct contexts, and every sample is what it is alone.
func TestAContextIsEvaluatedOnceForAllThatStandAtIt(t *testing.T) {
	jobs := cells(6, build(t, "flat", nil), build(t, "count | flat", nil), build(t, "point", nil))
	want := alone(t, jobs)
	contexts := map[string]bool{}
	drawn := 0
	for _, s := range want {
		drawn += len(s.Tokens)
		for n := 1; n < len(s.Tokens); n++ { // the last token is never evaluated
			contexts[fmt.Sprint(s.Tokens[:n])] = true
		}
	}
	for _, random := range []bool{false, true} {
		t.Run(fmt.Sprintf("random %v", random), func(t *testing.T) {
			m := newToy(t)
			m.random = random
			feed, got, failed := feedOf(jobs)
			usage, err := engine(t, m).Stream(t.Context(), feed, Options{Ledger: true, Batch: len(jobs)})
			if err != nil || len(failed) > 0 {
				t.Fatal(err, failed)
			}
			if !reflect.DeepEqual(got, want) {
				t.Error("samples differ from those generated alone")
			}
			expect := len("The weather") + len(contexts)
			if random { // each row is a draw of its own
				expect = len("The weather") + drawn - len(jobs)
			}
			if usage.DecodeTokens != int64(expect) {
				t.Errorf("%d tokens were evaluated, want %d (%d drawn)", usage.DecodeTokens, expect, drawn)
			}
			if n := m.left(); n != 0 {
				t.Errorf("%d sequences were left behind", n)
			}
		})
	}
	if 4*len(contexts) > 3*drawn {
		t.Errorf("%d contexts for %d tokens: the test shares too little to show anything", len(contexts), drawn)
	}
}

// A stream starts a job whenever another ends, so as many are alive as its batch
// allows, and hardly more are taken from the feed than it has room for.
func TestAStreamTakesJobsAsItHasRoom(t *testing.T) {
	jobs := cells(40, build(t, "flat", nil))
	for i := range jobs {
		jobs[i].MaxTokens = 1 + i%7
		jobs[i].Prompt = fmt.Append(nil, "Prompt ", i%5)
	}
	want := alone(t, jobs)
	m := newToy(t)
	feed, got, _ := feedOf(jobs)
	taken, ahead := 0, 0
	next := feed.Next
	feed.Next = func() (Job, bool) {
		taken++
		ahead = max(ahead, taken-len(got))
		return next()
	}
	if _, err := engine(t, m).Stream(t.Context(), feed, Options{Ledger: true, Batch: 4}); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Error("samples differ from those generated alone")
	}
	if ahead > 4+2*4+1 {
		t.Errorf("%d jobs were taken before they were done, for a batch of 4", ahead)
	}
	if m.peak > 4+5+mostPrefixes {
		t.Errorf("%d sequences were alive for a batch of 4 and 5 prompts", m.peak)
	}
}

// breaks fails for the samples it is told, at one step.
type breaks struct{ samples []uint64 }

func (breaks) Declare() sampler.Declaration {
	return sampler.Declaration{Name: "breaks", Kind: sampler.Reshape, Summary: "fail", Source: "test", Needs: sampler.Needs{Uniforms: 1}}
}

func (b breaks) Apply(r *sampler.Row, _ param.Values) error {
	if r.Step == 3 && slices.Contains(b.samples, r.Sample) {
		return fault.New(fault.Data, "breaks", "", "sample %d breaks", r.Sample)
	}
	for i := range r.Scores.Values {
		r.Scores.Values[i] /= 2 // what is done in place must be undone for the others
	}
	return nil
}

// A job that fails takes nobody with it, and what its company had done to their
// rows in the call that failed does not show.
func TestAFailedJobLeavesItsCompanyAsItWas(t *testing.T) {
	offers := map[string][]sampler.Sampler{"p": {flat{}, breaks{samples: []uint64{1, 4}}}}
	whole := map[string][]sampler.Sampler{"p": {flat{}, breaks{}}}
	jobs, sound := cells(6, build(t, "breaks | flat", offers)), cells(6, build(t, "breaks | flat", whole))
	jobs = append(jobs, Job{Prompt: []byte("x"), Chain: jobs[0].Chain, MaxTokens: 0}, Job{Chain: jobs[0].Chain, MaxTokens: 3})
	for _, prompt := range []string{"The weather", "T"} { // of one token: it begins again
		for _, batch := range []int{1, 3, 8} {
			t.Run(fmt.Sprintf("%q, batch %d", prompt, batch), func(t *testing.T) {
				for i := range sound {
					jobs[i].Prompt, sound[i].Prompt = []byte(prompt), []byte(prompt)
				}
				want := alone(t, sound)
				delete(want, 1)
				delete(want, 4)
				m := newToy(t)
				feed, got, failed := feedOf(jobs)
				if _, err := engine(t, m).Stream(t.Context(), feed, Options{Ledger: true, Batch: batch}); err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(got, want) {
					t.Error("the other samples differ from those generated alone")
				}
				if k := slices.Sorted(maps.Keys(failed)); !slices.Equal(k, []int{1, 4, 6, 7}) {
					t.Errorf("jobs %v failed: %v", k, failed)
				}
				if n := m.left(); n != 0 {
					t.Errorf("%d sequences were left behind", n)
				}
			})
		}
	}
	t.Run("nobody takes failures", func(t *testing.T) {
		feed, _, _ := feedOf(jobs[:6])
		feed.Failed = nil
		_, err := engine(t, newToy(t)).Stream(t.Context(), feed, Options{})
		if fault.KindOf(err) != fault.Data {
			t.Errorf("got %v", err)
		}
	})
}

// Whoever gives the jobs or takes the samples can end the stream.
func TestAStreamEnds(t *testing.T) {
	c := build(t, "flat", nil)
	stop := fault.New(fault.Usage, "test", "", "enough")
	t.Run("by what takes the samples", func(t *testing.T) {
		m := newToy(t)
		feed, _, _ := feedOf(cells(9, c))
		feed.Done = func(Finished) error { return stop }
		if _, err := engine(t, m).Stream(t.Context(), feed, Options{Batch: 2}); err != error(stop) {
			t.Errorf("got %v", err)
		}
		if n := m.left(); n != 0 {
			t.Errorf("%d sequences were left behind", n)
		}
	})
	t.Run("by its context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		m := newToy(t)
		calls := 0
		m.onForward = func() {
			if calls++; calls == 5 {
				cancel()
			}
		}
		feed, done, _ := feedOf(cells(9, c))
		_, err := engine(t, m).Stream(ctx, feed, Options{Batch: 2})
		if fault.KindOf(err) != fault.Interrupted || len(done) != 0 {
			t.Errorf("%d done, %v", len(done), err)
		}
	})
	t.Run("without a job", func(t *testing.T) {
		feed, _, _ := feedOf(nil)
		if _, err := engine(t, newToy(t)).Stream(t.Context(), feed, Options{}); err != nil {
			t.Error(err)
		}
	})
	t.Run("of a pass nobody spoke of", func(t *testing.T) {
		other := engine(t, newToy(t))
		job := Job{Prompt: []byte("a"), Chain: c, MaxTokens: 1, Passes: []Pass{{Engine: other}}}
		feed, _, failed := feedOf([]Job{job})
		if _, err := engine(t, newToy(t)).Stream(t.Context(), feed, Options{}); err != nil || fault.KindOf(failed[0]) != fault.Internal {
			t.Error(err, failed)
		}
	})
}
