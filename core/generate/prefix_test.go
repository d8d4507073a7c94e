package generate

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"lab/core/fault"
	"lab/core/plugin/model"
)

// evaluated returns how many tokens of prompts were evaluated so far.
func (m *toy) evaluated() int {
	n := 0
	for _, call := range m.calls {
		for _, tokens := range call {
			if tokens > 1 {
				n += tokens
			}
		}
	}
	return n
}

// Prompts that begin alike are evaluated where they differ, whether they come in
// one run or one after another, and every sample is what it is alone.
func TestPromptsThatBeginAlikeShareTheirBeginning(t *testing.T) {
	c := build(t, "flat", nil)
	preamble := strings.Repeat("You are a helpful weather station. ", 3)
	prompts := []string{preamble + "Rain?", preamble + "Snow?", preamble + "Fog or mist?", "Short one", preamble}
	total := 0
	for _, p := range prompts {
		total += len(p)
	}
	// What differs, and the last token of the preamble, from which its scores come.
	const news = len("Snow?") + len("Fog or mist?") + len("Short one")
	most := len(preamble) + len("Rain?") + news
	jobs := jobsFor(c, prompts, 2)
	var want []any
	for _, j := range jobs {
		r, err := engine(t, newToy(t)).Run(t.Context(), []Job{j}, Options{Ledger: true})
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, r.Samples[0])
	}
	for _, batch := range []int{1, 3, 64} {
		for _, how := range []string{"in one run", "in a run each"} {
			t.Run(fmt.Sprintf("%s, batch %d", how, batch), func(t *testing.T) {
				m := newToy(t)
				e := engine(t, m)
				runs := [][]Job{jobs}
				if how != "in one run" {
					runs = slices.Collect(slices.Chunk(jobs, 1))
				}
				var got []any
				var usage model.Usage
				for _, jobs := range runs {
					r, err := e.Run(t.Context(), jobs, Options{Batch: batch, Ledger: true})
					if err != nil {
						t.Fatal(err)
					}
					usage = usage.Add(r.Usage)
					for _, s := range r.Samples {
						got = append(got, s)
					}
				}
				if !reflect.DeepEqual(got, want) {
					t.Error("the samples differ from those generated alone")
				}
				if n := m.evaluated(); n > most {
					t.Errorf("%d prompt tokens were evaluated, %d are enough", n, most)
				}
				// One in a run each: the second sample finds the whole prompt.
				cached := total - m.evaluated() - 1 // the preamble's last token, a call of one
				if how != "in one run" {
					cached += total
				}
				if usage.CachedTokens != int64(cached) {
					t.Errorf("%d cached tokens, want %d", usage.CachedTokens, cached)
				}
				if n := m.left(); n != 0 {
					t.Errorf("%d sequences are left", n)
				}
			})
		}
	}
}

// What is kept for later is bounded, and gives way when the model is full.
func TestKeptPromptsGiveWay(t *testing.T) {
	c := build(t, "flat", nil)
	m := newToy(t)
	e := engine(t, m)
	var prompts []string
	for i := range 3 * mostPrefixes {
		prompts = append(prompts, fmt.Sprintf("%d, a prompt of its own", i))
	}
	if _, err := e.Run(t.Context(), jobsFor(c, prompts, 1), Options{Batch: 4}); err != nil {
		t.Fatal(err)
	}
	if n := len(m.seqs); n != mostPrefixes {
		t.Errorf("%d sequences stay, want %d", n, mostPrefixes)
	}
	before := m.evaluated()
	if _, err := e.Next(t.Context(), []byte(prompts[len(prompts)-1])); err != nil {
		t.Fatal(err)
	}
	if n := m.evaluated() - before; n != 0 {
		t.Errorf("%d tokens were evaluated for the newest prompt, which is held", n)
	}
	m.full = 3 // there is room for what is asked, not for what is kept
	r, err := e.Run(t.Context(), jobsFor(c, []string{"something new"}, 2), Options{})
	if err != nil || len(r.Samples) != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	m.full = 1
	if _, err := e.Run(t.Context(), jobsFor(c, []string{"and another"}, 2), Options{}); fault.KindOf(err) != fault.Limit {
		t.Errorf("a model without room: %v, want its limit error", err)
	}
	if n := m.left(); n != 0 {
		t.Errorf("%d sequences are left", n)
	}
}

// A model that does not promise the same bits in every company is asked anew.
func TestNothingIsKeptOfAModelThatIsNotDeterministic(t *testing.T) {
	m := newToy(t)
	m.random = true
	e := engine(t, m)
	for range 2 {
		if _, err := e.Run(t.Context(), jobsFor(build(t, "flat", nil), []string{"The weather today is"}, 3), Options{}); err != nil {
			t.Fatal(err)
		}
		if len(m.seqs) != 0 {
			t.Errorf("%d sequences stay", len(m.seqs))
		}
	}
	if n, want := m.evaluated(), 2*len("The weather today is"); n != want {
		t.Errorf("%d tokens were evaluated, want %d", n, want)
	}
}
