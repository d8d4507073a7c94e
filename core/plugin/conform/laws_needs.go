package conform

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"lab/core/dist"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// needs hands a stage more than it asked for, which must change nothing, and
// looks whether it makes use of what it asked for, which is only noted.
func needs(b *Bench, d sampler.Declaration) finding {
	used := map[string]bool{}
	answered := 0
	for i := range b.rounds {
		g := b.Random("needs", d.Name, i)
		q := b.ask(g, d, i)
		a := b.Run(q)[0]
		if a.Err != nil {
			continue
		}
		answered++
		if f := b.more(g, q, a); f.outcome == Fail {
			return f
		}
		for name, change := range others(g, q) {
			if !used[name] {
				c := b.Run(change)[0]
				used[name] = c.Err != nil || !sameBits(&a.Row, &c.Row) || a.Chosen != c.Chosen || !slices.Equal(a.State, c.State)
			}
		}
	}
	var idle []string
	for name := range others(b.Random("needs"), b.ask(b.Random("needs", d.Name), d, 0)) {
		if !used[name] {
			idle = append(idle, name)
		}
	}
	if answered == 0 {
		return skip("it refuses every question that can be made from its declaration")
	}
	// What use a sampler makes of things may hang on a text or a list of tokens
	// that only its author knows.
	if free := slices.ContainsFunc(d.Params, onlyKnownToAuthors); len(idle) > 0 && !free {
		slices.Sort(idle)
		f := fail(fmt.Sprintf("%d questions with other values of it", answered), "no answer depends on what it asks for: "+strings.Join(idle, ", "))
		f.outcome = Note
		return f
	}
	return holds()
}

func onlyKnownToAuthors(s param.Spec) bool {
	return s.Type == param.Tokens || s.Type == param.Text && len(s.Choices) == 0
}

// more asks the question with a longer context and a further pass than the
// stage declared.
func (b *Bench) more(g *rand.Rand, q *Question, a Answer) finding {
	d, it := q.Decl, q.Item
	if n := d.Needs.History; n >= 0 {
		c := q.clone()
		keep := min(n, len(it.History))
		older := make([]int32, 5)
		for i := range older {
			older[i] = int32(g.IntN(it.Scores.Vocab))
		}
		cut := len(it.History) - keep
		// Only what lies within the window may be seen; the prompt is counted
		// within it too.
		c.Item.History = append(older, it.History[cut:]...)
		c.Item.Prompt = len(older) + max(0, it.Prompt-cut)
		if keep < n { // the window is not full: nothing is older
			c.Item.History, c.Item.Prompt = it.History, it.Prompt
		}
		m := b.Run(c)[0]
		if why := twoAnswers(&a, &m, "with one context", fmt.Sprintf("with another before the newest %d tokens, the number it declares", n)); why != "" {
			return fail(q.String(), why)
		}
	}
	c := q.clone()
	c.Item.Passes = append(slices.Clone(it.Passes), rowOf(g, it.Scores.Vocab))
	m := b.Run(c)[0]
	if why := twoAnswers(&a, &m, "with the rows it declares", "with one row of a further pass more"); why != "" {
		return fail(q.String(), why)
	}
	return holds()
}

// others returns the question with other values of each thing that the stage
// declares to need.
func others(g *rand.Rand, q *Question) map[string]*Question {
	out := map[string]*Question{}
	n := q.Decl.Needs
	vocab := max(1, q.Item.Scores.Vocab)
	if n.History != 0 {
		c := q.clone()
		c.Item.History = make([]int32, len(q.Item.History)+1)
		for i := range c.Item.History {
			c.Item.History[i] = int32(g.IntN(vocab))
		}
		c.Item.Prompt = min(len(c.Item.History), g.IntN(len(c.Item.History)+1))
		out["the context"] = c
	}
	if n.Uniforms > 0 {
		c := q.clone()
		c.Item.Uniforms = [][]float64{uniforms(g, q.Decl)}
		out["uniform numbers"] = c
	}
	if n.Passes > 0 {
		c := q.clone()
		c.Item.Passes = nil
		for range n.Passes {
			c.Item.Passes = append(c.Item.Passes, rowOf(g, vocab))
		}
		out["rows of further passes"] = c
	}
	if n.TokenTexts {
		c := q.clone()
		c.vocabulary = otherKey
		out["the texts of tokens"] = c
	}
	return out
}

// Draws of a selector that are counted, and how many are made in one call.
const (
	drawsMade    = 4000
	drawsPerCall = 1000
	// drawsVocab is so large that no two contexts of a few tokens are alike.
	drawsVocab = 200_000
)

// drawLimit returns what Pearson's statistic exceeds with probability 1e-8 for
// exact draws, by degrees of freedom.
func drawLimit(df int) float64 { return [...]float64{0, 32.84, 36.84, 40.13, 43.07}[df] }

// draws counts what a selector draws from five tokens and compares with the
// distribution that it leaves. Every draw has uniform numbers and a context of
// its own and is a first step of sample 0.
func draws(b *Bench, d sampler.Declaration) finding {
	if d.Kind != sampler.Select {
		return skip("it does not select")
	}
	set, err := Values(d, b.facts[d.Name].Draws...)
	if err != nil {
		return fail("the settings for draws", err.Error())
	}
	g := b.Random("draws", d.Name)
	row := dist.NewDense([]float32{-0.916, -1.386, -1.772, -2.303, -2.526}) // about 0.40, 0.25, 0.17, 0.10, 0.08
	if d.Needs.Passes == 0 {                                                // further rows of this size would cost more than the draws
		row.Vocab, row.IDs = drawsVocab, []int32{0, 1, 2, 3, 4}
	}
	observed, expected := make([]float64, 5), make([]float64, 5)
	input := fmt.Sprintf("%d draws from scores %v; settings %v", drawsMade, row.Values, set)
	for range drawsMade / drawsPerCall {
		qs := make([]*Question, drawsPerCall)
		for k := range qs {
			qs[k] = &Question{Decl: d, Values: set, Shape: "five", Item: b.firstStep(g, d, row)}
		}
		for k, a := range b.Run(qs...) {
			if a.Err != nil {
				if refused, wrong := Refused(qs[k], a); !refused {
					return fail(qs[k].String(), wrong)
				}
				return skip("it refuses a row of five tokens: %v", a.Err)
			}
			p, err := dist.NewSampling(&a.Row)
			if err != nil {
				return fail(qs[k].String(), err.Error())
			}
			if a.Chosen < 0 || int(a.Chosen) >= len(observed) {
				return fail(qs[k].String(), a.String())
			}
			observed[a.Chosen]++
			for id := range expected {
				expected[id] += p.P(int32(id))
			}
		}
	}
	chi, df := 0.0, -1
	for id, e := range expected {
		switch o := observed[id]; {
		case e > 0:
			chi += (o - e) * (o - e) / e
			df++
		case o > 0:
			return fail(input, fmt.Sprintf("token %d is drawn %v times, and the rows left give it no probability", id, o))
		}
	}
	if !(chi <= drawLimit(max(0, df))) {
		f := fail(input, fmt.Sprintf("counts %v where the rows left expect %.0f: X² is %.1f with %d degrees of freedom, limit %.1f", observed, expected, chi, df, drawLimit(df)))
		if d.Needs.Uniforms == 0 && !b.strict(d) {
			f.outcome = Note // it draws by a key of its own, whose numbers may repeat
		}
		return f
	}
	return holds()
}

// firstStep draws surroundings in which nothing repeats but the row.
func (b *Bench) firstStep(g *rand.Rand, d sampler.Declaration, row dist.Scores) *sampler.Item {
	it := b.Surroundings(g, d, row)
	for k := range it.History {
		it.History[k] = int32(g.IntN(row.Vocab))
	}
	for range 40 {
		it.History = append(it.History, int32(g.IntN(row.Vocab)))
	}
	it.Step, it.Prompt, it.Sample = 0, len(it.History), 0
	return it
}
