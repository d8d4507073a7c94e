package plots

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"lab/core/fault"
	"lab/plots/canvas"
)

// The question: what were the likeliest tokens at each step, and which was
// chosen?

const heatStepsName = "heat_steps"

// HeatStepsData is the likeliest tokens of every step of one text. The slices
// are not kept.
type HeatStepsData struct {
	Prompt       string
	Distribution string // "model" or "sampling"; "": model
	Steps        []HeatStep
	Ranks        int // rows, 1 to 12; 0: 5
	First        int // first step drawn, from 0
	Most         int // steps drawn, with Ranks at most 320 cells; 0: as many as fit, up to 48
}

// HeatStep is one step: its likeliest tokens and the chosen one.
type HeatStep struct {
	Likeliest  []HeatToken // by falling probability; NaN probabilities last
	Chosen     string      // bytes of the chosen token
	ChosenProb float64     // NaN: unknown
	ChosenRank int         // from 1; 0 is unknown
}

// HeatToken is a token with its probability in [0, 1]; NaN is unknown.
type HeatToken struct {
	Text string
	Prob float64
}

const (
	heatStepsWidth   = 7
	heatStepsDefault = 48
	heatCellsMost    = 320 // larger files than 500 kB beyond
	heatRanks        = 5
	heatRanksMost    = 12
)

// heatSteps is the figure's content, ready to be drawn.
type heatSteps struct {
	data      HeatStepsData
	shown     []HeatStep
	undefined int // probabilities of shown cells without a value
	missing   int // cells that no token was given for
	first     int // steps at which the likeliest token was chosen
	ranked    int // steps whose chosen rank is known
}

// HeatSteps draws a column for every step of a text and a row for each of the
// likeliest ranks: a cell holds the token and its probability, coloured by it,
// and the chosen token is framed. A chosen token of a lower rank stands framed
// in the row below with its rank. Columns are wrapped like text; of long texts
// a part is drawn (First, Most) and all is in the table.
//
// Cells without a token or a probability are grey with "n/a" and counted below
// the picture.
//
// Errors: fault.Usage for Ranks, First, Most, Distribution and options;
// fault.Data for probabilities outside 0 to 1, that rise with the rank or sum to
// more than 1, and a rank that contradicts the list. Without steps the picture
// says so.
func HeatSteps(d HeatStepsData, o Options) (fig *Figure, err error) {
	defer guard(heatStepsName, &err)
	h, err := newHeatSteps(d)
	if err != nil {
		return nil, err
	}
	s := sheet{name: heatStepsName, width: heatStepsWidth, title: h.finding(), subtitle: h.subtitle(), x: "step", y: "rank",
		body: h.draw, notes: h.notes, describe: h.describe, table: h.table,
		text: []string{"token", "token_hex"}, vega: h.vega, sketch: h.sketch}
	if len(h.shown) == 0 {
		s.emptyWhy = "no steps"
	}
	return s.draw(o)
}

func newHeatSteps(d HeatStepsData) (*heatSteps, error) {
	const op = "figure " + heatStepsName
	if d.Distribution == "" {
		d.Distribution = "model"
	}
	if d.Distribution != "model" && d.Distribution != "sampling" {
		return nil, fault.Unknown(op, "distribution", d.Distribution, []string{"model", "sampling"})
	}
	if d.Ranks == 0 {
		d.Ranks = heatRanks
	}
	if d.Most == 0 {
		d.Most = min(heatStepsDefault, heatCellsMost/max(d.Ranks, 1))
	}
	switch {
	case d.Ranks < 1 || d.Ranks > heatRanksMost:
		return nil, fault.New(fault.Usage, op, "ranks", "%d is outside 1 to %d", d.Ranks, heatRanksMost).Fix("leave it out for %d", heatRanks)
	case d.Most < 1 || d.Most > heatCellsMost/d.Ranks:
		return nil, fault.New(fault.Usage, op, "most", "%d steps of %d ranks are outside 1 to %d cells", d.Most, d.Ranks, heatCellsMost).
			Fix("draw fewer steps, or leave it out")
	case d.First < 0 || d.First > 0 && d.First >= len(d.Steps):
		return nil, fault.New(fault.Usage, op, "first", "%d is outside 0 to %d", d.First, max(len(d.Steps)-1, 0))
	case len(d.Steps) > mostTokens:
		return nil, fault.New(fault.Usage, op, "steps", "%d are more than %d", len(d.Steps), mostTokens)
	}
	d.Steps = slices.Clone(d.Steps)
	h := &heatSteps{data: d}
	for i, s := range d.Steps {
		if err := s.check(fmt.Sprintf("step %d", i)); err != nil {
			return nil, err
		}
		d.Steps[i].Likeliest = slices.Clone(s.Likeliest[:min(len(s.Likeliest), d.Ranks)])
		if s.ChosenRank > 0 {
			h.ranked++
			if s.ChosenRank == 1 {
				h.first++
			}
		}
	}
	h.shown = d.Steps[d.First:min(d.First+d.Most, len(d.Steps))]
	for _, s := range h.shown {
		for k := range d.Ranks {
			switch {
			case k >= len(s.Likeliest):
				h.missing++
			case !defined(s.Likeliest[k].Prob):
				h.undefined++
			}
		}
	}
	return h, nil
}

// check refuses a step that cannot be.
func (s HeatStep) check(where string) error {
	sum, last := 0.0, 1.0
	for k, t := range s.Likeliest {
		p := t.Prob
		if math.IsNaN(p) {
			continue
		}
		if p < 0 || p > 1+sumTolerance || math.IsInf(p, 0) {
			return badNumber(heatStepsName, where, "probability %v of rank %d is outside 0 to 1", p, k+1)
		}
		if p > last*(1+1e-9) {
			return badNumber(heatStepsName, where, "rank %d has probability %v, more than rank %d with %v", k+1, p, k, last).Fix("sort the tokens by falling probability")
		}
		sum, last = sum+p, p
	}
	if sum > 1+sumTolerance {
		return badNumber(heatStepsName, where, "the probabilities sum to %.6g, more than 1", sum)
	}
	if s.ChosenRank < 0 {
		return badNumber(heatStepsName, where, "rank %d of the chosen token is negative", s.ChosenRank).Fix("ranks count from 1; 0 is unknown")
	}
	if s.ChosenProb < 0 || s.ChosenProb > 1+sumTolerance || math.IsInf(s.ChosenProb, 0) {
		return badNumber(heatStepsName, where, "probability %v of the chosen token is outside 0 to 1", s.ChosenProb)
	}
	if k := s.ChosenRank - 1; k >= 0 && k < len(s.Likeliest) && s.Likeliest[k].Text != s.Chosen {
		return badNumber(heatStepsName, where, "the chosen token %s has rank %d, where the list has %s", fault.Quote(s.Chosen, 20), k+1, fault.Quote(s.Likeliest[k].Text, 20))
	}
	return nil
}

func (h *heatSteps) finding() string {
	n := len(h.data.Steps)
	switch {
	case n == 0 || h.ranked == 0:
		return "The likeliest tokens at each step"
	case n == 1 && h.first == 1:
		return "The likeliest token was chosen"
	case n == 1:
		return fmt.Sprintf("The token of rank %s was chosen", canvas.Count(h.data.Steps[0].ChosenRank))
	case h.first == h.ranked:
		return "The likeliest token was chosen at " + verb(h.ranked, "the one step", "all "+canvas.Count(h.ranked)+" steps")
	}
	return fmt.Sprintf("The likeliest token was chosen at %s of %s", canvas.Count(h.first), plural(h.ranked, "step"))
}

func (h *heatSteps) subtitle() string {
	if len(h.data.Steps) == 0 {
		return ""
	}
	text := plural(len(h.data.Steps), "step")
	if len(h.shown) < len(h.data.Steps) {
		text = fmt.Sprintf("Steps %s to %s of %s", canvas.Count(h.data.First+1), canvas.Count(h.data.First+len(h.shown)), canvas.Count(len(h.data.Steps)))
	}
	if h.data.Prompt != "" {
		text += " after " + quoted(h.data.Prompt, 60)
	}
	return text + fmt.Sprintf("; each column: the %s under the %s distribution; framed: the chosen one.",
		verb(h.data.Ranks, "likeliest token", plural(h.data.Ranks, "likeliest token")), h.data.Distribution)
}

func (h *heatSteps) notes() []string {
	var notes []string
	if h.undefined > 0 {
		notes = append(notes, fmt.Sprintf("%s %s undefined (n/a).", plural(h.undefined, "probability value"), verb(h.undefined, "is", "are")))
	}
	if h.missing > 0 {
		notes = append(notes, fmt.Sprintf("%s no token: the distribution has fewer, or no more were recorded.", plural(h.missing, "cell")+" "+verb(h.missing, "has", "have")))
	}
	return notes
}

func (h *heatSteps) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Table of the likeliest tokens at each step under the %s distribution", h.data.Distribution)
	if h.data.Prompt != "" {
		b.WriteString(" after " + quoted(h.data.Prompt, 200))
	}
	if len(h.data.Steps) == 0 {
		return b.String() + ": no data (no steps)."
	}
	b.WriteString(". ")
	const most = 60 // steps spelt out
	for i, s := range h.shown {
		if i == most {
			fmt.Fprintf(&b, "And %s more, in the table. ", plural(len(h.data.Steps)-h.data.First-i, "step"))
			break
		}
		fmt.Fprintf(&b, "Step %d: ", h.data.First+i+1)
		for _, t := range s.Likeliest {
			fmt.Fprintf(&b, "%s %s, ", shortened(canvas.Visible(t.Text), nameLimit), probWords(t.Prob))
		}
		fmt.Fprintf(&b, "chosen %s", shortened(canvas.Visible(s.Chosen), nameLimit))
		if s.ChosenRank > 0 {
			fmt.Fprintf(&b, " of rank %s", canvas.Count(s.ChosenRank))
		}
		b.WriteString(". ")
	}
	b.WriteString(strings.Join(h.notes(), " "))
	return strings.TrimSpace(b.String())
}

// probWords writes a probability in a cell.
func probWords(p float64) string {
	if !defined(p) {
		return "n/a"
	}
	return canvas.Fraction(min(p, 1))
}

func (h *heatSteps) table() Table {
	out := Table{Header: []string{"step", "rank", "token", "token_hex", "prob", "chosen"}}
	for i, s := range h.data.Steps {
		row := func(rank int, text string, p float64, chosen bool) {
			visible, bytes := tokenCells(text)
			r := ""
			if rank > 0 {
				r = fmt.Sprint(rank)
			}
			out.Rows = append(out.Rows, []string{fmt.Sprint(i), r, visible, bytes, number(p), fmt.Sprint(chosen)})
		}
		for k, t := range s.Likeliest {
			row(k+1, t.Text, t.Prob, s.ChosenRank == k+1)
		}
		if s.ChosenRank == 0 || s.ChosenRank > len(s.Likeliest) {
			row(s.ChosenRank, s.Chosen, s.ChosenProb, true)
		}
	}
	return out
}
