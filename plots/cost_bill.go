package plots

import (
	"fmt"

	"lab/core/fault"
	"lab/plots/canvas"
)

// The question: what is the bill of a response made of?

const costBillName = "cost_bill"

// CostBillData is the bill of one response by its parts, a bar per strategy.
// Slices are not kept.
type CostBillData struct {
	Unit      string    // "USD", "FLOP", "J", "s", "tokens"
	Parts     []string  // new prompt, cached, write, output, reasoning, rejected, judge
	Bars      []CostBar // Total is what was billed, when known
	PriceDate string    // of the price list, as 2026-12-31; needed when Unit is a currency
	CostBasis
}

// CostBill draws the bill of a response as lying bars, one per strategy, with
// the share of each part in it and the total at its end.
//
// Errors: fault.Usage for a price without a date, more than 40 bars or 12 parts
// and options; fault.Data for bars whose values are not as many as the parts,
// negative values and names given twice. NaN values are left out, counted, and
// make the total "at least".
func CostBill(d CostBillData, o Options) (fig *Figure, err error) {
	defer guard(costBillName, &err)
	if d.PriceDate == "" && d.Unit != "FLOP" && d.Unit != "J" && d.Unit != "tokens" && d.Unit != "s" && len(d.Bars) > 0 {
		return nil, fault.New(fault.Usage, "figure "+costBillName, "price date", "a bill in %s has none", fault40(d.Unit)).
			Fix("give the date of the price list, as in 2026-12-31")
	}
	if _, err := day(costBillName, "price date", d.PriceDate); err != nil {
		return nil, err
	}
	s := &stack{figure: costBillName, value: Quantity{Name: "cost", Title: "cost of a response", Unit: d.Unit}, groups: "strategy", parts: d.Parts, bars: d.Bars,
		total: "billed", basis: d.CostBasis, begin: "Lying stacked bars of the cost of a response"}
	if err := newStack(s); err != nil {
		return nil, err
	}
	s.title = d.finding()
	s.subtitle = "In the bars: the share of each part."
	if d.PriceDate != "" {
		s.subtitle += " Prices of " + d.PriceDate + "."
	}
	s.says = []string{s.title + "."}
	return s.draw(o)
}

// finding compares the dearest strategy with the cheapest and names its largest
// part.
func (d CostBillData) finding() string {
	low, high := -1, -1
	sums := make([]float64, len(d.Bars))
	for i, b := range d.Bars {
		sum, whole := b.sum()
		if sums[i] = sum; !whole || !(sum > 0) {
			continue
		}
		if low < 0 || sum < sums[low] {
			low = i
		}
		if high < 0 || sum > sums[high] {
			high = i
		}
	}
	if low < 0 {
		return "The bill of a response"
	}
	b := d.Bars[high]
	k := b.largestPart()
	part := fmt.Sprintf("%s of it is %s", canvas.Percent(b.Values[k]/sums[high]), shortened(d.Parts[k], 24))
	if sums[low] == sums[high] {
		return fmt.Sprintf("A response costs %s; %s", amountWords(sums[high], d.Unit), part)
	}
	return fmt.Sprintf("%s: ×%s the cost of %s; %s", sentence(shortened(stackName(b), nameLimit)), canvas.Significant(sums[high]/sums[low], 3), shortened(stackName(d.Bars[low]), nameLimit), part)
}
