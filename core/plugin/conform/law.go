package conform

import (
	"fmt"
	"math/rand/v2"

	"lab/core/plugin/sampler"
)

// Law is one thing that must hold.
type Law struct {
	Name string // snake_case
	Of   string // what it is asked of: "plugin", "sampler" or "model"
	Says string // what is right
	// Reasoned says that a sound sampler may break it for a reason, which its
	// Facts tell; without them a breach is a note.
	Reasoned bool
}

// Laws returns every law in the order in which they are asked. A name that two
// kinds of subjects share means the same of both.
func Laws() []Law {
	var out []Law
	for _, l := range samplerLaws() {
		out = append(out, l.Law)
	}
	for _, l := range pluginLaws() {
		out = append(out, l.Law)
	}
	for _, l := range modelLaws() {
		out = append(out, l.Law)
	}
	return out
}

// samplerLaw is a law of samplers and how it is asked.
type samplerLaw struct {
	Law
	ask func(b *Bench, d sampler.Declaration) finding
}

// finding is what came of asking.
type finding struct {
	outcome    Outcome
	input, got string
	reason     string
	certain    bool // of a law that may be broken for a reason: there is none
}

func holds() finding { return finding{outcome: Pass} }

func skip(format string, args ...any) finding {
	return finding{outcome: NotApplicable, reason: fmt.Sprintf(format, args...)}
}

func fail(input, got string) finding { return finding{outcome: Fail, input: input, got: got} }

// strict reports whether a sampler has to keep the laws that others may have a
// reason to break.
func (b *Bench) strict(d sampler.Declaration) bool {
	_, known := b.facts[d.Name]
	return known
}

// check asks one law of one sampler.
func (b *Bench) check(l samplerLaw, d sampler.Declaration) Check {
	before := b.asked
	f := l.ask(b, d)
	c := found(l.Law, "sampler", d.Name, f, b.asked-before)
	if f.outcome == Fail && l.Reasoned && !f.certain && !b.strict(d) {
		c.Outcome = Note
	}
	return c
}

// judge says how an answer to a question breaks a law; "" when it does not.
type judge func(g *rand.Rand, q *Question, a Answer) string

// survey asks a number of questions and holds the answers against a law. It
// counts refusals, so that a sampler that refuses nearly everything does not
// pass unseen.
func (b *Bench) survey(law string, d sampler.Declaration, rounds int, ask func(g *rand.Rand, i int) *Question, hold judge) finding {
	answered := 0
	var last error
	for i := range rounds {
		if b.ctx.Err() != nil {
			break
		}
		q := ask(b.Random(law, d.Name, d.Kind, i), i)
		wrong := func(q *Question) (got string, refusal error) {
			a := b.Run(q)[0]
			refused, got := Refused(q, a)
			if refused {
				return "", a.Err
			}
			if got == "" {
				got = hold(b.Random(law, d.Name, i, "judge"), q, a)
			}
			return got, nil
		}
		got, refusal := wrong(q)
		if refusal != nil {
			last = refusal
			continue
		}
		if got != "" {
			q, got = b.shrink(q, got, func(q *Question) string { got, _ := wrong(q); return got })
			return fail(q.String(), got)
		}
		answered++
	}
	switch {
	case answered >= (rounds+2)/3 || answered > 0 && !b.strict(d):
		return holds()
	case b.strict(d):
		return fail(fmt.Sprintf("%d questions with legal settings", rounds), fmt.Sprintf("it refuses all but %d; a refusal: %v", answered, last))
	}
	return skip("it refuses every question that can be made from its declaration; a refusal: %v", last)
}
