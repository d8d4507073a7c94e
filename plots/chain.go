package plots

import (
	"fmt"
	"math"
	"strings"

	"lab/core/fault"
	"lab/plots/canvas"
)

// ChainData is the ledger of one step: what each stage of a chain did to the
// next-token distribution. The slices are not kept.
type ChainData struct {
	Prompt  string
	Support int          // tokens with probability above zero in the model distribution
	Stages  []ChainStage // in order of application, without the selector
	Chosen  *ChainChoice // nil: nothing was drawn
}

// ChainStage is one line of the ledger.
type ChainStage struct {
	Name    string  // as in the chain: "top_p:0.95"
	Mass    float64 // share of the model distribution on the tokens that are left after this stage, 0 to 1
	Support int     // tokens left after this stage
	TV      float64 // TV(after, before) of this stage alone, 0 to 1
	KLBits  float64 // KL(after‖before) of this stage alone, in bits, at least 0; may be infinite
}

// ChainChoice is the token that was drawn.
type ChainChoice struct {
	Selector string  // "sample", "greedy"
	Token    string  // its bytes
	Rank     int     // under the sampling distribution, 1 for the likeliest
	Prob     float64 // under the sampling distribution
}

const (
	chainName   = "chain"
	chainWidth  = 7.0
	chainStages = 40
)

// chain is the figure's content, ready to be drawn.
type chain struct {
	data     ChainData
	before   []float64 // mass before each stage
	cut      []float64 // mass removed by each stage, never negative
	emptyWhy string
}

// Chain draws one step through the stages of a chain, from top to bottom: on the
// left how much of the model's mass is on the tokens that are left, and what
// each stage cut; on the right how far each stage moved the distribution (TV,
// with KL beside it).
//
// Errors: fault.Usage for more than 40 stages and options; fault.Data for
// impossible numbers. NaN values are left out and counted; without a stage the
// picture says so.
func Chain(d ChainData, o Options) (fig *Figure, err error) {
	defer guard(chainName, &err)
	if o, err = o.resolve(chainName, chainWidth); err != nil {
		return nil, err
	}
	c, err := newChain(d)
	if err != nil {
		return nil, err
	}
	return c.draw(o)
}

func newChain(d ChainData) (*chain, error) {
	if len(d.Stages) > chainStages {
		return nil, fault.New(fault.Usage, "figure "+chainName, "stages", "%d are more than %d", len(d.Stages), chainStages).
			Fix("draw a part of the chain")
	}
	c := &chain{data: d}
	if len(d.Stages) == 0 {
		c.emptyWhy = "no stages"
		return c, nil
	}
	if d.Support < 1 {
		return nil, badNumber(chainName, "support", "the model distribution has %d tokens above zero", d.Support)
	}
	if ch := d.Chosen; ch != nil && (ch.Rank < 1 || !(ch.Prob >= 0 && ch.Prob <= 1+sumTolerance)) {
		return nil, badNumber(chainName, "chosen", "rank %d with probability %v is impossible", ch.Rank, ch.Prob)
	}
	mass := 1.0
	for i, s := range d.Stages {
		if err := s.check(i); err != nil {
			return nil, err
		}
		c.before = append(c.before, mass)
		cut := math.NaN()
		if defined(s.Mass) {
			cut = max(mass-s.Mass, 0)
			mass = s.Mass
		}
		c.cut = append(c.cut, cut)
	}
	return c, nil
}

// check refuses impossible numbers; NaN passes.
func (s ChainStage) check(i int) error {
	where := fmt.Sprintf("stage %d (%s)", i+1, fault.Quote(s.Name, 40))
	switch {
	case s.Support < 0:
		return badNumber(chainName, where, "%d tokens left", s.Support)
	case math.IsInf(s.Mass, 0) || s.Mass < 0 || s.Mass > 1+sumTolerance:
		return badNumber(chainName, where, "kept mass %v is outside 0 to 1", s.Mass)
	case math.IsInf(s.TV, 0) || s.TV < 0 || s.TV > 1+sumTolerance:
		return badNumber(chainName, where, "TV %v is outside 0 to 1", s.TV)
	case s.KLBits < -1e-9: // rounding may leave a divergence a hair below zero
		return badNumber(chainName, where, "KL %v bits is negative", s.KLBits)
	}
	return nil
}

// statement is what stands at the end of a stage's mass bar.
func (c *chain) statement(i int) string {
	s := c.data.Stages[i]
	if !defined(s.Mass) {
		return "n/a · " + plural(s.Support, "token")
	}
	return canvas.Percent(min(s.Mass, 1)) + " · " + plural(s.Support, "token")
}

// distance is what stands beside a stage's lollipop.
func (c *chain) distance(i int) string {
	s := c.data.Stages[i]
	text := "TV n/a"
	if defined(s.TV) {
		text = canvas.Fraction(min(s.TV, 1))
	}
	switch {
	case math.IsNaN(s.KLBits):
		return text + " · KL n/a"
	case math.IsInf(s.KLBits, 1):
		return text + " · KL ∞"
	}
	return text + " · KL " + canvas.Digits(max(s.KLBits, 0), 2) + " bits"
}

func stageName(s ChainStage, i int) string {
	if s.Name == "" {
		return fmt.Sprintf("stage %d", i+1)
	}
	return shortened(s.Name, nameLimit)
}

func (c *chain) finding() string {
	if c.emptyWhy != "" {
		return "One step through a chain"
	}
	cutter, mover := -1, -1
	for i, s := range c.data.Stages {
		if c.cut[i] > 0 && (cutter < 0 || c.cut[i] > c.cut[cutter]) {
			cutter = i
		}
		if s.TV > 0 && (mover < 0 || s.TV > c.data.Stages[mover].TV) {
			mover = i
		}
	}
	last := c.data.Stages[len(c.data.Stages)-1]
	switch {
	case cutter >= 0 && last.Support == 1:
		return fmt.Sprintf("The chain leaves one token of %s, %s of the model’s mass", canvas.Count(c.data.Support), c.lastMass())
	case cutter >= 0 && len(c.data.Stages) == 1:
		return fmt.Sprintf("%s keeps %s of %s and %s of the model’s mass", stageName(last, 0),
			canvas.Count(last.Support), plural(c.data.Support, "token"), c.lastMass())
	case cutter >= 0:
		return fmt.Sprintf("The chain keeps %s of %s and %s of the model’s mass; %s cuts most",
			canvas.Count(last.Support), plural(c.data.Support, "token"), c.lastMass(), stageName(c.data.Stages[cutter], cutter))
	case mover >= 0:
		return fmt.Sprintf("The chain removes no token; %s moves %s of the mass", stageName(c.data.Stages[mover], mover),
			canvas.Percent(min(c.data.Stages[mover].TV, 1)))
	}
	return "The chain leaves the distribution as it is"
}

// lastMass is the share left at the end, or "an undefined share".
func (c *chain) lastMass() string {
	if m := c.data.Stages[len(c.data.Stages)-1].Mass; defined(m) {
		return canvas.Percent(min(m, 1))
	}
	return "an undefined share"
}

func (c *chain) subtitle() string {
	text := "One step"
	if c.data.Prompt != "" {
		text += " after " + quoted(c.data.Prompt, 60)
	}
	if c.emptyWhy != "" {
		return text
	}
	return text + fmt.Sprintf("; %s, applied from top to bottom. TV and KL(after‖before) of each stage alone.",
		plural(len(c.data.Stages), "stage"))
}

func (c *chain) notes() []string {
	var notes []string
	if c.emptyWhy != "" {
		return nil
	}
	undefined := 0
	for i, s := range c.data.Stages {
		for _, v := range []float64{s.Mass, s.TV, s.KLBits} {
			if math.IsNaN(v) {
				undefined++
			}
		}
		if s.Mass > c.before[i]+1e-9 { // rounding alone cannot add this much
			notes = append(notes, fmt.Sprintf("%s brings back tokens with %s of the model’s mass.", stageName(s, i), canvas.Percent(min(s.Mass-c.before[i], 1))))
		}
	}
	if undefined > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d values undefined and left out.", undefined, 3*len(c.data.Stages)))
	}
	if ch := c.data.Chosen; ch != nil {
		notes = append(notes, fmt.Sprintf("%s chose %s, rank %s, with probability %s.", ch.verb(), canvas.Visible(ch.Token), canvas.Count(ch.Rank), canvas.Fraction(min(ch.Prob, 1))))
	}
	if c.data.Stages[len(c.data.Stages)-1].Support == 1 {
		notes = append(notes, "One token is left: the seed has no effect here.")
	}
	return notes
}

func (ch *ChainChoice) verb() string {
	if ch.Selector == "" {
		return "The selector"
	}
	return ch.Selector
}

func (c *chain) describe() string {
	var b strings.Builder
	b.WriteString("Bars of the model mass left after each stage of a chain")
	if c.data.Prompt != "" {
		b.WriteString(" after " + quoted(c.data.Prompt, 200))
	}
	if c.emptyWhy != "" {
		return b.String() + ": no data (" + c.emptyWhy + ")."
	}
	fmt.Fprintf(&b, ". Model: 100%%, %s.", plural(c.data.Support, "token"))
	for i, s := range c.data.Stages {
		fmt.Fprintf(&b, " %s: %s, TV %s.", stageName(s, i), c.statement(i), c.distance(i))
	}
	for _, n := range c.notes() {
		b.WriteString(" " + n)
	}
	return b.String()
}

func (c *chain) table() Table {
	t := Table{Header: []string{"order", "stage", "kept_mass", "cut_mass", "support", "tv", "kl_bits"}}
	if c.emptyWhy != "" {
		return t
	}
	t.Rows = append(t.Rows, []string{"0", "model", "1", "0", fmt.Sprint(c.data.Support), "0", "0"})
	for i, s := range c.data.Stages {
		t.Rows = append(t.Rows, []string{fmt.Sprint(i + 1), canvas.Clean(s.Name), number(s.Mass), number(c.cut[i]),
			fmt.Sprint(s.Support), number(s.TV), number(s.KLBits)})
	}
	return t
}
