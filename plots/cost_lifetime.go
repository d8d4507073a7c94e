package plots

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/plot/vg"

	"lab/plots/canvas"
	"lab/plots/mark"
)

// The question: when has using a model cost as much as training it?

const costLifetimeName = "cost_lifetime"

// CostLifetimeData is the summed cost of using a model over the tokens served,
// beside what its training cost once. Slices are not kept and are equally long;
// a NaN is a point without a value.
type CostLifetimeData struct {
	Model string
	Unit  string // of all costs: "FLOP", "USD", "J"

	Training       float64 // above zero
	TrainingLo     float64 // band of the training; both 0: none
	TrainingHi     float64
	Tokens         []float64 // served, rising
	Inference      []float64 // summed cost after that many tokens
	Lo, Hi         []float64 // band of it, or nil
	Interval       string    // what the bands are: "5 to 95 %, efficiency and demand"
	TokensPerQuery float64   // for the upper axis; 0: not known
	Days           []float64 // the day on which that many tokens have been served, or nil; +Inf: never
	Start          string    // date of the first day, as 2026-12-31; "": not known
	TrainingTokens float64   // D, for the rule at 3 D; 0: not known
	Reach          float64   // tokens that a declining demand adds up to at most; 0: no end
	CostBasis
}

// lifetime is what the figure found.
type lifetime struct {
	at, early, late float64 // tokens at the crossover, and with the bands; ±Inf as meets
	days            float64
	date            string
}

// CostLifetime draws the summed cost of inference against the level of training:
// dashed what training cost, rising what all uses cost together, thin their sum,
// with a dot where inference has cost as much as training. The crossover is
// computed here, by interpolation along the logarithm of both axes.
//
// Errors: fault.Usage for amounts that are not above zero, a date that is none
// and options; fault.Data for slices of unequal length, tokens that do not rise,
// negative costs and an interval upside down. Without a point the picture says so.
func CostLifetime(d CostLifetimeData, o Options) (fig *Figure, err error) {
	defer guard(costLifetimeName, &err)
	if err := d.check(); err != nil {
		return nil, err
	}
	found, err := d.find()
	if err != nil {
		return nil, err
	}
	c := &chart{figure: costLifetimeName, planes: []*plane{d.plane(found)}, basis: d.CostBasis,
		title: d.words(found), begin: "Cost of training and summed cost of inference"}
	c.subtitle = "Dashed: training, paid once. Rising: all uses together. Thin: both."
	if len(d.Lo) > 0 || d.TrainingHi > 0 {
		what := d.Interval
		if what == "" {
			what = "interval"
		}
		c.subtitle += " Band: " + what + "."
	}
	c.notes = d.remarks(found)
	c.says = []string{c.title + "."}
	if len(d.Tokens) == 0 {
		c.emptyWhy, c.title = "no points", "Training against summed inference"
	}
	return c.draw(o)
}

func (d CostLifetimeData) check() error {
	where := "inference"
	n := len(d.Tokens)
	if err := checkColumns(costLifetimeName, where, n, costColumn{name: "tokens", v: d.Tokens, log: true}, costColumn{name: "cost", v: d.Inference, log: true},
		costColumn{name: "lower ends", v: d.Lo, may: true}, costColumn{name: "days", v: d.Days, may: true}); err != nil {
		return err
	}
	if err := checkInterval(costLifetimeName, where, "cost", d.Lo, d.Hi); err != nil {
		return err
	}
	if err := checkRising(costLifetimeName, where, "tokens", d.Tokens); err != nil {
		return err
	}
	if d.TrainingLo != 0 || d.TrainingHi != 0 {
		if !(d.TrainingLo > 0 && d.TrainingLo <= d.Training && d.Training <= d.TrainingHi) || math.IsInf(d.TrainingHi, 0) {
			return badNumber(costLifetimeName, "training", "%v is not within its band from %v to %v", d.Training, d.TrainingLo, d.TrainingHi)
		}
	}
	if n == 0 {
		return nil
	}
	return checkAmounts(costLifetimeName, amount{"cost of training", d.Training, false}, amount{"tokens per query", d.TokensPerQuery, true},
		amount{"training tokens", d.TrainingTokens, true}, amount{"reach of demand", d.Reach, true})
}

// find computes the crossover.
func (d CostLifetimeData) find() (lifetime, error) {
	f := lifetime{at: meets(d.Tokens, d.Inference, d.Training), early: math.NaN(), late: math.NaN(), days: math.NaN()}
	lo, hi := d.TrainingLo, d.TrainingHi
	if hi == 0 {
		lo, hi = d.Training, d.Training
	}
	low, high := d.Lo, d.Hi
	if len(low) == 0 {
		low, high = d.Inference, d.Inference
	}
	if len(d.Lo) > 0 || d.TrainingHi > 0 {
		f.early, f.late = meets(d.Tokens, high, lo), meets(d.Tokens, low, hi)
	}
	start, err := day(costLifetimeName, "start", d.Start)
	if err != nil {
		return f, err
	}
	if defined(f.at) && len(d.Days) > 0 && !d.never(f.at) {
		f.days = valueAt(d.Tokens, d.Days, f.at)
		f.date = dateAfter(start, f.days)
	}
	return f, nil
}

// never reports whether demand ends before that many tokens.
func (d CostLifetimeData) never(tokens float64) bool { return d.Reach > 0 && tokens > d.Reach }

func (d CostLifetimeData) plane(f lifetime) *plane {
	pl := &plane{
		x: Quantity{Name: "tokens", Title: "tokens served", Log: true},
		y: Quantity{Name: "cost", Unit: d.Unit, Log: true},
	}
	level := func(v float64) []float64 {
		out := make([]float64, len(d.Tokens))
		for i := range out {
			out[i] = v
		}
		return out
	}
	training := curve{name: "training", kind: "level", derived: true, look: look{hue: hueTraining, dash: []vg.Length{5, 2}}, X: d.Tokens, Y: level(d.Training)}
	if d.TrainingHi > 0 {
		training.Lo, training.Hi = level(d.TrainingLo), level(d.TrainingHi)
	}
	total := make([]float64, len(d.Tokens))
	for i := range total {
		total[i] = d.Training + d.Inference[i]
	}
	pl.curves = []curve{
		{name: "both together", kind: "total", derived: true, look: look{hue: hueInk, width: canvas.AxisLine}, X: d.Tokens, Y: total},
		training,
		{name: "inference", kind: "sum", look: look{hue: hueInference}, X: d.Tokens, Y: d.Inference, Lo: d.Lo, Hi: d.Hi},
	}
	if defined(f.at) {
		pl.dots = []dots{{name: "crossover", kind: "computed", derived: true, look: look{hue: hueInk}, X: []float64{f.at}, Y: []float64{d.Training},
			Labels: []string{d.crossWords(f)}, Strong: true, Hollow: []bool{d.never(f.at)}}}
	}
	if d.TrainingTokens > 0 {
		pl.rules = []Rule{{Vertical: true, At: 3 * d.TrainingTokens, Label: "3 D = " + canvas.Significant(3*d.TrainingTokens, 3) + " tokens"}}
	}
	if d.Reach > 0 {
		pl.shades = []shade{{X0: d.Reach, X1: math.Inf(1), Y0: math.Inf(-1), Y1: math.Inf(1), Words: "never served"}}
	}
	if d.TokensPerQuery > 0 {
		pl.top = &topAxis{Name: "queries", Per: d.TokensPerQuery}
	}
	if math.IsInf(f.at, 1) { // an end that is not reached is said in the picture too
		last := len(d.Tokens) - 1
		for last > 0 && !pl.placeable(d.Tokens[last], d.Inference[last]) {
			last--
		}
		if d.Inference[last] > 0 {
			pl.notes = []mark.Note{{At: mark.XY{X: d.Tokens[last], Y: d.Inference[last]}, Words: "never within this range", Strong: true}}
		}
	}
	return pl
}

// crossWords stands beside the crossover.
func (d CostLifetimeData) crossWords(f lifetime) string {
	parts := []string{canvas.Significant(f.at, 3) + "\u00a0tokens"}
	if d.TokensPerQuery > 0 {
		parts = append(parts, canvas.Significant(f.at/d.TokensPerQuery, 3)+"\u00a0queries")
	}
	switch {
	case d.never(f.at):
		parts = append(parts, "never: demand ends before")
	case f.date != "":
		parts = append(parts, strings.ReplaceAll(f.date, " ", "\u00a0"))
	case defined(f.days):
		parts = append(parts, "day\u00a0"+canvas.Significant(f.days, 3))
	}
	return strings.Join(parts, " · ")
}

// words states the finding.
func (d CostLifetimeData) words(f lifetime) string {
	begin := "Inference"
	if d.Model != "" {
		begin = shortened(d.Model, nameLimit) + ": inference"
	}
	switch {
	case math.IsNaN(f.at):
		return begin + " against training"
	case math.IsInf(f.at, -1):
		return begin + " costs more than training from the first point on"
	case math.IsInf(f.at, 1):
		return begin + " does not pass training within " + canvas.Significant(largestOf(d.Tokens), 3) + " tokens"
	case d.never(f.at):
		return begin + " never passes training: demand ends at " + canvas.Significant(d.Reach, 3) + " of " + canvas.Significant(f.at, 3) + " tokens"
	}
	text := begin + " passes training after " + canvas.Significant(f.at, 3) + " tokens"
	if f.date != "" {
		text += ", on " + f.date
	}
	return text
}

// remarks say how sure the crossover is.
func (d CostLifetimeData) remarks(f lifetime) []string {
	var out []string
	if !math.IsNaN(f.early) && !math.IsNaN(f.late) {
		from, to := canvas.Significant(f.early, 3), canvas.Significant(f.late, 3)
		if math.IsInf(f.early, -1) {
			from = "before the first point"
		}
		if math.IsInf(f.late, 1) || d.never(f.late) {
			to = "never in this range"
		}
		if d.never(f.early) {
			from = to
		}
		out = append(out, fmt.Sprintf("With the bands the crossover lies between %s and %s tokens.", from, to))
	}
	if defined(f.days) {
		out = append(out, "It is reached "+daysWords(f.days)+" after the first"+startWords(d.Start)+".")
	}
	return out
}

func startWords(start string) string {
	if start == "" {
		return ""
	}
	return " (" + start + ")"
}

func largestOf(v []float64) float64 {
	out := math.Inf(-1)
	for _, x := range v {
		if defined(x) {
			out = max(out, x)
		}
	}
	return out
}
