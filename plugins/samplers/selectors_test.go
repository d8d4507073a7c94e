package samplers

import (
	"math"
	"testing"

	"lab/core/dist"
	"lab/core/plugin/conform"
	"lab/core/plugin/sampler"
)

// Limits of X² with 4 degrees of freedom: 1 % and 0.1 % of exact draws exceed
// them (ID-38).
const (
	limit1  = 13.2767
	limit01 = 18.4668
)

// chiSquared returns Pearson's statistic of counts by token, over the tokens that
// can be drawn, and its degrees of freedom. A draw of another token makes it
// infinite.
func chiSquared(observed []float64, p func(id int32) float64) (chi float64, df int) {
	n := 0.0
	for _, o := range observed {
		n += o
	}
	for id, o := range observed {
		switch e := n * p(int32(id)); {
		case e > 0:
			chi += (o - e) * (o - e) / e
			df++
		case o > 0:
			chi = math.Inf(1)
		}
	}
	return chi, df - 1
}

// What a selector draws follows the distribution that it leaves: 20 runs of 4,000
// draws from five tokens each, under fixed seeds, so it cannot fail by chance.
// No run may exceed the 0.1 % limit and at most two the 1 % limit, where 0.2 are
// expected. Every draw has uniform numbers and a context of its own; the number
// of the sample is 0 and the state that of a first step, whose law is the one
// that the row states.
func TestEverySelectorDrawsFromTheRowItLeaves(t *testing.T) {
	const draws, runs = 4000, 20
	b := newBench(t)
	p := []float64{0.4, 0.25, 0.17, 0.1, 0.08}
	seen := 0
	for _, d := range b.Declarations {
		if d.Kind != sampler.Select {
			continue
		}
		seen++
		t.Run(d.Name, func(t *testing.T) { selector(t, b, d, p, draws, runs) })
	}
	if seen < 8 {
		t.Errorf("%d selectors", seen)
	}
}

func selector(t *testing.T, b *conform.Bench, d sampler.Declaration, p []float64, draws, runs int) {
	over := 0
	for run := range runs {
		g := b.Random("chi", d.Name, run)
		row := logs(p)
		set := values(t, d, facts[d.Name].Draws...)
		observed := make([]float64, len(p))
		var left dist.Sampling
		for i := range draws {
			fresh := b.Surroundings(g, d, dist.Scores{Vocab: 200000})
			for k := range fresh.History {
				fresh.History[k] = int32(g.IntN(200000))
			}
			fresh.History = append(fresh.History, int32(g.IntN(200000)), int32(g.IntN(200000)))
			fresh.Step, fresh.Prompt, fresh.Sample, fresh.Passes = 0, len(fresh.History), 0, nil
			fresh.Scores = row
			a := b.Run(&conform.Question{Decl: d, Values: set, Item: fresh, Shape: "five"})[0]
			if a.Err != nil {
				t.Fatal(a.Err)
			}
			s, err := dist.NewSampling(&a.Row)
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				left = s
			}
			for id := range p {
				if s.P(int32(id)) != left.P(int32(id)) {
					t.Fatalf("two draws leave token %d with %v and %v", id, left.P(int32(id)), s.P(int32(id)))
				}
			}
			observed[a.Chosen]++
		}
		chi, df := chiSquared(observed, left.P)
		if df > 4 || !(chi <= limit01) {
			t.Errorf("run %d: X² is %.2f on %d degrees of freedom, limit %.2f; drawn %v of %v", run, chi, df, limit01, observed, left)
		}
		if !(chi <= limit1) {
			over++
		}
	}
	if over > 2 {
		t.Errorf("%d of %d runs exceed the 1 %% limit", over, runs)
	}
}
