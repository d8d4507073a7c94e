package cost

import "math"

// Side is one side of training against serving: how much a FLOP at the peak
// costs and what share of the peak is reached.
type Side struct {
	MFU        float64 // in (0, 1]
	USDPerFLOP float64 // price of one FLOP at full utilisation, in any unit of money common to both sides
}

// CrossoverFLOP returns the served tokens after which inference has taken as many
// FLOP as training (F28): 6 N D / (2 N_served); 3 D when the served model is the
// trained one. Attention is left out on both sides, and prefill tokens count as
// served.
func CrossoverFLOP(trained, tokens, served float64) (float64, error) {
	g := guarded("crossover")
	g.positive("trained parameters", trained)
	g.positive("training tokens", tokens)
	g.positive("served parameters", served)
	return g.of(6 * trained * tokens / (2 * served))
}

// CrossoverMoney returns the served tokens after which inference has cost as much
// as training (F28): the crossover in FLOP × (MFU_serve/MFU_train) × (price of
// training/price of serving).
func CrossoverMoney(trained, tokens, served float64, train, serve Side) (float64, error) {
	flop, err := CrossoverFLOP(trained, tokens, served)
	if err != nil {
		return 0, err
	}
	g := guarded("crossover")
	g.share("training MFU", train.MFU)
	g.share("serving MFU", serve.MFU)
	g.positive("training price", train.USDPerFLOP)
	g.positive("serving price", serve.USDPerFLOP)
	return g.of(flop * serve.MFU / train.MFU * train.USDPerFLOP / serve.USDPerFLOP)
}

// Crossover returns the uses after which uses of each cost add up to once (F28
// and F31): once/each, in any unit common to both.
func Crossover(once, each float64) (float64, error) {
	g := guarded("crossover")
	g.positive("training cost", once)
	g.positive("cost of a use", each)
	return g.of(once / each)
}

// Demand is how many uses, or tokens, a day brings.
type Demand struct {
	FirstDay float64 // q0, uses on the first day
	Growth   float64 // g, continuous rate per day; 0 is flat, negative declines
	// Limit is K, the uses a day that logistic growth ends at; 0 for exponential
	// growth without a limit.
	Limit float64
}

// PerDay returns the continuous rate per day of a share by which demand grows in
// period days: ln(1+share)/period. share must be above −1.
func PerDay(share, period float64) (float64, error) {
	g := guarded("growth")
	g.positive("period", period)
	if !(share > -1) {
		g.refuse("", "growth = %g leaves less than nothing", share)
	}
	return g.of(math.Log1p(share) / period)
}

func (d Demand) check(g *guard) {
	g.positive("uses on the first day", d.FirstDay)
	g.finite("growth", d.Growth)
	g.nonNegative("limit", d.Limit)
	if d.Limit > 0 {
		if d.FirstDay >= d.Limit {
			g.refuse("", "the first day's %g uses are not below the limit of %g", d.FirstDay, d.Limit)
		}
		g.positive("growth towards a limit", d.Growth)
	}
}

// Days returns the days until demand has added up to total (F29): ln(1+g X/q0)/g,
// X/q0 when flat. With g < 0 and X ≥ q0/|g| it never does: +Inf. With a limit
// (F30): t = ln((A+1) e^{rX/K} − A)/r, A = K/q0 − 1. Holds for one product and one
// model; a model that is replaced needs a cap on its lifetime.
func (d Demand) Days(total float64) (float64, error) {
	g := guarded("days to crossover")
	g.nonNegative("total", total)
	d.check(g)
	if g.err != nil {
		return 0, g.err
	}
	if d.Limit > 0 {
		// ln((A+1)e^x − A) = x + ln(A+1 − A e^−x), which does not overflow.
		a, x := d.Limit/d.FirstDay-1, d.Growth*total/d.Limit
		return g.of((x + math.Log1p(-a*math.Expm1(-x))) / d.Growth)
	}
	x := d.Growth * total / d.FirstDay
	switch {
	case x <= -1:
		return never, nil
	case math.Abs(x) < 1e-8: // ln(1+x)/g = (X/q0) (1 − x/2 + …); also at g = 0
		return g.of(total / d.FirstDay * (1 - x/2))
	}
	return g.of(math.Log1p(x) / d.Growth)
}

// Reach returns the uses that a declining demand adds up to at most (F29): q0/|g|;
// +Inf when it does not decline.
func (d Demand) Reach() (float64, error) {
	g := guarded("reach of demand")
	d.check(g)
	if g.err == nil && d.Growth >= 0 {
		return never, nil
	}
	return g.of(d.FirstDay / -d.Growth)
}

// Sum returns the uses of the first t days: q0 (e^{gt} − 1)/g, q0 t when flat; with
// a limit (K/r) ln((A + e^{rt})/(A+1)). It is the inverse of [Demand.Days].
func (d Demand) Sum(days float64) (float64, error) {
	g := guarded("sum of demand")
	g.nonNegative("days", days)
	d.check(g)
	if g.err != nil {
		return 0, g.err
	}
	x := d.Growth * days
	switch {
	case d.Limit > 0:
		a := d.Limit/d.FirstDay - 1 // ln((A+e^x)/(A+1)) = x + ln((1 + A e^−x)/(A+1))
		return g.of(d.Limit / d.Growth * (x + math.Log((1+a*math.Exp(-x))/(a+1))))
	case math.Abs(x) < 1e-8:
		return g.of(d.FirstDay * days * (1 + x/2))
	}
	return g.of(d.FirstDay * math.Expm1(x) / d.Growth)
}

// Amortised returns the cost of a use when training is spread over all of them
// (F31): C/Q + c. Training is half of the bill at [Crossover](C, c) uses.
func Amortised(training, uses, each float64) (float64, error) {
	g := guarded("amortised cost")
	g.nonNegative("training cost", training)
	g.positive("uses", uses)
	g.nonNegative("cost of a use", each)
	return g.of(training/uses + each)
}
