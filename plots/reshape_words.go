package plots

import (
	"fmt"
	"math"
	"strings"

	"lab/plots/canvas"
)

// all reports whether the rule removed nothing.
func (r *reshape) all(o outcome) bool {
	return o.kept == r.support && (r.data.Unlisted == 0 || o.unlisted > 0)
}

// known reports whether every probability of model and rule is defined; what is
// computed from a part would be bounds.
func (r *reshape) known(o outcome) bool { return r.undefined == 0 && o.undefined == 0 }

// bound reports whether TV is only a lower bound: what happened inside the
// unlisted mass cannot be seen.
func (r *reshape) bound(o outcome) bool { return r.data.Unlisted > 0 && o.unlisted > 0 }

// total names the tokens a rule could keep.
func (r *reshape) total() string {
	if r.data.Unlisted > 0 {
		return "the " + canvas.Count(r.support) + " listed"
	}
	return canvas.Count(r.support)
}

// statement is the panel's numbers in one line.
func (r *reshape) statement(o outcome) string { return strings.Join(r.parts(o), " · ") }

// parts are the panel's numbers, each of which stays on one line.
func (r *reshape) parts(o outcome) []string {
	if !r.known(o) {
		return []string{"n/a: " + canvas.Count(r.undefined+o.undefined) + " undefined"}
	}
	var parts []string
	if r.all(o) {
		parts = append(parts, "keeps all "+strings.TrimPrefix(r.total(), "the "))
	} else {
		parts = append(parts, fmt.Sprintf("keeps %s of %s", canvas.Count(o.kept), r.total()),
			"mass "+canvas.Fraction(min(o.mass, 1)))
	}
	switch {
	case r.all(o) && o.tv < noMove:
		parts = append(parts, "unchanged")
	case !math.IsNaN(o.factor) && !r.all(o):
		parts = append(parts, "×"+canvas.Digits(o.factor, 3))
	case r.bound(o):
		parts = append(parts, "TV ≥ "+canvas.Fraction(min(o.tv, 1)))
	default:
		parts = append(parts, "TV "+canvas.Fraction(min(o.tv, 1)))
	}
	if o.added > 0 {
		parts = append(parts, "adds "+canvas.Count(o.added))
	}
	if o.kept+o.added == 1 && o.unlisted == 0 {
		parts = append(parts, "the seed has no effect here")
	}
	return parts
}

// noMove is the TV that rounding alone can make.
const noMove = 1e-9

// finding is the title made from the numbers.
func (r *reshape) finding() string {
	const nothing = "Reshaping one next-token distribution"
	hardest, farthest := -1, -1
	for i, o := range r.outcomes {
		if !r.known(o) {
			continue
		}
		if hardest < 0 || o.kept < r.outcomes[hardest].kept {
			hardest = i
		}
		if farthest < 0 || o.tv > r.outcomes[farthest].tv {
			farthest = i
		}
	}
	if r.emptyWhy != "" || hardest < 0 {
		return nothing
	}
	if o := r.outcomes[hardest]; !r.all(o) {
		return fmt.Sprintf("%s keeps %s of %s %s, %s of the model’s mass", named(o.title, hardest),
			canvas.Count(o.kept), r.total(), verb(r.support, "token", "tokens"), canvas.Percent(min(o.mass, 1)))
	}
	if o := r.outcomes[farthest]; o.tv >= noMove {
		least := ""
		if r.bound(o) {
			least = "at least "
		}
		return fmt.Sprintf("%s moves %s%s of the mass and removes no token", named(o.title, farthest), least, canvas.Percent(min(o.tv, 1)))
	}
	return verb(len(r.outcomes), "The rule leaves", "The rules leave") + " this distribution as it is"
}

// named is a rule's name for a sentence.
func named(title string, i int) string {
	if title == "" {
		return fmt.Sprintf("Rule %d", i+1)
	}
	return shortened(title, nameLimit)
}

// subtitle states data, n and encoding.
func (r *reshape) subtitle() string {
	text := "Next token"
	if r.data.Prompt != "" {
		text += " after " + quoted(r.data.Prompt, 60)
	}
	if r.emptyWhy != "" {
		return text
	}
	text += "; " + plural(r.support, "token")
	if r.data.Unlisted > 0 {
		text += " listed"
	} else {
		text += " with probability above zero"
	}
	if r.support == 1 {
		return text
	}
	if r.rest > 0 {
		text += fmt.Sprintf(", the %d likeliest shown", len(r.rows))
	}
	return text + ". Ranked by the model."
}

// notes are the remarks below the picture.
func (r *reshape) notes() []string {
	var notes []string
	add := func(s string) {
		if s != "" {
			notes = append(notes, s)
		}
	}
	if r.emptyWhy != "" {
		return nil
	}
	add(r.terms())
	add(undefinedNote(r.undefined, len(r.data.Model), "Model distribution"))
	for i, o := range r.outcomes {
		add(undefinedNote(o.undefined, len(r.data.Model), named(o.title, i)))
	}
	if r.data.Unlisted > 0 {
		add("The backend listed only its likeliest tokens; “unlisted” is the mass of all others.")
	}
	return notes
}

// terms explains the words of the panels' statements, as far as they occur.
func (r *reshape) terms() string {
	explained := []struct{ sign, words string }{
		{"mass ", "mass: share of the model’s mass on the tokens kept"},
		{"×", "×: factor on the probability of each of them"},
		{"TV ", "TV: share of the mass that moved (half the L1 distance)"},
	}
	var terms []string
	for _, e := range explained {
		for _, o := range r.outcomes {
			if strings.Contains(r.statement(o), e.sign) {
				terms = append(terms, e.words)
				break
			}
		}
	}
	if len(terms) == 0 {
		return ""
	}
	return strings.Join(terms, "; ") + "."
}

// describe is the alternative text.
func (r *reshape) describe() string {
	var b strings.Builder
	b.WriteString("Horizontal bars of one next-token distribution")
	if r.data.Prompt != "" {
		b.WriteString(" after " + quoted(r.data.Prompt, 200))
	}
	if r.emptyWhy != "" {
		return b.String() + ": no data (" + r.emptyWhy + ")."
	}
	b.WriteString(". Model distribution: ")
	for k, i := range r.rows[:min(len(r.rows), 5)] {
		if k > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %s", canvas.Visible(r.data.Tokens[i]), canvas.Fraction(share(r.data.Model[i])))
	}
	if more := r.support - min(len(r.rows), 5); more > 0 {
		fmt.Fprintf(&b, " and %s", plural(more, "other token"))
	}
	b.WriteString(".")
	for i, o := range r.outcomes {
		fmt.Fprintf(&b, " %s: %s.", named(o.title, i), r.statement(o))
	}
	return b.String()
}

// table lists what is drawn, one line for each bar.
func (r *reshape) table() Table {
	t := Table{Header: []string{"panel", "rule", "row", "rank", "index", "token", "token_hex", "model", "sampling", "state"}}
	if r.emptyWhy != "" {
		return t
	}
	for k, p := range r.data.Panels {
		line := func(row, rank, index, token string, model, sampling float64) {
			visible, bytes := "", ""
			if row == "token" {
				visible, bytes = tokenCells(token)
			}
			t.Rows = append(t.Rows, []string{fmt.Sprint(k + 1), canvas.Clean(p.Title), row, rank, index, visible, bytes,
				number(model), number(sampling), stateOf(model, sampling)})
		}
		for row, i := range r.rows {
			line("token", fmt.Sprint(r.ranks[row]), fmt.Sprint(i), r.data.Tokens[i], r.data.Model[i], p.Sampling[i])
		}
		if r.rest > 0 {
			line(fmt.Sprintf("other %d tokens", r.rest), "", "", "", r.restModel, r.outcomes[k].other)
		}
		if r.data.Unlisted > 0 || p.Unlisted > 0 {
			line("unlisted", "", "", "", r.data.Unlisted, p.Unlisted)
		}
	}
	return t
}

func stateOf(model, sampling float64) string {
	switch {
	case !defined(model) || !defined(sampling):
		return "undefined"
	case sampling > 0 && model > 0:
		return "kept"
	case sampling > 0:
		return "added"
	case model > 0:
		return "removed"
	}
	return "absent"
}
