package plots

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"lab/core/fault"
	"lab/plots/canvas"
)

// The question: which tokens of a text surprised the model, and by how much?

const tokensName = "tokens"

// TokensData is one text, token by token. The slices are not kept.
type TokensData struct {
	Prompt string      // before the first token; "" has none
	Tokens []TextToken // at most 4,194,304
	// Sampling colours by the surprisal under the sampling distribution; otherwise
	// it is that under the model distribution.
	Sampling bool
	First    int // first token drawn, from 0
	Most     int // tokens drawn, 1 to 500; 0: 400. All are in the table
}

// TextToken is one token of a text. Numbers that are not known are NaN, ranks 0.
type TextToken struct {
	Text     string // its bytes
	Model    TokenSide
	Sampling TokenSide
	Stages   []TokenStage // what every stage did at this step, in order
}

// TokenSide is a token seen by one distribution.
type TokenSide struct {
	Prob          float64 // in [0, 1]
	SurprisalBits float64 // -log2 Prob; +Inf for a token that has no probability
	Rank          int     // from 1; 0 is unknown
	EntropyBits   float64 // of the distribution
}

// TokenStage is what one stage did at a token's step.
type TokenStage struct {
	Name       string
	Before     int     // tokens with a probability above 0 before it
	After      int     // and after it
	KeptMass   float64 // probability before it of the tokens left after it
	ProbBefore float64 // of the token
	ProbAfter  float64
}

// UnknownSide is a side of which nothing is known.
func UnknownSide() TokenSide {
	return TokenSide{Prob: math.NaN(), SurprisalBits: math.NaN(), EntropyBits: math.NaN()}
}

const (
	tokensWidth   = 6
	tokensDefault = 400
	tokensMost    = 500  // larger files than 500 kB beyond
	tokenSlack    = 1e-6 // of bits: sides come from files with rounded digits
)

// tokens is the figure's content, ready to be drawn.
type tokens struct {
	data      TokensData
	shown     []TextToken
	top       float64 // end of the colour scale, bits
	mean      float64 // surprisal of the defined tokens of the whole text
	most      int     // index of the most surprising token, -1 for none
	undefined int     // tokens of the text without a surprisal
	infinite  int     // tokens of probability 0
	promptCut bool    // set by drawing
}

// Tokens draws a text as its tokens, wrapped like text: each in a cell coloured
// by its surprisal, with the number of bits below it, after the prompt in grey.
// After a token that holds a newline a new line begins. Of long texts a part is
// drawn (First, Most) and all is in the table, which also holds both
// distributions' numbers and what every stage did.
//
// A token without a surprisal, or with an infinite one, has a cell without colour and is
// counted below the picture.
//
// Errors: fault.Usage for First, Most and options; fault.Data for a probability
// outside 0 to 1, a negative surprisal or rank, and a surprisal that contradicts
// its probability. Without tokens the picture says so.
func Tokens(d TokensData, o Options) (fig *Figure, err error) {
	defer guard(tokensName, &err)
	t, err := newTokens(d)
	if err != nil {
		return nil, err
	}
	s := sheet{name: tokensName, width: tokensWidth, title: t.finding(), subtitle: t.subtitle(), x: "text, wrapped", y: "surprisal, bits",
		body: t.draw, notes: t.notes, describe: t.describe, table: t.table,
		text: []string{"token", "token_hex", "stages"}, vega: t.vega, sketch: t.sketch}
	if len(t.shown) == 0 {
		s.emptyWhy = "no tokens"
	}
	return s.draw(o)
}

func newTokens(d TokensData) (*tokens, error) {
	const op = "figure " + tokensName
	if len(d.Tokens) > mostTokens {
		return nil, fault.New(fault.Usage, op, "tokens", "%d are more than %d", len(d.Tokens), mostTokens)
	}
	if d.Most == 0 {
		d.Most = tokensDefault
	}
	if d.Most < 1 || d.Most > tokensMost {
		return nil, fault.New(fault.Usage, op, "most", "%d is outside 1 to %d", d.Most, tokensMost).Fix("leave it out for %d", tokensDefault)
	}
	if d.First < 0 || d.First > 0 && d.First >= len(d.Tokens) {
		return nil, fault.New(fault.Usage, op, "first", "%d is outside 0 to %d", d.First, max(len(d.Tokens)-1, 0))
	}
	d.Tokens = slices.Clone(d.Tokens)
	t := &tokens{data: d, most: -1}
	sum, n := 0.0, 0
	for i, tok := range d.Tokens {
		for k, side := range []TokenSide{tok.Model, tok.Sampling} {
			if err := side.check(func() string {
				return fmt.Sprintf("token %d (%s), %s distribution", i, fault.Quote(tok.Text, 20), [2]string{"model", "sampling"}[k])
			}); err != nil {
				return nil, err
			}
		}
		bits := t.bits(tok)
		switch {
		case math.IsNaN(bits):
			t.undefined++
			continue
		case math.IsInf(bits, 1):
			t.infinite++
			continue
		}
		sum, n = sum+bits, n+1
		if t.most < 0 || bits > t.bits(d.Tokens[t.most]) {
			t.most = i
		}
	}
	t.mean = sum / float64(n) // NaN without one
	t.shown = d.Tokens[d.First:min(d.First+d.Most, len(d.Tokens))]
	for _, tok := range t.shown {
		if b := t.bits(tok); defined(b) {
			t.top = max(t.top, b)
		}
	}
	t.top = scaleEnd(t.top)
	return t, nil
}

// check refuses a side that cannot be.
func (s TokenSide) check(where func() string) error {
	switch {
	case s.Prob < 0 || s.Prob > 1+sumTolerance || math.IsInf(s.Prob, 0):
		return badNumber(tokensName, where(), "probability %v is outside 0 to 1", s.Prob)
	case s.SurprisalBits < -tokenSlack:
		return badNumber(tokensName, where(), "surprisal %v bits is negative", s.SurprisalBits)
	case s.EntropyBits < -tokenSlack:
		return badNumber(tokensName, where(), "entropy %v bits is negative", s.EntropyBits)
	case s.Rank < 0:
		return badNumber(tokensName, where(), "rank %d is negative", s.Rank).Fix("ranks count from 1; 0 is unknown")
	}
	if want := -math.Log2(s.Prob); defined(want) && defined(s.SurprisalBits) && !(math.Abs(want-s.SurprisalBits) <= 0.01+0.01*want) {
		return badNumber(tokensName, where(), "surprisal %v bits belongs to another probability than %v (%.4g bits)", s.SurprisalBits, s.Prob, want)
	}
	return nil
}

// scaleEnd returns the end of a scale that holds v: 1, 2, 4, 8, 12, 16, 24, 32 …
func scaleEnd(v float64) float64 {
	ends := []float64{1, 2, 4, 8, 12, 16, 24, 32, 48, 64}
	for _, e := range ends {
		if v <= e {
			return e
		}
	}
	return 128 * math.Ceil(v/128)
}

// bits returns the surprisal that colours a token.
func (t *tokens) bits(tok TextToken) float64 {
	if t.data.Sampling {
		return tok.Sampling.SurprisalBits
	}
	return tok.Model.SurprisalBits
}

func (t *tokens) under() string {
	if t.data.Sampling {
		return "sampling distribution"
	}
	return "model distribution"
}

func (t *tokens) finding() string {
	switch {
	case len(t.data.Tokens) == 0 || t.most < 0:
		return "Surprisal of each token"
	case len(t.data.Tokens) == 1:
		return fmt.Sprintf("The token %s carries %s bits", t.name(t.most), canvas.Digits(t.mean, 2))
	}
	return fmt.Sprintf("%s bits a token on average; the greatest surprise is %s with %s bits", canvas.Digits(t.mean, 2),
		t.name(t.most), canvas.Digits(t.bits(t.data.Tokens[t.most]), 3))
}

// name returns a token in a sentence.
func (t *tokens) name(i int) string { return quotedToken(t.data.Tokens[i].Text) }

// quotedToken returns a token in quotation marks, everything visible, shortened.
func quotedToken(token string) string {
	r := []rune(canvas.Visible(token))
	if len(r) > 24 {
		r = append(append(r[:12:12], '…'), r[len(r)-11:]...)
	}
	return "“" + string(r) + "”"
}

func (t *tokens) subtitle() string {
	if len(t.data.Tokens) == 0 {
		return ""
	}
	text := plural(len(t.data.Tokens), "token")
	if len(t.shown) < len(t.data.Tokens) {
		text = fmt.Sprintf("Tokens %s to %s of %s", canvas.Count(t.data.First+1), canvas.Count(t.data.First+len(t.shown)), canvas.Count(len(t.data.Tokens)))
	}
	text += "; colour and number: surprisal in bits under the " + t.under()
	if t.data.Prompt != "" {
		text += "; grey: the prompt"
	}
	return text + "."
}

func (t *tokens) notes() []string {
	var notes []string
	if n := t.undefined; n > 0 {
		notes = append(notes, fmt.Sprintf("%s of %s %s no surprisal (n/a).", canvas.Count(n), plural(len(t.data.Tokens), "token"), verb(n, "has", "have")))
	}
	if n := t.infinite; n > 0 {
		notes = append(notes, fmt.Sprintf("%s of %s %s probability 0 under the %s: infinite surprisal (∞).", canvas.Count(n),
			plural(len(t.data.Tokens), "token"), verb(n, "has", "have"), t.under()))
	}
	if t.promptCut {
		notes = append(notes, "Of the prompt the end is shown.")
	}
	return notes
}

func (t *tokens) describe() string {
	var b strings.Builder
	b.WriteString("Text coloured by the surprisal of its tokens under the " + t.under())
	if t.data.Prompt != "" {
		b.WriteString(", after the prompt " + quoted(t.data.Prompt, 200))
	}
	if len(t.data.Tokens) == 0 {
		return b.String() + ": no data (no tokens)."
	}
	b.WriteString(": " + plural(len(t.data.Tokens), "token"))
	if t.most >= 0 {
		fmt.Fprintf(&b, ", %s bits on average", canvas.Digits(t.mean, 3))
	}
	b.WriteString(". ")
	const most = 200 // tokens spelt out
	for i, tok := range t.shown {
		if i == most {
			fmt.Fprintf(&b, "And %s more, in the table. ", canvas.Count(len(t.data.Tokens)-t.data.First-i))
			break
		}
		fmt.Fprintf(&b, "%s %s; ", shortened(canvas.Visible(tok.Text), nameLimit), t.cellNumber(tok))
	}
	b.WriteString(strings.Join(t.notes(), " "))
	return strings.TrimSpace(b.String())
}

// cellNumber is the number below a token.
func (t *tokens) cellNumber(tok TextToken) string {
	b := t.bits(tok)
	switch {
	case math.IsNaN(b):
		return "n/a"
	case math.IsInf(b, 1):
		return "∞"
	case b >= 100:
		return canvas.Significant(b, 3)
	}
	return fmt.Sprintf("%.1f", max(b, 0))
}

// stageCell writes what the stages did at one token, for the table.
func stageCell(stages []TokenStage) string {
	parts := make([]string, len(stages))
	for i, s := range stages {
		parts[i] = fmt.Sprintf("%s: %d to %d tokens, kept %s, chosen %s to %s", canvas.Clean(s.Name), s.Before, s.After,
			number(s.KeptMass), number(s.ProbBefore), number(s.ProbAfter))
	}
	return strings.Join(parts, "; ")
}

func (t *tokens) table() Table {
	out := Table{Header: []string{"index", "token", "token_hex", "model_prob", "model_rank", "model_surprisal_bits", "model_entropy_bits",
		"sampling_prob", "sampling_rank", "sampling_surprisal_bits", "sampling_entropy_bits", "stages"}}
	rank := func(r int) string {
		if r == 0 {
			return ""
		}
		return fmt.Sprint(r)
	}
	for i, tok := range t.data.Tokens {
		visible, bytes := tokenCells(tok.Text)
		row := []string{fmt.Sprint(i), visible, bytes}
		for _, s := range []TokenSide{tok.Model, tok.Sampling} {
			row = append(row, number(s.Prob), rank(s.Rank), number(s.SurprisalBits), number(s.EntropyBits))
		}
		out.Rows = append(out.Rows, append(row, stageCell(tok.Stages)))
	}
	return out
}
