package golden

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/sampler"
)

// Subject is an implementation under test.
type Subject interface {
	sampler.Runner
	// Lookup returns the declaration of a sampler by its name or an alias.
	Lookup(name string) (sampler.Declaration, error)
	// Texts makes the bytes of a vocabulary known to stages and returns the key
	// by which calls name it.
	Texts(pieces [][]byte) (key string, err error)
}

// Verdict is what became of a case.
type Verdict string

// The verdicts. Only Differs is a failure.
const (
	Holds      Verdict = "holds"       // the same answer, or an error where an error is right
	WithinTies Verdict = "ties"        // the same but for tied tokens or a borderline threshold
	Differs    Verdict = "differs"     // another answer
	Refused    Verdict = "refused"     // refused by design where the system goes on with NaN, +Inf or nothing left
	NotCovered Verdict = "not_covered" // there is nothing to ask, or nothing to compare with
)

// Verdicts are all verdicts in the order of tables.
var Verdicts = []Verdict{Holds, WithinTies, Refused, Differs, NotCovered}

// Result is the verdict on one case, with the reason unless it simply holds.
type Result struct {
	Case    string  `json:"case"`
	Method  string  `json:"method"`
	Verdict Verdict `json:"verdict"`
	Why     string  `json:"why,omitempty"`
}

// Reference, as the name of a system, asks for the reference answers.
const Reference = "reference"

// Verify asks a subject every case of the file and compares its answers with
// those of a system, under that system's rules, or with the references, under
// the subject's own. A group without references has the answers of the one
// system that was run; the subject's own rule may be another, so what differs
// there is not covered. The error is about the subject's process, never about
// an answer.
func (f *File) Verify(ctx context.Context, s Subject, system string) ([]Result, error) {
	out := make([]Result, len(f.Cases))
	key := ""
	if f.pieces != nil {
		var err error
		if key, err = s.Texts(f.pieces); err != nil {
			return nil, err
		}
	}
	for i := range f.Cases {
		c := &f.Cases[i]
		if err := ctx.Err(); err != nil {
			return out[:i], fault.New(fault.Interrupted, "verify", f.Group, "stopped after %d of %d cases", i, len(f.Cases))
		}
		r := &asking{Case: c, file: f, subject: s, system: system, key: key}
		v, why := r.verdict(ctx)
		if r.fatal != nil {
			return out[:i], r.fatal
		}
		out[i] = Result{Case: c.ID, Method: c.Method, Verdict: v, Why: why}
	}
	return out, nil
}

// asking is one case on its way to a verdict.
type asking struct {
	*Case
	file    *File
	subject Subject
	system  string
	key     string
	fatal   error
}

// ownRules are groups without references whose one system follows the rule of
// the catalogue, unless a case says otherwise.
var ownRules = map[string]bool{"grammar": true, "guidance": true, "watermark": true, "history_processors": true, "selection": true}

func (a *asking) verdict(ctx context.Context) (Verdict, string) {
	want, rules, reason := a.wanted()
	if want == nil {
		return NotCovered, reason
	}
	if harness := harnessFailure(want); harness != "" {
		return NotCovered, harness
	}
	q, err := a.asked(a.file, a.subject, rules)
	var u unanswerable
	switch {
	case errors.As(err, &u):
		return NotCovered, u.why
	case err != nil && want.Outcome != "":
		return Holds, ""
	case err != nil && a.degenerate(q, want):
		return Refused, err.Error()
	case err != nil:
		return Differs, "it is refused: " + err.Error()
	}
	v, why := a.answer(ctx, q, want)
	if v == Differs && reason != "" { // no reference, and another rule than the system's
		return NotCovered, reason + " answers otherwise: " + why
	}
	return v, why
}

// wanted returns the answer to compare with and the rules to ask under. Without
// one, reason says why; with one from a system in place of a reference, reason
// names that system.
func (a *asking) wanted() (want *answer, rules, reason string) {
	if a.system == Reference || a.system == "" {
		switch {
		case a.Case.Reference != nil && a.Case.Reference.Outcome == "" && a.Case.Reference.empty():
			return nil, "", "its reference keeps no token, which no sampler may"
		case a.Case.Reference != nil:
			return a.Case.Reference, "", ""
		case len(a.Answers) == 1 && ownRules[a.file.Group] && len(a.Answers[0].Systems) > 0:
			return &a.Answers[0], "", a.Answers[0].Systems[0]
		}
		return nil, "", "it has no reference"
	}
	for i := range a.Answers {
		if slices.Contains(a.Answers[i].Systems, a.system) {
			return &a.Answers[i], a.system, ""
		}
	}
	return nil, "", "no answer of " + a.system
}

// harnessFailure returns why an answer says nothing about the system.
func harnessFailure(want *answer) string {
	if strings.HasPrefix(want.Message, "NameError") {
		return "the system was run without a function it needs: " + want.Message
	}
	return ""
}

// degenerate reports whether lab refuses a case by design: its scores hold NaN
// or +Inf or nothing finite, or the system's answer leaves nothing to draw from.
func (a *asking) degenerate(q *question, want *answer) bool {
	row, ok := a.input(q)
	if !ok {
		return false
	}
	return row.Check() != nil || want.Outcome == "" && want.empty()
}

// empty reports whether an answer keeps no token, or NaN probabilities.
func (w *answer) empty() bool {
	if len(w.NKept) == 1 {
		return w.NKept[0] == 0
	}
	if slices.ContainsFunc(w.Probs, func(p number) bool { return math.IsNaN(float64(p)) }) {
		return true
	}
	return len(w.Kept) == 0 && w.Token == nil && w.Tokens == nil && w.Steps == nil && w.NKept == nil
}

func (a *asking) input(q *question) (dist.Scores, bool) {
	if q != nil && q.row != nil {
		return dist.NewDense(floats(q.row)), true
	}
	return a.row(len(a.file.pieces))
}

// answer asks the question and compares.
func (a *asking) answer(ctx context.Context, q *question, want *answer) (Verdict, string) {
	row, ok := a.input(q)
	if !ok {
		return NotCovered, "it has no input"
	}
	switch {
	case want.Steps != nil:
		return a.steps(ctx, q, row, want)
	case q.steps > 0:
		return a.draws(ctx, q, row, want)
	}
	it := a.item(q, row.Clone())
	err := a.run(ctx, q, it)
	switch {
	case a.fatal != nil:
		return "", ""
	case want.Outcome != "" && err != nil:
		return Holds, ""
	case want.Outcome != "":
		return Differs, fmt.Sprintf("an error is wanted (%s: %.80s), and it gave an answer", want.Outcome, want.Message)
	case err != nil && a.degenerate(q, want):
		return Refused, err.Error()
	case err != nil:
		return Differs, "it is refused: " + err.Error()
	}
	if want.Token != nil {
		if it.Chosen != *want.Token {
			return Differs, fmt.Sprintf("token %d was chosen, want %d", it.Chosen, *want.Token)
		}
		return Holds, ""
	}
	return a.compare(row, it.Scores, want)
}

func (a *asking) item(q *question, row dist.Scores) *sampler.Item {
	it := &sampler.Item{Scores: row, History: q.tokens, Prompt: min(q.prompt, len(q.tokens)), Chosen: -1}
	it.Step = len(it.History) - it.Prompt
	if q.passes != nil {
		it.Passes = []dist.Scores{dist.NewDense(floats(q.passes))}
	}
	return it
}

// run applies the stages once. Uniform numbers are 0.5: what a case compares
// does not depend on them.
func (a *asking) run(ctx context.Context, q *question, it *sampler.Item) error {
	for _, id := range it.History {
		if int(id) >= it.Scores.Vocab {
			return fault.New(fault.Data, "verify", a.ID, "token %d of the history is outside the vocabulary of %d", id, it.Scores.Vocab)
		}
	}
	it.Uniforms = make([][]float64, len(q.stages))
	for i, d := range q.decls {
		it.Uniforms[i] = make([]float64, d.Needs.Uniforms)
		for k := range it.Uniforms[i] {
			it.Uniforms[i][k] = 0.5
		}
		if d.Needs.Passes > len(it.Passes) {
			return fault.New(fault.Data, "verify", a.ID, "stage %s wants %d further rows", d.Name, d.Needs.Passes)
		}
	}
	call := &sampler.Call{Stages: q.stages, Items: []*sampler.Item{it}, Ledger: true, EndOfText: q.end, Vocabulary: a.key}
	err := a.subject.Run(ctx, call)
	switch fault.KindOf(err) {
	case fault.Internal, fault.Interrupted, fault.Limit:
		if err != nil {
			a.fatal = err
		}
	}
	return err
}
