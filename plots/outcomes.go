package plots

import (
	"fmt"

	"lab/plots/canvas"
)

// The question: how far do the outcomes of one strategy lie apart when only the
// seed changes, and is another strategy better beyond that spread?

const outcomesName = "outcomes"

// Outcomes draws a metric of the samples of several strategies, a row for each,
// as [Violin] does: the density cut at the range of the data with quartiles and
// median for 20 samples and more, the samples themselves for fewer, and of equal
// ones a line and their number. The title says which median is highest and where
// the seed makes no difference. Values, errors and limits are those of Violin.
func Outcomes(d SampleData, o Options) (fig *Figure, err error) {
	defer guard(outcomesName, &err)
	return drawViolin(outcomesName, d, o, outcomesFinding)
}

// outcomesFinding makes the title from the medians.
func outcomesFinding(v *violin) string {
	name := v.data.Value.words()
	if v.emptyWhy != "" {
		return name + " over seeds"
	}
	high, low, same, still, most := -1, -1, 0, 0, 0
	median := func(i int) float64 { return quantile(v.sorted[i], 0.5) }
	for i, s := range v.sorted {
		if len(s) == 0 {
			continue
		}
		most = max(most, len(s))
		if identical(s) && len(s) > 1 {
			same, still = same+1, i
		}
		if high < 0 || median(i) > median(high) {
			high = i
		}
		if low < 0 || median(i) < median(low) {
			low = i
		}
	}
	value := func(i int) string {
		text := canvas.Digits(median(i), 3)
		if u := v.data.Value.Unit; u != "" {
			text += " " + u
		}
		return text
	}
	called := func(i int) string { return shortened(v.words(i), nameLimit) }
	title := ""
	switch {
	case len(v.sorted) == 1:
		title = fmt.Sprintf("%s: median %s of %s", name, value(high), plural(most, "sample"))
	case median(high) == median(low):
		title = fmt.Sprintf("%s: all medians are %s", name, value(high))
	default:
		title = fmt.Sprintf("%s: highest median %s for %s, lowest %s for %s", name, value(high), called(high), value(low), called(low))
	}
	switch {
	case same == 1 && len(v.sorted) > 1:
		title += fmt.Sprintf("; the seed changes nothing for %s", called(still))
	case same > 0:
		title += fmt.Sprintf("; the seed changes nothing for %s", plural(same, "row"))
	}
	return title
}
