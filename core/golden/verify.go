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

	// Against is the system whose answer stood in for a reference that the case
	// does not have.
	Against string `json:"against,omitempty"`
	Why     string `json:"why,omitempty"`
}

// Reference, as the name of a system, asks for the reference answers.
const Reference = "reference"

// Verify asks a subject every case of the file and compares its answers with
// those of a system, under that system's rules, or with the references, under
// the subject's own. Where a case has no reference and one answer only, that
// answer stands in, unless the system refused the case. The error is about the
// subject's process, never about an answer.
func (f *File) Verify(ctx context.Context, s Subject, system string) ([]Result, error) {
	if system == "" {
		system = Reference
	}
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
		v, against, why := r.verdict(ctx)
		if r.fatal != nil {
			return out[:i], r.fatal
		}
		out[i] = Result{Case: c.ID, Method: c.Method, Verdict: v, Against: against, Why: why}
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

func (a *asking) verdict(ctx context.Context) (v Verdict, against, why string) {
	want, rules, against, why := a.wanted()
	if want == nil {
		return NotCovered, "", why
	}
	if harness := harnessFailure(want); harness != "" {
		return NotCovered, against, harness
	}
	q, err := a.asked(a.file, a.subject, rules)
	var u unanswerable
	var b broken
	switch {
	case errors.As(err, &b):
		a.fatal = b.error
		return "", "", ""
	case errors.As(err, &u):
		return NotCovered, against, u.why
	case err != nil:
		v, why = a.refused(q, want, err)
	default:
		v, why = a.answer(ctx, q, want)
	}
	if v == Differs && against != "" {
		if differs := a.departs(against, want); differs != "" {
			return NotCovered, against, differs + ": " + why
		}
	}
	return v, against, why
}

// departures are the cases that have no reference and whose only answer is not
// the catalogue's, by method and id, with the reason.
var departures = map[[2]string]string{
	{"sequence_bias", "sequence_bias/[1, 2]"}: "a sequence whose head is the whole context counts; transformers wants a longer context",
	{"inf_nan_remove", "inf_nan_remove"}:      "a removed token stays removed; transformers gives it the lowest float32",
}

// departs returns why another answer than that of a system, standing in for a
// reference, may be right; "" when it is not.
func (a *asking) departs(system string, want *answer) string {
	if want.Outcome != "" {
		return system + " refuses it, which binds nobody else"
	}
	return departures[[2]string{a.Method, a.ID}]
}

// wanted returns the answer to compare with and the rules to ask under. Without
// one, why says why there is none. A case without a reference is compared with
// its only answer, that of the system against, unless the answer depends on that
// system's own random numbers.
func (a *asking) wanted() (want *answer, rules, against, why string) {
	if a.system == Reference {
		_, seeded := a.Params["seed"]
		switch {
		case a.Case.Reference != nil && a.Case.Reference.Outcome == "" && a.Case.Reference.empty():
			return nil, "", "", "its reference keeps no token, which no sampler may"
		case a.Case.Reference != nil:
			return a.Case.Reference, "", "", ""
		case seeded:
			return nil, "", "", "it has no reference, and its answer depends on the random numbers of a system"
		case len(a.Answers) == 1:
			return &a.Answers[0], "", a.Answers[0].Systems[0], ""
		}
		return nil, "", "", fmt.Sprintf("it has no reference, and %d answers", len(a.Answers))
	}
	for i := range a.Answers {
		if slices.Contains(a.Answers[i].Systems, a.system) {
			return &a.Answers[i], a.system, "", ""
		}
	}
	return nil, "", "", "no answer of " + a.system
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
	for _, id := range q.tokens {
		if int(id) >= row.Vocab {
			return NotCovered, fmt.Sprintf("token %d of its history is outside its vocabulary of %d, which no host sends", id, row.Vocab)
		}
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
	case err != nil:
		return a.refused(q, want, err)
	case want.Outcome != "":
		return Differs, fmt.Sprintf("an error is wanted (%s: %.80s), and it gave an answer", want.Outcome, want.Message)
	}
	if want.Token != nil {
		if it.Chosen != *want.Token {
			return Differs, fmt.Sprintf("token %d was chosen, want %d", it.Chosen, *want.Token)
		}
		return Holds, ""
	}
	return a.compare(row, it.Scores, want)
}

// refused returns what an error in place of an answer is worth. A stage that
// breaks down refuses nothing, even where an error is wanted.
func (a *asking) refused(q *question, want *answer, err error) (Verdict, string) {
	switch kind := fault.KindOf(err); {
	case kind == fault.Plugin || kind == fault.Internal:
		return Differs, "it breaks: " + err.Error()
	case want.Outcome != "":
		return Holds, ""
	case a.degenerate(q, want):
		return Refused, err.Error()
	}
	return Differs, "it is refused: " + err.Error()
}

func (a *asking) item(q *question, row dist.Scores) *sampler.Item {
	it := &sampler.Item{Scores: row, History: q.tokens, Prompt: q.prompt, Chosen: -1}
	it.Step = len(it.History) - it.Prompt
	if q.passes != nil {
		it.Passes = []dist.Scores{dist.NewDense(floats(q.passes))}
	}
	return it
}

// run applies the stages once. Uniform numbers are 0.5: what a case compares
// does not depend on them.
func (a *asking) run(ctx context.Context, q *question, it *sampler.Item) error {
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
	if err != nil && ctx.Err() != nil { // the work ended, not the case
		a.fatal = err
	}
	return err
}
