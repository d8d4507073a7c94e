package cost

import (
	"math"
	"time"

	"lab/core/fault"
)

// Price is what a provider asks, in USD per million tokens. A price that is not
// known is nil, never 0: asking for it is an error.
type Price struct {
	Name   string
	Date   string // the day the list was read, 2006-01-02; a price without one is refused
	Source string

	Input, Cached, Write, Output *float64
	// Batch prices apply to requests of the batch endpoint.
	BatchInput, BatchOutput *float64

	// Tier, when set, takes the place of all prices of a request whose whole prompt
	// has more than TierAbove tokens: of the whole request, not of the excess. A
	// price that the tier does not name is not known there.
	TierAbove int64
	Tier      *Price
}

// USD returns a price for a [Price].
func USD(v float64) *float64 { return &v }

// Bill is the money of a request, by part, in USD.
type Bill struct {
	Prompt, Cached, Written, Output, Reasoning, Wasted, Judge float64
	Tier                                                      bool // prices of the tier were used
}

// Total returns the sum in USD.
func (b Bill) Total() float64 {
	return b.Prompt + b.Cached + b.Written + b.Output + b.Reasoning + b.Wasted + b.Judge
}

// Bill returns what a ledger costs under the price (F16): new, cached and written
// prompt tokens, output, reasoning and wasted tokens as output, judge tokens as
// input, each at its own price per million. batch asks for the prices of the
// batch endpoint, of input and output. A count above 0 whose price is not known is
// an error; so is a price without a date. Holds for the list of that date, without
// minimum charges, rounding and tools.
func (p *Price) Bill(l Ledger, batch bool) (Bill, error) {
	g := guarded("bill")
	if _, err := time.Parse(time.DateOnly, p.Date); err != nil {
		g.refuse("give the day the price was read as YYYY-MM-DD", "the price of %s has the date %s, which is no date", fault.Quote(p.Name, 60), fault.Quote(p.Date, 20))
	}
	l.check(g)
	use := p
	var b Bill
	if p.Tier != nil && l.PromptTokens() > p.TierAbove {
		use, b.Tier = p.Tier, true
	}
	input, output, what := use.Input, use.Output, ""
	if batch {
		input, output, what = use.BatchInput, use.BatchOutput, "batch "
	}
	part := func(to *float64, tokens int64, price *float64, name string) {
		if tokens == 0 {
			return
		}
		if price == nil {
			g.refuse("a missing price is not taken as free: add it with its date and source", "%d tokens need the %s price of %s, which is not known", tokens, name, fault.Quote(p.Name, 60))
			return
		}
		g.nonNegative(name+" price", *price)
		*to = float64(tokens) * *price / 1e6
	}
	part(&b.Prompt, l.Prompt, input, what+"input")
	part(&b.Cached, l.Cached, use.Cached, "cached input")
	part(&b.Written, l.Written, use.Write, "cache write")
	part(&b.Output, l.Output, output, what+"output")
	part(&b.Reasoning, l.Reasoning, output, what+"output")
	part(&b.Wasted, l.Wasted, output, what+"output")
	part(&b.Judge, l.Judge, input, what+"input")
	if g.err != nil {
		return Bill{}, g.err
	}
	return b, nil
}

// DoubleCounted returns the wrong bill that several tools have printed, for
// comparison: the full prompt at the input price and the cached part again at its
// own (USD).
func DoubleCounted(u Usage, p *Price) (float64, error) {
	l := Ledger{Prompt: u.Prompt, Cached: u.Cached, Output: u.Output}
	b, err := p.Bill(l, false)
	return b.Total(), err
}

// Rented returns USD (F16): chip-hours × USD per chip-hour.
func Rented(chipHours, usdPerHour float64) (float64, error) {
	g := guarded("rent")
	g.positive("chip-hours", chipHours)
	g.nonNegative("USD per hour", usdPerHour)
	return g.of(chipHours * usdPerHour)
}

// USDPerMillion returns USD per million tokens from rented chips (F16):
// usd/hour × n / (3600 tokens/s) × 1e6.
func USDPerMillion(usdPerHour, chips, tokensPerSecond float64) (float64, error) {
	g := guarded("USD per million tokens")
	g.nonNegative("USD per hour", usdPerHour)
	g.positive("chips", chips)
	g.positive("tokens per second", tokensPerSecond)
	return g.of(usdPerHour * chips / (3600 * tokensPerSecond) * 1e6)
}

// CacheUse is when a cached prefix pays.
type CacheUse struct {
	Breakeven float64 // (w − r)/(1 − r): uses at which both ways cost the same
	Uses      int64   // the smallest number of uses that costs less with the cache
}

// CacheBreakeven returns after how many uses a cached prefix costs less than
// sending it each time (F16): the smallest n with w + r (n−1) < n, for prices of
// write and read as multiples of the input price. read must be below 1.
func CacheBreakeven(write, read float64) (CacheUse, error) {
	g := guarded("cache break-even")
	g.positive("write multiplier", write)
	g.nonNegative("read multiplier", read)
	if read >= 1 {
		g.refuse("", "reading costs %g times the input: a cache never pays", read)
	}
	if g.err != nil {
		return CacheUse{}, g.err
	}
	b := (write - read) / (1 - read)
	if b > largest {
		g.refuse("", "it pays after %g uses, more than can be counted", b)
		return CacheUse{}, g.err
	}
	return CacheUse{Breakeven: b, Uses: max(1, int64(math.Floor(b))+1)}, nil
}

// Conversation returns the ledger of a chat of turns, each of user tokens in and
// answer tokens out, that sends everything before it again after system tokens (F16):
// quadratic in turns. With cache, what an earlier turn sent or got is read from
// the cache.
func Conversation(system, user, answer, turns int64, cache bool) (Ledger, error) {
	g := guarded("conversation")
	g.atLeast("system tokens", system, 0)
	g.atLeast("user tokens", user, 1)
	g.atLeast("answer tokens", answer, 1)
	g.atLeast("turns", turns, 1)
	const most = 1 << 24
	if max(system, user, answer) > most || turns > 1<<12 {
		g.refuse("", "more than %d tokens or %d turns", most, 1<<12)
	}
	if g.err != nil {
		return Ledger{}, g.err
	}
	l := Ledger{Output: turns * answer}
	again := (turns - 1) * system // tokens of earlier turns
	again += (user + answer) * (turns * (turns - 1) / 2)
	if cache {
		l.Cached, l.Prompt = again, system+turns*user
		return l, nil
	}
	l.Prompt = again + system + turns*user
	return l, nil
}
