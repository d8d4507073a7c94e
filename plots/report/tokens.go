package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"lab/core/store"
	"lab/core/trace"
	"lab/plots/canvas"
)

const (
	levels     = 8   // of colour above none
	mostTokens = 400 // of one example
)

// tokenView is one sample, token by token.
type tokenView struct {
	id           string
	title, about string
	prompt       string
	stop, more   string
	tokens       []viewToken
	known        bool // steps were recorded
	cell, sample int
	length       int
}

// viewToken is a token as it is shown, and what is known about it.
type viewToken struct {
	shown   string // canvas.Visible of its bytes
	bits    string
	level   int  // of colour, 0 to levels; -1: none is known
	newline bool // a line ends behind it
	detail  tokenDetail
}

// tokenDetail is what the page shows of a token on demand, as text. The names are
// short because there are many.
type tokenDetail struct {
	ID       int32      `json:"i"`
	Model    []string   `json:"m,omitempty"` // probability, rank, surprisal, entropy, support
	Sampling []string   `json:"s,omitempty"`
	Stages   [][]string `json:"g,omitempty"` // name, tokens before → after, kept mass, KL, TV, probability, rank of the token
	Cut      string     `json:"c,omitempty"` // what the stages cut, in words
}

// scale is what the colours mean, for all examples of a run.
type scale struct{ top float64 }

// examples are samples token by token: chosen by their place, never by their
// content, so that nobody picked the pretty ones.
func (s *sweepReport) examples() error {
	want := s.chosen()
	if len(want) == 0 {
		return nil
	}
	var views []*tokenView
	count := map[int]int{}
	var raw []*store.Record
	err := s.run.Records(s.run.Manifest.Ledger, func(r *store.Record) error {
		if r.Failure != "" || count[r.Cell] >= want[r.Cell] {
			return nil
		}
		count[r.Cell]++
		kept := *r
		raw = append(raw, &kept)
		return nil
	})
	if err != nil {
		return err
	}
	top := 0.0
	for _, r := range raw {
		for i := range r.Trace.Steps[:min(len(r.Trace.Steps), mostTokens)] {
			if m := r.Trace.Steps[i].Model; m != nil && !math.IsInf(float64(m.SurprisalBits), 0) {
				top = max(top, float64(m.SurprisalBits)) // NaN stays out: no comparison holds
			}
		}
	}
	sc := &scale{top: math.Max(1, math.Ceil(top))}
	for _, r := range raw {
		views = append(views, s.view(r, sc))
	}
	blocks := []block{{text: s.saysWhich(len(views))}}
	if s.run.Manifest.Ledger {
		blocks = append(blocks, block{scale: sc})
	} else {
		blocks = append(blocks, block{text: "The run did not record what happened at every step, so the texts stand without numbers (record: ledger keeps them)."})
	}
	for _, v := range views {
		blocks = append(blocks, block{tokens: v})
	}
	s.add("examples", "Examples, token by token", blocks...)
	return nil
}

// chosen says how many samples of which cells are shown: an equal share of each
// cell, or the first of cells at equal distances where there are more cells.
func (s *sweepReport) chosen() map[int]int {
	n, want := len(s.cells), map[int]int{}
	switch {
	case s.Examples == 0 || s.records-s.failed == 0:
	case s.Examples < n:
		for i := range s.Examples {
			want[i*n/s.Examples] = 1
		}
	default:
		for c := range n {
			want[c] = min(s.Examples/n, s.run.Manifest.Samples)
		}
	}
	return want
}

func (s *sweepReport) saysWhich(n int) string {
	text := fmt.Sprintf("%s of %s, chosen by place and not by content: ", plural(n, "sample"), canvas.Count(s.records-s.failed))
	switch each := s.Examples / len(s.cells); {
	case len(s.cells) == 1:
		text += "the first."
	case each == 0:
		text += "the first of cells at equal distances."
	case each == 1:
		text += "the first of every cell."
	default:
		text += fmt.Sprintf("the first %d of every cell.", each)
	}
	return text
}

// view is one sample.
func (s *sweepReport) view(r *store.Record, sc *scale) *tokenView {
	settings := s.cells[r.Cell]
	v := &tokenView{id: fmt.Sprintf("%st%d-%d", s.prefix, r.Cell, r.Sample), title: fmt.Sprintf("Cell %d, sample %d", r.Cell, r.Sample), cell: r.Cell, sample: r.Sample,
		known: len(r.Trace.Steps) > 0, length: len(r.Trace.Tokens)}
	chain, _ := settings["chain"].(string)
	if search, ok := settings["search"].(string); ok {
		chain += " · search " + search
	}
	v.about = chain
	if len(s.run.Manifest.Axes) > 0 {
		v.title += " · " + s.cellName(r.Cell)
	}
	v.prompt, _ = settings["prompt"].(string)
	const longest = 600
	v.prompt = canvas.Shorten(v.prompt, longest)
	v.stop = ended(r.Trace.Stop, len(r.Trace.Tokens))
	if !v.known {
		for line := range strings.Lines(canvas.Shorten(r.Trace.Text, 4*mostTokens)) {
			v.tokens = append(v.tokens, viewToken{shown: canvas.Clean(line), level: -1, newline: true})
		}
		return v
	}
	for i := range r.Trace.Steps[:min(len(r.Trace.Steps), mostTokens)] {
		v.tokens = append(v.tokens, viewed(&r.Trace.Steps[i], sc))
	}
	if more := len(r.Trace.Steps) - len(v.tokens); more > 0 {
		v.more = plural(more, "more token") + ", not shown."
	}
	return v
}

// ended says why a sample ended.
func ended(stop trace.Stop, tokens int) string {
	text := plural(tokens, "token")
	switch stop.Reason {
	case trace.StopString:
		return text + ", ended by the stop string " + canvas.Visible(canvas.Shorten(stop.String, 60))
	case trace.EndOfText:
		return text + ", ended by the model"
	case trace.MaxTokens:
		return text + ", the most that was allowed"
	case trace.ContextFull:
		return text + ", then the context was full"
	}
	return text + ", " + stop.Reason
}

func viewed(step *trace.Step, sc *scale) viewToken {
	t := viewToken{shown: canvas.Visible(string(step.Piece)), bits: "n/a", level: -1, newline: strings.HasSuffix(string(step.Piece), "\n"),
		detail: tokenDetail{ID: step.Token, Model: sided(step.Model), Sampling: sided(step.Sampling)}}
	if t.shown == "" {
		t.shown = "∅" // a token without bytes, such as the end of a text
	}
	if step.Model != nil {
		bits := float64(step.Model.SurprisalBits)
		switch {
		case math.IsNaN(bits):
		case math.IsInf(bits, 0):
			t.bits = "∞"
		default:
			t.bits = strconv.FormatFloat(max(bits, 0), 'f', 1, 64)
			t.level = sc.level(bits)
		}
	}
	for i := range step.Stages {
		g := &step.Stages[i]
		t.detail.Stages = append(t.detail.Stages, []string{canvas.Clean(g.Stage), canvas.Count(g.SupportBefore) + " → " + canvas.Count(g.SupportAfter), share(g.KeptMass), real4(g.KLBits), real4(g.TV),
			share(g.ChosenProbBefore) + " → " + share(g.ChosenProbAfter), canvas.Count(g.ChosenRankBefore) + " → " + canvas.Count(g.ChosenRankAfter)})
	}
	t.detail.Cut = cut(step.Stages)
	return t
}

// level is the place of a surprisal on the scale of colours.
func (sc *scale) level(bits float64) int {
	return min(max(int(math.Round(levels*bits/sc.top)), 0), levels)
}

func sided(side *trace.Side) []string {
	if side == nil {
		return nil
	}
	return []string{share(side.Prob), canvas.Count(side.Rank), real4(side.SurprisalBits), real4(side.EntropyBits), canvas.Count(side.Support)}
}

// real4 writes a number with four significant digits.
func real4(r trace.Real) string {
	if math.IsNaN(float64(r)) {
		return "n/a"
	}
	if r == 0 {
		return "0" // and not -0
	}
	return canvas.Significant(float64(r), 4)
}

// share writes a probability or a mass; as in canvas.Fraction 1 stands for exactly 1
// alone.
func share(r trace.Real) string {
	for n := 4; n < 16 && r < 1; n++ {
		if text := canvas.Significant(float64(r), n); text != "1" {
			return text
		}
	}
	return real4(r)
}

// cut says in words which stages removed how many tokens with how much mass.
func cut(stages []trace.Stage) string {
	var parts []string
	for i := range stages {
		g := &stages[i]
		if removed := g.SupportBefore - g.SupportAfter; removed > 0 && g.KeptMass == g.KeptMass {
			mass := "less than 0.01\u00a0%"
			if gone := 1 - float64(g.KeptMass); gone >= 1e-4 {
				mass = canvas.Percent(gone)
			}
			parts = append(parts, fmt.Sprintf("%s cut %s with %s of the mass", canvas.Clean(g.Stage), plural(removed, "token"), mass))
		}
	}
	return strings.Join(parts, "; ")
}
