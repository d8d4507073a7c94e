package plots

// The question: how does one quantity change along another, and how sure is it?

const lineName = "line"

// Line draws lines of y over x, with a band from Lo to Hi: points of a series
// are joined by rising x. Up to six series share a panel and are named at their
// ends; more get a panel each, or are grey with one highlighted. Panels share
// their scales. More than 1,000 points have no markers, whatever Points says.
//
// A point with NaN or an infinite coordinate breaks its line and is counted
// below the picture. On a logarithmic axis zero is drawn open at a floor, with
// the tick 0.
//
// Errors: fault.Usage for two values of y at one x of a series, rules, a
// highlight without a series, too many series or panels, and options; fault.Data
// for slices of unequal length, a series given twice, an interval upside down,
// and a negative value on a logarithmic axis. Without a point the picture says
// so.
func Line(d XYData, o Options) (fig *Figure, err error) {
	defer guard(lineName, &err)
	return drawXY(lineName, true, d, o)
}
