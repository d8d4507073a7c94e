package tables

import (
	"fmt"
	"slices"
	"strings"

	"lab/core/fault"
)

// RateKinds are the kinds of tokens that a rate is of.
func RateKinds() []string {
	return []string{"input", "output", "cached", "cache_write", "batch_input", "batch_output"}
}

// of returns where the rate of a kind is.
func (r *Rates) of(kind string) **float64 {
	switch kind {
	case "input":
		return &r.Input
	case "output":
		return &r.Output
	case "cached":
		return &r.Cached
	case "cache_write":
		return &r.CacheWrite
	case "batch_input":
		return &r.BatchInput
	case "batch_output":
		return &r.BatchOutput
	}
	return nil
}

// Known returns the rate of a kind, one of [RateKinds]; ok is false where the list
// does not have it.
func (r Rates) Known(kind string) (usd float64, ok bool) {
	if at := r.of(kind); at != nil && *at != nil {
		return **at, true
	}
	return 0, false
}

// Rates returns the rates for a request with a prompt of that many tokens. A list
// that is dearer above a threshold is so for the whole request, not for the excess,
// and what it does not state there is not known.
func (p *Price) Rates(promptTokens int64) Rates {
	r := p.USDPerMillion
	for _, tier := range p.Above {
		if promptTokens > tier.PromptTokens {
			r = tier.USDPerMillion
		}
	}
	return r
}

// Rate returns USD per million tokens of a kind, one of [RateKinds], for a request
// with a prompt of that many tokens. A rate that the list does not have is a usage
// error: it is not free.
func (p *Price) Rate(kind string, promptTokens int64) (float64, error) {
	r := p.Rates(promptTokens)
	at := r.of(kind)
	if at == nil {
		return 0, fault.Unknown("cost", "kind of token", kind, RateKinds())
	}
	if *at != nil {
		return **at, nil
	}
	var has []string
	for _, k := range RateKinds() {
		if *r.of(k) != nil {
			has = append(has, k)
		}
	}
	where := ""
	if promptTokens > 0 && len(p.Above) > 0 && promptTokens > p.Above[0].PromptTokens {
		where = fmt.Sprintf(" for a prompt of %d tokens", promptTokens)
	}
	return 0, fault.New(fault.Usage, "cost", fmt.Sprintf("price of %q", p.Name), "no rate of %s tokens is known%s (%s, %s); they are not free", kind, where, p.Source, p.AsOf).
		Fix("it has %s; give others in a table of your own", strings.Join(has, ", "))
}

// Price returns the price of a model's tokens on a day, with warnings when the
// record is older than the day, or only a later one is known. Of several records
// of a layer those that state the days they were asked on, this one among them, come
// first, then the newest that is not later than the day, then the earliest later one.
// An unknown name, and a name whose prices are all of other days, are usage errors.
func (t *Tables) Price(name string, asOf Date) (Price, []string, error) {
	if !asOf.Valid() {
		return Price{}, nil, fault.New(fault.Usage, "cost", "", "the day %s is none", fault.Quote(string(asOf), 40)).Fix(`write it as "2026-01-31"`)
	}
	var best *Price
	replaces, outside := "", []*Price(nil)
	for _, l := range slices.Backward(t.layers) {
		list := l.prices.hits(name)
		if best != nil && len(list) > 0 {
			replaces = list[0].Origin
			break
		}
		for _, p := range list {
			switch {
			case p.From != "" && asOf < p.From || p.Until != "" && asOf >= p.Until:
				outside = append(outside, p)
			case best == nil || p.before(best, asOf):
				best = p
			}
		}
	}
	if best == nil && outside == nil {
		return Price{}, nil, t.unknown("price", name, namesOf(t, pricesOf, true))
	}
	if best == nil {
		p := outside[0]
		return Price{}, nil, fault.New(fault.Usage, "cost", fmt.Sprintf("price of %q", name), "none is known for %s: it was asked %s (%s)", asOf, p.Days(), p.Source).
			Fix("choose another day, or give the price of that day in a table of your own")
	}
	out := *best
	out.Replaces = replaces
	var warnings []string
	if best.From == "" && best.Until == "" || best.AsOf < asOf {
		warnings = age("the price of "+best.Name, &best.Fact, asOf)
	}
	return out, warnings, nil
}

// before reports whether p is to be taken for a day rather than q; both hold on it.
func (p *Price) before(q *Price, asOf Date) bool {
	stated := func(p *Price) bool { return p.From != "" || p.Until != "" }
	if a, b := stated(p), stated(q); a != b {
		return a
	}
	if a, b := p.AsOf <= asOf, q.AsOf <= asOf; a != b {
		return a
	} else if a {
		return p.AsOf > q.AsOf
	}
	return p.AsOf < q.AsOf
}

// Days says when a price was asked; empty when its source does not.
func (p *Price) Days() string {
	switch {
	case p.From == "" && p.Until == "":
		return ""
	case p.From == "":
		return "until " + string(p.Until)
	case p.Until == "":
		return "from " + string(p.From)
	}
	return "from " + string(p.From) + " until " + string(p.Until)
}

// age warns of a fact that was stated for another day than the one asked for.
func age(what string, f *Fact, asOf Date) []string {
	switch d := f.AsOf.DaysTo(asOf); {
	case d > 0:
		return []string{fmt.Sprintf("%s is of %s (%s), %d days before %s", what, f.AsOf, f.Source, d, asOf)}
	case d < 0:
		return []string{fmt.Sprintf("%s is of %s (%s), %d days after %s", what, f.AsOf, f.Source, -d, asOf)}
	}
	return nil
}

// AllPrices returns the prices of every name, sorted by name and day; where a later
// layer has some of a name, only those.
func (t *Tables) AllPrices() []Price {
	var out []Price
	for _, name := range namesOf(t, pricesOf, false) {
		first := len(out)
		for _, l := range slices.Backward(t.layers) {
			list := l.prices.hits(name)
			if len(list) == 0 {
				continue
			}
			if !strings.EqualFold(list[0].Name, name) {
				break // another name stands in front of this one
			}
			if len(out) > first {
				for i := range out[first:] {
					out[first+i].Replaces = list[0].Origin
				}
				break
			}
			for _, p := range list {
				out = append(out, *p)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Price) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return strings.Compare(string(a.From+a.AsOf), string(b.From+b.AsOf))
	})
	return out
}

// distinctPrices refuses a layer with two prices of a name that no day tells apart.
func (l *layer) distinctPrices() error {
	for _, name := range sortedKeys(l.prices.own) {
		list := l.prices.own[name]
		if len(list) > mostOfAName {
			return fault.New(fault.Limit, op, fault.Quote(list[0].Origin, 120), "there are %d prices of %q, and %d are read", len(list), name, mostOfAName)
		}
		for i, p := range list {
			for _, q := range list[:i] {
				apart := p.Until != "" && q.From != "" && p.Until <= q.From || q.Until != "" && p.From != "" && q.Until <= p.From
				if p.AsOf == q.AsOf && !apart {
					return fault.New(fault.Data, op, fault.Quote(p.Origin, 120), "there are two prices of %q of %s, the other in %s", p.Name, p.AsOf, fault.Quote(q.Origin, 120)).
						Fix("give each another as_of, or the days it was asked on with from and until")
				}
			}
		}
	}
	return nil
}

// mostOfAName bounds the prices of one name in one layer.
const mostOfAName = 500
