package scenario

import (
	"fmt"
	"math"
	"strings"
	"time"

	"lab/core/cost"
)

// Training is what was paid once.
type Training struct {
	Params cost.Uncertain // N of 6 N D: weights multiplied for one token
	Tokens cost.Uncertain // D
}

// Use is what is paid at every request.
type Use struct {
	Params         *cost.Uncertain // of the served model; nil: the trained one
	Prompt         cost.Uncertain  // prompt tokens of a request; Known(0) when all tokens are in Output
	Output         cost.Uncertain  // output tokens, or all of them
	RequestsPerDay cost.Uncertain  // on the first day
	// Growth is 1 + the share by which demand grows in GrowthDays.
	Growth     cost.Uncertain
	GrowthDays float64
	Limit      float64 // requests a day that growth ends at; 0 for none
}

// Machine is one side's device and how well it is used.
type Machine struct {
	Peak       float64         // dense FLOP/s of a chip
	Prefill    cost.Uncertain  // MFU of prompts, and of training
	Decode     cost.Uncertain  // MFU of output; not used in training
	USDPerHour *cost.Uncertain // nil: not known
	Name       string
}

// BreakEven is the question: after how many uses has inference cost as much as
// training?
type BreakEven struct {
	Train Training
	Serve Use
	// TrainOn and ServeOn are nil where only operations count. With one and no
	// prices a chip-hour costs the same on both sides.
	TrainOn, ServeOn *Machine
	Start            time.Time // first day of serving; zero: no date
	Draws            Draws
}

const breakingEven = "cost breakeven"

// even is the question with its uncertain numbers in place.
type even struct {
	in                                                       inputs
	n, d, served, prompt, output, day, growth                int
	trainMFU, prefillMFU, decodeMFU, trainPrice, servedPrice int
	q                                                        *BreakEven
	priced                                                   bool
}

// Answer returns the training FLOP (F6), FLOP of a request, and the tokens,
// requests and days after which the sum of all requests passes it (F28 to F31); with
// machines the same in device time, weighed by what a chip-hour costs. Attention
// is left out on both sides: contexts much shorter than 6 d.
func (b *BreakEven) Answer() (*Answer, error) {
	e, err := b.place()
	if err != nil {
		return nil, err
	}
	a := &Answer{}
	a.assume("6 N D FLOP of training, 2 N of each served token, prompt tokens included; attention not counted")
	a.assume("demand starts at %s requests a day and %s", band(b.Serve.RequestsPerDay), b.growth())
	add := func(name, unit, formula string, kind cost.Kind, note string, f func([]float64) (float64, error)) {
		if err != nil {
			return
		}
		var q cost.Quantity
		if q, err = e.in.quantity(b.Draws, f, func(v float64) cost.Quantity { return cost.Of(v, unit, formula, kind, note) }); err == nil {
			a.add(name, q)
		}
	}
	add("training_flop", "FLOP", "F6", cost.Exact, "", e.training)
	add("flop_per_request", "FLOP", "F31", cost.Exact, "", e.request)
	add("crossover_tokens", "tokens", "F28", cost.Exact, "", func(x []float64) (float64, error) { return cost.CrossoverFLOP(x[e.n], x[e.d], x[e.served]) })
	add("crossover_requests", "requests", "F28", cost.Exact, "", e.requests)
	add("crossover_days", "days", e.formula(), cost.Scenario, "of demand as assumed", e.days(e.requests))
	if b.TrainOn == nil {
		a.absent("no hardware and utilisation were given for both sides", "training_usd", "usd_per_request", "money_crossover_tokens", "money_crossover_requests", "money_crossover_days")
		return a, err
	}
	a.assume("training on %s at MFU %s, serving on %s at MFU %s for prompts and %s for output", b.TrainOn.Name, band(b.TrainOn.Prefill), b.ServeOn.Name, band(b.ServeOn.Prefill), band(b.ServeOn.Decode))
	if e.priced {
		add("training_usd", "USD", "F16", cost.Scenario, "rented", e.trainingMoney)
		add("usd_per_request", "USD", "F16", cost.Scenario, "rented", e.requestMoney)
	} else {
		a.assume("a chip-hour costs the same on both sides")
		a.absent("no price per chip-hour was given", "training_usd", "usd_per_request")
	}
	add("money_crossover_tokens", "tokens", "F28", cost.Scenario, "", e.over(e.moneyRequests, e.tokens))
	add("money_crossover_requests", "requests", "F28", cost.Scenario, "", e.moneyRequests)
	add("money_crossover_days", "days", e.formula(), cost.Scenario, "of demand as assumed", e.days(e.moneyRequests))
	return a, err
}

// place puts the uncertain numbers in order: the order is part of the draws.
func (b *BreakEven) place() (*even, error) {
	e := &even{q: b}
	if (b.TrainOn == nil) != (b.ServeOn == nil) {
		return nil, usage(breakingEven, "one side has hardware and the other has none").Fix("give both, or neither")
	}
	if !(b.Serve.GrowthDays > 0) {
		return nil, usage(breakingEven, "growth over %g days is no rate", b.Serve.GrowthDays)
	}
	e.n, e.d = e.in.put(b.Train.Params), e.in.put(b.Train.Tokens)
	e.served = e.n
	if b.Serve.Params != nil {
		e.served = e.in.put(*b.Serve.Params)
	}
	e.prompt, e.output, e.day, e.growth = e.in.put(b.Serve.Prompt), e.in.put(b.Serve.Output), e.in.put(b.Serve.RequestsPerDay), e.in.put(b.Serve.Growth)
	if b.TrainOn == nil {
		return e, nil
	}
	t, s := b.TrainOn, b.ServeOn
	if !(t.Peak > 0) || !(s.Peak > 0) {
		return nil, usage(breakingEven, "a peak of %g or %g FLOP/s is not above 0", t.Peak, s.Peak)
	}
	e.trainMFU, e.prefillMFU, e.decodeMFU = e.in.put(t.Prefill), e.in.put(s.Prefill), e.in.put(s.Decode)
	if (t.USDPerHour == nil) != (s.USDPerHour == nil) {
		return nil, usage(breakingEven, "one side has a price per chip-hour and the other has none").Fix("give both, or neither for equal prices")
	}
	if t.USDPerHour == nil && (t.Name != s.Name || t.Peak != s.Peak) {
		return nil, usage(breakingEven, "training and serving use different devices without prices").Fix("give the price of a chip-hour on both sides: it is not the same")
	}
	if e.priced = t.USDPerHour != nil; e.priced {
		e.trainPrice, e.servedPrice = e.in.put(*t.USDPerHour), e.in.put(*s.USDPerHour)
	}
	return e, nil
}

func (e *even) training(x []float64) (float64, error) { return cost.Train6ND(x[e.n], x[e.d]) }

func (e *even) tokens(x []float64) (float64, error) { return x[e.prompt] + x[e.output], nil }

func (e *even) request(x []float64) (float64, error) {
	if !(x[e.prompt] >= 0 && x[e.output] >= 0 && x[e.prompt]+x[e.output] > 0) {
		return 0, usage(breakingEven, "a request of %g prompt and %g output tokens has none", x[e.prompt], x[e.output])
	}
	return 2 * x[e.served] * (x[e.prompt] + x[e.output]), nil
}

func (e *even) requests(x []float64) (float64, error) {
	once, err := e.training(x)
	if err != nil {
		return 0, err
	}
	each, err := e.request(x)
	if err != nil {
		return 0, err
	}
	return cost.Crossover(once, each)
}

// trainingHours and requestHours are chip-hours.
func (e *even) trainingHours(x []float64) (float64, error) {
	flop, err := e.training(x)
	if err != nil {
		return 0, err
	}
	s, err := cost.TimeFromMFU(flop, x[e.trainMFU], cost.Device{Peak: e.q.TrainOn.Peak, Chips: 1})
	return s / 3600, err
}

func (e *even) requestHours(x []float64) (float64, error) {
	if _, err := e.request(x); err != nil {
		return 0, err
	}
	sum := 0.0
	for _, part := range [2]struct{ tokens, mfu float64 }{{x[e.prompt], x[e.prefillMFU]}, {x[e.output], x[e.decodeMFU]}} {
		if part.tokens == 0 {
			continue
		}
		s, err := cost.TimeFromMFU(2*x[e.served]*part.tokens, part.mfu, cost.Device{Peak: e.q.ServeOn.Peak, Chips: 1})
		if err != nil {
			return 0, err
		}
		sum += s / 3600
	}
	return sum, nil
}

func (e *even) trainingMoney(x []float64) (float64, error) {
	h, err := e.trainingHours(x)
	if err != nil || !e.priced {
		return h, err
	}
	return cost.Rented(h, x[e.trainPrice])
}

func (e *even) requestMoney(x []float64) (float64, error) {
	h, err := e.requestHours(x)
	if err != nil || !e.priced {
		return h, err
	}
	return cost.Rented(h, x[e.servedPrice])
}

func (e *even) moneyRequests(x []float64) (float64, error) {
	once, err := e.trainingMoney(x)
	if err != nil {
		return 0, err
	}
	each, err := e.requestMoney(x)
	if err != nil {
		return 0, err
	}
	return cost.Crossover(once, each)
}

// over is the product of two.
func (e *even) over(f, g func([]float64) (float64, error)) func([]float64) (float64, error) {
	return func(x []float64) (float64, error) {
		v, err := f(x)
		if err != nil {
			return 0, err
		}
		w, err := g(x)
		return v * w, err
	}
}

func (e *even) days(requests func([]float64) (float64, error)) func([]float64) (float64, error) {
	return func(x []float64) (float64, error) {
		total, err := requests(x)
		if err != nil {
			return 0, err
		}
		rate, err := cost.PerDay(x[e.growth]-1, e.q.Serve.GrowthDays)
		if err != nil {
			return 0, err
		}
		return cost.Demand{FirstDay: x[e.day], Growth: rate, Limit: e.q.Serve.Limit}.Days(total)
	}
}

func (e *even) formula() string {
	if e.q.Serve.Limit > 0 {
		return "F30"
	}
	return "F29"
}

func (b *BreakEven) growth() string {
	g := b.Serve.Growth
	if g.IsKnown() && g.Median == 1 {
		return "stays there"
	}
	share := func(v float64) string { return fmt.Sprintf("%.3g%%", 100*(v-1)) }
	s := "grows by " + share(g.Median)
	if !g.IsKnown() {
		s += fmt.Sprintf(" (%s to %s)", share(g.Lo), share(g.Hi))
	}
	s += fmt.Sprintf(" every %g days", b.Serve.GrowthDays)
	if b.Serve.Limit > 0 {
		s += fmt.Sprintf(" up to %s a day", Number(b.Serve.Limit))
	}
	return s
}

// Sentence says what an answer of this question found, with its bands.
func (b *BreakEven) Sentence(a *Answer) string {
	var s strings.Builder
	training, _ := a.Get("training_flop")
	fmt.Fprintf(&s, "Training %s parameters on %s tokens takes %.3g FLOP. ", about(b.Train.Params), about(b.Train.Tokens), training.Value)
	fmt.Fprintf(&s, "Serving starts at %s requests of %s tokens a day, %s, and ", about(b.Serve.RequestsPerDay), about(together(b.Serve.Prompt, b.Serve.Output)), b.growth())
	s.WriteString(b.passing(a, ""))
	if _, ok := a.Get("money_crossover_days"); ok {
		what := "In device time at the utilisations given, it "
		if _, ok := a.Get("training_usd"); ok {
			what = "In money, it "
		}
		s.WriteString(" " + what + b.passing(a, "money_"))
	}
	return s.String()
}

// about writes an uncertain number for a sentence.
func about(u cost.Uncertain) string {
	if u.IsKnown() {
		return Number(u.Median)
	}
	return fmt.Sprintf("%s (%s to %s)", Number(u.Median), Number(u.Lo), Number(u.Hi))
}

// together is the sum for a sentence; its ends are those of both.
func together(a, b cost.Uncertain) cost.Uncertain {
	return cost.Uncertain{Median: a.Median + b.Median, Lo: a.Lo + b.Lo, Hi: a.Hi + b.Hi}
}

func (b *BreakEven) passing(a *Answer, which string) string {
	tokens, _ := a.Get(which + "crossover_tokens")
	requests, _ := a.Get(which + "crossover_requests")
	days, _ := a.Get(which + "crossover_days")
	if math.IsInf(days.Value, 1) {
		return fmt.Sprintf("never passes it: that would take %s, %s.", span(tokens), span(requests))
	}
	s := fmt.Sprintf("passes it after %s, %s, %s", span(tokens), span(requests), span(days))
	if date := b.date(days.Value); date != "" {
		s += " (" + date
		if days.HasBand() {
			s += ", " + orNever(b.date(days.Lo)) + " to " + orNever(b.date(days.Hi))
		}
		s += ")"
	}
	if days.HasBand() && strings.Contains(days.Note, "never in") {
		s += "; " + strings.SplitN(days.Note[strings.Index(days.Note, "never in"):], ";", 2)[0]
	}
	return s + "."
}

// span writes a number with its unit and its 5 to 95% band.
func span(q cost.Quantity) string {
	if !q.HasBand() {
		return Number(q.Value) + " " + q.Unit
	}
	return fmt.Sprintf("%s %s (5 to 95%%: %s to %s)", Number(q.Value), q.Unit, Number(q.Lo), Number(q.Hi))
}

func orNever(s string) string {
	if s == "" {
		return "never"
	}
	return s
}

// date is the day after so many days from the start, or "" without a start or
// beyond the year 9999.
func (b *BreakEven) date(days float64) string {
	if b.Start.IsZero() || !(days < 365*8000) {
		return ""
	}
	t := b.Start.AddDate(0, 0, int(days))
	if t.Year() > 9999 {
		return ""
	}
	return t.Format(time.DateOnly)
}
