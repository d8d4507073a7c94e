package conform

import (
	"fmt"
	"time"
)

const (
	// rememberedOf is how many answers of a sampler are kept for later.
	rememberedOf = 4
	// laterBy is how long after them the questions are asked again: a clock that
	// counts seconds has moved.
	laterBy = 1100 * time.Millisecond
)

// remembered is a question with its first answer.
type remembered struct {
	q    *Question
	a    Answer
	when time.Time
}

// remember keeps an answer, unless there are enough of its sampler.
func (b *Bench) remember(q *Question, a Answer) {
	if kept := b.kept[q.Decl.Name]; len(kept) < rememberedOf {
		b.kept[q.Decl.Name] = append(kept, remembered{q.clone(), a, time.Now()})
	}
}

// later asks again what was asked long before, of every sampler: after all else
// that its process has answered since, and when the clock has moved on.
func later(b *Bench) finding {
	last := time.Now().Add(-laterBy)
	for _, d := range b.asking() {
		for i := 0; len(b.kept[d.Name]) == 0 && i < 2*rememberedOf; i++ {
			q := b.ask(b.Random("later", d.Name, i), d, i)
			if a := b.Run(q)[0]; a.Err == nil {
				b.remember(q, a)
			}
		}
		for _, k := range b.kept[d.Name] {
			if k.when.After(last) {
				last = k.when
			}
		}
	}
	select {
	case <-time.After(time.Until(last.Add(laterBy))):
	case <-b.ctx.Done():
		return skip("it was stopped")
	}
	any := false
	for _, d := range b.asking() {
		for _, k := range b.kept[d.Name] {
			any = true
			again := b.Run(k.q)[0]
			if why := twoAnswers(&k.a, &again, "at first", "later"); why != "" {
				return fail(fmt.Sprintf("%s: %v", d.Name, k.q), why)
			}
		}
	}
	if !any {
		return skip("no sampler answers a question that can be made from its declaration")
	}
	return holds()
}
